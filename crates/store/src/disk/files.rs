//! The data files of a database: pages at positions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::WRITE_BEHIND_BYTES;
use super::file_layout::{DataFileDefinition, FileLayout};
use super::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::figures::{FileIo, IoCounts, WaitType, Waits};
use crate::page::{self, EXTENT_BYTES, PAGE_BYTES, Page, PageId};

/// An open data file.
#[derive(Debug)]
pub struct DataFile {
    /// Number, from 1.
    pub number: u16,
    /// Number of the file group.
    pub group: u16,
    path: PathBuf,
    file: Arc<dyn VolumeFile>,
    extents: AtomicU32,
    /// Something was written since the last sync.
    unsynced: AtomicBool,
    /// Bytes written since the disk was last asked to begin with them.
    behind_bytes: AtomicUsize,
    waits: Arc<Waits>,
    io: IoCounts,
}

impl DataFile {
    /// Returns the length in extents.
    pub fn extents(&self) -> u32 {
        self.extents.load(Ordering::Acquire)
    }

    /// Makes the file longer, filled with zeros.
    pub fn grow(&self, extents: u32) -> Result<(), EngineError> {
        let length_bytes = u64::from(extents) * EXTENT_BYTES as u64;
        let old_bytes = u64::from(self.extents()) * EXTENT_BYTES as u64;
        let grown = self.waits.during(WaitType::WriteFileGather, || {
            self.file.set_length(length_bytes)?;
            // Pages that are in memory alone must find room when they are written back.
            self.file.reserve(old_bytes, length_bytes.saturating_sub(old_bytes))
        });
        grown.map_err(|source| self.io_error("grow", source))?;
        self.unsynced.store(true, Ordering::Release);
        self.extents.fetch_max(extents, Ordering::AcqRel);
        Ok(())
    }

    /// Makes the file shorter.
    pub fn shrink(&self, extents: u32) -> Result<(), EngineError> {
        let shrunk = self.file.set_length(u64::from(extents) * EXTENT_BYTES as u64);
        shrunk.map_err(|source| self.io_error("shrink", source))?;
        self.unsynced.store(true, Ordering::Release);
        self.extents.store(extents, Ordering::Release);
        Ok(())
    }

    /// Reads `out.len()` bytes, whole pages, from page `first` on. Bytes beyond the end of the file read as
    /// zeros.
    pub fn read(&self, first: u32, out: &mut [u8], wait: WaitType) -> Result<(), EngineError> {
        let offset = u64::from(first) * PAGE_BYTES as u64;
        let length = out.len();
        match self.waits.during(wait, || self.io.read(length, || self.file.read_at(offset, out))) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                for (index, page) in out.as_chunks_mut::<PAGE_BYTES>().0.iter_mut().enumerate() {
                    match self.file.read_at(offset + (index * PAGE_BYTES) as u64, page) {
                        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => page.fill(0),
                        other => other.map_err(|source| self.io_error("read", source))?,
                    }
                }
                Ok(())
            }
            other => other.map_err(|source| self.io_error("read", source)),
        }
    }

    /// Writes whole pages from page `first` on.
    pub fn write(&self, first: u32, bytes: &[u8]) -> Result<(), EngineError> {
        self.unsynced.store(true, Ordering::Release);
        let offset = u64::from(first) * PAGE_BYTES as u64;
        let write = || self.io.write(bytes.len(), || self.file.write_at(offset, bytes));
        let written = self.waits.during(WaitType::WriteCompletion, write);
        written.map_err(|source| self.io_error("write", source))?;
        let end = (offset + bytes.len() as u64).div_ceil(EXTENT_BYTES as u64);
        self.extents.fetch_max(u32::try_from(end).unwrap_or(u32::MAX), Ordering::AcqRel);
        // Single pages are written by checkpoints and for want of room, wherever they are: the sync that follows gathers them.
        if bytes.len() > PAGE_BYTES {
            let behind = self.behind_bytes.fetch_add(bytes.len(), Ordering::AcqRel) + bytes.len();
            if behind >= WRITE_BEHIND_BYTES {
                self.behind_bytes.store(0, Ordering::Release);
                self.file.start_sync();
            }
        }
        Ok(())
    }

    /// Discards an extent's content: it is written before it is read again.
    pub fn discard(&self, extent: u32) {
        self.file.discard(u64::from(extent) * EXTENT_BYTES as u64, EXTENT_BYTES as u64);
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), EngineError> {
        // The flag is cleared before the files are synced, so that a write in between sets it again.
        if self.unsynced.swap(false, Ordering::AcqRel)
            && let Err(source) =
                self.waits.during(WaitType::FlushFileBuffers, || self.io.sync(|| self.file.sync()))
        {
            self.unsynced.store(true, Ordering::Release);
            return Err(self.io_error("sync", source));
        }
        Ok(())
    }

    /// Reads and writes since the database was opened.
    pub fn io(&self) -> FileIo {
        let size_bytes = u64::from(self.extents()) * EXTENT_BYTES as u64;
        self.io.figures(Some(self.number), file_name(self.number), size_bytes)
    }

    fn io_error(&self, operation: &'static str, source: std::io::Error) -> EngineError {
        EngineError::Io { operation, path: self.path.clone(), source }
    }
}

/// Data files of a database.
#[derive(Debug)]
pub struct DataFiles {
    volume: Arc<dyn Volume>,
    files: RwLock<Vec<Arc<DataFile>>>,
    /// Declarations of groups and files. The lock is held only to read or change them.
    layout: RwLock<FileLayout>,
    waits: Arc<Waits>,
}

