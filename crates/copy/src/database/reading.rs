//! The query that yields types which have a place elsewhere, and its rows.
//!
//! Some columns come from a driver in forms that nothing else understands: PostgreSQL's decimals as texts, its enumerations as
//! bytes, DuckDB's UUIDs as texts. What a query is asked for, and what is made of a column afterwards, is settled here.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, RecordBatch, RecordBatchOptions},
    compute::{CastOptions, cast_with_options},
    datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit},
    error::ArrowError,
};
use load::SourceBatch;

use super::{
    session::{Rows, Session},
    sqlite_columns,
    system::{System, quoted},
};
use crate::{
    error::CopyError,
    row_stream::{BoxError, RowStream},
};

/// The name of the derived table in queries.
pub(super) const DERIVED: &str = "bulkwire_rows";
/// Digits of a decimal that every destination has.
const MOST_DIGITS: i64 = 38;
const EXTENSION: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";
const UUID: &str = "arrow.uuid";

/// The query that reads a table or a query.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// The query that is run.
    pub(super) sql: String,
    /// The columns that come out.
    pub(super) schema: SchemaRef,
    /// The first row only shows the driver the types of the columns.
    pub(super) has_sample: bool,
    /// The text behind FROM in the query.
    pub(super) from: String,
}

/// A column of a query: how it is asked for, and what becomes of it.
pub(super) struct Wanted {
    /// The expression over the column `name`; `None` reads the column unchanged.
    pub(super) cast: Option<String>,
    pub(super) field: Field,
}

/// Settles how a query is read.
pub(super) fn plan(session: &mut Session, query: &str) -> Result<Reading, CopyError> {
    let reading = match session.system {
        System::PostgreSql => postgresql(session, query)?,
        System::DuckDb => duckdb(session, query)?,
        System::Sqlite => sqlite_columns::plan(session, query)?,
        System::Odbc | System::Other => {
            let schema = session.schema(query).map_err(|error| session.failed(&error))?;
            let fields = schema.fields().iter().map(|field| plain(field, field.data_type().clone()));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            Reading {
                sql: query.to_owned(),
                schema,
                has_sample: false,
                from: format!("({query}) AS {DERIVED}"),
            }
        }
    };
    for field in reading.schema.fields() {
        if let Some(refusal) = refusal(field) {
            let text = format!(
                "column {}: {refusal}. Leave it out, or turn it into text in --query: SELECT ..., CAST({} AS {}) AS {1} FROM ...",
                field.name(),
                quoted(field.name(), &session.quote),
                if matches!(session.system, System::PostgreSql) { "text" } else { "varchar(4000)" },
            );
            return Err(CopyError::Usage(text));
        }
    }
    Ok(reading)
}

/// Says why a column cannot be copied.
fn refusal(field: &Field) -> Option<String> {
    match field.data_type() {
        DataType::Interval(_) => Some("an interval has no type at the destination".to_owned()),
        DataType::Duration(_) => Some("a duration has no type at the destination".to_owned()),
        DataType::Union(..) => Some("a union has no type at the destination".to_owned()),
        data_type if is_opaque(field) && data_type.is_binary() => {
            Some("the driver gives its values as bytes of the database's own".to_owned())
        }
        _ => None,
    }
}

/// Makes a plain field, without the driver's remarks about the database's own types.
pub(super) fn plain(field: &Field, data_type: DataType) -> Field {
    let kept = [EXTENSION, EXTENSION_METADATA].into_iter();
    let metadata =
        kept.filter_map(|key| Some((key.to_owned(), field.metadata().get(key)?.clone()))).collect();
    let is_changed = field.data_type() != &data_type;
    let plain = Field::new(field.name(), data_type, field.is_nullable());
    if is_changed { plain } else { plain.with_metadata(metadata) }
}

fn is_opaque(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == "arrow.opaque")
}

/// Makes a field of UUIDs.
fn uuid(name: &str) -> Field {
    let metadata = [(EXTENSION.to_owned(), UUID.to_owned())].into();
    Field::new(name, DataType::FixedSizeBinary(16), true).with_metadata(metadata)
}

