//! The buffer cache: a limited number of pages in memory, besides those in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::budget::CacheBudget;
use crate::disk::files::DataFiles;
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::log::Log;
use crate::page::{self, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId};

const SHARDS: usize = 16;

/// The cache. A page is changed under its frame's lock; readers take the page itself, which is never changed while anyone holds it.
#[derive(Debug)]
pub struct BufferCache {
    files: Arc<DataFiles>,
    log: Arc<Log>,
    shards: [Mutex<HashMap<PageId, Arc<Frame>>>; SHARDS],
    frames_per_shard: usize,
    /// Limit shared with the caches of other databases; None: this cache has a limit of its own.
    budget: Option<Arc<CacheBudget>>,
    /// Time of the last use, on the budget's clock (pages that entered any cache).
    last_used: AtomicU64,
    /// The shard that gives way next.
    next_shard: AtomicU64,
    /// Frames of all shards, and the most that there have been.
    frames: AtomicU64,
    most_frames: AtomicU64,
    lookups: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    written_back: AtomicU64,
}

/// Figures of the cache since the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheCounts {
    /// Pages in it.
    pub pages: u64,
    /// Pages that differ from the disk.
    pub dirty_pages: u64,
    /// The limit of pages, besides those in use.
    pub limit_pages: u64,
    /// Largest number of pages that the cache has held at any time.
    pub most_pages: u64,
    /// Pages that were looked up ("Page lookups").
    pub lookups: u64,
    /// Look-ups that had to read the disk ("Page reads"). The others are hits.
    pub misses: u64,
    /// Pages removed to make room for others.
    pub evictions: u64,
    /// Pages written back, by checkpoints and to make room.
    pub written_back: u64,
}

/// A place for one page.
#[derive(Debug)]
pub struct Frame {
    id: PageId,
    state: Mutex<FrameState>,
    recently_used: AtomicBool,
}

/// Contents of a frame, guarded by the frame's lock.
#[derive(Debug, Default)]
pub struct FrameState {
    /// The page; None until it is read or formatted.
    pub page: Option<Arc<Page>>,
    /// True if the page differs from its copy on disk.
    pub dirty: bool,
}

impl Frame {
    /// Locks the frame for a change if it is not locked.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, FrameState>> {
        self.state.try_lock()
    }

    /// Locks the frame for a change.
    pub fn lock(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock()
    }
}

impl BufferCache {
    /// Creates a cache with a limit of pages.
    pub fn new(files: &Arc<DataFiles>, log: &Arc<Log>, pages: usize) -> Self {
        Self::with(None, files, log, pages)
    }

    fn with(budget: Option<Arc<CacheBudget>>, files: &Arc<DataFiles>, log: &Arc<Log>, pages: usize) -> Self {
        Self {
            files: Arc::clone(files),
            log: Arc::clone(log),
            shards: std::array::from_fn(|_| Mutex::default()),
            frames_per_shard: (pages / SHARDS).max(4),
            budget,
            last_used: AtomicU64::new(0),
            next_shard: AtomicU64::new(0),
            frames: AtomicU64::new(0),
            most_frames: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            written_back: AtomicU64::new(0),
        }
    }

    /// Creates a cache that holds pages as long as all caches of the budget together do not hold too many.
    pub(crate) fn within(budget: &Arc<CacheBudget>, files: &Arc<DataFiles>, log: &Arc<Log>) -> Arc<Self> {
        let pages = usize::try_from(budget.limit_pages()).unwrap_or(usize::MAX);
        let cache = Arc::new(Self::with(Some(Arc::clone(budget)), files, log, pages));
        budget.join(&cache);
        cache
    }

    /// Returns the page as it is now.
    pub fn read(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        let frame = self.frame(id)?;
        let mut state = frame.lock();
        self.load(&mut state, id, WaitType::PageIoLatchShared)
    }

    /// Returns the page, if it is in the cache.
    pub fn peek(&self, id: PageId) -> Option<Arc<Page>> {
        let frame = self.shard(id).lock().get(&id).cloned()?;
        let page = frame.lock().page.clone()?;
        self.note_use();
        frame.recently_used.store(true, Ordering::Relaxed);
        self.lookups.fetch_add(1, Ordering::Relaxed);
        Some(page)
    }

