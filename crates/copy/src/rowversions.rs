//! Rowversions of a source, which are bytes at any destination.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, FixedSizeBinaryBuilder},
    datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type},
    record_batch::RecordBatch,
};
use rows::mapping::SQL_TYPE_KEY;

/// Drops rowversions as such: no table takes those of another, so they become bytes.
pub(crate) fn without_rowversions(schema: &SchemaRef) -> SchemaRef {
    if !schema.fields().iter().any(|field| is_rowversion(field)) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().map(|field| match is_rowversion(field) {
        true => {
            let mut metadata = field.metadata().clone();
            metadata.insert(SQL_TYPE_KEY.to_owned(), "binary(8)".to_owned());
            Field::new(field.name(), DataType::FixedSizeBinary(8), field.is_nullable())
                .with_metadata(metadata)
        }
        false => field.as_ref().clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Puts the batch under the schema that is shown: numbers of rowversions become their bytes.
pub(crate) fn with_schema(
    batch: RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, arrow::error::ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        match (column.data_type(), field.data_type()) {
            (DataType::UInt64, DataType::FixedSizeBinary(8)) => big_endian(column),
            _ => Ok(Arc::clone(column)),
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn big_endian(column: &ArrayRef) -> Result<ArrayRef, arrow::error::ArrowError> {
    let numbers = column.as_primitive::<UInt64Type>();
    let mut bytes = FixedSizeBinaryBuilder::with_capacity(numbers.len(), 8);
    for number in numbers {
        match number {
            Some(number) => bytes.append_value(number.to_be_bytes())?,
            None => bytes.append_null(),
        }
    }
    Ok(Arc::new(bytes.finish()))
}

fn is_rowversion(field: &Field) -> bool {
    field.metadata().get(SQL_TYPE_KEY).is_some_and(|text| matches!(text.as_str(), "rowversion" | "timestamp"))
}
