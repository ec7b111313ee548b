//! Errors, one type per kind of operation; each names the file and the offset it is about.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use arrow::error::ArrowError;

use crate::TableId;
use crate::engine::EngineError;

/// What can go wrong while reading from, writing to or committing to an open database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk refused an operation. The transaction it happened in can be rolled back; everything committed stays.
    #[error("cannot {operation} {}{}: {source}", .path.display(), at(.offset))]
    Io {
        /// What was tried: `create`, `open`, `read`, `write`, `sync`, `rename`, …
        operation: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Byte offset in the file, where there is one.
        offset: Option<u64>,
        /// The operating system's error.
        source: io::Error,
    },
    /// Bytes on disk are not what was written. Only the named frame or record is unreadable.
    #[error("{} is damaged at byte {offset}: {reason}", .path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Offset of the frame or record that failed its check.
        offset: u64,
        /// Which check failed.
        reason: String,
    },
    /// The table does not exist (any more), or was created by a transaction that has not committed.
    #[error("no table with id {}", .table.0)]
    NoSuchTable {
        /// The id that was asked for.
        table: TableId,
    },
    /// Another table has this name.
    #[error("a table named {name:?} exists already")]
    TableExists {
        /// The name asked for.
        name: String,
    },
    /// A batch does not fit the table's schema: number or type of columns, or a null where none may be.
    #[error("batch does not fit table {table:?}: {reason}")]
    SchemaMismatch {
        /// Name of the table.
        table: String,
        /// The first difference.
        reason: String,
    },
    /// A column type this store does not keep: dictionary, run-end encoded and nested types.
    #[error("column {column:?} has type {data_type}, which the store does not keep")]
    UnsupportedType {
        /// Name of the column.
        column: String,
        /// Its Arrow type.
        data_type: String,
    },
    /// A projection names a column that the table does not have.
    #[error("projection asks for column {index}, the table has {columns}")]
    NoSuchColumn {
        /// Index asked for, from 0.
        index: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A table lock was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The savepoint belongs to another transaction, or a rollback to an earlier one removed it.
    #[error("the savepoint no longer exists in this transaction")]
    SavepointGone,
    /// One row, or the catalogue part of one transaction, is larger than the format can hold.
    #[error("{what} takes {bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// `frame` or `journal record`.
        what: &'static str,
        /// Size found.
        bytes: u64,
        /// Largest size allowed.
        limit_bytes: u64,
    },
    /// The journal could not be written, and it could not be proved that the record is absent. The transaction's effects are
    /// not visible now, and the next successful commit or checkpoint removes them for good; after a crash before that, they
    /// may appear, completely or not at all.
    #[error("the outcome of the commit is unknown until the next successful commit: {source}")]
    CommitUnknown {
        /// The failure of the journal write or sync.
        #[source]
        source: Box<StoreError>,
    },
    /// The quota of a database in memory is used up.
    #[error("there is no memory for more rows")]
    OutOfMemory,
    /// Arrow refused an operation on batches, for example a concatenation that overflows 32-bit offsets.
    #[error("arrow: {0}")]
    Arrow(#[from] ArrowError),
    /// The paged engine refused an operation.
    #[error(transparent)]
    Engine(EngineError),
}

impl From<EngineError> for StoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Lock(error) => Self::Lock(error),
            EngineError::Arrow(error) => Self::Arrow(error),
            EngineError::TableExists { name } => Self::TableExists { name },
            other => Self::Engine(other),
        }
    }
}

impl StoreError {
    /// True if the disk, the quota or the largest file that the process may write (`ulimit -f`) is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
                )
            }
            Self::CommitUnknown { source } => source.is_disk_full(),
            Self::Engine(error) => error.sql_error() == Some(1105),
            _ => false,
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the directory open.
    #[error("{} is in use by another process", .path.display())]
    InUse {
        /// The database directory.
        path: PathBuf,
    },
    /// The file is a journal of another format version.
    #[error("{} has format version {found}, this program reads version {supported}", .path.display())]
    Version {
        /// The journal.
        path: PathBuf,
        /// Version in its header.
        found: u32,
        /// Version this program writes.
        supported: u32,
    },
    /// The directory holds segment files but no journal, so it is not safe to start an empty database there.
    #[error("{} holds table segments but no journal", .path.display())]
    JournalMissing {
        /// The database directory.
        path: PathBuf,
    },
    /// The journal or the directory could not be read or written, or the journal is damaged before its end.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a table lock was not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The lock was not free within the time allowed.
    #[error("lock on {what} not granted within {timeout:?}")]
    Timeout {
        /// The table or name.
        what: String,
        /// The time allowed.
        timeout: Duration,
    },
    /// The wait was ended from outside: whoever asked for the lock does not want it any more.
    #[error("waiting for the lock on {what} was interrupted")]
    Interrupted {
        /// The table or name.
        what: String,
    },
    /// Waiting would close a circle of transactions that wait for each other; this one should be rolled back.
    #[error("waiting for the lock on {what} would be a deadlock")]
    Deadlock {
        /// The table or name.
        what: String,
    },
}

fn at(offset: &Option<u64>) -> String {
    offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default()
}
