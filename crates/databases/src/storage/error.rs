//! Errors of the tables of a database.

use arrow::error::ArrowError;
use store::{EngineError, LockError};

use crate::storage::table_info::TableId;

/// Failure of reading from, writing to or committing to a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The table does not exist (any more), or was created by a transaction that has not committed.
    #[error("no table with id {}", .table.0)]
    NoSuchTable {
        /// The id that was asked for.
        table: TableId,
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
        /// Arrow type of the column.
        data_type: String,
    },
    /// A table lock was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
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
            other => Self::Engine(other),
        }
    }
}

impl StoreError {
    /// Returns true if the disk, the quota or the largest file that the process may write (`ulimit -f`) is
    /// full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Engine(error) if error.sql_error() == Some(1105))
    }
}
