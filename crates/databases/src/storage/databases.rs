//! The databases of a server that keeps rows in pages: each has a store of its own, in a folder of its own.
//!
//! `master` has the catalogue of all databases (its table [`DIRECTORY_KEY`]), which says in which folder each is, and coordinates
//! transactions over several. A folder that the catalogue does not name is removed when it has the mark of a database that was being made
//! or dropped; any other is left alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::catalogue::{DIRECTORY_KEY, Directory, name_key};
use crate::log;
use crate::storage::database::{Database, with_order};
use crate::storage::databases_transaction::{Snapshot, Transaction};
use crate::storage::error::StoreError;
use crate::storage::figures::{DatabaseFigures, Figures};
use crate::storage::folders::{Folders, MARK, folder_name};
use crate::storage::table_info::TableId;
use arrow::datatypes::{DataType, Field, Schema};
use parking_lot::RwLock;
use store::disk::volume::Volume;
use store::{
    Engine, EngineError, EngineOptions, Host, OnRecovery, RecoveryProgress, RecoveryStep, ResourceLimits,
    Transaction as EngineTransaction,
};
use store::{MemoryQuota, log_obstacle};

/// File that every folder with a database has.
const CONTROL: &str = "control";
/// File that every folder has once it was opened.
const LOCK: &str = "lock";
const MASTER: &str = "master";
const TEMPDB: &str = "tempdb";
/// Log that tempdb keeps at most between two checkpoints.
const TEMPDB_LOG_BYTES: u64 = 64 << 20;
/// System databases besides master and tempdb; each is in a folder of its own name.
const SYSTEM: [&str; 2] = ["model", "msdb"];

/// Writes the progress of a database's recovery to the log.
fn tell(progress: RecoveryProgress<'_>) {
    let RecoveryProgress { path, step, done, of } = progress;
    let folder = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let what = match step {
        RecoveryStep::Redo => "bytes of the log done again",
        RecoveryStep::Undo => "changes undone that were not committed",
    };
    log::line(format!("recovering {folder}: {done} of {of} {what}"));
}

/// The databases of a server. Clones share them.
#[derive(Clone, Debug)]
pub struct Databases {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    host: Host,
    options: EngineOptions,
    master: Database,
    stores: RwLock<Stores>,
    next: AtomicU32,
    /// Limits of databases that have none of their own.
    limits: RwLock<Option<ResourceLimits>>,
    /// Folders of the databases; None: everything is in memory. Dropped last: the next holder of the
    /// directory's lock may remove files of the databases in it.
    folders: Option<Box<dyn Folders>>,
}

#[derive(Debug, Default)]
struct Stores {
    by_number: BTreeMap<u32, Database>,
    by_name: HashMap<String, u32>,
}

impl Databases {
    /// Opens the databases of any place for folders, or makes those that every server has.
    pub fn open_in(folders: Box<dyn Folders>, options: EngineOptions) -> Result<Databases, EngineError> {
        Self::start(Some(folders), options, None)
    }

    /// Creates databases in memory, full when the quota has no room.
    pub fn in_memory(quota: Option<Arc<dyn MemoryQuota>>) -> Result<Databases, EngineError> {
        Self::start(None, EngineOptions::default(), quota)
    }

    fn start(
        folders: Option<Box<dyn Folders>>,
        options: EngineOptions,
        quota: Option<Arc<dyn MemoryQuota>>,
    ) -> Result<Databases, EngineError> {
        let options = with_order(options);
        let cache_bytes = match folders {
            Some(_) => options.cache_bytes,
            None => options.cache_bytes.min(store::MEMORY_CACHE_BYTES),
        };
        let host = Host::new(cache_bytes).with_memory_quota(quota).telling(Some(OnRecovery(Arc::new(tell))));
        let present = match &folders {
            Some(folders) => folders.list().map_err(|source| failed("list", source))?,
            None => Vec::new(),
        };
        let engine = match &folders {
            Some(folders) => {
                without_master(folders.as_ref(), &present)?;
                Engine::open_within(&host, folders.open(MASTER, true)?, options, &|_| false)?
            }
            None => Engine::in_memory_of(&host, options, |_| Ok(()))?,
        };
        let master = Database::new(engine, folders.as_ref().map(|_| MASTER), 1);
        let mut stores = Stores::default();
        stores.put(MASTER, &master);
        let shared = Shared {
            host,
            options,
            folders,
            master,
            stores: RwLock::new(stores),
            next: AtomicU32::new(2),
            limits: RwLock::default(),
        };
        let databases = Databases { shared: Arc::new(shared) };
        databases.open_others(&present)?;
        Ok(databases)
    }

