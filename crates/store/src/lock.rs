//! Table locks: who holds what, who waits, and whether a wait would never end.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::TableId;
use crate::error::LockError;

/// How strongly a transaction holds a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    /// Shared among appenders: inserts, and bulk loads without a table lock, run side by side (SQL Server's IX).
    Append,
    /// Shared among bulk loads that lock the table, and with nobody else (SQL Server's BU). Who holds it may append.
    Bulk,
    /// Held alone: update, delete, truncate and every change of the table itself.
    Exclusive,
}

impl LockMode {
    /// Whether two transactions can hold these at a time.
    fn is_compatible(self, other: LockMode) -> bool {
        self == other && self != LockMode::Exclusive
    }
}

/// What is locked: a table, or the right to give a table a certain name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LockKey {
    Table(TableId),
    Name(String),
}

pub(crate) type TransactionId = u64;

/// Grants first come, first served, so that an exclusive request is not starved by appenders. A holder that asks for
/// more goes before the queue.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    queues: Mutex<HashMap<LockKey, Queue>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    holders: Vec<(TransactionId, LockMode)>,
    waiters: Vec<(TransactionId, LockMode)>,
}

/// How long a waiter sleeps between two looks at its interrupt.
const INTERRUPT_LOOK: Duration = Duration::from_millis(20);

impl LockTable {
    /// Waits until `transaction` holds `key` in at least `mode`. `Duration::MAX` waits without limit, zero not at all. A
    /// wait ends early, and keeps its place in the queue until then, when `interrupt` is set.
    pub fn acquire(
        &self,
        transaction: TransactionId,
        key: &LockKey,
        mode: LockMode,
        timeout: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<(), LockError> {
        let deadline = Instant::now().checked_add(timeout);
        let mut queues = self.queues.lock();
        let queue = queues.entry(key.clone()).or_default();
        if queue.held(transaction).is_some_and(|held| held >= mode) {
            return Ok(());
        }
        queue.enqueue(transaction, mode);
        loop {
            if queues.get_mut(key).is_some_and(|queue| queue.try_grant(transaction)) {
                // Those behind may now be at the head (appenders come in groups).
                self.changed.notify_all();
                return Ok(());
            }
            if waits_for_itself(&queues, transaction) {
                self.give_up(&mut queues, key, transaction);
                return Err(LockError::Deadlock { what: key.to_string() });
            }
            if interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Acquire)) {
                self.give_up(&mut queues, key, transaction);
                return Err(LockError::Interrupted { what: key.to_string() });
            }
            let look = interrupt.and_then(|_| Instant::now().checked_add(INTERRUPT_LOOK));
            match [deadline, look].into_iter().flatten().min() {
                Some(wake) => drop(self.changed.wait_until(&mut queues, wake)),
                None => self.changed.wait(&mut queues),
            }
            let timed_out = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if timed_out && !queues.get_mut(key).is_some_and(|queue| queue.try_grant(transaction)) {
                self.give_up(&mut queues, key, transaction);
                return Err(LockError::Timeout { what: key.to_string(), timeout });
            } else if timed_out {
                self.changed.notify_all();
                return Ok(());
            }
        }
    }

    /// Releases everything that `transaction` holds.
    pub fn release_all(&self, transaction: TransactionId) {
        let mut queues = self.queues.lock();
        queues.retain(|_, queue| {
            queue.holders.retain(|(holder, _)| *holder != transaction);
            !(queue.holders.is_empty() && queue.waiters.is_empty())
        });
        self.changed.notify_all();
    }

    fn give_up(&self, queues: &mut HashMap<LockKey, Queue>, key: &LockKey, transaction: TransactionId) {
        if let Some(queue) = queues.get_mut(key) {
            queue.waiters.retain(|(waiter, _)| *waiter != transaction);
            if queue.holders.is_empty() && queue.waiters.is_empty() {
                queues.remove(key);
            }
        }
        self.changed.notify_all();
    }
}

impl Queue {
    fn held(&self, transaction: TransactionId) -> Option<LockMode> {
        self.holders.iter().find(|(holder, _)| *holder == transaction).map(|(_, mode)| *mode)
    }

    fn enqueue(&mut self, transaction: TransactionId, mode: LockMode) {
        let upgrade = self.held(transaction).is_some();
        let place = if upgrade {
            self.waiters.iter().take_while(|(waiter, _)| self.held(*waiter).is_some()).count()
        } else {
            self.waiters.len()
        };
        self.waiters.insert(place, (transaction, mode));
    }

    /// Transactions that stand in the way of a waiter: holders it is not compatible with, and waiters before it.
    fn blockers(&self, transaction: TransactionId) -> Vec<TransactionId> {
        let Some(place) = self.waiters.iter().position(|(waiter, _)| *waiter == transaction) else {
            return Vec::new();
        };
        let Some((_, mode)) = self.waiters.get(place) else { return Vec::new() };
        let holders =
            self.holders.iter().filter(|(holder, held)| *holder != transaction && !held.is_compatible(*mode));
        holders.chain(self.waiters.iter().take(place)).map(|(other, _)| *other).collect()
    }

    fn try_grant(&mut self, transaction: TransactionId) -> bool {
        if !self.blockers(transaction).is_empty() {
            return false;
        }
        let Some(place) = self.waiters.iter().position(|(waiter, _)| *waiter == transaction) else {
            return false;
        };
        let granted = self.waiters.remove(place);
        self.holders.retain(|(holder, _)| *holder != transaction);
        self.holders.push(granted);
        true
    }
}

/// A transaction waits in one queue at a time; the last to close a circle finds it here.
fn waits_for_itself(queues: &HashMap<LockKey, Queue>, start: TransactionId) -> bool {
    let mut seen = HashSet::new();
    let mut open: Vec<TransactionId> = vec![start];
    while let Some(transaction) = open.pop() {
        for queue in queues.values() {
            for blocker in queue.blockers(transaction) {
                if blocker == start {
                    return true;
                }
                if seen.insert(blocker) {
                    open.push(blocker);
                }
            }
        }
    }
    false
}

impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(table) => write!(f, "table {}", table.0),
            Self::Name(name) => write!(f, "name {name:?}"),
        }
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
