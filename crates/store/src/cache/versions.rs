//! Versions of pages: what a snapshot reads of a table that is being changed.
//!
//! One open transaction at a time changes a page, which it has locked; bulk writers fill pages of their own. So a
//! page has at most one uncommitted state, and versions of pages are as good as versions of rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::version_file::{SpilledPage, VersionFile};
use crate::disk::volume::Volume;
use crate::error::EngineError;
use crate::page::{PAGE_BYTES, Page, PageId};

/// Older versions of pages, in memory up to a limit and then in a file.
#[derive(Debug)]
pub struct Versions {
    state: Mutex<State>,
    /// Pages in memory, and how many there are to be at most.
    in_memory: Arc<AtomicUsize>,
    limit_pages: usize,
    file: Arc<VersionFile>,
    /// Grows whenever a page may be about to change, or to have changed back.
    epoch: AtomicU64,
    /// Number of open transactions under snapshot isolation. While it is 0, looking for conflicts is skipped.
    keepers: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// Versions of each page, oldest first.
    pages: HashMap<PageId, Vec<Version>>,
    /// Pages that an open transaction has changed already.
    touched: HashMap<u64, HashSet<PageId>>,
    /// Open snapshots by the commit they stand at.
    snapshots: BTreeMap<u64, usize>,
    /// Commit of the snapshot of each transaction that may change only pages without later changes.
    keepers: HashMap<u64, u64>,
}

#[derive(Debug)]
struct Version {
    page: Kept,
    /// Snapshots before this commit read it; None: those of now, since the change is not committed.
    until: Option<u64>,
    transaction: u64,
}

/// A page as it was.
#[derive(Debug, Clone)]
enum Kept {
    /// The page did not exist.
    Nothing,
    Memory(Arc<InMemory>),
    File(Arc<SpilledPage>),
}

/// A page that counts as one in memory until this is dropped.
#[derive(Debug)]
struct InMemory {
    page: Arc<Page>,
    count: Arc<AtomicUsize>,
}

impl Drop for InMemory {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Kept {
    fn page(self) -> Result<Option<Arc<Page>>, EngineError> {
        Ok(match self {
            Self::Nothing => None,
            Self::Memory(kept) => Some(Arc::clone(&kept.page)),
            Self::File(kept) => Some(Arc::new(kept.read()?)),
        })
    }
}

impl Versions {
    /// Creates the store of versions, which is empty. Up to a limit of bytes versions are kept in memory, the
    /// others in a file of this volume.
    pub fn new(volume: &Arc<dyn Volume>, memory_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            in_memory: Arc::default(),
            limit_pages: memory_bytes / PAGE_BYTES,
            file: VersionFile::new(volume),
            epoch: AtomicU64::new(0),
            keepers: AtomicUsize::new(0),
        }
    }

    /// Keeps a page as it is before a transaction's first change. `page` is None for a new page, which no
    /// snapshot reads.
    pub fn keep(&self, transaction: u64, id: PageId, page: Option<&Arc<Page>>) {
        {
            let mut state = self.state.lock();
            self.epoch.fetch_add(1, Ordering::AcqRel);
            if !state.touched.entry(transaction).or_default().insert(id) {
                return;
            }
        }
        // No other thread changes the page meanwhile, since the caller has locked its frame.
        let page = page.map_or(Kept::Nothing, |page| self.kept(page));
        let version = Version { page, until: None, transaction };
        self.state.lock().pages.entry(id).or_default().push(version);
    }

    /// Registers a transaction under snapshot isolation; it holds its snapshot open.
    pub fn keep_to(&self, transaction: u64, sequence: u64) {
        let mut state = self.state.lock();
        state.keepers.insert(transaction, sequence);
        self.keepers.store(state.keepers.len(), Ordering::Release);
    }

    /// Returns true if a transaction under snapshot isolation is about to change a page that another one has
    /// changed since.
    pub fn conflicts(&self, transaction: u64, id: PageId) -> bool {
        if self.keepers.load(Ordering::Acquire) == 0 {
            return false;
        }
        let state = self.state.lock();
        let is_own = || state.touched.get(&transaction).is_some_and(|touched| touched.contains(&id));
        state.keepers.get(&transaction).is_some_and(|since| !is_own() && state.is_changed_since(id, *since))
    }

    fn kept(&self, page: &Arc<Page>) -> Kept {
        if self.in_memory.load(Ordering::Acquire) >= self.limit_pages
            && let Some(spilled) = self.file.put(page)
        {
            return Kept::File(Arc::new(spilled));
        }
        // A page stays in memory, even beyond the limit, if the disk has no room for it: otherwise the change
        // would fail.
        let count = Arc::clone(&self.in_memory);
        count.fetch_add(1, Ordering::AcqRel);
        Kept::Memory(Arc::new(InMemory { page: Arc::clone(page), count }))
    }

