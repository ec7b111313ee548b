//! Where rows live: one interface over the store's two forms.
//!
//! [`Form::Segments`] is the first form (`docs/store-format.md`), [`Form::Pages`] the paged engine (`docs/store-engine.md`). A
//! directory keeps the form that it was made in. Temporary tables and table variables are segments in memory with either.

mod altering;
mod columns;
mod databases;
mod databases_transaction;
mod figures;
mod folders;
mod isolation;
mod logging;
mod owners;
mod page_rows;
mod pages;
mod pages_transaction;
mod scan;
mod side_writer;
mod text_order;
mod trees;
mod value_form;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use store::engine::{EngineError, EngineOptions};
use store::storage::DirectoryStorage;
use store::{LockMode, MemoryQuota, StoreError, TableId, TableInfo};

pub use altering::AlteredTable;
pub use isolation::{ReadLock, Reads};
pub use logging::{LoadLogging, LoggingCondition};
pub use query::{Bound, KeyRange, KeySpan};
pub use store::engine::{ResourceLimits, ServiceTier};

pub(crate) use columns::shown_value;
pub use databases::PagedDatabases;
pub use databases_transaction::{PagedSavepoints, PagedSnapshots, PagedTransactions};
pub use figures::{DatabaseFigures, Figures, IndexPages, LOG_FILE_ID, file_id, index_of, page_text};
pub use folders::{DirectoryFolders, Folders, MARK};
pub use page_rows::{CellPrefix, PageCell, PageRows, ScannedRows};
pub use pages::PagedDatabase;
pub(crate) use pages::same_text;
pub use scan::{LocatedScan, Scan};
pub use side_writer::SideWriter;
pub use store::engine::{ColumnSource, RowLocator};
pub use store::engine::{StrungForm, StrungRows, ValueForm};
pub(crate) use trees::{holds, holds_key, key_trees};
pub(crate) use value_form::value_form;

/// How a data directory, or memory, keeps its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Append-only segments and a journal.
    Segments,
    /// Pages, extents and a write-ahead log by SQL Server's rules.
    Pages,
}

impl Form {
    /// The form of what is new and told none.
    pub const OF_NEW: Form = Form::Pages;

    /// The form of the database in a directory; None: there is none. Errors: the directory cannot be read, or it has both.
    fn of(directory: &Path) -> Result<Option<Form>, OpenError> {
        let has = |name: &str| match directory.join(name).try_exists() {
            Ok(exists) => Ok(exists),
            Err(source) => Err(OpenError::Look { path: directory.join(name), source }),
        };
        if has("control")? || has("log-00000001.vlf")? {
            return Err(OpenError::OneStore { path: directory.to_owned() });
        }
        Ok(match (has("journal")?, has("master")?) {
            (true, true) => return Err(OpenError::Both { path: directory.to_owned() }),
            (true, false) => Some(Form::Segments),
            (false, true) => Some(Form::Pages),
            (false, false) => None,
        })
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Form::Segments => "segments",
            Form::Pages => "pages",
        })
    }
}

