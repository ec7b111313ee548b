//! A session's transactions, for writers on other threads.

use tsql::SqlError;

use crate::catalogue::TableDefinition;
use crate::storage::{KeyRange, Reads, Scan, StoreError, TableId, Transaction};
use crate::store_error::{keyed_error, store_error};
use crate::transactions::{Place, SharedTransactions};

/// Access to one of a session's transactions that outlives the borrow of the session.
#[derive(Clone)]
pub struct TransactionAccess {
    transactions: SharedTransactions,
    place: Place,
}

impl TransactionAccess {
    /// Makes the access to the transaction that changes tables of a place.
    pub fn new(transactions: SharedTransactions, place: Place) -> TransactionAccess {
        TransactionAccess { transactions, place }
    }

    /// Runs a change within the transaction.
    pub fn write<T>(
        &self,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, SqlError> {
        self.within(change, store_error)
    }

    /// Runs a change of a table with keys.
    ///
    /// # Errors
    /// Errors 2627 and 2601 for a duplicate key, 4819 for rows that are out of order.
    pub fn write_keyed<T>(
        &self,
        definition: &TableDefinition,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, SqlError> {
        self.within(change, |error| keyed_error(definition, error))
    }

    fn within<T>(
        &self,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
        told: impl FnOnce(StoreError) -> SqlError,
    ) -> Result<T, SqlError> {
        let mut open = self.transactions.lock();
        let placement = open.placement.clone();
        let Some(transaction) = open.at_mut(self.place) else {
            return Err(SqlError::internal("a change outside of a transaction"));
        };
        placement.waiting(|| change(transaction)).map_err(told)
    }

    /// Reads a table within the transaction as it is now.
    pub fn scan(&self, table: TableId, columns: Option<Vec<usize>>) -> Result<Scan, SqlError> {
        self.write(|transaction| transaction.open(table)?.scan(columns, None, Reads::Latest))
    }

    /// Scans a table without the rows of loads that have not ended: they go on.
    pub fn scan_stored(
        &self,
        table: TableId,
        columns: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, SqlError> {
        self.write(|transaction| transaction.open(table)?.scan_stored(columns, range))
    }

    /// Notes that the statement has left out rows (3604).
    pub fn note_ignored(&self) {
        self.transactions.lock().ignored = true;
    }

    /// Returns true if a row of the table has this whole key. Waits for a transaction that is adding one.
    pub fn has_row(&self, table: TableId, range: &KeyRange) -> Result<bool, SqlError> {
        let found = |transaction: &mut Transaction| {
            let mut rows = transaction.open(table)?.scan(Some(Vec::new()), Some(range), Reads::Latest)?;
            Ok(rows.next().transpose()?.is_some_and(|batch| batch.num_rows() > 0))
        };
        self.write(|transaction| {
            if found(transaction)? {
                return Ok(true);
            }
            transaction.open(table)?.await_row(range)?;
            found(transaction)
        })
    }
}
