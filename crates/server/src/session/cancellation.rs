//! Stopping a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the wire half sets when the client sends an attention or leaves; looked at between batches and between
/// statements.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the request to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the request is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
