//! Counts of a server's clients since it started: connections, logins, requests, rows, bytes, errors.
//!
//! Views and metrics show the same numbers. Counting is an addition for a packet, a request or a few statements, never for a row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to it.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns the number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A text of T-SQL.
    Batch,
    /// Calls of procedures.
    Call,
    /// A driver's begin, commit or rollback.
    Transaction,
    /// The rows of a bulk load.
    BulkLoad,
}

impl RequestKind {
    /// All kinds of requests.
    pub const ALL: [Self; 4] = [Self::Batch, Self::Call, Self::Transaction, Self::BulkLoad];

    /// Returns the kind's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Call => "call",
            Self::Transaction => "transaction",
            Self::BulkLoad => "bulk_load",
        }
    }
}

/// Reason why a login was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginRefusal {
    /// The name, the password or the ticket was wrong.
    Credentials,
    /// The database cannot be opened.
    Database,
    /// The databases were being recovered.
    Recovering,
}

impl LoginRefusal {
    /// All reasons of refusals.
    pub const ALL: [Self; 3] = [Self::Credentials, Self::Database, Self::Recovering];

    /// Returns the refusal's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::Database => "database",
            Self::Recovering => "recovering",
        }
    }
}

/// Upper bounds of the durations that are counted together, in microseconds. Longer ones are counted beyond
/// the last.
pub const DURATION_BOUNDS: [u64; 12] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 60_000_000];

/// Durations, counted by their size.
#[derive(Debug, Default)]
pub struct Durations {
    /// Count of the durations up to each bound, and of longer ones.
    cells: [Count; DURATION_BOUNDS.len() + 1],
    nanoseconds: Count,
}

impl Durations {
    /// Counts one request of this duration.
    pub fn add(&self, duration: Duration) {
        let microseconds = duration.as_nanos().div_ceil(1000);
        let cell = DURATION_BOUNDS.partition_point(|bound| u128::from(*bound) < microseconds);
        if let Some(cell) = self.cells.get(cell) {
            cell.add(1);
        }
        self.nanoseconds.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Returns the number of durations up to each bound, and at last the number of all.
    pub fn up_to(&self) -> [u64; DURATION_BOUNDS.len() + 1] {
        let mut sum = 0;
        std::array::from_fn(|cell| {
            sum += self.cells.get(cell).map_or(0, Count::get);
            sum
        })
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.cells.iter().map(Count::get).sum()
    }

    /// Returns the sum of the durations.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.get())
    }
}

/// The highest class of an error, and the least that is no mere message.
const CLASS_MAX: usize = 25;
const CLASS_MIN: usize = 11;

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that were accepted.
    pub connections: Count,
    /// Connections that were closed at once, since there were too many.
    pub connections_refused: Count,
    /// Logins that succeeded.
    pub logins: Count,
    /// Statements that began, those within procedures and triggers among them.
    pub statements: Count,
    /// Rows of results that were sent.
    pub rows_sent: Count,
    /// Rows that bulk loads over the wire have loaded.
    pub rows_loaded: Count,
    /// Bytes that came from clients, as they travel.
    pub bytes_received: Count,
    /// Bytes that went to clients, as they travel.
    pub bytes_sent: Count,
    logins_refused: [Count; LoginRefusal::ALL.len()],
    requests: [Durations; RequestKind::ALL.len()],
    errors: [Count; CLASS_MAX + 1],
}

impl Counts {
    /// Returns the count of logins that were refused for this reason.
    pub fn logins_refused(&self, refusal: LoginRefusal) -> &Count {
        // The array has an element for each variant.
        &self.logins_refused[refusal as usize]
    }

    /// Returns the durations of the requests of a kind.
    pub fn requests(&self, kind: RequestKind) -> &Durations {
        // The array has an element for each variant.
        &self.requests[kind as usize]
    }

    /// Counts an error of this class, which was sent.
    pub fn note_error(&self, class: u8) {
        if let Some(count) = self.errors.get(usize::from(class)) {
            count.add(1);
        }
    }

    /// Lists the errors that were sent, by class, for each class that an error may have.
    pub fn errors(&self) -> impl Iterator<Item = (usize, u64)> {
        self.errors.iter().map(Count::get).enumerate().skip(CLASS_MIN)
    }

    /// Counts requests as `Batch Requests/sec` does: all but bulk loads, whose INSERT BULK is a batch.
    pub fn batch_requests(&self) -> u64 {
        let kinds = RequestKind::ALL.into_iter().filter(|kind| *kind != RequestKind::BulkLoad);
        kinds.map(|kind| self.requests(kind).count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_up_to_its_bound() {
        let durations = Durations::default();
        for microseconds in [0, 100, 101, 60_000_000, 60_000_001] {
            durations.add(Duration::from_micros(microseconds));
        }
        durations.add(Duration::from_nanos(100_001));
        let counted = durations.up_to();
        assert_eq!(counted.first(), Some(&2));
        assert_eq!(counted.get(1), Some(&4));
        assert_eq!(counted.get(DURATION_BOUNDS.len() - 1), Some(&5));
        assert_eq!(counted.last(), Some(&6));
        assert_eq!(durations.count(), 6);
        assert_eq!(durations.total(), Duration::from_nanos(120_000_302_001));
    }

    #[test]
    fn errors_are_counted_by_class() {
        let counts = Counts::default();
        for class in [10, 11, 16, 16, 25, 26, 255] {
            counts.note_error(class);
        }
        let found: Vec<_> = counts.errors().filter(|(_, errors)| *errors > 0).collect();
        assert_eq!(found, [(11, 1), (16, 2), (25, 1)]);
    }
}
