//! The thread of a request: its connection's own thread while it is quick, another one once it computes or
//! waits. Changing the thread costs more than a small statement. A light request is therefore polled once
//! where it arrived. Before it plans a query, waits for a lock or does other work of unknown length, it
//! [leaves](Placement::leave). Its future yields once, and the connection hands it to the threads for work.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Thread of the running request: its connection's own, or another.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    on_connection: Arc<AtomicBool>,
}

impl Placement {
    /// Places a request on its connection's thread.
    #[inline]
    pub fn on_connection() -> Placement {
        Placement { on_connection: Arc::new(AtomicBool::new(true)) }
    }

    /// Returns true while the request is on its connection's thread.
    #[inline]
    pub fn is_on_connection(&self) -> bool {
        self.on_connection.load(Ordering::Relaxed)
    }

    /// Leaves the connection's thread; does nothing if the request runs elsewhere.
    pub async fn leave(&self) {
        let mut leaving = self.on_connection.swap(false, Ordering::Relaxed);
        poll_fn(|context| {
            if std::mem::take(&mut leaving) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Runs something that may wait (for a lock, for the disk) without holding up other tasks of the runtime. On the connection's
    /// thread it is known to be quick, and runs directly.
    pub fn waiting<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.is_on_connection() { work() } else { waiting(work) }
    }
}

/// Runs something that may wait (for a lock, for the disk) without holding up other tasks of the runtime.
pub fn waiting<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}
