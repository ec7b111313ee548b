//! Properties of a table that need no reading, and modes of its locks.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;

/// Identifies a table for its whole life, through renames. Never used for another table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u64);

/// Properties of a table that are known without reading it.
#[derive(Debug, Clone)]
pub struct TableInfo {
    /// Stays through renames.
    pub id: TableId,
    /// Full name, unique in the database; compared byte by byte.
    pub name: Arc<str>,
    /// Columns in order.
    pub schema: SchemaRef,
    /// The caller's own text, kept with the table.
    pub properties: Arc<str>,
    /// Number of rows.
    pub rows: u64,
    /// Bytes that the rows take.
    pub bytes: u64,
}

/// Lock of a transaction on a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    /// Shared among appenders: inserts, and bulk loads without a table lock, run side by side (SQL Server's IX).
    Append,
    /// Shared among bulk loads that lock the table, and with no other transaction (SQL Server's BU). Its
    /// holder may append.
    Bulk,
    /// Exclusive: update, delete, truncate and every change of the table itself.
    Exclusive,
}

impl From<LockMode> for store::LockMode {
    fn from(mode: LockMode) -> Self {
        match mode {
            LockMode::Append => Self::IX,
            LockMode::Bulk => Self::BU,
            LockMode::Exclusive => Self::X,
        }
    }
}
