//! Figures of paged databases for the management views, DBCC and the procedures about space.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::catalogue::Table;
use store::page::{PageId, UnitId};
use store::{
    AllocationUnitSpace, CacheCounts, Compression, Engine, EngineError, LockMode, PageStatistics,
    SavingsEstimate, ScanDetail, Snapshot, WaitCount, open_transactions,
};

use crate::catalogue::{TableDefinition, name_key, store_key};
use crate::storage::database::Database;
use crate::storage::error::StoreError;
use crate::storage::owners::Owners;

/// Figures of a database of pages: those of tables as of one commit, the others as of the moment when they are asked for.
#[derive(Debug)]
pub struct Figures {
    engine: Engine,
    snapshot: Snapshot,
    owners: Owners,
    opened: Instant,
    folder: Option<Arc<str>>,
    spaces: Mutex<HashMap<u32, Arc<Vec<AllocationUnitSpace>>>>,
}

/// Figures of all databases, each of them taken when it is first asked for.
#[derive(Debug)]
pub struct DatabaseFigures(HashMap<String, (Database, OnceLock<Figures>)>);

impl DatabaseFigures {
    pub(super) fn new(databases: HashMap<String, Database>) -> DatabaseFigures {
        let databases = databases.into_iter();
        DatabaseFigures(databases.map(|(name, database)| (name, (database, OnceLock::new()))).collect())
    }

    /// Returns the figures of one database; None: there is none of that name, or it is tempdb.
    pub fn of(&self, database: &str) -> Option<&Figures> {
        let (database, figures) = self.0.get(&name_key(database))?;
        Some(figures.get_or_init(|| database.figures()))
    }

    /// Lists the figures of all databases.
    pub fn all(&self) -> impl Iterator<Item = &Figures> {
        self.0.values().map(|(database, figures)| figures.get_or_init(|| database.figures()))
    }
}

/// Adds up the waits of several databases and of none, by the name of their type.
pub fn waits_by_type(waits: impl Iterator<Item = WaitCount>) -> BTreeMap<&'static str, WaitCount> {
    let mut sums: BTreeMap<&'static str, WaitCount> = BTreeMap::new();
    for wait in waits {
        let sum = sums.entry(wait.wait.name()).or_insert(WaitCount {
            wait: wait.wait,
            count: 0,
            total: Duration::ZERO,
            longest: Duration::ZERO,
            signal: Duration::ZERO,
        });
        sum.count += wait.count;
        sum.total += wait.total;
        sum.longest = wait.longest.max(sum.longest);
        sum.signal += wait.signal;
    }
    sums
}

/// Adds up the caches of several databases as one. They share a limit.
pub fn all_caches(caches: impl Iterator<Item = CacheCounts>) -> Option<CacheCounts> {
    caches.reduce(|sum, cache| CacheCounts {
        pages: sum.pages + cache.pages,
        dirty_pages: sum.dirty_pages + cache.dirty_pages,
        limit_pages: sum.limit_pages.max(cache.limit_pages),
        most_pages: sum.most_pages + cache.most_pages,
        lookups: sum.lookups + cache.lookups,
        misses: sum.misses + cache.misses,
        evictions: sum.evictions + cache.evictions,
        written_back: sum.written_back + cache.written_back,
    })
}

/// The transaction that has been open longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestTransaction {
    /// Its session.
    pub session: u16,
    /// Its beginning, in ticks of 100 ns since 0001-01-01 UTC.
    pub since: i64,
    /// File, block and record of its first record in the log, if it has one.
    pub first: Option<(u32, u32, u16)>,
}

/// Index of a table that pages belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexPages<'t> {
    /// The heap or the clustered tree, with what is outside of its rows.
    Rows,
    /// The nonclustered index of this name.
    Index(&'t str),
}

