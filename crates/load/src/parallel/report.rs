//! The report of a load over several connections.

use std::{fmt, thread, time::Duration};

use super::ramp::RampStep;
use crate::report::{LoadReport, Phases, bytes, grouped};

/// The part of all processors above which they are said to be the limit.
const PROCESSOR_BOUND: f64 = 0.8;

/// The report of a load over one connection or several.
#[derive(Debug, Clone, PartialEq)]
pub struct ParallelReport {
    /// Rows, bytes and times of all writers together.
    pub load: LoadReport,
    /// The most writers at a time.
    pub writers: usize,
    /// The numbers of writers that were tried.
    pub steps: Vec<RampStep>,
    /// Number of repeated tries.
    pub retries: u64,
    /// The first 1,000 repeated tries.
    pub retry_notes: Vec<RetryNote>,
    /// Rows that an earlier run had committed.
    pub rows_skipped: u64,
    /// The limit of the load's speed.
    pub limit: Limit,
}

/// Something that failed and was tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryNote {
    /// The time since the start of the load.
    pub at: Duration,
    /// The writer, from 0.
    pub writer: usize,
    /// The reason why the error is transient.
    pub reason: String,
    /// The error.
    pub error: String,
    /// The time that the writer waited.
    pub waited: Duration,
}

/// The part that limited the speed of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Reading the source.
    Source,
    /// The processors of this machine.
    Processor,
    /// The server or the network, which took rows no faster.
    Receiver,
    /// The server, which needed the time to confirm and commit.
    Commit,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "reading the source",
            Self::Processor => "this machine's processors",
            Self::Receiver => "the link, or the server taking rows in",
            Self::Commit => "the server confirming and committing",
        })
    }
}

impl fmt::Display for ParallelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.load)?;
        write!(f, "\nwriters: {}", self.writers)?;
        if !self.steps.is_empty() {
            let steps = self.steps.iter().map(|step| {
                let kept = if step.kept { "" } else { " (taken back)" };
                format!("{} sent {}/s{kept}", step.writers, bytes(step.bytes_per_second))
            });
            write!(f, " ({})", steps.collect::<Vec<_>>().join(", "))?;
        }
        write!(f, "; limited by {}", self.limit)?;
        if self.rows_skipped > 0 {
            write!(f, "\n{} rows had been committed before", grouped(self.rows_skipped))?;
        }
        if self.retries > 0 {
            let plural = if self.retries == 1 { "time" } else { "times" };
            write!(f, "\ntried again {} {plural}", grouped(self.retries))?;
            if let Some(note) = self.retry_notes.first() {
                write!(f, ", first after {:.1} s: {}", note.at.as_secs_f64(), note.reason)?;
            }
        }
        Ok(())
    }
}

/// Finds the activity of the reader or of the writers that took most of the time.
pub(super) fn limit(load: &LoadReport, writers: usize) -> Limit {
    let elapsed = load.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let Phases { read, encode, send, wait } = load.phases;
    let of_writers = |spent: Duration| spent.as_secs_f64() / elapsed / writers.max(1) as f64;
    let processors = thread::available_parallelism().map_or(1.0, |number| number.get() as f64);
    let is_computing =
        load.client_cpu.is_some_and(|cpu| cpu.as_secs_f64() > PROCESSOR_BOUND * processors * elapsed);
    let shares = [
        (Limit::Source, read.as_secs_f64() / elapsed),
        (Limit::Processor, if is_computing { 1.0 } else { of_writers(encode) }),
        (Limit::Receiver, of_writers(send)),
        (Limit::Commit, of_writers(wait)),
    ];
    let largest = shares.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    largest.map_or(Limit::Processor, |(limit, _)| limit)
}