    /// Returns the pages if all of them are in the cache; else those that are.
    pub fn peek_all(&self, ids: &[PageId]) -> Result<Vec<Arc<Page>>, Vec<Option<Arc<Page>>>> {
        let found: Vec<_> = ids.iter().map(|id| self.peek(*id)).collect();
        if found.iter().any(Option::is_none) { Err(found) } else { Ok(found.into_iter().flatten().collect()) }
    }

    /// Fills a locked frame from disk if it is empty; `wait` is the wait type that is counted.
    pub fn load(&self, state: &mut FrameState, id: PageId, wait: WaitType) -> Result<Arc<Page>, EngineError> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        if let Some(page) = &state.page {
            return Ok(Arc::clone(page));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let page = Arc::new(self.files.read_page(id, wait)?);
        state.page = Some(Arc::clone(&page));
        Ok(page)
    }

    /// Returns pages of one extent, in ascending order. Missing pages are read together, and stay in the
    /// cache.
    pub fn read_extent(&self, ids: &[PageId], wait: WaitType) -> Result<Vec<Arc<Page>>, EngineError> {
        // First all frames, then their locks: a thread that waits for a frame may hold its shard.
        let frames = ids.iter().map(|id| self.frame(*id)).collect::<Result<Vec<_>, _>>()?;
        let mut states: Vec<_> = frames.iter().map(|frame| frame.lock()).collect();
        let missing = |state: &MutexGuard<'_, FrameState>| state.page.is_none();
        if let (Some(first), Some(last)) = (states.iter().position(missing), states.iter().rposition(missing))
            && let (Some(first), Some(last)) = (ids.get(first), ids.get(last))
        {
            let mut bytes = vec![0; (last.page - first.page + 1) as usize * PAGE_BYTES];
            self.files.file(first.file)?.read(first.page, &mut bytes, wait)?;
            for (id, state) in ids.iter().zip(&mut states).filter(|(_, state)| state.page.is_none()) {
                self.lookups.fetch_add(1, Ordering::Relaxed);
                self.misses.fetch_add(1, Ordering::Relaxed);
                let index = id.page.wrapping_sub(first.page) as usize;
                let bytes = bytes.as_chunks::<PAGE_BYTES>().0.get(index).unwrap_or(&[0; PAGE_BYTES]);
                page::verify(bytes, *id).map_err(|reason| EngineError::DamagedPage { page: *id, reason })?;
                state.page = Some(Arc::new(Page::from_bytes(*bytes)));
            }
        }
        Ok(states.iter().filter_map(|state| state.page.clone()).collect())
    }

    /// Returns the limit of pages, besides those in use.
    pub fn limit_pages(&self) -> usize {
        self.frames_per_shard * SHARDS
    }

    /// Returns the frame for a page, empty if it is new. It stays in the cache as long as it is held.
    pub fn frame(&self, id: PageId) -> Result<Arc<Frame>, EngineError> {
        self.note_use();
        let mut frames = self.shard(id).lock();
        if let Some(frame) = frames.get(&id) {
            frame.recently_used.store(true, Ordering::Relaxed);
            return Ok(Arc::clone(frame));
        }
        if frames.len() >= self.frames_per_shard {
            self.evict(&mut frames)?;
        }
        let frame = Arc::new(Frame { id, state: Mutex::default(), recently_used: AtomicBool::new(true) });
        frames.insert(id, Arc::clone(&frame));
        let held = self.frames.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_frames.fetch_max(held, Ordering::Relaxed);
        drop(frames);
        if let Some(budget) = &self.budget {
            budget.add(1);
            budget.relieve();
        }
        Ok(frame)
    }

    /// Gives pages up that are not in use, for another cache. Pages that cannot be written back stay.
    pub(crate) fn give_way(&self) {
        for _ in 0..SHARDS {
            let next = self.next_shard.fetch_add(1, Ordering::Relaxed);
            let shard = self.shards.iter().cycle().nth((next % SHARDS as u64) as usize);
            // The holder of a shard may wait for room itself.
            let Some(mut frames) = shard.and_then(|shard| shard.try_lock()) else { continue };
            let before = frames.len();
            // A write that failed is known to the log of that database.
            self.evict(&mut frames).ok();
            if frames.len() < before {
                return;
            }
        }
    }

