//! Answers of procedures: a result, a status.

use introspection::system_views::View;
use query::OutputColumn;
use tsql::SqlError;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, ResultColumns, StatementDone, command};

/// Sends RETURNSTATUS and DONEPROC.
pub(crate) async fn end_scope(status: i32, frame: &Frame, output: &mut Output) {
    output.send(Response::ReturnStatus(status)).await;
    // The end of a scope within a scope is one of its statements.
    let kind = if frame.in_procedure { DoneKind::InProcedure } else { DoneKind::Procedure };
    let done = StatementDone { kind, command: command::EXECUTE, count: None, error: false, fatal: false };
    output.send(Response::Done(done)).await;
}

/// Sends DONEPROC of a scope that an error has ended: it returns no status.
pub(crate) async fn end_failed_scope(frame: &Frame, output: &mut Output) {
    let kind = if frame.in_procedure { DoneKind::InProcedure } else { DoneKind::Procedure };
    let done = StatementDone { kind, command: command::EXECUTE, count: None, error: true, fatal: false };
    output.send(Response::Done(done)).await;
}

/// Sends a view as a statement's result.
pub(crate) async fn show_view(
    session: &mut Session,
    view: View,
    output: &mut Output,
) -> Result<(), SqlError> {
    let batch = view.batch()?;
    let columns = ResultColumns {
        columns: view.columns.iter().map(OutputColumn::wire).collect(),
        schema: batch.schema(),
    };
    let rows = batch.num_rows() as u64;
    output.send(Response::Columns(columns)).await;
    if rows > 0 {
        output.send(Response::Batch(batch)).await;
    }
    session.last.rows = rows as i64;
    output.done(DoneKind::InProcedure, command::SELECT, Some(rows)).await;
    Ok(())
}
