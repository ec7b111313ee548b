//! DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE.

use query::{Binder, Datum, exact_schema};
use tsql::SqlError;
use tsql::cursor::{CursorDeclaration, CursorName, CursorStatement, FetchDirection};
use tsql::errors;
use tsql::query::Query;

use crate::session::Session;
use crate::session::cursor::{Fetch, NamedCursor, Positions, ServerCursor, named};
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{Response, ResultColumns, command};
use crate::statements::dml::positioned;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;
use crate::statements::interpreter::transaction;

/// The value of `@@FETCH_STATUS` if there is no row.
const NO_ROW: i64 = -1;

/// Runs a statement about a cursor.
pub async fn run(
    session: &mut Session,
    statement: &CursorStatement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let kind = frame.done_kind();
    match statement {
        CursorStatement::Variable(name) => {
            frame.cursor_variables.push(name.to_lowercase());
            return Ok(());
        }
        CursorStatement::Declare { name, declaration } => {
            let cursors = if declaration.local { &mut frame.cursors } else { &mut session.cursors };
            if cursors.contains_key(&name.to_lowercase()) {
                let text = format!("A cursor with the name '{name}' already exists.");
                return Err(SqlError::new(16915, 16, 1, text));
            }
            check_cursor(session, declaration, frame)?;
            let cursors = if declaration.local { &mut frame.cursors } else { &mut session.cursors };
            cursors.insert(name.to_lowercase(), named(declaration));
        }
        CursorStatement::Assign { variable, declaration } => {
            if !frame.cursor_variables.contains(&variable.to_lowercase()) {
                return Err(errors::UNDECLARED_VARIABLE.with([variable]));
            }
            check_cursor(session, declaration, frame)?;
            frame.cursors.insert(variable.to_lowercase(), named(declaration));
        }
        CursorStatement::Open(name) => {
            let cursor = cursor_named(session, name, frame)?;
            if cursor.open.is_some() {
                return Err(SqlError::new(16905, 16, 1, "The cursor is already open."));
            }
            let declaration = cursor.declaration.clone();
            let CursorDeclaration { scroll, counted, .. } = declaration;
            transaction::begin_implicitly(session, output).await;
            let bind = |query: &Query| {
                Binder::limited_to(evaluate::bind(session, query, frame)?, session.settings.row_count)
            };
            let own = bind(&declaration.query)?;
            let visible = own.columns.len();
            // With the keys of its tables, if rows can be found by them.
            let keyed = match positioned::keyed(session, &declaration)? {
                Some((query, tables)) => bind(&query).ok().map(|bound| (bound, tables)),
                None => None,
            };
            let (bound, positions) = match keyed {
                Some((bound, tables)) => (bound, Some(Positions { tables, visible, current: None })),
                None => (own, None),
            };
            let opened =
                ServerCursor::open(&session.instance, bound, scroll || counted, &session.cancellation)
                    .await?;
            // A cursor that is not counted may change its number of rows: -1.
            let rows = opened.row_count().filter(|_| counted);
            session.last.cursor_rows = rows.map_or(-1, |rows| i64::try_from(rows).unwrap_or(i64::MAX));
            let cursor = cursor_named(session, name, frame)?;
            (cursor.open, cursor.positions) = (Some(opened), positions);
            if declaration.warns {
                let text = "The created cursor is not of the requested type.";
                answer::inform(session, SqlError::new(16956, 10, 1, text), output).await;
            }
        }
        CursorStatement::Fetch { cursor, direction, into } => {
            return fetch_rows(session, cursor, direction, into.as_deref(), frame, output).await;
        }
        CursorStatement::Close(name) => {
            if cursor_named(session, name, frame)?.open.take().is_none() {
                return Err(not_open());
            }
        }
        CursorStatement::Deallocate(name) => {
            cursor_named(session, name, frame)?;
            let key = name.name.to_lowercase();
            if name.global || frame.cursors.remove(&key).is_none() {
                session.cursors.remove(&key);
            }
        }
    }
    session.last.error = 0;
    output.done(kind, command::OTHER, None).await;
    Ok(())
}

