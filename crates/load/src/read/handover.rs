//! Passes the rows of ranges on: in order, with back pressure, or each range by itself.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use arrow::record_batch::RecordBatch;

use super::options::RANGE_BYTES;
use crate::shared_client::Waited;

/// The error type of a sink.
type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Takes the rows of ranges, each range from one thread at a time, different ranges from several.
pub trait RangeSink: Send + Sync {
    /// Waits until rows of this range may come. False: they are not wanted any more.
    fn begin(&self, range: usize) -> bool;

    /// Takes rows of a range. False: they are not wanted any more.
    ///
    /// # Errors
    /// Whatever goes wrong in taking them; it ends the read.
    fn push(&self, range: usize, batch: RecordBatch) -> Result<bool, SinkError>;

    /// Begins the range again. Returns false if rows of it have been handed on, and cannot be taken back.
    fn restart(&self, range: usize) -> bool;

    /// Ends a range that has no more rows.
    ///
    /// # Errors
    /// Whatever goes wrong in completing it; it ends the read.
    fn complete(&self, range: usize) -> Result<(), SinkError>;

    /// Ends all waits, because the read has failed or was given up.
    fn stop(&self);
}

/// Hands batches over in the order of their ranges. Readers that are ahead wait when their range's share of memory is
/// full, or when they are too many ranges ahead. The range whose turn it is never waits for another.
pub(crate) struct Handover {
    state: Mutex<State>,
    changed: Condvar,
    total: usize,
}

struct State {
    /// The range whose turn it is.
    head: usize,
    /// From `head` on.
    queues: VecDeque<Queue>,
    /// The number of ranges that may be open at a time.
    window: usize,
    stopped: bool,
    /// The consumer waits for rows.
    is_waited_for: bool,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<(RecordBatch, u64)>,
    bytes: u64,
    /// Rows of it have been taken.
    is_taken: bool,
    is_complete: bool,
}

impl Handover {
    pub(crate) fn new(total: usize, window: usize) -> Self {
        let state = State {
            head: 0,
            queues: VecDeque::new(),
            window: window.max(1),
            stopped: false,
            is_waited_for: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), total }
    }

    /// Lets so many ranges be open at a time.
    pub(crate) fn widen(&self, window: usize) {
        let mut state = self.lock();
        state.window = state.window.max(window);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns true if the consumer waits for rows.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.lock().is_waited_for
    }

    /// Waits at most `patience` (or until there is one) for the next batch; `None` behind the last, or after a stop.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Waited<Option<RecordBatch>> {
        let end = patience.map(|patience| Instant::now() + patience);
        let mut state = self.lock();
        loop {
            state.is_waited_for = false;
            if state.stopped || state.head >= self.total {
                return Waited::Ready(None);
            }
            if let Some(queue) = state.queues.front_mut() {
                if let Some((batch, bytes)) = queue.batches.pop_front() {
                    queue.bytes -= bytes;
                    queue.is_taken = true;
                    drop(state);
                    self.changed.notify_all();
                    return Waited::Ready(Some(batch));
                }
                if queue.is_complete {
                    state.queues.pop_front();
                    state.head += 1;
                    self.changed.notify_all();
                    continue;
                }
            }
            // Also while the consumer looks after something else for a moment, having found nothing.
            state.is_waited_for = true;
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Waited::NotYet,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready` says something of the state; `None` after a stop.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(found) = ready(&mut state) {
                drop(state);
                self.changed.notify_all();
                return Some(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// Returns the queue of a range that is open.
    fn queue(&mut self, range: usize) -> Option<&mut Queue> {
        let place = range.checked_sub(self.head)?;
        while self.queues.len() <= place {
            self.queues.push_back(Queue::default());
        }
        self.queues.get_mut(place)
    }
}

impl RangeSink for Handover {
    fn begin(&self, range: usize) -> bool {
        self.wait(|state| (range < state.head.saturating_add(state.window)).then_some(())).is_some()
    }

    fn push(&self, range: usize, batch: RecordBatch) -> Result<bool, SinkError> {
        let bytes = batch.get_array_memory_size() as u64;
        let mut batch = Some(batch);
        let pushed = self.wait(|state| {
            let queue = state.queue(range)?;
            // One batch always has room, however large.
            if queue.bytes > 0 && queue.bytes + bytes > RANGE_BYTES {
                return None;
            }
            queue.bytes += bytes;
            queue.batches.extend(batch.take().map(|batch| (batch, bytes)));
            Some(())
        });
        Ok(pushed.is_some())
    }

    fn restart(&self, range: usize) -> bool {
        let mut state = self.lock();
        match state.queue(range) {
            Some(queue) if !queue.is_taken => {
                *queue = Queue::default();
                true
            }
            _ => false,
        }
    }

    fn complete(&self, range: usize) -> Result<(), SinkError> {
        let mut state = self.lock();
        if let Some(queue) = state.queue(range) {
            queue.is_complete = true;
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
        time::Duration,
    };

    use arrow::{
        array::{AsArray, Int32Array, RecordBatch},
        datatypes::{DataType, Field, Int32Type, Schema},
    };
    use proptest::prelude::*;

    use super::{Handover, RangeSink};
    use crate::shared_client::Waited;

    fn batch(number: i32) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("n", DataType::Int32, false)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from(vec![number]))]).unwrap()
    }

    fn number(batch: &RecordBatch) -> i32 {
        batch.column(0).as_primitive::<Int32Type>().value(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn rows_come_in_order_whoever_reads_them(
            batches in proptest::collection::vec(0..6_usize, 1..30),
            readers in 1..6_usize,
            window in 1..8_usize,
        ) {
            let handover = Handover::new(batches.len(), window);
            let next = AtomicUsize::new(0);
            let mut seen = Vec::new();
            thread::scope(|scope| {
                for _ in 0..readers {
                    scope.spawn(|| {
                        loop {
                            let range = next.fetch_add(1, Ordering::SeqCst);
                            if range >= batches.len() || !handover.begin(range) {
                                break;
                            }
                            for index in 0..batches[range] {
                                assert!(handover.push(range, batch((range * 10 + index) as i32)).unwrap());
                            }
                            handover.complete(range).unwrap();
                        }
                    });
                }
                while let Waited::Ready(Some(batch)) = handover.next(None) {
                    seen.push(number(&batch));
                }
            });
            let expected: Vec<i32> = batches
                .iter()
                .enumerate()
                .flat_map(|(range, count)| (0..*count).map(move |index| (range * 10 + index) as i32))
                .collect();
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_range_begins_anew_only_before_its_rows_are_taken() {
        let handover = Handover::new(2, 2);
        assert!(handover.push(0, batch(1)).unwrap());
        assert!(handover.restart(0));
        assert!(handover.push(0, batch(2)).unwrap());
        assert!(handover.push(1, batch(3)).unwrap());
        assert!(matches!(handover.next(None), Waited::Ready(Some(batch)) if number(&batch) == 2));
        assert!(!handover.restart(0), "its rows are gone");
        assert!(handover.restart(1), "nobody has seen its rows");
        handover.complete(0).unwrap();
        assert!(matches!(handover.next(Some(Duration::ZERO)), Waited::NotYet));
        handover.stop();
        assert!(!handover.push(1, batch(4)).unwrap());
        assert!(matches!(handover.next(None), Waited::Ready(None)));
    }
}
