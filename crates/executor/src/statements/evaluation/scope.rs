//! Statements that run as a scope of their own: the texts of EXEC and sp_executesql, bodies of modules.

use tsql::SqlError;
use tsql::ast::Statement;
use tsql::errors;
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
    if let Some(missing) = parsed.undeclared.iter().find(|used| !frame.has_declared(&used.key)) {
        return Err(missing.error().reaching(Reach::Statement));
    }
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
    session.last.scope_aborts = session.settings.abort_transaction;
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

/// The transactions that were open when a procedure or text was called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Balance(u32);

impl Balance {
    /// Counts them before the call.
    pub(crate) fn before(session: &Session) -> Balance {
        Balance(session.work.depth())
    }

    /// Makes error 266 if what was called has left more or fewer of them. XACT_ABORT in it suppresses the error, and a
    /// transaction that IMPLICIT_TRANSACTIONS has begun is no mistake.
    pub(crate) fn after(self, session: &Session) -> Option<SqlError> {
        let now = session.work.depth();
        let is_excused = session.last.scope_aborts || session.settings.implicit_transactions;
        (now != self.0 && !is_excused)
            .then(|| errors::UNBALANCED.with([&self.0.to_string(), &now.to_string()]))
    }
}

/// Enters a scope with its tables.
pub(crate) fn enter(session: &mut Session, frame: &mut Frame) {
    scopes::enter(&mut session.work);
    for (name, table) in frame.tables.drain(..) {
        variables::put_variable(&mut session.work, &name, table);
    }
}
