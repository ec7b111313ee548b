//! Errors of a copy.

use std::{error::Error, io, sync::Arc};

use formats::FormatError;

use crate::row_stream::BoxError;

/// An error of a copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The request makes no sense, or this program cannot do it.
    #[error("{0}")]
    Usage(String),
    /// The connection string is unusable.
    #[error("{endpoint}: {source}")]
    Config {
        /// The endpoint, without secrets.
        endpoint: String,
        /// The error in the configuration.
        source: load::ConfigError,
    },
    /// SQL Server or the way to it.
    #[error("{endpoint}: {source}")]
    Client {
        /// The endpoint, without secrets.
        endpoint: String,
        /// The error of the client.
        source: Box<load::Error>,
    },
    /// The source does not fit its destination; nothing was changed.
    #[error("{source_name} cannot be copied into {destination}: {error}")]
    Unfit {
        /// The source.
        source_name: String,
        /// The destination.
        destination: String,
        /// The reason why rows do not fit.
        error: Box<load::Error>,
    },
    /// A load ended early; says what it had committed.
    #[error("{source_name}: {error}")]
    Load {
        /// The source.
        source_name: String,
        /// The error of the load.
        error: Box<load::LoadError>,
    },
    /// A statement that belongs to a copy.
    #[error("{endpoint}: {error}; the statement was {}", shortened(statement))]
    Statement {
        /// The endpoint, without secrets.
        endpoint: String,
        /// The statement.
        statement: String,
        /// The error of the statement.
        error: Box<load::Error>,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A row that the source could not read, and that was not to be refused.
    #[error("{}", of_row(*row, error))]
    Row {
        /// The number of the row, from 0.
        row: u64,
        /// The error in the row.
        error: Arc<dyn Error + Send + Sync>,
    },
    /// More rows were refused than may be.
    #[error("too many rows were refused")]
    TooManyRefused,
    /// The copy was to end.
    #[error("cancelled")]
    Cancelled,
    /// Rows that were written are not those that were read.
    #[error("{destination} took {written} rows of the {read} that were read; {kept}")]
    Count {
        /// The destination.
        destination: String,
        /// Rows that the source yielded, those that were refused left out.
        read: u64,
        /// Rows that the destination counted.
        written: u64,
        /// The fate of the rows, in words.
        kept: &'static str,
    },
    /// A file that a copy needs cannot be read, or a directory cannot be made.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// The file for refused rows cannot be written.
    #[error("{file}: {source}")]
    Rejects {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// An error of the stream of rows.
    #[error(transparent)]
    Stream(BoxError),
    /// A foreign database, its driver, a workbook: whatever has errors of its own.
    #[error("{endpoint}: {source}")]
    Endpoint {
        /// The endpoint, without secrets.
        endpoint: String,
        /// The error of the endpoint.
        source: BoxError,
    },
}

impl CopyError {
    /// Wraps an error of an endpoint that has errors of its own.
    pub fn endpoint(endpoint: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Endpoint { endpoint: endpoint.into(), source: source.into() }
    }

    /// Returns true if it is not known whether the last batch or statement took effect.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            Self::Client { source, .. } => source.is_in_doubt(),
            Self::Statement { error, .. } => error.is_in_doubt(),
            Self::Load { error, .. } => error.rows_in_doubt > 0,
            _ => false,
        }
    }

    /// Unwraps an error that came through a stream of rows, if it is one of a copy.
    pub fn from_stream(error: BoxError) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(error) => return *error,
            Err(error) => error,
        };
        match error.downcast::<FormatError>() {
            Ok(error) => Self::Format(*error),
            Err(error) => Self::Stream(error),
        }
    }

    /// Wraps an error of SQL Server.
    pub fn client(endpoint: impl Into<String>, source: load::Error) -> Self {
        Self::Client { endpoint: endpoint.into(), source: Box::new(source) }
    }
}

/// Characters of a statement that an error shows.
const STATEMENT_CHARS_MAX: usize = 200;

/// Shortens a statement to one line: a long one would hide the reason behind it.
pub fn shortened(statement: &str) -> String {
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(STATEMENT_CHARS_MAX) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Puts the number of its row before an error's words, which may have the number too.
fn of_row(row: u64, error: &dyn Error) -> String {
    let text = error.to_string();
    let number = format!("row {}", row + 1);
    let has_it = text.split([',', ':']).any(|part| part.trim() == number);
    if has_it { text } else { format!("{number}: {text}") }
}
