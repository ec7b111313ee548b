//! The new virtual log file of a database that is opened on a full disk. It is made when there is room.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::block::{self, UNIT_BYTES};
use super::file_name;
use crate::disk::volume::{Volume, VolumeFile};

/// A virtual log file that there is no room for yet. Until it can be written, its records are only in memory and not durable, and
/// the log ends with the file before.
#[derive(Debug)]
pub struct DeferredFile {
    volume: Arc<dyn Volume>,
    number: u32,
    previous_end: u32,
    /// The file; None: it is not made, or may be there in part.
    file: Mutex<Option<Arc<dyn VolumeFile>>>,
}

impl DeferredFile {
    /// Prepares file `number`, to be made later. Its header will say that the file before ends at
    /// `previous_end`.
    pub fn new(volume: &Arc<dyn Volume>, number: u32, previous_end: u32) -> Self {
        Self { volume: Arc::clone(volume), number, previous_end, file: Mutex::default() }
    }

    /// Returns the file, and makes it if it is not there.
    fn made(&self) -> io::Result<Arc<dyn VolumeFile>> {
        let mut made = self.file.lock();
        if let Some(file) = &*made {
            return Ok(Arc::clone(file));
        }
        let file = self.volume.create(&file_name(self.number))?;
        file.write_at(0, &block::file_header(self.number, self.previous_end))?;
        file.sync()?;
        self.volume.sync_directory()?;
        *made = Some(Arc::clone(&file));
        Ok(file)
    }

    fn known(&self) -> Option<Arc<dyn VolumeFile>> {
        self.file.lock().clone()
    }
}

impl VolumeFile for DeferredFile {
    fn length_bytes(&self) -> io::Result<u64> {
        self.known().map_or(Ok(UNIT_BYTES as u64), |file| file.length_bytes())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.made()?.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.made()?.write_at(offset, bytes)
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        // A file that was not created yet has no bytes, so it cannot be too long.
        self.known().map_or(Ok(()), |file| file.set_length(length_bytes))
    }

    fn reserve(&self, offset: u64, length_bytes: u64) -> io::Result<()> {
        self.made()?.reserve(offset, length_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.known().map_or(Ok(()), |file| file.sync())
    }
}
