//! Counters of transactions and bulk loads: what `sys.dm_os_performance_counters` shows of a database.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Number of transactions begun.
    pub transactions: u64,
    /// Transactions that wrote something and committed.
    pub write_transactions: u64,
    /// Transactions that wrote something and were undone.
    pub rolled_back: u64,
    /// Rows that bulk writers wrote.
    pub bulk_rows: u64,
    /// Bytes of pages that bulk writers wrote.
    pub bulk_bytes: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
}

/// Counters behind the figures of an engine.
#[derive(Debug, Default)]
pub(crate) struct CounterCells {
    pub transactions: AtomicU64,
    pub write_transactions: AtomicU64,
    pub rolled_back: AtomicU64,
    pub bulk_rows: AtomicU64,
    pub bulk_bytes: AtomicU64,
    pub checkpoints: AtomicU64,
}

impl CounterCells {
    pub fn figures(&self) -> Counters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            transactions: count(&self.transactions),
            write_transactions: count(&self.write_transactions),
            rolled_back: count(&self.rolled_back),
            bulk_rows: count(&self.bulk_rows),
            bulk_bytes: count(&self.bulk_bytes),
            checkpoints: count(&self.checkpoints),
        }
    }
}

/// Adds `more` to a counter.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
