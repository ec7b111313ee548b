//! Refused rows, which are left out while the others are loaded.

use std::{error::Error, io, ops::ControlFlow, sync::Arc};

use arrow::record_batch::RecordBatch;
use rows::CellError;

use crate::{error::ServerError, source::Origin};

/// A row that does not go into the table.
#[derive(Debug, Clone)]
pub struct RejectedRow {
    /// The place of the row in its source.
    pub origin: Origin,
    /// The reason of the refusal.
    pub reason: RejectReason,
    /// The row itself, with the source's columns; no row if the source could not read it.
    pub batch: RecordBatch,
}

/// The reason why a row is refused.
#[derive(Debug, Clone)]
pub enum RejectReason {
    /// The source could not make a row of it.
    Source(Arc<dyn Error + Send + Sync>),
    /// A value does not fit its column, which was found before the row was sent.
    Cell(Box<CellError>),
    /// The server refused the row.
    Server(ServerError),
}

/// The treatment of rows that cannot be loaded. Without a tolerance a load fails at the first.
pub struct Tolerance<'a> {
    /// Takes every refused row, in the source's order. Rows that only the server refuses come later, when their batch is sent,
    /// and from another thread. `Break` ends the load with [`Error::RejectLimit`](crate::Error::RejectLimit).
    pub reject: &'a (dyn Fn(RejectedRow) -> ControlFlow<()> + Sync),
    /// If the server refuses a batch because of its rows, load the batch in smaller and smaller parts until the bad rows are
    /// found. Each part is a transaction. Batches are closed at 32 MiB, since their rows are held until they are committed.
    pub bisect: bool,
    /// Called before rows are committed: refused rows that were handed over before must be saved now.
    pub keep: &'a (dyn Fn() -> io::Result<()> + Sync),
    /// Commits the good rows of the open batch when the load ends early, instead of rolling them back.
    pub keep_open_batch: bool,
}

impl Tolerance<'_> {
    /// Makes sure of the rows handed over so far.
    pub(crate) fn keep(&self) -> io::Result<()> {
        (self.keep)()
    }

    /// Hands a row over; true if the load must end.
    pub(crate) fn reject(&self, row: RejectedRow) -> bool {
        (self.reject)(row).is_break()
    }
}

/// Errors of SQL Server that one row causes, without the other rows of its batch. They are about constraints, keys,
/// NULL, lengths, ranges, conversions, malformed XML and JSON, rows too large and row-level security. Errors that a
/// trigger raises belong here too.
pub(crate) fn is_row_fault(error: &ServerError) -> bool {
    error.messages().any(|message| {
        matches!(
            message.number,
            220 | 232 | 241 | 242 | 244 | 245 | 248 | 295 | 296
                | 511 | 515 | 517 | 547 | 550 | 1946 | 2601 | 2627 | 2628
                | 3609 | 4815 | 8114 | 8115 | 8134 | 8152
                // XML parsing and validation
                | 6900..=6999 | 9400..=9499
                | 13608 | 13609 | 33504
        ) || message.number >= USER_ERROR_MIN
    }) && !error.is_fatal()
}

/// The first number that RAISERROR and THROW of users take.
const USER_ERROR_MIN: i32 = 50_000;
