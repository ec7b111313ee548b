//! A session: the state and the operations of one connection, without the wire. The wire side calls [`execute()`](crate::statements::execute) with a
//! [`Request`] and forwards the [`Response`](response::Response) events; [`begin_bulk`](crate::statements::begin_bulk) takes the rows of a bulk load that an
//! INSERT BULK has announced.

pub(crate) mod api_cursors;
pub mod bulk_target;
pub(crate) mod cursor;
pub mod early_events;
pub(crate) mod fired;
pub(crate) mod frame;
pub(crate) mod interpreter;
pub(crate) mod output;
pub(crate) mod prepared;
pub mod request;
pub mod response;
pub(crate) mod settings;
pub(crate) mod waited;
pub(crate) mod work;

use std::collections::HashMap;
use std::sync::Arc;

use databases::instance;
use databases::instance::Instance;
use databases::instance::application_locks::LockHolder;
use databases::instance::registry;
use databases::instance::registry::Killed;
use databases::waiting::Placement;
use introspection::facts::SessionContext;
use query::Datum;
use tsql::SqlError;

pub use query::Cancellation;
pub use query::StopOnDrop;

pub use bulk_target::BulkTarget;
pub use databases::instance::login::{ClientConnection, LoginSettings};
pub use request::Request;

use crate::session::api_cursors::ApiCursors;
use crate::session::cursor::Cursors;
use crate::session::fired::{BulkFires, Fired};
use crate::session::interpreter::Interpreter;
use crate::session::prepared::Prepared;
use crate::session::response::SessionChange;
use crate::session::settings::Settings;
use crate::session::work::Work;
use crate::session::work::scopes;

/// One connection's state: database, options, transaction, temporary tables, prepared statements.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    /// The interpreter that runs statements within statements.
    pub(crate) interpreter: &'static Interpreter,
    pub(crate) login: LoginSettings,
    pub(crate) settings: Settings,
    pub(crate) database: String,
    pub(crate) work: Work,
    /// The session's entry among those that are open.
    pub seat: registry::Place,
    /// The cancellation of the running request.
    pub cancellation: Cancellation,
    /// The thread that runs the request.
    pub(crate) placement: Placement,
    pub(crate) prepared: HashMap<i32, Prepared>,
    pub(crate) next_handle: i32,
    pub(crate) context: Arc<SessionContext>,
    /// GLOBAL cursors of T-SQL.
    pub(crate) cursors: Cursors,
    pub(crate) api_cursors: ApiCursors,
    pub(crate) application_locks: LockHolder,
    pub(crate) last: LastStatement,
    /// The changes of the running statement to tables with triggers.
    pub(crate) triggered: Vec<Fired>,
    /// Triggers that run, the innermost last.
    pub(crate) trigger_stack: Vec<i32>,
    /// A bulk load that fires triggers when it ends.
    pub(crate) bulk_fires: Option<BulkFires>,
    /// True if the receiver of the answers takes borrowed page rows.
    pub(crate) takes_page_rows: bool,
    /// Statements that the server's count does not have yet.
    pub(crate) statements: u64,
}

/// The values of `@@ROWCOUNT` and its siblings.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastStatement {
    pub rows: i64,
    pub error: i32,
    pub identity: Option<i64>,
    pub(crate) scope_identity: Option<i64>,
    /// XACT_ABORT at the end of the procedure or text that ended last.
    pub(crate) scope_aborts: bool,
    pub(crate) fetch_status: i64,
    pub(crate) cursor_rows: i64,
}

impl Session {
    /// Opens a session for a login. Errors: 4060 if the database does not exist.
    pub(crate) fn open(
        instance: Arc<Instance>,
        login: LoginSettings,
        interpreter: &'static Interpreter,
    ) -> Result<Session, SqlError> {
        let wanted = if login.database.is_empty() { "master" } else { &login.database };
        let directory = instance.directory()?;
        let database = directory.database(wanted).map(|database| database.name.clone()).ok_or_else(|| {
            SqlError::new(
                4060,
                11,
                1,
                format!("Cannot open database \"{wanted}\" requested by the login. The login failed."),
            )
        })?;
        let settings = Settings::new(login.ansi_defaults).speaking(login.client.language);
        let work = Work::new(Arc::clone(&instance)).of_session(login.spid);
        let application_locks = LockHolder::new(instance.application_locks());
        let place = instance.sessions().enter(&login);
        Ok(Session {
            instance,
            interpreter,
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
            cursors: Cursors::new(),
            api_cursors: ApiCursors::default(),
            application_locks,
            last: LastStatement::default(),
            triggered: Vec::new(),
            trigger_stack: Vec::new(),
            bulk_fires: None,
            takes_page_rows: false,
            statements: 0,
        })
    }

