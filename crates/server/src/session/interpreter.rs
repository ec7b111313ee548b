//! Statements, one after the other: control of flow, variables, messages; and what an error does.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use query::convert::{convert, display};
use query::running;
use query::{Datum, functions};
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Declaration, SetOption, Statement, StatementKind};
use tsql::expression::Expr;

use crate::memory::Reservation;
use crate::session::Session;
use crate::session::administration;
use crate::session::answer;
use crate::session::bulk;
use crate::session::bulk_insert;
use crate::session::cursor::Cursors;
use crate::session::cursor::statements;
use crate::session::ddl;
use crate::session::declared_columns;
use crate::session::evaluate;
use crate::session::fire::{self, UpdatedColumns};
use crate::session::insert;
use crate::session::isolation;
use crate::session::merge;
use crate::session::modify;
use crate::session::output::{self, Output};
use crate::session::parallel;
use crate::session::procedures;
use crate::session::response::{DoneKind, Response, SessionChange, command};
use crate::session::select;
use crate::session::transaction;
use crate::session::uncommittable;
use crate::session::user_type::{Declared, declared_type, definition_of_type};
use crate::session::work::VariableTable;

/// Iterations of WHILE between two looks at the runtime, so that a tight loop does not hold it up.
const LOOP_YIELD: u32 = 256;
/// Depth of EXEC inside EXEC (SQL Server's limit is 32 too).
const NESTING_MAX: u32 = 32;

/// Values of variables from here on are counted in the server's memory.
const LONG_VALUE_BYTES: usize = 4096;

/// What a statement means for those after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Next,
    /// Leave the loop.
    Break,
    /// Next turn of the loop.
    Continue,
    /// Leave the scope, with a status.
    Return(i32),
    /// Leave the batch: an error ended it, or it was cancelled.
    Stop,
}

/// A scope: a batch, or the text of sp_executesql.
pub(crate) struct Frame {
    variables: HashMap<String, (Datum, SqlType)>,
    /// Tables that the scope is given when it begins.
    pub tables: Vec<(String, VariableTable)>,
    /// Bytes of long values among them, and the part of the server's memory that they are counted in.
    long_bytes: usize,
    memory: Option<Reservation>,
    /// Cursors of its own: LOCAL ones and those of variables.
    pub cursors: Cursors,
    /// Variables of type CURSOR, in lower case.
    pub cursor_variables: Vec<String>,
    /// Statements end with DONEINPROC.
    pub in_procedure: bool,
    /// How many TRY blocks are open.
    pub tries: u32,
    /// What CATCH handles.
    pub error: Option<SqlError>,
    /// EXECs around this one.
    pub nesting: u32,
    /// The procedure that runs, for messages.
    pub procedure: String,
    /// In a trigger: the columns that were assigned.
    pub trigger: Option<Arc<UpdatedColumns>>,
    /// In a function: the type of its value.
    pub returns: Option<SqlType>,
    /// What RETURN has given.
    pub returned: Option<Datum>,
}

impl Frame {
    pub fn new(in_procedure: bool) -> Frame {
        Frame {
            variables: HashMap::new(),
            tables: Vec::new(),
            long_bytes: 0,
            memory: None,
            cursors: Cursors::new(),
            cursor_variables: Vec::new(),
            in_procedure,
            tries: 0,
            error: None,
            nesting: 0,
            procedure: String::new(),
            trigger: None,
            returns: None,
            returned: None,
        }
    }

    /// A scope inside this one, without its variables.
    pub fn inner(&self) -> Result<Frame, SqlError> {
        if self.nesting >= NESTING_MAX {
            return Err(SqlError::nested_too_deeply());
        }
        Ok(Frame {
            nesting: self.nesting + 1,
            tries: self.tries,
            error: self.error.clone(),
            ..Frame::new(true)
        })
    }

    pub fn variable(&self, name: &str) -> Option<(Datum, SqlType)> {
        self.variables.get(&name.to_lowercase()).cloned()
    }

    pub fn declare(&mut self, name: &str, sql_type: SqlType, value: Datum) {
        self.variables.insert(name.to_lowercase(), (value, sql_type));
    }

