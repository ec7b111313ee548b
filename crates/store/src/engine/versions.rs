//! Pages as they were: what a snapshot reads of a table that is being changed.
//!
//! A page is changed by one open transaction at a time, which has it locked (bulk writers fill pages of their own), so it has at most one
//! uncommitted state, and versions of pages are as good as versions of rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::page::{Page, PageId};

/// Older versions of pages, in memory.
#[derive(Debug, Default)]
pub struct Versions {
    state: Mutex<State>,
    /// Grows whenever a page may be about to change, or to have changed back.
    epoch: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Oldest first.
    pages: HashMap<PageId, Vec<Version>>,
    /// Pages that an open transaction has changed already.
    touched: HashMap<u64, HashSet<PageId>>,
    /// Open snapshots by the commit they stand at.
    snapshots: BTreeMap<u64, usize>,
}

#[derive(Debug)]
struct Version {
    /// None: there was no such page.
    page: Option<Arc<Page>>,
    /// Snapshots before this commit read it; None: those of now, since the change is not committed.
    until: Option<u64>,
    transaction: u64,
}

impl Versions {
    /// Before the first change of a page by a transaction: keeps what it was. `page` None: the page is new, nobody reads it.
    pub fn keep(&self, transaction: u64, id: PageId, page: Option<&Arc<Page>>) {
        let mut state = self.state.lock();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        if state.touched.entry(transaction).or_default().insert(id) {
            let version = Version { page: page.cloned(), until: None, transaction };
            state.pages.entry(id).or_default().push(version);
        }
    }

    /// Between two equal values of this no page began to change and no change was undone.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What a snapshot that stands at `sequence` reads instead of the page; None: the page itself, as does a transaction that has
    /// changed it.
    pub fn read(&self, id: PageId, sequence: u64, own: Option<u64>) -> Option<Arc<Page>> {
        let state = self.state.lock();
        if own.is_some_and(|own| state.touched.get(&own).is_some_and(|touched| touched.contains(&id))) {
            return None;
        }
        state.version(id, sequence)
    }

    /// The same for some pages at once: puts the versions in their places.
    pub fn read_all(&self, pages: &mut [Arc<Page>], sequence: u64, own: Option<u64>) {
        let state = self.state.lock();
        if state.pages.is_empty() {
            return;
        }
        let touched = own.and_then(|own| state.touched.get(&own));
        for page in pages {
            if touched.is_none_or(|touched| !touched.contains(&page.id()))
                && let Some(version) = state.version(page.id(), sequence)
            {
                *page = version;
            }
        }
    }

    /// Whether a transaction that changed a page, or made it, has been committed after `sequence`, at which a snapshot stands that is
    /// still open.
    pub fn is_changed_since(&self, id: PageId, sequence: u64) -> bool {
        let state = self.state.lock();
        let mut versions = state.pages.get(&id).into_iter().flatten();
        versions.any(|version| version.until.is_some_and(|until| sequence < until))
    }

    /// The page is given to a new owner: nobody reads what it was.
    pub fn forget(&self, id: PageId) {
        let mut state = self.state.lock();
        state.pages.remove(&id);
        state.touched.values_mut().for_each(|pages| {
            pages.remove(&id);
        });
    }

    /// The transaction is committed as number `sequence`: its changes are what later snapshots read.
    pub fn commit(&self, transaction: u64, sequence: u64) {
        let mut state = self.state.lock();
        let touched = state.touched.remove(&transaction).unwrap_or_default();
        let oldest = state.snapshots.keys().next().copied().unwrap_or(u64::MAX);
        for id in touched {
            if let Some(versions) = state.pages.get_mut(&id) {
                for version in versions.iter_mut().filter(|version| version.transaction == transaction) {
                    version.until.get_or_insert(sequence);
                }
            }
            state.prune(id, oldest);
        }
    }

    /// The transaction has been undone: pages are again what they were.
    pub fn roll_back(&self, transaction: u64) {
        let mut state = self.state.lock();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for id in state.touched.remove(&transaction).unwrap_or_default() {
            if let Some(versions) = state.pages.get_mut(&id) {
                versions.retain(|version| version.until.is_some() || version.transaction != transaction);
                if versions.is_empty() {
                    state.pages.remove(&id);
                }
            }
        }
    }

    /// A snapshot begins; `sequence` is read while no commit can come in between.
    pub fn open_snapshot(&self, sequence: impl FnOnce() -> u64) -> u64 {
        let mut state = self.state.lock();
        let sequence = sequence();
        *state.snapshots.entry(sequence).or_default() += 1;
        sequence
    }

    /// A snapshot ends. Returns the oldest that is still open.
    pub fn close_snapshot(&self, sequence: u64) -> Option<u64> {
        let mut state = self.state.lock();
        if let Some(count) = state.snapshots.get_mut(&sequence) {
            *count -= 1;
            if *count == 0 {
                state.snapshots.remove(&sequence);
                let oldest = state.snapshots.keys().next().copied().unwrap_or(u64::MAX);
                let ids: Vec<PageId> = state.pages.keys().copied().collect();
                ids.into_iter().for_each(|id| state.prune(id, oldest));
            }
        }
        state.snapshots.keys().next().copied()
    }

    /// The oldest open snapshot.
    pub fn oldest_snapshot(&self) -> Option<u64> {
        self.state.lock().snapshots.keys().next().copied()
    }

    /// Number of versions kept.
    pub fn count(&self) -> usize {
        self.state.lock().pages.values().flatten().filter(|version| version.page.is_some()).count()
    }
}

impl State {
    fn version(&self, id: PageId, sequence: u64) -> Option<Arc<Page>> {
        let versions = self.pages.get(&id)?;
        let version = versions.iter().find(|version| version.until.is_none_or(|until| sequence < until))?;
        version.page.clone()
    }

    /// Drops versions that no open snapshot reads.
    fn prune(&mut self, id: PageId, oldest: u64) {
        if let Some(versions) = self.pages.get_mut(&id) {
            versions.retain(|version| version.until.is_none_or(|until| until > oldest));
            if versions.is_empty() {
                self.pages.remove(&id);
            }
        }
    }
}
