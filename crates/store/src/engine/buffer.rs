//! The buffer cache: pages in memory, no more than configured but for those in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::error::EngineError;
use super::files::DataFiles;
use super::log::Log;
use super::page::{EXTENT_PAGES, ExtentId, Page, PageId};

const SHARDS: usize = 16;

/// The cache. A page is changed under its frame's lock; readers take the page itself, which is never changed while anyone holds it.
#[derive(Debug)]
pub struct BufferCache {
    files: Arc<DataFiles>,
    log: Arc<Log>,
    shards: [Mutex<HashMap<PageId, Arc<Frame>>>; SHARDS],
    frames_per_shard: usize,
}

/// A place for one page.
#[derive(Debug)]
pub struct Frame {
    id: PageId,
    state: Mutex<FrameState>,
    recently_used: AtomicBool,
}

/// What a frame holds.
#[derive(Debug, Default)]
pub struct FrameState {
    /// The page; None until it is read or formatted.
    pub page: Option<Arc<Page>>,
    /// It differs from what is on disk.
    pub dirty: bool,
}

impl Frame {
    /// Locks the frame for a change.
    pub fn lock(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock()
    }
}

impl BufferCache {
    /// A cache of so many pages.
    pub fn new(files: &Arc<DataFiles>, log: &Arc<Log>, pages: usize) -> Self {
        Self {
            files: Arc::clone(files),
            log: Arc::clone(log),
            shards: std::array::from_fn(|_| Mutex::default()),
            frames_per_shard: (pages / SHARDS).max(4),
        }
    }

    /// The page as it is now.
    pub fn read(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        let frame = self.frame(id)?;
        let mut state = frame.lock();
        self.load(&mut state, id)
    }

    /// The page if it is in the cache.
    pub fn peek(&self, id: PageId) -> Option<Arc<Page>> {
        let frame = self.shard(id).lock().get(&id).cloned()?;
        let state = frame.lock();
        state.page.clone()
    }

    /// Fills a locked frame from disk if it is empty.
    pub fn load(&self, state: &mut FrameState, id: PageId) -> Result<Arc<Page>, EngineError> {
        if let Some(page) = &state.page {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(self.files.read_page(id)?);
        state.page = Some(Arc::clone(&page));
        Ok(page)
    }

    /// The frame for a page, empty if it is new. It stays in the cache as long as it is held.
    pub fn frame(&self, id: PageId) -> Result<Arc<Frame>, EngineError> {
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
        Ok(frame)
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
            state.dirty = false;
        }
        Ok(())
    }

    /// Forgets the pages of an extent that is free: whoever gets it writes them anew.
    pub fn discard(&self, extent: ExtentId) {
        for index in 0..EXTENT_PAGES {
            let id = extent.page(index);
            if let Some(frame) = self.shard(id).lock().remove(&id) {
                *frame.lock() = FrameState::default();
            }
        }
    }

    /// Pages in the cache.
    pub fn pages(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    fn shard(&self, id: PageId) -> &Mutex<HashMap<PageId, Arc<Frame>>> {
        // The remainder is a valid index by construction.
        &self.shards[(id.page as usize ^ (usize::from(id.file) << 2)) % SHARDS]
    }

    /// Makes room: frames that nobody holds and that were not used since the last look, or else any that nobody holds.
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
            self.write_back(&victim)?;
            frames.remove(&victim.id);
        }
        Ok(())
    }
}
