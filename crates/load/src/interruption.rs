//! Ends the requests of many connections from another thread.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::transport::{Canceller, WeakCanceller};

/// The pause before requests are cancelled again: until then those that clean up go on undisturbed.
const PAUSE: Duration = Duration::from_secs(5);

/// Ends the requests of all connections that are made with it, see [`Config::interruption`](crate::Config). Cloneable, and usable from
/// any thread.
#[derive(Debug, Clone, Default)]
pub struct Interruption(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_asked: AtomicBool,
    cancelled: Mutex<Option<Instant>>,
    connections: Mutex<Vec<WeakCanceller>>,
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
        let open: Vec<Canceller> = {
            let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
            connections.retain(WeakCanceller::is_open);
            connections.iter().filter_map(WeakCanceller::upgrade).collect()
        };
        for connection in open {
            // A connection that is gone has no request.
            let _ = connection.cancel();
        }
    }

    /// Whether work is to end.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    pub(crate) fn register(&self, connection: &Canceller) {
        let mut connections = self.0.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(WeakCanceller::is_open);
        connections.push(connection.downgrade());
    }
}

/// Only the same one is equal.
impl PartialEq for Interruption {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interruption {}
