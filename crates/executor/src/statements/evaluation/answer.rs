//! Notices to the client, and errors with their DONE.

use std::sync::Arc;

use arrow::array::RecordBatch;
use databases::instance::message;
use query::{Datum, OutputColumn, exact_schema};
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, ResultColumns, StatementDone, command};

/// Sends an error and the DONE that goes with it.
pub(crate) async fn refuse(session: &mut Session, error: SqlError, kind: DoneKind, output: &mut Output) {
    refuse_with(session, error, None, kind, output).await;
}

/// Sends an error, what follows it, and the DONE that goes with both.
pub(crate) async fn refuse_with(
    session: &mut Session,
    error: SqlError,
    second: Option<SqlError>,
    kind: DoneKind,
    output: &mut Output,
) {
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
    match second {
        Some(notice) if notice.class == 0 => inform(session, notice, output).await,
        Some(error) => {
            session.last.error = error.number;
            output.send(Response::Error(message::message(error, &session.instance))).await;
        }
        None => {}
    }
    output.send(Response::Done(StatementDone { kind, command: 0, count: None, error: true, fatal })).await;
}

/// Sends a result of one column of text: what SHOWPLAN shows of a batch, or of one of its statements.
pub(crate) async fn show_plan_text(lines: Vec<String>, output: &mut Output) -> Result<(), SqlError> {
    let column = OutputColumn::expression("StmtText", SqlType::NVarChar { length: Length::Max }, true);
    let texts: Vec<Datum> = lines.into_iter().map(Datum::Text).collect();
    let (schema, rows) = (exact_schema(std::slice::from_ref(&column)), texts.len() as u64);
    let columns = ResultColumns { columns: vec![column.wire()], schema: Arc::clone(&schema) };
    let batch = RecordBatch::try_new(schema, vec![Datum::array(&texts, &column.sql_type)])
        .map_err(|error| SqlError::internal(error))?;
    output.send(Response::Columns(columns)).await;
    output.send(Response::Batch(batch)).await;
    output.done(DoneKind::Statement, command::SELECT, Some(rows)).await;
    Ok(())
}

/// Sends a notice.
pub(crate) async fn inform(session: &Session, notice: SqlError, output: &mut Output) {
    output.send(Response::Info(message::message(notice, &session.instance))).await;
}

/// Sends an error that is not the statement's last. In a TRY block the last one alone is caught, and none is sent.
pub(crate) async fn complain(session: &Session, error: SqlError, frame: &Frame, output: &mut Output) {
    if frame.tries == 0 {
        output.send(Response::Error(message::message(error, &session.instance))).await;
    }
}
