//! The runtime in which requests run, and the way from it to threads that wait.

use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Threads that decrypt and copy what the network brings.
const THREADS_MAX: usize = 4;
/// Requests for ranges at a time, of all readers.
const RANGES_MAX: usize = 24;

struct Running {
    process: u32,
    runtime: Runtime,
    ranges: Arc<Semaphore>,
}

static RUNTIME: OnceLock<Mutex<Option<Arc<Running>>>> = OnceLock::new();

/// Returns the runtime of this process; one that was forked makes its own.
fn running() -> io::Result<Arc<Running>> {
    let mut slot = RUNTIME.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(running) = slot.as_ref() {
        if running.process == process {
            return Ok(Arc::clone(running));
        }
        // The threads of the other process are not here: its runtime cannot be shut down.
        std::mem::forget(slot.take());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_multi_thread()
        .worker_threads(cores.min(THREADS_MAX))
        .thread_name("objects")
        .enable_all()
        .build()?;
    let ranges = Arc::new(Semaphore::new(RANGES_MAX));
    let made = Arc::new(Running { process, runtime, ranges });
    *slot = Some(Arc::clone(&made));
    Ok(made)
}

/// Returns the turns of requests for ranges.
pub(crate) fn ranges() -> io::Result<Arc<Semaphore>> {
    Ok(Arc::clone(&running()?.ranges))
}

/// Work that runs in the background. Dropped, it ends.
pub(crate) struct Task<T> {
    result: Receiver<io::Result<T>>,
    handle: AbortHandle,
}

/// Starts work on the runtime of object stores. The task that it returns gives the result.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<Task<T>> {
    let (sender, result) = sync_channel(1);
    let task = running()?.runtime.spawn(async move {
        // The send fails only if the receiver no longer waits.
        let _ = sender.send(work.await);
    });
    Ok(Task { result, handle: task.abort_handle() })
}

/// Runs something to its end.
pub(crate) fn run<T: Send + 'static>(
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<T> {
    spawn(work)?.wait()
}

impl<T> Task<T> {
    /// Waits for the end.
    pub(crate) fn wait(self) -> io::Result<T> {
        self.result.recv().unwrap_or_else(|_| Err(io::Error::other("a request has ended without an answer")))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}
