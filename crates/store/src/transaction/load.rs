//! Bulk loads into any table: extents of a heap, a tree built from sorted rows, or rows merged into a tree, with the table's
//! indexes.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::change_alone::work_on;
use super::leftover::{Leftover, Leftovers};
use super::locks::lock_for_adding;
use super::rows::{with_heap, with_rows};
use super::unit_of_work::{Savepoint, Transaction, no_table, undo_load};
use super::write_table::WriteTable;
use crate::catalogue::{Filled, Table, tree_of};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::heap::HeapWriter;
use crate::heap::build::{Fill, TreeBuilder};
use crate::heap::bulk::{HeapLoad, LocatedRows};
use crate::heap::claiming::claim_root;
use crate::heap::index_load::{IndexLoad, note_rows};
use crate::heap::rows::note_records;
use crate::heap::tree_load::{TreeLoad, build_sorted};
use crate::lock::{LockMode, Resource};
use crate::page::ExtentId;
use crate::record::{KeyedRows, WireRowCopier, WireRows};
use crate::sort::Sorted;
use crate::tree::index::Tree;

/// Options of a bulk load.
#[derive(Debug, Clone, Copy)]
pub struct BulkOptions {
    /// The load locks the table as a whole (`TABLOCK`): one of the conditions for minimal logging, and for building trees with their fill
    /// factor. Without it pages are filled up, as if the rows had been inserted in their order.
    pub table_lock: bool,
    /// The rows are declared to be in the order of the clustered key (the `ORDER` hint). This is verified: a row out of order is
    /// [`EngineError::NotSorted`]. A heap ignores it.
    pub sorted: bool,
    /// Bytes of rows that a sort keeps in memory; more are sorted in temporary files. Each index sorts for itself.
    pub sort_memory_bytes: usize,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self { table_lock: true, sorted: false, sort_memory_bytes: 64 << 20 }
    }
}

/// Reason why pages of a load are logged as a whole (the conditions are those of "Prerequisites for minimal
/// logging in bulk import").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinimalLoggingCondition {
    /// The recovery model is SIMPLE or BULK_LOGGED.
    RecoveryModel,
    /// The load locks the table.
    TableLock,
    /// A clustered table, or a table whose indexes are loaded, is empty and has not held rows since it was created or truncated.
    EmptyTable,
}

/// Minimal logging of a load: the pages that have it, and the reasons why others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimalLogging {
    /// Pages of rows.
    pub data_pages: bool,
    /// Pages of nonclustered indexes; as `data_pages` if there are none.
    pub index_pages: bool,
    /// Conditions that do not hold.
    pub failed: Vec<MinimalLoggingCondition>,
}

impl MinimalLogging {
    pub(crate) fn of(shared: &Shared, table: &Table, options: BulkOptions) -> Result<Self, EngineError> {
        let mut failed = Vec::new();
        if !shared.is_minimally_logged() {
            failed.push(MinimalLoggingCondition::RecoveryModel);
        }
        if !options.table_lock {
            failed.push(MinimalLoggingCondition::TableLock);
        }
        let any = failed.is_empty();
        let tree = table.clustered.as_deref();
        let fresh = tree.map_or(Ok(true), |tree| is_fresh(shared, tree))?;
        let mut fresh_indexes = true;
        for index in &table.indexes {
            fresh_indexes &= is_fresh(shared, &index.tree)?;
        }
        if !fresh || !fresh_indexes {
            failed.push(MinimalLoggingCondition::EmptyTable);
        }
        Ok(Self { data_pages: any && fresh, index_pages: any && fresh && fresh_indexes, failed })
    }

    /// Returns true if all pages are minimally logged.
    pub fn granted(&self) -> bool {
        self.failed.is_empty()
    }
}

/// Returns true if a tree has never held a row, so that it can be built, with its fill factor.
pub(crate) fn is_fresh(shared: &Shared, tree: &Tree) -> Result<bool, EngineError> {
    let root = shared.pager.cache.read(tree.root)?;
    Ok(root.level() == 0 && root.slot_count() == 0 && !root.was_emptied())
}

