//! Transactions that an error within TRY has made uncommittable: they can only read and be rolled back.

use tsql::SqlError;

use crate::session::Session;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, SessionChange};
use crate::statements::evaluation::answer;

/// Handles an error that takes the transaction with it. If a TRY will catch it, the transaction becomes uncommittable,
/// elsewhere it is rolled back.
pub(crate) async fn lose_transaction(
    session: &mut Session,
    error: &SqlError,
    is_tried: bool,
    output: &mut Output,
) {
    if is_tried && session.work.depth() > 0 {
        // The locks that others wait for are released at once.
        session.work.doom(error.ends_transaction());
    } else {
        undo_transaction(session, output).await;
    }
}

/// Rolls back the transaction, if there is one, and tells the client.
async fn undo_transaction(session: &mut Session, output: &mut Output) {
    if let Some(descriptor) = session.work.rollback() {
        session.application_locks.end_transaction();
        output.send(Response::Change(SessionChange::TransactionRolledBack(descriptor))).await;
    }
}

/// Rolls an uncommittable transaction back at the end of its request (3998).
pub(crate) async fn end_uncommittable(session: &mut Session, output: &mut Output) {
    if !session.work.is_doomed() {
        return;
    }
    undo_transaction(session, output).await;
    let text =
        "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.";
    answer::refuse(session, SqlError::new(3998, 16, 1, text), DoneKind::Statement, output).await;
}
