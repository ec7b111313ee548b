//! A unit of work: everything in it happens, durably, or nothing of it.

pub(crate) mod alter;
pub(crate) mod alter_columns;
pub(crate) mod changes;
pub mod load;

mod beside;
mod commit;
mod leftover;
mod locks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;

use crate::catalogue::definition;
use crate::catalogue::table_map::{Chunked, TableMap};
use crate::catalogue::{Catalogue, Filled, Table};
use crate::check;
use crate::check::finding::Finding;
use crate::database::options::RecoveryModel;
use crate::database::shared::{GivenUp, Shared};
use crate::database::snapshot::Snapshot;
use crate::disk::file_layout::Placement;
use crate::error::EngineError;
use crate::figures::count;
use crate::heap::HeapWriter;
use crate::heap::claims::Claims;
use crate::lock::LockMode;
use crate::log::Operation;
use crate::page::lsn::Lsn;
use crate::page::unit::{CATALOGUE, UnitKind};
use crate::page::unit::{Owner, Unit};
use crate::page::{ExtentId, PageId, RowId, UnitId};
use crate::record::compress::Compression;
use crate::record::layout::Column;
use crate::tree::index::{IndexDefinition, Tree};
pub(crate) use commit::Ready;
pub(crate) use leftover::{Leftover, Leftovers};

/// A transaction. Dropped without [`commit`](Self::commit) it is undone.
///
/// Any number of transactions change rows of one table side by side ([`LockMode::IX`]), each in pages that it has locked
/// ([`LockMode::X`]), and bulk writers fill a heap without indexes so ([`LockMode::BU`] if the caller takes it before); other bulk loads
/// have the table alone, as has whoever changes the table itself ([`LockMode::SchM`]). Locks are kept to the end.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: u64,
    pub(crate) work: Work,
    /// Given to this transaction: free again if it is undone.
    pub(crate) allocated: Vec<ExtentId>,
    pub(crate) forced: bool,
    /// An operation failed half way: only undoing everything is left.
    pub(crate) failed: bool,
    ended: bool,
    pub(crate) savepoints: u64,
    /// Bulk writers that have not ended.
    pub(crate) open_writers: u64,
    pub(crate) leftovers: Arc<Leftovers>,
    lock_timeout: Duration,
    deadlock_priority: i8,
    interrupt: Option<Arc<AtomicBool>>,
    claims: Claims,
    /// Tables held together with others as this transaction has made them, each with the committed one that it was made of.
    copies: BTreeMap<u32, (Arc<Table>, Arc<Table>)>,
    /// What a statement reads.
    pinned: Option<Snapshot>,
    /// All statements read the same.
    keeps_reads: bool,
    /// Rows in pages that others have locked are left out.
    pub(crate) reads_past: bool,
    /// What they read then, from the first reading on.
    base: Option<Snapshot>,
}

/// What a rollback to a savepoint restores in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    /// Tables held alone, as this transaction has made them, or dropped.
    pub changed: TableMap,
    /// What was added to tables held together with others.
    pub filled: BTreeMap<u32, Filled>,
    /// Units with the extents and pages that the commit gives up.
    given_up: Chunked<Arc<(Unit, Vec<ExtentId>)>, 6>,
    given_up_units: Chunked<Unit, 6>,
    /// Tables whose definitions the commit writes.
    pub redefined: Chunked<(), 6>,
    /// Rows that the commit inserts, in tables held together with others.
    pub pending: BTreeMap<u32, Vec<RecordBatch>>,
}

