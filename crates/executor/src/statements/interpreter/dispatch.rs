//! Runs statements one after the other: control of flow, variables, messages, and the effects of errors.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use databases::instance::registry::COMMANDS;
use query::convert::display;
use query::running;
use tsql::SqlError;
use tsql::ast::{Declaration, Statement, StatementKind};
use tsql::cursor::CursorStatement;
use tsql::errors;
use tsql::expression::Expr;
use tsql::sql_error::Reach;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::{DoneKind, command};
use crate::statements::administration::administer;
use crate::statements::cursor;
use crate::statements::ddl::declared_columns;
use crate::statements::ddl::define;
use crate::statements::dml::bulk;
use crate::statements::dml::bulk_insert;
use crate::statements::dml::insert;
use crate::statements::dml::merge;
use crate::statements::dml::modify;
use crate::statements::dml::parallel;
use crate::statements::dml::select;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::isolation;
use crate::statements::interpreter::labels;
use crate::statements::interpreter::messages::{self, Raised, raise, thrown_error};
use crate::statements::interpreter::reach::{self, Place};
use crate::statements::interpreter::second;
use crate::statements::interpreter::set_option::{set_option, use_database};
use crate::statements::interpreter::show_plan;
use crate::statements::interpreter::transaction;
use crate::statements::interpreter::uncommittable;
use crate::statements::interpreter::values;
use crate::statements::procedures::execute;

/// Iterations of WHILE between two looks at the runtime, so that a tight loop does not hold it up.
const LOOP_YIELD: u32 = 256;

/// Statements that a session counts by itself until it adds them to the server's count.
const STATEMENTS_UNCOUNTED: u64 = 64;

/// 207.
const INVALID_COLUMN: i32 = 207;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Flow, SqlError>> + Send + 'a>>;

/// Runs the statements of a scope: a batch, a text or a body.
pub async fn run_scope(
    session: &mut Session,
    statements: &[Statement],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    values::declare_ahead(session, statements, frame);
    run(session, statements, frame, output).await
}

/// Runs statements. An error is returned only from within a TRY; otherwise it has been sent.
pub async fn run(
    session: &mut Session,
    statements: &[Statement],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    run_from(session, statements, None, frame, output).await
}

/// Runs statements, all of them or those behind a label that is one of them or within one.
async fn run_from(
    session: &mut Session,
    statements: &[Statement],
    label: Option<String>,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let mut rest = statements.iter();
    let mut entered = label;
    loop {
        if let Some(label) = &entered {
            let place = statements.iter().position(|statement| labels::holds(statement, label));
            let Some(place) = place else { return Ok(Flow::GoTo(label.clone())) };
            rest = statements.get(place..).unwrap_or_default().iter();
            // A loop of GOTO must neither hold up the runtime nor outlive its request.
            tokio::task::yield_now().await;
        }
        let Some(statement) = rest.next() else { return Ok(Flow::Next) };
        if output.stopped() {
            return Ok(Flow::Stop);
        }
        let flow = match entered.take() {
            Some(label) => enter(session, statement, label, frame, output).await?,
            None => guarded(session, statement, frame, output).await?,
        };
        match flow {
            Flow::Next => {}
            Flow::GoTo(label) => entered = Some(label),
            Flow::Leave if session.last.error == INVALID_COLUMN => {
                name_other_columns(session, rest.as_slice(), frame, output).await;
                return Ok(Flow::Leave);
            }
            other => return Ok(other),
        }
    }
}

/// Runs a statement from a label within it.
fn enter<'a>(
    session: &'a mut Session,
    statement: &'a Statement,
    label: String,
    frame: &'a mut Frame,
    output: &'a mut Output,
) -> Running<'a> {
    Box::pin(async move {
        match &statement.kind {
            StatementKind::Block(statements) => {
                run_from(session, statements, Some(label), frame, output).await
            }
            StatementKind::If { then, otherwise, .. } => {
                let branches = [Some(then), otherwise.as_ref()].into_iter().flatten();
                let mut inner = branches.filter(|branch| labels::holds(branch, &label));
                match inner.next() {
                    Some(branch) => enter(session, branch, label, frame, output).await,
                    None => Ok(Flow::Next),
                }
            }
            StatementKind::While { condition, body } => {
                match enter(session, body, label, frame, output).await? {
                    Flow::Next | Flow::Continue => repeat(session, condition, body, frame, output).await,
                    Flow::Break => Ok(Flow::Next),
                    other => Ok(other),
                }
            }
            // The label itself.
            _ => Ok(Flow::Next),
        }
    })
}

