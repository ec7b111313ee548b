//! The few operations the store asks of a disk. Tests put a disk behind them that loses power or fails on demand.

mod directory;

use std::fmt;
use std::io::{self, IoSlice};
use std::path::PathBuf;

pub use directory::{DirectoryStorage, OpenDirectoryError};

/// A flat directory of files. Names are plain file names, never paths.
///
/// What the store assumes of an implementation is written down in `docs/store-format.md`: in short, what was synced stays,
/// what was not may be kept, lost or torn in any combination, and a rename is atomic.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Full path of a file, for messages only.
    fn path(&self, name: &str) -> PathBuf;
    /// Names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file for reading.
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>>;
    /// Creates a file, or empties an existing one, for appending.
    fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>>;
    /// Opens an existing file for appending at `length_bytes`; what lies beyond is cut off.
    fn open_append(&self, name: &str, length_bytes: u64) -> io::Result<Box<dyn AppendFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Renames a file, replacing `to` atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes creations, removals and renames durable.
    fn sync_directory(&self) -> io::Result<()>;
}

/// A file being appended to by its only writer.
pub trait AppendFile: fmt::Debug + Send {
    /// Appends all slices in order. On error any prefix of them may have been written.
    fn append(&mut self, slices: &mut [IoSlice<'_>]) -> io::Result<()>;
    /// Cuts the file to `length_bytes` and continues there.
    fn truncate(&mut self, length_bytes: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file being read at positions.
pub trait ReadFile: fmt::Debug + Send + Sync {
    /// Length in bytes.
    fn length_bytes(&self) -> io::Result<u64>;
    /// Fills `buffer` from `offset`; `UnexpectedEof` if the file is shorter.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}
