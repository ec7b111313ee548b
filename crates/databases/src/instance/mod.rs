//! State that all sessions share: the store, the engine, the catalogue's cache, counters.

pub mod application_locks;
pub mod configuration;
pub mod counts;
pub mod identities;
pub mod isolation_level;
pub mod kept_texts;
pub mod loads;
pub mod login;
pub mod message;
pub mod registry;
pub mod restores;
pub mod sequences;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use parking_lot::Mutex;
use query::Engine;
use store::{ServiceTier, Waits};
use tsql::SqlError;
use tsql::ast::StatementKind;

use crate::catalogue::{
    DIRECTORY_KEY, Directory, Module, ModuleDefinition, PRODUCT_VERSION, PartitionFunction, PartitionScheme,
    TableDefinition, UserType, is_partition_entry,
};
use crate::file_access::FileAccess;
use crate::instance::application_locks::ApplicationLocks;
use crate::instance::configuration::Configuration;
use crate::instance::counts::Counts;
use crate::instance::kept_texts::StatementCache;
use crate::instance::loads::RecentLoads;
use crate::instance::registry::Sessions;
use crate::instance::restores::Restores;
use crate::instance::sequences::Reserve;
use crate::memory;
use crate::memory::{MemoryBudget, Shares};
use crate::storage::{Databases, TableId, TableInfo, same_text};
use crate::store_error::store_error;

/// First `object_id`; SQL Server's are of this size too.
const OBJECT_ID_FIRST: i32 = 581_577_110;

/// A text, and the value that was parsed from it.
type ReadFrom<T> = (Arc<str>, Arc<T>);

