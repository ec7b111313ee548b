//! A directory of the operating system, locked while it is in use.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const LOCK_FILE: &str = "lock";
/// Rows are for the account of the server alone.
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
#[cfg(unix)]
const DIRECTORY_MODE: u32 = 0o700;
/// Mode bits of the group and of other accounts.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// A directory, held by an exclusive lock on its `lock` file for as long as this value lives.
#[derive(Debug)]
pub struct HeldDirectory {
    directory: PathBuf,
    // The lock goes with the file handle when the process is killed.
    lock: File,
}

/// Reason why a directory could not be taken.
#[derive(Debug)]
pub enum OpenDirectoryError {
    /// Another process holds the lock.
    InUse,
    /// The directory or its lock file could not be created or opened.
    Io(io::Error),
}

impl HeldDirectory {
    /// Creates the directory if it is missing and locks it.
    pub fn open(directory: &Path) -> Result<Self, OpenDirectoryError> {
        create_directory(directory).map_err(OpenDirectoryError::Io)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let lock = open_private(&options, &directory.join(LOCK_FILE)).map_err(OpenDirectoryError::Io)?;
        // The directory may exist already, with the mode that an earlier release gave it.
        #[cfg(unix)]
        close_to_others(&File::open(directory).map_err(OpenDirectoryError::Io)?);
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenDirectoryError::InUse),
            Err(TryLockError::Error(error)) => Err(OpenDirectoryError::Io(error)),
        }
    }

    /// Returns true if a process holds the lock of a directory.
    pub fn is_held(directory: &Path) -> bool {
        let lock = OpenOptions::new().read(true).write(true).open(directory.join(LOCK_FILE));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that another thread has just forked has a copy of the handle until it is another program.
        let _ = self.lock.unlock();
    }
}

impl HeldDirectory {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Lists the names of the files.
    pub(crate) fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // A name that is not Unicode is not one of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    /// Renames a file, replacing `to` atomically.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    /// Makes creations, removals and renames durable.
    pub(crate) fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.directory)
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
    match create_private(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_directory(parent.unwrap_or(Path::new("."))),
    }
}

/// Opens a file that other accounts can neither read nor write, whether it is new or there already.
pub fn open_private(options: &OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    let options = {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = options.clone();
        options.mode(FILE_MODE);
        options
    };
    let file = options.open(path)?;
    #[cfg(unix)]
    close_to_others(&file);
    Ok(file)
}

/// Creates a directory that other accounts cannot look into.
fn create_private(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().mode(DIRECTORY_MODE).create(directory)
    }
    #[cfg(not(unix))]
    fs::create_dir(directory)
}

/// Takes from other accounts what they may do with a file or directory. That of another owner stays as it is.
#[cfg(unix)]
fn close_to_others(file: &File) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = file.metadata() else { return };
    let mode = metadata.permissions().mode();
    if mode & OTHERS != 0 {
        let _ = file.set_permissions(fs::Permissions::from_mode(mode & 0o7777 & !OTHERS));
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Does nothing: Windows cannot sync a directory handle opened for reading, and NTFS journals its metadata
/// itself.
#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
