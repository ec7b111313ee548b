//! The sessions that are open, for `sys.dm_exec_sessions` and for whoever wants to know that none is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

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
    open: Arc<Mutex<BTreeMap<u64, OpenSession>>>,
}

/// A session's place; empty again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    sessions: Sessions,
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
        open.insert(number, session);
        Place { number, sessions: self.clone() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// All of them, in the order of their login.
    pub fn all(&self) -> Vec<OpenSession> {
        self.open.lock().values().cloned().collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.sessions.open.lock().remove(&self.number);
    }
}
