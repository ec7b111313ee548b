//! The facts for functions such as DB_NAME, OBJECT_ID and GETDATE, frozen for one statement.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use databases::catalogue::{
    DatabaseEntry, Directory, Module, Partitions, TableDefinition, UserType, same_name,
};
use databases::instance::application_locks::LockView;
use databases::instance::configuration::Configuration;
use databases::instance::counts::Counts;
use databases::instance::kept_texts::KeptText;
use databases::instance::loads::FinishedLoad;
use databases::instance::registry::{OpenSession, SessionOptions};
use databases::storage::{DatabaseFigures, Figures};
use query::Datum;
use query::facts::now;
use store::WaitCount;
use tds::SqlType;
use tsql::ObjectName;
use tsql::SqlError;
use tsql::parse_object_name;

/// Reads the tables when a function first asks for them.
type TableReader = Box<dyn Fn() -> Result<Vec<Arc<TableDefinition>>, SqlError> + Send + Sync>;
/// Finds a table by its name.
type TableFinder = Box<dyn Fn(&ObjectName) -> Result<Option<Arc<TableDefinition>>, SqlError> + Send + Sync>;
/// Reads all modules.
type ModuleReader = Box<dyn Fn() -> Result<Vec<Arc<Module>>, SqlError> + Send + Sync>;
/// Reads all types of users.
type TypeReader = Box<dyn Fn() -> Result<Vec<UserType>, SqlError> + Send + Sync>;
/// Reads all partition functions and schemes.
type PartitionReader = Box<dyn Fn() -> Result<Partitions, SqlError> + Send + Sync>;
/// Finds the last identity value of a table by its `object_id`.
type IdentityReader = Box<dyn Fn(i32) -> Result<Option<i64>, SqlError> + Send + Sync>;

/// Finds the databases' figures when a view first asks for them.
type FiguresReader = Box<dyn Fn() -> Option<DatabaseFigures> + Send + Sync>;

/// The key-value pairs of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionContext(HashMap<String, (Datum, SqlType, bool)>);

impl SessionContext {
    /// Returns the value and type of a key.
    pub fn get(&self, key: &str) -> Option<(Datum, SqlType)> {
        self.0.get(&key.to_lowercase()).map(|(value, sql_type, _)| (value.clone(), sql_type.clone()))
    }

    /// Sets a key, finally if `read_only`.
    ///
    /// # Errors
    /// Error 15664 for a key that was set finally.
    pub fn set(
        &mut self,
        key: &str,
        value: Datum,
        sql_type: SqlType,
        read_only: bool,
    ) -> Result<(), SqlError> {
        if self.0.get(&key.to_lowercase()).is_some_and(|(_, _, read_only)| *read_only) {
            return Err(SqlError::new(
                15664,
                16,
                1,
                format!(
                    "Cannot set key '{key}' in the session context. The key has been set as read_only for this session."
                ),
            ));
        }
        self.0.insert(key.to_lowercase(), (value, sql_type, read_only));
        Ok(())
    }
}

