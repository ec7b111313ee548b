//! Several readers of one open file, each at a place of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads an open file from an offset on, and counts what it reads. Unlike a cloned handle it shares no position with other
/// readers.
#[derive(Clone)]
pub(crate) struct AtOffset {
    file: Arc<File>,
    offset: u64,
    bytes: Arc<AtomicU64>,
}

impl AtOffset {
    /// Reads from the start; what is read is added to `bytes`.
    pub(crate) fn new(file: Arc<File>, bytes: Arc<AtomicU64>) -> Self {
        Self { file, offset: 0, bytes }
    }

    /// Reads from `offset` on.
    pub(crate) fn at(&self, offset: u64) -> Self {
        Self { offset, ..self.clone() }
    }

    /// Reads without being counted.
    pub(crate) fn uncounted(&self) -> Self {
        Self { bytes: Arc::default(), ..self.clone() }
    }

    /// The file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Counts the bytes that are read.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }
}

impl Read for AtOffset {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, into, self.offset)?;
        self.offset += read as u64;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Seek for AtOffset {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(offset) => (offset, 0),
            SeekFrom::Current(by) => (self.offset, by),
            SeekFrom::End(by) => (self.file.metadata()?.len(), by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the file's start");
        self.offset = from.checked_add_signed(by).ok_or_else(before)?;
        Ok(self.offset)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}
