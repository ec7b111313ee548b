//! Bytes that can be read at any place: a file, memory, or what a caller brings.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Bytes with a length, which several threads read at places of their own.
pub trait ReadAt: Send + Sync {
    /// Returns the name that errors give.
    fn name(&self) -> &str;

    /// Returns the number of bytes.
    fn length(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// They cannot be read; [`io::ErrorKind::UnexpectedEof`] if there are not so many.
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()>;
}

impl fmt::Debug for dyn ReadAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name(), self.length())
    }
}

/// A file of this machine.
#[derive(Debug)]
pub struct LocalFile {
    name: String,
    file: File,
    length: u64,
}

impl LocalFile {
    /// Opens a file.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { name: path.display().to_string(), file, length })
    }
}

impl ReadAt for LocalFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.length
    }

    #[cfg(unix)]
    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, into, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !into.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, into, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    into = into.get_mut(read..).unwrap_or_default();
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }
}

/// A part of other bytes, under their name.
pub(crate) struct Part {
    pub source: Arc<dyn ReadAt>,
    pub at: u64,
    pub length: u64,
}

impl ReadAt for Part {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match offset.checked_add(into.len() as u64).is_some_and(|end| end <= self.length) {
            true => self.source.read_exact_at(into, self.at + offset),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Bytes in memory, for small files and for tests.
#[derive(Debug)]
pub struct InMemory {
    name: String,
    bytes: Vec<u8>,
}

impl InMemory {
    /// Names bytes.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl ReadAt for InMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(into.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(self.bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
