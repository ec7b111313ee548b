//! Statements, one after the other: control of flow, variables, messages; and what an error does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use query::Datum;
use query::convert::{convert, display};
use query::running;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Declaration, Statement, StatementKind};
use tsql::errors;
use tsql::expression::Expr;

use crate::instance::message;
use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::{DoneKind, command};
use crate::session::work::variables;
use crate::statements::administration::administer;
use crate::statements::cursor;
use crate::statements::ddl::declared_columns;
use crate::statements::ddl::define;
use crate::statements::dml::bulk;
use crate::statements::dml::bulk_insert;
use crate::statements::dml::fire;
use crate::statements::dml::insert;
use crate::statements::dml::merge;
use crate::statements::dml::modify;
use crate::statements::dml::parallel;
use crate::statements::dml::select;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::declared_type::{Declared, declared_type, definition_of_type};
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::isolation;
use crate::statements::interpreter::messages::{Raised, raise, thrown_error, wait_for};
use crate::statements::interpreter::set_option::{set_option, use_database};
use crate::statements::interpreter::show_plan;
use crate::statements::interpreter::transaction;
use crate::statements::interpreter::uncommittable;
use crate::statements::procedures::execute;

/// Iterations of WHILE between two looks at the runtime, so that a tight loop does not hold it up.
const LOOP_YIELD: u32 = 256;

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

/// After a name that is no column, reports such names in the later queries of the batch too, so that all can be
/// corrected at once.
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
        Err(error) if error.number == 1205 => {
            errors::DEADLOCK.with([&(session.login.spid).to_string()]).at_line(statement.line)
        }
        Err(error) => error.at_line(statement.line),
    };
    let error = error.in_procedure(&frame.procedure);
    if error.is_cancelled() || output.stopped() {
        return Ok(Flow::Stop);
    }
    // What ends a transaction by itself, and any error under XACT_ABORT, loses the transaction. RAISERROR leaves that
    // to its caller.
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
    if session.settings.show_plan && !matches!(statement.kind, StatementKind::SetOption(_)) {
        show_statement(session, statement, frame, output).await?;
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
            let text = message::cut(display(&value, &sql_type), limit);
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
            return execute::execute_procedure(session, execute, frame, output).await;
        }
        StatementKind::ExecuteText(text) => {
            let (text, sql_type) = evaluate::value(session, text, frame).await?;
            return execute::execute_text(session, &display(&text, &sql_type), frame, output).await;
        }
        StatementKind::ScopedMaxDop(limit) => {
            parallel::scope_max_dop(session, *limit)?;
            output.done(kind, command::OTHER, None).await
        }
        StatementKind::Nothing => output.done(kind, command::OTHER, None).await,
        StatementKind::Administration(statement) => {
            administer::run(session, statement, frame, output).await?
        }
        StatementKind::Cursor(statement) => cursor::run(session, statement, frame, output).await?,
        StatementKind::Unsupported(error) => return Err(error.as_ref().clone()),
        other => {
            if !session.settings.format_only {
                isolation::check_definition_change(session, other)?;
                define::run(session, other, frame).await?;
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
                declare(session, &bare, frame, output).await?;
            }
            StatementKind::DeclareTable(create) => declared_columns::declare_table(session, create, frame)?,
            _ => {}
        }
        open.extend(show_plan::inner(statement).into_iter().rev());
        let Some((change, query)) = show_plan::planned(&statement.kind) else { continue };
        let bound = evaluate::bind(session, &query, frame).map_err(|error| error.at_line(statement.line))?;
        let instance = Arc::clone(&session.instance);
        let lines = instance.engine().show_plan(&bound).await?;
        answer::show_plan_text(show_plan::below(change, lines), output).await;
    }
    Ok(())
}

async fn declare(
    session: &mut Session,
    declarations: &[Declaration],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    for (number, declaration) in (1..).zip(declarations) {
        if frame.variable(&declaration.name).is_some() {
            return Err(errors::VARIABLE_REDECLARED.with([&declaration.name]));
        }
        match declared_type(session, &declaration.sql_type, number, None)? {
            Declared::Scalar(sql_type) => frame.declare(&declaration.name, sql_type, Datum::Null),
            Declared::Table(found) => {
                let definition = definition_of_type(session, &found, &declaration.name)?;
                variables::declare_table(&mut session.work, &definition, Some(found.id))?;
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