/// Adds a session's statements to the server's count.
pub fn count_statements(session: &mut Session) {
    session.instance.counts().statements.add(std::mem::take(&mut session.statements));
}

/// Reports unknown columns in the later queries of the batch too, so that all can be corrected at once.
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
    session.statements += 1;
    if session.statements >= STATEMENTS_UNCOUNTED {
        count_statements(session);
    }
    session.seat.note_command(command_number(&statement.kind));
    isolation::renew_reads(session);
    let held = running::held();
    running::set_dates(session.settings.date_format, session.settings.language);
    let result = boxed(session, statement, frame, output).await;
    running::release(held);
    isolation::renew_reads(session);
    let error = match result {
        Ok(flow) => return Ok(flow),
        // The store does not know who waits; the message names the session.
        Err(error) if error.number == 1205 => {
            errors::DEADLOCK.with([&(session.login.spid).to_string()]).at_line(statement.line)
        }
        Err(error) => error.at_line(statement.line),
    };
    let error = error.in_procedure(&frame.procedure);
    if error.is_cancelled() || output.stopped() {
        return Ok(Flow::Stop);
    }
    // A statement inside this one has dealt with it for a TRY around both.
    if error.is_dealt_with {
        return Err(error);
    }
    let place = Place { aborts: session.settings.abort_transaction, is_called: frame.nesting > 0 };
    let (reach, compiles) = reach::reach_of(&error, &statement.kind, place);
    let tries = if compiles { frame.tries - frame.own_tries } else { frame.tries };
    let is_tried = tries > 0 && error.class < 20;
    if reach == Reach::Transaction {
        uncommittable::lose_transaction(session, &error, is_tried, output).await;
    }
    if is_tried {
        output.end_result(frame.done_kind()).await;
        return Err(error.reaching(if compiles { Reach::Scope } else { reach }).dealt_with());
    }
    let is_raised_at_once = matches!(statement.kind, StatementKind::RaisError { at_once: true, .. });
    let second = second::behind(&error, &statement.kind, reach);
    answer::refuse_with(session, error, second, frame.done_kind(), output).await;
    if is_raised_at_once {
        output.flush().await;
    }
    Ok(match reach {
        Reach::Statement => Flow::Next,
        Reach::Scope => Flow::Leave,
        Reach::Batch | Reach::Transaction => Flow::Stop,
    })
}

fn boxed<'a>(
    session: &'a mut Session,
    statement: &'a Statement,
    frame: &'a mut Frame,
    output: &'a mut Output,
) -> Running<'a> {
    Box::pin(dispatch(session, statement, frame, output))
}

