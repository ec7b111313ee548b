//! A unit of work: everything in it happens, durably, or nothing of it.

mod locks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::{Array, RecordBatch};

use super::bulk::BulkWriter;
use super::catalogue::{CATALOGUE, Catalogue, Clustered, Filled, Table, UnitKind};
use super::check::{self, Finding};
use super::database::{GivenUp, Shared, Snapshot};
use super::error::EngineError;
use super::figures::count;
use super::heap::HeapWriter;
use super::key::KeyLayout;
use super::large::LargeValueWriter;
use super::layout::{Column, Layout};
use super::log::Operation;
use super::lsn::Lsn;
use super::page::{ExtentId, PageType, RowId, UnitId};
use super::record::BoundBatch;
use super::scan::{PageReader, Scan, View, keys_of, tree_of};
use crate::lock::LockMode;

/// A transaction. Dropped without [`commit`](Self::commit) it is undone.
///
/// Bulk writers of any number of transactions fill one table side by side ([`LockMode::Append`]); whoever changes single rows or
/// the table itself has it alone ([`LockMode::Exclusive`]). Locks are kept to the end.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<Shared>,
    id: u64,
    work: Work,
    /// Given to this transaction: free again if it is undone.
    allocated: Vec<ExtentId>,
    forced: bool,
    /// An operation failed half way: only undoing everything is left.
    failed: bool,
    ended: bool,
    savepoints: u64,
    lock_timeout: Duration,
    interrupt: Option<Arc<AtomicBool>>,
}

/// What a rollback to a savepoint restores in memory.
#[derive(Debug, Clone, Default)]
struct Work {
    /// Tables held alone, as this transaction has made them; None: dropped.
    changed: BTreeMap<u32, Option<Table>>,
    /// What was filled in tables held together with others.
    filled: BTreeMap<u32, Filled>,
    /// Units with the extents and pages that the commit gives up.
    given_up: Vec<(super::allocation::Unit, Vec<ExtentId>)>,
    given_up_units: Vec<super::allocation::Unit>,
    /// Tables whose definitions the commit writes.
    redefined: BTreeSet<u32>,
    /// Rows that the commit inserts, in tables held together with others.
    pending: BTreeMap<u32, Vec<RecordBatch>>,
}

