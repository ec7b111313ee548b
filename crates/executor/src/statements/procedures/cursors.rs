//! API server cursors: sp_cursoropen and its family, as JDBC, ODBC and FreeTDS call them.
//!
//! Every cursor is read-only. Keyset and dynamic cursors become static; the output parameters say so, and drivers report it.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, RecordBatchOptions};
use databases::instance::message;
use query::{Binder, Datum, OutputColumn, exact_schema};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Declaration, Statement, StatementKind};
use tsql::query::{Query, QueryBody, SelectItem};
use tsql::{parse_batch_on, parse_declarations};

use crate::session::Session;
use crate::session::cursor::{Fetch, ServerCursor};
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::prepared::Prepared;
use crate::session::response::{DoneKind, Response, ResultColumns, command};
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;
use crate::statements::interpreter::transaction;
use crate::statements::procedures::argument::{Argument, Outcome, text_of_value};
use crate::statements::procedures::prepared;

/// Scroll options (the low bits of @scrollopt) and their flags.
mod scroll {
    pub const FORWARD_ONLY: i64 = 0x4;
    pub const STATIC: i64 = 0x8;
    pub const FAST_FORWARD: i64 = 0x10;
    pub const KINDS: i64 = 0x1F;
    pub const AUTO_FETCH: i64 = 0x2000;
}

/// Concurrency options.
mod concurrency {
    pub const READ_ONLY: i64 = 0x1;
    /// Statements that no cursor can be opened on are run directly.
    pub const ALLOW_DIRECT: i64 = 0x2000;
}

/// The parameters of opening: their values and their places among the arguments.
struct Opening {
    scroll: i64,
    concurrency: i64,
    rows: i64,
    cursor_at: usize,
    scroll_at: usize,
    concurrency_at: usize,
    rows_at: usize,
    values_at: usize,
}

impl Opening {
    fn new(arguments: &[Argument], cursor_at: usize, options_at: usize) -> Opening {
        let int = |at: usize| arguments.get(at).and_then(|argument| argument.value.as_int());
        Opening {
            scroll: int(options_at).unwrap_or(scroll::FORWARD_ONLY),
            concurrency: int(options_at + 1).unwrap_or(concurrency::READ_ONLY),
            rows: int(options_at + 2).unwrap_or(0),
            cursor_at,
            scroll_at: options_at,
            concurrency_at: options_at + 1,
            rows_at: options_at + 2,
            values_at: options_at + 3,
        }
    }

    /// Returns the kind of the opened cursor.
    fn kind(&self) -> i64 {
        match self.scroll & scroll::KINDS {
            kind @ (scroll::FORWARD_ONLY | scroll::FAST_FORWARD) => kind,
            _ => scroll::STATIC,
        }
    }
}

/// Runs one of the sp_cursor procedures.
pub(crate) async fn cursor_call(
    session: &mut Session,
    name: &str,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let text = |at: usize| {
        let argument = arguments.get(at).filter(|argument| !argument.value.is_null());
        argument.map(text_of_value).unwrap_or_default()
    };
    let int = |at: usize| arguments.get(at).and_then(|argument| argument.value.as_int());
    match name {
        "sp_cursoropen" => {
            let opening = Opening::new(arguments, 0, 2);
            // Parameters, if any, are declared behind the row count.
            let declared = text(5);
            let declarations = parse_declarations(&declared)?;
            let opening = Opening { values_at: 6, ..opening };
            open_cursor(session, &text(1), &declarations, &opening, arguments, frame, output).await
        }
        "sp_cursorprepare" => {
            let handle = prepare_cursor(session, &text(1), &text(2))?;
            let mut outcome = Outcome::plain();
            outcome.outputs.push(handle_output(0, handle));
            // The options of the execution, as far as this server has them.
            let opening = Opening::new(arguments, 0, 4);
            push_int(&mut outcome, 4, opening.kind());
            push_int(&mut outcome, 5, concurrency::READ_ONLY);
            Ok(outcome)
        }
        "sp_cursorexecute" => {
            let prepared = prepared_cursor(session, int(0))?;
            let opening = Opening::new(arguments, 1, 2);
            open_cursor(session, &prepared.text, &prepared.declarations, &opening, arguments, frame, output)
                .await
        }
        "sp_cursorprepexec" => {
            let handle = prepare_cursor(session, &text(2), &text(3))?;
            let prepared = prepared_cursor(session, Some(i64::from(handle)))?;
            let opening = Opening::new(arguments, 1, 4);
            let opened = open_cursor(
                session,
                &prepared.text,
                &prepared.declarations,
                &opening,
                arguments,
                frame,
                output,
            );
            let mut outcome = opened.await?;
            outcome.outputs.insert(0, handle_output(0, handle));
            Ok(outcome)
        }
        "sp_cursorunprepare" => match int(0).and_then(|handle| session.prepared.remove(&(handle as i32))) {
            Some(_) => Ok(Outcome::plain()),
            None => Err(prepared::unknown_handle(int(0).map(|handle| handle as i32))),
        },
        "sp_cursorfetch" => fetch_cursor(session, arguments, output).await,
        "sp_cursoroption" => {
            session.api_cursors.find("sp_cursoroption", int(0))?;
            match int(1).unwrap_or(0) {
                // TEXTPTR_ONLY, CURSOR_NAME, TEXTDATA: accepted, since every column is sent whole and nothing goes
                // by the name.
                1..=3 => Ok(Outcome::plain()),
                _ => Err(SqlError::new(
                    16902,
                    16,
                    1,
                    "sp_cursoroption: The value of the parameter 'code' is invalid.",
                )),
            }
        }
        "sp_cursorclose" => {
            // -1 closes all.
            if int(0) == Some(-1) {
                session.api_cursors.open.clear();
                return Ok(Outcome::plain());
            }
            session.api_cursors.find("sp_cursorclose", int(0))?;
            if let Some(handle) = int(0) {
                session.api_cursors.open.remove(&(handle as i32));
            }
            Ok(Outcome::plain())
        }
        // sp_cursor: changes through a cursor.
        _ => {
            session.api_cursors.find("sp_cursor", int(0))?;
            Err(SqlError::new(16929, 16, 1, "The cursor is READ ONLY."))
        }
    }
}

