//! PRINT, RAISERROR, THROW and WAITFOR.

use std::time::{Duration, Instant};

use databases::instance::message;
use query::Datum;
use query::convert::{convert, display};
use query::datum::TICKS_PER_DAY;
use query::facts;
use query::functions;
use store::WaitType;
use tds::SqlType;
use tsql::SqlError;
use tsql::expression::Expr;
use tsql::sql_error::Reach;
use tsql::system_messages;

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
    let ticks = time_of_day(session, delay, frame).await?;
    wait_for(session, ticks, output).await?;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

/// Runs WAITFOR TIME: until that time of this day, or of the next if it is over.
pub(super) async fn wait_for_time(
    session: &mut Session,
    time: &Expr,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let ticks = time_of_day(session, time, frame).await?;
    let left = ticks.map(|ticks| (ticks - facts::now()).rem_euclid(TICKS_PER_DAY));
    wait_for(session, left, output).await?;
    output.done(frame.done_kind(), command::OTHER, None).await;
    Ok(())
}

/// Returns the time that WAITFOR names, in ticks of 100 ns; None for NULL. Errors: 148.
async fn time_of_day(session: &mut Session, time: &Expr, frame: &Frame) -> Result<Option<i64>, SqlError> {
    let (value, sql_type) = evaluate::value(session, time, frame).await?;
    let shown = display(&value, &sql_type);
    match convert(value, &sql_type, &SqlType::Time { scale: 7 }, 0) {
        Ok(Datum::Time(ticks)) => Ok(Some(ticks)),
        Ok(_) => Ok(None),
        Err(_) => {
            let text = format!("Incorrect time syntax in time string '{shown}' used with WAITFOR.");
            Err(SqlError::new(148, 15, 1, text))
        }
    }
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
    let own = |number: i64| {
        let found = directory.messages.iter().find(|message| i64::from(message.number) == number);
        found.map(|message| (message.number, message.severity, message.text.as_str()))
    };
    let of_system = |number: i64| {
        system_messages::find(number).map(|message| (message.number, message.severity, message.text))
    };
    let known = message.as_int().and_then(|number| own(number).or_else(|| of_system(number)));
    if let Some(number) = message.as_int()
        && (number == 50_000 || number < i64::from(system_messages::FIRST))
    {
        let text = format!(
            "Error number {number} is invalid. The number must be from {} through 2147483647 and it cannot be 50000.",
            system_messages::FIRST
        );
        return Err(SqlError::new(2732, 16, 1, text).at_line(line));
    }
    // Below 0 the severity and state are those that the message was given.
    let (severity, state) = match (severity, known) {
        (severity, Some((_, own, _))) if severity < 0 => (i64::from(own), state.max(1)),
        _ => (severity, state),
    };
    let (severity, state) = (severity.clamp(0, 25) as u8, state.clamp(0, 255) as u8);
    let (number, text) = match (message, known) {
        (_, Some((number, _, text))) => (number, functions::formatted(text, &values)),
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

/// Waits as many ticks, as a wait that others see.
async fn wait_for(session: &Session, ticks: Option<i64>, output: &Output) -> Result<(), SqlError> {
    let Some(ticks) = ticks else { return Ok(()) };
    let mut left = Duration::from_micros((ticks / 10).unsigned_abs());
    let step = Duration::from_millis(50);
    let begun = Instant::now();
    session.seat.waits().begin(WaitType::WaitFor);
    let mut ended = Ok(());
    while !left.is_zero() && ended.is_ok() {
        let nap = left.min(step);
        tokio::time::sleep(nap).await;
        left -= nap;
        ended = output.check();
    }
    session.instance.waits().add(WaitType::WaitFor, begun.elapsed(), Duration::ZERO);
    ended
}
