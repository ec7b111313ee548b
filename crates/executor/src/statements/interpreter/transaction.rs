//! Transactions by statement and by transaction-manager request.

use databases::instance::isolation_level;
use databases::store_error::uncommittable;
use tds::transaction_request::{BeginTransaction, Isolation, TransactionRequest};
use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::errors;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, SessionChange, command};
use crate::statements::evaluation::answer;

/// Runs BEGIN, COMMIT, ROLLBACK, SAVE.
pub async fn run(
    session: &mut Session,
    statement: &StatementKind,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let kind = frame.done_kind();
    if session.settings.format_only {
        output.done(kind, command::OTHER, None).await;
        return Ok(());
    }
    let code = match statement {
        StatementKind::BeginTransaction(_) => {
            // Under IMPLICIT_TRANSACTIONS the statement begins a transaction as others do, and another within it.
            begin_implicitly(session, output).await;
            begin_transaction(session, output).await;
            command::BEGIN_TRANSACTION
        }
        StatementKind::Commit => {
            commit_transaction(session, output).await?;
            command::END_TRANSACTION
        }
        StatementKind::Rollback(name) => {
            let name = match name {
                Some(name) if name.starts_with('@') => {
                    frame.variable(name).and_then(|(value, _)| value.as_text().map(str::to_string))
                }
                other => other.clone(),
            };
            roll_back(session, name.as_deref(), output).await?;
            command::ABORT
        }
        StatementKind::Save(name) => {
            if session.work.depth() == 0 {
                return Err(SqlError::new(
                    628,
                    16,
                    0,
                    "Cannot issue SAVE TRANSACTION when there is no active transaction.",
                ));
            }
            let name = match name.starts_with('@') {
                true => frame.variable(name).and_then(|(value, _)| value.as_text().map(str::to_string)),
                false => None,
            }
            .unwrap_or_else(|| name.clone());
            check_committable(session)?;
            session.work.save(&name)?;
            command::END_TRANSACTION
        }
        _ => command::OTHER,
    };
    session.last.error = 0;
    output.done(kind, code, None).await;
    Ok(())
}

async fn begin_transaction(session: &mut Session, output: &mut Output) {
    if let Some(descriptor) =
        session.work.begin(session.settings.isolation_level == isolation_level::SNAPSHOT)
    {
        output.send(Response::Change(SessionChange::TransactionBegun(descriptor))).await;
    }
}

fn check_committable(session: &Session) -> Result<(), SqlError> {
    if session.work.is_doomed() { Err(uncommittable()) } else { Ok(()) }
}

async fn commit_transaction(session: &mut Session, output: &mut Output) -> Result<(), SqlError> {
    check_committable(session)?;
    if let Some(descriptor) = session.work.commit()? {
        session.application_locks.end_transaction();
        output.send(Response::Change(SessionChange::TransactionCommitted(descriptor))).await;
    }
    Ok(())
}

async fn roll_back(session: &mut Session, name: Option<&str>, output: &mut Output) -> Result<(), SqlError> {
    if session.work.depth() == 0 {
        return Err(errors::ROLLBACK_WITHOUT_BEGIN.error());
    }
    // A name that is no savepoint's is the transaction's own.
    if let Some(name) = name
        && session.work.has_savepoint(name)
    {
        if session.work.is_doomed() {
            let text = "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.";
            return Err(SqlError::new(3931, 16, 1, text));
        }
        return session.work.rollback_to(name);
    }
    if let Some(descriptor) = session.work.rollback() {
        session.application_locks.end_transaction();
        output.send(Response::Change(SessionChange::TransactionRolledBack(descriptor))).await;
    }
    Ok(())
}

/// Begins a transaction with the first statement that touches a table, under IMPLICIT_TRANSACTIONS.
pub(crate) async fn begin_implicitly(session: &mut Session, output: &mut Output) {
    if session.settings.implicit_transactions && session.work.depth() == 0 && !session.settings.format_only {
        begin_transaction(session, output).await;
    }
}

/// Runs a request of type 0E.
pub(crate) async fn run_request(session: &mut Session, request: TransactionRequest, output: &mut Output) {
    let result = match &request {
        TransactionRequest::Begin(begin) => {
            take_level(session, begin);
            begin_transaction(session, output).await;
            Ok(command::BEGIN_TRANSACTION)
        }
        TransactionRequest::Commit { begin, .. } => match commit_transaction(session, output).await {
            Ok(()) => {
                begin_again(session, begin.as_ref(), output).await;
                Ok(command::END_TRANSACTION)
            }
            Err(error) => Err(error),
        },
        TransactionRequest::Rollback { name, begin } => {
            let name = Some(name.as_str()).filter(|name| !name.is_empty());
            match roll_back(session, name, output).await {
                Ok(()) => {
                    begin_again(session, begin.as_ref(), output).await;
                    Ok(command::ABORT)
                }
                Err(error) => Err(error),
            }
        }
        TransactionRequest::Save { name } if session.work.depth() > 0 => {
            session.work.save(name).map(|()| command::END_TRANSACTION)
        }
        TransactionRequest::Save { .. } => Err(SqlError::new(
            628,
            16,
            0,
            "Cannot issue SAVE TRANSACTION when there is no active transaction.",
        )),
        _ => Err(SqlError::unsupported("A distributed transaction")),
    };
    match result {
        Ok(command) => output.done(DoneKind::Statement, command, None).await,
        Err(error) => answer::refuse(session, error, DoneKind::Statement, output).await,
    }
}

/// Begins the next transaction at the end of one, for fBeginXact.
async fn begin_again(session: &mut Session, begin: Option<&BeginTransaction>, output: &mut Output) {
    if let Some(begin) = begin.filter(|_| session.work.depth() == 0) {
        take_level(session, begin);
        begin_transaction(session, output).await;
    }
}

/// Makes the isolation level of a request's transaction the session's.
fn take_level(session: &mut Session, begin: &BeginTransaction) {
    if begin.isolation != Isolation::Current {
        session.settings.isolation_level = begin.isolation as u8;
    }
}
