//! The session's transactions for those who write on other threads.

use std::sync::Arc;

use tsql::SqlError;

use crate::catalogue::TableDefinition;
use crate::instance::Instance;
use crate::instance::loads::FinishedLoad;
use crate::session::work::{Mark, Pair, Place, SharedPair, commit_both};
use crate::storage::{KeyRange, Reads, Scan, StoreError, TableId, Transaction};
use crate::store_error::{keyed_error, store_error};
use crate::waiting::waiting;

/// A way to the session's transaction for a writer that lives on a thread of its own.
#[derive(Clone)]
pub(crate) struct WorkAccess {
    pair: SharedPair,
    place: Place,
}

impl WorkAccess {
    /// Access to the transaction that changes tables of a place.
    pub fn new(pair: SharedPair, place: Place) -> WorkAccess {
        WorkAccess { pair, place }
    }

    /// Does something within the transaction.
    pub fn write<T>(
        &self,
        change: impl FnOnce(&mut Transaction) -> Result<T, StoreError>,
    ) -> Result<T, SqlError> {
        self.within(change, store_error)
    }

    /// The same for a change to a table with keys. Errors: 2627, 2601, 4819.
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
        let mut pair = self.pair.lock();
        let placement = pair.placement.clone();
        let Some(transaction) = pair.at_mut(self.place) else {
            return Err(SqlError::internal("a change outside of a transaction"));
        };
        placement.waiting(|| change(transaction)).map_err(told)
    }

    /// Reads a table within the transaction as it is now.
    pub fn scan(&self, table: TableId, columns: Option<Vec<usize>>) -> Result<Scan, SqlError> {
        self.write(|transaction| transaction.open(table)?.scan(columns, None, Reads::Latest))
    }

    /// The same without the rows of loads that have not ended: they go on.
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
        self.pair.lock().ignored = true;
    }

    /// Whether a whole key of a table has a row. Whoever is adding one is waited for.
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

/// The transaction's side of a bulk load.
pub(crate) struct BulkWork {
    pub(crate) instance: Arc<Instance>,
    pub(crate) pair: SharedPair,
    /// The load is a transaction of its own.
    pub(crate) alone: bool,
    pub(crate) mark: Mark,
}

impl BulkWork {
    /// Remembers the load, which has ended well.
    pub fn remember(&self, load: FinishedLoad) {
        self.instance.loads().add(load);
    }

    /// Commits or undoes the load.
    pub fn end(&mut self, succeeded: bool) -> Result<(), SqlError> {
        if !self.alone {
            return if succeeded { Ok(()) } else { return_to(&self.pair, &self.mark) };
        }
        let Pair { shared, variables, .. } = {
            let mut pair = self.pair.lock();
            let ignored = pair.ignored;
            std::mem::replace(&mut *pair, Pair { ignored, ..Pair::default() })
        };
        if succeeded {
            waiting(|| commit_both(shared, variables)).map_err(store_error)?;
        }
        Ok(())
    }
}

/// Undoes what the session's transaction did since the mark.
pub(crate) fn return_to(pair: &SharedPair, mark: &Mark) -> Result<(), SqlError> {
    let mut pair = pair.lock();
    if let (Some(transaction), Some(savepoint)) = (&mut pair.shared, &mark.0) {
        transaction.rollback_to(savepoint).map_err(|error| SqlError::internal(error))?;
    }
    Ok(())
}
