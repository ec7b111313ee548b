//! Opening a data directory, or saying why it cannot be.

use std::path::{Path, PathBuf};

use store::HeldDirectory;
use store::{EngineError, EngineOptions};

use crate::storage::databases::Databases;
use crate::storage::folders::DirectoryFolders;

/// Reason why a data directory cannot be opened. It is left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory was made by a version that kept rows in segments.
    #[error(
        "{} holds segments, a form of older builds that this version does not read: export its tables with the build that made it, and load them into another directory",
        .path.display()
    )]
    Segments {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory was made before each database had a folder of its own.
    #[error(
        "{} holds one store of pages for all databases, a layout of unreleased builds; this version keeps each database in a folder of its own: export the tables with the build that made it, and load them into another directory",
        .path.display()
    )]
    OneStore {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory cannot be looked into.
    #[error("cannot look for {}: {source}", .path.display())]
    Look {
        /// The file looked for.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A database cannot be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Databases {
    /// Opens the databases of a directory, or makes those that every server has. Without `sync` commits do not wait for the disk.
    pub fn open(directory: &Path, sync: bool) -> Result<Databases, OpenError> {
        Self::open_within(directory, sync, EngineOptions::default().cache_bytes)
    }

    /// Opens the databases with a cache of `cache_bytes` for the pages of all of them.
    pub fn open_within(directory: &Path, sync: bool, cache_bytes: usize) -> Result<Databases, OpenError> {
        refuse_other_forms(directory)?;
        let folders = DirectoryFolders::open(directory, sync)?;
        let options = EngineOptions { cache_bytes, ..EngineOptions::default() };
        Ok(Self::open_in(Box::new(folders), options)?)
    }

    /// Returns true if a process holds a lock of this directory, or of a database in it.
    pub fn is_held(directory: &Path) -> bool {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        HeldDirectory::is_held(directory)
            || entries.flatten().any(|entry| HeldDirectory::is_held(&entry.path()))
    }
}

/// Refuses a directory that has files of a form that is not read any more, or that cannot be looked into.
fn refuse_other_forms(directory: &Path) -> Result<(), OpenError> {
    let has = |name: &str| match directory.join(name).try_exists() {
        Ok(exists) => Ok(exists),
        Err(source) => Err(OpenError::Look { path: directory.join(name), source }),
    };
    if has("journal")? {
        return Err(OpenError::Segments { path: directory.to_owned() });
    }
    if has("control")? || has("log-00000001.vlf")? {
        return Err(OpenError::OneStore { path: directory.to_owned() });
    }
    Ok(())
}
