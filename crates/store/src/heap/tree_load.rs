//! Rows of a bulk load on their way into a clustered tree: sorted first, unless they are said to be in order.

use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch};

use super::build::TreeBuilder;
use super::fragments::FragmentWriter;
use super::index_load::{IndexLoad, note_rows, push_bound};
use super::large::LargeValueWriter;
use super::rows;
use crate::catalogue::{Filled, Table};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::page::ExtentId;
use crate::record::{BoundBatch, KeyedRows, Records, WireRowCopier, WireRows};
use crate::sort::{Sorted, Sorter};
use crate::tree::index::Tree;
use crate::tree::record_keys::RecordKeys;
use crate::tree::{key_of_batch, key_of_record};

/// Rows on their way into a clustered tree.
#[derive(Debug)]
pub(crate) struct TreeLoad {
    tree: Arc<Tree>,
    keys: RecordKeys,
    /// The tree is empty and gets built; `None`: rows are merged into it at the end.
    builder: Option<TreeBuilder>,
    /// Large values of rows that are merged.
    fragments: FragmentWriter,
    /// Rows are sorted first.
    sorter: Option<Sorter>,
    /// Rows are said to be in order.
    order: Option<OrderCheck>,
    rows: u64,
    /// Records on their way.
    passing: KeyedRows,
}

/// Result of the rows that a load wrote, the extents that it allocated, and the sorted rows that it still has
/// to insert.
pub(crate) type Ended = (Result<Filled, EngineError>, Vec<ExtentId>, Option<Sorted>);

impl TreeLoad {
    /// Begins a load into `tree`, which `builder` builds. It sorts in up to `sort_memory_bytes`; rows that
    /// are `sorted` are verified.
    pub fn new(
        shared: &Arc<Shared>,
        table: &Arc<Table>,
        tree: &Arc<Tree>,
        transaction: u64,
        builder: Option<TreeBuilder>,
        sorted: bool,
        sort_memory_bytes: usize,
    ) -> Self {
        let is_direct = builder.is_some() && sorted;
        Self {
            tree: Arc::clone(tree),
            keys: RecordKeys::declared(tree),
            builder,
            fragments: FragmentWriter::new(shared, table, transaction, false),
            sorter: (!is_direct).then(|| Sorter::new(shared, sort_memory_bytes)),
            order: sorted.then(OrderCheck::default),
            rows: 0,
            passing: KeyedRows::default(),
        }
    }

    /// Counts the rows added so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts the bytes of pages that are not written yet.
    pub fn buffer_bytes(&self) -> usize {
        self.fragments.buffer_bytes() + self.builder.as_ref().map_or(0, TreeBuilder::buffer_bytes)
    }

    /// Adds rows, and their entries to `indexes` if they are in the tree already.
    pub fn append(&mut self, batch: &RecordBatch, indexes: &mut [IndexLoad]) -> Result<(), EngineError> {
        let tree = Arc::clone(&self.tree);
        self.rows += batch.num_rows() as u64;
        if let (None, Some(builder)) = (&self.sorter, &mut self.builder) {
            let keys = rows::declared_keys(&tree, batch)?;
            if let Some(order) = &mut self.order {
                order.check_batch(&tree, batch, &keys)?;
            }
            let rows = builder.append(batch, &keys)?;
            return note_rows(&rows, &[], indexes);
        }
        let hidden = match tree.layout.hidden {
            0 => None,
            _ => Some(rows::with_hidden(&tree.layout, batch, vec![None; batch.num_rows()])?),
        };
        let fragments = self.builder.as_mut().map_or(&mut self.fragments, |builder| &mut builder.fragments);
        let mut sink = LargeValueWriter { sink: fragments };
        let bound = BoundBatch::new(&tree.layout, hidden.as_ref().unwrap_or(batch), &mut sink)?;
        let Some(sorter) = &mut self.sorter else { return Ok(()) };
        push_bound(sorter, &tree, &self.keys, &bound, &mut self.passing, |rows| match &mut self.order {
            Some(order) => order.check(&tree, rows),
            None => Ok(()),
        })
    }

    /// Copies wire rows that follow each other in `bytes`. It stops before a row that is incomplete or cannot be copied unchanged.
    pub fn append_wire_rows(
        &mut self,
        copier: &WireRowCopier,
        bytes: &[u8],
        indexes: &mut [IndexLoad],
    ) -> Result<WireRows, EngineError> {
        let mut found = WireRows::default();
        if !copier.is_for(&self.tree.layout) {
            return Ok(found);
        }
        loop {
            let rest = bytes
                .get(found.bytes..)
                .ok_or_else(|| EngineError::internal("more bytes of rows than came"))?;
            found.bytes += copier.make(rest, &mut self.passing.records);
            let made = self.passing.records.lengths.len() as u64;
            if made == 0 {
                break;
            }
            self.pass(indexes)?;
            found.rows += made;
        }
        self.rows += found.rows;
        Ok(found)
    }

    /// Takes the records that are on their way.
    fn pass(&mut self, indexes: &mut [IndexLoad]) -> Result<(), EngineError> {
        let rows = &mut self.passing;
        self.keys.read(&self.tree, &rows.records, &mut rows.keys)?;
        if let Some(order) = &mut self.order {
            order.check(&self.tree, rows)?;
        }
        match (&mut self.sorter, &mut self.builder) {
            (Some(sorter), _) => sorter.push(rows),
            (None, Some(builder)) => {
                builder.append_rows(rows)?;
                rows::note_records(&self.tree.layout, (&rows.records, &[]), indexes, &builder.large_values())
            }
            (None, None) => Err(EngineError::internal("rows that are neither sorted nor in order")),
        }
    }