/// Why a data directory cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The database in the directory has another form than the one asked for. It is left as it is.
    #[error("{} holds a database of the form {found:?}, not {wanted:?}: serve it with --storage {found}, or take another directory", .path.display())]
    OtherForm {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The directory holds files of both forms.
    #[error("{} holds files of a database of segments and of one of pages", .path.display())]
    Both {
        /// The directory.
        path: PathBuf,
    },
    /// The directory was made before each database had a folder of its own.
    #[error(
        "{} holds one store of pages for all databases, a layout of unreleased builds; this version keeps each database in a folder of its own: export the tables with the build that made it, and load them into another directory",
        .path.display()
    )]
    OneStore {
        /// The directory.
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
    /// A database of segments that cannot be opened.
    #[error(transparent)]
    Segments(#[from] store::OpenError),
    /// A database of pages that cannot be opened.
    #[error(transparent)]
    Pages(#[from] EngineError),
}

/// Everything that a server keeps, or the tables of a session: its databases. Clones share it.
#[derive(Clone, Debug)]
pub enum Database {
    /// Of segments.
    Segments(store::Database),
    /// Of pages.
    Pages(PagedDatabases),
}

impl From<store::Database> for Database {
    fn from(database: store::Database) -> Self {
        Database::Segments(database)
    }
}

impl From<PagedDatabases> for Database {
    fn from(database: PagedDatabases) -> Self {
        Database::Pages(database)
    }
}

impl Database {
    /// Opens a directory, or makes a database of `form` in it if it has none. With `form` None the one that is there decides.
    pub fn open(directory: &Path, form: Option<Form>, sync: bool) -> Result<Database, OpenError> {
        Self::open_within(directory, form, sync, EngineOptions::default().cache_bytes)
    }

    /// The same with a cache of `cache_bytes` for all of its pages.
    pub fn open_within(
        directory: &Path,
        form: Option<Form>,
        sync: bool,
        cache_bytes: usize,
    ) -> Result<Database, OpenError> {
        let found = Form::of(directory)?;
        if let (Some(found), Some(wanted)) = (found, form)
            && found != wanted
        {
            let (found, wanted) = (found.to_string(), wanted.to_string());
            return Err(OpenError::OtherForm { path: directory.to_owned(), found, wanted });
        }
        match found.or(form).unwrap_or(Form::OF_NEW) {
            Form::Segments => {
                let sync = if sync { store::Sync::Full } else { store::Sync::None };
                let options = store::Options { sync, ..store::Options::default() };
                Ok(store::Database::open(directory, options)?.into())
            }
            Form::Pages => {
                let folders = DirectoryFolders::open(directory, sync)?;
                let options = EngineOptions { cache_bytes, ..EngineOptions::default() };
                Ok(PagedDatabases::open_in(Box::new(folders), options)?.into())
            }
        }
    }

    /// Whether somebody holds a lock of this directory, or of a database in it.
    pub fn is_held(directory: &Path) -> bool {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        DirectoryStorage::is_held(directory)
            || entries.flatten().any(|entry| DirectoryStorage::is_held(&entry.path()))
    }

    /// A database in memory of a form.
    pub fn in_memory_of(form: Form) -> Result<Database, OpenError> {
        match form {
            Form::Segments => Ok(Self::in_memory()),
            Form::Pages => Ok(PagedDatabases::in_memory(None)?.into()),
        }
    }

    /// The same that is full when `quota` has no room.
    pub(crate) fn in_memory_within(form: Form, quota: Arc<dyn MemoryQuota>) -> Result<Database, OpenError> {
        match form {
            Form::Segments => Ok(store::Database::in_memory_within(quota).into()),
            Form::Pages => Ok(PagedDatabases::in_memory(Some(quota))?.into()),
        }
    }

    /// A database of segments in memory.
    pub fn in_memory() -> Database {
        store::Database::in_memory().into()
    }

    /// Whether commits go to files.
    pub fn is_on_disk(&self) -> bool {
        match self {
            Database::Segments(database) => database.is_on_disk(),
            Database::Pages(database) => database.is_on_disk(),
        }
    }

    /// Starts a transaction.
    pub fn begin(&self) -> Transaction {
        match self {
            Database::Segments(database) => Transaction::Segments(Box::new(database.begin())),
            Database::Pages(database) => Transaction::Pages(Box::new(database.begin())),
        }
    }

    /// Everything committed so far, frozen.
    pub fn snapshot(&self) -> Snapshot {
        match self {
            Database::Segments(database) => Snapshot::Segments(database.snapshot()),
            Database::Pages(database) => Snapshot::Pages(database.snapshot()),
        }
    }

    /// What the management views show; None: it keeps no pages, no log records and no locks that could be shown.
    pub fn figures(&self) -> Option<DatabaseFigures> {
        match self {
            Database::Segments(_) => None,
            Database::Pages(database) => Some(database.figures()),
        }
    }

    /// What they show of one database; None: as above, or it is tempdb.
    pub fn figures_of(&self, database: &str) -> Option<Figures> {
        match self {
            Database::Segments(_) => None,
            Database::Pages(databases) => databases.figures_of(database),
        }
    }

    /// The same for one database.
    pub fn checkpoint_of(&self, database: &str) -> Result<(), StoreError> {
        match self {
            Database::Segments(_) => self.checkpoint(),
            Database::Pages(databases) => {
                databases.database(database).map_or(Ok(()), |database| database.checkpoint())
            }
        }
    }

    /// Makes the next opening short.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        match self {
            Database::Segments(database) => database.checkpoint().map(|_| ()),
            Database::Pages(database) => database.checkpoint(),
        }
    }
}

/// The database as of one commit.
#[derive(Clone, Debug)]
pub enum Snapshot {
    /// Of segments.
    Segments(store::Snapshot),
    /// Of pages.
    Pages(PagedSnapshots),
}

