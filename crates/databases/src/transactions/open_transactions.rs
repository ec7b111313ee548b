//! The two transactions that a session may have open at a time.
//!
//! One [transaction](Transaction) has a part in each database that it touches, tempdb among them. Table variables live in
//! tempdb beside `#` tables, and have a transaction of their own: ROLLBACK undoes what was done to `#` tables and
//! leaves table variables as they are. Part of a transaction cannot be kept when it is rolled back, so there are two.

use std::sync::Arc;

use parking_lot::Mutex;
use tsql::SqlError;

use crate::storage::{Savepoint, StoreError, Transaction};
use crate::transactions::Place;
use crate::waiting::Placement;

/// The transactions that a session has open.
#[derive(Default)]
pub struct OpenTransactions {
    /// The transaction that COMMIT and ROLLBACK end, or the end of a statement outside of BEGIN TRANSACTION.
    pub session: Option<Transaction>,
    /// The statement's changes of table variables. The end of the statement commits them, even if the other transaction is rolled back.
    pub variables: Option<Transaction>,
    /// Thread on which the request runs.
    pub placement: Placement,
    /// A statement has left out rows whose keys were there already.
    pub ignored: bool,
    /// The session's transaction was opened only for the locks of a reading statement.
    pub opened_to_read: bool,
}

/// Transactions of a session, shared with its scans and bulk writers.
pub type SharedTransactions = Arc<Mutex<OpenTransactions>>;

/// A point of the session's transaction to go back to; `None`: there was none.
pub struct Mark(Option<Savepoint>);

impl OpenTransactions {
    /// Returns true if read locks are kept after reading.
    #[inline]
    pub fn holds_locks(&self) -> bool {
        self.session.is_some() && !self.opened_to_read
    }

    /// Returns the transaction that changes tables of a place.
    #[inline]
    pub fn at(&self, place: Place) -> Option<&Transaction> {
        match place {
            Place::Shared | Place::Temporary => self.session.as_ref(),
            Place::Variable => self.variables.as_ref(),
        }
    }

    /// Returns the transaction that changes tables of a place, to change something.
    #[inline]
    pub fn at_mut(&mut self, place: Place) -> Option<&mut Transaction> {
        match place {
            Place::Shared | Place::Temporary => self.session.as_mut(),
            Place::Variable => self.variables.as_mut(),
        }
    }

    /// Marks a point of the session's transaction.
    pub fn mark(&mut self) -> Result<Mark, StoreError> {
        self.session.as_mut().map(Transaction::savepoint).transpose().map(Mark)
    }

    /// Undoes what the session's transaction did since the mark.
    pub fn return_to(&mut self, mark: &Mark) -> Result<(), SqlError> {
        if let (Some(transaction), Some(savepoint)) = (&mut self.session, &mark.0) {
            transaction.rollback_to(savepoint).map_err(|error| SqlError::internal(error))?;
        }
        Ok(())
    }

    /// Commits both. The steps that may fail for lack of space come first.
    pub fn commit(self) -> Result<(), StoreError> {
        let mut variables = self.variables;
        variables.as_mut().map_or(Ok(()), Transaction::insert_all_waiting)?;
        self.session.into_iter().chain(variables).try_for_each(Transaction::commit)
    }

    /// Takes both transactions. Settings of the request and its statement stay.
    pub fn take(&mut self) -> OpenTransactions {
        OpenTransactions {
            session: self.session.take(),
            variables: self.variables.take(),
            placement: self.placement.clone(),
            ..OpenTransactions::default()
        }
    }
}
