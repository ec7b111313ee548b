//! Columns in types that a database takes. Nothing is rounded, cut off or stripped of its zone: a value that would be is an error.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray},
    compute::{CastOptions, cast_with_options, kernels::cmp},
    datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit},
    util::display::FormatOptions,
};
use rows::mapping::SQL_TYPE_KEY;

use super::system::System;

const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";

/// Converts the fields of a source to types that a new table of this system can have.
///
/// # Errors
/// A column cannot be kept there; it is named.
pub(super) fn fitted(system: System, schema: &Schema) -> Result<SchemaRef, String> {
    let fields = schema.fields().iter().map(|field| {
        let data_type = fitted_type(system, field, field.data_type())
            .ok_or_else(|| unfit(field.name(), field.data_type()))?;
        let is_uuid = matches!(data_type, DataType::FixedSizeBinary(16));
        let fitted = Field::new(field.name(), data_type, field.is_nullable());
        let metadata = if is_uuid { [(EXTENSION.to_owned(), UUID.to_owned())].into() } else { [].into() };
        Ok(fitted.with_metadata(metadata))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>, String>>()?)))
}

fn unfit(name: &str, data_type: &DataType) -> String {
    format!(
        "column {name}: Arrow's type {data_type} has no place there; leave it out, or turn it into text in --query or --select"
    )
}

/// Returns true if a field's 16 bytes are a UUID.
fn is_uuid(field: &Field) -> bool {
    let metadata = field.metadata();
    metadata.get(EXTENSION).is_some_and(|name| name == UUID)
        || metadata.get(SQL_TYPE_KEY).is_some_and(|sql_type| sql_type == "uniqueidentifier")
}

fn fitted_type(system: System, field: &Field, data_type: &DataType) -> Option<DataType> {
    let microseconds = TimeUnit::Microsecond;
    Some(match data_type {
        DataType::Dictionary(_, values) => return fitted_type(system, field, values),
        DataType::RunEndEncoded(_, values) => return fitted_type(system, field, values.data_type()),
        DataType::Utf8View => DataType::Utf8,
        DataType::Date64 => DataType::Date32,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            let as_128 = DataType::Decimal128(*precision, *scale);
            return fitted_type(system, field, &as_128);
        }
        DataType::Decimal256(precision, scale) if *precision <= 38 => {
            return fitted_type(system, field, &DataType::Decimal128(*precision, *scale));
        }
        DataType::FixedSizeBinary(16) if is_uuid(field) => match system {
            System::Sqlite => DataType::Utf8,
            _ => data_type.clone(),
        },
        DataType::FixedSizeBinary(_) | DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Null => DataType::Utf8,
        DataType::Duration(_) | DataType::Union(..) => return None,
        _ => match (system, data_type) {
            (System::PostgreSql, DataType::Int8 | DataType::UInt8) => DataType::Int16,
            (System::PostgreSql, DataType::UInt16) => DataType::Int32,
            (System::PostgreSql, DataType::UInt32) => DataType::Int64,
            (System::PostgreSql, DataType::UInt64) => DataType::Decimal128(20, 0),
            (System::PostgreSql, DataType::Time32(_) | DataType::Time64(_)) => DataType::Time64(microseconds),
            (System::PostgreSql, DataType::Timestamp(_, zone)) => {
                DataType::Timestamp(microseconds, zone.clone())
            }
            (
                System::PostgreSql,
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
            ) => {
                let fitted = fitted_type(system, item, item.data_type())?;
                DataType::List(Arc::new(Field::new_list_field(fitted, true)))
            }
            (System::PostgreSql, DataType::Struct(_) | DataType::Map(..)) => return None,
            (System::DuckDb, DataType::Decimal256(..)) => return None,
            (
                System::Sqlite,
                DataType::Boolean
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64,
            ) => DataType::Int64,
            (System::Sqlite, DataType::Float32) => DataType::Float64,
            (
                System::Sqlite,
                DataType::Decimal128(..)
                | DataType::Decimal256(..)
                | DataType::Date32
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..),
            ) => DataType::Utf8,
            (System::Sqlite, data_type) if data_type.is_nested() => return None,
            (System::Sqlite | System::Odbc, DataType::Interval(_)) => return None,
            (System::Odbc, data_type) if data_type.is_nested() => return None,
            (_, data_type) => data_type.clone(),
        },
    })
}

