//! FOR XML RAW and AUTO, and what they share with PATH.

use tds::SqlType;

use super::super::Datum;
use super::super::convert::escaped;
use super::levels::{Level, first_change, levels};
use super::scalar_text::scalar_text;
use super::{RowWriter, TextColumn};
use tsql::SqlError;
use tsql::for_clause::{ForXml, XmlShape};

/// The declaration of the prefix of `xsi:nil`.
pub(super) const NIL_NAMESPACE: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

/// Errors: 6809 for a column without a name.
pub(super) fn check_names(columns: &[TextColumn]) -> Result<(), SqlError> {
    if columns.iter().all(|column| !column.name.is_empty()) {
        return Ok(());
    }
    let text = "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot be used for attribute names. Name unnamed columns/tables using AS in the SELECT statement.";
    Err(SqlError::new(6809, 16, 1, text))
}

/// Puts the rows into the element of ROOT.
pub(super) fn rooted(root: Option<&str>, rows: &str) -> String {
    match root {
        Some(root) => format!("<{0}>{rows}</{0}>", element_name(root)),
        None => rows.to_string(),
    }
}

/// Escapes characters that XML does not allow in a name as `_xHHHH_`.
pub(super) fn element_name(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for (at, ch) in name.chars().enumerate() {
        let part = ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.' | ':');
        let start = ch.is_alphabetic() || ch == '_';
        if (at == 0 && start) || (at > 0 && part) {
            written.push(ch);
        } else {
            written.push_str(&format!("_x{:04X}_", u32::from(ch)));
        }
    }
    written
}

/// Writes a value within an element.
pub(super) fn content(value: Datum, sql_type: &SqlType, nested: bool) -> Result<String, SqlError> {
    let text = plain(value, sql_type)?;
    Ok(if nested || *sql_type == SqlType::Xml { text } else { escaped(&text, false) })
}

/// Writes a value within the quotes of an attribute.
pub(super) fn attribute(value: Datum, sql_type: &SqlType) -> Result<String, SqlError> {
    Ok(escaped(&plain(value, sql_type)?, true))
}

fn plain(value: Datum, sql_type: &SqlType) -> Result<String, SqlError> {
    match value {
        Datum::Bit(bit) => Ok(u8::from(bit).to_string()),
        other => scalar_text(other, sql_type),
    }
}

/// Writes the rows of RAW and AUTO.
#[derive(Debug)]
pub(super) struct ElementWriter {
    clause: ForXml,
    columns: Vec<TextColumn>,
    levels: Vec<Level>,
    before: Option<Vec<Datum>>,
    text: String,
}

impl ElementWriter {
    pub(super) fn new(clause: ForXml, columns: Vec<TextColumn>) -> ElementWriter {
        let levels = match &clause.shape {
            XmlShape::Raw(row) => vec![Level { name: row.clone(), columns: (0..columns.len()).collect() }],
            _ => levels(&columns),
        };
        ElementWriter { clause, columns, levels, before: None, text: String::new() }
    }

    /// Begins the element of a level; the last level's is closed at once.
    fn open(&mut self, level: usize, row: &[Datum]) -> Result<(), SqlError> {
        let Some(own) = self.levels.get(level).cloned() else { return Ok(()) };
        let name = element_name(&own.name);
        let mut inside = String::new();
        self.text.push_str(&format!("<{name}"));
        if self.clause.nil && level == 0 {
            self.text.push_str(NIL_NAMESPACE);
        }
        for at in own.columns {
            let (Some(column), Some(cell)) = (self.columns.get(at), row.get(at)) else { continue };
            let tag = element_name(&column.name);
            if cell.is_null() {
                if self.clause.nil {
                    inside.push_str(&format!("<{tag} xsi:nil=\"true\"/>"));
                }
            } else if self.clause.elements || column.nested || column.sql_type == SqlType::Xml {
                let text = content(cell.clone(), &column.sql_type, column.nested)?;
                inside.push_str(&format!("<{tag}>{text}</{tag}>"));
            } else {
                let text = attribute(cell.clone(), &column.sql_type)?;
                self.text.push_str(&format!(" {tag}=\"{text}\""));
            }
        }
        if level + 1 < self.levels.len() {
            self.text.push_str(&format!(">{inside}"));
        } else if inside.is_empty() {
            self.text.push_str("/>");
        } else {
            self.text.push_str(&format!(">{inside}</{name}>"));
        }
        Ok(())
    }

    /// Returns the closing tags of the levels from `from` on, without the last level.
    fn closed(&self, from: usize) -> String {
        let outer = self.levels.len().saturating_sub(1);
        let open = self.levels.iter().take(outer).skip(from).rev();
        open.map(|level| format!("</{}>", element_name(&level.name))).collect()
    }
}

impl RowWriter for ElementWriter {
    fn add(&mut self, row: Vec<Datum>) -> Result<(), SqlError> {
        let mut from = 0;
        if let Some(before) = &self.before {
            from = first_change(&self.levels, before, &row);
            let closed = self.closed(from);
            self.text.push_str(&closed);
        }
        for level in from..self.levels.len() {
            self.open(level, &row)?;
        }
        self.before = Some(row);
        Ok(())
    }

    fn rows(&self) -> Option<String> {
        self.before.as_ref()?;
        Some(format!("{}{}", self.text, self.closed(0)))
    }

    fn size(&self) -> usize {
        self.text.capacity()
    }
}
