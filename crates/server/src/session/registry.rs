//! The sessions that are open, for `sys.dm_exec_sessions` and for whoever wants to know that none is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::LoginSettings;
use crate::engine::facts;

/// Who is logged in.
#[derive(Debug, Clone)]
pub(crate) struct OpenSession {
    /// Session id.
    pub spid: u16,
    /// Client's host name.
    pub host: String,
    /// Application name.
    pub application: String,
    /// Login name.
    pub login: String,
    /// When it logged in: ticks of 100 ns since 0001-01-01 UTC.
    pub since: i64,
}

/// All of them. Ids may repeat once 65,000 logins have passed; a place is told apart by a number of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions {
    open: Arc<Mutex<BTreeMap<u64, Entry>>>,
}

#[derive(Debug)]
struct Entry {
    session: OpenSession,
    killed: watch::Sender<bool>,
}

/// Tells a connection that its session was killed.
#[derive(Debug, Clone)]
pub(crate) struct Killed(watch::Receiver<bool>);

impl Killed {
    /// Waits for it; for ever if nobody kills the session.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|killed| *killed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A session's place; empty again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    sessions: Sessions,
    killed: Killed,
}

impl Place {
    /// What tells that the session was killed.
    pub fn killed(&self) -> Killed {
        self.killed.clone()
    }
}

impl Sessions {
    /// Enters a session.
    pub fn enter(&self, login: &LoginSettings) -> Place {
        let session = OpenSession {
            spid: login.spid,
            host: login.host.clone(),
            application: login.application.clone(),
            login: login.user.clone(),
            since: facts::now(),
        };
        let mut open = self.open.lock();
        let number = open.last_key_value().map_or(0, |(last, _)| last + 1);
        let (sender, receiver) = watch::channel(false);
        open.insert(number, Entry { session, killed: sender });
        Place { number, sessions: self.clone(), killed: Killed(receiver) }
    }

    /// Ends the sessions of an id: what they run is stopped, their connections are closed. False: there is none.
    pub fn kill(&self, spid: u16) -> bool {
        let open = self.open.lock();
        let mut found = false;
        for entry in open.values().filter(|entry| entry.session.spid == spid) {
            found = true;
            // Nobody listens if its connection is about to end anyway.
            let _ = entry.killed.send(true);
        }
        found
    }

    /// Whether a session of that id is open, and whether it was killed and is being undone.
    pub fn state(&self, spid: u16) -> Option<bool> {
        let open = self.open.lock();
        let entry = open.values().find(|entry| entry.session.spid == spid);
        entry.map(|entry| *entry.killed.borrow())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// All of them, in the order of their login.
    pub fn all(&self) -> Vec<OpenSession> {
        self.open.lock().values().map(|entry| entry.session.clone()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.sessions.open.lock().remove(&self.number);
    }
}
