//! The waits of one session, counted by the threads that work for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::waits::{WaitCount, WaitType, Waits};

/// The waits of one session.
#[derive(Debug, Default)]
pub struct SessionWaits {
    waits: Waits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Wait that is going on, and the time at which it began.
    now: Option<(WaitType, Instant)>,
    last: Option<WaitType>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<SessionWaits>>> = const { RefCell::new(None) };
}

/// The session outside comes back, even if work panics.
struct Outside(Option<Arc<SessionWaits>>);

impl Drop for Outside {
    fn drop(&mut self) {
        let outside = self.0.take();
        CURRENT.with(|current| current.replace(outside));
    }
}

impl SessionWaits {
    /// Runs work of the session on this thread.
    pub fn during<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let _outside = Outside(CURRENT.with(|current| current.replace(Some(Arc::clone(self)))));
        work()
    }

    /// Lists the types for which the session has waited.
    pub fn counts(&self) -> Vec<WaitCount> {
        self.waits.counts()
    }

    /// Notes that a wait begins; counting it ends it.
    pub fn begin(&self, wait: WaitType) {
        self.state.lock().now = Some((wait, Instant::now()));
    }

    /// Returns the current wait and its duration so far.
    pub fn now(&self) -> Option<(WaitType, Duration)> {
        self.state.lock().now.map(|(wait, since)| (wait, since.elapsed()))
    }

    /// Returns the type of the last wait.
    pub fn last(&self) -> Option<WaitType> {
        self.state.lock().last
    }
}

/// Notes that the session that this thread works for begins to wait, until [`ended`].
pub(crate) fn began(wait: WaitType) {
    of_current(|session| session.begin(wait));
}

/// Notes that a wait of the session that this thread works for has ended.
pub(super) fn ended(wait: WaitType, total: Duration, signal: Duration) {
    of_current(|session| {
        session.waits.add_here(wait, total, signal);
        *session.state.lock() = State { now: None, last: Some(wait) };
    });
}

fn of_current(note: impl FnOnce(&SessionWaits)) {
    CURRENT.with_borrow(|current| current.as_deref().map(note));
}
