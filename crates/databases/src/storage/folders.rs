//! A data directory of databases: one folder for each.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::EngineError;
use store::OpenDirectoryError;
use store::disk::memory::UnsyncedVolume;
use store::disk::volume::{DirectoryVolume, Volume};

/// Place of the folders of a server's databases.
pub trait Folders: fmt::Debug + Send + Sync {
    /// Opens the files of a folder, which is made if there is none, for as long as the answer lives.
    /// `durable`: the folder outlives the server.
    fn open(&self, folder: &str, durable: bool) -> Result<Arc<dyn Volume>, EngineError>;
    /// Lists the names of all folders, those of others among them.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Lists the names of the files of a folder.
    fn files(&self, folder: &str) -> io::Result<Vec<String>>;
    /// Puts the [`MARK`] into a folder, durably.
    fn mark(&self, folder: &str) -> io::Result<()>;
    /// Takes it away.
    fn unmark(&self, folder: &str) -> io::Result<()>;
    /// Removes a folder and its files, the mark last.
    fn remove(&self, folder: &str) -> io::Result<()>;
}

/// A folder with a file of this name is removed unless the catalogue names it.
pub const MARK: &str = "unlisted";

/// A directory of the operating system, held by this process alone.
#[derive(Debug)]
pub struct DirectoryFolders {
    path: PathBuf,
    sync: bool,
    // Holds the directory's lock.
    _held: DirectoryVolume,
}

impl DirectoryFolders {
    /// Makes the directory if there is none, and locks it. Without `sync` commits do not wait for the disk.
    pub fn open(path: &Path, sync: bool) -> Result<DirectoryFolders, EngineError> {
        Ok(DirectoryFolders { path: path.to_owned(), sync, _held: held(path)? })
    }
}

fn held(path: &Path) -> Result<DirectoryVolume, EngineError> {
    DirectoryVolume::open(path).map_err(|error| match error {
        OpenDirectoryError::InUse => EngineError::InUse { path: path.to_owned() },
        OpenDirectoryError::Io(source) => {
            EngineError::Io { operation: "open", path: path.to_owned(), source }
        }
    })
}

impl Folders for DirectoryFolders {
    fn open(&self, folder: &str, durable: bool) -> Result<Arc<dyn Volume>, EngineError> {
        let volume = held(&self.path.join(folder))?;
        Ok(if self.sync && durable { Arc::new(volume) } else { Arc::new(UnsyncedVolume(volume)) })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not Unicode is not one of ours.
            if let (true, Ok(name)) = (entry.file_type()?.is_dir(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn files(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path.join(folder))?;
        // A name that is not Unicode is none of ours: it counts as a file without a name.
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
        names.collect()
    }

    fn mark(&self, folder: &str) -> io::Result<()> {
        let path = self.path.join(folder);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        store::open_private(&options, &path.join(MARK))?.sync_all()?;
        sync_directory(&path)
    }

    fn unmark(&self, folder: &str) -> io::Result<()> {
        let path = self.path.join(folder);
        match fs::remove_file(path.join(MARK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| sync_directory(&path)),
        }
    }

    fn remove(&self, folder: &str) -> io::Result<()> {
        let path = self.path.join(folder);
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            if entry.file_name() != MARK {
                fs::remove_file(entry.path())?;
            }
        }
        sync_directory(&path)?;
        self.unmark(folder)?;
        fs::remove_dir(&path)?;
        sync_directory(&self.path)
    }
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Does nothing: Windows cannot sync a directory that is opened for reading, and its file system journals
/// names itself.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Names the folder of a database: its name, cut to 64 bytes, and a number, which makes it unique. Bytes
/// other than ASCII letters, digits and underscores are written as `%` and two hexadecimal digits.
pub fn folder_name(database: &str, number: u32) -> String {
    const LONGEST_BYTES: usize = 64;
    let mut name = String::new();
    for letter in database.to_lowercase().chars() {
        let written = match letter {
            'a'..='z' | '0'..='9' | '_' => letter.to_string(),
            other => other.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect(),
        };
        if name.len() + written.len() > LONGEST_BYTES {
            break;
        }
        name.push_str(&written);
    }
    format!("{name}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_names_that_every_file_system_takes() {
        assert_eq!(folder_name("Sales_2024", 5), "sales_2024-5");
        assert_eq!(folder_name("../a b", 6), "%2e%2e%2fa%20b-6");
        assert_eq!(folder_name("Größe", 7), "gr%c3%b6%c3%9fe-7");
        assert_eq!(folder_name("con", 8), "con-8");
        assert_eq!(folder_name("", 9), "-9");
        let long = folder_name(&"中".repeat(128), 10);
        assert_eq!(long, format!("{}-10", "%e4%b8%ad".repeat(7)));
    }
}
