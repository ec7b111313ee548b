//! The sessions that are open, for `sys.dm_exec_sessions` and for the wait for the last one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, Ordering};

use parking_lot::Mutex;
use query::facts;
use store::SessionWaits;
use tokio::sync::watch;

use crate::instance::isolation_level;
use crate::instance::login::{ClientConnection, LoginSettings};

/// A session that is logged in.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Id of the session (SPID).
    pub spid: u16,
    /// Client's host name.
    pub host: String,
    /// Name that the application gave at the login.
    pub application: String,
    /// Name of the login.
    pub login: String,
    /// Time of the login: ticks of 100 ns since 0001-01-01 UTC.
    pub since: i64,
    /// True if the session's connection is encrypted.
    pub is_encrypted: bool,
    /// Connection of the client.
    pub client: ClientConnection,
    /// Activity of the session.
    pub activity: Arc<Activity>,
}

/// Activity of a session, as others see it.
#[derive(Debug)]
pub struct Activity {
    /// A request runs.
    pub is_running: AtomicBool,
    /// The statement that runs or has run last: its place in [`COMMANDS`].
    pub command: AtomicU8,
    /// Start of the last request: ticks of 100 ns since 0001-01-01 UTC.
    pub request_began: AtomicI64,
    /// End of the last request, in the same ticks as its start.
    pub request_ended: AtomicI64,
    /// Isolation level, as sys.dm_exec_sessions numbers it.
    pub isolation_level: AtomicU8,
    /// BEGIN TRANSACTIONs without their COMMIT.
    pub transactions: AtomicU32,
    /// SET options of the session.
    pub options: Mutex<SessionOptions>,
    /// Waits of the session, and the one that is going on.
    pub waits: Arc<SessionWaits>,
}

/// Statements as `sys.dm_exec_requests.command` names them; the first stands for all others.
pub const COMMANDS: [&str; 16] = [
    "",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "BULK INSERT",
    "WAITFOR",
    "EXECUTE",
    "BEGIN TRANSACTION",
    "COMMIT TRANSACTION",
    "ROLLBACK TRANSACTION",
    "CREATE TABLE",
    "CREATE INDEX",
    "ALTER TABLE",
    "TRUNCATE TABLE",
];

/// SET options as `sys.dm_exec_sessions` shows them.
#[derive(Debug, Clone, Copy)]
pub struct SessionOptions {
    /// TEXTSIZE.
    pub text_size: i32,
    /// DATEFORMAT.
    pub date_format: &'static str,
    /// LANGUAGE.
    pub language: &'static str,
    /// DATEFIRST.
    pub date_first: u8,
    /// QUOTED_IDENTIFIER.
    pub quoted_identifier: bool,
    /// ARITHABORT.
    pub arithabort: bool,
    /// ANSI_NULL_DFLT_ON.
    pub ansi_null_dflt_on: bool,
    /// ANSI_PADDING.
    pub ansi_padding: bool,
    /// ANSI_NULLS.
    pub ansi_nulls: bool,
    /// CONCAT_NULL_YIELDS_NULL.
    pub concat_null_yields_null: bool,
    /// LOCK_TIMEOUT in milliseconds.
    pub lock_timeout_ms: i32,
    /// DEADLOCK_PRIORITY.
    pub deadlock_priority: i8,
}

impl Default for SessionOptions {
    /// Returns the options of a new session.
    fn default() -> Self {
        SessionOptions {
            text_size: i32::MAX,
            date_format: "mdy",
            language: "us_english",
            date_first: 7,
            quoted_identifier: true,
            arithabort: false,
            ansi_null_dflt_on: true,
            ansi_padding: true,
            ansi_nulls: true,
            concat_null_yields_null: true,
            lock_timeout_ms: -1,
            deadlock_priority: 0,
        }
    }
}

/// All open sessions. Their ids may repeat after 65,000 logins, so each entry has a number of its own.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    open: Arc<Mutex<BTreeMap<u64, Entry>>>,
}

