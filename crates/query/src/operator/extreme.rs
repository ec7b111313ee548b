//! MIN and MAX over a window, of values that are compared by a key: text, offsets, identifiers, variants.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// Makes the aggregate that returns the value of its first argument with the smallest or largest key, its second.
pub fn extreme(largest: bool) -> Arc<AggregateUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(AggregateUDF::from(Extreme { largest, signature }))
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Extreme {
    largest: bool,
    signature: Signature,
}

impl Extreme {
    fn started(&self, args: &AccumulatorArgs, sliding: bool) -> Box<dyn Accumulator> {
        Box::new(ExtremeAccumulator {
            largest: self.largest,
            sliding,
            data_type: args.return_field.data_type().clone(),
            candidates: VecDeque::new(),
            added: 0,
            removed: 0,
        })
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        if self.largest { "max_by_key" } else { "min_by_key" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.first().cloned().ok_or_else(|| DataFusionError::Internal("an extreme of nothing".to_string()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(args.input_fields.to_vec())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(self.started(&args, false))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(self.started(&args, true))
    }
}

#[derive(Debug)]
struct ExtremeAccumulator {
    largest: bool,
    /// Rows leave the window again, in the order in which they came.
    sliding: bool,
    data_type: DataType,
    /// The best row, then each that is the best once those before it have left.
    candidates: VecDeque<Candidate>,
    added: usize,
    removed: usize,
}

#[derive(Debug)]
struct Candidate {
    position: usize,
    key: ScalarValue,
    value: ScalarValue,
}

impl Accumulator for ExtremeAccumulator {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let [values, keys] = columns else {
            return Err(DataFusionError::Internal("an extreme of a value and its key".to_string()));
        };
        let better = if self.largest { Ordering::Greater } else { Ordering::Less };
        for row in 0..values.len() {
            let position = self.added;
            self.added += 1;
            let key = ScalarValue::try_from_array(keys, row)?;
            if key.is_null() {
                continue;
            }
            while self.candidates.back().is_some_and(|last| key.partial_cmp(&last.key) == Some(better)) {
                self.candidates.pop_back();
            }
            if self.sliding || self.candidates.is_empty() {
                let value = ScalarValue::try_from_array(values, row)?;
                self.candidates.push_back(Candidate { position, key, value });
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.removed += columns.first().map_or(0, |values| values.len());
        while self.candidates.front().is_some_and(|first| first.position < self.removed) {
            self.candidates.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.sliding
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.candidates.front() {
            Some(best) => Ok(best.value.clone()),
            None => ScalarValue::try_from(&self.data_type),
        }
    }

    fn size(&self) -> usize {
        let held = |candidate: &Candidate| candidate.key.size() + candidate.value.size();
        size_of_val(self) + self.candidates.iter().map(held).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(DataFusionError::Internal("windows are computed in one step".to_string()))
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(DataFusionError::Internal("windows are computed in one step".to_string()))
    }
}
