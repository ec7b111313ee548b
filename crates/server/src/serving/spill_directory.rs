//! The directory for rows of queries that do not fit into memory.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::options::DataLocation;

/// The name of the directory in the data directory; no database's folder has this name.
const NAME: &str = "spilled.rows";

/// A directory of the server's own, empty at its start and gone at its end.
#[derive(Debug)]
pub(crate) struct SpillDirectory {
    /// The path; `None` uses the system's temporary files.
    path: Option<PathBuf>,
}

impl SpillDirectory {
    /// Removes files that a killed server has left. The directory itself is made by the first query that needs it.
    pub fn new(data: &DataLocation) -> io::Result<SpillDirectory> {
        let DataLocation::Directory { path, .. } = data else { return Ok(SpillDirectory { path: None }) };
        let path = path.join(NAME);
        remove(&path)?;
        Ok(SpillDirectory { path: Some(path) })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }
}

impl Drop for SpillDirectory {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Files that stay are removed at the next start.
            let _ = remove(path);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