    /// Frames of pages that it holds.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Returns the time of the last use, on the budget's clock.
    pub(crate) fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    fn note_use(&self) {
        if let Some(budget) = &self.budget {
            self.last_used.store(budget.now(), Ordering::Relaxed);
        }
    }

    fn left(&self, frames: u64) {
        self.frames.fetch_sub(frames, Ordering::Relaxed);
        if let Some(budget) = &self.budget {
            budget.remove(frames);
        }
    }

    /// Frames that differ from the disk.
    pub fn dirty(&self) -> Vec<Arc<Frame>> {
        let frames = self.shards.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>());
        frames.filter(|frame| frame.lock().dirty).collect()
    }

    /// Writes a frame back if it is dirty, its log first.
    pub fn write_back(&self, frame: &Frame) -> Result<(), EngineError> {
        let mut state = frame.lock();
        if let (true, Some(page)) = (state.dirty, &state.page) {
            self.log.flush(page.lsn())?;
            self.files.write_page(page)?;
            self.written_back.fetch_add(1, Ordering::Relaxed);
            state.dirty = false;
        }
        Ok(())
    }

    /// Removes the pages of a free extent: its next owner writes all of them.
    pub fn discard(&self, extent: ExtentId) {
        for index in 0..EXTENT_PAGES {
            let id = extent.page(index);
            if let Some(frame) = self.shard(id).lock().remove(&id) {
                self.left(1);
                *frame.lock() = FrameState::default();
            }
        }
    }

    /// Removes clean pages that are not in use; returns their number.
    pub fn drop_clean(&self) -> u64 {
        let mut dropped = 0;
        for shard in &self.shards {
            let mut frames = shard.lock();
            let before = frames.len();
            frames.retain(|_, frame| {
                Arc::strong_count(frame) > 1 || frame.try_lock().is_none_or(|state| state.dirty)
            });
            dropped += (before - frames.len()) as u64;
        }
        self.left(dropped);
        dropped
    }

    /// Counts the pages in the cache.
    pub fn pages(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Returns figures of the cache.
    pub fn counts(&self) -> CacheCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            pages: self.pages() as u64,
            dirty_pages: self.dirty().len() as u64,
            limit_pages: self.limit_pages() as u64,
            most_pages: count(&self.most_frames),
            lookups: count(&self.lookups),
            misses: count(&self.misses),
            evictions: count(&self.evictions),
            written_back: count(&self.written_back),
        }
    }

    fn shard(&self, id: PageId) -> &Mutex<HashMap<PageId, Arc<Frame>>> {
        // The remainder is a valid index by construction.
        &self.shards[(id.page as usize ^ (usize::from(id.file) << 2)) % SHARDS]
    }

    /// Makes room in a shard. Frames not used since the last look go first, then any that are not in use.
    fn evict(&self, frames: &mut HashMap<PageId, Arc<Frame>>) -> Result<(), EngineError> {
        let free = |frame: &Arc<Frame>| Arc::strong_count(frame) == 1;
        let mut victims: Vec<Arc<Frame>> = frames
            .values()
            .filter(|frame| free(frame) && !frame.recently_used.swap(false, Ordering::Relaxed))
            .cloned()
            .collect();
        if victims.is_empty() {
            victims = frames.values().filter(|frame| free(frame)).cloned().collect();
        }
        victims.truncate((self.frames_per_shard / 8).max(1));
        for victim in victims {
            match self.write_back(&victim) {
                // The page stays, so that others go on reading. The cache exceeds its size until there is
                // space on disk.
                Err(error) if error.wants_space() => {}
                written => {
                    written?;
                    if frames.remove(&victim.id).is_some() {
                        self.left(1);
                    }
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }
}

impl Drop for BufferCache {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.remove(self.frames.load(Ordering::Relaxed));
        }
    }
}
