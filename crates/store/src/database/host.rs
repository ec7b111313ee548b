//! What the databases of one server share: one limit of the memory for pages, and one view of who waits for whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::progress::OnRecovery;
use crate::cache::budget::CacheBudget;
use crate::disk::quota::MemoryQuota;
use crate::lock::LockSpace;
use crate::page::PAGE_BYTES;

/// Several databases that are open in one process as those of one server. Clones share it.
///
/// Their pages together take no more memory than it says, and a circle of waits that runs through several of them is found
/// ([`Engine::begin_for`](crate::engine::Engine::begin_for) says which transactions are one).
#[derive(Debug, Clone)]
pub struct Host {
    pub(crate) budget: Arc<CacheBudget>,
    pub(crate) locks: LockSpace,
    next: Arc<AtomicU64>,
    /// What databases in memory may hold.
    pub(crate) quota: Option<Arc<dyn MemoryQuota>>,
    /// Called with the progress of a database's opening.
    pub(crate) on_recovery: Option<OnRecovery>,
}

impl Host {
    /// For databases whose pages in memory take up to `cache_bytes`, but for those in use.
    pub fn new(cache_bytes: usize) -> Host {
        Host {
            budget: Arc::new(CacheBudget::new((cache_bytes / PAGE_BYTES) as u64)),
            locks: LockSpace::default(),
            next: Arc::new(AtomicU64::new(1)),
            quota: None,
            on_recovery: None,
        }
    }

    /// This host, which calls `on_recovery` with the progress of a database's opening.
    pub fn telling(mut self, on_recovery: Option<OnRecovery>) -> Host {
        self.on_recovery = on_recovery;
        self
    }

    /// This host, whose databases in memory count against a quota and are full when it has no room.
    pub fn with_memory_quota(mut self, quota: Option<Arc<dyn MemoryQuota>>) -> Host {
        self.quota = quota;
        self
    }

    /// A number for the transactions of one unit of work in several databases.
    pub fn new_owner(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Pages that all caches hold.
    pub fn cached_pages(&self) -> u64 {
        self.budget.used_pages()
    }
}
