//! Reasons why a transformation cannot be made, or ends.

use std::io;
use std::path::PathBuf;

use rows::mapping::MappingError;
use rows::{CellError, PlanError};
use tsql::SqlError;

/// An error of a transformation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// The text is wrong, or the query cannot go on.
    #[error("{}Msg {}: {}", line_of(.0), .0.number, .0.message)]
    Sql(SqlError),
    /// A column of the source or of a lookup has no SQL type.
    #[error("{table}: {error}")]
    Column {
        /// `source`, or the lookup's name.
        table: String,
        /// Column, and the reason why it has no SQL type.
        error: MappingError,
    },
    /// A column of the source or of a lookup cannot be brought into the form of its SQL type.
    #[error("{table}: {error}")]
    Form {
        /// `source`, or the lookup's name.
        table: String,
        /// Column, and the reason why it cannot be changed.
        error: PlanError,
    },
    /// A value of a lookup that no SQL type holds.
    #[error("lookup {lookup}: {error}")]
    LookupValue {
        /// Name of the lookup.
        lookup: String,
        /// Column and value, and the reason for the refusal.
        error: Box<CellError>,
    },
    /// A row of a lookup that could not be read: a lookup that misses rows would change the result.
    #[error("lookup {lookup}, row {}: {error}", row + 1)]
    LookupRow {
        /// Name of the lookup.
        lookup: String,
        /// Row of the lookup, from 0.
        row: u64,
        /// Reason why the row could not be read.
        error: String,
    },
    /// A lookup that is too large.
    #[error(
        "lookup {lookup} needs more than the {limit} bytes that transformations may hold; raise --memory-limit, or leave out columns"
    )]
    LookupSize {
        /// Name of the lookup.
        lookup: String,
        /// Limit of memory, in bytes.
        limit: usize,
    },
    /// Two tables of the query have the same name.
    #[error("{0:?} is the name of two tables of the query")]
    NameTwice(String),
    /// The collation is unknown.
    #[error("{0:?} is no collation of SQL Server")]
    Collation(String),
    /// A column of the result that no destination could call anything.
    #[error("column {0} of the result has no name: give it one with AS")]
    Nameless(usize),
    /// Two columns of the result have the same name.
    #[error("two columns of the result are called {0:?}")]
    ColumnTwice(String),
    /// `--select` or `--where` is given together with a whole query.
    #[error("--transform has the whole query: --select and --where have no place beside it")]
    Overfull,
    /// The folder of READ_FILE and WRITE_FILE.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// Path of the folder.
        folder: PathBuf,
        /// Reason why the folder cannot be used.
        error: io::Error,
    },
    /// The engine could not be started.
    #[error("{0}")]
    Start(io::Error),
}

impl From<SqlError> for TransformError {
    fn from(error: SqlError) -> TransformError {
        TransformError::Sql(error)
    }
}

fn line_of(error: &SqlError) -> String {
    if error.line > 0 { format!("line {}: ", error.line) } else { String::new() }
}
