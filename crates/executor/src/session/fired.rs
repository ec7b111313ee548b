//! Row changes that statements and loads have made in tables with triggers.

use std::sync::Arc;

use arrow::array::RecordBatch;
use databases::catalogue::{TableDefinition, Trigger};
use parking_lot::Mutex;

use crate::session::work::VariableTable;

/// The change that fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// The changes that a statement has made to one table.
pub(crate) struct Fired {
    pub table: Arc<TableDefinition>,
    pub(crate) triggers: Vec<Trigger>,
    pub event: Event,
    pub(crate) inserted: Rows,
    pub(crate) deleted: Rows,
    /// The columns that were assigned; None: all.
    pub(crate) assigned: Option<Vec<usize>>,
    pub rows: u64,
}

/// The rows of `inserted` or `deleted`.
pub enum Rows {
    /// Batches of the table's own columns.
    Batches(Vec<RecordBatch>),
    /// A table variable.
    Table(VariableTable),
}

impl Rows {
    /// Returns an empty set of rows.
    pub fn none() -> Rows {
        Rows::Batches(Vec::new())
    }
}

/// The rows that a load with FIRE_TRIGGERS keeps for the triggers.
pub(crate) struct BulkFires {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// The rows that were loaded.
    pub rows: Arc<Mutex<Vec<RecordBatch>>>,
    /// The load and its triggers are a transaction of their own.
    pub own: bool,
}