#[derive(Debug)]
struct Entry {
    session: OpenSession,
    killed: watch::Sender<bool>,
}

/// Notifies a connection that its session was killed.
#[derive(Debug, Clone)]
pub struct Killed(watch::Receiver<bool>);

impl Killed {
    /// Waits until the session is killed.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|killed| *killed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A session's place; empty again when it is dropped.
#[derive(Debug)]
pub struct Place {
    number: u64,
    sessions: Sessions,
    killed: Killed,
    activity: Arc<Activity>,
}

impl Place {
    /// Returns the signal that the session was killed.
    pub fn killed(&self) -> Killed {
        self.killed.clone()
    }

    /// Returns the waits of the session.
    pub fn waits(&self) -> Arc<SessionWaits> {
        Arc::clone(&self.activity.waits)
    }

    /// Publishes that a request begins or has ended.
    pub fn note_request(&self, runs: bool) {
        let moment = if runs { &self.activity.request_began } else { &self.activity.request_ended };
        moment.store(facts::now(), Ordering::Relaxed);
        self.activity.is_running.store(runs, Ordering::Relaxed);
    }

    /// Publishes the statement that begins, by its place in [`COMMANDS`].
    pub fn note_command(&self, command: u8) {
        self.activity.command.store(command, Ordering::Relaxed);
    }

    /// Publishes the isolation level and the depth of transactions.
    pub fn note_transaction(&self, isolation_level: u8, transactions: u32) {
        self.activity.isolation_level.store(isolation_level, Ordering::Relaxed);
        self.activity.transactions.store(transactions, Ordering::Relaxed);
    }

    /// Publishes SET options.
    pub fn note_options(&self, options: SessionOptions) {
        *self.activity.options.lock() = options;
    }
}

impl Sessions {
    /// Enters a session.
    pub fn enter(&self, login: &LoginSettings) -> Place {
        let now = facts::now();
        let session = OpenSession {
            spid: login.spid,
            host: login.host.clone(),
            application: login.application.clone(),
            login: login.user.clone(),
            since: now,
            is_encrypted: login.is_encrypted,
            client: login.client.clone(),
            activity: Arc::new(Activity {
                is_running: AtomicBool::new(false),
                command: AtomicU8::new(0),
                request_began: AtomicI64::new(now),
                request_ended: AtomicI64::new(now),
                isolation_level: AtomicU8::new(isolation_level::READ_COMMITTED),
                transactions: AtomicU32::new(0),
                options: Mutex::default(),
                waits: Arc::default(),
            }),
        };
        let activity = Arc::clone(&session.activity);
        let mut open = self.open.lock();
        let number = open.last_key_value().map_or(0, |(last, _)| last + 1);
        let (sender, receiver) = watch::channel(false);
        open.insert(number, Entry { session, killed: sender });
        Place { number, sessions: self.clone(), killed: Killed(receiver), activity }
    }

    /// Kills the sessions with an id: their requests are stopped and their connections closed. False if there are none.
    pub fn kill(&self, spid: u16) -> bool {
        let open = self.open.lock();
        let mut found = false;
        for entry in open.values().filter(|entry| entry.session.spid == spid) {
            found = true;
            // The send fails only if the connection is about to end anyway.
            let _ = entry.killed.send(true);
        }
        found
    }

    /// Returns the state of the session with an id: true if it was killed and is being undone. None: no such
    /// session.
    pub fn state(&self, spid: u16) -> Option<bool> {
        let open = self.open.lock();
        let entry = open.values().find(|entry| entry.session.spid == spid);
        entry.map(|entry| *entry.killed.borrow())
    }

    /// Returns the number of sessions.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// Lists the sessions, in the order of their login.
    pub fn all(&self) -> Vec<OpenSession> {
        self.open.lock().values().map(|entry| entry.session.clone()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.sessions.open.lock().remove(&self.number);
    }
}