/// Loads rows into one table for one transaction; [`WriteTable::finish_bulk`](crate::WriteTable::finish_bulk) adds them to the table.
/// If it is dropped without that, it is [abandoned](Transaction::abandon_bulk) as soon as its transaction does anything else.
#[derive(Debug)]
pub struct BulkWriter {
    /// Heap or tree that takes the rows; None: the load has ended.
    target: Option<Target>,
    pub(crate) indexes: Vec<IndexLoad>,
    minimal_logging: MinimalLogging,
    /// The transaction when it began, and how many savepoints that had set: if nothing else has happened since, the load alone is undone.
    pub(crate) start: Option<(Savepoint, u64)>,
    /// Savepoints that the transaction had set when it began.
    began: u64,
    /// Place for what the load leaves if it is dropped; None: the load is not undone alone.
    leftovers: Option<Arc<Leftovers>>,
}

#[derive(Debug)]
enum Target {
    Heap(Box<HeapLoad>),
    Tree(Box<TreeLoad>),
}

/// Work that is left to do when a writer ends.
#[derive(Debug)]
pub(crate) struct Finished {
    pub filled: Result<Filled, EngineError>,
    pub allocated: Vec<ExtentId>,
    /// Rows that are still to get into the clustered tree.
    pub pending: Option<Sorted>,
    /// Number of rows that the writer has taken.
    pub taken: u64,
    pub indexes: Vec<IndexLoad>,
    pub minimal_logging: MinimalLogging,
    pub start: Option<(Savepoint, u64)>,
}

impl BulkWriter {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        table: &Arc<Table>,
        transaction: u64,
        is_alone: bool,
        options: BulkOptions,
    ) -> Result<Self, EngineError> {
        let minimal_logging = MinimalLogging::of(shared, table, options)?;
        let minimal = minimal_logging.data_pages;
        let target = match &table.clustered {
            Some(tree) => {
                let builds = is_alone && is_fresh(shared, tree)?;
                let fill = Fill::of(options.table_lock);
                let builder =
                    builds.then(|| TreeBuilder::new(shared, table, tree, transaction, minimal, fill));
                let BulkOptions { sorted, sort_memory_bytes, .. } = options;
                let load =
                    TreeLoad::new(shared, table, tree, transaction, builder, sorted, sort_memory_bytes);
                Target::Tree(Box::new(load))
            }
            None => {
                let locates = !table.indexes.is_empty();
                Target::Heap(Box::new(HeapLoad::new(shared, table, transaction, minimal, locates)))
            }
        };
        let memory = options.sort_memory_bytes;
        let indexes = table.indexes.iter().map(|index| IndexLoad::new(shared, index, memory));
        let (target, indexes) = (Some(target), indexes.collect());
        Ok(Self { target, indexes, minimal_logging, start: None, began: 0, leftovers: None })
    }

    /// Returns true if only extents of the data pages are logged, and the pages are forced at commit.
    pub fn is_minimally_logged(&self) -> bool {
        self.minimal_logging.data_pages
    }

    /// Returns the logging of data and index pages, with the reasons.
    pub fn minimal_logging(&self) -> &MinimalLogging {
        &self.minimal_logging
    }

    /// Counts the rows added so far.
    pub fn rows(&self) -> u64 {
        match &self.target {
            Some(Target::Heap(load)) => load.rows(),
            Some(Target::Tree(load)) => load.rows(),
            None => 0,
        }
    }

    /// Counts the bytes of pages that are not written yet. Rows that wait to be sorted are not counted;
    /// [`BulkOptions::sort_memory_bytes`] limits them.
    pub fn buffer_bytes(&self) -> usize {
        match &self.target {
            Some(Target::Heap(load)) => load.buffer_bytes(),
            Some(Target::Tree(load)) => load.buffer_bytes(),
            None => 0,
        }
    }

    /// Adds rows. After an error the writer cannot be used any more, and must be [abandoned](Transaction::abandon_bulk).
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        match &mut self.target {
            Some(Target::Heap(load)) => {
                load.append(batch)?;
                note_located(load, &mut self.indexes)
            }
            Some(Target::Tree(load)) => load.append(batch, &mut self.indexes),
            None => Ok(()),
        }
    }

    /// Adds the first wire rows of `bytes` by copying their values into pages. It stops before a row that is incomplete or cannot
    /// be copied unchanged. Add such a row as a [batch](Self::append), which reports what is wrong with it. A copier for another
    /// definition of the table takes no rows. After an error the writer cannot be used any more.
    pub fn append_wire_rows(
        &mut self,
        copier: &WireRowCopier,
        bytes: &[u8],
    ) -> Result<WireRows, EngineError> {
        match &mut self.target {
            Some(Target::Heap(load)) => {
                let rows = load.append_wire_rows(copier, bytes)?;
                note_located(load, &mut self.indexes)?;
                Ok(rows)
            }
            Some(Target::Tree(load)) => load.append_wire_rows(copier, bytes, &mut self.indexes),
            None => Ok(WireRows::default()),
        }
    }

    /// Writes what can be written without the table in hand.
    pub(crate) fn finish(mut self) -> Finished {
        let taken = self.rows();
        let mut indexes = std::mem::take(&mut self.indexes);
        let (filled, allocated, pending) = match self.target.take() {
            Some(Target::Heap(mut load)) => {
                let flushed = load.flush().and_then(|()| note_located(&mut load, &mut indexes));
                let (filled, allocated) = load.finish();
                (flushed.and(filled), allocated, None)
            }
            Some(Target::Tree(load)) => load.finish(&mut indexes),
            None => (Ok(Filled::default()), Vec::new(), None),
        };
        let (minimal_logging, start) = (self.minimal_logging.clone(), self.start.take());
        Finished { filled, allocated, pending, taken, indexes, minimal_logging, start }
    }
}