    /// Opens what the catalogue names, and removes what was left over.
    fn open_others(&self, present: &[String]) -> Result<(), EngineError> {
        let shared = &self.shared;
        let known =
            shared.master.engine().snapshot().table(DIRECTORY_KEY).map(|table| table.properties.clone());
        let directory = match &known {
            Some(text) => Some(serde_json::from_str::<Directory>(text).map_err(|error| {
                EngineError::DamagedDatabase { what: "the catalogue of databases", reason: error.to_string() }
            })?),
            None => None,
        };
        self.open_temporary(present)?;
        for name in SYSTEM {
            // System databases are made if there is no catalogue. One may exist already, after a power
            // failure before the catalogue was made.
            self.open_one(name, name, directory.is_some())?;
        }
        let users = directory.iter().flat_map(|directory| &directory.databases);
        let users: Vec<_> = users.filter(|database| !database.folder.is_empty()).collect();
        for database in &users {
            self.open_one(&database.name, &database.folder, true)?;
        }
        shared.master.engine().forget_recovered_decisions();
        if directory.is_none() {
            refuse_unnamed(shared.folders.as_deref(), present)?;
            self.make_directory()?;
        }
        if let Some(folders) = &shared.folders {
            let others = present.iter().filter(|folder| {
                let folder = folder.as_str();
                let own = folder == MASTER || folder == TEMPDB || SYSTEM.contains(&folder);
                !own && !users.iter().any(|database| database.folder == folder)
            });
            for folder in others {
                remove_marked(folders.as_ref(), folder)?;
            }
        }
        Ok(())
    }

    /// Opens tempdb, which is empty whenever a server starts.
    fn open_temporary(&self, present: &[String]) -> Result<(), EngineError> {
        if let Some(folders) = &self.shared.folders
            && present.iter().any(|folder| folder == TEMPDB)
        {
            folders.remove(TEMPDB).map_err(|source| failed("remove", source))?;
        }
        self.open_one(TEMPDB, TEMPDB, false)
    }

    fn open_one(&self, name: &str, folder: &str, must_exist: bool) -> Result<(), EngineError> {
        let shared = &self.shared;
        let options = match name {
            TEMPDB => temporary_options(shared.options),
            _ => shared.options,
        };
        let engine = match &shared.folders {
            None => Engine::in_memory_of(&shared.host, options, |_| Ok(()))?,
            Some(folders) => {
                let volume = folders.open(folder, folder != TEMPDB)?;
                let names = volume.list().map_err(|source| failed("list", source))?;
                if must_exist && !names.iter().any(|name| name == CONTROL) {
                    let reason = format!("the files of database {name:?} are not in its folder {folder}");
                    return Err(EngineError::DamagedDatabase { what: "the data directory", reason });
                }
                if must_exist && names.iter().any(|name| name == MARK) {
                    folders.unmark(folder).map_err(|source| failed("unmark", source))?;
                }
                let decided = |global| shared.master.engine().has_decided(global);
                Engine::open_within(&shared.host, volume, options, &decided)?
            }
        };
        let folder = shared.folders.as_ref().map(|_| folder);
        let store = Database::new(engine, folder, self.new_number());
        shared.stores.write().put(name, &store);
        Ok(())
    }

    fn make_directory(&self) -> Result<(), EngineError> {
        let text = serde_json::to_string(&Directory::default());
        let text = text.map_err(|error| EngineError::Schema { reason: error.to_string() })?;
        let mut transaction = self.shared.master.begin_for(self.shared.host.new_owner());
        let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
        let made = transaction.create_table(DIRECTORY_KEY, schema, &text).and_then(|_| transaction.commit());
        made.map_err(|error| match error {
            StoreError::Engine(error) => error,
            other => EngineError::Schema { reason: other.to_string() },
        })
    }

    fn add_new(&self, name: &str, engine: Engine, folder: Option<&str>, number: u32) {
        engine.set_resource_limits(*self.shared.limits.read());
        let store = Database::new(engine, folder, number);
        self.shared.stores.write().put(name, &store);
    }

