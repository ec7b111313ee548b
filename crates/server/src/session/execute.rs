//! The entrance: one request in, its events out.

use query::running::Running;
use tds::rpc::RpcRequest;
use tds::transaction_request::TransactionRequest;
use tokio::sync::mpsc;
use tsql::SqlError;
use tsql::ast::Statement;

use super::Cancellation;
use super::Session;
use super::interpreter::{Flow, Frame};
use super::output::Output;
use super::placement::{EarlyEvents, Placement};
use super::response::{DoneKind, Response, StatementDone};

/// What a client asks for.
#[derive(Debug, Clone)]
pub enum Request {
    /// A batch of T-SQL (type 01).
    Batch(String),
    /// Procedure calls (type 03), in order.
    Rpc(Vec<RpcRequest>),
    /// A transaction-manager request (type 0E).
    Transaction(TransactionRequest),
    /// Something that can only be answered with an error.
    Refused(SqlError),
}

impl Session {
    /// Runs a request and sends its events in order; returns when the last has been sent.
    ///
    /// `events` should be bounded: a client that reads slowly holds the query up. Cancellation is looked at between
    /// batches and statements; a cancelled statement has no effect and ends the request, with the error bit and no error.
    pub async fn execute(
        &mut self,
        request: Request,
        events: mpsc::Sender<Response>,
        cancellation: Cancellation,
    ) {
        self.watch(&cancellation);
        self.place(Placement::default());
        let running = Running::new(&cancellation, self.instance.engine().memory());
        running.all(self.run_request(request, Output::new(events, cancellation))).await;
    }

    /// The same for a [light](Self::is_light) request, which begins on its connection's thread: the first events go to
    /// `early`, and if the future gives way once it is to be moved to the threads for work.
    pub(crate) async fn execute_early(
        &mut self,
        request: Request,
        events: mpsc::Sender<Response>,
        early: EarlyEvents,
        cancellation: Cancellation,
    ) {
        self.watch(&cancellation);
        let placement = Placement::on_connection();
        self.place(placement.clone());
        let running = Running::new(&cancellation, self.instance.engine().memory());
        let output = Output::new(events, cancellation).beginning_early(early, placement);
        running.all(self.run_request(request, output)).await;
    }

    pub(super) fn place(&mut self, placement: Placement) {
        self.work.place(placement.clone());
        self.placement = placement;
    }

    async fn run_request(&mut self, request: Request, mut output: Output) {
        self.seat.note_request(true);
        match request {
            Request::Batch(text) => self.batch(&text, &mut output).await,
            Request::Rpc(calls) => {
                for call in calls {
                    if output.stopped() {
                        break;
                    }
                    self.remote_call(call, &mut output).await;
                }
            }
            Request::Transaction(request) => self.transaction_request(request, &mut output).await,
            Request::Refused(error) => self.refuse(error, DoneKind::Statement, &mut output).await,
        }
        if output.stopped() {
            // A cancelled statement leaves the transaction open, except under XACT_ABORT.
            if let Some(change) = self.note_failure(&SqlError::cancelled()) {
                output.send(Response::Change(change)).await;
            }
            let done = StatementDone {
                kind: DoneKind::Statement,
                command: 0,
                count: None,
                error: true,
                fatal: false,
            };
            output.send(Response::Done(done)).await;
        }
        self.end_uncommittable(&mut output).await;
        // What was read by what is no statement: names that were looked up, cursors that were opened.
        self.renew_reads();
        self.seat.note_request(false);
    }

    /// Runs a batch, as a client's SQLBatch does.
    async fn batch(&mut self, text: &str, output: &mut Output) {
        let mut frame = Frame::new(false);
        let parsed = match self.instance.statements.parse(text, self.settings.quoted_identifier) {
            Ok(parsed) => parsed,
            Err(error) => return self.refuse(error, DoneKind::Statement, output).await,
        };
        if parsed.statements.is_empty() {
            return output.done(DoneKind::Statement, 0, None).await;
        }
        self.work.enter_scope();
        let result = self.run(&parsed.statements, &mut frame, output).await;
        let left = self.work.leave_scope();
        if let Err(error) = result.map(|_| ()).and(left) {
            self.refuse(error, DoneKind::Statement, output).await;
        }
    }

    /// Sends an error and the DONE that goes with it.
    pub(super) async fn refuse(&mut self, error: SqlError, kind: DoneKind, output: &mut Output) {
        if output.stopped() {
            return;
        }
        self.last.error = error.number;
        self.last.rows = 0;
        let fatal = error.class >= 20;
        let of_constraint = matches!(error.number, 8111 | 1767..=1770 | 1776..=1778 | 1785);
        let line = error.line;
        output.send(Response::Error(super::output::message(error, &self.instance))).await;
        if of_constraint {
            let text = "Could not create constraint or index. See previous errors.";
            let error = SqlError::new(1750, 16, 1, text).at_line(line);
            self.last.error = error.number;
            output.send(Response::Error(super::output::message(error, &self.instance))).await;
        }
        output
            .send(Response::Done(StatementDone { kind, command: 0, count: None, error: true, fatal }))
            .await;
    }

    /// Runs the text of sp_executesql, EXEC('…') and prepared statements in `frame`, as a scope of its own.
    pub(super) async fn run_text(
        &mut self,
        text: &str,
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Flow, SqlError> {
        let parsed = self.instance.statements.parse(text, self.settings.quoted_identifier)?;
        self.run_statements(&parsed.statements, frame, output).await
    }

    /// Runs statements as a scope of its own.
    pub(super) async fn run_statements(
        &mut self,
        statements: &[Statement],
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Flow, SqlError> {
        let outer = (self.settings.format_only, self.settings.clone());
        // SCOPE_IDENTITY() of a scope is its own; the outermost one, all batches of a session, has its value back afterwards.
        let scope_identity = self.last.scope_identity.take();
        super::table_argument::enter(self, frame);
        let flow = Box::pin(self.run(statements, frame, output)).await;
        let left = self.work.leave_scope();
        self.last.scope_identity = scope_identity;
        // SET options of a scope end with it.
        let identity_insert = self.settings.identity_insert.clone();
        self.settings = outer.1;
        self.settings.identity_insert = identity_insert;
        self.settings.format_only = outer.0;
        self.work.set_lock_timeout(self.settings.lock_timeout());
        left.and(flow)
    }
}
