//! Ends the requests of many connections from another thread.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The pause before requests are cancelled again: until then those that clean up go on undisturbed.
const PAUSE: Duration = Duration::from_secs(5);

/// A connection whose request can be ended from another thread.
pub(crate) trait Interruptible: fmt::Debug + Send + Sync {
    /// Ends the request under way, if there is one.
    fn interrupt(self: Arc<Self>);
}

/// Ends the requests of all connections that are made with it, see [`Config::interruption`](crate::Config). Cloneable, and usable from
/// any thread.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_asked: AtomicBool,
    cancelled: Mutex<Option<Instant>>,
    connections: Mutex<Vec<Weak<dyn Interruptible>>>,
}

impl Interruption {
    /// Cancels the requests under way: the threads that wait for them get [`Error::Cancelled`](crate::Error::Cancelled). Repeated within
    /// a few seconds it does nothing, so that work that has heard of it can clean up.
    pub fn interrupt(&self) {
        let State { is_asked, cancelled, connections } = &*self.0;
        is_asked.store(true, Ordering::SeqCst);
        {
            let mut cancelled = cancelled.lock().unwrap_or_else(PoisonError::into_inner);
            if cancelled.is_some_and(|at| at.elapsed() < PAUSE) {
                return;
            }
            *cancelled = Some(Instant::now());
        }
        let open: Vec<Arc<dyn Interruptible>> = {
            let connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
            connections.iter().filter_map(Weak::upgrade).collect()
        };
        open.into_iter().for_each(Interruptible::interrupt);
    }

    /// Returns true once the work is to end.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    pub(crate) fn register(&self, connection: Weak<dyn Interruptible>) {
        let mut connections = self.0.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(connection);
    }
}

/// Only the same one is equal.
impl PartialEq for Interruption {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interruption {}
