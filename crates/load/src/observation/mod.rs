//! Observes a running load: its speed, its number of writers, the waits of its sessions, and how much the database logs. The
//! server is asked only if the caller allows it, and a load never depends on the answer.

mod answers;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub use self::answers::SessionWait;
use self::answers::{SessionWaits, log_bytes, session_waits};
use crate::{
    client::Client,
    load_error::Progress,
    parallel::{CommitWatch, CommittedBatch, RetryNote},
    report::LoadReport,
};

/// Samples that are kept; when there are more, every second one goes.
const SAMPLES_MAX: usize = 512;
/// Time between two samples, until that happens for the first time.
const SAMPLE_TIME: Duration = Duration::from_millis(50);

/// Watches a load, and passes all events on to another watch.
pub struct Observation<'a> {
    inner: &'a dyn CommitWatch,
    started: Instant,
    asks: bool,
    log_before: Option<u64>,
    /// The waits of the caller's session, which one of the writers uses.
    waits_before: SessionWaits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    samples: Vec<Sample>,
    sample_time: Duration,
    writers: usize,
    changes: Vec<WriterChange>,
    waits: Vec<SessionWait>,
    told_waits: bool,
}

/// The progress of a load at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The time since the start of the load.
    pub at: Duration,
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows committed.
    pub rows_committed: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// A writer came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterChange {
    /// The time since the start of the load.
    pub at: Duration,
    /// Number of writers from then on.
    pub writers: usize,
}

/// Everything that was observed of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Progress over time.
    pub samples: Vec<Sample>,
    /// Writers over time.
    pub writers: Vec<WriterChange>,
    /// The waits of the writers' sessions, the longest first; `None` if the server does not show them.
    pub waits: Option<Vec<SessionWait>>,
    /// Bytes that were written to the database's log, by other sessions too; `None` if the server does not show them.
    pub log_bytes: Option<u64>,
}

impl<'a> Observation<'a> {
    /// Begins to observe a load. With `asks` the server is asked for waits and log, which costs each writer one more round trip.
    pub fn new(inner: &'a dyn CommitWatch, asks: bool) -> Self {
        let state = State { sample_time: SAMPLE_TIME, ..State::default() };
        Self {
            inner,
            started: Instant::now(),
            asks,
            log_before: None,
            waits_before: SessionWaits::default(),
            state: Mutex::new(state),
        }
    }

    /// Begins the load: records the size of the log of `database`, and what the session has waited for before.
    pub fn begin(&mut self, client: &mut Client, database: &str) {
        if self.asks {
            self.log_before = log_bytes(client, database);
            self.waits_before = session_waits(client).unwrap_or_default();
        }
        self.started = Instant::now();
    }

    /// Records the progress of the load.
    pub fn note(&self, progress: &Progress) {
        let at = self.started.elapsed();
        let mut state = self.state();
        if state.samples.last().is_some_and(|last| at < last.at + state.sample_time) {
            return;
        }
        state.push(Sample {
            at,
            rows_sent: progress.rows_sent,
            rows_committed: progress.rows_committed,
            bytes: progress.bytes_on_wire,
        });
    }

    /// Ends with the load.
    pub fn end(self, client: &mut Client, database: &str, report: &LoadReport) -> Observed {
        let at = self.started.elapsed();
        let log_after = self.log_before.and_then(|before| Some((before, log_bytes(client, database)?)));
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let LoadReport { rows, bytes_on_wire: bytes, .. } = *report;
        state.push(Sample { at, rows_sent: rows, rows_committed: rows, bytes });
        state.waits.sort_by(|one, other| {
            other.milliseconds.cmp(&one.milliseconds).then_with(|| one.wait_type.cmp(&other.wait_type))
        });
        Observed {
            samples: state.samples,
            writers: state.changes,
            waits: state.told_waits.then_some(state.waits),
            log_bytes: log_after.and_then(|(before, after)| after.checked_sub(before)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writers_change(&self, change: impl FnOnce(usize) -> usize) {
        let at = self.started.elapsed();
        let mut state = self.state();
        state.writers = change(state.writers);
        let writers = state.writers;
        state.changes.push(WriterChange { at, writers });
    }
}

impl State {
    fn push(&mut self, sample: Sample) {
        if self.samples.len() >= SAMPLES_MAX {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.sample_time *= 2;
        }
        self.samples.push(sample);
    }
}

impl CommitWatch for Observation<'_> {
    fn begins(&self, rows: u64) {
        self.inner.begins(rows);
    }

    fn ended(&self, rows: u64, committed: bool) {
        self.inner.ended(rows, committed);
    }

    fn batch(&self, batch: &CommittedBatch) {
        self.inner.batch(batch);
    }

    fn tries_again(&self, number: u64, note: &RetryNote) {
        self.inner.tries_again(number, note);
    }

    fn writer_begins(&self) {
        self.inner.writer_begins();
        self.writers_change(|writers| writers + 1);
    }

    fn writer_ends(&self, client: Option<&mut Client>) {
        self.writers_change(|writers| writers.saturating_sub(1));
        let Some(client) = client else { return self.inner.writer_ends(None) };
        if self.asks
            && let Some(waits) = session_waits(client)
        {
            let mut state = self.state();
            state.told_waits = true;
            for wait in waits.since(&self.waits_before) {
                match state.waits.iter_mut().find(|known| known.wait_type == wait.wait_type) {
                    Some(known) => {
                        known.count = known.count.saturating_add(wait.count);
                        known.milliseconds = known.milliseconds.saturating_add(wait.milliseconds);
                    }
                    None => state.waits.push(wait),
                }
            }
        }
        self.inner.writer_ends(Some(client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_few_and_keep_their_order() {
        let mut state = State { sample_time: SAMPLE_TIME, ..State::default() };
        for number in 0..10_000_u64 {
            let at = Duration::from_millis(number);
            state.push(Sample { at, rows_sent: number, rows_committed: number, bytes: number });
        }
        assert!(state.samples.len() <= SAMPLES_MAX, "{}", state.samples.len());
        assert!(state.samples.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert_eq!(state.samples[0].rows_sent, 0);
        assert_eq!(state.samples.last().map(|sample| sample.rows_sent), Some(9_999));
    }

    #[test]
    fn writers_are_counted_as_they_come_and_go() {
        let watch = Observation::new(&(), false);
        watch.writer_begins();
        watch.writer_begins();
        watch.writer_ends(None);
        let writers: Vec<usize> = watch.state().changes.iter().map(|change| change.writers).collect();
        assert_eq!(writers, [1, 2, 1]);
    }
}
