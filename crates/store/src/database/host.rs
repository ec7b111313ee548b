//! State that the databases of one server share: one limit for cached pages, and one table of locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::progress::OnRecovery;
use crate::cache::budget::CacheBudget;
use crate::disk::quota::MemoryQuota;
use crate::lock::LockSpace;
use crate::page::PAGE_BYTES;

/// The databases of one server in one process. Clones share it. It limits the memory of all their pages together, and finds
/// deadlocks through several of them ([`Engine::begin_for`](crate::engine::Engine::begin_for) says which transactions belong
/// together).
#[derive(Debug, Clone)]
pub struct Host {
    pub(crate) budget: Arc<CacheBudget>,
    pub(crate) locks: LockSpace,
    next: Arc<AtomicU64>,
    /// Memory that databases in memory may hold; None: no limit.
    pub(crate) quota: Option<Arc<dyn MemoryQuota>>,
    /// Called with the progress of a database's opening.
    pub(crate) on_recovery: Option<OnRecovery>,
}

impl Host {
    /// Creates a host of databases whose cached pages take up to `cache_bytes`, besides those in use.
    pub fn new(cache_bytes: usize) -> Host {
        Host {
            budget: Arc::new(CacheBudget::new((cache_bytes / PAGE_BYTES) as u64)),
            locks: LockSpace::default(),
            next: Arc::new(AtomicU64::new(1)),
            quota: None,
            on_recovery: None,
        }
    }

    /// Sets a function that is called with the progress of a database's opening.
    pub fn telling(mut self, on_recovery: Option<OnRecovery>) -> Host {
        self.on_recovery = on_recovery;
        self
    }

    /// Sets a quota for databases in memory: they are full when the quota has no room.
    pub fn with_memory_quota(mut self, quota: Option<Arc<dyn MemoryQuota>>) -> Host {
        self.quota = quota;
        self
    }

    /// Returns a number for the transactions of one unit of work in several databases.
    pub fn new_owner(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts the pages that all caches hold.
    pub fn cached_pages(&self) -> u64 {
        self.budget.used_pages()
    }
}
