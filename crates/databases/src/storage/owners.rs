//! Sessions to which open transactions of the engine belong.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use query::facts;

/// Sessions by their transactions' numbers, with the ticks of 100 ns since 0001-01-01 at which each began. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Owners(Arc<Mutex<BTreeMap<u64, (u16, i64)>>>);

impl Owners {
    /// Registers a transaction until the result is dropped.
    pub fn enter(&self, transaction: u64, session: u16) -> Ownership {
        self.0.lock().insert(transaction, (session, facts::now()));
        Ownership { owners: self.clone(), transaction }
    }

    /// Returns the session of a transaction; None: it is over, or the engine's own.
    pub fn of(&self, transaction: u64) -> Option<u16> {
        self.began(transaction).map(|(session, _)| session)
    }

    /// Returns the session of a transaction, and the ticks at which it began.
    pub fn began(&self, transaction: u64) -> Option<(u16, i64)> {
        self.0.lock().get(&transaction).copied()
    }
}

/// An entry; gone when it is dropped.
#[derive(Debug)]
pub struct Ownership {
    owners: Owners,
    transaction: u64,
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.owners.0.lock().remove(&self.transaction);
    }
}
