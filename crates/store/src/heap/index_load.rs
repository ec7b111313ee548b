//! Collects entries for a nonclustered index: sorts them, then builds the tree.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::rows::{self, Columns};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::page::RowId;
use crate::record::layout::Layout;
use crate::record::{BoundBatch, EntryCopier, KeyedRows, Records, no_large_values};
use crate::sort::{Sorted, Sorter};
use crate::tree::index::{Index, Tree};
use crate::tree::record_keys::RecordKeys;

/// Entries on their way into a nonclustered index.
#[derive(Debug)]
pub(crate) struct IndexLoad {
    pub index: Index,
    sorter: Sorter,
    keys: RecordKeys,
    /// Makes entries of the table's records, once such have come. `None` within: it cannot.
    copier: Option<Option<EntryCopier>>,
    /// Records on their way.
    passing: KeyedRows,
}

impl IndexLoad {
    pub fn new(shared: &Arc<Shared>, index: &Index, sort_memory_bytes: usize) -> Self {
        let keys = RecordKeys::whole(&index.tree);
        let sorter = Sorter::new(shared, sort_memory_bytes);
        Self { index: index.clone(), sorter, keys, copier: None, passing: KeyedRows::default() }
    }

    /// Takes the entries of rows of the table.
    pub fn push(&mut self, columns: &Columns, addresses: &[RowId], rows: usize) -> Result<(), EngineError> {
        let entries = rows::index_rows(&self.index, columns, addresses, rows)?;
        let bound = BoundBatch::new(&self.index.tree.layout, &entries, &mut no_large_values())?;
        push_bound(&mut self.sorter, &self.index.tree, &self.keys, &bound, &mut self.passing, |_| Ok(()))
    }

    /// Takes the entries of complete records of the table, which has this layout; those of a heap have `addresses`. False: it took
    /// none, and needs the rows' columns.
    pub fn push_records(
        &mut self,
        table: &Layout,
        records: &Records,
        addresses: &[RowId],
    ) -> Result<bool, EngineError> {
        let index = &self.index;
        let copier = self.copier.get_or_insert_with(|| index.entry_copier(table));
        let rows = &mut self.passing;
        rows.clear();
        if copier.as_ref().and_then(|copier| copier.copy(records, addresses, &mut rows.records)).is_none() {
            return Ok(false);
        }
        self.keys.read(&self.index.tree, &rows.records, &mut rows.keys)?;
        self.sorter.push(rows)?;
        Ok(true)
    }

    /// Returns the entries in order.
    pub fn finish(self) -> Result<Sorted, EngineError> {
        self.sorter.finish()
    }
}

/// Rows of which records are made at once, before they are sorted.
const ROWS_AT_ONCE: usize = 256;

/// Adds rows of a tree to a sort, with the keys that `keys` reads, if `check` finds nothing wrong with them. `rows` is room for some.
pub(crate) fn push_bound(
    sorter: &mut Sorter,
    tree: &Tree,
    keys: &RecordKeys,
    bound: &BoundBatch<'_>,
    rows: &mut KeyedRows,
    mut check: impl FnMut(&KeyedRows) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    for first in (0..bound.rows()).step_by(ROWS_AT_ONCE) {
        bound.write_records(first..bound.rows().min(first + ROWS_AT_ONCE), &mut rows.records);
        keys.read(tree, &rows.records, &mut rows.keys)?;
        check(rows)?;
        sorter.push(rows)?;
    }
    Ok(())
}

/// Adds the entries of rows of a table to its indexes: rows with their hidden column, and where they are, if it is a heap.
pub(crate) fn note_rows(
    rows: &RecordBatch,
    addresses: &[RowId],
    indexes: &mut [IndexLoad],
) -> Result<(), EngineError> {
    if indexes.is_empty() {
        return Ok(());
    }
    let columns = rows::columns_of(rows);
    indexes.iter_mut().try_for_each(|load| load.push(&columns, addresses, rows.num_rows()))
}
