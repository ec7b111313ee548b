//! The value that shows a group whose rows have equal keys but may differ, such as texts in upper and lower case: that of its first row.

use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array, new_empty_array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

/// The aggregate's name.
pub(crate) const FIRST_OF_GROUP: &str = "first_of_group";

/// The aggregate. Unlike FIRST_VALUE with an order it compares nothing.
pub(crate) fn first_of_group() -> Arc<AggregateUDF> {
    Arc::new(FirstOfGroup { signature: Signature::any(1, Volatility::Immutable) }.into())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FirstOfGroup {
    signature: Signature,
}

impl AggregateUDFImpl for FirstOfGroup {
    fn name(&self) -> &str {
        FIRST_OF_GROUP
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Null))
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let nothing = ScalarValue::try_from(arguments.return_field.data_type())?;
        Ok(Box::new(First { value: nothing, known: false }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let value = arguments.return_field.data_type().clone();
        Ok(vec![
            Arc::new(Field::new(format_state_name(arguments.name, "value"), value, true)),
            Arc::new(Field::new(format_state_name(arguments.name, "known"), DataType::Boolean, true)),
        ])
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = arguments.return_field.data_type().clone();
        Ok(Box::new(Firsts { data_type, parts: Vec::new(), groups: 0 }))
    }
}

/// One group's.
#[derive(Debug)]
struct First {
    value: ScalarValue,
    known: bool,
}

impl Accumulator for First {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first().filter(|values| !self.known && !values.is_empty()) {
            self.value = ScalarValue::try_from_array(values, 0)?;
            self.known = true;
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, known] = states else { return Err(malformed()) };
        let known = known.as_any().downcast_ref::<BooleanArray>().ok_or_else(malformed)?;
        match (0..known.len()).find(|row| known.is_valid(*row) && known.value(*row)) {
            Some(row) => self.update_batch(&[values.slice(row, 1)]),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::Boolean(Some(self.known))])
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.value.size() - size_of::<ScalarValue>()
    }
}

/// Those of many groups: a group is new when its first row comes.
struct Firsts {
    data_type: DataType,
    /// The values of all groups, in their order.
    parts: Vec<ArrayRef>,
    groups: usize,
}

impl Firsts {
    fn note(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        chosen: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        if chosen.is_some() {
            return Err(DataFusionError::NotImplemented(format!("{FIRST_OF_GROUP} with a filter")));
        }
        let values = values.first().ok_or_else(malformed)?;
        // A new group's number says nothing of where in the batch its first row is.
        let mut rows: Vec<Option<u64>> = vec![None; total - self.groups];
        for (row, group) in (0_u64..).zip(groups) {
            let new = group.checked_sub(self.groups).and_then(|new| rows.get_mut(new));
            if let Some(first @ None) = new {
                *first = Some(row);
            }
        }
        self.groups = total;
        self.parts.push(take(values, &UInt64Array::from(rows), None)?);
        Ok(())
    }

    fn emitted(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        let all = match parts.is_empty() {
            true => new_empty_array(&self.data_type),
            false => concat(&parts)?,
        };
        let count = match emit_to {
            EmitTo::All => all.len(),
            EmitTo::First(count) => count.min(all.len()),
        };
        let left = all.len() - count;
        self.parts = if left > 0 { vec![all.slice(count, left)] } else { Vec::new() };
        self.groups = left;
        Ok(all.slice(0, count))
    }
}

impl GroupsAccumulator for Firsts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        chosen: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        if total > self.groups { self.note(values, groups, chosen, total) } else { Ok(()) }
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        // A group that has a state has a row.
        self.update_batch(states.get(..1).unwrap_or_default(), groups, None, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emitted(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let values = self.emitted(emit_to)?;
        let known = BooleanArray::from(vec![true; values.len()]);
        Ok(vec![values, Arc::new(known)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], chosen: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        if chosen.is_some() {
            return Err(DataFusionError::NotImplemented(format!("{FIRST_OF_GROUP} with a filter")));
        }
        let values = values.first().ok_or_else(malformed)?;
        let known = BooleanArray::from(vec![true; values.len()]);
        Ok(vec![Arc::clone(values), Arc::new(known)])
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.parts.iter().map(|part| part.get_array_memory_size()).sum::<usize>()
    }
}

fn malformed() -> DataFusionError {
    DataFusionError::Internal(format!("{FIRST_OF_GROUP} without its values"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow::array::StringArray;

    use super::*;

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn a_group_shows_its_first_row() {
        let mut firsts = Firsts { data_type: DataType::Utf8, parts: Vec::new(), groups: 0 };
        // The second group's first row comes before that of the first.
        firsts.update_batch(&[texts(&["a", "b", "A", "c"])], &[1, 0, 1, 2], None, 3).unwrap();
        firsts.update_batch(&[texts(&["B", "C"])], &[0, 2], None, 3).unwrap();
        assert_eq!(&firsts.evaluate(EmitTo::First(1)).unwrap(), &texts(&["b"]));
        let states = firsts.convert_to_state(&[texts(&["d", "C"])], None).unwrap();
        firsts.merge_batch(&states, &[2, 1], 3).unwrap();
        assert_eq!(&firsts.evaluate(EmitTo::All).unwrap(), &texts(&["a", "c", "d"]));
        assert_eq!(firsts.evaluate(EmitTo::All).unwrap().len(), 0);
    }
}