/// Calls the function that runs the statement. Large futures have boxes of their own, so that the state of a small statement stays small.
async fn dispatch(
    session: &mut Session,
    statement: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    use StatementKind as Kind;
    let is_option = matches!(statement.kind, Kind::SetOption(_));
    if session.settings.no_execute && !is_option {
        return Ok(Flow::Next);
    }
    if session.settings.show_plan && !is_option {
        show_statement(session, statement, frame, output).await?;
        return Ok(Flow::Next);
    }
    output.set_quiet(session.settings.no_count);
    let line = statement.line;
    match &statement.kind {
        // Statements that decide which statement comes next.
        Kind::If { .. } => return choose(session, statement, frame, output).await,
        Kind::While { condition, body } => return repeat(session, condition, body, frame, output).await,
        Kind::Block(statements) => return run(session, statements, frame, output).await,
        Kind::TryCatch { tried, caught } => return try_catch(session, tried, caught, frame, output).await,
        // Under FMTONLY every statement is looked at once.
        Kind::GoTo(label) if !session.settings.format_only => return Ok(Flow::GoTo(label.clone())),
        Kind::GoTo(_) | Kind::Label(_) => return Ok(Flow::Next),
        Kind::Break => return Ok(Flow::Break),
        Kind::Continue => return Ok(Flow::Continue),
        Kind::Return(value) => return values::return_value(session, value.as_ref(), frame).await,
        Kind::Throw(thrown) => return Err(thrown_error(session, thrown.as_ref(), frame).await?),
        Kind::Execute(execute) => {
            return goes_on(Box::pin(execute::execute_procedure(session, execute, frame, output)).await?);
        }
        Kind::ExecuteText(text) => return goes_on(run_text_of(session, text, frame, output).await?),
        Kind::Unsupported(error) => return Err(error.as_ref().clone()),
        // Statements that read and change rows.
        Kind::Query(query) => Box::pin(select::run(session, query, frame, output)).await?,
        Kind::Insert(insert) => Box::pin(insert::run(session, insert, frame, output)).await?,
        Kind::Update(update) => Box::pin(modify::run_update(session, update, frame, output)).await?,
        Kind::Delete(delete) => Box::pin(modify::run_delete(session, delete, frame, output)).await?,
        Kind::Merge(merge) => Box::pin(merge::run(session, merge, frame, output)).await?,
        Kind::InsertBulk(insert) => Box::pin(bulk::run(session, insert, frame, output)).await?,
        Kind::BulkInsert(insert) => Box::pin(bulk_insert::run(session, insert, line, frame, output)).await?,
        Kind::Cursor(statement) => Box::pin(cursor::run(session, statement, frame, output)).await?,
        Kind::BeginTransaction(_) | Kind::Commit | Kind::Rollback(_) | Kind::Save(_) => {
            transaction::run(session, &statement.kind, frame, output).await?
        }
        // Statements about the session and the scope alone.
        Kind::Declare(declarations) => values::declare(session, declarations, frame, output).await?,
        Kind::DeclareTable(create) => declared_columns::declare_table(session, create, frame)?,
        Kind::SetVariable { name, value } => values::assign(session, name, value, frame, output).await?,
        Kind::SetOption(option) => set_option(session, option, frame, output).await?,
        Kind::ScopedMaxDop(limit) => parallel::scope_max_dop(session, *limit, frame, output).await?,
        Kind::Use(name) => use_database(session, name, frame.done_kind(), output).await?,
        Kind::Print(value) => messages::print(session, value, line, frame, output).await?,
        Kind::RaisError { message, severity, state, arguments, log, at_once } => {
            let (log, at_once) = (*log, *at_once);
            let raised = Raised { message, severity, state, arguments, log, at_once, line };
            raise(session, raised, frame, output).await?;
        }
        Kind::WaitForDelay(delay) => messages::wait_for_delay(session, delay, frame, output).await?,
        Kind::WaitForTime(time) => messages::wait_for_time(session, time, frame, output).await?,
        Kind::Nothing => output.done(frame.done_kind(), command::OTHER, None).await,
        Kind::Administration(statement) => {
            Box::pin(administer::run(session, statement, frame, output)).await?
        }
        // Statements that declare objects of a database.
        other => Box::pin(define::run_and_tell(session, other, frame, output)).await?,
    }
    if counts_nothing(&statement.kind) {
        session.last.rows = 0;
        session.last.error = 0;
    }
    Ok(Flow::Next)
}

/// Runs IF, and a chain of ELSE IF, which is walked rather than descended.
async fn choose(
    session: &mut Session,
    statement: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let mut statement = statement;
    while let StatementKind::If { condition, then, otherwise } = &statement.kind {
        if session.settings.format_only {
            // All branches, so that every result is described.
            guarded(session, then, frame, output).await?;
            if let Some(otherwise) = otherwise {
                guarded(session, otherwise, frame, output).await?;
            }
            return Ok(Flow::Next);
        }
        if evaluate::condition(session, condition, frame).await? {
            return guarded(session, then, frame, output).await;
        }
        match otherwise {
            Some(otherwise) => statement = otherwise,
            None => {
                output.done(frame.done_kind(), command::CONDITION, None).await;
                return Ok(Flow::Next);
            }
        }
    }
    guarded(session, statement, frame, output).await
}

