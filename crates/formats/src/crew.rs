//! Threads that do the jobs of a queue side by side and hand over the results in the queue's order.

use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::FormatError;
use crate::cpu_time::thread_cpu_time;

/// A crew at work. Each thread holds one job, and at most as many results wait for the caller as there are threads.
pub(crate) struct Crew<T> {
    /// Results to come, in the order of the jobs. `None` once the crew is dismissed.
    turns: Option<Receiver<Turn<T>>>,
    threads: Vec<JoinHandle<()>>,
    cpu: Duration,
}

/// Result of one job, with the CPU time that it took, once it is done.
type Turn<T> = Receiver<(T, Duration)>;

/// The jobs, and where the caller hears of them. One lock keeps both in one order.
struct Queue<I, T> {
    jobs: I,
    turns: SyncSender<Turn<T>>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts a thread for each of `workers`, which do `jobs` until there are none.
    ///
    /// # Errors
    /// The system has no threads left.
    pub(crate) fn start<I, W>(jobs: I, workers: Vec<W>) -> Result<Self, FormatError>
    where
        I: Iterator + Send + 'static,
        W: FnMut(I::Item) -> T + Send + 'static,
    {
        let (sender, turns) = sync_channel(workers.len());
        let queue = Arc::new(Mutex::new(Queue { jobs, turns: sender }));
        let mut crew = Self { turns: Some(turns), threads: Vec::new(), cpu: Duration::ZERO };
        for mut worker in workers {
            let queue = Arc::clone(&queue);
            let thread = thread::Builder::new().name("reader".to_owned());
            crew.threads.push(thread.spawn(move || work(&queue, &mut worker))?);
        }
        Ok(crew)
    }

    /// Returns the result of the next job; `None` behind the last, or if a thread has panicked.
    pub(crate) fn next(&mut self) -> Option<T> {
        let (result, cpu) = self.turns.as_ref()?.recv().ok()?.recv().ok()?;
        self.cpu += cpu;
        Some(result)
    }

    /// Takes the CPU time of the results that were handed over since the last call.
    pub(crate) fn take_cpu(&mut self) -> Duration {
        std::mem::take(&mut self.cpu)
    }
}

impl<T> Drop for Crew<T> {
    fn drop(&mut self) {
        // Threads that wait for a turn learn that it will not be taken.
        self.turns = None;
        for thread in self.threads.drain(..) {
            // A panic was heard of as a missing result.
            let _ = thread.join();
        }
    }
}

/// Returns the number of threads that may read each of `files` files at a time.
pub fn reading_threads(files: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    (processors / files.max(1)).clamp(1, THREADS_MAX)
}

/// Maximum number of threads for one file. More of them would read faster than any target writes.
const THREADS_MAX: usize = 4;

fn work<I: Iterator, T>(queue: &Mutex<Queue<I, T>>, worker: &mut impl FnMut(I::Item) -> T) {
    let mut since = thread_cpu_time();
    loop {
        let (slot, turn) = sync_channel(1);
        let job = {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(job) = queue.jobs.next() else { return };
            if queue.turns.send(turn).is_err() {
                return;
            }
            job
        };
        let result = worker(job);
        let now = thread_cpu_time();
        if slot.send((result, now.saturating_sub(since))).is_err() {
            return;
        }
        since = now;
    }
}
