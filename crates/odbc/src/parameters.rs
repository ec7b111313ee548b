//! Columns in the types that ODBC's parameter buffers have.

use std::sync::Arc;

use adbc_core::error::Result;
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Schema, SchemaRef, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use crate::error::{invalid, unsupported};

/// Days from 1970-01-01 to the first and to the last day that SQL's dates have.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;
const SECONDS_PER_DAY: i64 = 86_400;

/// The schema of the parameters for rows of a schema.
///
/// # Errors
/// A column has a type that ODBC has no parameter for.
pub(crate) fn parameter_schema(schema: &Schema) -> Result<SchemaRef> {
    let fields = schema.fields().iter().map(|field| {
        let data_type = parameter_type(field, field.data_type())?;
        // Every parameter may be NULL: a buffer without room for NULLs would send zeros.
        Ok(Field::new(field.name(), data_type, true))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

fn parameter_type(field: &Field, data_type: &DataType) -> Result<DataType> {
    Ok(match data_type {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Utf8View | DataType::Null => DataType::Utf8,
        // Drivers disagree about how many digits of a second a text may have: seven everybody takes.
        DataType::Time64(TimeUnit::Nanosecond) => DataType::Utf8,
        DataType::FixedSizeBinary(16) if is_uuid(field) => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Dictionary(_, values) => parameter_type(field, values)?,
        DataType::RunEndEncoded(_, values) => parameter_type(field, values.data_type())?,
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(_, _)
        | DataType::Decimal128(_, _)
        | DataType::Decimal256(_, _) => data_type.clone(),
        other => return Err(unsupported(&format!("column {}: Arrow's type {other}", field.name()))),
    })
}

/// Whether a field has Arrow's extension type for UUIDs.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid")
}

/// A batch as parameters.
///
/// # Errors
/// A value has no parameter: its row, counted from `first_row`, and its column are named.
pub(crate) fn converted(batch: &RecordBatch, schema: &SchemaRef, first_row: u64) -> Result<RecordBatch> {
    let given = batch.schema();
    let columns = given.fields().iter().zip(batch.columns()).zip(schema.fields());
    let columns = columns.map(|((from, array), to)| {
        let refused = |index: usize, why: &str| {
            let row = first_row.saturating_add(index as u64).saturating_add(1);
            invalid(format!("row {row}, column {}: {why}", from.name()))
        };
        let array = match is_uuid(from) && matches!(array.data_type(), DataType::FixedSizeBinary(16)) {
            true => uuid_texts(array),
            false if matches!(array.data_type(), DataType::Time64(TimeUnit::Nanosecond)) => {
                time_texts(array.as_primitive(), &refused)?
            }
            false => {
                let options = CastOptions { safe: false, ..CastOptions::default() };
                cast_with_options(array, to.data_type(), &options)
                    .map_err(|error| invalid(format!("column {}: {error}", from.name())))?
            }
        };
        check_range(&array, &refused)?;
        Ok(array)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn uuid_texts(array: &ArrayRef) -> ArrayRef {
    let text = |bytes: &[u8]| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
        parts.join("-")
    };
    let values = array.as_fixed_size_binary();
    Arc::new(values.iter().map(|bytes| bytes.map(text)).collect::<StringArray>())
}

fn time_texts(
    array: &PrimitiveArray<Time64NanosecondType>,
    refused: &impl Fn(usize, &str) -> adbc_core::error::Error,
) -> Result<ArrayRef> {
    let texts = array.iter().enumerate().map(|(index, nanoseconds)| {
        let Some(nanoseconds) = nanoseconds else { return Ok(None) };
        if nanoseconds % 100 != 0 {
            return Err(refused(index, "a time with more than seven digits of a second"));
        }
        let seconds = nanoseconds / 1_000_000_000;
        let fraction = nanoseconds % 1_000_000_000 / 100;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Ok(Some(format!("{hour:02}:{minute:02}:{second:02}.{fraction:07}")))
    });
    Ok(Arc::new(texts.collect::<Result<StringArray>>()?))
}

/// Dates and times go in structures whose years have four digits, and whose seconds have seven.
fn check_range(array: &ArrayRef, refused: &impl Fn(usize, &str) -> adbc_core::error::Error) -> Result<()> {
    match array.data_type() {
        DataType::Date32 => within::<Date32Type>(array, 0, refused),
        DataType::Timestamp(TimeUnit::Second, _) => within::<TimestampSecondType>(array, 1, refused),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            within::<TimestampMillisecondType>(array, 1_000, refused)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            within::<TimestampMicrosecondType>(array, 1_000_000, refused)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            let fine =
                (0..values.len()).find(|index| values.is_valid(*index) && values.value(*index) % 100 != 0);
            fine.map_or(Ok(()), |index| Err(refused(index, "more than seven digits of a second")))
        }
        _ => Ok(()),
    }
}

/// Checks values that count so many units in a second; 0: they count days.
fn within<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    units: i64,
    refused: &impl Fn(usize, &str) -> adbc_core::error::Error,
) -> Result<()>
where
    T::Native: Into<i64>,
{
    let per_day = if units == 0 { 1 } else { units * SECONDS_PER_DAY };
    let (first, end) = (FIRST_DAY * per_day, (LAST_DAY + 1) * per_day);
    let values = array.as_primitive::<T>();
    let outside = (0..values.len()).find(|index| {
        let value: i64 = values.value(*index).into();
        values.is_valid(*index) && !(first..end).contains(&value)
    });
    outside.map_or(Ok(()), |index| Err(refused(index, "a date outside the years 1 to 9999")))
}
