//! A session: what one connection can do, without the connection.
//!
//! The wire half calls [`execute()`] with a [`Request`] and forwards the [`Response`](response::Response)
//! events; [`begin_bulk`] takes the rows of a bulk load that an INSERT BULK has announced.

pub(crate) mod administration;
pub(crate) mod alter_columns;
pub(crate) mod answer;
pub(crate) mod application_locks;
pub(crate) mod bulk;
pub(crate) mod bulk_insert;
pub(crate) mod call;
pub(crate) mod change;
pub(crate) mod constraint;
pub(crate) mod cursor;
pub(crate) mod database;
pub(crate) mod database_file;
pub(crate) mod dbcc;
pub(crate) mod ddl;
pub(crate) mod declared_columns;
pub(crate) mod definition;
pub(crate) mod destination;
pub(crate) mod environment;
pub(crate) mod evaluate;
pub(crate) mod execute;
pub(crate) mod fire;
pub(crate) mod function;
pub(crate) mod index;
pub(crate) mod insert;
pub(crate) mod insert_file;
pub(crate) mod instance;
pub(crate) mod instead;
pub(crate) mod interpreter;
pub(crate) mod isolation;
pub(crate) mod kill;
pub(crate) mod light;
pub(crate) mod loads;
pub(crate) mod merge;
pub(crate) mod modify;
pub(crate) mod module;
pub(crate) mod new_table;
pub(crate) mod output;
pub(crate) mod output_clause;
pub(crate) mod parallel;
pub(crate) mod placement;
pub(crate) mod plain;
pub(crate) mod procedures;
pub(crate) mod redefine;
pub(crate) mod references;
pub(crate) mod registry;
pub(crate) mod rename;
pub(crate) mod resolve;
pub mod response;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod sequence;
pub(crate) mod settings;
pub(crate) mod statements;
pub(crate) mod table_argument;
pub(crate) mod target;
pub(crate) mod text_size;
pub(crate) mod transaction;
pub(crate) mod tries;
pub(crate) mod trigger;
pub(crate) mod uncommittable;
pub(crate) mod user_type;
pub(crate) mod work;

use std::collections::HashMap;
use std::sync::Arc;

pub use bulk::{BulkTarget, BulkWriter, begin_bulk};
pub use execute::{Request, execute};
pub(crate) use fire::UpdatedColumns;
pub use instance::Instance;
pub(crate) use loads::FinishedLoad;
pub(crate) use placement::EarlyEvents;
pub(crate) use procedures::procedure_names;
pub use query::Cancellation;
use query::Datum;
pub(crate) use query::StopOnDrop;
pub(crate) use registry::{Killed, OpenSession};
pub(crate) use statements::KeptText;
use tsql::SqlError;

use crate::facts::SessionContext;
use placement::Placement;
use response::SessionChange;
use settings::Settings;
use work::Work;

/// Who logs in, and where to.
#[derive(Debug, Clone)]
pub struct LoginSettings {
    /// Database asked for; empty for `master`.
    pub database: String,
    /// Login name.
    pub user: String,
    /// Application name.
    pub application: String,
    /// Client's host name.
    pub host: String,
    /// Session id.
    pub spid: u16,
    /// Whether the client asked for the ODBC defaults of SET options (MS-TDS 2.2.6.4, fODBC).
    pub ansi_defaults: bool,
    /// Whether its connection is encrypted.
    pub is_encrypted: bool,
}

/// One connection's state: database, options, transaction, temporary tables, prepared statements.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    pub(crate) login: LoginSettings,
    pub(crate) settings: Settings,
    pub(crate) database: String,
    pub(crate) work: Work,
    /// Its entry among the sessions that are open.
    pub(crate) seat: registry::Place,
    /// Of the request that runs.
    pub(crate) cancellation: Cancellation,
    /// Where the request runs.
    pub(crate) placement: Placement,
    pub(crate) prepared: HashMap<i32, procedures::Prepared>,
    pub(crate) next_handle: i32,
    pub(crate) context: Arc<SessionContext>,
    /// GLOBAL cursors of T-SQL.
    pub(crate) cursors: cursor::Cursors,
    pub(crate) api_cursors: procedures::ApiCursors,
    pub(crate) application_locks: application_locks::LockHolder,
    pub(crate) last: LastStatement,
    /// What the statement that runs has done to tables with triggers.
    pub(crate) triggered: Vec<fire::Fired>,
    /// Triggers that run, the innermost last.
    pub(crate) trigger_stack: Vec<i32>,
    /// A bulk load that fires triggers when it ends.
    pub(crate) bulk_fires: Option<bulk::BulkFires>,
    /// Whoever hears the answers takes rows as they lie in pages.
    pub(crate) takes_page_rows: bool,
}