    fn new_number(&self) -> u32 {
        self.shared.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the database master.
    pub fn master(&self) -> &Database {
        &self.shared.master
    }

    /// Returns the database of a name, in any case.
    pub fn database(&self, name: &str) -> Option<Database> {
        self.shared.stores.read().named(&name_key(name))
    }

    /// Returns the database whose table has this name of the store.
    pub(super) fn of_table(&self, key: &str) -> Option<Database> {
        match database_of(key) {
            Some(name) => self.shared.stores.read().named(name),
            None => Some(self.shared.master.clone()),
        }
    }

    /// Returns the database of a table.
    pub(super) fn of_id(&self, table: TableId) -> Option<Database> {
        self.shared.stores.read().by_number.get(&number_of(table)).cloned()
    }

    /// Lists the databases.
    pub(super) fn all(&self) -> Vec<Database> {
        self.shared.stores.read().by_number.values().cloned().collect()
    }

    /// Returns true if commits go to files.
    pub fn is_on_disk(&self) -> bool {
        self.shared.folders.is_some()
    }

    /// Starts a transaction.
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.clone(), self.shared.host.new_owner())
    }

    /// Returns a snapshot of everything committed so far. Each database's part begins when it is first asked
    /// for.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.clone())
    }

    /// Lists the databases that nothing can be written to now, tempdb among them, with the reasons. The names
    /// are in lower case.
    pub fn obstacles(&self) -> Vec<(String, String)> {
        let stores: Vec<_> = {
            let stores = self.shared.stores.read();
            let named = stores.by_name.iter();
            named
                .filter_map(|(name, number)| Some((name.clone(), stores.by_number.get(number)?.clone())))
                .collect()
        };
        let found = stores.into_iter();
        found.filter_map(|(name, store)| Some((name, log_obstacle(store.engine())?))).collect()
    }

    /// Returns the figures of all databases for the management views.
    pub fn figures(&self) -> DatabaseFigures {
        let stores = self.shared.stores.read();
        let named = stores.by_name.iter().filter_map(|(name, number)| {
            (name != TEMPDB).then(|| Some((name.clone(), stores.by_number.get(number)?.clone())))?
        });
        DatabaseFigures::new(named.collect())
    }

    /// Returns the figures of one database; None if there is no such database, or it is tempdb.
    pub fn figures_of(&self, name: &str) -> Option<Figures> {
        let name = name_key(name);
        (name != TEMPDB).then(|| self.shared.stores.read().named(&name))?.map(|store| store.figures())
    }

    /// Limits every database except tempdb, also those that are made later.
    pub fn limit_all(&self, limits: ResourceLimits) {
        *self.shared.limits.write() = Some(limits);
        let temporary = self.database(TEMPDB).map(|store| store.number());
        let stores = self.all().into_iter().filter(|store| Some(store.number()) != temporary);
        stores.for_each(|store| store.engine().set_resource_limits(Some(limits)));
    }

    /// Writes changed pages of one database, so that its next opening is short.
    pub fn checkpoint_of(&self, name: &str) -> Result<(), StoreError> {
        self.database(name).map_or(Ok(()), |database| database.checkpoint())
    }

    /// Writes changed pages of all databases, so that the next opening is short.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.all().iter().try_for_each(Database::checkpoint)
    }

    /// Makes a database that no catalogue names yet, and returns its folder. It must be [`keep`](Self::keep)t or
    /// [`discard`](Self::discard)ed; what is neither is removed by the next start.
    pub fn create(&self, name: &str) -> Result<String, StoreError> {
        self.create_of(name, |_| Ok(()))
    }

    /// Makes a database as [`create`](Self::create) does, of files that `fill` puts into its place.
    ///
    /// # Errors
    /// Those of `fill`, and what opening finds wrong with the files. Nothing is left then.
    pub fn create_of(
        &self,
        name: &str,
        fill: impl FnOnce(&Arc<dyn Volume>) -> Result<(), EngineError>,
    ) -> Result<String, StoreError> {
        let shared = &self.shared;
        let number = self.new_number();
        // A new database takes the recovery model of `model`.
        let model = self.database("model").map(|model| model.engine().recovery_model());
        let options = EngineOptions {
            recovery_model: model.unwrap_or(shared.options.recovery_model),
            ..shared.options
        };
        let Some(folders) = &shared.folders else {
            let engine = Engine::in_memory_of(&shared.host, options, fill)?;
            self.add_new(name, engine, None, number);
            return Ok(String::new());
        };
        let present = folders.list().map_err(|source| failed("list", source))?;
        let folder =
            (number..).map(|number| folder_name(name, number)).find(|folder| !present.contains(folder));
        let folder = folder.ok_or_else(|| failed("create", std::io::ErrorKind::AlreadyExists.into()))?;
        let made = folders.open(&folder, true).and_then(|volume| {
            folders.mark(&folder).map_err(|source| failed("mark", source))?;
            fill(&volume)?;
            Engine::open_within(&shared.host, volume, options, &|_| false)
        });
        match made {
            Ok(engine) => {
                self.add_new(name, engine, Some(&folder), number);
                Ok(folder)
            }
            Err(error) => {
                // A folder that cannot be removed now is removed by the next start.
                folders.remove(&folder).ok();
                Err(error.into())
            }
        }
    }

    /// Ends the creation of a database that the catalogue durably names.
    pub fn keep(&self, folder: &str) {
        if let Some(folders) = &self.shared.folders {
            // A mark that stays behind is ignored for a folder that the catalogue names.
            folders.unmark(folder).ok();
        }
    }

    /// Marks a database that is about to be removed from the catalogue, and locks it exclusively: from then
    /// on no other session can read or change it.
    pub fn begin_drop(
        &self,
        name: &str,
        folder: &str,
        lock_timeout: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Option<EngineTransaction>, StoreError> {
        let Some(store) = self.database(name) else { return Ok(None) };
        let mut transaction = store.engine().begin();
        transaction.set_lock_timeout(lock_timeout);
        transaction.set_interrupt(interrupt);
        transaction.lock_everything()?;
        if let Some(folders) = &self.shared.folders {
            folders.mark(folder).map_err(|source| failed("mark", source))?;
        }
        Ok(Some(transaction))
    }

    /// Removes the files of a database that the catalogue does not name. Files that cannot be removed now are removed by the next start.
    pub fn discard(&self, name: &str, folder: &str) {
        let Some(store) = self.shared.stores.write().take(&name_key(name)) else { return };
        // Transactions over several databases are settled first, since this one can no longer be asked for
        // outcomes.
        self.shared.master.engine().settle_decisions().ok();
        store.engine().shut("the database was dropped");
        drop(store);
        if let Some(folders) = &self.shared.folders {
            folders.remove(folder).ok();
        }
    }
}