/// Data of a server, and everything derived from it.
pub struct Instance {
    /// Engine of queries. It is dropped before the store: its temporary files are in the data directory.
    engine: Engine,
    store: Databases,
    name: String,
    next_object_id: AtomicI32,
    next_descriptor: AtomicU64,
    next_temporary: AtomicU64,
    row_version: AtomicU64,
    identities: Mutex<HashMap<i32, i64>>,
    definitions: Mutex<HashMap<TableId, ReadFrom<TableDefinition>>>,
    modules: Mutex<HashMap<TableId, ReadFrom<Module>>>,
    /// Trace flags that are on for all sessions (DBCC TRACEON (…, -1)).
    pub trace_flags: Mutex<BTreeSet<i64>>,
    /// Reserved values of sequences by `object_id`.
    pub sequences: Mutex<HashMap<i32, Reserve>>,
    /// The directory read last, and its text.
    directory: Mutex<(Arc<str>, Arc<Directory>)>,
    /// Sessions that are logged in.
    sessions: Sessions,
    /// Batches parsed before.
    pub statements: StatementCache,
    application_locks: Arc<ApplicationLocks>,
    files: FileAccess,
    configuration: Arc<Configuration>,
    loads: RecentLoads,
    /// Waits that belong to no database.
    waits: Waits,
    counts: Arc<Counts>,
    restores: Restores,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Instance {
    /// Opens the server's data over a store; a new store gets the databases master, tempdb, model and msdb.
    pub fn new(store: Databases) -> Result<Instance, SqlError> {
        let shares = Shares::of(memory::default_limit());
        let memory = MemoryBudget::new(shares.statement_bytes);
        let instance = Instance {
            store,
            engine: Engine::new(&memory, None)?,
            name: "bulkwire".to_string(),
            next_object_id: AtomicI32::new(OBJECT_ID_FIRST),
            next_descriptor: AtomicU64::new(1),
            next_temporary: AtomicU64::new(1),
            row_version: AtomicU64::new(2000),
            identities: Mutex::new(HashMap::new()),
            definitions: Mutex::new(HashMap::new()),
            application_locks: Arc::default(),
            modules: Mutex::new(HashMap::new()),
            trace_flags: Mutex::default(),
            sequences: Mutex::new(HashMap::new()),
            directory: Mutex::default(),
            sessions: Sessions::default(),
            statements: StatementCache::default(),
            files: FileAccess::default(),
            configuration: Arc::default(),
            loads: RecentLoads::default(),
            waits: Waits::default(),
            counts: Arc::default(),
            restores: Restores::default(),
        };
        instance.restore_service()?;
        let mut last = OBJECT_ID_FIRST;
        for info in instance.store.snapshot().tables() {
            if let Some(definition) = instance.definition(&info)? {
                last = last.max(definition.last_object_id());
            }
            if let Some(module) = instance.module(&info)? {
                last = last.max(module.definition.object_id);
            }
            if let Some(table) = user_type(&info)?.as_ref().and_then(UserType::table) {
                last = last.max(table.last_object_id());
            }
        }
        instance.next_object_id.store(last + 1, Ordering::Relaxed);
        Ok(instance)
    }

    /// Holds databases to the service objectives that were set last, as ALTER DATABASE keeps them.
    fn restore_service(&self) -> Result<(), SqlError> {
        for entry in &self.directory()?.databases {
            let tier = entry.service_objective.as_deref().and_then(ServiceTier::named);
            if let (Some(tier), Some(store)) = (tier, self.store.database(&entry.name)) {
                store.engine().set_resource_limits(Some(tier.limits()));
            }
        }
        Ok(())
    }

    /// Waits that belong to no database.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Returns the restores of backups.
    pub fn restores(&self) -> &Restores {
        &self.restores
    }

    /// Returns the counts of clients and their requests.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Counts where its listener has counted before.
    pub fn with_counts(mut self, counts: &Arc<Counts>) -> Instance {
        self.counts = Arc::clone(counts);
        self
    }

    /// Returns a number that no other session's temporary objects have.
    pub fn new_temporary_number(&self) -> u64 {
        self.next_temporary.fetch_add(1, Ordering::Relaxed)
    }

    /// Gives the instance files for BULK INSERT and OPENROWSET(BULK …).
    pub fn with_files(mut self, files: FileAccess) -> Instance {
        self.files = files;
        self
    }

    /// Limits the memory of statements to `memory`; rows beyond it go to files below a directory.
    pub fn with_memory(
        mut self,
        memory: &Arc<MemoryBudget>,
        spill_directory: Option<PathBuf>,
    ) -> Result<Instance, SqlError> {
        self.engine = Engine::new(memory, spill_directory)?;
        Ok(self)
    }

    /// Returns the files that statements may read.
    pub fn files(&self) -> &FileAccess {
        &self.files
    }

    /// Returns the store.
    pub fn store(&self) -> &Databases {
        &self.store
    }

    /// Loads that ended last.
    pub fn loads(&self) -> &RecentLoads {
        &self.loads
    }

    /// Returns the server's options.
    pub fn configuration(&self) -> &Arc<Configuration> {
        &self.configuration
    }

    /// Returns true if a commit waits for files.
    pub fn is_on_disk(&self) -> bool {
        self.store.is_on_disk()
    }

    /// Returns the sessions that are logged in.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the execution engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the locks of sp_getapplock.
    pub fn application_locks(&self) -> &Arc<ApplicationLocks> {
        &self.application_locks
    }

    /// Returns the server's name, in messages and @@SERVERNAME.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the ERROR token of an error.
    pub fn server_message(&self, error: SqlError) -> tds::ServerMessage {
        message::message(error, self)
    }

    /// Returns committed databases and schemas.
    ///
    /// # Errors
    /// Error 596 if their catalogue is missing or damaged.
    pub fn directory(&self) -> Result<Arc<Directory>, SqlError> {
        self.directory_of(self.store.snapshot().table(DIRECTORY_KEY))
    }

    /// Reads the directory that the catalogue's table keeps.
    ///
    /// # Errors
    /// Error 596 if the table is missing or damaged.
    pub fn directory_of(&self, table: Option<TableInfo>) -> Result<Arc<Directory>, SqlError> {
        let table = table.ok_or_else(|| SqlError::internal("the catalogue of databases is missing"))?;
        let text = table.properties;
        let mut known = self.directory.lock();
        if !same_text(&known.0, &text) {
            known.1 = Arc::new(serde_json::from_str(&text).map_err(|error| {
                SqlError::internal(format!("the catalogue of databases is damaged: {error}"))
            })?);
        }
        known.0 = text;
        Ok(Arc::clone(&known.1))
    }

    /// Returns the definition of a stored table; None for the directory, modules and types.
    ///
    /// # Errors
    /// Error 596 if the properties are damaged.
    pub fn definition(&self, info: &TableInfo) -> Result<Option<Arc<TableDefinition>>, SqlError> {
        let module = ModuleDefinition::json_of(&info.properties).is_some();
        let other = UserType::is_one(&info.properties) || is_partition_entry(&info.properties);
        if module || *info.name == *DIRECTORY_KEY || other {
            return Ok(None);
        }
        let mut definitions = self.definitions.lock();
        if let Some((text, definition)) = definitions.get(&info.id)
            && same_text(text, &info.properties)
        {
            return Ok(Some(Arc::clone(definition)));
        }
        let definition: TableDefinition = serde_json::from_str(&info.properties).map_err(|error| {
            SqlError::internal(format!("the definition of table {} is damaged: {error}", info.name))
        })?;
        check_stored(&definition, info)?;
        let definition = Arc::new(definition);
        definitions.insert(info.id, (Arc::clone(&info.properties), Arc::clone(&definition)));
        Ok(Some(definition))
    }

    /// Returns the module that is kept as this table of the store; None if it is a table.
    ///
    /// # Errors
    /// Error 596 if the properties are damaged.
    pub fn module(&self, info: &TableInfo) -> Result<Option<Arc<Module>>, SqlError> {
        let Some(json) = ModuleDefinition::json_of(&info.properties) else { return Ok(None) };
        let mut modules = self.modules.lock();
        if let Some((text, module)) = modules.get(&info.id)
            && same_text(text, &info.properties)
        {
            return Ok(Some(Arc::clone(module)));
        }
        let module = Arc::new(read_module(&self.name, info, json)?);
        modules.insert(info.id, (Arc::clone(&info.properties), Arc::clone(&module)));
        Ok(Some(module))
    }

    /// Drops what is known about a dropped table or module.
    pub fn forget_table(&self, id: TableId) {
        self.modules.lock().remove(&id);
        let known = self.definitions.lock().remove(&id);
        if let Some((_, definition)) = known {
            self.set_identity(definition.object_id, None);
        }
    }

    /// Returns an `object_id` that nothing has.
    pub fn new_object_id(&self) -> i32 {
        self.next_object_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets as many numbers aside that nothing has; returns the first.
    pub fn new_object_ids(&self, count: i32) -> i32 {
        self.next_object_id.fetch_add(count, Ordering::Relaxed)
    }

    /// Returns a transaction descriptor, never 0.
    pub fn new_descriptor(&self) -> u64 {
        // Descriptors need more than 32 bits, so that a client that truncates them gets an error.
        0x0001_0000_0000 + self.next_descriptor.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the last rowversion value given out.
    pub fn row_version(&self) -> u64 {
        self.row_version.load(Ordering::Relaxed)
    }

    /// Gives out `count` new rowversion values; returns the first.
    pub fn new_row_versions(&self, count: u64) -> u64 {
        self.row_version.fetch_add(count, Ordering::Relaxed) + 1
    }

    /// Returns the last identity value of a table, if one was given out or seen since the server started.
    pub fn last_identity(&self, object_id: i32) -> Option<i64> {
        self.identities.lock().get(&object_id).copied()
    }

    /// Returns the last identity value by a table's committed rows, which are read, and by the value that was
    /// set.
    ///
    /// # Errors
    /// The definition is damaged, or rows cannot be read.
    pub fn stored_identity(&self, object_id: i32) -> Result<Option<i64>, SqlError> {
        let snapshot = self.store.snapshot();
        for info in snapshot.tables() {
            let Some(definition) = self.definition(&info)?.filter(|own| own.object_id == object_id) else {
                continue;
            };
            let Some((position, identity)) = definition.identity() else { continue };
            let rows = snapshot.scan(info.id, Some(vec![position]), None).map_err(store_error)?;
            return Ok(identity.furthest(identities::furthest_identity(rows, &definition)?));
        }
        Ok(None)
    }

    /// Sets or forgets a table's last identity value.
    pub fn set_identity(&self, object_id: i32, last: Option<i64>) {
        let mut identities = self.identities.lock();
        match last {
            Some(last) => identities.insert(object_id, last),
            None => identities.remove(&object_id),
        };
    }

    /// Takes `count` identity values and returns the first. `seen` gives the last value for a table that this run has not used
    /// yet. Values are never used twice, also after a rollback.
    pub fn take_identities(
        &self,
        object_id: i32,
        seed: i64,
        increment: i64,
        count: usize,
        seen: impl FnOnce() -> Result<Option<i64>, SqlError>,
    ) -> Result<i64, SqlError> {
        let overflow = || {
            SqlError::new(8115, 16, 1, "Arithmetic overflow error converting IDENTITY to data type bigint.")
        };
        let known = self.last_identity(object_id);
        let known = match known {
            Some(known) => Some(known),
            None => seen()?,
        };
        let mut identities = self.identities.lock();
        let last = identities.get(&object_id).copied().or(known);
        let first = match last {
            Some(last) => last.checked_add(increment).ok_or_else(overflow)?,
            None => seed,
        };
        if let Some(more) =
            i64::try_from(count).ok().and_then(|count| count.checked_sub(1)).filter(|more| *more >= 0)
        {
            let newest =
                increment.checked_mul(more).and_then(|span| first.checked_add(span)).ok_or_else(overflow)?;
            identities.insert(object_id, newest);
        }
        Ok(first)
    }

    /// Notes an explicit identity value: the next one follows the largest (or smallest, counting down).
    pub fn note_identity(&self, object_id: i32, increment: i64, value: i64) {
        let mut identities = self.identities.lock();
        let entry = identities.entry(object_id).or_insert(value);
        *entry = if increment > 0 { (*entry).max(value) } else { (*entry).min(value) };
    }
}

/// Parses the user-defined type that is kept as this table of the store; None if it is something else.
///
/// # Errors
/// Error 596 if the properties are damaged.
pub fn user_type(info: &TableInfo) -> Result<Option<UserType>, SqlError> {
    UserType::of(&info.properties).map_err(|error| {
        SqlError::internal(format!("the definition of type {} is damaged: {error}", info.name))
    })
}

/// Parses the partition function that is kept as this table of the store; None if it is something else.
///
/// # Errors
/// Error 596 if the properties are damaged.
pub fn partition_function(info: &TableInfo) -> Result<Option<PartitionFunction>, SqlError> {
    PartitionFunction::of(&info.properties).map_err(|error| {
        SqlError::internal(format!("the definition of partition function {} is damaged: {error}", info.name))
    })
}

/// Parses the partition scheme that is kept as this table of the store; None if it is something else.
///
/// # Errors
/// Error 596 if the properties are damaged.
pub fn partition_scheme(info: &TableInfo) -> Result<Option<PartitionScheme>, SqlError> {
    PartitionScheme::of(&info.properties).map_err(|error| {
        SqlError::internal(format!("the definition of partition scheme {} is damaged: {error}", info.name))
    })
}

/// Checks that a definition fits the store's table. Later readers of its filters rely on it.
///
/// # Errors
/// Error 596 if it does not.
fn check_stored(definition: &TableDefinition, info: &TableInfo) -> Result<(), SqlError> {
    let (declared, stored) = (definition.columns.len(), info.schema.fields().len());
    if declared != stored {
        return Err(SqlError::internal(format!(
            "the definition of table {} is damaged: it has {declared} columns, and the rows have {stored}",
            info.name
        )));
    }
    definition.indexes.iter().try_for_each(|index| {
        index.row_filter(definition).map(drop).map_err(|error| {
            SqlError::internal(format!(
                "the definition of table {} is damaged: the filter of index {}: {}",
                info.name, index.name, error.message
            ))
        })
    })
}

fn read_module(server: &str, info: &TableInfo, json: &str) -> Result<Module, SqlError> {
    let definition: ModuleDefinition = serde_json::from_str(json).map_err(|error| {
        SqlError::internal(format!("the definition of {} is damaged: {error}", info.name))
    })?;
    let mut statement = Ok(None);
    if !definition.text.is_empty() {
        let parsed = tsql::parse_batch_on(server, &definition.text, definition.quoted_identifier);
        // A text that cannot be read spoils its module, and not the database.
        statement = parsed.map(|statements| {
            statements.into_iter().find_map(|statement| match statement.kind {
                StatementKind::CreateModule(create) => Some(*create),
                _ => None,
            })
        });
    }
    Ok(Module { definition, statement })
}

/// Returns the text of @@VERSION. Clients that parse a version (SQLAlchemy over pymssql) look for `Microsoft
/// … - n.n.n.n` at its start; the rest names this server for a person.
pub fn version_text() -> String {
    format!(
        "Microsoft TDS endpoint of bulkwire {}, an embedded server; this is not Microsoft SQL Server - {PRODUCT_VERSION} (version reported to clients)",
        env!("CARGO_PKG_VERSION")
    )
}
