//! The queue between readers and writers. It hands the chunks of a lane to one writer at a time.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::chunk::{Chunk, Queued};

/// The interval at which waiting threads check whether the load is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Chunks on their way from readers to writers.
pub(super) struct ChunkQueue<'a> {
    state: Mutex<State>,
    changed: Condvar,
    /// The load is to stop: nobody waits any longer.
    stop: &'a AtomicBool,
    /// Chunks without a lane that may wait.
    chunks_max: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    /// The bytes of the waiting chunks that have a lane.
    lane_bytes: u64,
    readers: usize,
    /// Nobody takes chunks any more.
    is_closed: bool,
    /// The writer of each lane that has one, and the number of its chunks that are not done.
    lanes: BTreeMap<usize, (usize, usize)>,
    /// The lane of the latest chunk of each writer that has lanes.
    latest: BTreeMap<usize, usize>,
    /// Writers that have no lane and wait for a chunk.
    idle: usize,
}

/// The end of a queue that a reader has. When all are dropped, the queue ends.
pub(super) struct ReadingEnd<'q>(&'q ChunkQueue<'q>);

/// Closes the queue for readers when it is dropped.
pub(super) struct WritingEnd<'q>(&'q ChunkQueue<'q>);

/// All writers have ended.
#[derive(Debug)]
pub(super) struct Unwanted;

/// The answer to a writer that asks for work.
pub(super) enum Taken {
    /// A chunk, or why there are no more of a source.
    Next(Queued),
    /// All sources are read.
    End,
    /// The load is to stop.
    Stopped,
}

impl<'a> ChunkQueue<'a> {
    /// Makes a queue with room for `chunks_max` chunks without a lane. Senders limit the chunks of lanes.
    pub(super) fn new(chunks_max: usize, stop: &'a AtomicBool) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), stop, chunks_max: chunks_max.max(1) }
    }

    /// Makes the end of one more reader.
    pub(super) fn reading_end(&'a self) -> ReadingEnd<'a> {
        self.lock().readers += 1;
        ReadingEnd(self)
    }

    /// Makes the end of all writers.
    pub(super) fn writing_end(&'a self) -> WritingEnd<'a> {
        WritingEnd(self)
    }

    /// Waits for a chunk for this writer.
    ///
    /// A writer that is busy may take a chunk ahead. It goes on with a lane that it has, and takes another one only while no
    /// writer is idle.
    pub(super) fn take(&self, writer: usize) -> Taken {
        let mut state = self.lock();
        let is_idle = !state.latest.contains_key(&writer);
        state.idle += usize::from(is_idle);
        let taken = loop {
            if self.stop.load(Ordering::Relaxed) {
                break Taken::Stopped;
            }
            let place = state.next_for(writer, is_idle);
            if let Some(queued) = place.and_then(|place| state.waiting.remove(place)) {
                break Taken::Next(queued);
            }
            if state.readers == 0 && state.waiting.is_empty() {
                break Taken::End;
            }
            // A busy writer may have become idle: its last chunk was done meanwhile.
            if !is_idle && !state.latest.contains_key(&writer) {
                drop(state);
                return self.take(writer);
            }
            state = self.wait(state);
        };
        state.idle -= usize::from(is_idle);
        if let Taken::Next(Ok(Chunk { lane: Some(lane), bytes, .. })) = &taken {
            state.lane_bytes = state.lane_bytes.saturating_sub(*bytes);
            state.lanes.entry(*lane).or_insert((writer, 0)).1 += 1;
            state.latest.insert(writer, *lane);
        }
        self.changed.notify_all();
        taken
    }

    /// Notes that a chunk of a lane is committed, or given up. When none of the writer's is left, others may have the
    /// lane.
    pub(super) fn done(&self, writer: usize, lane: usize) {
        let mut state = self.lock();
        if let Some((_, chunks)) = state.lanes.get_mut(&lane) {
            *chunks -= 1;
            if *chunks == 0 {
                state.lanes.remove(&lane);
            }
        }
        if !state.lanes.values().any(|(owner, _)| *owner == writer) {
            state.latest.remove(&writer);
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl State {
    /// Finds the first chunk that the writer may have.
    fn next_for(&self, writer: usize, is_idle: bool) -> Option<usize> {
        let others_wait = self.idle > usize::from(is_idle);
        let latest = self.latest.get(&writer);
        self.waiting.iter().enumerate().position(|(place, queued)| match queued {
            // The end of a source comes behind the rows before it.
            Err(_) => place == 0,
            Ok(Chunk { lane: None, .. }) => true,
            Ok(Chunk { lane: Some(lane), .. }) => match self.lanes.get(lane) {
                // Its other lanes it leaves to those who wait.
                Some((owner, _)) => *owner == writer && (!others_wait || latest == Some(lane)),
                None => is_idle || !others_wait,
            },
        })
    }
}

impl ReadingEnd<'_> {
    /// Hands a chunk over, and waits while too many wait: chunks without a lane by their number, those of lanes by their bytes.
    ///
    /// # Errors
    /// All writers have ended, or the load is to stop.
    pub(super) fn send(&self, queued: Queued, lane_bytes_max: u64) -> Result<(), Unwanted> {
        let queue = self.0;
        let mut state = queue.lock();
        loop {
            if state.is_closed || queue.stop.load(Ordering::Relaxed) {
                return Err(Unwanted);
            }
            let has_room = match &queued {
                Ok(Chunk { lane: Some(_), bytes, .. }) => {
                    state.lane_bytes == 0 || state.lane_bytes + bytes <= lane_bytes_max
                }
                _ => state.waiting.len() < queue.chunks_max,
            };
            if has_room {
                break;
            }
            state = queue.wait(state);
        }
        if let Ok(Chunk { lane: Some(_), bytes, .. }) = &queued {
            state.lane_bytes += bytes;
        }
        state.waiting.push_back(queued);
        queue.changed.notify_all();
        Ok(())
    }
}

impl Drop for ReadingEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().readers -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for WritingEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