/// A point of a transaction to go back to.
#[derive(Debug, Clone)]
pub struct Savepoint {
    transaction: u64,
    position: Lsn,
    work: Work,
    allocated: usize,
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>, id: u64) -> Self {
        Self {
            lock_timeout: shared.options.lock_timeout,
            interrupt: None,
            shared,
            id,
            work: Work::default(),
            allocated: Vec::new(),
            forced: false,
            failed: false,
            ended: false,
            savepoints: 0,
        }
    }

    /// The transaction's number in the log.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The table of this name as this transaction sees it, without the rows that wait for its commit.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        let catalogue = self.catalogue();
        let mut changed = self.work.changed.values().flatten();
        let changed = changed.find(|table| table.object != CATALOGUE && table.name == name);
        if let Some(table) = changed {
            return Some(Arc::new(table.clone()));
        }
        let committed =
            catalogue.named(name).filter(|table| !self.work.changed.contains_key(&table.object))?;
        Some(self.with_filled(committed))
    }

    /// The table of this id, likewise.
    pub fn table_of(&self, object: u32) -> Option<Arc<Table>> {
        match self.work.changed.get(&object) {
            Some(changed) => changed.clone().map(Arc::new),
            None => self.catalogue().tables.get(&object).map(|table| self.with_filled(table)),
        }
    }

    /// All tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let catalogue = self.catalogue();
        let committed = catalogue.tables.keys();
        let own = self.work.changed.keys().filter(|object| !catalogue.tables.contains_key(object));
        let all: BTreeSet<u32> = committed.chain(own).copied().collect();
        all.into_iter().filter(|object| *object != CATALOGUE).filter_map(|id| self.table_of(id)).collect()
    }

    fn with_filled(&self, committed: &Arc<Table>) -> Arc<Table> {
        let mut table = Arc::clone(committed);
        if let Some(filled) = self.work.filled.get(&committed.object) {
            Arc::make_mut(&mut table).attach(filled);
        }
        table
    }

    /// Creates a table, a heap.
    pub fn create_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        properties: &str,
    ) -> Result<(), EngineError> {
        self.create(name, columns, &[], properties)
    }

    /// Creates a table whose rows are kept in the order of a unique key, a clustered tree. `key` holds indexes of columns.
    pub fn create_clustered_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: &[usize],
        properties: &str,
    ) -> Result<(), EngineError> {
        KeyLayout::new(&Layout::new(columns.clone())?, key)?;
        self.create(name, columns, key, properties)
    }

    fn create(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: &[usize],
        properties: &str,
    ) -> Result<(), EngineError> {
        let mut layout = Layout::new(columns)?;
        layout.pinned = key.to_vec().into();
        self.claim_name(name)?;
        let object = self.shared.next_object.fetch_add(1, Ordering::AcqRel);
        self.lock_alone(object)?;
        self.guarded(|this| {
            let (shared, id) = (Arc::clone(&this.shared), this.id);
            let table = Table::new(object, name.to_owned(), properties.to_owned(), layout, |unit| {
                shared.allocator.create_unit(id, unit)
            })?;
            this.work.changed.insert(object, Some(table));
            this.work.redefined.insert(object);
            this.plant(object, key)
        })
    }

    /// Gives a table that has no extents its root, if it has a key.
    fn plant(&mut self, object: u32, key: &[usize]) -> Result<(), EngineError> {
        if key.is_empty() {
            return Ok(());
        }
        self.share_catalogue()?;
        self.work.redefined.insert(object);
        self.with_heap(object, |heap| {
            let unit = heap.table.unit(UnitKind::InRow).clone();
            let root = heap.new_page(UnitKind::InRow, PageType::Data, &unit)?;
            let key = KeyLayout::new(&heap.table.layout, key)?;
            heap.table.clustered = Some(Arc::new(Clustered { key, root }));
            heap.shared.pager.note_tree(object, true);
            Ok(())
        })
    }

    /// Gives a table another name and other properties.
    pub fn alter_table(&mut self, name: &str, new_name: &str, properties: &str) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        self.share_catalogue()?;
        if name != new_name {
            // Until this is committed, nobody else can use the old name either.
            self.lock_name(name)?;
            self.claim_name(new_name)?;
        }
        if let Some(Some(table)) = self.work.changed.get_mut(&object) {
            table.name = new_name.to_owned();
            table.properties = properties.to_owned();
        }
        self.work.redefined.insert(object);
        Ok(())
    }

    /// Removes a table. Its extents are free when the last snapshot that can read them is gone.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        self.share_catalogue()?;
        self.lock_name(name)?;
        let table = self.work.changed.insert(object, None).flatten().ok_or_else(|| no_table(name))?;
        self.work.pending.remove(&object);
        self.work.redefined.insert(object);
        self.give_up_extents(&table);
        self.work.given_up_units.extend(table.units);
        Ok(())
    }

    /// Removes all rows of a table by giving up its extents.
    pub fn truncate_table(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        let mut table = self.work.changed.get(&object).cloned().flatten().ok_or_else(|| no_table(name))?;
        self.guarded(|this| {
            this.work.pending.remove(&object);
            this.give_up_extents(&table);
            for unit in &mut table.units {
                this.shared.forget_all_room(unit.id);
                unit.extents = Arc::default();
            }
            table.rows = 0;
            let clustered = table.clustered.clone();
            this.work.changed.insert(object, Some(table));
            // It gets another root, which its definition names.
            clustered.map_or(Ok(()), |tree| this.plant(object, &tree.key.columns))
        })
    }

    /// A writer that fills extents of its own; [`finish_bulk`](Self::finish_bulk) adds them to the table.
    pub fn bulk_writer(&mut self, name: &str) -> Result<BulkWriter, EngineError> {
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        self.lock(table.object, LockMode::Append)?;
        // It may have been dropped while this transaction waited.
        let table =
            self.table(name).filter(|again| again.object == table.object).ok_or_else(|| no_table(name))?;
        if table.clustered.is_some() {
            let reason = format!("bulk writers fill heaps, and {name:?} has a key");
            return Err(EngineError::Schema { reason });
        }
        Ok(BulkWriter::new(&self.shared, &table, self.id))
    }

    /// Ends a bulk writer of this transaction. Its rows are part of the table from now on.
    pub fn finish_bulk(&mut self, name: &str, writer: BulkWriter) -> Result<u64, EngineError> {
        let forced = writer.is_minimally_logged();
        let (filled, allocated) = writer.finish();
        self.allocated.extend(allocated);
        let filled = filled.inspect_err(|_| self.failed = true)?;
        self.forced |= forced;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        let rows = filled.rows;
        match self.work.changed.get_mut(&table.object) {
            Some(Some(table)) => table.attach(&filled),
            _ => {
                let entry = self.work.filled.entry(table.object).or_default();
                entry.rows += filled.rows;
                for (all, more) in entry.extents.iter_mut().zip(filled.extents) {
                    all.extend(more);
                }
            }
        }
        Ok(rows)
    }

    /// Gives up a bulk writer: what it wrote is undone with the transaction, which cannot be committed any more.
    pub fn abandon_bulk(&mut self, writer: BulkWriter) {
        let (_, allocated) = writer.finish();
        self.allocated.extend(allocated);
        self.failed = true;
    }

    /// Loads batches through one bulk writer.
    pub fn bulk_load(&mut self, name: &str, batches: &[RecordBatch]) -> Result<u64, EngineError> {
        let mut writer = self.bulk_writer(name)?;
        for batch in batches {
            if let Err(error) = writer.append(batch) {
                self.abandon_bulk(writer);
                return Err(error);
            }
        }
        self.finish_bulk(name, writer)
    }

    /// Inserts rows one by one, each logged. Returns their addresses; rows of a clustered table have none.
    pub fn insert(&mut self, name: &str, batch: &RecordBatch) -> Result<Vec<RowId>, EngineError> {
        let object = self.alone(name)?;
        self.guarded(|this| this.insert_rows(object, batch))
    }

    /// Adds rows to a table beside other transactions that do the same. They wait in memory: the commit inserts them one by one,
    /// each logged. [`scan`](Self::scan) does not show them; [`pending`](Self::pending) does.
    pub fn insert_at_commit(&mut self, name: &str, batch: &RecordBatch) -> Result<(), EngineError> {
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        self.lock(table.object, LockMode::Append)?;
        let table =
            self.table(name).filter(|again| again.object == table.object).ok_or_else(|| no_table(name))?;
        fits(&table.layout, batch)?;
        self.work.pending.entry(table.object).or_default().push(batch.clone());
        Ok(())
    }

    /// Rows of a table that wait for the commit.
    pub fn pending(&self, object: u32) -> &[RecordBatch] {
        self.work.pending.get(&object).map(Vec::as_slice).unwrap_or_default()
    }

    /// Takes the rows back that wait for the commit, for another way of adding them.
    pub fn take_pending(&mut self, object: u32) -> Vec<RecordBatch> {
        self.work.pending.remove(&object).unwrap_or_default()
    }

    /// Inserts the rows that wait for the commit now. The table is then held alone.
    pub fn insert_pending(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        self.guarded(|this| {
            let rows = this.take_pending(object);
            rows.iter().try_for_each(|batch| this.insert_rows(object, batch).map(drop))
        })
    }

    /// Removes the rows with these keys, a batch of the key columns, from a clustered table.
    pub fn delete_keys(&mut self, name: &str, keys: &RecordBatch) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        self.guarded(|this| {
            this.with_heap(object, |heap| {
                let tree = tree_of(heap.table)?;
                keys_of(heap.table, keys)?.iter().try_for_each(|key| heap.delete_keyed(&tree, key))
            })
        })
    }

    /// Puts the rows of `batch` in the places of those with the same keys in a clustered table.
    pub fn update_keyed(&mut self, name: &str, batch: &RecordBatch) -> Result<(), EngineError> {
        let object = self.alone(name)?;
        self.guarded(|this| {
            this.with_heap(object, |heap| {
                let tree = tree_of(heap.table)?;
                let layout = Arc::clone(&heap.table.layout);
                let bound = BoundBatch::new(&layout, batch, &mut LargeValueWriter { sink: &mut *heap })?;
                let keys = keys_of(heap.table, &batch.project(&tree.key.columns)?)?;
                let rows = keys.iter().enumerate();
                rows.into_iter().try_for_each(|(row, key)| heap.update_keyed(&tree, key, &bound.record(row)))
            })
        })
    }

    /// Removes the rows at these addresses of a heap.
    pub fn delete(&mut self, name: &str, addresses: &[RowId]) -> Result<(), EngineError> {
        let object = self.alone_heap(name)?;
        self.guarded(|this| this.delete_rows(object, addresses))
    }

    /// Puts the rows of `batch` in the places of those at these addresses, which stay valid.
    pub fn update(
        &mut self,
        name: &str,
        addresses: &[RowId],
        batch: &RecordBatch,
    ) -> Result<(), EngineError> {
        let object = self.alone_heap(name)?;
        if addresses.len() != batch.num_rows() {
            let reason = format!("{} addresses for {} rows", addresses.len(), batch.num_rows());
            return Err(EngineError::Schema { reason });
        }
        self.guarded(|this| {
            this.with_heap(object, |heap| {
                let layout = Arc::clone(&heap.table.layout);
                let bound = BoundBatch::new(&layout, batch, &mut LargeValueWriter { sink: &mut *heap })?;
                addresses
                    .iter()
                    .enumerate()
                    .try_for_each(|(row, address)| heap.update(*address, &bound.record(row)))
            })
        })
    }

    /// Reads a table as this transaction sees it.
    pub fn scan(&self, name: &str, projection: Option<Vec<usize>>) -> Result<Scan, EngineError> {
        self.scan_table(self.table(name).ok_or_else(|| no_table(name))?, projection)
    }

    /// Reads a table that [`table`](Self::table) has returned.
    pub fn scan_table(&self, table: Arc<Table>, projection: Option<Vec<usize>>) -> Result<Scan, EngineError> {
        let own = self.work.changed.contains_key(&table.object);
        let view = if own { View::Current } else { View::Snapshot(Snapshot::open(&self.shared)) };
        Scan::new(PageReader { shared: Arc::clone(&self.shared), view }, table, projection)
    }

    /// Checks the structure of the whole database, with every table held alone.
    pub(crate) fn check_database(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.lock_alone(CATALOGUE)?;
        let objects: Vec<u32> = self.catalogue().tables.keys().copied().collect();
        objects.into_iter().try_for_each(|object| self.lock_alone(object))?;
        let tables: Vec<Arc<Table>> = self.catalogue().tables.values().cloned().collect();
        check::check(&self.shared, &tables)
    }

    /// Marks a point to go back to. No bulk writer may be open.
    pub fn savepoint(&mut self) -> Savepoint {
        self.savepoints += 1;
        Savepoint {
            transaction: self.id,
            position: self.shared.pager.log_position(self.id).last,
            work: self.work.clone(),
            allocated: self.allocated.len(),
        }
    }

    /// Undoes everything since the savepoint. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), EngineError> {
        if savepoint.transaction != self.id || savepoint.allocated > self.allocated.len() {
            return Err(EngineError::Schema { reason: "the savepoint is of another transaction".to_owned() });
        }
        self.undo(savepoint.position)?;
        let allocated = self.allocated.split_off(savepoint.allocated);
        self.give_back(allocated)?;
        self.work = savepoint.work.clone();
        self.failed = false;
        Ok(())
    }

    /// Makes everything durable, then visible, at once. Returns the commit's number.
    pub fn commit(mut self) -> Result<u64, EngineError> {
        self.check()?;
        let shared = Arc::clone(&self.shared);
        let forced = if self.forced { shared.pager.files.sync() } else { Ok(()) };
        // From here to the publishing of a commit that changes a table which others have a share in, or the catalogue.
        let together = self.work.is_together().then(|| shared.commits.lock());
        let prepared = forced.and_then(|()| self.write_definitions()).and_then(|()| {
            self.insert_all_pending()?;
            self.prepare()
        });
        if let Err(error) = prepared {
            self.roll_back_all();
            return Err(error);
        }
        let catalogue = self.catalogue();
        let differences = self.row_differences(&catalogue);
        let counted = differences.clone();
        let dropped: Vec<u32> = self
            .work
            .changed
            .iter()
            .filter(|(_, table)| table.is_none())
            .map(|(object, _)| *object)
            .collect();
        let commit = Operation::Commit { row_counts: differences };
        let logged = shared.pager.end(self.id, commit, || {
            let mut counts = shared.row_counts.lock();
            for (object, difference) in counted {
                let rows = counts.entry(object).or_default();
                *rows = rows.saturating_add_signed(difference);
            }
            counts.retain(|object, _| !dropped.contains(object));
        });
        let flushed = logged.and_then(|lsn| match lsn {
            Some(lsn) => shared.pager.log.flush(lsn).map(|()| true),
            None => Ok(false),
        });
        self.ended = true;
        if !matches!(flushed, Ok(false)) {
            count(&shared.counters.write_transactions, 1);
        }
        if let Err(error) = flushed {
            // Nobody knows whether the record is on disk: the log takes nothing more until the next recovery has found out.
            shared.pager.log.shut(error.to_string());
            shared.locks.release_all(self.id);
            return Err(EngineError::Shut { reason: error.to_string() });
        }
        let sequence = self.publish();
        drop(together);
        self.shared.locks.release_all(self.id);
        self.shared.release_given_up()?;
        self.shared.checkpoint_if_due()?;
        Ok(sequence)
    }

    /// Undoes everything.
    pub fn rollback(mut self) -> Result<(), EngineError> {
        self.roll_back_all();
        match self.shared.pager.log.is_shut() {
            Some(reason) => Err(EngineError::Shut { reason }),
            None => Ok(()),
        }
    }

    /// Everything that may still fail before the commit record.
    fn prepare(&self) -> Result<(), EngineError> {
        for (unit, extents) in &self.work.given_up {
            self.shared.allocator.log_free(self.id, unit, extents)?;
        }
        for unit in &self.work.given_up_units {
            for page in self.shared.allocator.iam_pages(unit) {
                self.shared.allocator.log_free_page(self.id, page)?;
            }
        }
        Ok(())
    }

    /// Puts the definitions of changed tables into the catalogue's heap.
    fn write_definitions(&mut self) -> Result<(), EngineError> {
        let redefined = std::mem::take(&mut self.work.redefined);
        let catalogue = self.catalogue();
        if let (false, Some(heap)) = (redefined.is_empty(), catalogue.tables.get(&CATALOGUE)) {
            self.work.changed.insert(CATALOGUE, Some((**heap).clone()));
        }
        for object in redefined {
            let table = self.work.changed.get(&object).cloned().flatten();
            let old = catalogue.tables.get(&object).map_or(&[][..], |table| &table.definition);
            self.delete_rows(CATALOGUE, old)?;
            if let Some(mut table) = table {
                table.definition = self.insert_rows(CATALOGUE, &table.definition_rows()?)?;
                self.work.changed.insert(object, Some(table));
            }
        }
        Ok(())
    }

    fn insert_all_pending(&mut self) -> Result<(), EngineError> {
        for (object, batches) in std::mem::take(&mut self.work.pending) {
            self.work_on(object);
            batches.iter().try_for_each(|batch| self.insert_rows(object, batch).map(drop))?;
        }
        Ok(())
    }

    fn row_differences(&self, catalogue: &Catalogue) -> Vec<(u32, i64)> {
        let committed = |object: &u32| catalogue.tables.get(object).map_or(0, |table| table.rows as i64);
        let changed = self.work.changed.iter().map(|(object, table)| {
            (*object, table.as_ref().map_or(0, |table| table.rows as i64) - committed(object))
        });
        let filled = self.work.filled.iter().map(|(object, filled)| (*object, filled.rows as i64));
        changed.chain(filled).filter(|(_, difference)| *difference != 0).collect()
    }

    fn publish(&mut self) -> u64 {
        let work = std::mem::take(&mut self.work);
        let mut current = self.shared.catalogue.write();
        let mut next = (**current).clone();
        next.sequence += 1;
        for (object, filled) in &work.filled {
            if let Some(table) = next.tables.get_mut(object) {
                Arc::make_mut(table).attach(filled);
            }
        }
        for (object, table) in work.changed {
            match table {
                Some(table) => next.tables.insert(object, Arc::new(table)),
                None => next.tables.remove(&object),
            };
        }
        let sequence = next.sequence;
        self.shared.pager.versions.commit(self.id, sequence);
        *current = Arc::new(next);
        drop(current);
        let extents: Vec<ExtentId> = work.given_up.into_iter().flat_map(|(_, extents)| extents).collect();
        let units: Vec<UnitId> = work.given_up_units.iter().map(|unit| unit.id).collect();
        if !extents.is_empty() || !units.is_empty() {
            self.shared.given_up.lock().push(GivenUp { sequence, extents, units });
        }
        self.shared.allocator.publish_units(self.id);
        sequence
    }

    fn roll_back_all(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let allocated = std::mem::take(&mut self.allocated);
        let undone = self
            .undo(Lsn::ZERO)
            .and_then(|()| self.shared.pager.end(self.id, Operation::End, || ()))
            .map(|logged| count(&self.shared.counters.rolled_back, u64::from(logged.is_some())))
            .and_then(|()| self.give_back(allocated));
        if let Err(error) = undone {
            // The pages are not what they should be; the next recovery undoes it.
            self.shared.pager.log.shut(format!("a transaction could not be undone: {error}"));
        }
        self.shared.pager.versions.roll_back(self.id);
        self.shared.locks.release_all(self.id);
    }

    fn undo(&self, until: Lsn) -> Result<(), EngineError> {
        self.shared.pager.undo(self.id, until)
    }

    fn give_back(&self, extents: Vec<ExtentId>) -> Result<(), EngineError> {
        if !extents.is_empty() {
            // A minimally logged load may fill them at once, past the log. If then the power goes, this undoing must be known:
            // done once more, it would find pages that are no longer what they were.
            self.shared.pager.log.flush(self.shared.pager.log.position())?;
        }
        self.shared.allocator.release(extents);
        self.shared.allocator.take_back_undone(self.id)
    }

    fn give_up_extents(&mut self, table: &Table) {
        for unit in &table.units {
            if !unit.extents.is_empty() {
                let extents = unit.extents.iter().map(|extent| extent.extent).collect();
                self.work.given_up.push((unit.clone(), extents));
            }
        }
    }

    fn insert_rows(&mut self, object: u32, batch: &RecordBatch) -> Result<Vec<RowId>, EngineError> {
        self.with_heap(object, |heap| {
            let layout = Arc::clone(&heap.table.layout);
            let bound = BoundBatch::new(&layout, batch, &mut LargeValueWriter { sink: &mut *heap })?;
            if let Some(tree) = heap.table.clustered.clone() {
                (0..bound.rows()).try_for_each(|row| heap.insert_keyed(&tree, &bound.record(row)))?;
                return Ok(Vec::new());
            }
            (0..bound.rows()).map(|row| heap.insert(&bound.record(row))).collect()
        })
    }

    fn delete_rows(&mut self, object: u32, addresses: &[RowId]) -> Result<(), EngineError> {
        self.with_heap(object, |heap| addresses.iter().try_for_each(|address| heap.delete(*address)))
    }

    fn with_heap<T>(
        &mut self,
        object: u32,
        change: impl FnOnce(&mut HeapWriter<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Self { shared, id, work, allocated, .. } = self;
        let table = work.changed.get_mut(&object).and_then(Option::as_mut);
        let table = table.ok_or_else(|| no_table(&object.to_string()))?;
        change(&mut HeapWriter { shared, transaction: *id, table, allocated })
    }

    /// Runs an operation; if it fails, what it did so far is undone, and the rest of the transaction stands.
    fn guarded<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.check()?;
        let savepoint = self.savepoint();
        let result = operation(self);
        if result.is_err()
            && let Err(error) = self.rollback_to(&savepoint)
        {
            self.failed = true;
            self.shared.pager.log.shut(format!("a statement could not be undone: {error}"));
        }
        result
    }

    /// Locks a table for this transaction alone and makes its working copy.
    fn alone(&mut self, name: &str) -> Result<u32, EngineError> {
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        self.lock_alone(table.object)?;
        match self.table(name) {
            Some(again) if again.object == table.object => Ok(table.object),
            _ => Err(no_table(name)),
        }
    }

    /// The same for a table whose rows have addresses.
    fn alone_heap(&mut self, name: &str) -> Result<u32, EngineError> {
        let object = self.alone(name)?;
        match self
            .work
            .changed
            .get(&object)
            .and_then(Option::as_ref)
            .is_some_and(|table| table.clustered.is_some())
        {
            true => Err(EngineError::Schema { reason: format!("rows of {name:?} are found by their key") }),
            false => Ok(object),
        }
    }

    fn lock_alone(&mut self, object: u32) -> Result<(), EngineError> {
        self.lock(object, LockMode::Exclusive)?;
        self.work_on(object);
        Ok(())
    }

    /// Makes the working copy of a table.
    fn work_on(&mut self, object: u32) {
        if !self.work.changed.contains_key(&object)
            && let Some(table) = self.catalogue().tables.get(&object)
        {
            let mut table = (**table).clone();
            if let Some(filled) = self.work.filled.remove(&object) {
                table.attach(&filled);
            }
            self.work.changed.insert(object, Some(table));
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        match (self.failed, self.shared.pager.log.is_shut()) {
            (_, Some(reason)) => Err(EngineError::Shut { reason }),
            (true, None) => Err(EngineError::Doomed),
            (false, None) => Ok(()),
        }
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.shared.catalogue.read())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.roll_back_all();
    }
}

impl Work {
    /// Whether the commit changes what other transactions may change at the same time.
    fn is_together(&self) -> bool {
        !(self.filled.is_empty() && self.pending.is_empty() && self.redefined.is_empty())
    }
}

/// Refuses a batch that is not of a table's form.
fn fits(layout: &Layout, batch: &RecordBatch) -> Result<(), EngineError> {
    let refuse = |reason: String| Err(EngineError::Schema { reason });
    let (given, wanted) = (batch.schema_ref().fields(), layout.schema.fields());
    if given.len() != wanted.len() {
        return refuse(format!("{} columns, the table has {}", given.len(), wanted.len()));
    }
    for ((given, wanted), array) in given.iter().zip(wanted).zip(batch.columns()) {
        if given.data_type() != wanted.data_type() {
            let (name, given, wanted) = (wanted.name(), given.data_type(), wanted.data_type());
            return refuse(format!("column {name:?} is {given}, the table's is {wanted}"));
        }
        if !wanted.is_nullable() && array.null_count() > 0 {
            return refuse(format!("column {:?} allows no null", wanted.name()));
        }
    }
    Ok(())
}

fn no_table(name: &str) -> EngineError {
    EngineError::NoSuchTable { name: name.to_owned() }
}
