//! Expressions and queries of a statement, bound to what the session knows.

use query::{
    Binder, BoundQuery, Datum, Environment, OutputColumn, Path, Scope, without_empty_text, without_plan,
};
use tds::SqlType;
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::query::Query;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::OpenTable;
use crate::statements::evaluation::environment::SessionEnvironment;

/// Evaluates a value and its type.
pub async fn value(session: &mut Session, expr: &Expr, frame: &Frame) -> Result<(Datum, SqlType), SqlError> {
    let typed = {
        let environment = SessionEnvironment::new(session, frame);
        Binder::new(&environment).value(expr, &Scope::empty())?
    };
    let sql_type = typed.sql_type.clone();
    let instance = std::sync::Arc::clone(&session.instance);
    let cancellation = session.cancellation.clone();
    Ok((cancellation.or(instance.engine().evaluate(typed)).await?, sql_type))
}

/// Evaluates a condition. Returns true only if it is true, not unknown.
pub(crate) async fn condition(session: &mut Session, expr: &Expr, frame: &Frame) -> Result<bool, SqlError> {
    let condition = {
        let environment = SessionEnvironment::new(session, frame);
        Binder::new(&environment).condition(expr, &Scope::empty())?
    };
    let instance = std::sync::Arc::clone(&session.instance);
    let cancellation = session.cancellation.clone();
    cancellation.or(instance.engine().holds(condition)).await
}

/// Binds a query whose rows go into a table. Also returns true if it may read that table.
pub(crate) fn bind_source(
    session: &Session,
    query: &Query,
    frame: &Frame,
    into: &OpenTable,
) -> Result<(BoundQuery, bool), SqlError> {
    let environment = SessionEnvironment::new(session, frame);
    let bound = Binder::new(&environment).query(query, None)?;
    let bound = if query.for_clause.is_some() { without_empty_text(bound)? } else { bound };
    let reads_it = environment.may_read(into);
    Ok((bound, reads_it))
}

/// A query and the way that it takes.
pub(crate) struct Chosen {
    /// Columns of its result.
    pub columns: Vec<OutputColumn>,
    /// The way.
    pub path: Path,
    /// The plan; None: its rows need none.
    pub bound: Option<BoundQuery>,
}

/// Binds a query to its path, and to a plan if the path needs one.
pub(crate) fn choose(query: &Query, environment: &dyn Environment) -> Result<Chosen, SqlError> {
    if let Some((columns, query)) = without_plan(query, environment)? {
        return Ok(Chosen { columns, path: Path::Simple(query), bound: None });
    }
    let bound = Binder::new(environment).query(query, None)?;
    let bound = if query.for_clause.is_some() { without_empty_text(bound)? } else { bound };
    Ok(Chosen { columns: bound.columns.clone(), path: Path::of(&bound)?, bound: Some(bound) })
}

/// Binds a query to a plan.
pub fn bind(session: &Session, query: &Query, frame: &Frame) -> Result<BoundQuery, SqlError> {
    let environment = SessionEnvironment::new(session, frame);
    let bound = Binder::new(&environment).query(query, None)?;
    if query.for_clause.is_some() { without_empty_text(bound) } else { Ok(bound) }
}
