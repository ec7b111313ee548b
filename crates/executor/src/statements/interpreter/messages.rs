//! PRINT, RAISERROR, THROW and WAITFOR.

use std::time::Duration;

use databases::instance::message;
use query::Datum;
use query::convert::{convert, display};
use query::functions;
use tds::SqlType;
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::sql_error::Reach;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::directory;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;

/// Runs PRINT.
pub(super) async fn print(
    session: &mut Session,
    value: &Expr,
    line: u32,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let (value, sql_type) = evaluate::value(session, value, frame).await?;
    let limit = if sql_type.is_unicode() { 4000 } else { 8000 };
    let text = message::cut(display(&value, &sql_type), limit);
    let notice = SqlError::new(0, 0, 1, text).at_line(line).in_procedure(&frame.procedure);
    answer::inform(session, notice, output).await;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

/// Runs WAITFOR DELAY.
pub(super) async fn wait_for_delay(
    session: &mut Session,
    delay: &Expr,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let (value, sql_type) = evaluate::value(session, delay, frame).await?;
    let time = convert(value, &sql_type, &SqlType::Time { scale: 7 }, 0)?;
    wait_for(time, output).await?;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

/// A RAISERROR.
pub(crate) struct Raised<'a> {
    pub message: &'a Expr,
    pub(crate) severity: &'a Expr,
    pub state: &'a Expr,
    pub arguments: &'a [Expr],
    pub log: bool,
    pub at_once: bool,
    pub line: u32,
}

pub(crate) async fn raise(
    session: &mut Session,
    raised: Raised<'_>,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let Raised { message, severity, state, arguments, log, at_once, line } = raised;
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
    let directory = directory::of(&session.work)?;
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
    let error = SqlError::new(number, severity, state, message::ended(text)).at_line(line);
    if severity > 10 {
        // Up to 18 it ends nothing, whatever its severity says of others.
        return Err(error.reaching(if severity < 19 { Reach::Statement } else { Reach::Batch }));
    }
    answer::inform(session, error.in_procedure(&frame.procedure), output).await;
    output.done(frame.done_kind(), command::OTHER, None).await;
    if at_once {
        output.flush().await;
    }
    Ok(())
}

pub(crate) async fn thrown_error(
    session: &mut Session,
    thrown: Option<&(Expr, Expr, Expr)>,
    frame: &Frame,
) -> Result<SqlError, SqlError> {
    let Some((number, message, state)) = thrown else {
        let caught = frame.error.clone().map(|error| error.raised_anew().reaching(Reach::Batch));
        return Ok(caught.unwrap_or_else(|| {
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
    Ok(SqlError::new(number as i32, 16, state, display(&message, &sql_type)).reaching(Reach::Batch))
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
