//! Rows that are refused while the others are loaded.

use std::{error::Error, io, ops::ControlFlow, sync::Arc};

use arrow::record_batch::RecordBatch;
use rows::CellError;

use crate::{error::ServerError, source::Origin};

/// A row that does not go into the table.
#[derive(Debug, Clone)]
pub struct RejectedRow {
    /// Where it stood.
    pub origin: Origin,
    /// Why it is refused.
    pub reason: RejectReason,
    /// The row itself, with the source's columns; no row if the source could not read it.
    pub batch: RecordBatch,
}

/// Why a row is refused.
#[derive(Debug, Clone)]
pub enum RejectReason {
    /// The source could not make a row of it.
    Source(Arc<dyn Error + Send + Sync>),
    /// A value does not fit its column; found before anything was sent.
    Cell(Box<CellError>),
    /// The server refused the row.
    Server(ServerError),
}

/// What becomes of rows that cannot be loaded, in place of failing at the first.
pub struct Tolerance<'a> {
    /// Takes every refused row, in the source's order but for those that only the server refuses, which come when their batch
    /// is sent and from another thread. `Break` ends the load with
    /// [`Error::RejectLimit`](crate::Error::RejectLimit).
    pub reject: &'a (dyn Fn(RejectedRow) -> ControlFlow<()> + Sync),
    /// When the server refuses a batch for what is in its rows, load the batch in smaller and smaller parts until the
    /// rows at fault stand alone. Each part is a transaction. Batches are then closed at 32 MiB, since their rows are
    /// held until they are committed.
    pub bisect: bool,
    /// Called before rows are committed: what was handed over before must not be lost any more.
    pub keep: &'a (dyn Fn() -> io::Result<()> + Sync),
    /// When the load ends early, commit the rows of the open batch, which are good, instead of rolling them back.
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
