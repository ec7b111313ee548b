//! A file that SQL Server or its tools wrote, of whichever kind.

use std::sync::Arc;

use rows::Form;

use crate::{
    backup_file::BackupFile,
    database::PagedDatabase,
    definition::{Module, Table},
    description::{Description, Origin},
    error::{FileError, Reason, Result},
    packages::{self, Package},
    random_access::ReadAt,
    reading::TableReader,
};

/// Suffixes of the files that are read, in lower case.
pub const SUFFIXES: [&str; 6] = ["bak", "bacpac", "dacpac", "mdf", "ndf", "ldf"];

/// A database in data files, backups or a package.
pub enum DatabaseFile {
    /// Pages.
    Paged(PagedDatabase),
    /// A package.
    Package(Package),
}

impl DatabaseFile {
    /// Opens what belongs together: all data files, all stripes of a backup with a differential one, or one package. `set` is the
    /// number (from 1) of the backup in files that have several.
    ///
    /// # Errors
    /// A file is none of these, is damaged, or another one is missing that belongs to it.
    pub fn open(sources: Vec<Arc<dyn ReadAt>>, set: Option<usize>) -> Result<Self> {
        let mut head = [0; 4];
        let is_package = sources.first().is_some_and(|source| {
            source.length() >= 4 && source.read_exact_at(&mut head, 0).is_ok() && packages::is_archive(&head)
        });
        if !is_package {
            if let [one] = sources.as_slice()
                && let Some(package) = own_package(one, set)?
            {
                return Ok(Self::Package(package));
            }
            return PagedDatabase::open(sources, set).map(Self::Paged);
        }
        match sources.as_slice() {
            [one, ..] if set.is_some() => {
                let text = "a package is no backup: the number of one means nothing here".to_owned();
                Err(FileError::new(one.name(), "", Reason::Incomplete(text)))
            }
            [one] => Package::open(Arc::clone(one)).map(Self::Package),
            [first, ..] => {
                let text = "a package is read by itself".to_owned();
                Err(FileError::new(first.name(), "", Reason::Incomplete(text)))
            }
            [] => Err(FileError::new("", "", Reason::Incomplete("no file is named".to_owned()))),
        }
    }

    /// Returns what the file says of the database.
    pub fn description(&self) -> &Description {
        match self {
            Self::Paged(database) => database.description(),
            Self::Package(package) => package.description(),
        }
    }

    /// Returns the tables of users, by name.
    pub fn tables(&self) -> Vec<&Table> {
        match self {
            Self::Paged(database) => database.tables().collect(),
            Self::Package(package) => package.tables().collect(),
        }
    }

    /// Returns views, procedures, functions and triggers. The script of an encrypted one is empty.
    pub fn modules(&self) -> &[Module] {
        match self {
            Self::Paged(database) => database.modules(),
            Self::Package(package) => package.modules(),
        }
    }

    /// Finds a table. Capitals decide only between names that differ in nothing else; without a schema, the name must be in one alone.
    ///
    /// # Errors
    /// There is none, or several, by their names.
    pub fn find(&self, schema: Option<&str>, name: &str) -> std::result::Result<usize, String> {
        let tables = self.tables();
        let is_like = |table: &Table, exact: bool| match exact {
            true => table.name == name && schema.is_none_or(|schema| table.schema == schema),
            false => {
                let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
                same(&table.name, name) && schema.is_none_or(|schema| same(&table.schema, schema))
            }
        };
        for exact in [true, false] {
            let found: Vec<usize> = (0..)
                .zip(&tables)
                .filter(|(_, table)| is_like(table, exact))
                .map(|(index, _)| index)
                .collect();
            match found.as_slice() {
                [] => {}
                [one] => return Ok(*one),
                several => {
                    let names: Vec<String> = several
                        .iter()
                        .filter_map(|index| tables.get(*index))
                        .map(|table| table.full_name())
                        .collect();
                    return Err(format!("several tables have this name: {}", names.join(", ")));
                }
            }
        }
        Err(format!("there is no such table; the file has {}", listed(&tables)))
    }

    /// Compares checksums over whole streams of a backup, and counts them. Pages and parts have their own, which reading compares.
    ///
    /// # Errors
    /// One of them does not agree.
    pub fn verify_checksums(&self) -> Result<usize> {
        match self {
            Self::Paged(database) => database.verify_checksums(),
            Self::Package(_) => Ok(0),
        }
    }

    /// Begins to read the rows of a table, by its number among [`tables`](Self::tables), with `threads` threads.
    ///
    /// # Errors
    /// Its rows are not read, by the reason.
    pub fn read(&self, table: usize, form: Form, batch_rows: usize, threads: usize) -> Result<TableReader> {
        match self {
            Self::Paged(database) => database.read(table, form, batch_rows, threads),
            Self::Package(package) => package.read(table, form, batch_rows, threads),
        }
    }
}

/// Returns the package of tables in a backup that the embedded server has made; None for other files, and if there is no package.
fn own_package(source: &Arc<dyn ReadAt>, set: Option<usize>) -> Result<Option<Package>> {
    let mut head = [0; 4];
    let is_plain = source.length() >= 4 && source.read_exact_at(&mut head, 0).is_ok() && &head == b"TAPE";
    if !is_plain {
        return Ok(None);
    }
    let file = BackupFile::open(Arc::clone(source))?;
    let index = match (set, file.headers().len()) {
        (Some(number), _) => number.checked_sub(1),
        (None, 1) => Some(0),
        (None, _) => None,
    };
    let found = index.and_then(|index| Some((file.headers().nth(index)?.clone(), file.package(index)?)));
    let Some((header, package)) = found else { return Ok(None) };
    let [year, month, day, hour, minute, second] = header.begun;
    let (major, minor, build) = header.server_version;
    let description = Description {
        database: header.database,
        version: header.version,
        server: "bulkwire's embedded server".to_owned(),
        compatibility: header.compatibility,
        origin: Origin::Backup {
            is_differential: false,
            files: 1,
            begun: format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
            server_version: format!("{major}.{minor}.{build}"),
            last_lsn: header.last_lsn.to_string(),
        },
    };
    Ok(Some(Package::open(package)?.described(description)))
}

/// Returns true if a path or URL has a suffix of such a file.
pub fn is_database_file(path: &str) -> bool {
    let suffix = path.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix.as_str()))
}

/// Lists the first names of tables.
fn listed(tables: &[&Table]) -> String {
    const SHOWN: usize = 20;
    let mut names: Vec<String> = tables.iter().take(SHOWN).map(|table| table.full_name()).collect();
    match tables.len() {
        0 => return "no table of a user".to_owned(),
        count if count > SHOWN => names.push(format!("and {} more", count - SHOWN)),
        _ => {}
    }
    names.join(", ")
}