fn prepare_cursor(session: &mut Session, declared: &str, text: &str) -> Result<i32, SqlError> {
    let declarations = parse_declarations(declared)?;
    parse_batch_on(session.instance.name(), text, session.settings.quoted_identifier)?;
    Ok(prepared::keep_prepared(session, Prepared { declarations, text: text.to_string() }))
}

fn prepared_cursor(session: &Session, handle: Option<i64>) -> Result<Prepared, SqlError> {
    let handle = handle.map(|handle| handle as i32);
    let prepared = handle.and_then(|handle| session.prepared.get(&handle)).cloned();
    prepared.ok_or_else(|| prepared::unknown_handle(handle))
}

async fn open_cursor(
    session: &mut Session,
    text: &str,
    declarations: &[Declaration],
    opening: &Opening,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let statements = parse_batch_on(session.instance.name(), text, session.settings.quoted_identifier)?;
    let values = arguments.get(opening.values_at..).unwrap_or_default();
    let Some(query) = single_query(&statements) else {
        if opening.concurrency & concurrency::ALLOW_DIRECT == 0 {
            let refusal = SqlError::new(
                16937,
                16,
                1,
                "A server cursor cannot be opened on the given statement or statements. Use a default result set or client cursor.",
            );
            return Err(not_declared(session, refusal, output).await);
        }
        // Drivers know by it that rows come, and no handle.
        let direct = SqlError::new(16954, 10, 1, "Executing SQL directly; no cursor.");
        answer::inform(session, direct, output).await;
        let first = opening.values_at;
        let mut outcome =
            prepared::parameterised(session, text, declarations, values, first, frame, output).await?;
        push_int(&mut outcome, opening.cursor_at, 0);
        push_int(&mut outcome, opening.scroll_at, opening.kind());
        push_int(&mut outcome, opening.concurrency_at, concurrency::READ_ONLY);
        push_int(&mut outcome, opening.rows_at, 0);
        outcome.outputs.sort_by_key(|(position, ..)| *position);
        return Ok(outcome);
    };
    transaction::begin_implicitly(session, output).await;
    let kind = opening.kind();
    let opened = opened_cursor(session, query, text, declarations, values, kind, frame).await;
    let cursor = match opened {
        Ok(cursor) => cursor,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => return Err(not_declared(session, error, output).await),
    };
    let rows = cursor.row_count().map_or(-1, |rows| i64::try_from(rows).unwrap_or(i64::MAX));
    let columns = with_row_status(&cursor.columns);
    let handle = session.api_cursors.keep(cursor)?;
    let mut batches = Vec::new();
    if opening.scroll & scroll::AUTO_FETCH != 0 {
        let count = u64::try_from(opening.rows).unwrap_or(0);
        batches = fetched(session, handle, Fetch::Next, count).await?;
    }
    show_rows(session, &columns, batches, output).await?;
    let mut outcome = Outcome::plain();
    push_int(&mut outcome, opening.cursor_at, i64::from(handle));
    push_int(&mut outcome, opening.scroll_at, kind);
    push_int(&mut outcome, opening.concurrency_at, concurrency::READ_ONLY);
    push_int(&mut outcome, opening.rows_at, rows);
    Ok(outcome)
}

async fn opened_cursor(
    session: &mut Session,
    query: &Query,
    text: &str,
    declarations: &[Declaration],
    values: &[Argument],
    kind: i64,
    frame: &mut Frame,
) -> Result<ServerCursor, SqlError> {
    let (inner, _) = prepared::bind_parameters(session, text, declarations, values, frame).await?;
    let bound = Binder::limited_to(evaluate::bind(session, query, &inner)?, session.settings.row_count)?;
    ServerCursor::open(&session.instance, bound, kind == scroll::STATIC, &session.cancellation).await
}

