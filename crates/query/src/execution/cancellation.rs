//! Stopping a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::AbortHandle;
use tokio::sync::Notify;

use tsql::SqlError;
use tsql::errors;

/// A flag that the wire half sets when the client sends an attention or leaves. It is checked between batches and between
/// statements, ends waits for locks, and stops queries.
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    flag: Arc<AtomicBool>,
    set: Arc<Notify>,
}

impl Cancellation {
    /// Makes a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the request to stop.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Release);
        self.set.notify_waiters();
    }

    /// Returns true once the request is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// Returns true if both cancel the same request.
    pub fn is_same(&self, other: &Cancellation) -> bool {
        Arc::ptr_eq(&self.flag, &other.flag)
    }

    /// Returns the bare flag, for code that does not know requests.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Returns the result of `work`, or error 3617 if the request is cancelled first; `work` is dropped then.
    pub async fn or<T>(&self, work: impl Future<Output = Result<T, SqlError>>) -> Result<T, SqlError> {
        // Created before the flag is read, so that no call of `cancel` falls between the two.
        let set = self.set.notified();
        if self.is_cancelled() {
            return Err(errors::CANCELLED.error());
        }
        tokio::select! {
            biased;
            () = set => Err(errors::CANCELLED.error()),
            done = work => done,
        }
    }
}

/// Cancels a request and aborts its task when it goes out of scope, however the answering of the request ends.
pub struct StopOnDrop {
    /// The cancellation to trigger.
    pub cancellation: Cancellation,
    /// The request's task, if it has its own.
    pub task: Option<AbortHandle>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.cancellation.cancel();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