impl Snapshot {
    /// All tables in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        match self {
            Snapshot::Segments(snapshot) => snapshot.tables(),
            Snapshot::Pages(snapshot) => snapshot.tables(),
        }
    }

    /// The tables of one database.
    pub fn tables_of(&self, database: &str) -> Vec<TableInfo> {
        match self {
            Snapshot::Segments(snapshot) => snapshot.tables(),
            Snapshot::Pages(snapshot) => snapshot.tables_of(database),
        }
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        match self {
            Snapshot::Segments(snapshot) => snapshot.table(name),
            Snapshot::Pages(snapshot) => snapshot.table(name),
        }
    }

    /// The tables that may have a FOREIGN KEY to the table of this name: of pages they do.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        match self {
            Snapshot::Segments(snapshot) => snapshot.tables(),
            Snapshot::Pages(snapshot) => snapshot.referring(name),
        }
    }

    /// Reads a table: all columns, or those of `projection`, by index from 0 and in that order. A range of a key may be read alone; segments
    /// have no keys and give all rows.
    pub fn scan(
        &self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, StoreError> {
        match self {
            Snapshot::Segments(snapshot) => Ok(snapshot.scan(table, projection)?.into()),
            Snapshot::Pages(snapshot) => snapshot.scan(table, projection, range),
        }
    }
}

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
#[derive(Debug)]
pub enum Transaction {
    /// On segments.
    Segments(Box<store::Transaction>),
    /// On pages.
    Pages(Box<PagedTransactions>),
}

/// A point of a transaction to go back to.
#[derive(Debug)]
pub enum Savepoint {
    /// On segments.
    Segments(store::Savepoint),
    /// On pages.
    Pages(PagedSavepoints),
}

