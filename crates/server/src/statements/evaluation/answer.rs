//! What a session tells its client beside results: notices, and errors with their DONE.

use tsql::SqlError;

use crate::instance::message;
use crate::session::Session;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, StatementDone};

/// Sends an error and the DONE that goes with it.
pub(crate) async fn refuse(session: &mut Session, error: SqlError, kind: DoneKind, output: &mut Output) {
    if output.stopped() {
        return;
    }
    session.last.error = error.number;
    session.last.rows = 0;
    let fatal = error.class >= 20;
    let of_constraint = matches!(error.number, 8111 | 1767..=1770 | 1776..=1778 | 1785);
    let line = error.line;
    output.send(Response::Error(message::message(error, &session.instance))).await;
    if of_constraint {
        let text = "Could not create constraint or index. See previous errors.";
        let error = SqlError::new(1750, 16, 1, text).at_line(line);
        session.last.error = error.number;
        output.send(Response::Error(message::message(error, &session.instance))).await;
    }
    output.send(Response::Done(StatementDone { kind, command: 0, count: None, error: true, fatal })).await;
}

/// Sends a notice.
pub(crate) async fn inform(session: &Session, notice: SqlError, output: &mut Output) {
    output.send(Response::Info(message::message(notice, &session.instance))).await;
}
