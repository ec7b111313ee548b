//! The entry point: runs one request and sends its events.

use databases::waiting::Placement;
use query::Cancellation;
use query::running::Running;
use tokio::sync::mpsc;
use tsql::ast::{Statement, StatementKind};
use tsql::errors;

use crate::session::Session;
use crate::session::early_events::EarlyEvents;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::request::Request;
use crate::session::response::{DoneKind, Response, StatementDone};
use crate::session::waited::Waited;
use crate::session::work::scopes;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::isolation;
use crate::statements::interpreter::dispatch;
use crate::statements::interpreter::show_plan;
use crate::statements::interpreter::transaction;
use crate::statements::interpreter::uncommittable;
use crate::statements::procedures::remote;

/// Runs a request and sends its events in order; returns when the last has been sent.
///
/// `events` should be bounded, so that a slow client slows the query down. Cancellation is checked between batches and
/// statements; a cancelled statement has no effect and ends the request, with the error bit and without an error message.
pub async fn execute(
    session: &mut Session,
    request: Request,
    events: mpsc::Sender<Response>,
    cancellation: Cancellation,
) {
    session.watch(&cancellation);
    session.place(Placement::default());
    let running = Running::new(&cancellation, session.instance.engine().memory());
    let waits = session.seat.waits();
    Waited::new(waits, running.all(run_request(session, request, Output::new(events, cancellation)))).await;
}

/// Runs a [light](super::light::is_light) request, which begins on its connection's thread. The first events go to
/// `early`. Once the future yields, it must be moved to the threads for work.
pub async fn execute_early(
    session: &mut Session,
    request: Request,
    events: mpsc::Sender<Response>,
    early: EarlyEvents,
    cancellation: Cancellation,
) {
    session.watch(&cancellation);
    let placement = Placement::on_connection();
    session.place(placement.clone());
    let running = Running::new(&cancellation, session.instance.engine().memory());
    let output = Output::new(events, cancellation).beginning_early(early, placement);
    let waits = session.seat.waits();
    Waited::new(waits, running.all(run_request(session, request, output))).await;
}

async fn run_request(session: &mut Session, request: Request, mut output: Output) {
    session.seat.note_request(true);
    match request {
        Request::Batch(text) => run_batch(session, &text, &mut output).await,
        Request::Rpc(calls) => {
            for call in calls {
                if output.stopped() {
                    break;
                }
                remote::remote_call(session, call, &mut output).await;
            }
        }
        Request::Transaction(request) => transaction::run_request(session, request, &mut output).await,
        Request::Refused(error) => answer::refuse(session, error, DoneKind::Statement, &mut output).await,
    }
    if output.stopped() {
        // A cancelled statement leaves the transaction open, except under XACT_ABORT.
        if let Some(change) = session.note_failure(&errors::CANCELLED.error()) {
            output.send(Response::Change(change)).await;
        }
        let done =
            StatementDone { kind: DoneKind::Statement, command: 0, count: None, error: true, fatal: false };
        output.send(Response::Done(done)).await;
    }
    uncommittable::end_uncommittable(session, &mut output).await;
    // Ends the reads outside of statements: names that were looked up, cursors that were opened.
    isolation::renew_reads(session);
    dispatch::count_statements(session);
    session.seat.note_request(false);
}

/// Runs a batch, as a client's SQLBatch does.
async fn run_batch(session: &mut Session, text: &str, output: &mut Output) {
    let mut frame = Frame::new(false);
    let parsed = match session.instance.statements.parse(
        session.instance.name(),
        text,
        session.settings.quoted_identifier,
    ) {
        Ok(parsed) => parsed,
        Err(error) => return answer::refuse(session, error, DoneKind::Statement, output).await,
    };
    if parsed.statements.is_empty() {
        return output.done(DoneKind::Statement, 0, None).await;
    }
    if let Some(missing) = parsed.undeclared.first() {
        return answer::refuse(session, missing.error(), DoneKind::Statement, output).await;
    }
    if let Err(error) = show_plan::check_batch(&parsed.statements) {
        return answer::refuse(session, error, DoneKind::Statement, output).await;
    }
    let switches =
        matches!(parsed.statements.as_slice(), [Statement { kind: StatementKind::SetOption(_), .. }]);
    if session.settings.show_plan
        && !switches
        && let Err(error) = answer::show_plan_text(vec![text.to_owned()], output).await
    {
        return answer::refuse(session, error, DoneKind::Statement, output).await;
    }
    let format_only = session.settings.format_only;
    scopes::enter(&mut session.work);
    let result = dispatch::run_scope(session, &parsed.statements, &mut frame, output).await;
    // A batch that has failed does not come to its SET FMTONLY OFF.
    if !matches!(result, Ok(Flow::Next | Flow::Return(_))) {
        session.settings.format_only = format_only;
    }
    let left = scopes::leave(&mut session.work);
    if let Err(error) = result.map(|_| ()).and(left) {
        answer::refuse(session, error, DoneKind::Statement, output).await;
    }
}