/// Writes `CREATE TABLE` where bulkwire does: the types of the source, in the system's words.
pub(super) fn create_table(
    system: System,
    table: &str,
    source: &Schema,
    fitted: &Schema,
    quote: &str,
) -> String {
    let columns = source.fields().iter().zip(fitted.fields()).map(|(source, fitted)| {
        let word = match system {
            System::Sqlite => sqlite_word(source.data_type()).to_owned(),
            _ => postgresql_word(fitted.data_type()),
        };
        let null = if source.is_nullable() { "" } else { " NOT NULL" };
        format!("{} {word}{null}", super::system::quoted(source.name(), quote))
    });
    format!("CREATE TABLE {table} ({})", columns.collect::<Vec<_>>().join(", "))
}

/// Words that say what texts and numbers mean, and whose affinity leaves them as they are. A decimal is a text: SQLite would make
/// a double of it.
fn sqlite_word(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Dictionary(_, values) => sqlite_word(values),
        DataType::RunEndEncoded(_, values) => sqlite_word(values.data_type()),
        DataType::Boolean => "BOOLEAN",
        data_type if data_type.is_integer() => "INTEGER",
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "REAL",
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Timestamp(_, None) => "DATETIME",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BLOB",
        // UUIDs are texts; others have no affinity, so that bytes stay bytes.
        DataType::FixedSizeBinary(16) => "",
        DataType::FixedSizeBinary(_) => "BLOB",
        _ => "TEXT",
    }
}

fn postgresql_word(data_type: &DataType) -> String {
    let word = match data_type {
        DataType::Boolean => "boolean",
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        DataType::Int64 => "bigint",
        DataType::Float32 => "real",
        DataType::Float64 => "double precision",
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            return format!("numeric({precision}, {scale})");
        }
        DataType::Binary => "bytea",
        DataType::FixedSizeBinary(_) => "uuid",
        DataType::Date32 => "date",
        DataType::Time64(_) => "time",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Timestamp(_, Some(_)) => "timestamptz",
        DataType::Interval(_) => "interval",
        DataType::List(item) => return format!("{}[]", postgresql_word(item.data_type())),
        _ => "text",
    };
    word.to_owned()
}

/// Returns the type in which values go into an existing column, by the driver's description of it.
pub(super) fn type_for_column(system: System, column: &Field, fitted: &DataType) -> DataType {
    if system != System::PostgreSql {
        return if system == System::Sqlite { fitted.clone() } else { column.data_type().clone() };
    }
    match (column.metadata().get("POSTGRESQL:type").map(String::as_str), fitted) {
        (Some("numeric"), DataType::Decimal128(..) | DataType::Decimal256(..)) => fitted.clone(),
        (Some("numeric"), data_type) if data_type.is_integer() => DataType::Decimal128(20, 0),
        (Some("numeric"), _) => DataType::Decimal128(38, 10),
        (Some("uuid"), _) => DataType::FixedSizeBinary(16),
        (_, fitted) if column.data_type().is_nested() => fitted.clone(),
        _ => column.data_type().clone(),
    }
}

/// Converts a batch to other types.
///
/// # Errors
/// A value would lose something; its row, counted from `first_row`, and its column are named.
pub(super) fn converted(
    batch: &RecordBatch,
    schema: &SchemaRef,
    first_row: u64,
) -> Result<RecordBatch, String> {
    let given = batch.schema();
    let columns =
        given.fields().iter().zip(batch.columns()).zip(schema.fields()).map(|((from, array), to)| {
            column(array, from, to.data_type()).map_err(|(row, why)| match row {
                Some(row) => {
                    let row = first_row.saturating_add(row as u64).saturating_add(1);
                    format!("row {row}, column {}: {why}", from.name())
                }
                None => format!("column {}: {why}", from.name()),
            })
        });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| error.to_string())
}

type Misfit = (Option<usize>, String);