impl Figures {
    pub(super) fn new(
        engine: &Engine,
        owners: &Owners,
        opened: Instant,
        folder: Option<Arc<str>>,
    ) -> Figures {
        Figures {
            engine: engine.clone(),
            snapshot: engine.snapshot(),
            owners: owners.clone(),
            opened,
            folder,
            spaces: Mutex::default(),
        }
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the path of the database's file within the data directory; its name alone if it is in memory.
    pub fn path_of(&self, file: &str) -> String {
        self.folder.as_ref().map_or_else(|| file.to_owned(), |folder| format!("{folder}/{file}"))
    }

    /// Returns the time since the database was opened.
    pub fn uptime(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Returns the session of a transaction; None: it is over, or the engine's own.
    pub fn session_of(&self, transaction: u64) -> Option<u16> {
        self.owners.of(transaction)
    }

    /// Returns the session's transaction that has been open longest of those that have changed something.
    pub fn oldest_transaction(&self) -> Option<OldestTransaction> {
        let logged = open_transactions(&self.engine);
        // Rows may wait for their end in the transaction, whose lock says already that it changes something.
        let changes = |mode: LockMode| {
            matches!(mode, LockMode::IX | LockMode::SIX | LockMode::X | LockMode::BU | LockMode::SchM)
        };
        let locks = self.engine.locks().into_iter().filter(|lock| changes(lock.mode));
        let open =
            logged.iter().map(|(transaction, _)| *transaction).chain(locks.map(|lock| lock.transaction));
        let all = open.filter_map(|transaction| {
            let (session, since) = self.owners.began(transaction)?;
            let first = logged.iter().find(|(logged, _)| *logged == transaction);
            let first = first.map(|(_, first)| (first.file, first.block, first.record));
            Some(OldestTransaction { session, since, first })
        });
        all.min_by_key(|open| open.since)
    }

    /// Lists the tables of the database, modules among them, and in master the catalogue of databases.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.snapshot.tables()
    }

    /// Returns the table of a definition; None: it is not committed, or a temporary one.
    pub fn table(&self, definition: &TableDefinition) -> Option<&Arc<Table>> {
        self.snapshot.table(&store_key(&definition.database, &definition.schema, &definition.name))
    }

    /// Returns the table of the engine's number.
    pub fn table_of(&self, object: u32) -> Option<&Arc<Table>> {
        self.snapshot.table_of(object)
    }

    /// Counts the pages of all allocation units of a table.
    ///
    /// # Errors
    /// The maps of pages cannot be read.
    pub fn spaces(&self, table: &Table) -> Result<Arc<Vec<AllocationUnitSpace>>, StoreError> {
        if let Some(known) = self.spaces.lock().get(&table.object) {
            return Ok(Arc::clone(known));
        }
        let spaces = Arc::new(self.snapshot.allocation_units(&table.name)?);
        self.spaces.lock().insert(table.object, Arc::clone(&spaces));
        Ok(spaces)
    }

    /// Measures density and order of a table's pages.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn statistics(&self, table: &Table, detail: ScanDetail) -> Result<Vec<PageStatistics>, EngineError> {
        self.snapshot.physical_statistics(&table.name, detail)
    }

    /// Estimates the size of a table's rows, or of one of its nonclustered indexes, with another compression.
    pub fn estimate(
        &self,
        table: &Table,
        index: Option<&str>,
        compression: Compression,
    ) -> Result<SavingsEstimate, EngineError> {
        match index {
            None => self.snapshot.estimate_compression(&table.name, compression),
            Some(index) => self.snapshot.estimate_index_compression(&table.name, index, compression),
        }
    }
}

/// Returns the index of a table that an allocation unit belongs to; None: none that the table has now.
pub fn index_of(table: &Table, unit: UnitId) -> Option<IndexPages<'_>> {
    // The engine numbers units as SQL Server does: 256 and four numbers for each index.
    match unit.index.checked_sub(256)? {
        0..4 => Some(IndexPages::Rows),
        offset => {
            let index = table.indexes.iter().find(|index| index.id == offset / 4)?;
            Some(IndexPages::Index(index.name()))
        }
    }
}

/// Returns the number of a data file as SQL Server counts files: the log is number 2.
pub fn file_id(number: u16) -> i32 {
    match number {
        0 | 1 => i32::from(number),
        later => i32::from(later) + 1,
    }
}

/// The number of the log among the files.
pub const LOG_FILE_ID: i32 = 2;

/// Names a page as messages do: `(1:79)`.
pub fn page_text(page: PageId) -> String {
    format!("({}:{})", file_id(page.file), page.page)
}
