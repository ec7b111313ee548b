//! The locks that statements take.

use std::time::Duration;

use tsql::SqlError;

use crate::session::work::{Mark, OpenTable, Work};
use crate::storage::LockMode;
use crate::storage::RowLocator;

impl Work {
    /// Whether writers need an exclusive table lock: rows that IGNORE_DUP_KEY leaves out are looked up before they are added.
    pub fn writes_alone(&self, table: &OpenTable) -> bool {
        table.definition.unique_keys().iter().any(|key| key.ignores_duplicates)
    }

    /// The same of a bulk load, which sorts its rows and merges them into trees.
    pub fn loads_alone(&self, table: &OpenTable) -> bool {
        let definition = &table.definition;
        !definition.unique_keys().is_empty() || definition.has_indexes()
    }

    /// Locks a table to the end of the transaction if that needs no waiting.
    pub fn try_lock(&self, table: &OpenTable, mode: LockMode) -> bool {
        let locked = self.write(table.place, |transaction| transaction.lock(table.id, mode, Duration::ZERO));
        locked.is_ok()
    }

    /// Locks a table to the end of the transaction.
    pub fn lock(&self, table: &OpenTable, mode: LockMode) -> Result<(), SqlError> {
        let timeout = self.lock_timeout;
        self.write(table.place, |transaction| transaction.lock(table.id, mode, timeout))
    }

    /// Keeps others from changing a table, to the end of the transaction.
    pub fn lock_against_changes(&self, table: &OpenTable) -> Result<(), SqlError> {
        let timeout = self.lock_timeout;
        self.write(table.place, |transaction| transaction.lock_against_changes(table.id, timeout))
    }

    /// Locks the pages of rows that a statement is about to change. Errors: [rows have changed](SqlError::is_rows_changed) since they were
    /// read.
    pub fn claim(&self, table: &OpenTable, locators: &[RowLocator]) -> Result<(), SqlError> {
        self.write(table.place, |transaction| transaction.claim(table.id, locators))
    }

    /// Whether waits for locks of pages fail at once, for a request that is on its connection's thread.
    pub fn hurry(&self, hurries: bool) {
        let timeout = if hurries { Duration::ZERO } else { self.lock_timeout };
        if let Some(transaction) = &mut self.pair.lock().shared {
            transaction.set_lock_timeout(timeout);
        }
    }

    /// Undoes what a statement has done, which is then done once more. Its locks are kept.
    pub fn undo_statement(&mut self, mark: &Mark) -> Result<(), SqlError> {
        {
            let mut pair = self.pair.lock();
            pair.ignored = false;
            drop(pair.variables.take());
        }
        self.open_variables();
        self.return_to(mark)
    }
}