    /// Abandons the load, so that its rows can be undone. Returns its extents.
    pub fn give_up(self) -> Vec<ExtentId> {
        self.builder.map_or(self.fragments.allocated, |builder| builder.fragments.allocated)
    }

    /// Builds the tree, or returns the rows that are to be merged into it.
    pub fn finish(mut self, indexes: &mut [IndexLoad]) -> Ended {
        let sorted = self.sorter.map(Sorter::finish).transpose();
        let Some(mut builder) = self.builder else {
            let written = self.fragments.finish();
            let extents = std::mem::take(&mut self.fragments.extents);
            let filled = written.map(|()| Filled { extents, ..Filled::default() });
            return match sorted {
                Ok(sorted) => (filled, self.fragments.allocated, sorted),
                Err(error) => (Err(error), self.fragments.allocated, None),
            };
        };
        let built = sorted.and_then(|sorted| match sorted {
            // Indexes may have values that are not in their rows, which are all written by now.
            Some(mut sorted) if !indexes.is_empty() => builder
                .fragments
                .finish()
                .and_then(|()| build_sorted(&mut builder, &self.tree, &mut sorted, indexes)),
            Some(mut sorted) => build_sorted(&mut builder, &self.tree, &mut sorted, indexes),
            None => Ok(()),
        });
        let (filled, allocated) = builder.finish();
        (built.and(filled), allocated, None)
    }
}

/// Builds a tree from rows in its order, and adds the entries of a clustered table's rows to `indexes`.
pub(crate) fn build_sorted(
    builder: &mut TreeBuilder,
    tree: &Tree,
    sorted: &mut Sorted,
    indexes: &mut [IndexLoad],
) -> Result<(), EngineError> {
    let mut rows = KeyedRows::default();
    while sorted.next(&mut rows)? {
        builder.append_rows(&mut rows)?;
        rows::note_records(&tree.layout, (&rows.records, &[]), indexes, &builder.large_values())?;
    }
    Ok(())
}

/// Compares each row's key with the one before.
#[derive(Debug, Default)]
struct OrderCheck {
    rows: u64,
    last: Option<Last>,
}

/// The last row: its key, and what shows it.
#[derive(Debug)]
struct Last {
    key: Vec<u8>,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Record(Vec<u8>),
    Key(RecordBatch),
}

impl Shown {
    fn key(&self, tree: &Tree) -> Option<RecordBatch> {
        match self {
            Self::Record(record) => key_of_record(tree, record),
            Self::Key(key) => Some(key.clone()),
        }
    }
}

impl OrderCheck {
    /// Refuses a record whose key is less than that of the one before.
    fn check(&mut self, tree: &Tree, rows: &KeyedRows) -> Result<(), EngineError> {
        let KeyedRows { records, keys } = rows;
        let mut last = self.last.as_ref().map(|last| last.key.as_slice());
        for (row, key) in keys.iter().enumerate() {
            if last.is_some_and(|last| key < last) {
                return Err(self.out_of_order(tree, records, row));
            }
            last = Some(key);
        }
        self.rows += keys.len() as u64;
        if let Some(record) = keys.len().checked_sub(1).and_then(|last| records.iter().nth(last)) {
            let shown = Shown::Record(record.to_vec());
            self.last = Some(Last { key: keys.get(keys.len() - 1).to_vec(), shown });
        }
        Ok(())
    }

    #[cold]
    fn out_of_order(&self, tree: &Tree, records: &Records, row: usize) -> EngineError {
        let of = |row| records.iter().nth(row).and_then(|record| key_of_record(tree, record));
        let before = match row.checked_sub(1) {
            Some(before) => of(before),
            None => self.last.as_ref().and_then(|last| last.shown.key(tree)),
        };
        EngineError::NotSorted { row: self.rows + row as u64 + 1, keys: before.zip(of(row)).map(Box::new) }
    }

    /// Refuses a batch with a row whose key is less than that of the row before.
    fn check_batch(
        &mut self,
        tree: &Tree,
        batch: &RecordBatch,
        keys: &BinaryArray,
    ) -> Result<(), EngineError> {
        let mut last = self.last.as_ref().map(|last| last.key.as_slice());
        for (row, key) in keys.iter().flatten().enumerate() {
            if last.is_some_and(|last| key < last) {
                let before = match row.checked_sub(1) {
                    Some(before) => key_of_batch(tree, batch, before),
                    None => self.last.as_ref().and_then(|last| last.shown.key(tree)),
                };
                let keys = before.zip(key_of_batch(tree, batch, row)).map(Box::new);
                return Err(EngineError::NotSorted { row: self.rows + row as u64 + 1, keys });
            }
            last = Some(key);
        }
        self.rows += batch.num_rows() as u64;
        let shown = batch.num_rows().checked_sub(1).and_then(|row| key_of_batch(tree, batch, row));
        if let (Some(key), Some(shown)) = (last, shown) {
            self.last = Some(Last { key: key.to_vec(), shown: Shown::Key(shown) });
        }
        Ok(())
    }
}
