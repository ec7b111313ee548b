//! A bulk load within the session's transaction.

use std::sync::Arc;

use databases::instance::Instance;
use databases::instance::loads::FinishedLoad;
use databases::store_error::store_error;
use databases::transactions::{Mark, SharedTransactions};
use databases::waiting::waiting;
use tsql::SqlError;

/// The transaction's side of a bulk load.
pub(crate) struct BulkWork {
    pub instance: Arc<Instance>,
    pub(crate) transactions: SharedTransactions,
    /// The load is a transaction of its own.
    pub(crate) alone: bool,
    pub mark: Mark,
}

impl BulkWork {
    /// Adds the load, which has succeeded, to the recent loads.
    pub fn remember(&self, load: FinishedLoad) {
        self.instance.loads().add(load);
    }

    /// Commits or undoes the load.
    pub fn end(&mut self, succeeded: bool) -> Result<(), SqlError> {
        if !self.alone {
            return if succeeded { Ok(()) } else { self.transactions.lock().return_to(&self.mark) };
        }
        let open = self.transactions.lock().take();
        if succeeded {
            waiting(|| open.commit()).map_err(store_error)?;
        }
        Ok(())
    }
}