    /// Assigns a value of another type. Errors: 137, 701, and conversions.
    pub fn assign(&mut self, name: &str, value: Datum, from: &SqlType) -> Result<(), SqlError> {
        let key = name.to_lowercase();
        let Some((old, sql_type)) = self.variables.get(&key) else {
            return Err(SqlError::undeclared_variable(name));
        };
        let value = convert(value, from, sql_type, 0)?;
        self.count(old.heap_bytes(), value.heap_bytes())?;
        if let Some((slot, _)) = self.variables.get_mut(&key) {
            *slot = value;
        }
        Ok(())
    }

    /// Counts a long value that takes the place of another. Errors: 701.
    fn count(&mut self, old: usize, new: usize) -> Result<(), SqlError> {
        let long = |bytes: usize| if bytes >= LONG_VALUE_BYTES { bytes } else { 0 };
        let (old, new) = (long(old), long(new));
        if old == new {
            return Ok(());
        }
        let bytes = self.long_bytes.saturating_sub(old).saturating_add(new);
        if self.memory.is_none() {
            self.memory = running::reservation();
        }
        if let Some(memory) = &mut self.memory {
            memory.resize(bytes)?;
        }
        self.long_bytes = bytes;
        Ok(())
    }

    /// Which DONE ends a statement here.
    pub fn done_kind(&self) -> DoneKind {
        if self.in_procedure { DoneKind::InProcedure } else { DoneKind::Statement }
    }
}

/// A RAISERROR.
struct Raised<'a> {
    message: &'a Expr,
    severity: &'a Expr,
    state: &'a Expr,
    arguments: &'a [Expr],
    log: bool,
    line: u32,
}

/// 207.
const INVALID_COLUMN: i32 = 207;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Flow, SqlError>> + Send + 'a>>;

/// Runs statements. An error that no TRY catches has been sent; it is returned only from within one.
pub(crate) async fn run(
    session: &mut Session,
    statements: &[Statement],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let mut rest = statements.iter();
    while let Some(statement) = rest.next() {
        if output.stopped() {
            return Ok(Flow::Stop);
        }
        match guarded(session, statement, frame, output).await? {
            Flow::Next => {}
            Flow::Stop if session.last.error == INVALID_COLUMN => {
                name_other_columns(session, rest.as_slice(), frame, output).await;
                return Ok(Flow::Stop);
            }
            other => return Ok(other),
        }
    }
    Ok(Flow::Next)
}

/// After a name that is no column: what the queries that follow name wrongly is told, too, since the whole batch is to be put right.
async fn name_other_columns(session: &mut Session, rest: &[Statement], frame: &Frame, output: &mut Output) {
    for statement in rest {
        let StatementKind::Query(query) = &statement.kind else { continue };
        if let Err(error) = evaluate::bind(session, query, frame)
            && error.number == INVALID_COLUMN
        {
            let error = error.at_line(statement.line).in_procedure(&frame.procedure);
            answer::refuse(session, error, frame.done_kind(), output).await;
        }
    }
}

/// Runs one statement and deals with its error.
async fn guarded(
    session: &mut Session,
    statement: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    isolation::renew_reads(session);
    let held = running::held();
    running::set_date_format(session.settings.date_format);
    let result = boxed(session, statement, frame, output).await;
    running::release(held);
    isolation::renew_reads(session);
    let error = match result {
        Ok(flow) => return Ok(flow),
        // The store does not know who waits; the message names the session.
        Err(error) if error.number == 1205 => SqlError::deadlock(session.login.spid).at_line(statement.line),
        Err(error) => error.at_line(statement.line),
    };
    let error = error.in_procedure(&frame.procedure);
    if error.is_cancelled() || output.stopped() {
        return Ok(Flow::Stop);
    }
    // What ends a transaction by itself, and any error under XACT_ABORT, loses the transaction. RAISERROR leaves that to whoever calls it.
    let aborts =
        session.settings.abort_transaction && !matches!(statement.kind, StatementKind::RaisError { .. });
    let is_tried = frame.tries > 0 && error.class < 20;
    if error.ends_transaction() || error.number == fire::ERROR_IN_TRIGGER || (aborts && error.class > 10) {
        uncommittable::lose_transaction(session, &error, is_tried, output).await;
    }
    if is_tried {
        return Err(error);
    }
    let ends = error.ends_batch() || aborts;
    answer::refuse(session, error, frame.done_kind(), output).await;
    Ok(if ends { Flow::Stop } else { Flow::Next })
}

