//! The description of the database in a file. No login and no secret is among it.

use crate::{backup::BackupSet, catalogue::Boot};

/// A database in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name of the database.
    pub database: String,
    /// Internal version; 0 for a package.
    pub version: u16,
    /// The server that writes this version.
    pub server: String,
    /// Compatibility level; 0 if it is unknown.
    pub compatibility: u8,
    /// The kind of file that the description is from.
    pub origin: Origin,
}

/// The kind of file that a database is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Data files of a database that was shut down.
    DataFiles,
    /// A backup.
    Backup {
        /// True if a differential backup is laid over the full one.
        is_differential: bool,
        /// Files that were read.
        files: usize,
        /// The start of the backup, `2024-02-29 12:34:56`.
        begun: String,
        /// Version of the server that made it.
        server_version: String,
        /// Recovery point: position in the log.
        last_lsn: String,
    },
    /// A package of data and model (.bacpac), or of the model alone (.dacpac).
    Package {
        /// The program that made it.
        product: String,
        /// True if it has data.
        has_data: bool,
    },
}

impl Description {
    pub(crate) fn of(boot: &Boot, origin: Origin) -> Self {
        Self {
            database: boot.name.rsplit(['\\', '/']).next().unwrap_or_default().to_owned(),
            version: boot.version,
            server: boot.server().to_owned(),
            compatibility: boot.compatibility,
            origin,
        }
    }
}

impl Origin {
    pub(crate) fn of_backup(set: Option<&BackupSet>, files: usize, is_differential: bool) -> Self {
        let Some(set) = set else { return Self::DataFiles };
        let [year, month, day, hour, minute, second] = set.header.begun;
        let (major, minor, build) = set.header.server_version;
        Self::Backup {
            is_differential,
            files,
            begun: format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            server_version: format!("{major}.{minor}.{build}"),
            last_lsn: set.header.last_lsn.to_string(),
        }
    }
}
