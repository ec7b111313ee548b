//! A bound on what stores in memory hold, set by whoever has them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts memory.
pub trait MemoryQuota: fmt::Debug + Send + Sync {
    /// Whether there is room for so many bytes more.
    fn fits(&self, bytes: usize) -> bool;
    /// Counts bytes that are held from now on.
    fn take(&self, bytes: usize);
    /// Those are free again.
    fn give_back(&self, bytes: usize);
}

/// What one store counts in a quota; given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    quota: Option<Arc<dyn MemoryQuota>>,
    bytes: AtomicUsize,
    /// What was counted when all of it was looked at last.
    known: AtomicUsize,
}

/// So much more than was known is looked at again.
const RECOUNT_BYTES: usize = 16 << 20;

impl Counted {
    /// Nothing yet.
    pub fn new(quota: Option<Arc<dyn MemoryQuota>>) -> Counted {
        Counted { quota, bytes: AtomicUsize::new(0), known: AtomicUsize::new(0) }
    }

    /// Counts more; false if there is no room.
    pub fn take(&self, bytes: usize) -> bool {
        let Some(quota) = &self.quota else { return true };
        if !quota.fits(bytes) {
            return false;
        }
        self.take_anyway(bytes);
        true
    }

    /// Counts more, room or not.
    pub fn take_anyway(&self, bytes: usize) {
        if let Some(quota) = &self.quota {
            quota.take(bytes);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Gives back some of it.
    pub fn give_back(&self, bytes: usize) {
        if let Some(quota) = &self.quota {
            quota.give_back(bytes);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Whether there is room for more.
    pub fn fits(&self, bytes: usize) -> bool {
        self.quota.as_ref().is_none_or(|quota| quota.fits(bytes))
    }

    /// Looks at all that is held, if it has grown much or some of it was given up.
    pub fn recount(&self, shrunk: bool, held: impl FnOnce() -> usize) {
        let (bytes, known) = (self.bytes.load(Ordering::Relaxed), self.known.load(Ordering::Relaxed));
        if self.quota.is_none() || bytes == 0 || !shrunk && bytes / 2 < known.saturating_add(RECOUNT_BYTES) {
            return;
        }
        let held = held();
        self.known.store(held, Ordering::Relaxed);
        match held.checked_sub(bytes) {
            Some(more) => self.take_anyway(more),
            None => self.give_back(bytes - held),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.give_back(bytes);
    }
}