/// A statement's view of server, session and catalogue.
pub struct Facts {
    /// Name of the current database.
    pub database: String,
    /// Entries of all databases.
    pub directory: Arc<Directory>,
    /// Name of the login.
    pub login: String,
    /// Client's host name.
    pub host: String,
    /// Client's application name.
    pub application: String,
    /// Name of the server.
    pub server: String,
    /// Id of the session (SPID).
    pub spid: u16,
    /// The sessions that are logged in, this one included.
    pub sessions: Box<dyn Fn() -> Vec<OpenSession> + Send + Sync>,
    /// Application locks as the session sees them; None outside of a session.
    pub application_locks: Option<LockView>,
    /// The server's options.
    pub configuration: Arc<Configuration>,
    /// The texts whose parsed form is kept.
    pub kept_texts: Box<dyn Fn() -> Vec<KeptText> + Send + Sync>,
    /// Loads that ended last.
    pub loads: Box<dyn Fn() -> Vec<FinishedLoad> + Send + Sync>,
    /// Waits that belong to no database.
    pub waits: Box<dyn Fn() -> Vec<WaitCount> + Send + Sync>,
    /// Counts of clients and their requests; None: the server keeps none.
    pub counts: Option<Arc<Counts>>,
    /// Ticks of 100 ns since 0001-01-01 UTC when the statement began.
    pub now: i64,
    /// Identity value of the last INSERT of this scope.
    pub scope_identity: Option<i64>,
    /// Rows of the last statement.
    pub row_count: i64,
    /// Depth of transactions.
    pub transaction_count: i64,
    /// An error has made the transaction uncommittable.
    pub is_uncommittable: bool,
    /// The isolation level asked for, as sys.dm_exec_sessions numbers it.
    pub isolation_level: u8,
    /// SET options as others see them.
    pub session_options: SessionOptions,
    /// `@@OPTIONS`.
    pub options: i64,
    /// Values that sp_set_session_context has set.
    pub session_context: Arc<SessionContext>,
    /// CURSOR_STATUS by scope (`global`, `local`, `variable`) and name in lower case.
    pub cursors: Vec<(&'static str, String, i64)>,
    /// The last rowversion value given out.
    pub row_version: u64,
    /// DATEFIRST: 1 for Monday to 7 for Sunday.
    pub date_first: u8,
    /// Bytes that SET CONTEXT_INFO has set.
    pub context_info: Option<Vec<u8>>,
    /// The error that a CATCH block handles.
    pub error: Option<SqlError>,
    /// Last identity values of tables, and values of sequences since the start, by `object_id`.
    pub identities: IdentityReader,
    /// Reads views, procedures, functions, sequences and synonyms.
    pub module_reader: ModuleReader,
    /// Columns that were assigned, in a trigger.
    pub updated: Option<Arc<UpdatedColumns>>,
    /// Triggers that run, the innermost last.
    pub triggers: Vec<i32>,
    /// Reads types of users.
    pub type_reader: TypeReader,
    /// Reads partition functions and schemes.
    pub partition_reader: PartitionReader,
    /// Finds one table without reading the others.
    pub table_finder: Option<TableFinder>,
    /// Takes the figures of a store of pages.
    pub figures_reader: FiguresReader,
    figures: OnceLock<Option<DatabaseFigures>>,
    tables: OnceLock<Vec<Arc<TableDefinition>>>,
    modules: OnceLock<Vec<Arc<Module>>>,
    types: OnceLock<Vec<UserType>>,
    partitions: OnceLock<Partitions>,
    reader: TableReader,
    /// The first part of the catalogue that could not be read.
    failure: OnceLock<SqlError>,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts")
            .field("database", &self.database)
            .field("spid", &self.spid)
            .finish_non_exhaustive()
    }
}

impl Facts {
    /// Makes facts without a session: for expressions that may know nothing (tests, stored expressions).
    pub fn new(database: &str, directory: Arc<Directory>, reader: TableReader) -> Facts {
        Facts {
            database: database.to_string(),
            directory,
            login: "sa".to_string(),
            host: String::new(),
            application: String::new(),
            server: "bulkwire".to_string(),
            spid: 51,
            sessions: Box::new(Vec::new),
            application_locks: None,
            configuration: Arc::default(),
            kept_texts: Box::new(Vec::new),
            loads: Box::new(Vec::new),
            waits: Box::new(Vec::new),
            counts: None,
            now: now(),
            scope_identity: None,
            row_count: 0,
            transaction_count: 0,
            is_uncommittable: false,
            isolation_level: 2,
            session_options: SessionOptions::default(),
            options: 5432,
            session_context: Arc::default(),
            cursors: Vec::new(),
            row_version: 0,
            date_first: 7,
            context_info: None,
            error: None,
            identities: Box::new(|_| Ok(None)),
            module_reader: Box::new(|| Ok(Vec::new())),
            updated: None,
            triggers: Vec::new(),
            type_reader: Box::new(|| Ok(Vec::new())),
            partition_reader: Box::new(|| Ok(Partitions::default())),
            table_finder: None,
            figures_reader: Box::new(|| None),
            figures: OnceLock::new(),
            tables: OnceLock::new(),
            modules: OnceLock::new(),
            types: OnceLock::new(),
            partitions: OnceLock::new(),
            reader,
            failure: OnceLock::new(),
        }
    }

    /// Returns the result of reading the catalogue, or a default after an error, which
    /// [`checked`](Self::checked) then returns. Metadata views and functions read many things, and check once
    /// at their end whether all could be read.
    pub fn noted<T: Default>(&self, read: Result<T, SqlError>) -> T {
        read.unwrap_or_else(|error| {
            self.failure.get_or_init(|| error);
            T::default()
        })
    }

