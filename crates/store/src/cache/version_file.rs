//! The file for versions of pages that exceed their memory limit. It is never synced, and is useless after the process, since
//! snapshots end with it.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::page::{PAGE_BYTES, Page, PageId};

const NAME: &str = "versions.tmp";

/// Places of one page each.
#[derive(Debug)]
pub(crate) struct VersionFile {
    volume: Arc<dyn Volume>,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// The file of versions; None until the first page is written to it.
    file: Option<Arc<dyn VolumeFile>>,
    free: Vec<u32>,
    /// Places from here on were never used.
    next: u32,
    used: u32,
}

/// The place of a page. It is free when this is dropped.
#[derive(Debug)]
pub(crate) struct SpilledPage {
    store: Arc<VersionFile>,
    file: Arc<dyn VolumeFile>,
    place: u32,
    id: PageId,
}

impl VersionFile {
    /// Prepares a version file on this volume; the file is made when it is first needed.
    pub fn new(volume: &Arc<dyn Volume>) -> Arc<Self> {
        Arc::new(Self { volume: Arc::clone(volume), places: Mutex::default() })
    }

    /// Writes a page. `None` if the disk refuses it.
    pub fn put(self: &Arc<Self>, page: &Page) -> Option<SpilledPage> {
        let (file, place) = {
            let mut places = self.places.lock();
            let file = match &places.file {
                Some(file) => Arc::clone(file),
                None => self.volume.create(NAME).ok()?,
            };
            places.file = Some(Arc::clone(&file));
            places.used += 1;
            let place = match places.free.pop() {
                Some(place) => place,
                None => {
                    places.next += 1;
                    places.next - 1
                }
            };
            (file, place)
        };
        let spilled = SpilledPage { store: Arc::clone(self), file, place, id: page.id() };
        let mut sealed = page.clone();
        sealed.seal();
        spilled.file.write_at(spilled.offset_bytes(), sealed.bytes()).ok()?;
        Some(spilled)
    }

    /// Counts the pages in the file.
    pub fn pages(&self) -> usize {
        self.places.lock().used as usize
    }
}

impl SpilledPage {
    /// Reads the page back.
    ///
    /// # Errors
    /// The disk refuses the read, or the page is not the one that was written (824).
    pub fn read(&self) -> Result<Page, EngineError> {
        let mut bytes = [0; PAGE_BYTES];
        self.file.read_at(self.offset_bytes(), &mut bytes).map_err(|source| EngineError::Io {
            operation: "read",
            path: self.store.volume.path(NAME),
            source,
        })?;
        let page = Page::from_bytes(bytes);
        page.verify(self.id).map_err(|reason| EngineError::DamagedPage {
            page: self.id,
            reason: format!("its version in {NAME}: {reason}"),
        })?;
        Ok(page)
    }

    fn offset_bytes(&self) -> u64 {
        u64::from(self.place) * PAGE_BYTES as u64
    }
}

impl Drop for SpilledPage {
    fn drop(&mut self) {
        let mut places = self.store.places.lock();
        places.used -= 1;
        if places.used > 0 {
            places.free.push(self.place);
            return;
        }
        // No version in the file is needed any more, so the file is truncated. If that fails, its places are
        // used again.
        places.free.clear();
        places.next = 0;
        self.file.set_length(0).ok();
    }
}

/// Removes the file that a process has left.
pub(crate) fn remove_left_over(volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
    let io = |operation| {
        let path = volume.path(NAME);
        move |source| EngineError::Io { operation, path, source }
    };
    match volume.list().map_err(io("list"))?.iter().any(|name| name == NAME) {
        true => volume.remove(NAME).map_err(io("remove")),
        false => Ok(()),
    }
}
