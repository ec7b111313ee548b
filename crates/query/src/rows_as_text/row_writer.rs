//! Columns of rows that become text, and the writer of the rows.

use std::fmt;

use tds::SqlType;
use tsql::SqlError;

use super::super::Datum;

/// A column of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TextColumn {
    /// The name of the column; empty if it has none.
    pub name: String,
    /// The type of the column.
    pub sql_type: SqlType,
    /// The table that it is a column of, as the query calls it.
    pub table: Option<String>,
    /// True if the text is JSON or XML and is put in unchanged.
    pub nested: bool,
}

/// Writes rows one after another.
pub(crate) trait RowWriter: fmt::Debug + Send + Sync {
    /// Adds a row: the values of all columns.
    fn add(&mut self, row: Vec<Datum>) -> Result<(), SqlError>;
    /// Returns the text of all rows so far, without the text around them; `None` if there was no row.
    fn rows(&self) -> Option<String>;
    /// Bytes that it holds.
    fn size(&self) -> usize;
}
