//! The state that the threads of a load share.

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
    load_error::{FailedBatch, Progress},
    report::MESSAGES_MAX,
    retry::{RetryPolicy, Transient},
};

/// Bytes of rows by lane that wait for writers or for more rows, for each writer.
const LANE_BYTES: u64 = 16 << 20;
/// Retries that are described; all are counted.
const NOTES_MAX: usize = 1000;

/// The thread that cuts rows into transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The reader: a chunk is handed over when it has all its rows, to whichever writer is free.
    Reader,
    /// The only writer, by its pace: rows are sent as they are read. The reader cuts where rows are left out.
    Writer,
    /// The encoder of the only writer: rows are sent as they are read, and a transaction may be larger than memory.
    Encoder,
}

/// The terms of a load that do not depend on its number of writers.
pub(super) struct Terms<'a> {
    pub(super) ledger: Option<&'a Ledger>,
    pub(super) retry: RetryPolicy,
    pub(super) watch: &'a dyn CommitWatch,
    pub(super) size: ChunkSize,
    pub(super) cut: Cut,
    pub(super) holds: bool,
    pub(super) is_within: bool,
}

/// The state of a load with any number of writers.
pub(super) struct Shared<'a> {
    pub(super) ledger: Option<&'a Ledger>,
    pub(super) retry: RetryPolicy,
    pub(super) watch: &'a dyn CommitWatch,
    pub(super) cut: Cut,
    /// Rows are held until they are committed, since they may have to be sent again.
    pub(super) holds: bool,
    /// The load is part of a transaction of the caller's, who ends it.
    pub(super) is_within: bool,
    pub(super) started: Instant,
    /// Nobody begins anything new: something failed. Writers finish the chunk that they have.
    pub(super) stop: AtomicBool,
    /// Chunks are broken off too: the caller stops the load, or its time is over.
    pub(super) break_off: AtomicBool,
    /// Writers with a number from here on end after their chunk.
    pub(super) writers_wanted: AtomicUsize,
    /// Writers that have sent rows, and those that could not connect.
    pub(super) writers_running: AtomicUsize,
    pub(super) writers_lost: AtomicUsize,
    /// Writers whose work is done, whatever came of it.
    pub(super) writers_ended: AtomicUsize,
    /// Readers at work.
    pub(super) readers: AtomicUsize,
    pub(super) counters: Counters,
    pub(super) size: ChunkSize,
    pace: Mutex<Pace>,
    /// Hears of every chunk and of every writer that ends.
    pub(super) news: Sender<()>,
    /// Microseconds from the start to the end of the last writer's work.
    ended: AtomicU64,
    failure: Mutex<Option<Failure>>,
    notes: Mutex<Notes>,
    /// The handle that cancels each writer's request, by the writer's number.
    lines: Mutex<Vec<Option<CancelHandle>>>,
}

/// Running totals.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) rows_sent: AtomicU64,
    pub(super) rows_committed: AtomicU64,
    pub(super) rows_committing: AtomicU64,
    /// Committed rows that the server has dropped, since their keys were there.
    pub(super) rows_ignored: AtomicU64,
    /// Rows of which it is not known whether they are committed.
    pub(super) rows_in_doubt: AtomicU64,
    /// Rows that an earlier run had committed.
    pub(super) rows_skipped: AtomicU64,
    pub(super) batches: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) retries: AtomicU64,
}

/// The speed of the writers while their number is the same.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pace {
    /// Grows with every change of their number.
    pub(crate) epoch: u64,
    /// Chunks that were begun and committed since.
    pub(crate) chunks: usize,
    pub(crate) bytes: u64,
    /// The time that they took, those of different writers added up.
    pub(crate) busy: Duration,
}

/// The error that ended a load.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) source: Option<usize>,
    pub(super) batch: Option<Box<FailedBatch>>,
}

#[derive(Debug, Default)]
struct Notes {
    retries: Vec<RetryNote>,
    messages: Vec<String>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(terms: Terms<'a>, news: Sender<()>) -> Self {
        let Terms { ledger, retry, watch, size, cut, holds, is_within } = terms;
        Self {
            ledger,
            retry,
            watch,
            cut,
            holds,
            is_within,
            started: Instant::now(),
            stop: AtomicBool::new(false),
            break_off: AtomicBool::new(false),
            writers_wanted: AtomicUsize::new(0),
            writers_running: AtomicUsize::new(0),
            writers_lost: AtomicUsize::new(0),
            writers_ended: AtomicUsize::new(0),
            readers: AtomicUsize::new(1),
            lines: Mutex::default(),
            counters: Counters::default(),
            size,
            pace: Mutex::default(),
            news,
            ended: AtomicU64::new(0),
            failure: Mutex::new(None),
            notes: Mutex::default(),
        }
    }