impl Drop for BulkWriter {
    fn drop(&mut self) {
        let (Some(target), Some(leftovers)) = (self.target.take(), &self.leftovers) else { return };
        let allocated = match target {
            Target::Heap(load) => load.give_up(),
            Target::Tree(load) => load.give_up(),
        };
        leftovers.leave(Leftover { allocated, start: self.start.take(), began: self.began });
    }
}

fn note_located(load: &mut HeapLoad, indexes: &mut [IndexLoad]) -> Result<(), EngineError> {
    load.take_located().iter().try_for_each(|(rows, addresses)| match rows {
        LocatedRows::Batch(batch) => note_rows(batch, addresses, indexes),
        LocatedRows::Records(records) => {
            note_records(load.layout(), (records, addresses), indexes, &load.large_values())
        }
    })
}

impl WriteTable<'_> {
    /// Creates a writer that fills extents of its own, the table locked as a whole;
    /// [`finish_bulk`](crate::WriteTable::finish_bulk) adds them to the table.
    pub fn bulk_writer(&mut self) -> Result<BulkWriter, EngineError> {
        self.bulk_writer_with(BulkOptions::default())
    }

    /// Creates a bulk writer for any table. Several can fill a heap without indexes in parallel. Without
    /// [`BulkOptions::table_lock`] several can load any table: they collect rows in parallel, and at their
    /// ends merge them into its trees in turn. Any other writer locks the table exclusively.
    pub fn bulk_writer_with(&mut self, options: BulkOptions) -> Result<BulkWriter, EngineError> {
        self.transaction.settle();
        self.transaction.check()?;
        let table = self.table_for_load(options)?;
        let transaction = &mut *self.transaction;
        let is_alone = transaction.work.changed.contains(self.object);
        let writer = BulkWriter::new(&transaction.shared, &table, transaction.id, is_alone, options)?;
        let start = match transaction.open_writers {
            0 => Some(transaction.savepoint()),
            _ => None,
        };
        Ok(lend(transaction, writer, start))
    }

    fn table_for_load(&mut self, options: BulkOptions) -> Result<Arc<Table>, EngineError> {
        let held = self.transaction.shared.locks.held(self.transaction.id, &Resource::Object(self.object));
        let is_alone = held.is_some_and(|held| held.covers(LockMode::X));
        // A bulk update lock allows other loads, but no transaction that changes rows of trees.
        let alone = |table: &Table| {
            let has_trees = table.clustered.is_some() || !table.indexes.is_empty();
            has_trees && (options.table_lock || is_alone || held == Some(LockMode::BU))
        };
        if !alone(&*self.definition()?) {
            lock_for_adding(self.transaction, self.object)?;
            // The table may have been dropped, or given a key, while this transaction waited.
            let table = self.definition()?;
            if !alone(&table) {
                return Ok(table);
            }
        }
        let object = self.alone(LockMode::X)?;
        self.transaction.work.table(object).map(Arc::new)
    }

    /// Ends a bulk writer of this transaction. Its rows are part of the table from now on. If it fails, only the load is undone,
    /// provided that the transaction has done nothing else since it began; otherwise the whole transaction must be rolled back.
    pub fn finish_bulk(&mut self, writer: BulkWriter) -> Result<u64, EngineError> {
        finish_bulk_and(self.transaction, self.object, writer, |_| Ok(()))
    }

    /// Loads batches through one bulk writer.
    pub fn bulk_load(&mut self, batches: &[RecordBatch]) -> Result<u64, EngineError> {
        let mut writer = self.bulk_writer()?;
        for batch in batches {
            if let Err(error) = writer.append(batch) {
                self.transaction.abandon_bulk(writer);
                return Err(error);
            }
        }
        self.finish_bulk(writer)
    }
}

