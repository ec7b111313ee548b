//! Changes of a transaction so far, and their undoing: as a whole, or back to a savepoint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::leftover::{Leftover, Leftovers};
use super::locks::Waiting;
use super::reads::Reads;
use crate::catalogue::table_map::{Chunked, TableMap};
use crate::catalogue::{Catalogue, Filled, Table};
use crate::database::options::RecoveryModel;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::figures::count;
use crate::heap::claims::Claims;
use crate::log::Operation;
use crate::page::ExtentId;
use crate::page::lsn::Lsn;
use crate::page::unit::{CATALOGUE, Unit};

/// A transaction. Dropped without [`commit`](Self::commit) it is undone.
///
/// Any number of transactions change rows of one table side by side ([`LockMode::IX`](crate::LockMode::IX)), each in pages that it has
/// locked ([`LockMode::X`](crate::LockMode::X)). Bulk writers fill a heap without indexes side by side too, if the caller takes
/// [`LockMode::BU`](crate::LockMode::BU) before. Loads that lock the table ([`BulkOptions::table_lock`](super::load::BulkOptions)) have any
/// other table alone, and so do changes of the table itself ([`LockMode::SchM`](crate::LockMode::SchM)). Locks are kept to the end.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: u64,
    pub(crate) work: Work,
    /// Extents that the transaction has allocated. They are free again if it is undone.
    pub(crate) allocated: Vec<ExtentId>,
    pub(crate) forced: bool,
    /// An operation failed half way: only undoing everything is left.
    pub(crate) failed: bool,
    pub(super) ended: bool,
    pub(crate) savepoints: u64,
    /// Bulk writers that have not ended.
    pub(crate) open_writers: u64,
    pub(crate) leftovers: Arc<Leftovers>,
    pub(super) waiting: Waiting,
    pub(super) claims: Claims,
    /// Tables held together with others as this transaction has made them, each with the committed one that it was made of.
    pub(super) copies: BTreeMap<u32, (Arc<Table>, Arc<Table>)>,
    pub(super) reads: Reads,
}

/// State in memory that a rollback to a savepoint restores.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work {
    /// Tables that this transaction has locked exclusively, as it has changed or dropped them.
    pub changed: TableMap,
    /// Space and rows added to tables that others change too, by object id.
    pub filled: BTreeMap<u32, Filled>,
    /// Units with the extents and pages that the commit gives up.
    pub(super) given_up: Chunked<Arc<(Unit, Vec<ExtentId>)>, 6>,
    pub(super) given_up_units: Chunked<Unit, 6>,
    /// Tables whose definitions the commit writes.
    pub redefined: Chunked<(), 6>,
    /// Rows that the commit inserts into tables that others change too.
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

    /// Returns the transaction's number in the log.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the recovery model that applies to the transaction's next bulk load.
    pub fn recovery_model(&self) -> RecoveryModel {
        self.shared.recovery_model()
    }

    /// Returns the table of this name as this transaction sees it, without the rows that wait for its commit.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        let catalogue = self.catalogue();
        let changed = self.work.changed.named(name).filter(|table| table.object != CATALOGUE);
        if let Some(table) = changed {
            return Some(Arc::clone(table));
        }
        let committed = catalogue.named(name).filter(|table| !self.work.changed.contains(table.object))?;
        Some(self.with_filled(committed))
    }

    /// Returns the table of this id as this transaction sees it, without the rows that wait for its commit.
    pub fn table_of(&self, object: u32) -> Option<Arc<Table>> {
        match self.work.changed.entry(object) {
            Some(changed) => changed.cloned(),
            None => self.catalogue().tables.get(object).map(|table| self.with_filled(table)),
        }
    }

    /// Lists the tables whose text refers to a name, as this transaction sees them, in the order of their
    /// creation.
    pub fn referring(&self, name: &str) -> Vec<Arc<Table>> {
        let catalogue = self.catalogue();
        let committed = catalogue.referring(name).filter(|table| !self.work.changed.contains(table.object));
        let committed = committed.map(|table| self.with_filled(table));
        let mut all: Vec<Arc<Table>> = self.work.changed.referring(name).cloned().chain(committed).collect();
        all.sort_unstable_by_key(|table| table.object);
        all
    }

    /// Lists all tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let catalogue = self.catalogue();
        let committed = catalogue.tables.entries().map(|(object, _)| object);
        let own = self.work.changed.entries().map(|(object, _)| object);
        let all: BTreeSet<u32> = committed.chain(own).collect();
        all.into_iter().filter(|object| *object != CATALOGUE).filter_map(|id| self.table_of(id)).collect()
    }

    pub(super) fn with_filled(&self, committed: &Arc<Table>) -> Arc<Table> {
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

    /// Returns the snapshots that the transaction's statements read.
    pub fn reads(&mut self) -> &mut Reads {
        &mut self.reads
    }

    /// Returns the rows of a table that wait for the commit.
    pub fn pending(&self, object: u32) -> &[RecordBatch] {
        self.work.pending.get(&object).map(Vec::as_slice).unwrap_or_default()
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

    /// Runs an operation. If it fails, its changes so far are undone, and the rest of the transaction stands.
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

    /// Counts what the calling thread has computed since it last did anything here, and waits while the database has used more than its
    /// share.
    pub fn charge(&self) {
        self.shared.governor.pace(&self.shared.pager.log, self.waiting.interrupt.as_deref());
    }

    pub(crate) fn check(&self) -> Result<(), EngineError> {
        self.charge();
        match (self.failed, self.shared.pager.log.is_shut()) {
            (_, Some(reason)) => Err(EngineError::Shut { reason }),
            (true, None) => Err(EngineError::Doomed),
            (false, None) => Ok(()),
        }
    }

    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.shared.catalogue.read())
    }

    /// Undoes the loads of writers that were dropped before they had ended.
    pub(crate) fn settle(&mut self) {
        for Leftover { allocated, start, .. } in self.leftovers.take() {
            self.allocated.extend(allocated);
            self.open_writers = self.open_writers.saturating_sub(1);
            undo_load(self, start);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        roll_back_all(self);
    }
}