    /// Allows [`Response::PageRows`](response::Response::PageRows) for rows of a table that are returned as they are stored.
    pub fn take_page_rows(&mut self) {
        self.takes_page_rows = true;
    }

    /// Notifies that another session has killed this one.
    pub fn killed(&self) -> Killed {
        self.seat.killed()
    }

    /// Returns the current database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The name of the session's language.
    pub fn language(&self) -> &'static str {
        self.settings.language.name
    }

    /// Counts the BEGIN TRANSACTIONs without their COMMIT.
    pub fn transaction_depth(&self) -> u32 {
        self.work.depth()
    }

    /// Resets the session for a connection pool's next user: options, temporary tables and prepared statements are dropped, and
    /// an open transaction is rolled back unless it is to be kept.
    pub fn reset(&mut self, keep_transaction: bool) -> Vec<SessionChange> {
        let mut changes = Vec::new();
        if !keep_transaction {
            if let Some(descriptor) = self.work.rollback() {
                changes.push(SessionChange::TransactionRolledBack(descriptor));
            }
            scopes::drop_temporary(&mut self.work);
        }
        self.settings = Settings::new(self.login.ansi_defaults).speaking(self.login.client.language);
        self.work.set_lock_timeout(self.settings.lock_timeout());
        self.prepared.clear();
        self.context = Arc::default();
        self.cursors.clear();
        self.api_cursors.clear();
        self.application_locks.clear();
        self.last = LastStatement::default();
        let wanted = if self.login.database.is_empty() { "master" } else { &self.login.database };
        // If the catalogue cannot be read the session stays where it is, and its next statement says why.
        if let Ok(directory) = self.instance.directory()
            && let Some(database) = directory.database(wanted)
            && database.name != self.database
        {
            let old = std::mem::replace(&mut self.database, database.name.clone());
            changes.push(SessionChange::Database { new: self.database.clone(), old });
        }
        changes
    }

    /// Makes the session's waits end when `cancellation` is set. [`execute()`](crate::statements::execute) does this itself.
    pub fn watch(&mut self, cancellation: &Cancellation) {
        self.work.set_interrupt(cancellation.flag());
        self.cancellation = cancellation.clone();
    }

    /// Says where the request runs.
    pub(crate) fn place(&mut self, placement: Placement) {
        self.work.place(placement.clone());
        self.placement = placement;
    }

    /// Returns true if the bulk load that has ended is to fire triggers.
    pub fn fires_after_bulk(&self) -> bool {
        self.bulk_fires.is_some()
    }

    /// Sets `@@ROWCOUNT` after a bulk load of `rows` rows.
    pub fn note_bulk(&mut self, rows: u64) {
        self.last.rows = rows as i64;
        self.last.error = 0;
    }

    /// Ends the transaction of a bulk load that failed.
    pub(crate) fn abandon_bulk(&mut self) {
        if let Some(fires) = self.bulk_fires.take()
            && fires.own
        {
            self.work.rollback();
        }
    }

    /// Handles a request or a bulk load that failed outside of the interpreter: sets `@@ERROR`, and rolls back after a deadlock
    /// or under XACT_ABORT.
    pub fn note_failure(&mut self, error: &SqlError) -> Option<SessionChange> {
        self.last.rows = 0;
        self.last.error = error.number;
        self.work.take_ignored();
        self.abandon_bulk();
        let rolls_back = error.ends_transaction() || (self.settings.abort_transaction && error.class > 10);
        let descriptor = if rolls_back { self.work.rollback() } else { None };
        if descriptor.is_some() {
            self.application_locks.end_transaction();
        }
        descriptor.map(SessionChange::TransactionRolledBack)
    }

    /// Returns the value of an `@@` function.
    pub(crate) fn global(&self, name: &str) -> Option<(Datum, tds::SqlType)> {
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
            "@@LANGUAGE" => text(self.settings.language.name.to_string()),
            "@@LANGID" => Some((Datum::Int(i64::from(self.settings.language.id)), SqlType::SmallInt)),
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
            "@@OPTIONS" => int(self.settings.options()),
            "@@FETCH_STATUS" => int(self.last.fetch_status),
            "@@CURSOR_ROWS" => int(self.last.cursor_rows),
            "@@DBTS" => Some((Datum::RowVersion(self.instance.row_version()), SqlType::RowVersion)),
            _ => None,
        }
    }
}
