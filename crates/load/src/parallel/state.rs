//! What the threads of a load share.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;

use super::{chunk::ChunkSize, ledger::Ledger, options::CommitWatch, report::RetryNote};
use crate::{
    client::CancelHandle,
    error::Error,
    load::{FailedBatch, Progress},
    report::MESSAGES_MAX,
    retry::{RetryPolicy, Transient},
};

/// Retries that are described; all are counted.
const NOTES_MAX: usize = 1000;

/// The state of a load with any number of writers.
pub(super) struct Shared<'a> {
    pub(super) ledger: Option<&'a Ledger>,
    pub(super) retry: RetryPolicy,
    pub(super) watch: &'a dyn CommitWatch,
    pub(super) started: Instant,
    /// Everybody is to end: something failed, or the caller stops the load.
    pub(super) stop: AtomicBool,
    /// Writers with a number from here on end after their chunk.
    pub(super) writers_wanted: AtomicUsize,
    /// Writers that have sent rows, and those that could not connect.
    pub(super) writers_running: AtomicUsize,
    pub(super) writers_lost: AtomicUsize,
    pub(super) counters: Counters,
    pub(super) size: ChunkSize,
    pace: Mutex<Pace>,
    /// Hears of every chunk and of every writer that ends.
    pub(super) news: Sender<()>,
    failure: Mutex<Option<Failure>>,
    notes: Mutex<Notes>,
    /// Of each writer, by its number.
    lines: Mutex<Vec<Option<CancelHandle>>>,
}

/// Running totals.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) rows_sent: AtomicU64,
    pub(super) rows_committed: AtomicU64,
    pub(super) rows_committing: AtomicU64,
    /// Rows of which it is not known whether they are committed.
    pub(super) rows_in_doubt: AtomicU64,
    /// Rows that an earlier run had committed.
    pub(super) rows_skipped: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) retries: AtomicU64,
}

/// How fast writers are while there are so many of them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Pace {
    /// Grows with every change of their number.
    pub(super) epoch: u64,
    /// Chunks that were begun and committed since.
    pub(super) chunks: usize,
    pub(super) bytes: u64,
    /// The time that they took, those of different writers added up.
    pub(super) busy: Duration,
}

/// What ended a load.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) batch: Option<FailedBatch>,
}

#[derive(Debug, Default)]
struct Notes {
    retries: Vec<RetryNote>,
    messages: Vec<String>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        ledger: Option<&'a Ledger>,
        retry: RetryPolicy,
        watch: &'a dyn CommitWatch,
        size: ChunkSize,
        news: Sender<()>,
    ) -> Self {
        Self {
            ledger,
            retry,
            watch,
            started: Instant::now(),
            stop: AtomicBool::new(false),
            writers_wanted: AtomicUsize::new(0),
            writers_running: AtomicUsize::new(0),
            writers_lost: AtomicUsize::new(0),
            lines: Mutex::default(),
            counters: Counters::default(),
            size,
            pace: Mutex::default(),
            news,
            failure: Mutex::new(None),
            notes: Mutex::default(),
        }
    }

    /// Ends the load. Of several failures the first is reported.
    pub(super) fn fail(&self, error: Error, batch: Option<FailedBatch>) {
        let mut failure = lock(&self.failure);
        if failure.is_none() {
            *failure = Some(Failure { error, batch });
        }
        drop(failure);
        self.stop.store(true, Ordering::SeqCst);
        self.tell();
    }

    /// So many rows are about to be committed.
    pub(super) fn commit_begins(&self, rows: u64) {
        self.counters.rows_committing.fetch_add(rows, Ordering::SeqCst);
        self.watch.begins(rows);
    }

    /// It is known what became of a commit of so many rows.
    pub(super) fn commit_ended(&self, rows: u64, is_committed: bool) {
        self.watch.ended(rows, is_committed);
        self.counters.rows_committing.fetch_sub(rows, Ordering::SeqCst);
    }

    /// The number of the present epoch.
    pub(super) fn epoch(&self) -> u64 {
        lock(&self.pace).epoch
    }

    /// Notes a committed chunk, and the time since the writer's last commit, which was in this epoch.
    pub(super) fn note_pace(&self, epoch: u64, bytes: u64, busy: Duration) {
        let mut pace = lock(&self.pace);
        if pace.epoch == epoch {
            pace.chunks += 1;
            pace.bytes += bytes;
            pace.busy += busy;
        }
    }

    /// How fast the writers are.
    pub(super) fn pace(&self) -> Pace {
        *lock(&self.pace)
    }

    /// The number of writers changes: what was seen before does not count.
    pub(super) fn begin_epoch(&self) {
        let mut pace = lock(&self.pace);
        *pace = Pace { epoch: pace.epoch + 1, ..Pace::default() };
    }

    /// Notes a writer's connection.
    pub(super) fn note_line(&self, writer: usize, line: CancelHandle) {
        let mut lines = lock(&self.lines);
        if lines.len() <= writer {
            lines.resize_with(writer + 1, || None);
        }
        if let Some(slot) = lines.get_mut(writer) {
            *slot = Some(line);
        }
    }

    /// Cancels what the writers' connections wait for.
    pub(super) fn cancel_all(&self) {
        for line in lock(&self.lines).iter().flatten() {
            // A connection that is gone needs no cancelling.
            let _ = line.cancel();
        }
    }

    /// What ended the load.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    /// Wakes the thread that watches the load.
    pub(super) fn tell(&self) {
        // A full channel has news enough.
        let _ = self.news.try_send(());
    }

    pub(super) fn note_retry(&self, writer: usize, reason: Transient, error: &Error, waited: Duration) {
        self.counters.retries.fetch_add(1, Ordering::Relaxed);
        let mut notes = lock(&self.notes);
        if notes.retries.len() < NOTES_MAX {
            let (at, error) = (self.started.elapsed(), error.to_string());
            notes.retries.push(RetryNote { at, writer, reason: reason.to_string(), error, waited });
        }
    }

    pub(super) fn note_messages(&self, messages: &[String]) {
        let mut notes = lock(&self.notes);
        let room = MESSAGES_MAX.saturating_sub(notes.messages.len());
        notes.messages.extend(messages.iter().take(room).cloned());
    }

    /// The retries and the server's messages.
    pub(super) fn take_notes(&self) -> (Vec<RetryNote>, Vec<String>) {
        let notes = std::mem::take(&mut *lock(&self.notes));
        (notes.retries, notes.messages)
    }

    pub(super) fn progress(&self) -> Progress {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { rows_sent, rows_committed, rows_committing, batches, bytes, .. } = &self.counters;
        Progress {
            rows_sent: read(rows_sent),
            rows_committed: read(rows_committed),
            rows_committing: read(rows_committing),
            batches: read(batches),
            bytes_on_wire: read(bytes),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
