//! Interrupting a request from another thread.

use std::{
    io,
    sync::{Arc, TryLockError, Weak, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use tds::conversation::client::{Cancel, Phase};

use super::{Link, Shared};

/// How long to leave the lock to a thread that is decrypting.
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

    /// The same without keeping the connection open.
    pub(crate) fn downgrade(&self) -> WeakCanceller {
        WeakCanceller(Arc::downgrade(&self.shared))
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

/// A canceller of a connection that may be gone.
#[derive(Debug, Clone)]
pub(crate) struct WeakCanceller(Weak<Shared>);

impl WeakCanceller {
    pub(crate) fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    pub(crate) fn upgrade(&self) -> Option<Canceller> {
        self.0.upgrade().map(|shared| Canceller { shared })
    }
}

/// Sends the attention; the caller holds the link and the answer is awaited.
pub(super) fn send_attention(shared: &Shared, link: &mut Link) -> io::Result<()> {
    let packet = Phase::attention_packet();
    shared.set_phase(Phase::Attention);
    shared.waits().attention_sent = Some(Instant::now());
    link.write(shared, &mut [io::IoSlice::new(&packet)])
}
