//! Application locks: sp_getapplock and sp_releaseapplock.
//!
//! A lock is a name that an application chose, within a database. It is independent of tables, and deadlocks are not detected: a
//! wait ends with its time-out or with the request.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use query::Cancellation;
use tokio::sync::Notify;
use tsql::SqlError;

/// Mode of an application lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Intent shared: a part is going to be read.
    IntentShared,
    /// Shared: the resource is read.
    Shared,
    /// Update: the resource is read, to be changed soon.
    Update,
    /// Intent exclusive: a part is going to be changed.
    IntentExclusive,
    /// Exclusive: the resource is changed, by one session alone.
    Exclusive,
}

impl Mode {
    /// Returns the mode of a name, as sp_getapplock takes it.
    pub fn from_name(name: &str) -> Option<Mode> {
        Some(match name.to_ascii_lowercase().as_str() {
            "intentshared" => Mode::IntentShared,
            "shared" => Mode::Shared,
            "update" => Mode::Update,
            "intentexclusive" => Mode::IntentExclusive,
            "exclusive" => Mode::Exclusive,
            _ => return None,
        })
    }

    /// Returns true if two sessions may hold a lock in these modes at once ("Lock compatibility").
    fn goes_with(self, other: Mode) -> bool {
        use Mode::{Exclusive, IntentExclusive, IntentShared, Shared, Update};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => false,
            (IntentShared, _) | (_, IntentShared) => true,
            (IntentExclusive, IntentExclusive) => true,
            (IntentExclusive, _) | (_, IntentExclusive) => false,
            (Update, Update) => false,
            (Shared | Update, Shared | Update) => true,
        }
    }
}

/// Owner of a lock, whose end releases it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The end of the transaction.
    Transaction,
    /// The session, or sp_releaseapplock.
    Session,
}

/// A lock that a session holds. It must be released as often as it was taken.
struct Held {
    holder: u64,
    mode: Mode,
    owner: Owner,
}

type Resource = (String, String);

/// Application locks of a server.
#[derive(Default)]
pub struct ApplicationLocks {
    held: Mutex<HashMap<Resource, Vec<Held>>>,
    released: Notify,
    next_holder: AtomicU64,
}

/// A session's locks; when it is dropped, all are released.
pub struct LockHolder {
    locks: Arc<ApplicationLocks>,
    id: u64,
    /// True if the session may hold locks of a transaction.
    in_transaction: bool,
}

/// The result of a lock request (sp_getapplock's return codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// No other session held the lock in a conflicting mode.
    AtOnce = 0,
    /// Another session released the lock first.
    AfterWaiting = 1,
    /// The lock was not granted in time.
    TimedOut = -1,
}

impl LockHolder {
    /// Creates a session's part, which holds nothing yet.
    pub fn new(locks: &Arc<ApplicationLocks>) -> LockHolder {
        let id = locks.next_holder.fetch_add(1, Ordering::Relaxed);
        LockHolder { locks: Arc::clone(locks), id, in_transaction: false }
    }

    /// Takes a lock. `patience` is how long to wait; None for ever.
    ///
    /// # Errors
    /// Error 3617 if the request is to stop.
    pub async fn take(
        &mut self,
        database: &str,
        resource: &str,
        mode: Mode,
        owner: Owner,
        patience: Option<Duration>,
        cancellation: &Cancellation,
    ) -> Result<Granted, SqlError> {
        self.in_transaction |= owner == Owner::Transaction;
        let begun = Instant::now();
        let mut waited = false;
        let locks = Arc::clone(&self.locks);
        loop {
            // Created before the look, so that no release falls between the two.
            let released = locks.released.notified();
            if self.try_take(database, resource, mode, owner) {
                return Ok(if waited { Granted::AfterWaiting } else { Granted::AtOnce });
            }
            waited = true;
            let wait = async {
                match patience {
                    None => {
                        released.await;
                        Ok(Some(()))
                    }
                    Some(patience) => {
                        let left = patience.saturating_sub(begun.elapsed());
                        Ok(tokio::time::timeout(left, released).await.ok())
                    }
                }
            };
            if cancellation.or(wait).await?.is_none() {
                return Ok(Granted::TimedOut);
            }
        }
    }

    fn try_take(&self, database: &str, resource: &str, mode: Mode, owner: Owner) -> bool {
        let mut held = self.locks.held.lock();
        let holders = held.entry((database.to_string(), resource.to_string())).or_default();
        let free = holders.iter().all(|other| other.holder == self.id || other.mode.goes_with(mode));
        if free {
            holders.push(Held { holder: self.id, mode, owner });
        }
        free
    }

    /// Releases one lock; false if it is not held.
    pub fn release(&self, database: &str, resource: &str, owner: Owner) -> bool {
        let key = (database.to_string(), resource.to_string());
        let mut held = self.locks.held.lock();
        let Some(holders) = held.get_mut(&key) else { return false };
        let position = holders.iter().rposition(|lock| lock.holder == self.id && lock.owner == owner);
        let Some(position) = position else { return false };
        holders.remove(position);
        if holders.is_empty() {
            held.remove(&key);
        }
        drop(held);
        self.locks.released.notify_waiters();
        true
    }

    /// Releases the locks of a transaction that has ended.
    pub fn end_transaction(&mut self) {
        if std::mem::take(&mut self.in_transaction) {
            self.release_all(|owner| owner == Owner::Transaction);
        }
    }

    /// Releases all locks of the session.
    pub fn clear(&mut self) {
        self.in_transaction = false;
        self.release_all(|_| true);
    }

    fn release_all(&self, which: impl Fn(Owner) -> bool) {
        let mut held = self.locks.held.lock();
        held.retain(|_, holders| {
            holders.retain(|lock| lock.holder != self.id || !which(lock.owner));
            !holders.is_empty()
        });
        drop(held);
        self.locks.released.notify_waiters();
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        self.release_all(|_| true);
    }
}
