//! SET options and USE.

use databases::instance::isolation_level;
use query::Datum;
use query::convert::convert;
use query::convert::display;
use tds::SqlType;
use tsql::SqlError;
use tsql::ast::SetOption;
use tsql::errors;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{DoneKind, Response, SessionChange, command};
use crate::session::work::directory;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;

pub(crate) async fn set_option(
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
                        size if size < 0 => -1,
                        size => size,
                    };
                }
                ("LANGUAGE", _) => {
                    let old = session.settings.language.name;
                    session.settings.set_language(&display(&value, &sql_type))?;
                    say_language(session, old, output).await;
                }
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
                ("DEADLOCK_PRIORITY", _) => {
                    session.settings.set_deadlock_priority(&display(&value, &sql_type))?;
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
                "READ UNCOMMITTED" => isolation_level::READ_UNCOMMITTED,
                "REPEATABLE READ" => isolation_level::REPEATABLE_READ,
                "SERIALIZABLE" => isolation_level::SERIALIZABLE,
                "SNAPSHOT" => isolation_level::SNAPSHOT,
                _ => isolation_level::READ_COMMITTED,
            };
            output.done(kind, command::OTHER, None).await;
        }
    }
    Ok(())
}

/// Tells the client which language the session has now.
async fn say_language(session: &mut Session, old: &str, output: &mut Output) {
    let new = session.settings.language.name;
    let change = SessionChange::Language { new: new.to_owned(), old: old.to_owned() };
    output.send(Response::Change(change)).await;
    let text = format!("Changed language setting to {new}.");
    answer::inform(session, SqlError::new(5703, 0, 1, text), output).await;
}

pub(crate) async fn use_database(
    session: &mut Session,
    name: &str,
    kind: DoneKind,
    output: &mut Output,
) -> Result<(), SqlError> {
    let directory = directory::of(&session.work)?;
    let database = directory.database(name).ok_or_else(|| errors::UNKNOWN_DATABASE.with([name]))?;
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
