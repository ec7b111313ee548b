//! A bound on what stores in memory hold, set by their owner.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the memory of several stores against a limit.
pub trait MemoryQuota: fmt::Debug + Send + Sync {
    /// Returns true if there is room for `bytes` more.
    fn fits(&self, bytes: usize) -> bool;
    /// Counts bytes that are held from now on.
    fn take(&self, bytes: usize);
    /// Releases `bytes` that were taken before.
    fn give_back(&self, bytes: usize);
}

const NO_MEMORY_LEFT: &str = "the memory for databases is used up";

/// Reason of a full volume in memory: the quota has no room.
#[derive(Debug, thiserror::Error)]
#[error("{NO_MEMORY_LEFT}")]
pub(crate) struct NoMemoryLeft;

/// Names for a message the reason why a volume has no room.
pub(crate) fn shortage(error: &io::Error) -> &'static str {
    match error.get_ref().is_some_and(|source| source.is::<NoMemoryLeft>()) {
        true => NO_MEMORY_LEFT,
        false => "the disk is full",
    }
}

/// Memory that one store has taken from a quota; given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    quota: Option<Arc<dyn MemoryQuota>>,
    bytes: AtomicUsize,
}

impl Counted {
    /// Creates the count of a store that holds nothing yet.
    pub fn new(quota: Option<Arc<dyn MemoryQuota>>) -> Counted {
        Counted { quota, bytes: AtomicUsize::new(0) }
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

    /// Returns true if the quota has room for `bytes` more.
    pub fn fits(&self, bytes: usize) -> bool {
        self.quota.as_ref().is_none_or(|quota| quota.fits(bytes))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.give_back(bytes);
    }
}
