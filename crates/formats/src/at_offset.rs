//! Several readers of one open file or object, each at a place of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::objects::Windows;
use crate::witness::Witness;

/// Reads an open file or object from an offset on, and counts what it reads. Unlike a cloned handle it shares no position with
/// other readers.
#[derive(Clone)]
pub(crate) struct AtOffset {
    stored: Stored,
    offset: u64,
    bytes: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Stored {
    File(Arc<File>),
    Object(Arc<Windows>),
}

impl AtOffset {
    /// Reads from the start; what is read is added to `bytes`.
    pub(crate) fn new(file: Arc<File>, bytes: Arc<AtomicU64>) -> Self {
        Self { stored: Stored::File(file), offset: 0, bytes }
    }

    /// Reads an object from the start; what is read is added to `bytes`.
    pub(crate) fn of_object(windows: Arc<Windows>, bytes: Arc<AtomicU64>) -> Self {
        Self { stored: Stored::Object(windows), offset: 0, bytes }
    }

    /// Returns a reader of the same file for reading all of it. An object is then fetched ahead of its
    /// readers; `parts` are read together.
    pub(crate) fn whole(&self, parts: impl IntoIterator<Item = Range<u64>>) -> Self {
        match &self.stored {
            Stored::File(_) => self.clone(),
            Stored::Object(windows) => {
                Self { stored: Stored::Object(Arc::new(windows.whole(parts))), ..self.clone() }
            }
        }
    }

    /// Reads from `offset` on.
    pub(crate) fn at(&self, offset: u64) -> Self {
        Self { offset, ..self.clone() }
    }

    /// Reads without being counted.
    pub(crate) fn uncounted(&self) -> Self {
        Self { bytes: Arc::default(), ..self.clone() }
    }

    /// Returns true for a file of this machine, false for an object of a store.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.stored, Stored::File(_))
    }

    /// Returns the length of the stored bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match &self.stored {
            Stored::File(file) => Ok(file.metadata()?.len()),
            Stored::Object(windows) => Ok(windows.length()),
        }
    }

    /// Returns a witness that notices changes of the file. None for an object, which is always read in one
    /// version.
    pub(crate) fn witness(&self) -> io::Result<Option<Witness>> {
        match &self.stored {
            Stored::File(file) => Witness::of(file),
            Stored::Object(_) => Ok(None),
        }
    }

    /// Counts the bytes that are read.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }
}

impl Read for AtOffset {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &self.stored {
            Stored::File(file) => read_at(file, into, self.offset)?,
            Stored::Object(windows) => windows.read_at(into, self.offset)?,
        };
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
            SeekFrom::End(by) => (self.length()?, by),
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
