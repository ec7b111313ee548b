//! Types of SQLite's columns. Values have types there, and columns do not: the values of all rows are asked.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::{reading::Reading, session::Session, system::quoted};
use crate::error::CopyError;

/// The view that stands for the table or query.
const VIEW: &str = "temp.bulkwire_rows";
/// The largest integer that a double holds with all its neighbours.
const EXACT_DOUBLE: i64 = 1 << 53;

/// Facts about the values of a column; each is asked as 0 or 1.
const FACTS: [&str; 9] = [
    "max(typeof({}) = 'integer')",
    "max(typeof({}) = 'real')",
    "max(typeof({}) = 'text')",
    "max(typeof({}) = 'blob')",
    "min({} IN (0, 1))",
    "max(typeof({}) = 'integer' AND {} NOT BETWEEN -{limit} AND {limit})",
    "min({} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]')",
    // Without a zone, and with no more digits than microseconds have.
    "min({} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ]*' AND {} NOT GLOB '*Z' AND {} NOT GLOB '*[+-][0-9][0-9]:[0-9][0-9]' AND length({}) <= 26)",
    "min({} GLOB '[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*' AND length({}) <= 15)",
];

struct Facts {
    integer: bool,
    real: bool,
    text: bool,
    blob: bool,
    only_0_and_1: bool,
    beyond_doubles: bool,
    dates: bool,
    moments: bool,
    times: bool,
}

/// Plans the query that reads the rows. Its first row has a value of each column's type, from which the driver
/// takes the types. Without it the driver would guess from the first rows.
pub(super) fn plan(session: &mut Session, query: &str) -> Result<Reading, CopyError> {
    session.execute(&format!("DROP VIEW IF EXISTS {VIEW}"))?;
    session.execute(&format!("CREATE TEMP VIEW bulkwire_rows AS {query}"))?;
    let columns = session.texts("SELECT name, type FROM pragma_table_info('bulkwire_rows')")?;
    let columns: Vec<(String, String)> = columns
        .into_iter()
        .map(|row| {
            let mut row = row.into_iter().map(Option::unwrap_or_default);
            (row.next().unwrap_or_default(), row.next().unwrap_or_default())
        })
        .collect();
    let (mut fields, mut values, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    // A statement of SQLite may have 2000 columns.
    for some in columns.chunks(200) {
        let facts = facts(session, some)?;
        for ((name, declared), facts) in some.iter().zip(facts) {
            let (data_type, sample, cast) = type_of(name, declared, facts.as_ref())?;
            let column = quoted(name, "\"");
            samples.push(format!("{sample} AS {column}"));
            values.push(cast.map_or_else(|| column.clone(), |to| format!("CAST({column} AS {to})")));
            fields.push(Field::new(name, data_type, true));
        }
    }
    let sql = format!("SELECT {} UNION ALL SELECT {} FROM {VIEW}", samples.join(", "), values.join(", "));
    let schema = Arc::new(Schema::new(fields));
    Ok(Reading { sql, schema, has_sample: true, from: VIEW.to_owned() })
}

/// Asks for the types of all values of some columns; `None` for a column that has only NULL.
fn facts(session: &mut Session, columns: &[(String, String)]) -> Result<Vec<Option<Facts>>, CopyError> {
    let asked = columns.iter().flat_map(|(name, _)| {
        let column = quoted(name, "\"");
        FACTS.map(|fact| fact.replace("{limit}", &EXACT_DOUBLE.to_string()).replace("{}", &column))
    });
    let asked = asked.collect::<Vec<_>>().join(", ");
    let row = session.texts(&format!("SELECT {asked} FROM {VIEW}"))?.into_iter().next().unwrap_or_default();
    Ok(row
        .chunks(FACTS.len())
        .map(|answers| {
            let is = |place: usize| answers.get(place).cloned().flatten().is_some_and(|answer| answer == "1");
            let facts = Facts {
                integer: is(0),
                real: is(1),
                text: is(2),
                blob: is(3),
                only_0_and_1: is(4),
                beyond_doubles: is(5),
                dates: is(6),
                moments: is(7),
                times: is(8),
            };
            (facts.integer || facts.real || facts.text || facts.blob).then_some(facts)
        })
        .collect())
}

/// Returns Arrow's type, a value of SQLite's type, and the target of the values' cast.
fn type_of(
    name: &str,
    declared: &str,
    facts: Option<&Facts>,
) -> Result<(DataType, &'static str, Option<&'static str>), CopyError> {
    let word = declared.to_ascii_uppercase();
    let Some(facts) = facts else { return Ok(declared_type(&word)) };
    let refused = |what: &str| {
        Err(CopyError::Usage(format!(
            "column {name}: it has {what}. Choose a type in --query: SELECT ..., CAST({0} AS TEXT) AS {0} FROM ...",
            quoted(name, "\"")
        )))
    };
    Ok(match facts {
        Facts { blob: true, integer: false, real: false, text: false, .. } => {
            (DataType::Binary, "x'00'", None)
        }
        Facts { blob: true, .. } => return refused("both blobs and other values"),
        Facts { text: true, integer: false, real: false, dates, moments, times, .. } => {
            let data_type = match declared_type(&word).0 {
                DataType::Date32 if *dates => DataType::Date32,
                timestamp @ DataType::Timestamp(..) if *moments => timestamp,
                time @ DataType::Time64(_) if *times => time,
                _ => DataType::Utf8,
            };
            (data_type, "''", None)
        }
        Facts { text: true, .. } => (DataType::Utf8, "''", Some("TEXT")),
        Facts { real: true, beyond_doubles: true, .. } => {
            return refused("both integers beyond 2^53 and fractions");
        }
        Facts { real: true, .. } => (DataType::Float64, "0.5", Some("REAL")),
        Facts { only_0_and_1: true, .. } if word.contains("BOOL") => (DataType::Boolean, "0", None),
        _ => (DataType::Int64, "0", None),
    })
}

/// Returns the type that the declaration of a column without values promises.
fn declared_type(word: &str) -> (DataType, &'static str, Option<&'static str>) {
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if has(&["BOOL"]) {
        (DataType::Boolean, "0", None)
    } else if has(&["DATETIME", "TIMESTAMP"]) {
        (DataType::Timestamp(TimeUnit::Microsecond, None), "''", None)
    } else if has(&["DATE"]) {
        (DataType::Date32, "''", None)
    } else if word.starts_with("TIME") {
        (DataType::Time64(TimeUnit::Microsecond), "''", None)
    } else if has(&["INT"]) {
        (DataType::Int64, "0", None)
    } else if has(&["BLOB", "BINARY"]) {
        (DataType::Binary, "x'00'", None)
    } else if has(&["REAL", "FLOA", "DOUB"]) {
        (DataType::Float64, "0.5", None)
    } else {
        (DataType::Utf8, "''", None)
    }
}