impl Transaction {
    /// Abandons a bulk writer: its rows are undone, as when [`finish_bulk`](crate::WriteTable::finish_bulk) fails.
    pub fn abandon_bulk(&mut self, writer: BulkWriter) {
        drop(writer);
        self.settle();
    }
}

/// Gives out a writer. Its load can be undone alone, back to `start`, if no other one is under way.
pub(super) fn lend(
    transaction: &mut Transaction,
    mut writer: BulkWriter,
    start: Option<Savepoint>,
) -> BulkWriter {
    writer.began = transaction.savepoints;
    writer.start =
        start.filter(|_| transaction.open_writers == 0).map(|start| (start, transaction.savepoints));
    writer.leftovers = Some(Arc::clone(&transaction.leftovers));
    transaction.open_writers += 1;
    writer
}

/// Ends a bulk writer like [`finish_bulk`](crate::WriteTable::finish_bulk), with further work that is part of the load.
pub(super) fn finish_bulk_and(
    transaction: &mut Transaction,
    object: u32,
    writer: BulkWriter,
    then: impl FnOnce(&mut Transaction) -> Result<(), EngineError>,
) -> Result<u64, EngineError> {
    let mut finished = writer.finish();
    let start = finished.start.take();
    transaction.open_writers = transaction.open_writers.saturating_sub(1);
    let done =
        attach_finished(transaction, object, finished).and_then(|rows| then(transaction).map(|()| rows));
    if done.is_err() {
        undo_load(transaction, start);
    }
    done
}

pub(super) fn attach_finished(
    transaction: &mut Transaction,
    object: u32,
    finished: Finished,
) -> Result<u64, EngineError> {
    let Finished { filled, allocated, pending, taken, mut indexes, minimal_logging, .. } = finished;
    transaction.allocated.extend(allocated);
    let filled = filled?;
    transaction.forced |= minimal_logging.data_pages | minimal_logging.index_pages;
    let table = transaction.table_of(object).ok_or_else(|| no_table(&object.to_string()))?;
    let mut rows = filled.rows as u64;
    let has_trees = pending.is_some() || !indexes.is_empty();
    if has_trees && taken >= ESCALATION_ROWS {
        escalate(transaction, object)?;
    }
    match transaction.work.changed.get_mut(object) {
        Some(table) => table.attach(&filled),
        _ => {
            transaction.copies.remove(&object);
            let entry = transaction.work.filled.entry(object).or_default();
            entry.rows += filled.rows;
            for (kind, more) in filled.extents {
                entry.extents.entry(kind).or_default().extend(more);
            }
            if has_trees {
                rows += merge_beside(transaction, object, pending, indexes)?;
            }
            return Ok(rows);
        }
    }
    let fill = Fill::of(!minimal_logging.failed.contains(&MinimalLoggingCondition::TableLock));
    if let Some(mut sorted) = pending {
        rows += match table.clustered.as_ref().map(|tree| is_fresh(&transaction.shared, tree)).transpose()? {
            Some(true) => build_late(transaction, object, &mut sorted, &mut indexes, fill)?,
            _ => with_heap(transaction, object, |heap| heap.merge_table(&mut sorted, &mut indexes))?,
        };
    }
    fill_indexes(transaction, object, indexes, fill, minimal_logging.index_pages)?;
    Ok(rows)
}

