//! A volume in memory, and one on disk that never waits for it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::extent_memory::ExtentMemory;
use super::quota::{Counted, MemoryQuota, NoMemoryLeft};
use super::volume::{Volume, VolumeFile};
use crate::page::EXTENT_BYTES;

/// Files in memory, which go with the last reference to the volume. Parts that were never written, or were discarded, take no memory.
#[derive(Debug, Default)]
pub struct MemoryVolume {
    files: Mutex<BTreeMap<String, Arc<MemoryFile>>>,
    quota: Option<Arc<dyn MemoryQuota>>,
}

impl MemoryVolume {
    /// Creates a volume that is full when a quota has no room.
    pub fn within(quota: Option<Arc<dyn MemoryQuota>>) -> MemoryVolume {
        MemoryVolume { quota, ..MemoryVolume::default() }
    }

    fn file(&self, name: &str) -> io::Result<Arc<MemoryFile>> {
        self.files.lock().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Volume for MemoryVolume {
    fn path(&self, name: &str) -> PathBuf {
        Path::new("memory").join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.lock().keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(self.file(name)?)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        let counted = Counted::new(self.quota.clone());
        let file = Arc::new(MemoryFile { content: RwLock::default(), counted });
        self.files.lock().insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.lock().remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A part of a file, as large as an extent; None: zeros.
type Part = RwLock<Option<ExtentMemory>>;

#[derive(Debug, Default)]
struct MemoryFile {
    content: RwLock<Content>,
    /// Bytes of the file's parts that are in memory.
    counted: Counted,
}

#[derive(Debug, Default)]
struct Content {
    parts: Vec<Part>,
    length_bytes: u64,
}

impl Content {
    fn set_length(&mut self, length_bytes: u64) {
        if length_bytes < self.length_bytes
            && let Some(last) = self.parts.get_mut((length_bytes / EXTENT_BYTES as u64) as usize)
            && let Some(bytes) = last.get_mut()
        {
            bytes.iter_mut().skip((length_bytes % EXTENT_BYTES as u64) as usize).for_each(|byte| *byte = 0);
        }
        self.parts.resize_with(length_bytes.div_ceil(EXTENT_BYTES as u64) as usize, Part::default);
        self.length_bytes = length_bytes;
    }

    /// Calls `each` with every part of a range: the part, the offset in it, and the range in the caller's bytes.
    fn parts(&self, offset: u64, length: usize, mut each: impl FnMut(&Part, usize, std::ops::Range<usize>)) {
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let within = (at % EXTENT_BYTES as u64) as usize;
            let count = (EXTENT_BYTES - within).min(length - done);
            if let Some(part) = self.parts.get((at / EXTENT_BYTES as u64) as usize) {
                each(part, within, done..done + count);
            }
            done += count;
        }
    }
}

impl VolumeFile for MemoryFile {
    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.content.read().length_bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let content = self.content.read();
        if offset.saturating_add(buffer.len() as u64) > content.length_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        content.parts(offset, buffer.len(), |part, within, range| {
            let Some(out) = buffer.get_mut(range) else { return };
            match part.read().as_deref().and_then(|bytes| bytes.get(within..within + out.len())) {
                Some(bytes) => out.copy_from_slice(bytes),
                None => out.fill(0),
            }
        });
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if end > self.content.read().length_bytes {
            let mut content = self.content.write();
            let length = content.length_bytes.max(end);
            content.set_length(length);
        }
        self.content.read().parts(offset, bytes.len(), |part, within, range| {
            let Some(bytes) = bytes.get(range) else { return };
            let mut part = part.write();
            if part.is_none() {
                self.counted.take_anyway(EXTENT_BYTES);
            }
            if bytes.len() == EXTENT_BYTES && part.is_none() {
                *part = Some(ExtentMemory::of(bytes));
                return;
            }
            let part = part.get_or_insert_with(ExtentMemory::zeroed);
            if let Some(place) = part.get_mut(within..within + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        });
        Ok(())
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        let mut content = self.content.write();
        let end = length_bytes.div_ceil(EXTENT_BYTES as u64) as usize;
        let given_up = content.parts.iter_mut().skip(end).filter_map(|part| part.get_mut().as_ref()).count();
        content.set_length(length_bytes);
        self.counted.give_back(given_up * EXTENT_BYTES);
        Ok(())
    }

    fn reserve(&self, _: u64, length_bytes: u64) -> io::Result<()> {
        match self.counted.fits(usize::try_from(length_bytes).unwrap_or(usize::MAX)) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::StorageFull, NoMemoryLeft)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, length_bytes: u64) {
        let content = self.content.read();
        let first = offset.div_ceil(EXTENT_BYTES as u64) as usize;
        let end = (offset.saturating_add(length_bytes) / EXTENT_BYTES as u64) as usize;
        for part in content.parts.get(first..end.min(content.parts.len())).unwrap_or_default() {
            if part.write().take().is_some() {
                self.counted.give_back(EXTENT_BYTES);
            }
        }
    }
}

/// Another volume whose files are never synced: what is committed survives the end of the process, but not a power cut.
#[derive(Debug)]
pub struct UnsyncedVolume<V>(pub V);

impl<V: Volume> Volume for UnsyncedVolume<V> {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(Arc::new(UnsyncedFile(self.0.open(name)?)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        Ok(Arc::new(UnsyncedFile(self.0.create(name)?)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct UnsyncedFile(Arc<dyn VolumeFile>);

impl VolumeFile for UnsyncedFile {
    fn length_bytes(&self) -> io::Result<u64> {
        self.0.length_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        self.0.set_length(length_bytes)
    }

    fn reserve(&self, offset: u64, length_bytes: u64) -> io::Result<()> {
        self.0.reserve(offset, length_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, offset: u64, length_bytes: u64) {
        self.0.discard(offset, length_bytes);
    }
}
