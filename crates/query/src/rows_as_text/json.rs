//! FOR JSON AUTO, and what it shares with PATH.

use tds::SqlType;

use super::super::Datum;
use super::levels::{Level, first_change, levels};
use super::scalar_text::scalar_text;
use super::{RowWriter, TextColumn};
use tsql::SqlError;
use tsql::for_clause::ForJson;

/// Errors: 13605 for a column without a name.
pub(super) fn check_names(columns: &[TextColumn]) -> Result<(), SqlError> {
    if columns.iter().all(|column| !column.name.is_empty()) {
        return Ok(());
    }
    let text = "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table.";
    Err(SqlError::new(13605, 16, 1, text))
}

/// Adds the text of ROOT and WITHOUT_ARRAY_WRAPPER to the rows.
pub(super) fn wrapped(clause: &ForJson, rows: &str) -> String {
    match &clause.root {
        Some(root) => format!("{{{}:[{rows}]}}", quoted(root)),
        None if clause.without_wrapper => rows.to_string(),
        None => format!("[{rows}]"),
    }
}

/// Quotes a JSON string, escaped as SQL Server does it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for ch in text.chars() {
        match ch {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '/' => quoted.push_str("\\/"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            ch if u32::from(ch) < 0x20 => quoted.push_str(&format!("\\u{:04x}", u32::from(ch))),
            ch => quoted.push(ch),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a value of JSON. Errors: 13604 for types that have no JSON form.
pub(crate) fn value(value: Datum, sql_type: &SqlType, nested: bool) -> Result<String, SqlError> {
    if let (SqlType::SqlVariant, Datum::Binary(body)) = (sql_type, &value) {
        let (inner, base) = super::super::convert::base_of(body)?;
        return self::value(inner, &base, nested);
    }
    Ok(match (&value, sql_type) {
        (Datum::Null, _) => "null".to_string(),
        (_, SqlType::Udt { .. }) => {
            let text = "FOR JSON cannot serialize CLR objects. Cast CLR types explicitly into one of the supported types in FOR JSON queries.";
            return Err(SqlError::new(13604, 16, 1, text));
        }
        (Datum::Bit(bit), _) => bit.to_string(),
        (Datum::Text(text), _) if nested || *sql_type == SqlType::Json => text.clone(),
        // The text of a vector is an array of JSON.
        (Datum::Int(_) | Datum::Decimal(_) | Datum::Real(_) | Datum::Float(_), _)
        | (Datum::Binary(_), SqlType::Vector { .. }) => scalar_text(value, sql_type)?,
        _ => quoted(&scalar_text(value, sql_type)?),
    })
}

/// Writes the rows of AUTO: tables that are joined nest in one another.
#[derive(Debug)]
pub(super) struct AutoWriter {
    clause: ForJson,
    columns: Vec<TextColumn>,
    levels: Vec<Level>,
    before: Option<Vec<Datum>>,
    text: String,
}

impl AutoWriter {
    pub(super) fn new(clause: ForJson, columns: Vec<TextColumn>) -> AutoWriter {
        AutoWriter { clause, levels: levels(&columns), columns, before: None, text: String::new() }
    }

    fn open(&mut self, level: usize, row: &[Datum]) -> Result<(), SqlError> {
        self.text.push('{');
        let mut first = true;
        let Some(own) = self.levels.get(level).cloned() else { return Ok(()) };
        for at in own.columns {
            let (Some(column), Some(cell)) = (self.columns.get(at), row.get(at)) else { continue };
            if cell.is_null() && !self.clause.include_nulls {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.text.push(',');
            }
            let text = value(cell.clone(), &column.sql_type, column.nested)?;
            self.text.push_str(&format!("{}:{text}", quoted(&column.name)));
        }
        if let Some(inner) = self.levels.get(level + 1) {
            if !first {
                self.text.push(',');
            }
            self.text.push_str(&format!("{}:[", quoted(&inner.name)));
        }
        Ok(())
    }
}

impl RowWriter for AutoWriter {
    fn add(&mut self, row: Vec<Datum>) -> Result<(), SqlError> {
        let mut from = 0;
        if let Some(before) = &self.before {
            from = first_change(&self.levels, before, &row);
            for _ in from + 1..self.levels.len() {
                self.text.push_str("}]");
            }
            self.text.push_str("},");
        }
        for level in from..self.levels.len() {
            self.open(level, &row)?;
        }
        self.before = Some(row);
        Ok(())
    }

    fn rows(&self) -> Option<String> {
        self.before.as_ref()?;
        let mut rows = self.text.clone();
        rows.push_str(&"}]".repeat(self.levels.len().saturating_sub(1)));
        rows.push('}');
        Some(rows)
    }

    fn size(&self) -> usize {
        self.text.capacity()
    }
}
