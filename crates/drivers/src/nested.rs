//! Columns of lists and structures, level by level.

use std::sync::Arc;

use adbc_core::error::Result;
use arrow::array::{
    ArrayRef, ListArray, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};

use crate::refusal::wrong_schema;

/// Makes a result of one batch.
pub fn one_batch(batch: RecordBatch) -> Box<dyn RecordBatchReader + Send> {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// Makes a column of texts.
pub fn strings<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// Makes a column of structures of a type, from its members' columns. Errors: columns that are not of that type.
pub fn structs(data_type: &DataType, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(wrong_schema()) };
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

/// Makes a list for each parent, of children that `build` makes of all of them together; `None` is a NULL list. Errors: those
/// of `build`.
pub fn lists<'a, T: 'a>(
    parents: impl Iterator<Item = Option<&'a [T]>>,
    item: &DataType,
    build: impl FnOnce(&[&'a T]) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let (mut children, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for parent in parents {
        valid.push(parent.is_some());
        lengths.push(parent.map_or(0, <[T]>::len));
        children.extend(parent.unwrap_or_default());
    }
    let field = Arc::new(Field::new_list_field(item.clone(), true));
    let values = build(&children)?;
    let nulls = NullBuffer::from(valid);
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, Some(nulls))?))
}
