//! The progress of a load, and the state of one that failed.

use std::{fmt, ops::Range};

use crate::{
    doubt::{Finding, Look},
    error::Error,
    report::row_words,
};

/// The progress of a load, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows committed.
    pub rows_committed: u64,
    /// Rows of the batch whose commit is under way. Until the answer arrives it is not known whether they are committed.
    pub rows_committing: u64,
    /// Batches committed.
    pub batches: u64,
    /// Bytes written to the socket.
    pub bytes_on_wire: u64,
}

/// A load that failed, with what it had committed before.
#[derive(Debug)]
pub struct LoadError {
    /// The batch that failed, if one was under way. It was rolled back unless `rows_in_doubt` or `look` says otherwise.
    pub batch: Option<Box<FailedBatch>>,
    /// The index of the load's source that the error is about, from 0, if it is about one.
    pub source_index: Option<usize>,
    /// Rows that are known to be committed.
    pub rows_committed: u64,
    /// Rows of the failed batch if it is not known whether it was committed; 0 if that is known.
    pub rows_in_doubt: u64,
    /// The row count of the table after the answer to a commit was lost.
    pub look: Option<Box<Look>>,
    /// The error that ended the load.
    pub source: Error,
}

/// The batch that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedBatch {
    /// The number of the batch, from 0.
    pub index: u64,
    /// Rows of the source that were sent in it, counted from 0.
    pub rows: Range<u64>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Error::InDoubt { source, .. } => write!(f, "{source}")?,
            source => write!(f, "{source}")?,
        }
        if let Some(FailedBatch { index, rows }) = self.batch.as_deref() {
            write!(
                f,
                " (batch {}, rows {} to {} of the source)",
                index + 1,
                rows.start + 1,
                rows.end.max(rows.start + 1)
            )?;
        }
        let finding = self.look.as_ref().map(|look| look.finding);
        match (self.rows_committed, self.rows_in_doubt) {
            (rows, 0) if matches!(self.source, Error::Unnoted { .. }) => {
                let (noun, verb) = row_words(rows);
                write!(f, "; {rows} {noun} {verb} committed by this run")?;
            }
            (rows, 0) if finding == Some(Finding::Committed) => {
                let (noun, verb) = row_words(rows);
                write!(f, "; {rows} {noun} {verb} committed, those of this batch included")?;
            }
            (0, 0) => f.write_str("; nothing was committed")?,
            (0, _) => f.write_str("; nothing before it was committed")?,
            (rows, _) => {
                let (noun, verb) = row_words(rows);
                write!(f, "; {rows} {noun} before it {verb} committed")?;
            }
        }
        if self.rows_in_doubt > 0 {
            let (noun, verb) = row_words(self.rows_in_doubt);
            write!(f, "; it is not known whether its {} {noun} {verb} committed", self.rows_in_doubt)?;
        }
        match &self.look {
            Some(look) => write!(f, " ({})", look.seen),
            None => Ok(()),
        }
    }
}

impl LoadError {
    /// Wraps an error before any row was sent.
    pub fn before_rows(source: Error) -> Self {
        Self { batch: None, source_index: None, rows_committed: 0, rows_in_doubt: 0, look: None, source }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