fn boxed<'a>(
    session: &'a mut Session,
    statement: &'a Statement,
    frame: &'a mut Frame,
    output: &'a mut Output,
) -> Running<'a> {
    Box::pin(dispatch(session, statement, frame, output))
}

async fn dispatch(
    session: &mut Session,
    statement: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    if session.settings.no_execute && !matches!(statement.kind, StatementKind::SetOption(_)) {
        return Ok(Flow::Next);
    }
    let kind = frame.done_kind();
    output.set_quiet(session.settings.no_count);
    match &statement.kind {
        StatementKind::Query(query) => select::run(session, query, frame, output).await?,
        StatementKind::Insert(insert) => insert::run(session, insert, frame, output).await?,
        StatementKind::Update(update) => modify::run_update(session, update, frame, output).await?,
        StatementKind::Delete(delete) => modify::run_delete(session, delete, frame, output).await?,
        StatementKind::Merge(merge) => merge::run(session, merge, frame, output).await?,
        StatementKind::DeclareTable(create) => declared_columns::declare_table(session, create, frame)?,
        StatementKind::InsertBulk(insert) => bulk::run(session, insert, frame, output).await?,
        StatementKind::BulkInsert(insert) => {
            bulk_insert::run(session, insert, statement.line, frame, output).await?
        }
        StatementKind::If { condition, then, otherwise } => {
            if session.settings.format_only {
                // All branches, so that every result is described.
                guarded(session, then, frame, output).await?;
                if let Some(otherwise) = otherwise {
                    guarded(session, otherwise, frame, output).await?;
                }
                return Ok(Flow::Next);
            }
            let (mut condition, mut then, mut otherwise) = (condition, then, otherwise);
            // A chain of ELSE IF is walked rather than descended.
            let branch = loop {
                if evaluate::condition(session, condition, frame).await? {
                    break Some(then);
                }
                match otherwise.as_deref() {
                    Some(Statement {
                        kind: StatementKind::If { condition: next, then: branch, otherwise: rest },
                        ..
                    }) => {
                        (condition, then, otherwise) = (next, branch, rest);
                    }
                    _ => break otherwise.as_ref(),
                }
            };
            return match branch {
                Some(branch) => guarded(session, branch, frame, output).await,
                None => {
                    output.done(kind, command::CONDITION, None).await;
                    Ok(Flow::Next)
                }
            };
        }
        StatementKind::While { condition, body } => {
            return repeat(session, condition, body, frame, output).await;
        }
        StatementKind::Block(statements) => return run(session, statements, frame, output).await,
        StatementKind::TryCatch { tried, caught } => {
            return try_catch(session, tried, caught, frame, output).await;
        }
        StatementKind::Break => return Ok(Flow::Break),
        StatementKind::Continue => return Ok(Flow::Continue),
        StatementKind::Return(Some(value)) if frame.returns.is_some() => {
            let (value, sql_type) = evaluate::value(session, value, frame).await?;
            if let Some(returns) = &frame.returns {
                frame.returned = Some(convert(value, &sql_type, returns, 0)?);
            }
            return Ok(Flow::Return(0));
        }
        StatementKind::Return(status) => {
            let status = match status {
                Some(status) => {
                    let (value, sql_type) = evaluate::value(session, status, frame).await?;
                    convert(value, &sql_type, &SqlType::Int, 0)?.as_int().unwrap_or(0) as i32
                }
                None => 0,
            };
            return Ok(Flow::Return(status));
        }
        StatementKind::Declare(declarations) => declare(session, declarations, frame, output).await?,
        StatementKind::SetVariable { name, value } => {
            let (value, sql_type) = evaluate::value(session, value, frame).await?;
            frame.assign(name, value, &sql_type)?;
            session.last.rows = 1;
            session.last.error = 0;
            // Within a procedure an assignment has no DONE of its own.
            if !frame.in_procedure {
                output.done(kind, command::OTHER, None).await;
            }
        }
        StatementKind::SetOption(option) => set_option(session, option, frame, output).await?,
        StatementKind::Print(value) => {
            let (value, sql_type) = evaluate::value(session, value, frame).await?;
            let limit = if sql_type.is_unicode() { 4000 } else { 8000 };
            let text = output::cut(display(&value, &sql_type), limit);
            answer::inform(session, SqlError::new(0, 0, 1, text).at_line(statement.line), output).await;
            output.done(kind, command::OTHER, None).await;
        }
        StatementKind::RaisError { message, severity, state, arguments, log } => {
            let raised = Raised { message, severity, state, arguments, log: *log, line: statement.line };
            raise(session, raised, frame, output).await?;
        }
        StatementKind::Throw(thrown) => return Err(thrown_error(session, thrown.as_ref(), frame).await?),
        StatementKind::WaitForDelay(delay) => {
            let (value, sql_type) = evaluate::value(session, delay, frame).await?;
            let time = convert(value, &sql_type, &SqlType::Time { scale: 7 }, 0)?;
            wait_for(time, output).await?;
            output.done(kind, command::OTHER, None).await;
        }
        StatementKind::Use(name) => use_database(session, name, kind, output).await?,
        StatementKind::BeginTransaction(_)
        | StatementKind::Commit
        | StatementKind::Rollback(_)
        | StatementKind::Save(_) => transaction::run(session, &statement.kind, frame, output).await?,
        StatementKind::Execute(execute) => {
            return procedures::execute_procedure(session, execute, frame, output).await;
        }
        StatementKind::ExecuteText(text) => {
            let (text, sql_type) = evaluate::value(session, text, frame).await?;
            return procedures::execute_text(session, &display(&text, &sql_type), frame, output).await;
        }
        StatementKind::ScopedMaxDop(limit) => {
            parallel::scope_max_dop(session, *limit)?;
            output.done(kind, command::OTHER, None).await
        }
        StatementKind::Nothing => output.done(kind, command::OTHER, None).await,
        StatementKind::Administration(statement) => {
            administration::run(session, statement, frame, output).await?
        }
        StatementKind::Cursor(statement) => statements::run(session, statement, frame, output).await?,
        StatementKind::Unsupported(error) => return Err(error.as_ref().clone()),
        other => {
            if !session.settings.format_only {
                isolation::check_definition_change(session, other)?;
                ddl::run(session, other, frame).await?;
            }
            let code = match other {
                StatementKind::CreateTable(_) => command::CREATE_TABLE,
                StatementKind::DropTable { .. } => command::DROP_TABLE,
                _ => command::OTHER,
            };
            session.last.error = 0;
            output.done(kind, code, None).await;
        }
    }
    Ok(Flow::Next)
}

