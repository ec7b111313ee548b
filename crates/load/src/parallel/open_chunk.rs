//! A chunk on its way to the server: its rows, the transaction around them, and what an error leaves open.

use std::{
    ops::Range,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use tds::Isolation;

use super::{job::Job, ledger::CommittedChunk, state::Shared};
use crate::{
    bulk::BulkLoad,
    client::Client,
    error::{Error, ServerError},
    options::BatchTransaction,
    reject::{Tolerance, is_row_fault},
    source::{SourceBatch, row_at},
};

/// The time that a writer spent on a chunk, by activity.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct WriterEffort {
    pub(super) encode: Duration,
    pub(super) send: Duration,
    pub(super) wait: Duration,
    pub(super) cpu: Option<Duration>,
}

/// The rows and bytes that an attempt is about to commit.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// Rows that the server has dropped.
    pub(super) ignored: u64,
    pub(super) checksum: crc32fast::Hasher,
    /// The time at which the first of them was sent.
    pub(super) since: Option<Instant>,
}

impl Sums {
    /// Adds rows that are sent; only a ledger asks for their checksum.
    pub(super) fn add(&mut self, rows: u64, bytes: &[u8], shared: &Shared<'_>) {
        self.rows += rows;
        self.bytes += bytes.len() as u64;
        self.since.get_or_insert_with(Instant::now);
        if shared.ledger.is_some() {
            self.checksum.update(bytes);
        }
    }
}

/// A chunk that is being written.
pub(super) struct Open<'a> {
    pub(super) source: usize,
    /// The lane whose rows they are; without one all rows.
    pub(super) lane: Option<usize>,
    pub(super) job: &'a Job<'a>,
    pub(super) rows: Range<u64>,
    pub(super) held: Vec<SourceBatch>,
    /// Rows that were refused before they were sent, also some behind a cut.
    pub(super) refused: Vec<u64>,
    /// The bytes that the rows took in memory, once all have arrived.
    pub(super) bytes: u64,
    /// The writer has ended it before the reader did: the next begins where it ends.
    pub(super) is_cut: bool,
}

impl Open<'_> {
    /// Returns the numbers that stand for some of the good rows: all of the chunk's are divided among its parts.
    pub(super) fn numbers(&self, held: &Range<usize>) -> Range<u64> {
        let at = |index: usize, border: u64| match index {
            0 => self.rows.start,
            index => row_at(&self.held, index).map_or(border, |(batch, index)| batch.origin_row(index)),
        };
        at(held.start, self.rows.end)..at(held.end, self.rows.end)
    }

    /// Makes the ledger's entry of rows with these numbers.
    pub(super) fn entry(&self, rows: Range<u64>, row_count: u64, checksum: u32) -> CommittedChunk {
        let refused =
            self.refused.iter().filter(|row| rows.contains(row)).map(|row| *row..*row + 1).collect();
        CommittedChunk { rows, lane: self.lane, refused, row_count, checksum }
    }

    /// Returns true if the failed chunk may be loaded in parts, or once more.
    pub(super) fn may_repeat(&self, error: &Error, shared: &Shared<'_>) -> bool {
        let bisects = match error {
            Error::Server(error) => self.bisecting(error, shared).is_some(),
            _ => false,
        };
        shared.holds && (bisects || !shared.retry.patience.is_zero())
    }

    /// Returns the tolerance under which the chunk is taken apart for this error. If the caller has a transaction open,
    /// one rejected batch rolls back all of them, so there is none.
    pub(super) fn bisecting(&self, error: &ServerError, shared: &Shared<'_>) -> Option<&Tolerance<'_>> {
        let tolerance = self.job.tolerance.filter(|tolerance| tolerance.bisect && !shared.is_within)?;
        (is_row_fault(error) || error.is_about_the_stream()).then_some(tolerance)
    }
}

/// Begins a transaction, if the rows do not commit themselves, and a bulk load in it.
pub(super) fn begin<'c>(
    client: &'c mut Client,
    job: &'c Job<'_>,
    effort: &mut WriterEffort,
    round_trip: &mut Duration,
) -> Result<BulkLoad<'c>, Error> {
    if job.plan.transaction == BatchTransaction::Explicit && !client.in_transaction() {
        let started = Instant::now();
        client.begin(Isolation::Current)?;
        *round_trip = started.elapsed();
        effort.wait += *round_trip;
    }
    client.bulk_load(&job.plan)
}

/// Returns true if the end of the rows commits them.
pub(super) fn commits_itself(job: &Job<'_>, shared: &Shared<'_>) -> bool {
    job.plan.transaction == BatchTransaction::Autocommit && !shared.is_within
}

/// Ends the rows; the server's count is what was sent, but for rows that it has dropped: their number.
pub(super) fn close(
    mut bulk: BulkLoad<'_>,
    job: &Job<'_>,
    rows: u64,
    shared: &Shared<'_>,
    effort: &mut WriterEffort,
) -> Result<u64, Error> {
    let commits = commits_itself(job, shared);
    if commits {
        shared.commit_begins(rows);
    }
    let closed = bulk.close_batch();
    if commits && !closed.as_ref().is_err_and(|error| doubtful(error, rows) > 0) {
        shared.commit_ended(rows, closed.is_ok());
    }
    shared.note_messages(&bulk.progress().messages);
    effort.send += bulk.progress().send;
    effort.wait += bulk.progress().wait;
    closed.map(|()| bulk.progress().rows_ignored)
}

/// Returns the number of a batch's rows that may be committed after this error.
pub(super) fn doubtful(error: &Error, rows: u64) -> u64 {
    match error {
        Error::InDoubt { .. } | Error::CountMismatch { committed: true, .. } => rows,
        _ => 0,
    }
}

pub(super) fn count_wire(sent: u64, mark: &mut u64, shared: &Shared<'_>) {
    shared.counters.bytes.fetch_add(sent.saturating_sub(*mark), Ordering::Relaxed);
    *mark = sent;
}