impl Transaction {
    /// How long changes wait for their locks from now on.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        match self {
            Transaction::Segments(own) => own.set_lock_timeout(timeout),
            Transaction::Pages(own) => own.set_lock_timeout(timeout),
        }
    }

    /// Shows the transaction and its locks under a session.
    pub fn set_session(&mut self, session: u16) {
        if let Transaction::Pages(own) = self {
            own.set_session(session);
        }
    }

    /// Setting `interrupt` ends a wait for a lock, from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        match self {
            Transaction::Segments(own) => own.set_interrupt(interrupt),
            Transaction::Pages(own) => own.set_interrupt(interrupt),
        }
    }

    /// Takes a lock on a table, or strengthens one.
    pub fn lock(&mut self, table: TableId, mode: LockMode, timeout: Duration) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => Ok(own.lock(table, mode, timeout)?),
            Transaction::Pages(own) => own.lock(table, mode, timeout),
        }
    }

    /// All tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        match self {
            Transaction::Segments(own) => own.tables(),
            Transaction::Pages(own) => own.tables(),
        }
    }

    /// The table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        match self {
            Transaction::Segments(own) => own.table(name),
            Transaction::Pages(own) => own.table(name),
        }
    }

    /// The table of this id as this transaction sees it.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        match self {
            Transaction::Segments(own) => own.table_of(table),
            Transaction::Pages(own) => own.table_of(table),
        }
    }

    /// The tables that may have a FOREIGN KEY to the table of this name as this transaction sees them: of pages they do.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        match self {
            Transaction::Segments(own) => own.tables(),
            Transaction::Pages(own) => own.referring(name),
        }
    }

    /// Reads a table as this transaction sees it now: later changes do not show. `range` as for [`Snapshot::scan`].
    pub fn scan(
        &mut self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<Scan, StoreError> {
        match self {
            Transaction::Segments(own) => Ok(own.scan(table, projection)?.into()),
            Transaction::Pages(own) => own.scan(table, projection, range, reads),
        }
    }

    /// A statement begins: it reads what is committed from now on, but under SNAPSHOT.
    pub fn renew_reads(&mut self) {
        if let Transaction::Pages(own) = self {
            own.renew_reads();
        }
    }

    /// Locks a table against what others do while it is read. Of segments there is one lock that keeps others from changing a table.
    pub fn lock_for_reading(
        &mut self,
        table: TableId,
        lock: ReadLock,
        timeout: Duration,
    ) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => Ok(own.lock(table, LockMode::Exclusive, timeout)?),
            Transaction::Pages(own) => own.lock_for_reading(table, lock, timeout),
        }
    }

    /// The transaction, if it keeps rows in pages: it can change them where they lie, and its keys are trees.
    pub fn pages(&mut self) -> Option<&mut PagedTransactions> {
        match self {
            Transaction::Segments(_) => None,
            Transaction::Pages(own) => Some(own),
        }
    }

    /// Ends the adding of rows by one statement. Errors: keys that are there already, rows that are not in the order that was promised.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(_) => Ok(()),
            Transaction::Pages(own) => own.settle(),
        }
    }

    /// Creates a table of the Exact form.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: SchemaRef,
        properties: String,
    ) -> Result<TableId, StoreError> {
        match self {
            Transaction::Segments(own) => own.create_table(name, schema, properties),
            Transaction::Pages(own) => own.create_table(name, schema, &properties),
        }
    }

    /// Replaces the text kept with the table.
    pub fn set_properties(&mut self, table: TableId, properties: String) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.set_properties(table, properties),
            Transaction::Pages(own) => own.set_properties(table, &properties),
        }
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, table: TableId, name: String) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.rename_table(table, name),
            Transaction::Pages(own) => own.rename_table(table, &name),
        }
    }

    /// Removes a table and its rows.
    pub fn drop_table(&mut self, table: TableId) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.drop_table(table),
            Transaction::Pages(own) => own.drop_table(table),
        }
    }

    /// Removes all rows of a table.
    pub fn truncate(&mut self, table: TableId) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.truncate(table),
            Transaction::Pages(own) => own.truncate(table),
        }
    }

    /// Adds rows to a table.
    pub fn append(&mut self, table: TableId, batch: &RecordBatch) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.append(table, batch),
            Transaction::Pages(own) => own.append(table, batch),
        }
    }

    /// Adds the first rows of `bytes` from where they lie, if there are enough of them and the table takes them so.
    pub fn append_strung(
        &mut self,
        table: TableId,
        form: StrungForm<'_>,
        bytes: &[u8],
    ) -> Result<StrungRows, StoreError> {
        match self {
            Transaction::Segments(_) => Ok(StrungRows::default()),
            Transaction::Pages(own) => own.append_strung(table, form, bytes),
        }
    }

    /// Writers for `count` threads, which fill a heap without indexes side by side until the statement ends; None: the form has one
    /// writer alone.
    pub fn side_writers(
        &mut self,
        table: TableId,
        count: usize,
    ) -> Result<Option<Vec<SideWriter>>, StoreError> {
        match self {
            Transaction::Segments(_) => Ok(None),
            Transaction::Pages(own) => own.side_writers(table, count).map(Some),
        }
    }

    /// How much of the rows that were added to a table since this was last asked went to the log; None: none were, or the form has no
    /// minimal logging.
    pub fn take_logging(&mut self, table: TableId) -> Option<LoadLogging> {
        match self {
            Transaction::Segments(_) => None,
            Transaction::Pages(own) => own.take_logging(table),
        }
    }

    /// Puts `rows` in place of all rows of a table of segments; rows in pages are changed where they lie. Returns how many there are.
    pub fn replace(
        &mut self,
        table: TableId,
        rows: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<u64, StoreError> {
        match self {
            Transaction::Segments(own) => own.replace(table, rows),
            Transaction::Pages(_) => Err(StoreError::SchemaMismatch {
                table: table.0.to_string(),
                reason: "rows in pages are not replaced as a whole".to_owned(),
            }),
        }
    }

    /// Puts all rows that wait for the commit into their tables.
    pub fn insert_waiting(&mut self) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(_) => Ok(()),
            Transaction::Pages(own) => own.insert_all_waiting(),
        }
    }

    /// Marks a point to go back to.
    pub fn savepoint(&mut self) -> Result<Savepoint, StoreError> {
        match self {
            Transaction::Segments(own) => Ok(Savepoint::Segments(own.savepoint())),
            Transaction::Pages(own) => Ok(Savepoint::Pages(own.savepoint()?)),
        }
    }

    /// Undoes everything since the savepoint. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), StoreError> {
        match (self, savepoint) {
            (Transaction::Segments(own), Savepoint::Segments(savepoint)) => own.rollback_to(savepoint),
            (Transaction::Pages(own), Savepoint::Pages(savepoint)) => own.rollback_to(savepoint),
            _ => Err(StoreError::SavepointGone),
        }
    }

    /// Makes everything durable, then visible, at once.
    pub fn commit(self) -> Result<(), StoreError> {
        match self {
            Transaction::Segments(own) => own.commit().map(|_| ()),
            Transaction::Pages(own) => own.commit(),
        }
    }

    /// Undoes everything.
    pub fn rollback(self) {}
}
