//! The peculiarities of a database system.

use super::address::TableAddress;

/// A database system as its driver shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    PostgreSql,
    Sqlite,
    DuckDb,
    /// Any system behind an ODBC driver.
    Odbc,
    /// Any system behind another ADBC driver.
    Other,
}

impl System {
    /// Recognises the system by the names of the system and the driver.
    pub(super) fn of(vendor: &str, driver: &str) -> Self {
        if driver == "bulkwire ODBC" {
            return Self::Odbc;
        }
        match vendor.to_ascii_lowercase().as_str() {
            "postgresql" => Self::PostgreSql,
            "sqlite" => Self::Sqlite,
            "duckdb" => Self::DuckDb,
            _ => Self::Other,
        }
    }

    /// Returns true if bulkwire writes the statement that creates a table, instead of the driver.
    pub(super) fn has_own_create(self) -> bool {
        matches!(self, Self::PostgreSql | Self::Sqlite)
    }
}

/// Quotes a name.
pub(super) fn quoted(name: &str, quote: &str) -> String {
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

/// Returns a table's full name.
pub(super) fn full_name(table: &TableAddress, quote: &str) -> String {
    let parts = [table.catalog.as_deref(), table.schema.as_deref(), Some(table.name.as_str())];
    parts.into_iter().flatten().map(|part| quoted(part, quote)).collect::<Vec<_>>().join(".")
}
