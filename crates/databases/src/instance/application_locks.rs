//! Application locks: sp_getapplock and sp_releaseapplock.
//!
//! A lock is a name that an application chose, within a database. It is independent of tables. Sessions that wait for each other's
//! names are found when the last of them begins to wait; a circle that goes through a table's lock too ends with a time-out.

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

/// What a session waits for.
struct Wanted {
    resource: Resource,
    mode: Mode,
}

/// Application locks of a server.
#[derive(Default)]
pub struct ApplicationLocks {
    held: Mutex<HashMap<Resource, Vec<Held>>>,
    /// Sessions that wait, by their numbers. It is locked after `held`.
    waiting: Mutex<HashMap<u64, Wanted>>,
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
    /// The sessions that hold the lock wait for this one.
    Deadlock = -3,
}

/// The application locks as a session's functions see them.
#[derive(Clone)]
pub struct LockView {
    locks: Arc<ApplicationLocks>,
    id: u64,
}

impl LockView {
    /// Returns the name of the mode in which the session holds a lock, as APPLOCK_MODE does.
    pub fn mode(&self, database: &str, resource: &str, owner: Owner) -> &'static str {
        let held = self.locks.held.lock();
        let holders = held.get(&(database.to_string(), resource.to_string()));
        let own = holders.into_iter().flatten().filter(|lock| lock.holder == self.id && lock.owner == owner);
        let modes: Vec<Mode> = own.map(|lock| lock.mode).collect();
        let has = |mode: Mode| modes.contains(&mode);
        match () {
            () if has(Mode::Exclusive) => "Exclusive",
            () if has(Mode::Update) && has(Mode::IntentExclusive) => "*UpdateIntentExclusive",
            () if has(Mode::Shared) && has(Mode::IntentExclusive) => "*SharedIntentExclusive",
            () if has(Mode::Update) => "Update",
            () if has(Mode::IntentExclusive) => "IntentExclusive",
            () if has(Mode::Shared) => "Shared",
            () if has(Mode::IntentShared) => "IntentShared",
            () => "NoLock",
        }
    }

    /// Returns true if the session would get a lock at once, as APPLOCK_TEST does.
    pub fn is_free(&self, database: &str, resource: &str, mode: Mode) -> bool {
        let held = self.locks.held.lock();
        let holders = held.get(&(database.to_string(), resource.to_string()));
        holders.into_iter().flatten().all(|other| other.holder == self.id || other.mode.goes_with(mode))
    }
}

impl ApplicationLocks {
    /// Returns true if one of those that hold a lock in a conflicting mode waits for `id`, directly or by way of others.
    fn is_circle(&self, id: u64, resource: &Resource, mode: Mode) -> bool {
        let held = self.held.lock();
        let waiting = self.waiting.lock();
        let blockers = |by: u64, resource: &Resource, mode: Mode| {
            let holders = held.get(resource).map(Vec::as_slice).unwrap_or_default();
            let others = holders.iter().filter(|other| other.holder != by && !other.mode.goes_with(mode));
            others.map(|other| other.holder).collect::<Vec<u64>>()
        };
        let mut open = blockers(id, resource, mode);
        let mut seen = Vec::new();
        while let Some(blocker) = open.pop() {
            if blocker == id {
                return true;
            }
            if seen.contains(&blocker) {
                continue;
            }
            seen.push(blocker);
            if let Some(wanted) = waiting.get(&blocker) {
                open.extend(blockers(blocker, &wanted.resource, wanted.mode));
            }
        }
        false
    }
}

/// A session's entry among those that wait; gone when it is dropped.
struct Waiting<'a> {
    locks: &'a ApplicationLocks,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.locks.waiting.lock().remove(&self.id);
    }
}

impl LockHolder {
    /// Creates a session's part, which holds nothing yet.
    pub fn new(locks: &Arc<ApplicationLocks>) -> LockHolder {
        let id = locks.next_holder.fetch_add(1, Ordering::Relaxed);
        LockHolder { locks: Arc::clone(locks), id, in_transaction: false }
    }

    /// Returns the locks as the session's functions see them.
    pub fn view(&self) -> LockView {
        LockView { locks: Arc::clone(&self.locks), id: self.id }
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
        let locks = Arc::clone(&self.locks);
        let key = (database.to_string(), resource.to_string());
        let mut waited = None;
        loop {
            // Created before the look, so that no release falls between the two.
            let released = locks.released.notified();
            if self.try_take(database, resource, mode, owner) {
                return Ok(if waited.is_some() { Granted::AfterWaiting } else { Granted::AtOnce });
            }
            if waited.is_none() {
                locks.waiting.lock().insert(self.id, Wanted { resource: key.clone(), mode });
                waited = Some(Waiting { locks: &locks, id: self.id });
            }
            // Who closes a circle is the one to give way.
            if locks.is_circle(self.id, &key, mode) {
                return Ok(Granted::Deadlock);
            }
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
