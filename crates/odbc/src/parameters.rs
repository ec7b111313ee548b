//! Columns in the few types in which parameters are sent.

use std::sync::Arc;

use adbc_core::error::{Error, Result};
use arrow::array::{Array, ArrayRef, ArrowNumericType, AsArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, Field, Schema, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow::util::display::FormatOptions;
use drivers::refusal::invalid;

use crate::error::unsupported;

/// Days from 1970-01-01 to the first and to the last day that SQL's dates have.
const FIRST_DAY: i64 = -719_162;
const LAST_DAY: i64 = 2_932_896;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// Form in which the values of a column are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// The Arrow type of what is copied into the buffer.
    pub(crate) data_type: DataType,
    /// Type that the database takes the value for.
    pub(crate) domain: Domain,
}

/// Meaning of a text in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Domain {
    /// A value of the buffer's own type.
    Plain,
    /// A decimal of this precision and scale.
    Decimal(u8, i8),
    /// A time with this many digits of a second.
    Time(i16),
}

/// Makes the parameters for rows of a schema.
///
/// # Errors
/// A column has a type that ODBC has no parameter for.
pub(crate) fn parameters_for(schema: &Schema) -> Result<Vec<Parameter>> {
    schema.fields().iter().map(|field| parameter(field, field.data_type())).collect()
}

fn parameter(field: &Field, data_type: &DataType) -> Result<Parameter> {
    let plain = |data_type: DataType| Parameter { data_type, domain: Domain::Plain };
    let text = |domain| Parameter { data_type: DataType::Utf8, domain };
    Ok(match data_type {
        DataType::Int8 | DataType::UInt8 => plain(DataType::Int16),
        DataType::UInt16 => plain(DataType::Int32),
        DataType::UInt32 => plain(DataType::Int64),
        DataType::UInt64 => text(Domain::Decimal(20, 0)),
        DataType::Float16 => plain(DataType::Float32),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => text(Domain::Decimal(*precision, *scale)),
        DataType::Time32(TimeUnit::Second) => text(Domain::Time(0)),
        DataType::Time32(_) => text(Domain::Time(3)),
        DataType::Time64(TimeUnit::Nanosecond) => text(Domain::Time(7)),
        DataType::Time64(_) => text(Domain::Time(6)),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => plain(data_type.clone()),
        DataType::Timestamp(_, None) => plain(DataType::Timestamp(TimeUnit::Microsecond, None)),
        DataType::FixedSizeBinary(16) if is_uuid(field) => plain(DataType::Utf8),
        // ODBC has no type for a time with a zone: text is what every driver takes.
        DataType::Timestamp(_, Some(_)) | DataType::Utf8View | DataType::Null => plain(DataType::Utf8),
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            plain(DataType::Binary)
        }
        DataType::Date64 => plain(DataType::Date32),
        DataType::Dictionary(_, values) => parameter(field, values)?,
        DataType::RunEndEncoded(_, values) => parameter(field, values.data_type())?,
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::Date32 => plain(data_type.clone()),
        other => return Err(unsupported(&format!("column {}: Arrow's type {other}", field.name()))),
    })
}

/// Returns true if a field has Arrow's extension type for UUIDs.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid")
}

/// Converts a batch to columns of the parameters' types.
///
/// # Errors
/// A value cannot be sent: its row, counted from `first_row`, and its column are named.
pub(crate) fn converted(
    batch: &RecordBatch,
    parameters: &[Parameter],
    first_row: u64,
) -> Result<Vec<ArrayRef>> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).zip(parameters);
    let columns = columns.map(|((field, array), to)| {
        let refused = |index: usize, why: &str| {
            let row = first_row.saturating_add(index as u64).saturating_add(1);
            invalid(format!("row {row}, column {}: {why}", field.name()))
        };
        let array =
            plain_values(array).map_err(|error| invalid(format!("column {}: {error}", field.name())))?;
        check_digits(&array, &refused)?;
        let array = match array.data_type() {
            DataType::FixedSizeBinary(16) if is_uuid(field) => uuid_texts(&array),
            DataType::Time64(TimeUnit::Nanosecond) => time_texts(array.as_primitive()),
            _ => cast(&array, &to.data_type)
                .map_err(|error| invalid(format!("column {}: {error}", field.name())))?,
        };
        check_years(&array, &refused)?;
        Ok(array)
    });
    columns.collect()
}

/// Returns the values without dictionary and runs.
fn plain_values(array: &ArrayRef) -> std::result::Result<ArrayRef, arrow::error::ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, &values.as_ref().clone()),
        DataType::RunEndEncoded(_, values) => cast(array, &values.data_type().clone()),
        _ => Ok(Arc::clone(array)),
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> std::result::Result<ArrayRef, arrow::error::ArrowError> {
    let format_options = FormatOptions::default().with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f %:z"));
    cast_with_options(array, to, &CastOptions { safe: false, format_options })
}

fn uuid_texts(array: &ArrayRef) -> ArrayRef {
    let text = |bytes: &[u8]| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
        parts.join("-")
    };
    Arc::new(array.as_fixed_size_binary().iter().map(|bytes| bytes.map(text)).collect::<StringArray>())
}

/// Formats times with seven digits of a second, which every system takes.
fn time_texts(array: &PrimitiveArray<Time64NanosecondType>) -> ArrayRef {
    let text = |nanoseconds: i64| {
        let seconds = nanoseconds / 1_000_000_000;
        let fraction = nanoseconds % 1_000_000_000 / 100;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{hour:02}:{minute:02}:{second:02}.{fraction:07}")
    };
    Arc::new(array.iter().map(|value| value.map(text)).collect::<StringArray>())
}

type Refused<'a> = &'a dyn Fn(usize, &str) -> Error;

/// Refuses values with more than seven digits of a second: further digits are not cut off.
fn check_digits(array: &ArrayRef, refused: Refused<'_>) -> Result<()> {
    let is_fine = |value: i64| value % 100 != 0;
    let why = "more than seven digits of a second";
    match array.data_type() {
        DataType::Time64(TimeUnit::Nanosecond) => {
            refuse_where(array.as_primitive::<Time64NanosecondType>(), is_fine, why, refused)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            refuse_where(array.as_primitive::<TimestampNanosecondType>(), is_fine, why, refused)
        }
        _ => Ok(()),
    }
}

/// Refuses dates outside SQL's years, which the structures of dates cannot hold.
fn check_years(array: &ArrayRef, refused: Refused<'_>) -> Result<()> {
    let why = "a date outside the years 1 to 9999";
    let first = FIRST_DAY * MICROSECONDS_PER_DAY;
    let end = (LAST_DAY + 1) * MICROSECONDS_PER_DAY;
    match array.data_type() {
        DataType::Date32 => {
            let is_outside = |day: i32| !(FIRST_DAY..=LAST_DAY).contains(&i64::from(day));
            refuse_where(array.as_primitive::<Date32Type>(), is_outside, why, refused)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let is_outside = |value: i64| !(first..end).contains(&value);
            refuse_where(array.as_primitive::<TimestampMicrosecondType>(), is_outside, why, refused)
        }
        _ => Ok(()),
    }
}

fn refuse_where<T: ArrowNumericType>(
    values: &PrimitiveArray<T>,
    is_wrong: impl Fn(T::Native) -> bool,
    why: &str,
    refused: Refused<'_>,
) -> Result<()> {
    let wrong = (0..values.len()).find(|index| values.is_valid(*index) && is_wrong(values.value(*index)));
    wrong.map_or(Ok(()), |index| Err(refused(index, why)))
}
