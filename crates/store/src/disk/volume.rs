//! The engine's interface to a disk: files that are read and written at positions. Tests implement it with a disk that loses power.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::directory::{HeldDirectory, OpenDirectoryError, open_private};

/// A flat directory of files. `docs/store-engine.md`, "What is assumed of the disk", has its guarantees.
pub trait Volume: fmt::Debug + Send + Sync {
    /// Returns the full path of a file, for messages only.
    fn path(&self, name: &str) -> PathBuf;
    /// Lists the names of the files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>>;
    /// Creates a file, or empties an existing one.
    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Renames a file, replacing `to` atomically.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes creations, removals and renames durable.
    fn sync_directory(&self) -> io::Result<()>;
}

/// An open file. All methods may be called from several threads at once.
pub trait VolumeFile: fmt::Debug + Send + Sync {
    /// Returns the length in bytes.
    fn length_bytes(&self) -> io::Result<u64>;
    /// Fills `buffer` from `offset`; `UnexpectedEof` if the file is shorter.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`; the file grows if need be. On error any part may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file or fills it up with zeros.
    fn set_length(&self, length_bytes: u64) -> io::Result<()>;
    /// Makes sure that writes to this part of the file do not fail for want of space, as far as the file system can. Content and length
    /// stay as they are.
    fn reserve(&self, _offset: u64, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Makes content and length durable.
    fn sync(&self) -> io::Result<()>;
    /// Tells the disk to begin with the bytes written so far, while others go on. The next
    /// [`sync`](Self::sync) and all later ones report its failure.
    fn start_sync(&self) {}
    /// Declares the contents of a range useless: it may then read as anything. Whole extents in memory are
    /// given back.
    fn discard(&self, _offset: u64, _length_bytes: u64) {}
}

/// A real directory, locked for as long as this value lives.
#[derive(Debug)]
pub struct DirectoryVolume {
    directory: PathBuf,
    held: HeldDirectory,
}

impl DirectoryVolume {
    /// Creates the directory if it is missing and locks it.
    pub fn open(directory: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { directory: directory.to_owned(), held: HeldDirectory::open(directory)? })
    }

    fn open_with(&self, name: &str, create: bool) -> io::Result<Arc<dyn VolumeFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(create);
        let file = open_private(&options, &self.directory.join(name))?;
        Ok(Arc::new(DirectoryFile { synced: Arc::new(SyncedFile { file, failed: Mutex::default() }) }))
    }
}

impl Volume for DirectoryVolume {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.held.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        self.open_with(name, false)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn VolumeFile>> {
        self.open_with(name, true)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.held.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.held.rename(from, to)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.held.sync_directory()
    }
}

#[derive(Debug)]
struct DirectoryFile {
    synced: Arc<SyncedFile>,
}

/// A file that one thread at a time syncs, so that each sync knows the outcome of earlier ones.
#[derive(Debug)]
struct SyncedFile {
    file: File,
    /// The first sync that failed. The system reports a failure once; the data of that write may be lost for good.
    failed: Mutex<Option<(io::ErrorKind, String)>>,
}

impl SyncedFile {
    fn sync(&self, failed: &mut Option<(io::ErrorKind, String)>) -> io::Result<()> {
        if let Some((kind, reason)) = failed {
            return Err(io::Error::new(*kind, reason.clone()));
        }
        self.file.sync_data().inspect_err(|error| *failed = Some((error.kind(), error.to_string())))
    }
}

impl VolumeFile for DirectoryFile {
    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.synced.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_at(&self.synced.file, offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_at(&self.synced.file, offset, bytes)
    }

    fn set_length(&self, length_bytes: u64) -> io::Result<()> {
        self.synced.file.set_len(length_bytes)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, offset: u64, length_bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        if length_bytes == 0 {
            return Ok(());
        }
        let reserve = || fallocate(&self.synced.file, FallocateFlags::KEEP_SIZE, offset, length_bytes);
        match rustix::io::retry_on_intr(reserve) {
            // The file system cannot reserve: writes will fail if it is full.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
            reserved => Ok(reserved?),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.synced.sync(&mut self.synced.failed.lock())
    }

    fn start_sync(&self) {
        let synced = Arc::clone(&self.synced);
        // If no thread can be started, the next sync does all the work.
        let begun = std::thread::Builder::new().name("write behind".to_owned()).spawn(move || {
            // The sync that runs now does this work.
            if let Some(mut failed) = synced.failed.try_lock() {
                synced.sync(&mut failed).ok();
            }
        });
        drop(begun);
    }
}

#[cfg(unix)]
fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                offset += read as u64;
                buffer = buffer.get_mut(read..).unwrap_or_default();
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                offset += written as u64;
                bytes = bytes.get(written..).unwrap_or_default();
            }
        }
    }
    Ok(())
}