/// What `@@ROWCOUNT` and its siblings say.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastStatement {
    pub(crate) rows: i64,
    pub(crate) error: i32,
    pub(crate) identity: Option<i64>,
    pub(crate) scope_identity: Option<i64>,
    pub(crate) fetch_status: i64,
    pub(crate) cursor_rows: i64,
}

impl Session {
    /// A session for a login. Errors: 4060 if the database does not exist.
    pub fn open(instance: Arc<Instance>, login: LoginSettings) -> Result<Session, SqlError> {
        let wanted = if login.database.is_empty() { "master" } else { &login.database };
        let directory = instance.directory();
        let database = directory.database(wanted).map(|database| database.name.clone()).ok_or_else(|| {
            SqlError::new(
                4060,
                11,
                1,
                format!("Cannot open database \"{wanted}\" requested by the login. The login failed."),
            )
        })?;
        let settings = Settings::new(login.ansi_defaults);
        let work = Work::new(Arc::clone(&instance)).of_session(login.spid);
        let application_locks = application_locks::LockHolder::new(instance.application_locks());
        let place = instance.sessions().enter(&login);
        Ok(Session {
            instance,
            login,
            settings,
            database,
            work,
            seat: place,
            cancellation: Cancellation::new(),
            placement: Placement::default(),
            prepared: HashMap::new(),
            next_handle: 1,
            context: Arc::default(),
            cursors: cursor::Cursors::new(),
            api_cursors: procedures::ApiCursors::default(),
            application_locks,
            last: LastStatement::default(),
            triggered: Vec::new(),
            trigger_stack: Vec::new(),
            bulk_fires: None,
            takes_page_rows: false,
        })
    }

    /// From now on rows of a table that are answered as they are stored may come as [`Response::PageRows`].
    pub(crate) fn take_page_rows(&mut self) {
        self.takes_page_rows = true;
    }

    /// What tells that another session has killed this one.
    pub(crate) fn killed(&self) -> Killed {
        self.seat.killed()
    }

    /// The current database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// BEGIN TRANSACTIONs without their COMMIT.
    pub fn transaction_depth(&self) -> u32 {
        self.work.depth()
    }

    /// Makes the session as new, for a connection pool's next user: options, temporary tables and prepared statements
    /// go, an open transaction is rolled back unless it is to be kept.
    pub fn reset(&mut self, keep_transaction: bool) -> Vec<SessionChange> {
        let mut changes = Vec::new();
        if !keep_transaction {
            if let Some(descriptor) = self.work.rollback() {
                changes.push(SessionChange::TransactionRolledBack(descriptor));
            }
            self.work.drop_temporary();
        }
        self.settings = Settings::new(self.login.ansi_defaults);
        self.work.set_lock_timeout(self.settings.lock_timeout());
        self.prepared.clear();
        self.context = Arc::default();
        self.cursors.clear();
        self.api_cursors.clear();
        self.application_locks.clear();
        self.last = LastStatement::default();
        let wanted = if self.login.database.is_empty() { "master" } else { &self.login.database };
        if let Some(database) = self.instance.directory().database(wanted)
            && database.name != self.database
        {
            let old = std::mem::replace(&mut self.database, database.name.clone());
            changes.push(SessionChange::Database { new: self.database.clone(), old });
        }
        changes
    }

    /// Whether a request is light: surely quick unless it has to wait, in which case it leaves its connection's thread
    /// before it does.
    pub(crate) fn is_light(&self, request: &Request) -> bool {
        light::is_light(self, request)
    }

    /// From now on the session's waits end when `cancellation` is set. [`execute()`] does this itself.
    pub fn watch(&mut self, cancellation: &Cancellation) {
        self.work.set_interrupt(cancellation.flag());
        self.cancellation = cancellation.clone();
    }

    /// Whether the bulk load that has ended is to fire triggers.
    pub(crate) fn fires_after_bulk(&self) -> bool {
        self.bulk_fires.is_some()
    }