/// Writes a query over the columns of another, by aliases: a name may occur twice.
fn over(session: &Session, query: &str, columns: &[Wanted]) -> String {
    let aliases: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let list = columns.iter().zip(&aliases).map(|(column, alias)| {
        let value = column.cast.as_ref().map_or_else(|| alias.clone(), |cast| cast.replace("{}", alias));
        format!("{value} AS {}", quoted(column.field.name(), &session.quote))
    });
    let list = list.collect::<Vec<_>>().join(", ");
    format!("SELECT {list} FROM ({query}) AS {DERIVED}({})", aliases.join(", "))
}

fn reading_of(session: &Session, query: &str, columns: Vec<Wanted>) -> Reading {
    let sql = match columns.iter().any(|column| column.cast.is_some()) {
        true => over(session, query, &columns),
        false => query.to_owned(),
    };
    let schema = Arc::new(Schema::new(columns.into_iter().map(|column| column.field).collect::<Vec<_>>()));
    Reading { from: format!("({sql}) AS {DERIVED}"), sql, schema, has_sample: false }
}

/// Plans a query of PostgreSQL: decimals get precision and scale; values that the driver gives as bytes are read as
/// text.
fn postgresql(session: &mut Session, query: &str) -> Result<Reading, CopyError> {
    let schema = session.schema(query).map_err(|error| session.failed(&error))?;
    let mut columns = Vec::new();
    let mut unmeasured = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let own = field.metadata().get("POSTGRESQL:type").map(String::as_str).unwrap_or_default();
        let typmod = field.metadata().get("POSTGRESQL:typmod").and_then(|text| text.parse().ok());
        let wanted =
            |cast: &str, data_type| Wanted { cast: Some(cast.to_owned()), field: plain(field, data_type) };
        columns.push(match own {
            "numeric" => match typmod.and_then(decimal_of) {
                Some(data_type) => Wanted { cast: None, field: plain(field, data_type) },
                None => {
                    unmeasured.push(index);
                    Wanted { cast: None, field: plain(field, DataType::Decimal128(38, 0)) }
                }
            },
            "money" => wanted("{}::numeric(19,2)", DataType::Decimal128(19, 2)),
            "oid" | "xid" | "cid" => wanted("{}::text::bigint", DataType::Int64),
            "interval" => wanted("{}::text", DataType::Utf8),
            "uuid" => Wanted { cast: None, field: uuid(field.name()) },
            _ if is_opaque(field) && field.data_type().is_binary() => wanted("{}::text", DataType::Utf8),
            _ => match field.data_type() {
                DataType::List(item) if is_opaque(item) => {
                    let texts = Field::new_list_field(DataType::Utf8, true);
                    wanted("{}::text[]", DataType::List(Arc::new(texts)))
                }
                other => Wanted { cast: None, field: plain(field, other.clone()) },
            },
        });
    }
    if !unmeasured.is_empty() {
        measure_decimals(session, query, &mut columns, &unmeasured)?;
    }
    Ok(reading_of(session, query, columns))
}

/// Returns precision and scale of `numeric(p, s)`, as the catalogue packs them.
fn decimal_of(typmod: i64) -> Option<DataType> {
    let packed = typmod.checked_sub(4).filter(|packed| *packed >= 0)?;
    let precision = (packed >> 16) & 0xffff;
    // The scale has eleven bits, the first of which is its sign.
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    decimal(precision - scale, scale)
}

/// Makes a decimal with these digits before and behind the point.
fn decimal(before: i64, behind: i64) -> Option<DataType> {
    let scale = behind.max(0);
    let precision = (before.max(0) + scale).max(1);
    if precision > MOST_DIGITS {
        return None;
    }
    Some(DataType::Decimal128(u8::try_from(precision).ok()?, i8::try_from(scale).ok()?))
}

