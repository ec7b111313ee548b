//! Restores that WITH NORECOVERY has left open, and who restores backups of SQL Server.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::catalogue::name_key;

/// Makes a database of backups of SQL Server. It gets the name, the files in order, and the number (from 1) of the set in files
/// that have several. Returns what is to be said of it, or the reason why it cannot be made.
pub type Importer = Arc<dyn Fn(&str, &[PathBuf], Option<usize>) -> Result<String, String> + Send + Sync>;

/// Writes the tables of a database into a new package. Returns the reason why that cannot be.
pub type Packer = Arc<dyn Fn(&str, &Path) -> Result<(), String> + Send + Sync>;

/// A backup set among files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenSet {
    /// The files: one, or all stripes.
    pub files: Vec<PathBuf>,
    /// Number of the set, from 0.
    pub set: usize,
}

/// Backups that are restored one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRestore {
    /// The full backup, then those that follow it.
    pub sets: Vec<ChosenSet>,
    /// True if the embedded server made the backups.
    pub is_own: bool,
    /// The checkpoint of the full backup, as a number.
    pub base_lsn: i128,
}

/// Restores of a server.
#[derive(Default)]
pub struct Restores {
    importer: OnceLock<Importer>,
    packer: OnceLock<Packer>,
    open: Mutex<HashMap<String, OpenRestore>>,
}

impl fmt::Debug for Restores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restores").field("open", &self.open).finish_non_exhaustive()
    }
}

impl Restores {
    /// Sets who makes databases of backups of SQL Server. The first call counts.
    pub fn set_importer(&self, importer: Importer) {
        self.importer.get_or_init(|| importer);
    }

    /// Returns who makes databases of backups of SQL Server.
    pub fn importer(&self) -> Option<&Importer> {
        self.importer.get()
    }

    /// Sets who writes packages of tables. The first call counts.
    pub fn set_packer(&self, packer: Packer) {
        self.packer.get_or_init(|| packer);
    }

    /// Returns who writes packages of tables.
    pub fn packer(&self) -> Option<&Packer> {
        self.packer.get()
    }

    /// Returns the restore of a database that is open.
    pub fn open(&self, database: &str) -> Option<OpenRestore> {
        self.open.lock().get(&name_key(database)).cloned()
    }

    /// Leaves a restore open.
    pub fn keep(&self, database: &str, restore: OpenRestore) {
        self.open.lock().insert(name_key(database), restore);
    }

    /// Ends the restore of a database.
    pub fn end(&self, database: &str) {
        self.open.lock().remove(&name_key(database));
    }
}
