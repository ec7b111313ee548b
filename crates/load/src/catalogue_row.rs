//! Rows of the server's catalogue, read by column name: newer servers have columns that older ones lack.

use tds::Value;

use crate::value_table::ValueTable;

/// A row of the catalogue with the names of its columns.
pub(crate) struct CatalogueRow<'a> {
    columns: &'a [String],
    values: &'a [Value],
}

/// Returns the rows of a result.
pub(crate) fn rows(table: &ValueTable) -> impl Iterator<Item = CatalogueRow<'_>> {
    table.rows.iter().map(|values| CatalogueRow { columns: &table.columns, values })
}

impl CatalogueRow<'_> {
    /// Returns the value unchanged; NULL for a column that this server does not have.
    pub(crate) fn value(&self, column: &str) -> &Value {
        let index = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column));
        index.and_then(|index| self.values.get(index)).unwrap_or(&Value::Null)
    }

    /// Returns text; empty for NULL.
    pub(crate) fn text(&self, column: &str) -> String {
        match self.value(column) {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    /// Returns a whole number; `None` for NULL, and for a column that this server does not have.
    pub(crate) fn integer(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Value::Bit(value) => Some(i64::from(*value)),
            Value::TinyInt(value) => Some(i64::from(*value)),
            Value::SmallInt(value) => Some(i64::from(*value)),
            Value::Int(value) => Some(i64::from(*value)),
            Value::BigInt(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a bit; false for NULL, and for a column that this server does not have.
    pub(crate) fn flag(&self, column: &str) -> bool {
        self.integer(column).unwrap_or_default() != 0
    }
}
