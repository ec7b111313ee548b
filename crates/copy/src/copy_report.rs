//! The report of a copy, or its failure.

use std::time::Duration;

use load::Choice;

use crate::{directed_rows::ActionCounts, error::CopyError};

/// The report of a copy.
#[derive(Debug, Clone, Default)]
pub struct CopyReport {
    /// The source.
    pub source: String,
    /// The destination.
    pub destination: String,
    /// Rows that were read in this run, those that could not be read included.
    pub rows_read: u64,
    /// Rows that this run has written.
    pub rows_written: u64,
    /// Rows that were refused in this run.
    pub rows_refused: u64,
    /// Rows that an earlier run had refused, and that were not read again.
    pub rows_refused_before: u64,
    /// Rows that an earlier run had committed.
    pub rows_skipped: u64,
    /// Bytes of the source that were read, if it counts them.
    pub bytes_read: Option<u64>,
    /// Bytes that were written, if the destination counts them.
    pub bytes_written: Option<u64>,
    /// Connections, or threads, that wrote.
    pub writers: usize,
    /// The number of rows per action, where each row names its own and the server's answer is known.
    pub actions: Option<ActionCounts>,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// The statement that made the table, if it was made.
    pub created_by: Option<String>,
    /// Every choice, with its reason.
    pub plan: Vec<Choice>,
    /// More about it, for people.
    pub notes: Vec<String>,
    /// An earlier run had copied everything.
    pub was_done: bool,
}

impl CopyReport {
    /// Rows that were refused, in this run and in the earlier one that it continues.
    pub fn refused(&self) -> u64 {
        self.rows_refused.saturating_add(self.rows_refused_before)
    }

    /// Rows per second of wall-clock time.
    pub fn rows_per_second(&self) -> f64 {
        self.rows_written as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A copy that failed.
#[derive(Debug)]
pub struct FailedCopy {
    /// The source.
    pub source: String,
    /// The destination.
    pub destination: String,
    /// Rows that it has written, and that are there.
    pub rows_written: u64,
    /// The reason of the failure.
    pub error: CopyError,
    /// The tables and files that the copy leaves behind, in words.
    pub left: Vec<String>,
}