impl DataFiles {
    /// Creates the list without files.
    pub fn new(volume: &Arc<dyn Volume>, waits: &Arc<Waits>, layout: &FileLayout) -> Self {
        Self {
            volume: Arc::clone(volume),
            files: RwLock::new(Vec::new()),
            layout: RwLock::new(FileLayout { files: Vec::new(), ..layout.clone() }),
            waits: Arc::clone(waits),
        }
    }

    /// Opens a file, or creates it; a created one must be synced with its directory by the caller.
    pub fn add(&self, definition: DataFileDefinition, create: bool) -> Result<Arc<DataFile>, EngineError> {
        let DataFileDefinition { number, group, .. } = definition;
        let name = file_name(number);
        let path = self.volume.path(&name);
        let error = |operation| {
            let path = path.clone();
            move |source| EngineError::Io { operation, path, source }
        };
        let file = if create { self.volume.create(&name) } else { self.volume.open(&name) };
        let file = file.map_err(error(if create { "create" } else { "open" }))?;
        let length = file.length_bytes().map_err(error("read the length of"))?;
        let extents = u32::try_from(length.div_ceil(EXTENT_BYTES as u64)).unwrap_or(u32::MAX);
        let (extents, unsynced) = (AtomicU32::new(extents), AtomicBool::new(true));
        let (waits, io) = (Arc::clone(&self.waits), IoCounts::default());
        let behind_bytes = AtomicUsize::new(0);
        let file =
            Arc::new(DataFile { number, group, path, file, extents, unsynced, behind_bytes, waits, io });
        self.files.write().push(Arc::clone(&file));
        let mut layout = self.layout.write();
        layout.last_file = layout.last_file.max(number);
        layout.files.push(definition);
        drop(layout);
        Ok(file)
    }

    /// Takes back a file that could not be added.
    pub fn forget(&self, number: u16) {
        self.files.write().retain(|file| file.number != number);
        self.layout.write().files.retain(|file| file.number != number);
    }

    /// Returns true if a data file has this number.
    pub fn has(&self, number: u16) -> bool {
        self.files.read().iter().any(|file| file.number == number)
    }

    /// Puts back a file that was [forgotten](Self::forget).
    pub fn remember(&self, file: Arc<DataFile>, definition: DataFileDefinition) {
        let mut files = self.files.write();
        files.push(file);
        files.sort_by_key(|file| file.number);
        let mut layout = self.layout.write();
        layout.files.push(definition);
        layout.files.sort_by_key(|file| file.number);
    }

    /// Returns all groups, with the declarations of the files.
    pub fn layout(&self) -> FileLayout {
        self.layout.read().clone()
    }

    /// Changes groups and the declarations of files; the set of files stays the same.
    pub fn set_layout(&self, layout: FileLayout) {
        *self.layout.write() = layout;
    }

    /// Returns the declaration of file `number`.
    pub fn definition(&self, number: u16) -> Option<DataFileDefinition> {
        self.layout.read().files.iter().find(|file| file.number == number).cloned()
    }

    /// Returns the name of a file group.
    pub fn group_name(&self, id: u16) -> String {
        let layout = self.layout.read();
        layout.groups.iter().find(|group| group.id == id).map(|group| group.name.clone()).unwrap_or_default()
    }

    /// Returns file `number`.
    pub fn file(&self, number: u16) -> Result<Arc<DataFile>, EngineError> {
        let files = self.files.read();
        files.iter().find(|file| file.number == number).cloned().ok_or_else(|| EngineError::DamagedPage {
            page: PageId { file: number, page: 0 },
            reason: "there is no such file".to_owned(),
        })
    }

    /// Lists all files in order.
    pub fn all(&self) -> Vec<Arc<DataFile>> {
        self.files.read().clone()
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), EngineError> {
        self.all().iter().try_for_each(|file| file.sync())
    }

    /// Reads and verifies one page; `wait` is the wait type that is counted.
    pub fn read_page(&self, id: PageId, wait: WaitType) -> Result<Page, EngineError> {
        let page = self.read_page_unverified(id, wait)?;
        page.verify(id).map_err(|reason| EngineError::DamagedPage { page: id, reason })?;
        Ok(page)
    }

    /// Reads one page without verifying it.
    pub fn read_page_unverified(&self, id: PageId, wait: WaitType) -> Result<Page, EngineError> {
        let mut bytes = [0; PAGE_BYTES];
        self.file(id.file)?.read(id.page, &mut bytes, wait)?;
        Ok(Page::from_bytes(bytes))
    }

    /// Seals and writes one page.
    pub fn write_page(&self, page: &Page) -> Result<(), EngineError> {
        let mut bytes = *page.bytes();
        page::seal(&mut bytes);
        let id = page.id();
        self.file(id.file)?.write(id.page, &bytes)
    }
}

/// Removes data files that a removal cut short has left: those that the control file no longer knows.
pub(crate) fn remove_left_over(volume: &Arc<dyn Volume>, layout: &FileLayout) -> Result<(), EngineError> {
    let io = |operation, path| move |source| EngineError::Io { operation, path, source };
    for name in volume.list().map_err(io("list", volume.path("")))? {
        let number = name.strip_prefix("data-").and_then(|rest| rest.strip_suffix(".pages"));
        let number: Option<u16> = number.and_then(|number| number.parse().ok());
        let known = |number| layout.files.iter().any(|file| file.number == number);
        if number
            .is_some_and(|number| number <= layout.last_file && !known(number) && name == file_name(number))
        {
            volume.remove(&name).map_err(io("remove", volume.path(&name)))?;
        }
    }
    Ok(())
}

/// Returns the name of data file `number`: `data-<number>.pages`.
pub fn file_name(number: u16) -> String {
    format!("data-{number}.pages")
}
