//! A small result.

use tds::Value;

/// A small result, held as values: for catalogue queries, not for data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueTable {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows in order; every row has a value per column.
    pub rows: Vec<Vec<Value>>,
}

/// Returns the first value of the first row of the first result; none if there is no row.
pub fn first_value(tables: &[ValueTable]) -> Option<&Value> {
    tables.first()?.rows.first()?.first()
}
