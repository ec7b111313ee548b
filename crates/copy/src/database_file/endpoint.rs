//! The spelling of such files, and their tables.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use database_files::{DatabaseFile, LocalFile, ReadAt, is_database_file};
use formats::{Location, objects::shown_url};
use load::TableName;

use super::object::StoredObject;
use crate::{error::CopyError, file_set::files_of, listed_table::ListedTable};

/// Files that belong together, and a table of their database.
#[derive(Clone)]
pub struct DatabaseFileEndpoint {
    /// Paths, patterns or URLs: stripes of a backup, a full backup and a differential one, data files.
    pub files: Vec<String>,
    /// The table.
    pub table: Option<String>,
    /// The number (from 1) of the backup in files that have several.
    pub set: Option<usize>,
    /// The database, once it is open: its tables are opened many times.
    opened: Arc<Mutex<Option<Arc<DatabaseFile>>>>,
}

impl DatabaseFileEndpoint {
    /// Reads `shop.bak`, `shop.bacpac#dbo.orders`, `full.bak,diff.bak#dbo.orders`. None if a file has another suffix.
    pub fn parse(text: &str) -> Option<Self> {
        let (paths, table) = match text.rsplit_once('#') {
            Some((paths, table)) if !table.is_empty() && are_database_files(paths) => (paths, Some(table)),
            _ => (text, None),
        };
        are_database_files(paths).then(|| Self {
            files: paths.split(',').map(str::to_owned).collect(),
            table: table.map(str::to_owned),
            set: None,
            opened: Arc::default(),
        })
    }

    /// Makes the endpoint of files whatever their suffixes are.
    pub(crate) fn of_files(files: Vec<String>, set: Option<usize>) -> Self {
        Self { files, table: None, set, opened: Arc::default() }
    }

    /// Returns the same files with relative paths that begin at `folder`.
    #[must_use]
    pub fn within(&self, folder: &Path) -> Self {
        let place = |file: &String| match formats::objects::is_object_url(file) {
            true => file.clone(),
            false => folder.join(file).to_string_lossy().into_owned(),
        };
        Self { files: self.files.iter().map(place).collect(), opened: Arc::default(), ..self.clone() }
    }

    /// Returns the same files with another table.
    #[must_use]
    pub fn with_table(&self, table: Option<String>) -> Self {
        Self { table, ..self.clone() }
    }

    /// Returns the same files with the number of a backup in them.
    #[must_use]
    pub fn with_set(&self, set: Option<usize>) -> Self {
        Self { set, opened: Arc::default(), ..self.clone() }
    }

    /// Returns the error of writing such files.
    pub(crate) fn not_written(&self) -> CopyError {
        CopyError::Usage(format!(
            "{self}: data files and backups are read, not written (a server writes them: BACKUP DATABASE); packages are written one at a time (shop.bacpac)"
        ))
    }

    /// Opens the database, or returns it again.
    ///
    /// # Errors
    /// A file is not there, is damaged, or is not read.
    pub fn open(&self) -> Result<Arc<DatabaseFile>, CopyError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = &*opened {
            return Ok(Arc::clone(database));
        }
        let mut sources: Vec<Arc<dyn ReadAt>> = Vec::new();
        for path in &self.files {
            for location in files_of(path)? {
                sources.push(open_file(&location)?);
            }
        }
        let database =
            DatabaseFile::open(sources, self.set).map_err(|error| CopyError::Stream(error.into()))?;
        Ok(Arc::clone(opened.insert(Arc::new(database))))
    }

    /// Returns what distinguishes the files' contents from any others.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn fingerprint(&self) -> Result<String, CopyError> {
        let mut prints = Vec::new();
        for path in &self.files {
            for location in files_of(path)? {
                let print = formats::fingerprint(&location)
                    .map_err(|source| CopyError::Unreadable { file: shown_url(path), source })?;
                prints.push(print.unwrap_or_default());
            }
        }
        Ok(prints.join("; "))
    }

    /// Lists the tables.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn tables(&self) -> Result<Vec<ListedTable>, CopyError> {
        let database = self.open()?;
        let tables = database.tables().into_iter().map(|table| ListedTable {
            schema: Some(table.schema.clone()),
            name: table.name.clone(),
            is_view: false,
            rows: table.rows,
            bytes: table.bytes,
        });
        Ok(tables.collect())
    }

    /// Finds the table that the endpoint names.
    ///
    /// # Errors
    /// It names none, or one that is not there.
    pub fn table_index(&self) -> Result<usize, CopyError> {
        let Some(text) = &self.table else {
            return Err(CopyError::Usage(format!(
                "{self}: name a table ({self}#dbo.orders), or several by --tables"
            )));
        };
        let name: TableName =
            text.parse().map_err(|error: load::Error| CopyError::Usage(error.to_string()))?;
        let found = self.open()?.find(name.schema.as_deref(), &name.name);
        found.map_err(|problem| CopyError::Usage(format!("{self}: {problem}")))
    }
}

/// Returns true if all paths, which commas divide, have a suffix of such files.
fn are_database_files(paths: &str) -> bool {
    paths.split(',').all(is_database_file)
}

fn open_file(location: &Location) -> Result<Arc<dyn ReadAt>, CopyError> {
    match location {
        Location::Path(path) => {
            let name = path.display().to_string();
            let file =
                LocalFile::open(path).map_err(|source| CopyError::Unreadable { file: name, source })?;
            Ok(Arc::new(file))
        }
        Location::Object(object) => {
            let shown = shown_url(&object.path().to_string_lossy());
            let opened = StoredObject::open(object, &shown);
            Ok(Arc::new(opened.map_err(|source| CopyError::Unreadable { file: shown, source })?))
        }
        _ => Err(CopyError::Usage("a file of SQL Server cannot be read from a pipe".to_owned())),
    }
}

impl PartialEq for DatabaseFileEndpoint {
    fn eq(&self, other: &Self) -> bool {
        (&self.files, &self.table, self.set) == (&other.files, &other.table, other.set)
    }
}

impl Eq for DatabaseFileEndpoint {}

impl fmt::Display for DatabaseFileEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<String> = self.files.iter().map(|file| shown_url(file)).collect();
        write!(f, "{}", files.join(","))?;
        match &self.table {
            Some(table) => write!(f, "#{table}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DatabaseFileEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