/// Finds out how many digits the values of unbounded decimals have: the database looks at all of them.
fn measure_decimals(
    session: &mut Session,
    query: &str,
    columns: &mut [Wanted],
    unmeasured: &[usize],
) -> Result<(), CopyError> {
    let aliases: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let facts = unmeasured.iter().map(|index| {
        let c = format!("c{}", index + 1);
        let is_number = format!("{c}::text !~ '[a-zA-Z]'");
        format!(
            "max(scale({c})) FILTER (WHERE {is_number}), max(length(trunc(abs({c}))::text)) FILTER (WHERE {is_number}), \
             count(*) FILTER (WHERE NOT {is_number})"
        )
    });
    let facts = facts.collect::<Vec<_>>().join(", ");
    let sql = format!("SELECT {facts} FROM ({query}) AS {DERIVED}({})", aliases.join(", "));
    let row = session.texts(&sql)?.into_iter().next().unwrap_or_default();
    let number = |place: usize| row.get(place).cloned().flatten().and_then(|text| text.parse::<i64>().ok());
    for (place, index) in unmeasured.iter().enumerate() {
        let (behind, before) = (number(place * 3).unwrap_or(0), number(place * 3 + 1).unwrap_or(1));
        let Some(column) = columns.get_mut(*index) else { continue };
        let name = column.field.name();
        let advice = format!(
            "choose a type in --query: SELECT ..., {0}::numeric(38,10) AS {0} (or ::text) FROM ...",
            quoted(name, "\"")
        );
        if number(place * 3 + 2).unwrap_or(0) > 0 {
            let text = format!(
                "column {name}: it has NaN or infinite values, which decimals elsewhere have not; {advice}"
            );
            return Err(CopyError::Usage(text));
        }
        if before + behind > MOST_DIGITS {
            let text = format!(
                "column {name}: its values have up to {before} digits before the point and {behind} behind it, \
                 {MOST_DIGITS} are possible in all; {advice}"
            );
            return Err(CopyError::Usage(text));
        }
        // All digits that are left stand before the point, for values to come.
        let data_type = decimal(MOST_DIGITS - behind, behind).unwrap_or(DataType::Decimal128(38, 0));
        column.field = plain(&column.field, data_type);
    }
    Ok(())
}

/// Plans a query of DuckDB: values without a type in Arrow are read as text.
fn duckdb(session: &mut Session, query: &str) -> Result<Reading, CopyError> {
    let described = session.texts(&format!("DESCRIBE {query}"))?;
    let schema = session.query(&format!("SELECT * FROM ({query}) AS {DERIVED} LIMIT 0"))?.schema();
    let mut columns = Vec::new();
    for (field, described) in schema.fields().iter().zip(described) {
        let own = described.get(1).cloned().flatten().unwrap_or_default();
        let text =
            || Wanted { cast: Some("CAST({} AS VARCHAR)".to_owned()), field: plain(field, DataType::Utf8) };
        let decimal = || Wanted {
            cast: Some("CAST({} AS DECIMAL(38,0))".to_owned()),
            field: plain(field, DataType::Decimal128(38, 0)),
        };
        columns.push(match own.as_str() {
            "HUGEINT" | "UHUGEINT" => decimal(),
            "UUID" => Wanted { cast: None, field: uuid(field.name()) },
            "TIME WITH TIME ZONE" | "BIT" | "INTERVAL" | "VARINT" | "BIGNUM" => text(),
            own if own.starts_with("UNION") => text(),
            // Its values are plain texts for everybody else.
            own if own.starts_with("ENUM") => text(),
            _ => {
                let data_type = match field.data_type() {
                    DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("UTC".into())),
                    DataType::Utf8View => DataType::Utf8,
                    DataType::BinaryView => DataType::Binary,
                    other => other.clone(),
                };
                Wanted { cast: None, field: plain(field, data_type) }
            }
        });
    }
    Ok(reading_of(session, query, columns))
}

/// Runs the query.
pub(super) fn open(session: &mut Session, reading: &Reading) -> Result<RowStream, CopyError> {
    let rows = session.query(&reading.sql)?;
    let given = rows.schema();
    let fits = given.fields().len() == reading.schema.fields().len();
    if !fits {
        return Err(CopyError::Usage(
            "the query has other columns when it is run than when it is described".to_owned(),
        ));
    }
    let converting = Converting {
        rows: Some(rows),
        schema: Arc::clone(&reading.schema),
        skips: usize::from(reading.has_sample),
    };
    Ok(RowStream { schema: Arc::clone(&reading.schema), batches: Box::new(converting) })
}

