//! Variables, and the value that RETURN gives.

use query::Datum;
use query::convert::convert;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::{Declaration, Statement, StatementKind};
use tsql::errors;
use tsql::expression::Expr;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::variables;
use crate::statements::evaluation::declared_type::{Declared, declared_type, definition_of_type};
use crate::statements::evaluation::evaluate;
use crate::statements::interpreter::show_plan;

/// Runs DECLARE.
pub(super) async fn declare(
    session: &mut Session,
    declarations: &[Declaration],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    for (number, declaration) in (1..).zip(declarations) {
        // Within a text the parser has seen to it; the parameters of a text are not in it.
        if frame.has_parameter(&declaration.name) {
            return Err(errors::VARIABLE_REDECLARED.with([&declaration.name]));
        }
        match declared_type(session, &declaration.sql_type, number, None)? {
            // A variable is declared once, however often a loop comes by, and then assigned each time.
            Declared::Scalar(_) if frame.variable(&declaration.name).is_some() => {}
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

/// Declares what stands in branches, loops and TRY blocks: a variable is there from the beginning of its scope, also if its DECLARE
/// is not run.
pub(super) fn declare_ahead(session: &Session, statements: &[Statement], frame: &mut Frame) {
    let mut open: Vec<(&Statement, bool)> = statements.iter().map(|statement| (statement, false)).collect();
    while let Some((statement, may_be_left_out)) = open.pop() {
        let (inner, may_be_left_out) = match &statement.kind {
            StatementKind::Block(_) => (show_plan::inner(statement), may_be_left_out),
            StatementKind::If { .. } | StatementKind::While { .. } | StatementKind::TryCatch { .. } => {
                (show_plan::inner(statement), true)
            }
            StatementKind::Declare(declarations) if may_be_left_out => {
                for declaration in declarations {
                    // A type that is none is refused where the DECLARE is run.
                    if frame.variable(&declaration.name).is_none()
                        && let Ok(Declared::Scalar(sql_type)) =
                            declared_type(session, &declaration.sql_type, 1, None)
                    {
                        frame.declare(&declaration.name, sql_type, Datum::Null);
                    }
                }
                continue;
            }
            _ => continue,
        };
        open.extend(inner.into_iter().map(|inner| (inner, may_be_left_out)));
    }
}

/// Runs SET of a variable.
pub(super) async fn assign(
    session: &mut Session,
    name: &str,
    value: &Expr,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let (value, sql_type) = evaluate::value(session, value, frame).await?;
    frame.assign(name, value, &sql_type)?;
    session.last.rows = 1;
    session.last.error = 0;
    // Within a procedure an assignment has no DONE of its own.
    if !frame.in_procedure {
        output.done(frame.done_kind(), command::OTHER, None).await;
    }
    Ok(())
}

/// Runs RETURN: a function's value, or a procedure's status.
pub(super) async fn return_value(
    session: &mut Session,
    value: Option<&Expr>,
    frame: &mut Frame,
) -> Result<Flow, SqlError> {
    let Some(value) = value else { return Ok(Flow::Return(0)) };
    let (value, sql_type) = evaluate::value(session, value, frame).await?;
    if let Some(returns) = &frame.returns {
        frame.returned = Some(convert(value, &sql_type, returns, 0)?);
        return Ok(Flow::Return(0));
    }
    let status = convert(value, &sql_type, &SqlType::Int, 0)?.as_int().unwrap_or(0);
    Ok(Flow::Return(status as i32))
}
