//! Transactions by statement and by transaction-manager request.

use tds::transaction_request::{BeginTransaction, Isolation, TransactionRequest};
use tsql::SqlError;
use tsql::ast::StatementKind;

use super::Session;
use super::interpreter::Frame;
use super::isolation::level;
use super::output::Output;
use super::response::{DoneKind, Response, SessionChange, command};
use super::uncommittable::uncommittable;

impl Session {
    /// BEGIN, COMMIT, ROLLBACK, SAVE.
    pub(super) async fn transaction_statement(
        &mut self,
        statement: &StatementKind,
        frame: &Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        let kind = frame.done_kind();
        if self.settings.format_only {
            output.done(kind, command::OTHER, None).await;
            return Ok(());
        }
        let code = match statement {
            StatementKind::BeginTransaction(_) => {
                self.begin(output).await;
                command::BEGIN_TRANSACTION
            }
            StatementKind::Commit => {
                self.commit(output).await?;
                command::END_TRANSACTION
            }
            StatementKind::Rollback(name) => {
                let name = match name {
                    Some(name) if name.starts_with('@') => {
                        frame.variable(name).and_then(|(value, _)| value.as_text().map(str::to_string))
                    }
                    other => other.clone(),
                };
                self.roll_back(name.as_deref(), output).await?;
                command::ABORT
            }
            StatementKind::Save(name) => {
                if self.work.depth() == 0 {
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
                self.check_committable()?;
                self.work.save(&name)?;
                command::END_TRANSACTION
            }
            _ => command::OTHER,
        };
        self.last.error = 0;
        output.done(kind, code, None).await;
        Ok(())
    }

    async fn begin(&mut self, output: &mut Output) {
        if let Some(descriptor) = self.work.begin(self.settings.isolation_level == level::SNAPSHOT) {
            output.send(Response::Change(SessionChange::TransactionBegun(descriptor))).await;
        }
    }

    fn check_committable(&self) -> Result<(), SqlError> {
        if self.work.is_doomed() { Err(uncommittable()) } else { Ok(()) }
    }

    async fn commit(&mut self, output: &mut Output) -> Result<(), SqlError> {
        self.check_committable()?;
        if let Some(descriptor) = self.work.commit()? {
            self.application_locks.end_transaction();
            output.send(Response::Change(SessionChange::TransactionCommitted(descriptor))).await;
        }
        Ok(())
    }

    async fn roll_back(&mut self, name: Option<&str>, output: &mut Output) -> Result<(), SqlError> {
        if self.work.depth() == 0 {
            return Err(SqlError::rollback_without_begin());
        }
        // A name that is no savepoint's is the transaction's own.
        if let Some(name) = name
            && self.work.has_savepoint(name)
        {
            if self.work.is_doomed() {
                let text = "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.";
                return Err(SqlError::new(3931, 16, 1, text));
            }
            return self.work.rollback_to(name);
        }
        if let Some(descriptor) = self.work.rollback() {
            self.application_locks.end_transaction();
            output.send(Response::Change(SessionChange::TransactionRolledBack(descriptor))).await;
        }
        Ok(())
    }

    /// Under IMPLICIT_TRANSACTIONS the first statement that touches a table begins a transaction.
    pub(super) async fn begin_implicitly(&mut self, output: &mut Output) {
        if self.settings.implicit_transactions && self.work.depth() == 0 && !self.settings.format_only {
            self.begin(output).await;
        }
    }

    /// A request of type 0E.
    pub(super) async fn transaction_request(&mut self, request: TransactionRequest, output: &mut Output) {
        let result = match &request {
            TransactionRequest::Begin(begin) => {
                self.take_level(begin);
                self.begin(output).await;
                Ok(command::BEGIN_TRANSACTION)
            }
            TransactionRequest::Commit { begin, .. } => match self.commit(output).await {
                Ok(()) => {
                    self.begin_again(begin.as_ref(), output).await;
                    Ok(command::END_TRANSACTION)
                }
                Err(error) => Err(error),
            },
            TransactionRequest::Rollback { name, begin } => {
                let name = Some(name.as_str()).filter(|name| !name.is_empty());
                match self.roll_back(name, output).await {
                    Ok(()) => {
                        self.begin_again(begin.as_ref(), output).await;
                        Ok(command::ABORT)
                    }
                    Err(error) => Err(error),
                }
            }
            TransactionRequest::Save { name } if self.work.depth() > 0 => {
                self.work.save(name).map(|()| command::END_TRANSACTION)
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
            Err(error) => self.refuse(error, DoneKind::Statement, output).await,
        }
    }

    /// fBeginXact: the end of one transaction begins the next.
    async fn begin_again(&mut self, begin: Option<&BeginTransaction>, output: &mut Output) {
        if let Some(begin) = begin.filter(|_| self.work.depth() == 0) {
            self.take_level(begin);
            self.begin(output).await;
        }
    }

    /// The isolation level that a request begins a transaction with is the session's from then on.
    fn take_level(&mut self, begin: &BeginTransaction) {
        if begin.isolation != Isolation::Current {
            self.settings.isolation_level = begin.isolation as u8;
        }
    }
}
