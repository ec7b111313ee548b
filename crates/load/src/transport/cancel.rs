//! Interrupting a request from another thread.

use std::{
    io,
    sync::{Arc, TryLockError, Weak, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use tds::conversation::client::{Cancel, Phase};

use super::{Link, Shared};
use crate::interruption::Interruptible;

/// The time for which the lock is left to a thread that is decrypting.
const PAUSE: Duration = Duration::from_micros(200);

/// Stops the request that its connection is working on. Cloneable, and usable from any thread.
#[derive(Debug, Clone)]
pub struct Canceller {
    shared: Arc<Shared>,
}

impl Canceller {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Returns a handle that can interrupt a request without keeping the connection open.
    pub(crate) fn interruptible(&self) -> Weak<dyn Interruptible> {
        let shared: Weak<Shared> = Arc::downgrade(&self.shared);
        shared
    }

    /// Bytes received since connecting.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.shared.bytes_received.load(Ordering::Relaxed)
    }

    /// Asks the server to stop (MS-TDS 2.2.1.7). While the answer is awaited, an attention is sent at once; while a
    /// request is still being written, its writer ends it. Without a request under way nothing happens. The thread
    /// that waits for the request gets [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn cancel(&self) -> io::Result<()> {
        self.shared.cancel_requested.store(true, Ordering::SeqCst);
        // Repeated requests count from the first one.
        self.shared.waits().cancel_asked.get_or_insert_with(Instant::now);
        loop {
            if self.shared.phase().cancel() != Cancel::SendAttention {
                return Ok(());
            }
            let mut link = match self.shared.link.try_lock() {
                Ok(link) => link,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    thread::sleep(PAUSE);
                    continue;
                }
            };
            if self.shared.phase().cancel() == Cancel::SendAttention {
                return send_attention(&self.shared, &mut link);
            }
        }
    }
}

impl Interruptible for Shared {
    fn interrupt(self: Arc<Self>) {
        // A connection that is gone has no request.
        let _ = Canceller { shared: self }.cancel();
    }
}

/// Sends the attention; the caller holds the link and the answer is awaited.
pub(super) fn send_attention(shared: &Shared, link: &mut Link) -> io::Result<()> {
    let packet = Phase::attention_packet();
    shared.set_phase(Phase::Attention);
    shared.waits().attention_sent = Some(Instant::now());
    link.write(shared, &mut [io::IoSlice::new(&packet)])
}
