//! Values of options, and what the messages at the end say.

use std::time::Duration;

use databases::storage::LOG_FILE_ID;
use databases::store_error::store_error;
use query::convert::display;
use store::EngineError;
use tsql::SqlError;
use tsql::expression::Expr;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::statements::evaluation::evaluate;

/// Pages of a file that a backup has read or a restore has written.
pub(super) struct FilePages {
    /// Logical name of the file.
    pub name: String,
    /// Pages that were copied.
    pub pages: u64,
}

/// What the messages at the end of a backup or a restore tell.
pub(super) struct Processed {
    /// Name of the database.
    pub database: String,
    /// Number of the set in its file, from 1.
    pub position: u16,
    /// Files of the database, those that were copied.
    pub files: Vec<FilePages>,
    /// Time that the statement took.
    pub elapsed: Duration,
    /// Lines before the others.
    pub notes: Vec<String>,
}

/// Makes error 3217: a value that an option does not take.
pub(super) fn invalid(option: &str) -> SqlError {
    SqlError::new(3217, 16, 1, format!("Invalid value specified for {option} parameter."))
}

/// Returns the text of an expression that is a literal or a variable.
pub(super) async fn text(session: &mut Session, expr: &Expr, frame: &Frame) -> Result<String, SqlError> {
    let (value, sql_type) = evaluate::value(session, expr, frame).await?;
    Ok(if value.is_null() { String::new() } else { display(&value, &sql_type) })
}

/// Returns the text of an option; empty if it is not written.
pub(super) async fn option_text(
    session: &mut Session,
    expr: Option<&Expr>,
    frame: &Frame,
) -> Result<String, SqlError> {
    match expr {
        Some(expr) => text(session, expr, frame).await,
        None => Ok(String::new()),
    }
}

/// Returns the number of an expression; −1 if it is none.
pub(super) async fn number(session: &mut Session, expr: &Expr, frame: &Frame) -> Result<i64, SqlError> {
    Ok(text(session, expr, frame).await?.trim().parse().unwrap_or(-1))
}

/// Makes the error of an engine that has failed.
pub(super) fn engine_error(error: EngineError) -> SqlError {
    store_error(error.into())
}

/// Returns the number of the log's file, which follows the first data file.
pub(super) fn log_file_number() -> u16 {
    LOG_FILE_ID as u16
}