async fn repeat(
    session: &mut Session,
    condition: &Expr,
    body: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let mut turns = 0_u32;
    loop {
        let holds = evaluate::condition(session, condition, frame).await?;
        // In a procedure each look at the condition is a statement of its own.
        if frame.in_procedure {
            output.set_quiet(session.settings.no_count);
            output.done(DoneKind::InProcedure, command::CONDITION, None).await;
        }
        if !holds {
            break;
        }
        output.check()?;
        match guarded(session, body, frame, output).await? {
            Flow::Next | Flow::Continue => {}
            Flow::Break => break,
            other => return Ok(other),
        }
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(LOOP_YIELD) {
            tokio::task::yield_now().await;
        }
    }
    Ok(Flow::Next)
}

async fn try_catch(
    session: &mut Session,
    tried: &[Statement],
    caught: &[Statement],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    frame.tries += 1;
    let result = run(session, tried, frame, output).await;
    frame.tries -= 1;
    match result {
        Ok(flow) => Ok(flow),
        Err(error) => {
            session.last.error = error.number;
            let before = frame.error.replace(error);
            let flow = run(session, caught, frame, output).await;
            frame.error = before;
            flow
        }
    }
}

async fn declare(
    session: &mut Session,
    declarations: &[Declaration],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    for (number, declaration) in (1..).zip(declarations) {
        if frame.variable(&declaration.name).is_some() {
            return Err(SqlError::variable_redeclared(&declaration.name));
        }
        match declared_type(session, &declaration.sql_type, number, None)? {
            Declared::Scalar(sql_type) => frame.declare(&declaration.name, sql_type, Datum::Null),
            Declared::Table(found) => {
                let definition = definition_of_type(session, &found, &declaration.name)?;
                session.work.declare_table(&definition, Some(found.id))?;
            }
        }
        if let Some(value) = &declaration.value {
            let (value, sql_type) = evaluate::value(session, value, frame).await?;
            frame.assign(&declaration.name, value, &sql_type)?;
            session.last.rows = 1;
            if !frame.in_procedure {
                output.done(frame.done_kind(), command::OTHER, None).await;
            }
        }
    }
    Ok(())
}

