//! Events of a request that is still on its connection's thread.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::session::response::Response;

/// Events kept while a request is on its connection's thread; more of them are worth a hop.
const EARLY_EVENTS_MAX: usize = 64;

/// Events of a request that is on its connection's thread, and so does not send them through a channel yet.
#[derive(Debug, Clone, Default)]
pub struct EarlyEvents {
    /// The events so far; `None` once they go through the channel.
    events: Arc<Mutex<Option<Vec<Response>>>>,
}

impl EarlyEvents {
    /// Makes an empty collection, open for events.
    pub fn new() -> EarlyEvents {
        EarlyEvents { events: Arc::new(Mutex::new(Some(Vec::new()))) }
    }

    /// Keeps an event; gives it back if it must go through the channel.
    pub fn push(&self, event: Response) -> Option<Response> {
        match &mut *self.events.lock() {
            Some(events) if events.len() < EARLY_EVENTS_MAX => {
                events.push(event);
                None
            }
            _ => Some(event),
        }
    }

    /// Takes all events, once; later ones go through the channel.
    pub fn take(&self) -> Vec<Response> {
        self.events.lock().take().unwrap_or_default()
    }
}