/// Rows of a query, in the types that were settled. An error ends them.
struct Converting {
    rows: Option<Rows>,
    schema: SchemaRef,
    /// Rows at the start that are none of the source's.
    skips: usize,
}

impl Iterator for Converting {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.rows.as_mut()?.next() {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => {
                    self.rows = None;
                    return Some(Err(without_wrapping(error)));
                }
                None => {
                    self.rows = None;
                    return None;
                }
            };
            let skipped = self.skips.min(batch.num_rows());
            self.skips -= skipped;
            let batch = batch.slice(skipped, batch.num_rows() - skipped);
            if batch.num_rows() == 0 {
                continue;
            }
            let converted = converted(&batch, &self.schema);
            if converted.is_err() {
                self.rows = None;
            }
            return Some(converted.map(SourceBatch::from).map_err(BoxError::from));
        }
    }
}

/// Returns a driver's error, without the words of the layers above it.
fn without_wrapping(error: ArrowError) -> BoxError {
    match error {
        ArrowError::ExternalError(source) => source,
        ArrowError::CDataInterface(text) => BoxError::from(text),
        other => BoxError::from(other.to_string()),
    }
}

fn converted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| {
        column(array, field.data_type()).map_err(|error| format!("column {}: {error}", field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| error.to_string())
}

fn column(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (DataType::Utf8, DataType::FixedSizeBinary(16)) => uuids(array),
        // Zones differ in name only: instants are counted from the same moment.
        (DataType::Timestamp(from, Some(_)), DataType::Timestamp(unit, Some(zone))) if from == unit => {
            Ok(match unit {
                TimeUnit::Second => instants::<arrow::datatypes::TimestampSecondType>(array, zone),
                TimeUnit::Millisecond => instants::<arrow::datatypes::TimestampMillisecondType>(array, zone),
                TimeUnit::Microsecond => instants::<arrow::datatypes::TimestampMicrosecondType>(array, zone),
                TimeUnit::Nanosecond => instants::<arrow::datatypes::TimestampNanosecondType>(array, zone),
            })
        }
        _ => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, to, &options).map_err(|error| error.to_string())
        }
    }
}

fn instants<T: arrow::datatypes::ArrowTimestampType>(array: &ArrayRef, zone: &Arc<str>) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().clone().with_timezone(Arc::clone(zone)))
}

fn uuids(array: &ArrayRef) -> Result<ArrayRef, String> {
    let texts = array.as_string::<i32>();
    let mut builder = FixedSizeBinaryBuilder::with_capacity(texts.len(), 16);
    for text in texts {
        let Some(text) = text else {
            builder.append_null();
            continue;
        };
        let digits = text.chars().filter(|c| *c != '-').collect::<String>();
        let value = u128::from_str_radix(&digits, 16).map_err(|_| format!("{text:?} is no UUID"))?;
        builder.append_value(value.to_be_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn packed_precision_and_scale_are_read() {
        // What PostgreSQL 15 keeps for numeric(10,2), numeric(38,0), numeric(2,5), numeric(3,-2), numeric(40,2) and numeric.
        let packed = |precision: i64, scale: i64| ((precision << 16) | (scale & 0x7ff)) + 4;
        let cases = [
            (packed(10, 2), Some(DataType::Decimal128(10, 2))),
            (packed(38, 0), Some(DataType::Decimal128(38, 0))),
            (packed(2, 5), Some(DataType::Decimal128(5, 5))),
            (packed(3, -2), Some(DataType::Decimal128(5, 0))),
            (packed(40, 2), None),
            (-1, None),
        ];
        for (typmod, expected) in cases {
            assert_eq!(decimal_of(typmod), expected, "{typmod}");
        }
    }

    #[test]
    fn uuids_are_read_from_text() {
        let texts: ArrayRef = Arc::new(arrow::array::StringArray::from(vec![
            Some("00112233-4455-6677-8899-aabbccddeeff"),
            None,
        ]));
        let array = uuids(&texts).unwrap();
        assert_eq!(array.as_fixed_size_binary().value(0)[..3], [0x00, 0x11, 0x22]);
        assert!(array.is_null(1));
        let wrong: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["x"]));
        assert!(uuids(&wrong).is_err());
    }
}
