//! The locks that statements take.

use std::time::Duration;

use databases::storage::{LockMode, RowLocator};
use tsql::SqlError;

use crate::session::work::{Mark, OpenTable, Work};

/// Returns true if writers need an exclusive table lock: rows that IGNORE_DUP_KEY leaves out are looked up before
/// they are added.
pub(crate) fn writes_alone(table: &OpenTable) -> bool {
    table.definition.unique_keys().iter().any(|key| key.ignores_duplicates)
}

/// Returns true if a load with TABLOCK, or a writer that locks ranges of keys, needs the exclusive lock: the table
/// has trees.
pub(crate) fn loads_alone(table: &OpenTable) -> bool {
    let definition = &table.definition;
    !definition.unique_keys().is_empty() || definition.has_indexes()
}

/// Locks a table to the end of the transaction if that needs no waiting.
pub(crate) fn try_lock(work: &Work, table: &OpenTable, mode: LockMode) -> bool {
    let locked =
        work.write(table.place, |transaction| transaction.open(table.id)?.lock(mode, Duration::ZERO));
    locked.is_ok()
}

/// Locks a table to the end of the transaction.
pub fn lock(work: &Work, table: &OpenTable, mode: LockMode) -> Result<(), SqlError> {
    let timeout = work.lock_timeout;
    work.write(table.place, |transaction| transaction.open(table.id)?.lock(mode, timeout))
}

/// Keeps others from changing a table, to the end of the transaction.
pub(crate) fn lock_against_changes(work: &Work, table: &OpenTable) -> Result<(), SqlError> {
    let timeout = work.lock_timeout;
    work.write(table.place, |transaction| transaction.open(table.id)?.lock_against_changes(timeout))
}

/// Locks the pages of rows that a statement is about to change. Errors: [rows have changed](SqlError::is_rows_changed) since they were
/// read.
pub(crate) fn claim(work: &Work, table: &OpenTable, locators: &[RowLocator]) -> Result<(), SqlError> {
    work.write(table.place, |transaction| transaction.open(table.id)?.claim(locators))
}

/// Makes waits for locks of pages fail at once, or wait as usual. They must not block a request that is on its
/// connection's thread.
pub(crate) fn hurry(work: &Work, hurries: bool) {
    let timeout = if hurries { Duration::ZERO } else { work.lock_timeout };
    if let Some(transaction) = &mut work.transactions.lock().session {
        transaction.set_lock_timeout(timeout);
    }
}

/// Sets the session's priority, -10 to 10, in deadlocks.
pub(crate) fn set_deadlock_priority(work: &mut Work, priority: i8) {
    if work.deadlock_priority == priority {
        return;
    }
    work.deadlock_priority = priority;
    if let Some(transaction) = &mut work.transactions.lock().session {
        transaction.set_deadlock_priority(priority);
    }
}

/// Undoes what a statement has done, which is then done once more. Its locks are kept.
pub(crate) fn undo_statement(work: &mut Work, mark: &Mark) -> Result<(), SqlError> {
    {
        let mut open = work.transactions.lock();
        open.ignored = false;
        drop(open.variables.take());
    }
    work.open_variables();
    work.return_to(mark)
}