/// A point of a transaction to go back to.
#[derive(Debug, Clone)]
pub struct Savepoint {
    transaction: u64,
    /// Savepoints that the transaction had set before and with it.
    number: u64,
    position: Lsn,
    work: Work,
    allocated: usize,
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>, id: u64) -> Self {
        let leftovers = Leftovers::new(&shared);
        Self {
            lock_timeout: shared.options.lock_timeout,
            deadlock_priority: 0,
            interrupt: None,
            shared,
            id,
            work: Work::default(),
            allocated: Vec::new(),
            forced: false,
            failed: false,
            ended: false,
            savepoints: 0,
            open_writers: 0,
            leftovers,
            claims: Claims::default(),
            copies: BTreeMap::new(),
            pinned: None,
            keeps_reads: false,
            reads_past: false,
            base: None,
        }
    }

    /// The transaction's number in the log.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The recovery model that holds for its next bulk load.
    pub fn recovery_model(&self) -> RecoveryModel {
        self.shared.recovery_model()
    }

    /// The table of this name as this transaction sees it, without the rows that wait for its commit.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        let catalogue = self.catalogue();
        let changed = self.work.changed.named(name).filter(|table| table.object != CATALOGUE);
        if let Some(table) = changed {
            return Some(Arc::clone(table));
        }
        let committed = catalogue.named(name).filter(|table| !self.work.changed.contains(table.object))?;
        Some(self.with_filled(committed))
    }

    /// The table of this id, likewise.
    pub fn table_of(&self, object: u32) -> Option<Arc<Table>> {
        match self.work.changed.entry(object) {
            Some(changed) => changed.cloned(),
            None => self.catalogue().tables.get(object).map(|table| self.with_filled(table)),
        }
    }

    /// The tables whose text refers to a name, as this transaction sees them, in the order of their creation.
    pub fn referring(&self, name: &str) -> Vec<Arc<Table>> {
        let catalogue = self.catalogue();
        let committed = catalogue.referring(name).filter(|table| !self.work.changed.contains(table.object));
        let committed = committed.map(|table| self.with_filled(table));
        let mut all: Vec<Arc<Table>> = self.work.changed.referring(name).cloned().chain(committed).collect();
        all.sort_unstable_by_key(|table| table.object);
        all
    }

    /// All tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let catalogue = self.catalogue();
        let committed = catalogue.tables.entries().map(|(object, _)| object);
        let own = self.work.changed.entries().map(|(object, _)| object);
        let all: BTreeSet<u32> = committed.chain(own).collect();
        all.into_iter().filter(|object| *object != CATALOGUE).filter_map(|id| self.table_of(id)).collect()
    }

    pub(crate) fn with_filled(&self, committed: &Arc<Table>) -> Arc<Table> {
        if let Some((base, copy)) = self.copies.get(&committed.object)
            && Arc::ptr_eq(base, committed)
        {
            return Arc::clone(copy);
        }
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
        self.create_table_on(name, columns, None, Compression::None, &Placement::default(), properties)
    }

    /// Creates a table whose rows are kept in the order of a unique key, a clustered tree. `key` holds indexes of columns.
    pub fn create_clustered_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: &[usize],
        properties: &str,
    ) -> Result<(), EngineError> {
        self.create_tree(name, columns, &IndexDefinition::unique("", key), properties)
    }

    /// The same with any key, and the compression that it says.
    pub fn create_tree(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: &IndexDefinition,
        properties: &str,
    ) -> Result<(), EngineError> {
        let compression = key.compression.unwrap_or_default();
        self.create_table_on(name, columns, Some(key), compression, &Placement::default(), properties)
    }

    /// Creates a heap with this compression.
    pub fn create_compressed_table(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        compression: Compression,
        properties: &str,
    ) -> Result<(), EngineError> {
        self.create_table_on(name, columns, None, compression, &Placement::default(), properties)
    }

    /// Creates a table: with a key, a tree; in these file groups (`ON`, `TEXTIMAGE_ON`).
    ///
    /// # Errors
    /// A group that does not exist is error 1921, one without files 622.
    pub fn create_table_on(
        &mut self,
        name: &str,
        columns: Vec<Column>,
        key: Option<&IndexDefinition>,
        compression: Compression,
        placement: &Placement,
        properties: &str,
    ) -> Result<(), EngineError> {
        let placed = self.shared.placed(placement)?;
        let layout = Tree::table_layout(columns, key)?.with_compression(compression)?;
        let order = self.shared.options.text_order;
        if let Some(key) = key {
            Tree::clustered(&Arc::new(layout.clone()), key.clone(), PageId::NONE, order)?;
        }
        self.claim_name(name)?;
        let object = self.shared.next_object.fetch_add(1, Ordering::AcqRel);
        self.lock_in(object, LockMode::SchM)?;
        self.guarded(|this| {
            let (shared, id) = (Arc::clone(&this.shared), this.id);
            let properties = (properties, shared.options.references);
            let table = Table::new(object, name, properties, layout, |unit| {
                let large = unit == UnitKind::Large.id(object);
                let group = if large { placed.large_values } else { placed.rows };
                shared.allocator.create_unit(id, unit, group, Owner { table: name, index: None })
            })?;
            this.set_working(table);
            this.work.redefined.insert(u64::from(object), ());
            this.plant(object, key)
        })
    }

    /// Gives a table without extents its trees: that of `key`, and those of its indexes again.
    pub(crate) fn plant(&mut self, object: u32, key: Option<&IndexDefinition>) -> Result<(), EngineError> {
        let order = self.shared.options.text_order;
        self.with_heap(object, |heap| {
            let layout = Arc::clone(&heap.table.layout);
            heap.table.clustered = match key {
                Some(key) => {
                    let mut tree = Tree::clustered(&layout, key.clone(), PageId::NONE, order)?;
                    tree.root = heap.new_root(&tree)?;
                    Some(Arc::new(tree))
                }
                None => None,
            };
            for index in heap.table.indexes.clone() {
                let definition = index.tree.definition.clone();
                heap.plant_index(index.id, definition, index.unit, order)?;
            }
            heap.shared.pager.note_tree(object, heap.table.clustered.is_some());
            Ok(())
        })
    }

    /// The commit writes the definition of a table anew.
    pub(crate) fn redefine(&mut self, object: u32) -> Result<(), EngineError> {
        self.share_catalogue()?;
        self.work.redefined.insert(u64::from(object), ());
        Ok(())
    }

    /// The working copy of a table that this transaction has alone.
    pub(crate) fn working(&self, object: u32) -> Result<Table, EngineError> {
        let table = self.work.changed.get(object).ok_or_else(|| no_table(&object.to_string()))?;
        Ok(Table::clone(table))
    }

    pub(crate) fn set_working(&mut self, table: Table) {
        self.work.changed.put(table.object, Some(Arc::new(table)));
    }

    /// Gives a table another name and other properties.
    pub fn alter_table(&mut self, name: &str, new_name: &str, properties: &str) -> Result<(), EngineError> {
        let object = self.alone_in(name, LockMode::SchM)?;
        self.share_catalogue()?;
        if name != new_name {
            // Until this is committed, nobody else can use the old name either.
            self.lock_name(name)?;
            self.claim_name(new_name)?;
        }
        let mut table = self.working(object)?;
        if *table.name != *new_name {
            table.name = new_name.into();
        }
        table.set_properties(properties, self.shared.options.references);
        self.set_working(table);
        self.work.redefined.insert(u64::from(object), ());
        Ok(())
    }

    /// Removes a table. Its extents are free when the last snapshot that can read them is gone.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.alone_in(name, LockMode::SchM)?;
        self.share_catalogue()?;
        self.lock_name(name)?;
        let table = self.work.changed.put(object, None).ok_or_else(|| no_table(name))?;
        self.work.pending.remove(&object);
        self.work.redefined.insert(u64::from(object), ());
        self.give_up_extents(table.all_units());
        table.all_units().for_each(|unit| self.work.given_up_units.push(unit.clone()));
        Ok(())
    }

    /// Removes all rows of a table by giving up its extents.
    pub fn truncate_table(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.alone_in(name, LockMode::SchM)?;
        self.guarded(|this| {
            this.work.pending.remove(&object);
            let old = this.clear(object)?;
            if old.clustered.is_none() && old.indexes.is_empty() {
                return Ok(());
            }
            // Its trees get other roots, which its definition names.
            this.redefine(object)?;
            let key = old.clustered.as_ref().map(|tree| tree.definition.clone());
            this.plant(object, key.as_ref())
        })
    }

    /// Takes all extents from a table; its trees have no roots then. Returns what it was.
    pub(crate) fn clear(&mut self, object: u32) -> Result<Table, EngineError> {
        let old = self.working(object)?;
        let mut table = old.clone();
        self.give_up_extents(old.all_units());
        for kind in table.unit_kinds() {
            let unit = table.unit_mut(kind);
            self.shared.room.forget_all(unit.id);
            unit.extents = Arc::default();
        }
        table.rows = 0;
        self.set_working(table);
        Ok(old)
    }

    /// Gives up one unit with the commit; the table has it no more.
    pub(crate) fn give_up_unit(&mut self, unit: Unit) {
        self.give_up_extents(std::iter::once(&unit));
        self.work.given_up_units.push(unit);
    }

    /// Checks the structure of one table, which nobody changes meanwhile (it is locked in S). Errors: 208, and those of locks.
    pub fn check_table(&mut self, object: u32) -> Result<Vec<Finding>, EngineError> {
        self.lock(object, LockMode::S)?;
        let table = self.catalogue().tables.get(object).cloned();
        let table = table.ok_or_else(|| EngineError::NoSuchTable { name: object.to_string() })?;
        Ok(check::check_table(&self.shared, &table))
    }

    /// Checks the structure of the whole database, with every table held alone.
    pub fn check_database(&mut self) -> Result<Vec<Finding>, EngineError> {
        self.lock_everything()?;
        let tables: Vec<Arc<Table>> = self.catalogue().tables.tables().cloned().collect();
        check::check(&self.shared, &tables)
    }

    /// Holds every table alone, and lets nobody make another, until the transaction ends.
    pub fn lock_everything(&mut self) -> Result<(), EngineError> {
        self.lock_alone(CATALOGUE)?;
        let objects: Vec<u32> = self.catalogue().tables.tables().map(|table| table.object).collect();
        objects.into_iter().try_for_each(|object| self.lock_alone(object))
    }

    /// Marks a point to go back to. No bulk writer may be open.
    pub fn savepoint(&mut self) -> Savepoint {
        self.settle();
        self.savepoints += 1;
        Savepoint {
            transaction: self.id,
            number: self.savepoints,
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
        if !self.settle_since(savepoint) {
            return Err(EngineError::Doomed);
        }
        self.undo(savepoint.position)?;
        let allocated = self.allocated.split_off(savepoint.allocated);
        self.claims.forget_extents(&self.shared.locks, self.id, &allocated);
        self.give_back(allocated)?;
        self.work = savepoint.work.clone();
        self.copies.clear();
        self.pinned = None;
        self.failed = false;
        Ok(())
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
        for (unit, extents) in self.work.given_up.iter().map(|(_, given_up)| &**given_up) {
            self.shared.allocator.log_free(self.id, unit, extents)?;
        }
        for (_, unit) in self.work.given_up_units.iter() {
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
        if let (false, Some(heap)) = (redefined.is_empty(), catalogue.tables.get(CATALOGUE)) {
            self.work.changed.put(CATALOGUE, Some(Arc::clone(heap)));
        }
        for object in redefined.iter().map(|(object, ())| object as u32) {
            let table = self.work.changed.get(object).cloned();
            let old = catalogue.tables.get(object).map_or(&[][..], |table| &table.definition);
            self.delete_rows(CATALOGUE, old)?;
            if let Some(table) = table {
                let rows = self.insert_rows(CATALOGUE, &definition::rows_of(&table)?)?;
                drop(table);
                if let Some(table) = self.work.changed.get_mut(object) {
                    table.definition = rows;
                }
            }
        }
        Ok(())
    }

    fn insert_all_pending(&mut self) -> Result<(), EngineError> {
        for (object, batches) in std::mem::take(&mut self.work.pending) {
            batches.iter().try_for_each(|batch| self.insert_rows(object, batch).map(drop))?;
        }
        Ok(())
    }

    fn row_differences(&self, catalogue: &Catalogue) -> Vec<(u32, i64)> {
        let committed = |object: u32| catalogue.tables.get(object).map_or(0, |table| table.rows as i64);
        let changed =
            self.work.changed.entries().map(|(object, table)| {
                (object, table.map_or(0, |table| table.rows as i64) - committed(object))
            });
        let filled = self.work.filled.iter().map(|(object, filled)| (*object, filled.rows));
        changed.chain(filled).filter(|(_, difference)| *difference != 0).collect()
    }

    fn publish(&mut self) -> u64 {
        let work = std::mem::take(&mut self.work);
        let mut current = self.shared.catalogue.write();
        let mut next = (**current).clone();
        next.sequence += 1;
        for (object, filled) in &work.filled {
            if let Some(table) = next.tables.get_mut(*object) {
                table.attach(filled);
            }
        }
        for (object, table) in work.changed.entries() {
            match table {
                Some(table) => drop(next.tables.put(object, Some(Arc::clone(table)))),
                None => next.tables.remove(object),
            }
        }
        let sequence = next.sequence;
        self.shared.pager.versions.commit(self.id, sequence);
        *current = Arc::new(next);
        drop(current);
        let extents: Vec<ExtentId> =
            work.given_up.iter().flat_map(|(_, given_up)| given_up.1.iter().copied()).collect();
        let units: Vec<UnitId> = work.given_up_units.iter().map(|(_, unit)| unit.id).collect();
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
        self.settle_all();
        let allocated = std::mem::take(&mut self.allocated);
        let undone = self
            .undo(Lsn::ZERO)
            .and_then(|()| self.shared.pager.end(self.id, Operation::End, || ()))
            .map(|logged| count(&self.shared.counters.rolled_back, u64::from(logged.is_some())));
        // The pages are not what they should be; the next recovery undoes it.
        let shut = |error: EngineError| {
            self.shared.pager.log.shut(format!("a transaction could not be undone: {error}"))
        };
        let is_undone = undone.map_err(shut).is_ok();
        self.shared.pager.versions.roll_back(self.id);
        self.shared.locks.release_all(self.id);
        if is_undone {
            // Only now: the next owner of an extent locks its pages.
            self.give_back(allocated).map_err(shut).ok();
        }
        if self.shared.pager.log.lacks_space() && self.shared.pager.log.is_shut().is_none() {
            // It may give up old log. If it fails, there is no more room than before.
            self.shared.checkpoint().ok();
        }
    }

    fn undo(&self, until: Lsn) -> Result<(), EngineError> {
        // Until splits are undone, nobody follows the trees.
        let _latches = self.shared.latches.take(self.claims.restructured());
        self.shared.pager.undo(self.id, until)
    }

    fn give_back(&self, extents: Vec<ExtentId>) -> Result<(), EngineError> {
        if !extents.is_empty() {
            // A minimally logged load may fill them at once, past the log. If then the power goes, this undoing must be known:
            // done once more, it would find pages that are no longer what they were.
            let undone = self.shared.pager.log.position();
            match self.shared.pager.log.flush(undone) {
                Err(error) if error.is_log_full() => self.shared.release_when_durable(undone, extents),
                flushed => {
                    flushed?;
                    self.shared.allocator.release(extents);
                }
            }
        }
        self.shared.allocator.take_back_undone(self.id)
    }

    pub(crate) fn give_up_extents<'a>(&mut self, units: impl Iterator<Item = &'a Unit>) {
        for unit in units {
            if !unit.extents.is_empty() {
                let extents = unit.extents.iter().map(|extent| extent.extent).collect();
                self.work.given_up.push(Arc::new((unit.clone(), extents)));
            }
        }
    }

    pub(crate) fn insert_rows(
        &mut self,
        object: u32,
        batch: &RecordBatch,
    ) -> Result<Vec<RowId>, EngineError> {
        self.with_rows(object, |heap| heap.insert_batch(batch))
    }

    fn delete_rows(&mut self, object: u32, addresses: &[RowId]) -> Result<(), EngineError> {
        self.with_heap(object, |heap| addresses.iter().try_for_each(|address| heap.delete(*address)))
    }

    pub(crate) fn with_heap<T>(
        &mut self,
        object: u32,
        change: impl FnOnce(&mut HeapWriter<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Self { shared, id, work, allocated, .. } = self;
        let table = work.changed.get_mut(object);
        let table = table.ok_or_else(|| no_table(&object.to_string()))?;
        change(&mut HeapWriter { shared, transaction: *id, table, allocated, beside: None })
    }

    /// Runs an operation; if it fails, what it did so far is undone, and the rest of the transaction stands.
    pub(crate) fn guarded<T>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.settle();
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
    pub(crate) fn alone(&mut self, name: &str) -> Result<u32, EngineError> {
        self.alone_in(name, LockMode::X)
    }

    pub(crate) fn alone_in(&mut self, name: &str, mode: LockMode) -> Result<u32, EngineError> {
        self.settle();
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        self.lock_in(table.object, mode)?;
        match self.table(name) {
            Some(again) if again.object == table.object => Ok(table.object),
            _ => Err(no_table(name)),
        }
    }

    fn lock_alone(&mut self, object: u32) -> Result<(), EngineError> {
        self.lock_in(object, LockMode::X)
    }

    fn lock_in(&mut self, object: u32, mode: LockMode) -> Result<(), EngineError> {
        self.lock(object, mode)?;
        self.work_on(object)
    }

    /// Makes the working copy of a table.
    fn work_on(&mut self, object: u32) -> Result<(), EngineError> {
        self.copies.remove(&object);
        if !self.work.changed.contains(object)
            && let Some(table) = self.catalogue().tables.get(object)
        {
            self.check_unchanged(object)?;
            let mut table = Arc::clone(table);
            if let Some(filled) = self.work.filled.remove(&object) {
                Arc::make_mut(&mut table).attach(&filled);
            }
            self.work.changed.put(object, Some(table));
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<(), EngineError> {
        self.shared.governor.pace(&self.shared.pager.log, self.interrupt.as_deref());
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
    /// Whether the commit changes what other transactions may change at the same time: the catalogue's heap.
    fn is_together(&self) -> bool {
        !self.redefined.is_empty()
    }
}

pub(crate) fn no_table(name: &str) -> EngineError {
    EngineError::NoSuchTable { name: name.to_owned() }
}