/// Rows of a load from which on it locks the table as a whole, if no other transaction holds it: SQL Server
/// escalates at about as many locks.
const ESCALATION_ROWS: u64 = 5000;

/// Locks the table exclusively, unless another transaction is in the way.
fn escalate(transaction: &mut Transaction, object: u32) -> Result<(), EngineError> {
    // A transaction that keeps to a snapshot changes single rows of a table that others have changed since.
    if transaction.work.changed.contains(object) || transaction.reads.base().is_some() {
        return Ok(());
    }
    match transaction.shared.locks.try_acquire(transaction.id, &Resource::Object(object), LockMode::X) {
        true => work_on(transaction, object),
        false => Ok(()),
    }
}

/// Adds rows in the order of the key, and the entries of indexes, to trees that others change too. Returns how many rows.
fn merge_beside(
    transaction: &mut Transaction,
    object: u32,
    pending: Option<Sorted>,
    mut indexes: Vec<IndexLoad>,
) -> Result<u64, EngineError> {
    with_rows(transaction, object, claim_root)?;
    let rows = match pending {
        Some(mut sorted) => {
            with_rows(transaction, object, |heap| heap.merge_table(&mut sorted, &mut indexes))?
        }
        None => 0,
    };
    for load in indexes {
        let tree = Arc::clone(&load.index.tree);
        let mut sorted = load.finish()?;
        with_rows(transaction, object, |heap| merge_entries(heap, &tree, &mut sorted))?;
    }
    Ok(rows)
}

fn merge_entries(heap: &mut HeapWriter<'_>, tree: &Tree, sorted: &mut Sorted) -> Result<(), EngineError> {
    let mut entries = KeyedRows::default();
    while sorted.next_many(&mut entries)? {
        heap.merge(tree, &mut entries)?;
    }
    Ok(())
}

/// Builds the clustered tree of a table that the load has only now alone. Returns how many rows.
fn build_late(
    transaction: &mut Transaction,
    object: u32,
    sorted: &mut Sorted,
    indexes: &mut [IndexLoad],
    fill: Fill,
) -> Result<u64, EngineError> {
    let table = Arc::new(transaction.work.table(object)?);
    let tree = tree_of(&table)?;
    let mut builder = TreeBuilder::new(&transaction.shared, &table, &tree, transaction.id, false, fill);
    let built = build_sorted(&mut builder, &tree, sorted, indexes);
    let (filled, allocated) = builder.finish();
    transaction.allocated.extend(allocated);
    let filled = built.and(filled)?;
    with_heap(transaction, object, |heap| {
        heap.table.attach(&filled);
        Ok(filled.rows as u64)
    })
}

/// Builds indexes from their entries if they have never had any, or merges those into them.
pub(super) fn fill_indexes(
    transaction: &mut Transaction,
    object: u32,
    indexes: Vec<IndexLoad>,
    fill: Fill,
    minimally_logged: bool,
) -> Result<(), EngineError> {
    for load in indexes {
        let tree = Arc::clone(&load.index.tree);
        let mut sorted = load.finish()?;
        if !is_fresh(&transaction.shared, &tree)? {
            with_heap(transaction, object, |heap| merge_entries(heap, &tree, &mut sorted))?;
            continue;
        }
        let table = Arc::new(transaction.work.table(object)?);
        let mut builder =
            TreeBuilder::new(&transaction.shared, &table, &tree, transaction.id, minimally_logged, fill);
        let built = build_sorted(&mut builder, &tree, &mut sorted, &mut []);
        let (filled, allocated) = builder.finish();
        transaction.allocated.extend(allocated);
        let mut filled = built.and(filled)?;
        transaction.forced |= minimally_logged;
        // Entries are no rows of the table.
        filled.rows = 0;
        with_heap(transaction, object, |heap| {
            heap.table.attach(&filled);
            Ok(())
        })?;
    }
    Ok(())
}