/// Binds a cursor's query, so that its errors come with the declaration.
fn check_cursor(session: &Session, declaration: &CursorDeclaration, frame: &Frame) -> Result<(), SqlError> {
    evaluate::bind(session, &declaration.query, frame).map(|_| ())
}

/// Finds the cursor of a name: the batch's own before the session's. Errors: 16916, 16950.
fn cursor_named<'c>(
    session: &'c mut Session,
    name: &CursorName,
    frame: &'c mut Frame,
) -> Result<&'c mut NamedCursor, SqlError> {
    let key = name.name.to_lowercase();
    let found = match frame.cursors.contains_key(&key) && !name.global {
        true => frame.cursors.get_mut(&key),
        false => session.cursors.get_mut(&key),
    };
    found.ok_or_else(|| {
        if name.name.starts_with('@') {
            let text =
                format!("The variable '{}' does not currently have a cursor allocated to it.", name.name);
            return SqlError::new(16950, 16, 2, text);
        }
        SqlError::new(16916, 16, 1, format!("A cursor with the name '{}' does not exist.", name.name))
    })
}

async fn fetch_rows(
    session: &mut Session,
    name: &CursorName,
    direction: &FetchDirection,
    into: Option<&[String]>,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let mut number = 0;
    if let FetchDirection::Absolute(expr) | FetchDirection::Relative(expr) = direction {
        let (value, sql_type) = evaluate::value(session, expr, frame).await?;
        let value = query::convert::convert(value, &sql_type, &tds::SqlType::BigInt, 0)?;
        number = value.as_int().unwrap_or(0);
    }
    let fetch = match direction {
        FetchDirection::Next => Fetch::Next,
        FetchDirection::Prior => Fetch::Prior,
        FetchDirection::First => Fetch::First,
        FetchDirection::Last => Fetch::Last,
        FetchDirection::Absolute(_) => Fetch::Absolute(number),
        FetchDirection::Relative(_) => Fetch::Relative(number),
    };
    let cursor = cursor_named(session, name, frame)?;
    let scrolls = cursor.declaration.scroll;
    // Out of its place while it works, since working waits.
    let mut open = cursor.open.take().ok_or_else(not_open)?;
    let mut columns = open.columns.clone();
    let allowed = scrolls || matches!(fetch, Fetch::Next);
    let fetched = if allowed {
        open.fetch(fetch, 1, &session.cancellation).await
    } else {
        Err(SqlError::new(
            16911,
            16,
            1,
            format!("fetch: The fetch type {} cannot be used with forward only cursors.", fetch.name()),
        ))
    };
    let cursor = cursor_named(session, name, frame)?;
    cursor.open = Some(open);
    let batches = match (fetched, &mut cursor.positions) {
        (Ok(batches), Some(positions)) => {
            let batches = positioned::noted(positions, &columns, batches);
            columns.truncate(positions.visible);
            batches
        }
        (fetched, _) => fetched,
    };
    let batches = batches.inspect_err(|_| session.last.fetch_status = NO_ROW)?;
    let kind = frame.done_kind();
    let row = batches.first();
    session.last.fetch_status = if row.is_some() { 0 } else { NO_ROW };
    session.last.rows = i64::from(row.is_some());
    session.last.error = 0;
    let Some(variables) = into else {
        let schema = exact_schema(&columns);
        let wire = columns.iter().map(|column| column.wire()).collect();
        output.send(Response::Columns(ResultColumns { columns: wire, schema })).await;
        for batch in &batches {
            output.send(Response::Batch(batch.clone())).await;
        }
        output.done(kind, command::SELECT, Some(batches.len() as u64)).await;
        return Ok(());
    };
    if variables.len() != columns.len() {
        return Err(SqlError::new(
            16924,
            16,
            1,
            "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.",
        ));
    }
    if let Some(batch) = row {
        for ((variable, column), array) in variables.iter().zip(&columns).zip(batch.columns()) {
            let value = Datum::read(array.as_ref(), &column.sql_type, 0)?;
            frame.assign(variable, value, &column.sql_type)?;
        }
    }
    output.done(kind, command::SELECT, Some(batches.len() as u64)).await;
    Ok(())
}

fn not_open() -> SqlError {
    SqlError::new(16917, 16, 1, "Cursor is not open.")
}
