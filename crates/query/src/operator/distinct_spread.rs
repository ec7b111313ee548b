//! STDEV, STDEVP, VAR and VARP of the values that differ, which the engine has not.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use super::moving::{Known, MovingKind};

/// Makes the aggregate of the distinct values of its argument, a float, even if the call does not say DISTINCT.
pub fn distinct_spread(kind: MovingKind) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::from(DistinctSpread { kind, name: format!("distinct_{kind:?}"), signature }))
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct DistinctSpread {
    kind: MovingKind,
    name: String,
    signature: Signature,
}

impl AggregateUDFImpl for DistinctSpread {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)));
        Ok(vec![Arc::new(Field::new(format!("{}[values]", args.name), values, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values { kind: self.kind, bits: BTreeSet::new() }))
    }
}

#[derive(Debug)]
struct Values {
    kind: MovingKind,
    bits: BTreeSet<u64>,
}

impl Values {
    fn add(&mut self, array: &ArrayRef) {
        // There is one zero.
        let values = array.as_primitive::<Float64Type>().iter().flatten();
        self.bits.extend(values.map(|value| if value == 0.0 { 0 } else { value.to_bits() }));
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        columns.iter().for_each(|array| self.add(array));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let known = self
            .bits
            .iter()
            .fold(Known::default(), |known, bits| known.with(Known::of(Some(f64::from_bits(*bits)))));
        Ok(ScalarValue::Float64(known.value(self.kind)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bits.len() * 2 * size_of::<u64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> =
            self.bits.iter().map(|bits| ScalarValue::Float64(Some(f64::from_bits(*bits)))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Float64))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [lists] = states else {
            return Err(DataFusionError::Internal("distinct values of one column".to_string()));
        };
        for list in lists.as_list::<i32>().iter().flatten() {
            self.add(&list);
        }
        Ok(())
    }
}
