//! Errors in a file that SQL Server wrote, and their places.

use std::fmt;
use std::io;
use std::sync::Arc;

/// The result of reading such a file.
pub type Result<T> = std::result::Result<T, FileError>;

/// Something that cannot be read: the file, the place in it, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file as it was named.
    pub file: String,
    /// The place: a page, a part, a table, a row. Empty if the whole file is meant.
    pub place: String,
    /// The reason.
    pub reason: Reason,
}

/// The kinds of what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The operating system or the store refused.
    #[error("{0}")]
    Io(Arc<str>),
    /// Bytes end within a structure.
    #[error("the file ends within {0}")]
    Truncated(&'static str),
    /// Bytes do not have the form that they must have.
    #[error("{0}")]
    Malformed(String),
    /// Bytes are not those that were written.
    #[error("{what} has the checksum {found:08x}, and its bytes give {computed:08x}")]
    Checksum {
        /// The bytes that the checksum covers, by name.
        what: &'static str,
        /// The checksum in the file.
        found: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The file is sound, and holds what this reader does not read.
    #[error("{0}")]
    Unsupported(String),
    /// A value, or a column, does not fit the table that is written.
    #[error("{0}")]
    Value(String),
    /// Files that belong together are not all there, or do not belong together.
    #[error("{0}")]
    Incomplete(String),
}

impl FileError {
    /// Makes an error of a place in a file.
    pub fn new(file: &str, place: impl Into<String>, reason: Reason) -> Self {
        Self { file: file.to_owned(), place: place.into(), reason }
    }

    /// Makes an error of a refused read.
    pub(crate) fn io(file: &str, place: impl Into<String>, error: &io::Error) -> Self {
        Self::new(file, place, Reason::Io(error.to_string().into()))
    }

    /// Returns the same error with a table's name before the place.
    #[must_use]
    pub(crate) fn of_table(mut self, table: &str) -> Self {
        self.place = match self.place.is_empty() {
            true => format!("table {table}"),
            false => format!("table {table}, {}", self.place),
        };
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.is_empty() {
            true => write!(f, "{}: {}", self.file, self.reason),
            false => write!(f, "{}, {}: {}", self.file, self.place, self.reason),
        }
    }
}

impl std::error::Error for FileError {}

/// Makes a reason of a sentence.
pub(crate) fn malformed(text: impl Into<String>) -> Reason {
    Reason::Malformed(text.into())
}

/// Makes the reason for what is not read.
pub(crate) fn unsupported(text: impl Into<String>) -> Reason {
    Reason::Unsupported(text.into())
}
