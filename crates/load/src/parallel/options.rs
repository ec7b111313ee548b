//! The options of a load over several connections.

use std::time::Duration;

use super::{ledger::Ledger, report::RetryNote};
use crate::{client::Client, plan::LoadPlan, reject::Tolerance, retry::RetryPolicy, source::SourceBatch};

/// Errors of a source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Batches of a source.
pub type SourceBatches<'a> = Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send + 'a>;

/// The number of connections that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// A fixed number of connections.
    Fixed(usize),
    /// As many as make the load faster, found by measuring; at most this many.
    Auto(usize),
}

/// The options of a load over connections. The default is one writer on the caller's connection, and no second try.
pub struct ParallelOptions<'a> {
    /// Connections.
    pub writers: Writers,
    /// The errors that are retried, and the time limit.
    pub retry: RetryPolicy,
    /// The record of committed rows.
    pub ledger: Option<&'a Ledger>,
    /// Time for the whole load.
    pub time_limit: Option<Duration>,
    /// Is notified of every commit and every writer.
    pub watch: &'a dyn CommitWatch,
}

impl Default for ParallelOptions<'_> {
    fn default() -> Self {
        Self {
            writers: Writers::Fixed(1),
            retry: RetryPolicy::NONE,
            ledger: None,
            time_limit: None,
            watch: &(),
        }
    }
}

/// Hears of commits and of writers as they come and go, from the threads of the writers.
pub trait CommitWatch: Sync {
    /// Hears that this many rows are about to be committed.
    fn begins(&self, _rows: u64) {}
    /// Hears that a commit of this many rows has ended, with success or not. A commit in doubt has not ended.
    fn ended(&self, _rows: u64, _committed: bool) {}
    /// Hears that a batch is committed.
    fn batch(&self, _batch: &CommittedBatch) {}
    /// Hears that something has failed and will be retried. `number` counts the retries of this load, from 1.
    fn tries_again(&self, _number: u64, _note: &RetryNote) {}
    /// Hears that a writer has its first connection.
    fn writer_begins(&self) {}
    /// Hears that a writer is done. Without a client its connection is broken; otherwise the session may be asked for
    /// its figures.
    fn writer_ends(&self, _client: Option<&mut Client>) {}
}

/// A batch that is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedBatch {
    /// The number of committed rows.
    pub rows: u64,
    /// Bytes of its rows as they were sent, and the time from the first of them to the confirmation. None where the answer was
    /// lost, and the ledger has the batch.
    pub sent: Option<(u64, Duration)>,
}

/// Nobody hears.
impl CommitWatch for () {}

/// A source of a load.
pub struct ParallelSource<'a> {
    /// The plan of the source.
    pub plan: LoadPlan,
    /// The treatment of rows that cannot be loaded.
    pub tolerance: Option<&'a Tolerance<'a>>,
    /// The rows of the source.
    pub batches: SourceBatches<'a>,
}
