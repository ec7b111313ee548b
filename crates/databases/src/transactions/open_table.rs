//! A table as a session sees it.

use std::sync::Arc;

use crate::catalogue::TableDefinition;
use crate::storage::TableId;

/// The kind of a table, which decides the transaction that changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A table that other sessions can see.
    Shared,
    /// A `#` object of the session, in tempdb.
    Temporary,
    /// A table variable, in tempdb, which no ROLLBACK undoes.
    Variable,
}

/// A table as the session sees it now.
#[derive(Debug, Clone)]
pub struct OpenTable {
    /// Kind of the table.
    pub place: Place,
    /// Id of the table in the store.
    pub id: TableId,
    /// Declaration of the table.
    pub definition: Arc<TableDefinition>,
    /// Rows in it.
    pub rows: u64,
}
