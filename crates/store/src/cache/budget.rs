//! One limit for the caches of several databases. A cache that was not used for a while gives way first, then the largest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::buffer::BufferCache;

/// Limit on the pages that several caches hold together.
#[derive(Debug)]
pub(crate) struct CacheBudget {
    limit_pages: u64,
    used: AtomicU64,
    /// Pages that have entered any cache: the clock that measures idleness.
    entered: AtomicU64,
    caches: Mutex<Vec<Weak<BufferCache>>>,
}

/// Times that the largest cache is asked to give way before the budget is exceeded: its pages may all be in
/// use.
const ATTEMPTS: usize = 4;

impl CacheBudget {
    pub fn new(limit_pages: u64) -> Self {
        Self { limit_pages, used: AtomicU64::new(0), entered: AtomicU64::new(0), caches: Mutex::default() }
    }

    pub fn limit_pages(&self) -> u64 {
        self.limit_pages
    }

    pub fn used_pages(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub fn join(&self, cache: &Arc<BufferCache>) {
        let mut caches = self.caches.lock();
        caches.retain(|cache| cache.strong_count() > 0);
        caches.push(Arc::downgrade(cache));
    }

    pub fn add(&self, pages: u64) {
        self.used.fetch_add(pages, Ordering::Relaxed);
        self.entered.fetch_add(pages, Ordering::Relaxed);
    }

    pub fn now(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    pub fn remove(&self, pages: u64) {
        self.used.fetch_sub(pages, Ordering::Relaxed);
    }

    /// Makes room if there are more pages than allowed. The caller must hold no part of a cache.
    pub fn relieve(&self) {
        for _ in 0..ATTEMPTS {
            if self.used_pages() <= self.limit_pages {
                return;
            }
            let caches: Vec<_> = self.caches.lock().iter().filter_map(Weak::upgrade).collect();
            let idle_since = self.now().saturating_sub(self.limit_pages / 4);
            let rank = |cache: &&Arc<BufferCache>| match cache.frames() {
                0 => (false, 0),
                frames => (cache.last_used() < idle_since, frames),
            };
            if let Some(cache) = caches.iter().max_by_key(rank) {
                cache.give_way();
            }
        }
    }
}