/// Adapts options to tempdb, which outlives nothing: commits do not wait for its log, which is given up
/// early.
fn temporary_options(options: EngineOptions) -> EngineOptions {
    EngineOptions {
        is_temporary: true,
        checkpoint_log_bytes: options.checkpoint_log_bytes.min(TEMPDB_LOG_BYTES),
        ..options
    }
}

impl Stores {
    fn put(&mut self, name: &str, store: &Database) {
        self.by_number.insert(store.number(), store.clone());
        self.by_name.insert(name_key(name), store.number());
    }

    fn named(&self, name: &str) -> Option<Database> {
        self.by_number.get(self.by_name.get(name)?).cloned()
    }

    fn take(&mut self, name: &str) -> Option<Database> {
        self.by_number.remove(&self.by_name.remove(name)?)
    }
}

fn failed(operation: &'static str, source: std::io::Error) -> EngineError {
    EngineError::Io { operation, path: "the data directory".into(), source }
}

/// Checks a directory without a catalogue of databases.
///
/// # Errors
/// The directory has databases, which would be lost without a catalogue.
fn without_master(folders: &dyn Folders, present: &[String]) -> Result<(), EngineError> {
    if present.iter().any(|folder| folder == MASTER) {
        return Ok(());
    }
    match complete(folders, present)? {
        Some(folder) => {
            let reason = format!("it has a database in {folder}, but no {MASTER}");
            Err(EngineError::DamagedDatabase { what: "the data directory", reason })
        }
        None => Ok(()),
    }
}

/// Checks a directory whose catalogue names no databases. The catalogue is made with the first databases,
/// before any other can be.
///
/// # Errors
/// Other databases exist, so that the catalogue was there and is gone.
fn refuse_unnamed(folders: Option<&dyn Folders>, present: &[String]) -> Result<(), EngineError> {
    let Some(folders) = folders else { return Ok(()) };
    let every_server = |folder: &str| folder == MASTER || folder == TEMPDB || SYSTEM.contains(&folder);
    let others: Vec<String> = present.iter().filter(|folder| !every_server(folder)).cloned().collect();
    match complete(folders, &others)? {
        Some(folder) => {
            let reason = format!("it is missing, and there is a database in {folder}");
            Err(EngineError::DamagedDatabase { what: "the catalogue of databases", reason })
        }
        None => Ok(()),
    }
}

/// Finds the first folder with a database that was neither being made nor dropped.
fn complete<'f>(folders: &dyn Folders, present: &'f [String]) -> Result<Option<&'f str>, EngineError> {
    for folder in present {
        let files = folders.files(folder).map_err(|source| failed("list", source))?;
        let has = |name: &str| files.iter().any(|file| file == name);
        if has(CONTROL) && !has(MARK) {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Removes a folder that the catalogue does not name, if it was being made or dropped when the power went.
fn remove_marked(folders: &dyn Folders, folder: &str) -> Result<(), EngineError> {
    let files = folders.files(folder).map_err(|source| failed("list", source))?;
    let marked = files.iter().any(|file| file == MARK);
    let begun = files.iter().all(|file| file == LOCK) && folder.contains('-');
    if marked || begun {
        folders.remove(folder).map_err(|source| failed("remove", source))?;
    }
    Ok(())
}

/// Returns the database's part of a table's name in the store ([`crate::catalogue::store_key`]); None: it is
/// master's own.
fn database_of(key: &str) -> Option<&str> {
    let mut escaped = false;
    for (at, letter) in key.char_indices() {
        match letter {
            '\\' => escaped = !escaped,
            '.' if !escaped => return key.get(..at),
            _ => escaped = false,
        }
    }
    None
}

/// Returns the number of the database of a table.
pub(super) fn number_of(table: TableId) -> u32 {
    (table.0 >> 32) as u32
}