/// Sends the error of a cursor that could not be opened; the error that ends the call follows it.
async fn not_declared(session: &mut Session, error: SqlError, output: &mut Output) -> SqlError {
    output.send(Response::Error(message::message(error, &session.instance))).await;
    SqlError::new(16945, 16, 2, "The cursor was not declared.")
}

async fn fetch_cursor(
    session: &mut Session,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    const INFO: i64 = 0x100;
    let int = |at: usize| arguments.get(at).and_then(|argument| argument.value.as_int());
    let handle = session.api_cursors.find("sp_cursorfetch", int(0))?;
    // NEXT, and twenty rows, unless something else is asked.
    let (kind, row, count) = (int(1).unwrap_or(2), int(2).unwrap_or(0), int(3).unwrap_or(20));
    let bad = |parameter: &str| {
        let text = format!("sp_cursorfetch: The value of the parameter '{parameter}' is invalid.");
        SqlError::new(16902, 16, 1, text)
    };
    if kind & INFO != 0 {
        let cursor = session.api_cursors.open.get(&handle);
        let at = cursor.map_or(0, ServerCursor::position);
        let rows = cursor.and_then(ServerCursor::row_count).map_or(-1, |rows| rows as i64);
        let mut outcome = Outcome::plain();
        push_int(&mut outcome, 2, at as i64);
        push_int(&mut outcome, 3, rows);
        return Ok(outcome);
    }
    // The bit that skips concurrency information means nothing here.
    let fetch = match kind & !0x400 {
        0x1 => Fetch::First,
        0x2 => Fetch::Next,
        0x4 => Fetch::Prior,
        0x200 => Fetch::PriorUnadjusted,
        0x8 => Fetch::Last,
        0x10 => Fetch::Absolute(row),
        0x20 => Fetch::Relative(row),
        0x80 => Fetch::Refresh,
        _ => return Err(bad("fetchtype")),
    };
    let count = u64::try_from(count).map_err(|_| bad("nrows"))?;
    let columns = match session.api_cursors.open.get(&handle) {
        Some(cursor) => with_row_status(&cursor.columns),
        None => Vec::new(),
    };
    let batches = fetched(session, handle, fetch, count).await?;
    show_rows(session, &columns, batches, output).await?;
    Ok(Outcome::plain())
}

async fn fetched(
    session: &mut Session,
    handle: i32,
    fetch: Fetch,
    count: u64,
) -> Result<Vec<RecordBatch>, SqlError> {
    // Out of its place while it works, since working waits.
    let Some(mut cursor) = session.api_cursors.open.remove(&handle) else { return Ok(Vec::new()) };
    let batches = cursor.fetch(fetch, count, &session.cancellation).await;
    session.api_cursors.open.insert(handle, cursor);
    batches
}

/// Sends fetched rows, each with a status of 1 in a column of its own behind the others.
async fn show_rows(
    session: &mut Session,
    columns: &[OutputColumn],
    batches: Vec<RecordBatch>,
    output: &mut Output,
) -> Result<(), SqlError> {
    let schema = exact_schema(columns);
    let wire = columns.iter().map(OutputColumn::wire).collect();
    output.send(Response::Columns(ResultColumns { columns: wire, schema: Arc::clone(&schema) })).await;
    let mut rows = 0;
    for batch in batches {
        rows += batch.num_rows() as u64;
        let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
        arrays.push(Arc::new(Int32Array::from(vec![1; batch.num_rows()])));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
            .map_err(|error| SqlError::internal(error))?;
        output.send(Response::Batch(batch)).await;
    }
    session.last.rows = rows as i64;
    session.last.error = 0;
    output.done(DoneKind::InProcedure, command::SELECT, Some(rows)).await;
    Ok(())
}

/// Returns the query of a batch that has only one, if it sends rows.
fn single_query(statements: &[Statement]) -> Option<&Query> {
    let [Statement { kind: StatementKind::Query(query), .. }] = statements else { return None };
    if let QueryBody::Select(select) = &query.body {
        let assigns = select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }));
        if select.into.is_some() || assigns {
            return None;
        }
    }
    Some(query)
}

fn with_row_status(columns: &[OutputColumn]) -> Vec<OutputColumn> {
    let mut columns = columns.to_vec();
    columns.push(OutputColumn::expression("ROWSTAT", SqlType::Int, false));
    columns
}

fn handle_output(position: usize, handle: i32) -> (usize, Datum, SqlType) {
    (position, Datum::Int(i64::from(handle)), SqlType::Int)
}

/// Sets an output parameter. Only those that the caller passed by reference are sent.
fn push_int(outcome: &mut Outcome, position: usize, value: i64) {
    outcome.outputs.push((position, Datum::Int(value), SqlType::Int));
}
