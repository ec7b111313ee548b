//! A unit of work: everything in it happens, durably, or nothing of it.

pub(crate) mod alter;
pub(crate) mod alter_columns;
pub(crate) mod changes;
pub mod load;

mod beside;
mod change_alone;
mod commit;
mod end;
mod leftover;
mod locks;
mod reads;
mod rows;
mod write_table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;

use crate::catalogue::table_map::{Chunked, TableMap};
use crate::catalogue::{Catalogue, Filled, Table};
use crate::check;
use crate::check::finding::Finding;
use crate::database::options::RecoveryModel;
use crate::database::shared::Shared;
use crate::disk::file_layout::Placement;
use crate::error::EngineError;
use crate::heap::claims::Claims;
use crate::lock::LockMode;
use crate::page::lsn::Lsn;
use crate::page::unit::{CATALOGUE, UnitKind};
use crate::page::unit::{Owner, Unit};
use crate::page::{ExtentId, PageId};
use crate::record::compress::Compression;
use crate::record::layout::Column;
use crate::scan::read_table::ReadTable;
use crate::scan::{PageReader, View};
use crate::tree::index::{IndexDefinition, Tree};
use change_alone::{lock_in, plant};
pub(crate) use commit::Ready;
use end::{give_back, roll_back_all, undo};
use leftover::settle_since;
pub(crate) use leftover::{Leftover, Leftovers};
use locks::{Waiting, claim_name, lock};
pub use reads::Reads;
use reads::snapshot_of;
pub use write_table::WriteTable;

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
    waiting: Waiting,
    claims: Claims,
    /// Tables held together with others as this transaction has made them, each with the committed one that it was made of.
    copies: BTreeMap<u32, (Arc<Table>, Arc<Table>)>,
    reads: Reads,
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
            waiting: Waiting { timeout: shared.options.lock_timeout, priority: 0, interrupt: None },
            reads: Reads::new(&shared, id),
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

    /// A table that is to be changed.
    ///
    /// # Errors
    /// 208: there is none of this name.
    pub fn open_table(&mut self, name: &str) -> Result<WriteTable<'_>, EngineError> {
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        Ok(self.open(&table))
    }

    /// A table that has been looked up, to be changed.
    pub fn open(&mut self, table: &Table) -> WriteTable<'_> {
        WriteTable { object: table.object, name: Arc::clone(&table.name), transaction: self }
    }

    /// A table to be read as this transaction sees it.
    ///
    /// # Errors
    /// 208: there is none of this name.
    pub fn read_table(&self, name: &str) -> Result<ReadTable, EngineError> {
        self.read(self.table(name).ok_or_else(|| no_table(name))?)
    }

    /// A table that has been looked up, to be read as this transaction sees it.
    pub fn read(&self, table: Arc<Table>) -> Result<ReadTable, EngineError> {
        let (view, table) = match self.work.changed.contains(table.object) {
            true => (View::Current, table),
            false => {
                let (snapshot, table) = snapshot_of(self, table)?;
                (View::Own(snapshot, self.id), table)
            }
        };
        let passes = self.reads.passes() && !matches!(view, View::Current);
        Ok(ReadTable { reader: PageReader { shared: Arc::clone(&self.shared), view, passes }, table })
    }

    /// What its statements read.
    pub fn reads(&mut self) -> &mut Reads {
        &mut self.reads
    }

    /// Rows of a table that wait for the commit.
    pub fn pending(&self, object: u32) -> &[RecordBatch] {
        self.work.pending.get(&object).map(Vec::as_slice).unwrap_or_default()
    }

    /// Inserts the rows of all tables that wait for the commit now.
    pub fn insert_pending(&mut self) -> Result<(), EngineError> {
        let waiting: Vec<u32> = self.work.pending.keys().copied().collect();
        let tables: Vec<Arc<Table>> =
            waiting.into_iter().filter_map(|object| self.table_of(object)).collect();
        tables.iter().try_for_each(|table| self.open(table).insert_pending())
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

    /// Creates a table whose rows are kept in the order of a key, a clustered tree, with the compression that the key says.
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
        claim_name(self, name)?;
        let object = self.shared.next_object.fetch_add(1, Ordering::AcqRel);
        lock_in(self, object, LockMode::SchM)?;
        self.guarded(|this| {
            let (shared, id) = (Arc::clone(&this.shared), this.id);
            let properties = (properties, shared.options.references);
            let table = Table::new(object, name, properties, layout, |unit| {
                let large = unit == UnitKind::Large.id(object);
                let group = if large { placed.large_values } else { placed.rows };
                shared.allocator.create_unit(id, unit, group, Owner { table: name, index: None })
            })?;
            this.work.put(table);
            this.work.redefined.insert(u64::from(object), ());
            plant(this, object, key)
        })
    }

    /// Checks the structure of one table, which nobody changes meanwhile (it is locked in S). Errors: 208, and those of locks.
    pub fn check_table(&mut self, object: u32) -> Result<Vec<Finding>, EngineError> {
        lock(self, object, LockMode::S)?;
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
        lock_in(self, CATALOGUE, LockMode::X)?;
        let objects: Vec<u32> = self.catalogue().tables.tables().map(|table| table.object).collect();
        objects.into_iter().try_for_each(|object| lock_in(self, object, LockMode::X))
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
        if !settle_since(self, savepoint) {
            return Err(EngineError::Doomed);
        }
        undo(self, savepoint.position)?;
        let allocated = self.allocated.split_off(savepoint.allocated);
        self.claims.forget_extents(&self.shared.locks, self.id, &allocated);
        give_back(self, allocated)?;
        self.work = savepoint.work.clone();
        self.copies.clear();
        self.reads.unpin();
        self.failed = false;
        Ok(())
    }

    /// Undoes everything.
    pub fn rollback(mut self) -> Result<(), EngineError> {
        roll_back_all(&mut self);
        match self.shared.pager.log.is_shut() {
            Some(reason) => Err(EngineError::Shut { reason }),
            None => Ok(()),
        }
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

    pub(crate) fn check(&self) -> Result<(), EngineError> {
        self.shared.governor.pace(&self.shared.pager.log, self.waiting.interrupt.as_deref());
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
        roll_back_all(self);
    }
}

impl Work {
    /// By how many rows the commit makes each table longer.
    pub(super) fn row_differences(&self, catalogue: &Catalogue) -> Vec<(u32, i64)> {
        let committed = |object: u32| catalogue.tables.get(object).map_or(0, |table| table.rows as i64);
        let changed = self
            .changed
            .entries()
            .map(|(object, table)| (object, table.map_or(0, |table| table.rows as i64) - committed(object)));
        let filled = self.filled.iter().map(|(object, filled)| (*object, filled.rows));
        changed.chain(filled).filter(|(_, difference)| *difference != 0).collect()
    }

    /// The working copy of a table that this transaction has alone.
    pub(crate) fn table(&self, object: u32) -> Result<Table, EngineError> {
        let table = self.changed.get(object).ok_or_else(|| no_table(&object.to_string()))?;
        Ok(Table::clone(table))
    }

    pub(crate) fn put(&mut self, table: Table) {
        self.changed.put(table.object, Some(Arc::new(table)));
    }

    /// Whether the commit changes what other transactions may change at the same time: the catalogue's heap.
    fn is_together(&self) -> bool {
        !self.redefined.is_empty()
    }
}

pub(crate) fn no_table(name: &str) -> EngineError {
    EngineError::NoSuchTable { name: name.to_owned() }
}
