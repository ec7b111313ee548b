//! A real directory of the operating system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{AppendFile, ReadFile, Storage};

const LOCK_FILE: &str = "lock";

/// A directory, held by an exclusive lock on its `lock` file for as long as this value lives.
#[derive(Debug)]
pub struct DirectoryStorage {
    directory: PathBuf,
    // The lock goes with the file handle when the process is killed.
    lock: File,
}

/// Why a directory could not be taken.
#[derive(Debug)]
pub enum OpenDirectoryError {
    /// Another process holds the lock.
    InUse,
    /// The directory or its lock file could not be created or opened.
    Io(io::Error),
}

impl DirectoryStorage {
    /// Creates the directory if it is missing and locks it.
    pub fn open(directory: &Path) -> Result<Self, OpenDirectoryError> {
        create_directory(directory).map_err(OpenDirectoryError::Io)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(directory.join(LOCK_FILE))
            .map_err(OpenDirectoryError::Io)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenDirectoryError::InUse),
            Err(TryLockError::Error(error)) => Err(OpenDirectoryError::Io(error)),
        }
    }

    /// Whether somebody holds the lock of a directory, if it has one.
    pub fn is_held(directory: &Path) -> bool {
        let lock = OpenOptions::new().read(true).write(true).open(directory.join(LOCK_FILE));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

impl Drop for DirectoryStorage {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that another thread has just forked has a copy of the handle until it is another program.
        let _ = self.lock.unlock();
    }
}

impl Storage for DirectoryStorage {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is not Unicode is not one of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(DirectoryFile(File::open(self.path(name))?)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(DirectoryFile(File::create(self.path(name))?)))
    }

    fn open_append(&self, name: &str, length_bytes: u64) -> io::Result<Box<dyn AppendFile>> {
        let mut file = DirectoryFile(OpenOptions::new().write(true).open(self.path(name))?);
        file.truncate(length_bytes)?;
        Ok(Box::new(file))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.directory)
    }
}

#[derive(Debug)]
struct DirectoryFile(File);

impl AppendFile for DirectoryFile {
    fn append(&mut self, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match self.0.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut slices, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn truncate(&mut self, length_bytes: u64) -> io::Result<()> {
        self.0.set_len(length_bytes)?;
        self.0.seek(SeekFrom::Start(length_bytes)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        // Syncs the length too: fdatasync flushes what is needed to read the data back.
        self.0.sync_data()
    }
}

impl ReadFile for DirectoryFile {
    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, buffer, offset)
    }

    #[cfg(windows)]
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.0, buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Creates missing directories and makes each of their entries durable, or the whole database could vanish with one of them.
fn create_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_directory(parent)?;
    }
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_directory(parent.unwrap_or(Path::new("."))),
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Windows cannot sync a directory handle opened for reading; NTFS journals its metadata itself.
#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