impl Work {
    /// Returns the number of rows by which the commit makes each table longer.
    pub(super) fn row_differences(&self, catalogue: &Catalogue) -> Vec<(u32, i64)> {
        let committed = |object: u32| catalogue.tables.get(object).map_or(0, |table| table.rows as i64);
        let changed = self
            .changed
            .entries()
            .map(|(object, table)| (object, table.map_or(0, |table| table.rows as i64) - committed(object)));
        let filled = self.filled.iter().map(|(object, filled)| (*object, filled.rows));
        changed.chain(filled).filter(|(_, difference)| *difference != 0).collect()
    }

    /// Returns the working copy of a table that this transaction has alone.
    pub(crate) fn table(&self, object: u32) -> Result<Table, EngineError> {
        let table = self.changed.get(object).ok_or_else(|| no_table(&object.to_string()))?;
        Ok(Table::clone(table))
    }

    pub(crate) fn put(&mut self, table: Table) {
        self.changed.put(table.object, Some(Arc::new(table)));
    }

    /// Returns true if the commit changes what other transactions may change at the same time: the
    /// catalogue's heap.
    pub(super) fn is_together(&self) -> bool {
        !self.redefined.is_empty()
    }
}

pub(crate) fn no_table(name: &str) -> EngineError {
    EngineError::NoSuchTable { name: name.to_owned() }
}

/// Takes over the extents of such writers that began after a savepoint, because everything since is undone. False: others began
/// before it.
pub(super) fn settle_since(transaction: &mut Transaction, savepoint: &Savepoint) -> bool {
    let (later, earlier): (Vec<_>, Vec<_>) =
        transaction.leftovers.take().into_iter().partition(|leftover| leftover.began >= savepoint.number);
    transaction.open_writers = transaction.open_writers.saturating_sub(later.len() as u64);
    transaction.allocated.extend(later.into_iter().flat_map(|leftover| leftover.allocated));
    let settled = earlier.is_empty();
    earlier.into_iter().for_each(|leftover| transaction.leftovers.leave(leftover));
    settled
}

/// Settles the extents of all dropped writers, since the transaction is being undone as a whole. Extents that
/// are dropped later are free at once.
pub(super) fn settle_all(transaction: &mut Transaction) {
    let left = transaction.leftovers.waiting.lock().take().unwrap_or_default();
    transaction.allocated.extend(left.into_iter().flat_map(|leftover| leftover.allocated));
}

/// Undoes a load that has failed.
pub(super) fn undo_load(transaction: &mut Transaction, start: Option<(Savepoint, u64)>) {
    let alone = start
        .filter(|(_, savepoints)| transaction.open_writers == 0 && *savepoints == transaction.savepoints);
    transaction.failed = match alone {
        Some((savepoint, _)) if !transaction.failed => transaction.rollback_to(&savepoint).is_err(),
        _ => true,
    };
}

pub(super) fn roll_back_all(transaction: &mut Transaction) {
    if std::mem::replace(&mut transaction.ended, true) {
        return;
    }
    settle_all(transaction);
    let allocated = std::mem::take(&mut transaction.allocated);
    let undone = undo(transaction, Lsn::ZERO)
        .and_then(|()| transaction.shared.pager.end(transaction.id, Operation::End, || ()))
        .map(|logged| count(&transaction.shared.counters.rolled_back, u64::from(logged.is_some())));
    // The pages are not what they should be; the next recovery undoes it.
    let shut = |error: EngineError| {
        transaction.shared.pager.log.shut(format!("a transaction could not be undone: {error}"))
    };
    let is_undone = undone.map_err(shut).is_ok();
    transaction.shared.pager.versions.roll_back(transaction.id);
    transaction.shared.locks.release_all(transaction.id);
    if is_undone {
        // The extents are given back only after the locks, since the next owner of an extent locks its pages.
        give_back(transaction, allocated).map_err(shut).ok();
    }
    if transaction.shared.pager.log.lacks_space() && transaction.shared.pager.log.is_shut().is_none() {
        // A checkpoint may free old log. If it fails, there is no more room than before.
        transaction.shared.checkpoint().ok();
    }
}

pub(super) fn undo(transaction: &Transaction, until: Lsn) -> Result<(), EngineError> {
    // The latches keep other transactions off the trees until splits are undone.
    let _latches = transaction.shared.latches.take(transaction.claims.restructured());
    transaction.shared.pager.undo(transaction.id, until)
}

pub(super) fn give_back(transaction: &Transaction, extents: Vec<ExtentId>) -> Result<(), EngineError> {
    if !extents.is_empty() {
        // A minimally logged load may fill them at once, past the log. If then the power goes, this undoing must be known:
        // done once more, it would find pages that are no longer what they were.
        let undone = transaction.shared.pager.log.position();
        match transaction.shared.pager.log.flush(undone) {
            Err(error) if error.is_log_full() => transaction.shared.release_when_durable(undone, extents),
            flushed => {
                flushed?;
                transaction.shared.allocator.release(extents);
            }
        }
    }
    transaction.shared.allocator.take_back_undone(transaction.id)
}