    /// Returns a result that depends on these facts.
    ///
    /// # Errors
    /// A part of the catalogue could not be read.
    pub fn checked<T>(&self, result: T) -> Result<T, SqlError> {
        self.failure.get().map_or(Ok(result), |error| Err(error.clone()))
    }

    /// Returns the tables, temporary ones included.
    pub fn tables(&self) -> &[Arc<TableDefinition>] {
        self.tables.get_or_init(|| self.noted((self.reader)()))
    }

    /// Returns the views, procedures, functions, sequences and synonyms.
    pub fn modules(&self) -> &[Arc<Module>] {
        self.modules.get_or_init(|| self.noted((self.module_reader)()))
    }

    /// Returns the types of users.
    pub fn types(&self) -> &[UserType] {
        self.types.get_or_init(|| self.noted((self.type_reader)()))
    }

    /// Returns the partition functions and schemes.
    pub fn partitions(&self) -> &Partitions {
        self.partitions.get_or_init(|| self.noted((self.partition_reader)()))
    }

    /// Returns the user-defined type of the current database that a text such as `dbo.t` names.
    pub fn type_named(&self, text: &str) -> Option<&UserType> {
        let name = parse_object_name(text).ok()?;
        let schema = name.schema.as_deref().unwrap_or("dbo");
        let database = name.database.as_deref().unwrap_or(&self.database);
        self.types().iter().find(|found| {
            same_name(&found.database, database)
                && same_name(&found.schema, schema)
                && same_name(&found.name, &name.name)
        })
    }

    /// Returns the figures of a database, as of the first call. None if there is no such database, or it is
    /// tempdb.
    pub fn figures(&self, database: &str) -> Option<&Figures> {
        self.databases()?.of(database)
    }

    /// Lists the figures of all databases that have figures.
    pub fn all_figures(&self) -> impl Iterator<Item = &Figures> {
        self.databases().into_iter().flat_map(DatabaseFigures::all)
    }

    fn databases(&self) -> Option<&DatabaseFigures> {
        self.figures.get_or_init(|| (self.figures_reader)()).as_ref()
    }

    /// Returns the current database.
    pub fn current(&self) -> Option<&DatabaseEntry> {
        self.directory.database(&self.database)
    }

    /// Finds the table that a text such as `[dbo].[t]` or `tempdb..#t` names.
    pub fn find(&self, text: &str) -> Option<Arc<TableDefinition>> {
        let name = parse_object_name(text).ok()?;
        self.find_name(&name)
    }

    /// Finds the table of a name.
    pub fn find_name(&self, name: &ObjectName) -> Option<Arc<TableDefinition>> {
        if let Some(finder) = &self.table_finder {
            return self.noted(finder(name));
        }
        let database =
            if name.is_temporary() { "tempdb" } else { name.database.as_deref().unwrap_or(&self.database) };
        let schema = name.schema.as_deref().unwrap_or("dbo");
        self.tables()
            .iter()
            .find(|table| {
                same_name(&table.database, database)
                    && same_name(&table.schema, schema)
                    && same_name(&table.name, &name.name)
            })
            .cloned()
    }

    /// Returns the table of an id.
    pub fn by_id(&self, object_id: i64) -> Option<Arc<TableDefinition>> {
        self.tables().iter().find(|table| i64::from(table.object_id) == object_id).cloned()
    }

    /// Returns the last value of a table's identity, or of a sequence since the start, if one was given out.
    pub fn last_identity(&self, object_id: i32) -> Option<i64> {
        self.noted((self.identities)(object_id))
    }

    /// Returns the time at which the session logged in.
    pub fn login_moment(&self) -> Datum {
        let sessions = (self.sessions)();
        let own = sessions.iter().find(|session| session.spid == self.spid);
        Datum::Moment(own.map_or(self.now, |session| session.since))
    }

    /// Returns the moment of the statement.
    pub fn now_moment(&self) -> Datum {
        Datum::Moment(self.now)
    }
}

/// The columns for UPDATE() and COLUMNS_UPDATED() in a trigger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdatedColumns {
    /// The table's columns, and whether the statement assigns them.
    pub columns: Vec<(String, bool)>,
    /// A bit for each column id, the least first.
    pub mask: Vec<u8>,
}
