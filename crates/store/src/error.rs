//! Errors of the engine.

use std::io;
use std::panic::Location;
use std::path::PathBuf;
use std::time::Duration;

use arrow::array::RecordBatch;

use crate::page::PageId;
use crate::page::lsn::Lsn;

/// Any failure of the engine. `sql_error` gives SQL Server's number, if there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The disk refused an operation.
    #[error("cannot {operation} {}: {source}", .path.display())]
    Io {
        /// Operation that failed: `open`, `read`, `write`, `sync`, …
        operation: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A page differs from what was written. The rest of the database is usable.
    #[error("page {page} is damaged: {reason}")]
    DamagedPage {
        /// Page that is damaged.
        page: PageId,
        /// Check that failed.
        reason: String,
    },
    /// The log is damaged before its end.
    #[error("the log is damaged at {lsn}: {reason}")]
    DamagedLog {
        /// Position of the first record that cannot be read.
        lsn: Lsn,
        /// Check that failed.
        reason: String,
    },
    /// The control file or the catalogue cannot be read.
    #[error("{what} cannot be read: {reason}")]
    DamagedDatabase {
        /// Part of the database that cannot be read.
        what: &'static str,
        /// Reason why it cannot be read.
        reason: String,
    },
    /// A former build made a key or index whose entries are in another order than this one's.
    #[error(
        "index {key} of table {table} is over bytes, and was made by a former build, which told values apart by the zeros at their end: drop it with that build, or export the table there and load it again"
    )]
    FormerKey {
        /// Table that the key belongs to.
        table: String,
        /// Name of the key or index.
        key: String,
    },
    /// A record cannot be decoded.
    #[error("row at page {page}, byte {offset}: {reason}")]
    DamagedRow {
        /// Page that holds the record.
        page: PageId,
        /// Offset of the record in its page.
        offset: usize,
        /// Part of the record that does not fit.
        reason: String,
    },
    /// A value that its column cannot hold.
    #[error("row {row}, column {column:?}: {reason}")]
    Value {
        /// Row of the batch, from 0.
        row: usize,
        /// Name of the column.
        column: String,
        /// Reason why the batch does not fit.
        reason: String,
    },
    /// A batch whose columns are not the table's.
    #[error("batch does not fit the table: {reason}")]
    Schema {
        /// The first difference.
        reason: String,
    },
    /// Rows that a transaction has read in order to change them were changed by another one that has committed since. They must
    /// be read again.
    #[error("rows of {table:?} were changed by another transaction since they were read")]
    RowsChanged {
        /// Name of the table.
        table: String,
    },
    /// A transaction under snapshot isolation changes something that another one has changed and committed since.
    #[error("{table:?} was changed by another transaction since the snapshot that this one keeps to")]
    UpdateConflict {
        /// Name of the table.
        table: String,
    },
    /// A transaction under snapshot isolation reads a table whose definition has changed since.
    #[error("{table:?} is defined otherwise since the snapshot that this transaction keeps to")]
    DefinitionChanged {
        /// Name of the table.
        table: String,
    },
    /// A row whose fixed part and pointers do not fit a page.
    #[error("a row of {bytes} bytes exceeds the limit of {limit_bytes}")]
    RowTooLarge {
        /// Least size of the row in bytes.
        bytes: usize,
        /// Greatest number of bytes of a row.
        limit_bytes: usize,
    },
    /// The log has reached its size limit and cannot be truncated.
    #[error("the log is full at {limit_bytes} bytes: {reason}")]
    LogFull {
        /// Size limit of the log in bytes.
        limit_bytes: u64,
        /// Reason why the log cannot be truncated, as `log_reuse_wait_desc` spells it.
        reason: &'static str,
    },
    /// The disk, or the memory of a database in memory, has no room for more log. The transaction is undone; when there is room
    /// again, work continues.
    #[error("the log is full: cannot write {}: {source} ({reason})", .path.display())]
    LogDiskFull {
        /// The virtual log file.
        path: PathBuf,
        /// Reason why the log cannot be truncated, as `log_reuse_wait_desc` spells it.
        reason: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The log or the control file could not be written, so that the outcome of a commit is not known. No change is accepted
    /// until the database is opened again, which finds the whole transaction committed or undone.
    #[error("the database is shut after a failed write to its log: {reason}")]
    Shut {
        /// Failure that shut the log.
        reason: String,
    },
    /// No file of a group has room, and none can grow.
    #[error("no space for {} in file group {group:?}: {reason}", object_name(.table, .index.as_deref()))]
    FileGroupFull {
        /// Name of the file group.
        group: String,
        /// The table that wanted it.
        table: String,
        /// The index of it, if it is for one.
        index: Option<String>,
        /// Reason why the files cannot grow.
        reason: &'static str,
    },
    /// No such file group.
    #[error("no file group {name:?}")]
    NoSuchFileGroup {
        /// Name of the file group.
        name: String,
    },
    /// The name is taken.
    #[error("a file group named {name:?} exists already")]
    FileGroupExists {
        /// Name of the file group.
        name: String,
    },
    /// Nothing can be put into a group without files.
    #[error("file group {name:?} has no files")]
    EmptyFileGroup {
        /// Name of the file group.
        name: String,
    },
    /// A group that has files, or is PRIMARY or the default, cannot be removed.
    #[error("file group {name:?} is in use")]
    FileGroupInUse {
        /// Name of the file group.
        name: String,
    },
    /// The name is taken.
    #[error("a data file named {name:?} exists already")]
    DataFileExists {
        /// Logical name of the data file.
        name: String,
    },
    /// No such data file.
    #[error("no data file {name:?}")]
    NoSuchDataFile {
        /// Logical name of the data file.
        name: String,
    },
    /// A file that holds something cannot be removed.
    #[error("data file {name:?} is not empty")]
    DataFileInUse {
        /// Logical name of the data file.
        name: String,
    },
    /// The first file cannot be removed.
    #[error("data file {name:?} is the first of the database")]
    PrimaryDataFile {
        /// Logical name of the data file.
        name: String,
    },
    /// Not everything in a file could be moved to others.
    #[error("not everything in data file {name:?} can be moved to other files of its group")]
    DataFileNotEmptied {
        /// Logical name of the data file.
        name: String,
    },
    /// Another process has the directory open.
    #[error("{} is in use by another process", .path.display())]
    InUse {
        /// Path of the directory.
        path: PathBuf,
    },
    /// No such table, or it was dropped.
    #[error("no table {name:?}")]
    NoSuchTable {
        /// Name or id of the table.
        name: String,
    },
    /// There are no log backups under SIMPLE.
    #[error("the log cannot be backed up while the recovery model is SIMPLE")]
    NoLogBackup,
    /// A backup could not be written or read.
    #[error("cannot {operation} the backup: {source}")]
    Backup {
        /// `write`, `flush` or `read`.
        operation: &'static str,
        /// Failure of the stream.
        source: io::Error,
    },
    /// A backup differs from what was written.
    #[error("the backup is damaged: {reason}")]
    DamagedBackup {
        /// Difference from what was written.
        reason: String,
    },
    /// A backup is to be restored where a database is.
    #[error("a database cannot be restored here: {} exists", .path.display())]
    HasDatabase {
        /// A file of it.
        path: PathBuf,
    },
    /// A log backup begins after the end of the log that it should continue.
    #[error("the log backup begins at {begins}, and the log ends at {ends}")]
    LogChainBroken {
        /// Log position at which the backup begins.
        begins: Lsn,
        /// Log position at which the log ends.
        ends: Lsn,
    },
    /// The name is taken.
    #[error("a table named {name:?} exists already")]
    TableExists {
        /// Name of the table.
        name: String,
    },
    /// No row at this address.
    #[error("no row in slot {slot} of page {page}")]
    NoSuchRow {
        /// Page of the address.
        page: PageId,
        /// Slot of the address, from 0.
        slot: u16,
    },
    /// A row with this key exists already.
    #[error("a row with key {key} exists already in {index:?}")]
    DuplicateKey {
        /// Name of the index.
        index: String,
        /// True if the index belongs to a constraint.
        is_constraint: bool,
        /// The key's values, as in `(1, abc, <NULL>)`.
        key: String,
        /// The key's values as one row of its columns.
        values: Box<RecordBatch>,
    },
    /// Rows that were declared to be in the order of the key are not.
    #[error("row {row} is not in the order of the key")]
    NotSorted {
        /// The first row of the load that comes before its predecessor, from 1.
        row: u64,
        /// The keys of the row before it and of that row, each as one row of the key's columns.
        keys: Option<Box<(RecordBatch, RecordBatch)>>,
    },
    /// No index of this name.
    #[error("table {table:?} has no index {index:?}")]
    NoSuchIndex {
        /// Name of the table.
        table: String,
        /// Name of the index.
        index: String,
    },
    /// No row has this key.
    #[error("no row has this key")]
    NoSuchKey,
    /// An operation of the transaction failed half way; the transaction can only be rolled back.
    #[error("the transaction has failed and can only be rolled back")]
    Doomed,
    /// A defect of the engine: something that its own rules exclude.
    #[error("{what}; this is a defect of the storage engine ({origin})")]
    Internal {
        /// Broken assumption of the engine.
        what: &'static str,
        /// Place in the code at which the defect was noticed.
        origin: &'static Location<'static>,
    },
    /// A lock was not granted.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Arrow refused an operation.
    #[error("arrow: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}

impl EngineError {
    /// Makes an error of a broken assumption, with the caller's place in the code.
    #[track_caller]
    pub(crate) fn internal(what: &'static str) -> Self {
        Self::Internal { what, origin: Location::caller() }
    }

    /// Returns true if the log has no room at present.
    pub fn is_log_full(&self) -> bool {
        matches!(self, Self::LogFull { .. } | Self::LogDiskFull { .. })
    }

    /// Returns true if the disk has no room at present, for the log or for anything else.
    pub(crate) fn wants_space(&self) -> bool {
        match self {
            Self::Io { source, .. } => wants_space(source),
            _ => self.is_log_full(),
        }
    }

    /// Returns SQL Server's error number for this failure, where it has one.
    pub fn sql_error(&self) -> Option<i32> {
        Some(match self {
            Self::DamagedPage { .. } | Self::DamagedRow { .. } => 824,
            Self::RowTooLarge { .. } => 511,
            Self::LogFull { .. } | Self::LogDiskFull { .. } => 9002,
            Self::Shut { .. } => 9001,
            Self::FileGroupFull { .. } => 1105,
            Self::NoSuchFileGroup { .. } => 1921,
            Self::FileGroupExists { .. } => 5035,
            Self::EmptyFileGroup { .. } => 622,
            Self::FileGroupInUse { .. } | Self::DataFileInUse { .. } => 5042,
            Self::PrimaryDataFile { .. } => 5020,
            Self::DataFileNotEmptied { .. } => 2555,
            Self::DataFileExists { .. } => 1828,
            Self::NoSuchDataFile { .. } => 5041,
            Self::NoLogBackup => 4208,
            Self::Backup { operation: "read", .. } => 3203,
            Self::Backup { .. } => 3202,
            Self::DamagedBackup { .. } => 3241,
            Self::HasDatabase { .. } => 3156,
            Self::LogChainBroken { .. } => 4305,
            Self::NoSuchTable { .. } => 208,
            Self::TableExists { .. } => 2714,
            Self::InUse { .. } => 5120,
            Self::DuplicateKey { is_constraint: true, .. } => 2627,
            Self::DuplicateKey { .. } => 2601,
            Self::NotSorted { .. } => 4819,
            Self::NoSuchIndex { .. } => 3701,
            Self::UpdateConflict { .. } => 3960,
            Self::DefinitionChanged { .. } => 3961,
            Self::Doomed => 3930,
            Self::Lock(LockError::Deadlock { .. }) => 1205,
            Self::Lock(LockError::Timeout { .. }) => 1222,
            Self::Io { source, .. } if wants_space(source) => 1105,
            Self::Io { operation: "open" | "create" | "list", .. } => 5120,
            Self::Io { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                5120
            }
            Self::Io { .. } => 823,
            _ => return None,
        })
    }
}

/// Returns true if an operation failed only for want of space, and may succeed later.
pub(crate) fn wants_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Returns `'table'` or `'table'.'index'`, as error 1105 spells it.
fn object_name(table: &str, index: Option<&str>) -> String {
    match index {
        Some(index) => format!("'{table}'.'{index}'"),
        None => format!("'{table}'"),
    }
}

/// Reason why a table lock was not granted.
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
    /// The wait was ended from outside: the lock is not wanted any more.
    #[error("waiting for the lock on {what} was interrupted")]
    Interrupted {
        /// The table or name.
        what: String,
    },
    /// Waiting would be a deadlock; this transaction should be rolled back.
    #[error("waiting for the lock on {what} would be a deadlock")]
    Deadlock {
        /// The table or name.
        what: String,
    },
}
