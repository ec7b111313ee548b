//! Transactions that an error within TRY has made uncommittable: they can be read in and rolled back, nothing else.

use tsql::SqlError;

use super::Session;
use super::output::Output;
use super::response::{DoneKind, Response, SessionChange};

impl Session {
    /// After an error that takes the transaction with it. Where a TRY will catch the error the transaction becomes uncommittable, elsewhere
    /// it is rolled back.
    pub(super) async fn lose_transaction(&mut self, error: &SqlError, is_tried: bool, output: &mut Output) {
        if is_tried && self.work.depth() > 0 {
            // What others wait for goes at once.
            self.work.doom(error.ends_transaction());
        } else {
            self.undo_transaction(output).await;
        }
    }

    /// Rolls back the transaction, if there is one, and tells the client.
    async fn undo_transaction(&mut self, output: &mut Output) {
        if let Some(descriptor) = self.work.rollback() {
            self.application_locks.end_transaction();
            output.send(Response::Change(SessionChange::TransactionRolledBack(descriptor))).await;
        }
    }

    /// At the end of a request: an uncommittable transaction does not last longer. 3998.
    pub(super) async fn end_uncommittable(&mut self, output: &mut Output) {
        if !self.work.is_doomed() {
            return;
        }
        self.undo_transaction(output).await;
        let text =
            "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.";
        self.refuse(SqlError::new(3998, 16, 1, text), DoneKind::Statement, output).await;
    }
}

/// 3930: what an uncommittable transaction is not for.
pub(super) fn uncommittable() -> SqlError {
    let text = "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.";
    SqlError::new(3930, 16, 1, text)
}
