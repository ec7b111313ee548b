//! PERCENTILE_CONT and PERCENTILE_DISC: the value at a place among a partition's values.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// Makes the aggregate of the values in its first argument, ordered by its second.
///
/// `continuous` interpolates between two values of type float; otherwise the result is one of the values. `fraction` is 0 to 1.
pub fn percentile(continuous: bool, fraction: f64, descending: bool) -> Arc<AggregateUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(AggregateUDF::from(Percentile { continuous, fraction, descending, signature }))
}

#[derive(Clone)]
struct Percentile {
    continuous: bool,
    fraction: f64,
    descending: bool,
    signature: Signature,
}

impl fmt::Debug for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Percentile({}, {})", self.continuous, self.fraction)
    }
}

impl PartialEq for Percentile {
    fn eq(&self, other: &Self) -> bool {
        self.continuous == other.continuous
            && self.fraction.to_bits() == other.fraction.to_bits()
            && self.descending == other.descending
    }
}

impl Eq for Percentile {}

impl Hash for Percentile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fraction.to_bits().hash(state);
    }
}

impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &str {
        if self.continuous { "percentile_cont_within" } else { "percentile_disc_within" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        types.first().cloned().ok_or_else(|| DataFusionError::Internal("a percentile of nothing".to_string()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |name: &str, field: Option<&FieldRef>| {
            let data_type = field.map_or(DataType::Null, |field| field.data_type().clone());
            Arc::new(Field::new_list(name, Arc::new(Field::new_list_field(data_type, true)), true))
        };
        Ok(vec![field("values", args.input_fields.first()), field("keys", args.input_fields.get(1))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let type_of = |index: usize| {
            args.expr_fields.get(index).map_or(DataType::Null, |field| field.data_type().clone())
        };
        Ok(Box::new(PercentileAccumulator {
            of: self.clone(),
            types: (type_of(0), type_of(1)),
            values: Vec::new(),
            keys: Vec::new(),
            result: None,
        }))
    }
}

#[derive(Debug)]
struct PercentileAccumulator {
    of: Percentile,
    /// The types of values and keys.
    types: (DataType, DataType),
    values: Vec<ArrayRef>,
    keys: Vec<ArrayRef>,
    /// The computed result, until more values come.
    result: Option<ScalarValue>,
}

impl PercentileAccumulator {
    /// Returns the values that are not NULL, and their positions in order.
    fn sorted(&self) -> Result<Option<(ArrayRef, Vec<usize>)>> {
        let all = |parts: &[ArrayRef]| -> Result<ArrayRef> {
            Ok(concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?)
        };
        if self.values.is_empty() {
            return Ok(None);
        }
        let (values, keys) = (all(&self.values)?, all(&self.keys)?);
        let present = is_not_null(&values)?;
        let (values, keys) = (filter(&values, &present)?, filter(&keys, &present)?);
        let options = SortOptions { descending: self.of.descending, nulls_first: false };
        let order = sort_to_indices(&keys, Some(options), None)?;
        Ok(Some((values, order.values().iter().map(|index| *index as usize).collect())))
    }

    fn compute(&self) -> Result<ScalarValue> {
        let missing = || DataFusionError::Internal("a percentile beyond its values".to_string());
        let Some((values, order)) = self.sorted()? else {
            return ScalarValue::try_from(&self.types.0);
        };
        if order.is_empty() {
            return ScalarValue::try_from(values.data_type());
        }
        let last = order.len() - 1;
        if !self.of.continuous {
            // The first value whose share of the values up to it reaches the fraction.
            let place = (self.of.fraction * order.len() as f64).ceil() as usize;
            let index = order.get(place.saturating_sub(1).min(last)).ok_or_else(missing)?;
            return ScalarValue::try_from_array(&values, *index);
        }
        let numbers = values.as_primitive_opt::<Float64Type>().ok_or_else(missing)?;
        let place = self.of.fraction * last as f64;
        let at = |position: f64| -> Result<f64> {
            let index = order.get((position as usize).min(last)).ok_or_else(missing)?;
            Ok(numbers.value(*index))
        };
        let (low, high) = (at(place.floor())?, at(place.ceil())?);
        Ok(ScalarValue::Float64(Some(low + (place - place.floor()) * (high - low))))
    }
}

/// Returns all values as one list.
fn listed(parts: &[ArrayRef], data_type: &DataType) -> Result<ScalarValue> {
    let all = match parts {
        [] => new_empty_array(data_type),
        parts => concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?,
    };
    let field = Arc::new(Field::new_list_field(data_type.clone(), true));
    let offsets = OffsetBuffer::from_lengths([all.len()]);
    Ok(ScalarValue::List(Arc::new(ListArray::try_new(field, offsets, all, None)?)))
}

/// Returns the values of lists one behind the other.
fn unlisted(lists: &ArrayRef) -> Result<ArrayRef> {
    let lists = lists
        .as_list_opt::<i32>()
        .ok_or_else(|| DataFusionError::Internal("a percentile's state that is no list".to_string()))?;
    let offsets = lists.value_offsets();
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return Ok(lists.values().slice(0, 0));
    };
    Ok(lists.values().slice(*first as usize, (last - first) as usize))
}

impl Accumulator for PercentileAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let [values, keys] = values {
            self.values.push(Arc::clone(values));
            self.keys.push(Arc::clone(keys));
            self.result = None;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let Some(result) = &self.result {
            return Ok(result.clone());
        }
        let result = self.compute()?;
        self.result = Some(result.clone());
        Ok(result)
    }

    fn size(&self) -> usize {
        self.values.iter().chain(&self.keys).map(|part| part.get_array_memory_size()).sum()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![listed(&self.values, &self.types.0)?, listed(&self.keys, &self.types.1)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        if let [values, keys] = states {
            self.values.push(unlisted(values)?);
            self.keys.push(unlisted(keys)?);
            self.result = None;
        }
        Ok(())
    }
}