    /// Runs the triggers of a bulk load that has ended well. What they answer goes to `events`; an error is among that, with its DONE. Whether
    /// the load stays.
    pub(crate) async fn fire_after_bulk(
        &mut self,
        events: tokio::sync::mpsc::Sender<response::Response>,
        cancellation: Cancellation,
    ) -> bool {
        // The load's own cancellation ended with it.
        self.watch(&cancellation);
        execute::place(self, Placement::default());
        let mut output = output::Output::new(events, cancellation);
        let result = fire::fire_bulk(self, &interpreter::Frame::new(false), &mut output).await;
        match result {
            Ok(()) => true,
            Err(error) if error.is_cancelled() => false,
            Err(error) => {
                answer::refuse(self, error, response::DoneKind::Statement, &mut output).await;
                false
            }
        }
    }

    /// After a bulk load that took `rows` rows: `@@ROWCOUNT` is theirs.
    pub fn note_bulk(&mut self, rows: u64) {
        self.last.rows = rows as i64;
        self.last.error = 0;
    }

    /// After a request or a bulk load that failed outside of the interpreter: `@@ERROR`, and the rollback that a deadlock
    /// or XACT_ABORT asks for.
    pub fn note_failure(&mut self, error: &SqlError) -> Option<SessionChange> {
        self.last.rows = 0;
        self.last.error = error.number;
        self.work.take_ignored();
        fire::abandon_bulk(self);
        let rolls_back = error.ends_transaction() || (self.settings.abort_transaction && error.class > 10);
        let descriptor = if rolls_back { self.work.rollback() } else { None };
        if descriptor.is_some() {
            self.application_locks.end_transaction();
        }
        descriptor.map(SessionChange::TransactionRolledBack)
    }

    /// The value of an `@@` function.
    fn global(&self, name: &str) -> Option<(Datum, tds::SqlType)> {
        use tds::SqlType;
        let int = |value: i64| Some((Datum::Int(value), SqlType::Int));
        let text =
            |value: String| Some((Datum::Text(value), SqlType::NVarChar { length: tds::Length::Units(300) }));
        match name.to_ascii_uppercase().as_str() {
            "@@ROWCOUNT" => int(self.last.rows),
            "@@ERROR" => int(i64::from(self.last.error)),
            "@@TRANCOUNT" => int(i64::from(self.work.depth())),
            "@@SPID" => Some((Datum::Int(i64::from(self.login.spid)), SqlType::SmallInt)),
            "@@IDENTITY" => Some((
                self.last.identity.map_or(Datum::Null, |value| Datum::Decimal(i128::from(value))),
                SqlType::Numeric { precision: 38, scale: 0 },
            )),
            "@@VERSION" => text(instance::version_text()),
            "@@SERVERNAME" | "@@SERVICENAME" => text(self.instance.name().to_string()),
            "@@LANGUAGE" => text("us_english".to_string()),
            "@@LANGID" => Some((Datum::Int(0), SqlType::SmallInt)),
            "@@DATEFIRST" => Some((Datum::Int(i64::from(self.settings.date_first)), SqlType::TinyInt)),
            "@@MAX_PRECISION" => Some((Datum::Int(38), SqlType::TinyInt)),
            "@@MAX_CONNECTIONS" => int(32_767),
            "@@MICROSOFTVERSION" => int(0x1000_03E8),
            "@@TEXTSIZE" => int(i64::from(self.settings.text_size)),
            "@@LOCK_TIMEOUT" => int(i64::from(self.settings.lock_timeout_ms)),
            "@@REMSERVER" => Some((Datum::Null, SqlType::NVarChar { length: tds::Length::Units(128) })),
            "@@CONNECTIONS" | "@@CPU_BUSY" | "@@IDLE" | "@@IO_BUSY" | "@@PACK_RECEIVED" | "@@PACK_SENT"
            | "@@PACKET_ERRORS" | "@@TOTAL_ERRORS" | "@@TOTAL_READ" | "@@TOTAL_WRITE" => int(0),
            "@@TIMETICKS" => int(31_250),
            "@@NESTLEVEL" => int(0),
            "@@OPTIONS" => int(self.settings.options()),
            "@@FETCH_STATUS" => int(self.last.fetch_status),
            "@@CURSOR_ROWS" => int(self.last.cursor_rows),
            "@@PROCID" => int(0),
            "@@DBTS" => Some((Datum::RowVersion(self.instance.row_version()), SqlType::RowVersion)),
            _ => None,
        }
    }
}
