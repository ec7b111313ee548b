//! Statements that run as a scope of their own: the texts of EXEC and sp_executesql, bodies of modules.

use tsql::SqlError;
use tsql::ast::Statement;
use tsql::sql_error::Reach;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::work::scopes;
use crate::session::work::variables;

/// Runs the text of sp_executesql, EXEC('…') and prepared statements in `frame`, as a scope of its own.
pub(crate) async fn run_text(
    session: &mut Session,
    text: &str,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let name = session.instance.name();
    let parsed = session.instance.statements.parse(name, text, session.settings.quoted_identifier);
    // A text that cannot be read is an error of the statement that runs it.
    let parsed = parsed.map_err(|error| error.reaching(Reach::Statement))?;
    run_statements(session, &parsed.statements, frame, output).await
}

/// Runs statements as a scope of its own.
pub(crate) async fn run_statements(
    session: &mut Session,
    statements: &[Statement],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let outer = (session.settings.format_only, session.settings.clone());
    // SCOPE_IDENTITY() of a scope is its own; the outermost one, all batches of a session, has its value back afterwards.
    let scope_identity = session.last.scope_identity.take();
    enter(session, frame);
    let flow = (session.interpreter.run)(session, statements, frame, output).await;
    let left = scopes::leave(&mut session.work);
    session.last.scope_identity = scope_identity;
    // SET options of a scope end with it.
    let identity_insert = session.settings.identity_insert.clone();
    session.settings = outer.1;
    session.settings.identity_insert = identity_insert;
    session.settings.format_only = outer.0;
    session.work.set_lock_timeout(session.settings.lock_timeout());
    left.and(flow.map_err(|error| match error.reach {
        // It has ended this scope, and is one of the calling statement from here on.
        Some(Reach::Scope) => error.reaching(Reach::Statement),
        _ => error,
    }))
}

/// Enters a scope with its tables.
pub(crate) fn enter(session: &mut Session, frame: &mut Frame) {
    scopes::enter(&mut session.work);
    for (name, table) in frame.tables.drain(..) {
        variables::put_variable(&mut session.work, &name, table);
    }
}