    /// Ends the load: no chunk is begun any more. Of several failures the first is reported.
    pub(super) fn fail(&self, error: Error, source: Option<usize>, batch: Option<Box<FailedBatch>>) {
        let is_cancelled = is_cancelled(&error);
        let mut failure = lock(&self.failure);
        if failure.is_none() {
            *failure = Some(Failure { error, source, batch });
        }
        drop(failure);
        self.stop.store(true, Ordering::SeqCst);
        if is_cancelled {
            self.break_off();
        }
        self.tell();
    }

    /// Has every writer break its chunk off.
    pub(super) fn break_off(&self) {
        self.stop.store(true, Ordering::SeqCst);
        if !self.break_off.swap(true, Ordering::SeqCst) {
            self.cancel_all();
        }
    }

    /// Returns the most bytes of a reader's open chunks of lanes; as much may wait in the queue for each reader.
    pub(super) fn lane_bytes_max(&self) -> u64 {
        let writers = self.writers_wanted.load(Ordering::SeqCst).max(1) as u64;
        let readers = self.readers.load(Ordering::SeqCst).max(1) as u64;
        LANE_BYTES * writers / (2 * readers)
    }

    /// Notes that rows are about to be committed.
    pub(super) fn commit_begins(&self, rows: u64) {
        self.counters.rows_committing.fetch_add(rows, Ordering::SeqCst);
        self.watch.begins(rows);
    }

    /// Notes the end of a commit of rows, with its result.
    pub(super) fn commit_ended(&self, rows: u64, is_committed: bool) {
        self.watch.ended(rows, is_committed);
        self.counters.rows_committing.fetch_sub(rows, Ordering::SeqCst);
    }

    /// Notes that a writer has loaded its last rows.
    pub(super) fn note_end(&self) {
        let taken = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ended.fetch_max(taken, Ordering::SeqCst);
    }

    /// Returns the time until the last writer had loaded its last rows. Questions to its session afterwards do not
    /// count.
    pub(super) fn ended(&self) -> Duration {
        Duration::from_micros(self.ended.load(Ordering::SeqCst))
    }

    /// Returns the number of the present epoch.
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

    /// Returns the present speed of the writers.
    pub(super) fn pace(&self) -> Pace {
        *lock(&self.pace)
    }

    /// Begins an epoch, because the number of writers changes: earlier observations no longer count.
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
    fn cancel_all(&self) {
        for line in lock(&self.lines).iter().flatten() {
            // A connection that is gone needs no cancelling.
            let _ = line.cancel();
        }
    }

    /// Takes the error that ended the load.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    /// Wakes the thread that watches the load.
    pub(super) fn tell(&self) {
        // A full channel has news enough.
        let _ = self.news.try_send(());
    }

    pub(super) fn note_retry(&self, writer: usize, reason: Transient, error: &Error, waited: Duration) {
        let number = self.counters.retries.fetch_add(1, Ordering::Relaxed) + 1;
        let (at, error) = (self.started.elapsed(), error.to_string());
        let note = RetryNote { at, writer, reason: reason.to_string(), error, waited };
        self.watch.tries_again(number, &note);
        let mut notes = lock(&self.notes);
        if notes.retries.len() < NOTES_MAX {
            notes.retries.push(note);
        }
    }

    pub(super) fn note_messages(&self, messages: &[String]) {
        let mut notes = lock(&self.notes);
        let room = MESSAGES_MAX.saturating_sub(notes.messages.len());
        notes.messages.extend(messages.iter().take(room).cloned());
    }

    /// Takes the retries and the server's messages.
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

/// Returns true if the caller has stopped the load.
fn is_cancelled(error: &Error) -> bool {
    match error {
        Error::Cancelled => true,
        Error::Source(source) => matches!(source.downcast_ref(), Some(Error::Cancelled)),
        _ => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
