//! Sending events, and the messages among them.

use tds::ServerMessage;
use tokio::sync::mpsc;

use super::cancellation::Cancellation;
use super::instance::Instance;
use super::response::{DoneKind, Response, StatementDone};
use crate::sql_error::SqlError;

/// Where a request's events go.
pub(super) struct Output {
    events: mpsc::Sender<Response>,
    cancellation: Cancellation,
}

impl Output {
    pub fn new(events: mpsc::Sender<Response>, cancellation: Cancellation) -> Output {
        Output { events, cancellation }
    }

    /// Sends an event; waits while the client is behind. If nobody listens any more the request stops.
    pub async fn send(&mut self, event: Response) {
        if self.events.send(event).await.is_err() {
            self.cancellation.cancel();
        }
    }

    /// The end of a statement that went well.
    pub async fn done(&mut self, kind: DoneKind, command: u16, count: Option<u64>) {
        self.send(Response::Done(StatementDone { kind, command, count, error: false, fatal: false })).await;
    }

    /// Whether the request is to stop.
    pub fn stopped(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// The error that unwinds a stopped request; it is never sent.
    pub fn check(&self) -> Result<(), SqlError> {
        if self.stopped() { Err(SqlError::cancelled()) } else { Ok(()) }
    }
}

/// The token's fields of an error or notice.
pub(crate) fn message(error: SqlError, instance: &Instance) -> ServerMessage {
    ServerMessage {
        number: error.number,
        state: error.state,
        class: error.class,
        message: error.message,
        server: instance.name().to_string(),
        procedure: String::new(),
        line: error.line.max(1),
    }
}