async fn raise(
    session: &mut Session,
    raised: Raised<'_>,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let Raised { message, severity, state, arguments, log, line } = raised;
    let (message, message_type) = evaluate::value(session, message, frame).await?;
    let severity = evaluate::value(session, severity, frame).await?.0.as_int().unwrap_or(16);
    let state = evaluate::value(session, state, frame).await?.0.as_int().unwrap_or(1);
    if severity > 18 && !log {
        return Err(SqlError::new(
            2754,
            16,
            1,
            "Error severity levels greater than 18 can only be specified by members of the sysadmin role, using the WITH LOG option.",
        ));
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let (value, sql_type) = evaluate::value(session, argument, frame).await?;
        values.push(if value.is_null() { "(null)".to_string() } else { display(&value, &sql_type) });
    }
    let directory = session.work.directory();
    let known = message
        .as_int()
        .and_then(|number| directory.messages.iter().find(|message| i64::from(message.number) == number));
    // Below 0 the severity and state are those that the message was given.
    let (severity, state) = match (severity, known) {
        (severity, Some(known)) if severity < 0 => (i64::from(known.severity), state.max(1)),
        _ => (severity, state),
    };
    let (severity, state) = (severity.clamp(0, 25) as u8, state.clamp(0, 255) as u8);
    let (number, text) = match (message, known) {
        (_, Some(known)) => (known.number, functions::formatted(&known.text, &values)),
        (Datum::Int(number), None) => {
            let text = format!(
                "Error {number}, severity {severity}, state {state} was raised, but no message with that error number was found in sys.messages. If error is larger than 50000, make sure the user-defined message is added using sp_addmessage."
            );
            return Err(SqlError::new(18054, 16, 1, text).at_line(line));
        }
        (other, None) => (50_000, functions::formatted(&display(&other, &message_type), &values)),
    };
    let error = SqlError::new(number, severity, state, output::ended(text)).at_line(line);
    if severity > 10 {
        return Err(error);
    }
    answer::inform(session, error, output).await;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

async fn thrown_error(
    session: &mut Session,
    thrown: Option<&(Expr, Expr, Expr)>,
    frame: &Frame,
) -> Result<SqlError, SqlError> {
    let Some((number, message, state)) = thrown else {
        return Ok(frame.error.clone().unwrap_or_else(|| {
            SqlError::new(10704, 15, 1, "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement.")
        }));
    };
    let number = evaluate::value(session, number, frame).await?.0.as_int().unwrap_or(0);
    if number < 50_000 {
        return Ok(SqlError::new(
            35100,
            16,
            10,
            format!(
                "Error number {number} in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647."
            ),
        ));
    }
    let (message, sql_type) = evaluate::value(session, message, frame).await?;
    let state = evaluate::value(session, state, frame).await?.0.as_int().unwrap_or(1).clamp(0, 255) as u8;
    Ok(SqlError::new(number as i32, 16, state, display(&message, &sql_type)))
}

async fn wait_for(time: Datum, output: &Output) -> Result<(), SqlError> {
    let Datum::Time(ticks) = time else { return Ok(()) };
    let mut left = Duration::from_micros((ticks / 10).unsigned_abs());
    let step = Duration::from_millis(50);
    while !left.is_zero() {
        output.check()?;
        let nap = left.min(step);
        tokio::time::sleep(nap).await;
        left -= nap;
    }
    Ok(())
}

async fn use_database(
    session: &mut Session,
    name: &str,
    kind: DoneKind,
    output: &mut Output,
) -> Result<(), SqlError> {
    let directory = session.work.directory();
    let database = directory.database(name).ok_or_else(|| SqlError::unknown_database(name))?;
    let old = std::mem::replace(&mut session.database, database.name.clone());
    let new = session.database.clone();
    output.send(Response::Change(SessionChange::Database { new: new.clone(), old })).await;
    answer::inform(
        session,
        SqlError::new(5701, 0, 1, format!("Changed database context to '{new}'.")),
        output,
    )
    .await;
    output.done(kind, command::USE, None).await;
    Ok(())
}

async fn set_option(
    session: &mut Session,
    option: &SetOption,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let kind = frame.done_kind();
    match option {
        SetOption::Switch { names, on } => {
            for name in names {
                session.settings.switch(name, *on)?;
            }
            output.done(kind, if *on { command::SET_ON } else { command::SET_OFF }, None).await;
        }
        SetOption::Value { name, value } => {
            let (value, sql_type) = evaluate::value(session, value, frame).await?;
            match (name.as_str(), value.as_int()) {
                // 0 is the default, a negative number no limit.
                ("TEXTSIZE", Some(size)) => {
                    session.settings.text_size = match i32::try_from(size).unwrap_or(i32::MAX) {
                        0 => 4096,
                        size if size < 0 => i32::MAX,
                        size => size,
                    };
                }
                ("LANGUAGE", _) => session.settings.set_language(&display(&value, &sql_type))?,
                ("DATEFORMAT", _) => session.settings.set_date_format(&display(&value, &sql_type))?,
                ("ROWCOUNT", Some(rows)) => session.settings.row_count = u64::try_from(rows).unwrap_or(0),
                ("DATEFIRST", day) => {
                    let day = day.filter(|day| (1..=7).contains(day)).ok_or_else(|| {
                        let text = format!("SET DATEFIRST {} is out of range.", display(&value, &sql_type));
                        SqlError::new(2742, 16, 1, text)
                    })?;
                    session.settings.date_first = day as u8;
                }
                ("CONTEXT_INFO", _) => {
                    let wide = SqlType::Binary { length: 128 };
                    session.settings.context_info = match convert(value, &sql_type, &wide, 0)? {
                        Datum::Binary(bytes) => Some(bytes),
                        _ => None,
                    };
                }
                ("LOCK_TIMEOUT", _) => {
                    let value = convert(value, &sql_type, &SqlType::Int, 0)?.as_int().unwrap_or(-1);
                    session.settings.lock_timeout_ms = value as i32;
                    session.work.set_lock_timeout(session.settings.lock_timeout());
                }
                _ => {}
            }
            output.done(kind, command::OTHER, None).await;
        }
        SetOption::IdentityInsert { table, on } => {
            let found = session.work.find(table, &session.database)?;
            let found = found.ok_or_else(|| SqlError::new(1088, 16, 11, format!("Cannot find the object \"{table}\" because it does not exist or you do not have permissions.")))?;
            if found.definition.identity().is_none() {
                return Err(SqlError::new(
                    8106,
                    16,
                    1,
                    format!(
                        "Table '{table}' does not have the identity property. Cannot perform SET operation."
                    ),
                ));
            }
            match (&session.settings.identity_insert, on) {
                (Some(other), true)
                    if session.work.key_of(other, &session.database)
                        != session.work.key_of(table, &session.database) =>
                {
                    return Err(SqlError::new(
                        8107,
                        16,
                        1,
                        format!(
                            "IDENTITY_INSERT is already ON for table '{other}'. Cannot perform SET operation for table '{table}'."
                        ),
                    ));
                }
                _ => session.settings.identity_insert = on.then(|| table.clone()),
            }
            output.done(kind, command::SET_ON, None).await;
        }
        SetOption::IsolationLevel(level) => {
            session.settings.isolation_level = match level.as_str() {
                "READ UNCOMMITTED" => isolation::level::READ_UNCOMMITTED,
                "REPEATABLE READ" => isolation::level::REPEATABLE_READ,
                "SERIALIZABLE" => isolation::level::SERIALIZABLE,
                "SNAPSHOT" => isolation::level::SNAPSHOT,
                _ => isolation::level::READ_COMMITTED,
            };
            output.done(kind, command::OTHER, None).await;
        }
    }
    Ok(())
}