    /// Returns a number that changes whenever a page begins to change or a change is undone.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns the version of a page that a snapshot at `sequence` reads. None means the page itself, which a
    /// transaction that has changed it also reads.
    ///
    /// # Errors
    /// The file of versions cannot be read.
    pub fn read(
        &self,
        id: PageId,
        sequence: u64,
        own: Option<u64>,
    ) -> Result<Option<Arc<Page>>, EngineError> {
        let state = self.state.lock();
        if own.is_some_and(|own| state.touched.get(&own).is_some_and(|touched| touched.contains(&id))) {
            return Ok(None);
        }
        let version = state.version(id, sequence);
        drop(state);
        version.map_or(Ok(None), Kept::page)
    }

    /// Reads the versions of several pages at once and puts them in their places.
    pub fn read_all(
        &self,
        pages: &mut [Arc<Page>],
        sequence: u64,
        own: Option<u64>,
    ) -> Result<(), EngineError> {
        let state = self.state.lock();
        if state.pages.is_empty() {
            return Ok(());
        }
        let touched = own.and_then(|own| state.touched.get(&own));
        let is_own = |page: &Arc<Page>| touched.is_some_and(|touched| touched.contains(&page.id()));
        let others = pages.iter_mut().filter(|page| !is_own(page));
        let found: Vec<_> =
            others.filter_map(|page| state.version(page.id(), sequence).map(|kept| (page, kept))).collect();
        drop(state);
        for (page, kept) in found {
            if let Some(version) = kept.page()? {
                *page = version;
            }
        }
        Ok(())
    }

    /// Returns true if a transaction that changed or created a page was committed after `sequence`. A
    /// snapshot at `sequence` must be open.
    pub fn is_changed_since(&self, id: PageId, sequence: u64) -> bool {
        self.state.lock().is_changed_since(id, sequence)
    }

    /// Drops the versions of a page that gets a new owner.
    pub fn forget(&self, id: PageId) {
        let mut state = self.state.lock();
        state.pages.remove(&id);
        state.touched.values_mut().for_each(|pages| {
            pages.remove(&id);
        });
    }

    /// Ends a transaction that is committed as number `sequence`: later snapshots read its changes.
    pub fn commit(&self, transaction: u64, sequence: u64) {
        let mut state = self.state.lock();
        self.forget_keeper(&mut state, transaction);
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

    /// Ends a transaction that has been undone: its pages are again as before.
    pub fn roll_back(&self, transaction: u64) {
        let mut state = self.state.lock();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.forget_keeper(&mut state, transaction);
        for id in state.touched.remove(&transaction).unwrap_or_default() {
            if let Some(versions) = state.pages.get_mut(&id) {
                versions.retain(|version| version.until.is_some() || version.transaction != transaction);
                if versions.is_empty() {
                    state.pages.remove(&id);
                }
            }
        }
    }

    /// Ends the snapshot isolation of a transaction.
    pub fn stop_keeping(&self, transaction: u64) {
        if self.keepers.load(Ordering::Acquire) > 0 {
            self.forget_keeper(&mut self.state.lock(), transaction);
        }
    }

    fn forget_keeper(&self, state: &mut State, transaction: u64) {
        if state.keepers.remove(&transaction).is_some() {
            self.keepers.store(state.keepers.len(), Ordering::Release);
        }
    }

    /// Begins a snapshot; no commit can run while `sequence` is read.
    pub fn open_snapshot(&self, sequence: impl FnOnce() -> u64) -> u64 {
        let mut state = self.state.lock();
        let sequence = sequence();
        *state.snapshots.entry(sequence).or_default() += 1;
        sequence
    }

    /// Ends a snapshot. Returns the oldest one that is still open.
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

    /// Returns the oldest open snapshot.
    pub fn oldest_snapshot(&self) -> Option<u64> {
        self.state.lock().snapshots.keys().next().copied()
    }

    /// Counts the versions kept, in memory and in the file.
    pub fn counts(&self) -> (usize, usize) {
        (self.in_memory.load(Ordering::Acquire), self.file.pages())
    }
}

impl State {
    fn version(&self, id: PageId, sequence: u64) -> Option<Kept> {
        let versions = self.pages.get(&id)?;
        let version = versions.iter().find(|version| version.until.is_none_or(|until| sequence < until))?;
        Some(version.page.clone())
    }

    fn is_changed_since(&self, id: PageId, sequence: u64) -> bool {
        let mut versions = self.pages.get(&id).into_iter().flatten();
        versions.any(|version| version.until.is_some_and(|until| sequence < until))
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