/// Returns the place of a statement's name among the commands that other sessions see.
fn command_number(statement: &StatementKind) -> u8 {
    use StatementKind as Kind;
    let name = match statement {
        Kind::Query(_) => "SELECT",
        Kind::Insert(_) => "INSERT",
        Kind::Update(_) => "UPDATE",
        Kind::Delete(_) => "DELETE",
        Kind::Merge(_) => "MERGE",
        Kind::InsertBulk(_) | Kind::BulkInsert(_) => "BULK INSERT",
        Kind::WaitForDelay(_) | Kind::WaitForTime(_) => "WAITFOR",
        Kind::Execute(_) | Kind::ExecuteText(_) => "EXECUTE",
        Kind::BeginTransaction(_) => "BEGIN TRANSACTION",
        Kind::Commit => "COMMIT TRANSACTION",
        Kind::Rollback(_) => "ROLLBACK TRANSACTION",
        Kind::CreateTable(_) => "CREATE TABLE",
        Kind::CreateIndex(_) => "CREATE INDEX",
        Kind::AlterTable { .. } => "ALTER TABLE",
        Kind::TruncateTable { .. } => "TRUNCATE TABLE",
        _ => "",
    };
    COMMANDS.iter().position(|command| *command == name).unwrap_or(0) as u8
}

/// Returns true if a statement resets `@@ROWCOUNT` and `@@ERROR` to 0.
fn counts_nothing(statement: &StatementKind) -> bool {
    use StatementKind as Kind;
    match statement {
        Kind::Print(_)
        | Kind::RaisError { .. }
        | Kind::SetOption(_)
        | Kind::Use(_)
        | Kind::BeginTransaction(_)
        | Kind::Commit
        | Kind::Rollback(_)
        | Kind::Save(_) => true,
        Kind::Cursor(statement) => {
            matches!(**statement, CursorStatement::Close(_) | CursorStatement::Deallocate(_))
        }
        _ => false,
    }
}

/// Limits an error that has ended a call to that call.
fn goes_on(flow: Flow) -> Result<Flow, SqlError> {
    Ok(if flow == Flow::Leave { Flow::Next } else { flow })
}

/// Runs EXEC of a text.
async fn run_text_of(
    session: &mut Session,
    text: &Expr,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Flow, SqlError> {
    let (text, sql_type) = evaluate::value(session, text, frame).await?;
    execute::execute_text(session, &display(&text, &sql_type), frame, output).await
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
    frame.own_tries += 1;
    let result = run(session, tried, frame, output).await;
    frame.tries -= 1;
    frame.own_tries -= 1;
    match result {
        Ok(flow) => Ok(flow),
        // An error of compiling is one of the whole scope, this TRY included.
        Err(error) if error.reach == Some(Reach::Scope) => Err(error),
        Err(error) => {
            session.last.error = error.number;
            let before = frame.error.replace(error);
            let flow = run(session, caught, frame, output).await;
            frame.error = before;
            flow
        }
    }
}

/// Shows the plans of a statement and of those inside it. Variables are declared, with constants alone, for others to be bound.
async fn show_statement(
    session: &mut Session,
    statement: &Statement,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    session.placement.leave().await;
    let mut open = vec![statement];
    while let Some(statement) = open.pop() {
        match &statement.kind {
            StatementKind::Declare(declarations) => {
                let bare = |declaration: &Declaration| Declaration {
                    value: declaration.value.clone().filter(|value| matches!(value, Expr::Literal(_))),
                    ..declaration.clone()
                };
                let bare: Vec<Declaration> = declarations.iter().map(bare).collect();
                values::declare(session, &bare, frame, output).await?;
            }
            StatementKind::DeclareTable(create) => declared_columns::declare_table(session, create, frame)?,
            _ => {}
        }
        open.extend(show_plan::inner(statement).into_iter().rev());
        let Some((change, query)) = show_plan::planned(&statement.kind) else { continue };
        let bound = evaluate::bind(session, &query, frame).map_err(|error| error.at_line(statement.line))?;
        let instance = Arc::clone(&session.instance);
        let lines = instance.engine().show_plan(&bound).await?;
        answer::show_plan_text(show_plan::below(change, lines), output).await?;
    }
    Ok(())
}
