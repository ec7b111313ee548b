//! Observers of a running copy, and the treatment of rows that cannot be written.

use std::sync::{Arc, atomic::AtomicU64};

use load::{CommitWatch, Interruption, RejectReason, RejectedRow, SourceBatch, Tolerance};

use crate::{
    copy_report::{CopyReport, FailedCopy},
    error::CopyError,
    rejects::Rejected,
};

/// Hears of a copy, from the threads that do it.
pub trait CopyWatch: Send + Sync {
    /// Hears the total rows that have been sent to the destination and committed there. Destinations that commit only
    /// at the end report 0.
    fn progress(&self, _sent: u64, _committed: u64) {}
    /// Hears a remark for people, on a line of its own.
    fn note(&self, _text: &str) {}
    /// Returns true if the copy is to end. Called between two batches.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// Returns the handle that ends requests to SQL Server that are under way when the copy is to end.
    fn interruption(&self) -> Option<&Interruption> {
        None
    }
    /// Hears that a statement has begun, or ended, that changes at once what readers of the destination see.
    fn publishing(&self, _is_under_way: bool) {}
    /// Hears the name of a stage beside the destination that takes the rows.
    fn staged(&self, _stage: &str) {}
    /// Hears that a row was refused, behind `_before` others. The file of refused rows has it too, if there is one.
    fn refused(&self, _row: &Rejected<'_>, _before: u64) {}
    /// Hears that the row that was refused last, behind `_before` others, is one too many.
    fn refused_too_many(&self, _row: &Rejected<'_>, _before: u64) {}
    /// Hears that both ends are known, before any row has moved.
    fn planned(&self, _report: &CopyReport) {}
    /// Gets the counter of the bytes that have been read of the source.
    fn reads(&self, _bytes: Option<Arc<AtomicU64>>) {}
    /// Hears that the copy of a table has ended.
    fn ended(&self, _name: &str, _done: &Result<CopyReport, Box<FailedCopy>>) {}
    /// Returns the observer of every commit.
    fn commits(&self) -> &dyn CommitWatch {
        &()
    }
    /// Returns the observer of one table among several; `None` if it is the observer of all of them.
    fn of_table(&self, _name: &str) -> Option<Box<dyn CopyWatch + '_>> {
        None
    }
}

/// Nobody hears.
impl CopyWatch for () {}

/// The companions of a write: its observer, and the treatment of rows that cannot be written.
pub struct Control<'a> {
    /// The observer of the copy.
    pub watch: &'a dyn CopyWatch,
    /// Hears of every commit.
    pub commits: &'a dyn CommitWatch,
    /// The collector of refused rows. Without it the first one ends the copy.
    pub tolerance: Option<&'a Tolerance<'a>>,
}

impl Control<'_> {
    /// Takes the rows that the source could not read out of a batch and hands them over, for destinations that know no
    /// refused rows.
    ///
    /// # Errors
    /// Rows are not to be refused, or too many were.
    pub fn take_unread(&self, batch: &mut SourceBatch) -> Result<(), CopyError> {
        for unread in batch.take_unread() {
            let Some(tolerance) = self.tolerance else {
                return Err(CopyError::Row { row: unread.origin.row, error: unread.error });
            };
            let rejected = RejectedRow {
                origin: unread.origin,
                reason: RejectReason::Source(unread.error),
                batch: batch.batch().slice(0, 0),
            };
            if (tolerance.reject)(rejected).is_break() {
                return Err(CopyError::TooManyRefused);
            }
        }
        Ok(())
    }

    /// Checks between two batches if the copy should go on.
    ///
    /// # Errors
    /// [`CopyError::Cancelled`].
    pub fn check(&self) -> Result<(), CopyError> {
        if self.watch.is_cancelled() { Err(CopyError::Cancelled) } else { Ok(()) }
    }
}
