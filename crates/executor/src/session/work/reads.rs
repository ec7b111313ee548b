//! The state that a session's statements read: each reads one state of the database, and under SNAPSHOT all of a transaction read
//! the same.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::RecordBatch;
use databases::storage::RowLocator;
use databases::storage::{
    Databases, KeyRange, LocatedScan, ReadLock, Reads, Scan, Snapshot, StoreError, TableInfo,
};
use databases::store_error::store_error;
use databases::transactions::OpenTransactions;
use tsql::SqlError;
use tsql::errors;

use crate::session::work::{OpenTable, Place, Work, WorkView};

/// The state that a statement outside of a transaction reads: everything committed when it first looked.
#[derive(Debug, Default)]
pub(crate) struct StatementReads(OnceLock<Snapshot>);

impl StatementReads {
    fn of(&self, store: &Databases) -> &Snapshot {
        self.0.get_or_init(|| store.snapshot())
    }
}

/// Renews the read state when a statement begins or has ended: the next one sees everything committed by then. `keeps`:
/// under SNAPSHOT, whose transactions keep the state that they have read first.
pub(crate) fn renew_reads(work: &mut Work, keeps: bool) {
    if work.reads_fixed {
        return;
    }
    if work.reads.0.get().is_some() {
        work.reads = Arc::default();
    }
    let mut open = work.transactions.lock();
    if open.opened_to_read {
        open.opened_to_read = false;
        // It has changed nothing; its locks go.
        drop(open.session.take());
    }
    if let Some(variables) = &mut open.variables {
        variables.renew_reads();
    }
    let is_snapshot = work.is_snapshot;
    match &mut open.session {
        Some(transaction) if is_snapshot => transaction.keep_reads(keeps),
        Some(transaction) => transaction.renew_reads(),
        None => {}
    }
}

/// Returns the time for which locks are waited for.
pub(crate) fn lock_timeout(work: &Work) -> Duration {
    work.lock_timeout
}

/// Returns true if the open transaction began under SNAPSHOT.
pub(crate) fn is_snapshot(work: &Work) -> bool {
    work.is_snapshot
}

/// Returns true if statements run within a transaction, including that of a single statement that changes
/// something.
pub(crate) fn is_in_transaction(work: &Work) -> bool {
    let within = work.outer.as_ref().is_some_and(|outer| outer.lock().holds_locks());
    within || work.transactions.lock().holds_locks()
}

/// Locks a table that is read: to the end of the transaction, or of the statement if there is none. Errors: 1222, 1205.
pub(crate) fn lock_for_reading(
    work: &Work,
    table: &OpenTable,
    lock: ReadLock,
    no_wait: bool,
) -> Result<(), SqlError> {
    let timeout = if no_wait { Duration::ZERO } else { work.lock_timeout };
    let open = match &work.outer {
        Some(outer) if outer.lock().session.is_some() => outer,
        _ => &work.transactions,
    };
    let mut open = open.lock();
    let placement = open.placement.clone();
    open_to_read(work, &mut open);
    let Some(transaction) = &mut open.session else { return Ok(()) };
    placement.waiting(|| transaction.open(table.id)?.lock_for_reading(lock, timeout)).map_err(store_error)
}

/// Gives a statement that only reads a transaction: only that knows which locks are those of others.
pub(crate) fn read_within_transaction(work: &Work) {
    let has_outer = work.outer.as_ref().is_some_and(|outer| outer.lock().session.is_some());
    if !has_outer {
        open_to_read(work, &mut work.transactions.lock());
    }
}

pub(crate) fn open_to_read(work: &Work, open: &mut OpenTransactions) {
    if open.session.is_some() {
        return;
    }
    open.session = Some(work.new_transaction());
    open.opened_to_read = true;
}

/// Opens scans of a table: within the transaction, or of what the statement reads.
pub(crate) fn opener(
    work: &Work,
    table: &OpenTable,
    reads: Reads,
) -> impl Fn(Option<Vec<usize>>, Option<&KeyRange>) -> Result<Scan, StoreError> + Send + Sync + 'static {
    let (open, place, id) = (work.transactions(), table.place, table.id);
    let outer = work.outer.clone().filter(|_| place == Place::Shared);
    let (store, shared) = (work.instance.store().clone(), Arc::clone(&work.reads));
    // A function's body reads its variables as they are, not as the calling statement found them.
    let own: Option<Snapshot> = (place == Place::Variable).then(|| store.snapshot());
    move |projection, range| {
        let mut open = open.lock();
        if open.at(place).is_none()
            && let Some(outer) = &outer
            && let Some(transaction) = &mut outer.lock().session
        {
            return transaction.open(id)?.scan(projection, range, reads);
        }
        match (open.at_mut(place), &own) {
            (Some(transaction), _) => transaction.open(id)?.scan(projection, range, reads),
            (None, Some(snapshot)) => snapshot.scan(id, projection, range),
            (None, None) => shared.of(&store).scan(id, projection, range),
        }
    }
}

/// Opens scans of a table that is to be changed, with what leads to each row.
pub(crate) fn located_opener(
    work: &Work,
    table: &OpenTable,
    reads: Reads,
) -> impl Fn(Option<Vec<usize>>, Option<&KeyRange>) -> Result<LocatedScan, StoreError> + Send + Sync + 'static
{
    let (open, place, id) = (work.transactions(), table.place, table.id);
    move |projection, range| match open.lock().at_mut(place) {
        Some(transaction) => transaction.open(id)?.located_scan(projection, range, reads),
        None => Err(StoreError::NoSuchTable { table: id }),
    }
}

/// Rows of a table.
pub(crate) fn rows_at(
    work: &Work,
    table: &OpenTable,
    locators: &[RowLocator],
) -> Result<RecordBatch, SqlError> {
    work.write(table.place, |transaction| transaction.open(table.id)?.rows_at(locators))
}

/// Opens a table as it is now, after waiting for its lock. Errors: 208 if it is gone.
pub(crate) fn refresh(work: &Work, table: &OpenTable) -> Result<OpenTable, SqlError> {
    let info = work.write(table.place, |transaction| Ok(transaction.table_of(table.id)))?;
    let gone = || errors::INVALID_OBJECT.with([&table.definition.qualified_name()]);
    let info = info.ok_or_else(gone)?;
    work.view().opened(table.place, &info)?.ok_or_else(gone)
}

impl WorkView {
    pub(crate) fn committed_infos(&self) -> Vec<TableInfo> {
        self.reads.of(self.instance.store()).tables()
    }

    pub(crate) fn committed_referring(&self, key: &str) -> Vec<TableInfo> {
        self.reads.of(self.instance.store()).referring(key)
    }

    pub(crate) fn committed_info(&self, key: &str) -> Option<TableInfo> {
        self.reads.of(self.instance.store()).table(key)
    }
}
