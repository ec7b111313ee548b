//! Collects entries for a nonclustered index: sorts them, then builds the tree.

use std::sync::Arc;

use super::rows::{self, Columns};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::page::RowId;
use crate::sort::{Sorted, Sorter};
use crate::tree::index::Index;

/// Entries on their way into a nonclustered index.
#[derive(Debug)]
pub(crate) struct IndexLoad {
    pub index: Index,
    pub sorter: Sorter,
}

impl IndexLoad {
    pub fn new(shared: &Arc<Shared>, index: &Index, sort_memory_bytes: usize) -> Self {
        Self { index: index.clone(), sorter: Sorter::new(shared, sort_memory_bytes) }
    }

    /// Takes the entries of rows of the table.
    pub fn push(&mut self, columns: &Columns, addresses: &[RowId], rows: usize) -> Result<(), EngineError> {
        let entries = rows::index_rows(&self.index, columns, addresses, rows)?;
        let keys = rows::keys_of_rows(&self.index.tree, &entries)?;
        self.sorter.push(&entries, keys)
    }

    /// The entries in order.
    pub fn finish(self) -> Result<Sorted, EngineError> {
        self.sorter.finish()
    }
}