fn column(array: &ArrayRef, field: &Field, to: &DataType) -> Result<ArrayRef, Misfit> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    match (from, to) {
        (DataType::FixedSizeBinary(16), DataType::Utf8 | DataType::LargeUtf8) if is_uuid(field) => {
            return Ok(uuid_texts(array));
        }
        (DataType::Utf8, DataType::FixedSizeBinary(16)) => return uuids(array),
        // Instants are the same moments whatever the zone is called.
        (DataType::Timestamp(_, Some(_)), DataType::Timestamp(_, None))
        | (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(_))) => {
            return Err((
                None,
                "one of source and destination has a time zone, the other has none".to_owned(),
            ));
        }
        _ => {}
    }
    let format_options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"))
        .with_time_format(Some("%H:%M:%S%.f"));
    let options = CastOptions { safe: false, format_options };
    let changed = cast_with_options(array, to, &options).map_err(|error| (None, error.to_string()))?;
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8);
    if is_text(from) || is_text(to) || from.is_nested() || matches!(from, DataType::Null) {
        return Ok(changed);
    }
    let lossy = || (None, format!("{from} and {to} cannot be compared"));
    let back = cast_with_options(&changed, from, &CastOptions { safe: true, ..CastOptions::default() })
        .map_err(|_| lossy())?;
    let same = match from {
        DataType::Dictionary(_, values) => {
            let plain = cast_with_options(array, values, &CastOptions::default()).map_err(|_| lossy())?;
            let back = cast_with_options(&back, values, &CastOptions::default()).map_err(|_| lossy())?;
            cmp::not_distinct(&plain, &back)
        }
        _ => cmp::not_distinct(array, &back),
    };
    let same = same.map_err(|_| lossy())?;
    match (0..same.len()).find(|index| !same.value(*index)) {
        Some(row) => Err((Some(row), format!("its value does not fit {to} without loss"))),
        None => Ok(changed),
    }
}

fn uuid_texts(array: &ArrayRef) -> ArrayRef {
    let text = |bytes: &[u8]| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
        parts.join("-")
    };
    Arc::new(array.as_fixed_size_binary().iter().map(|bytes| bytes.map(text)).collect::<StringArray>())
}

fn uuids(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    let texts = array.as_string::<i32>();
    let mut builder = arrow::array::FixedSizeBinaryBuilder::with_capacity(texts.len(), 16);
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else {
            builder.append_null();
            continue;
        };
        let digits: String = text.chars().filter(|c| !matches!(c, '-' | '{' | '}')).collect();
        let value = Some(digits).filter(|digits| digits.len() == 32);
        let value = value.and_then(|digits| u128::from_str_radix(&digits, 16).ok());
        let value = value.ok_or_else(|| (Some(row), format!("{text:?} is no UUID")))?;
        builder.append_value(value.to_be_bytes()).map_err(|error| (Some(row), error.to_string()))?;
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow::array::{Int64Array, TimestampNanosecondArray};

    use super::*;

    fn one(array: ArrayRef, to: DataType) -> Result<RecordBatch, String> {
        let field = Field::new("c", array.data_type().clone(), true);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        converted(&batch, &Arc::new(Schema::new(vec![Field::new("c", to, true)])), 10)
    }

    #[test]
    fn what_would_lose_something_is_refused_by_row_and_column() {
        let fine: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(1_000), None, Some(2_001)]));
        let error = one(fine, DataType::Timestamp(TimeUnit::Microsecond, None)).unwrap_err();
        assert!(error.starts_with("row 13, column c:"), "{error}");
        let whole: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(-1_000), None]));
        assert!(one(whole, DataType::Timestamp(TimeUnit::Microsecond, None)).is_ok());
        let long: ArrayRef = Arc::new(Int64Array::from(vec![1, i64::MAX]));
        assert!(one(Arc::clone(&long), DataType::Int16).is_err());
        assert!(one(long, DataType::Float64).unwrap_err().starts_with("row 12, column c:"));
    }

    #[test]
    fn types_without_a_place_are_named() {
        let field = Field::new("d", DataType::Duration(TimeUnit::Second), true);
        for system in [System::PostgreSql, System::Sqlite, System::DuckDb, System::Odbc] {
            let error = fitted(system, &Schema::new(vec![field.clone()])).unwrap_err();
            assert!(error.starts_with("column d: "), "{error}");
        }
    }

    #[test]
    fn dictionaries_lose_nothing() {
        let keys = arrow::array::Int32Array::from(vec![Some(0), None, Some(1)]);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![5, 70_000]));
        let array: ArrayRef = Arc::new(arrow::array::DictionaryArray::new(keys, values));
        assert!(one(Arc::clone(&array), DataType::Int32).is_ok());
        assert!(one(array, DataType::Int16).is_err());
    }
}
