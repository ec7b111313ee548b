//! The locks that a transaction takes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::unit_of_work::Transaction;
use crate::error::EngineError;
use crate::error::LockError;
use crate::lock::{LockMode, Request, Resource};
use crate::page::unit::CATALOGUE;

/// Settings of a transaction's waits for locks.
#[derive(Debug)]
pub(super) struct Waiting {
    pub timeout: Duration,
    pub priority: i8,
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Waiting {
    /// Returns the transaction's settings for lock requests, without the cost of undoing it.
    pub fn request(&self, transaction: u64) -> Request<'_> {
        Request {
            transaction,
            timeout: self.timeout,
            interrupt: self.interrupt.as_deref(),
            priority: self.priority,
            cost: 0,
        }
    }
}

impl Transaction {
    /// Sets the longest wait of later changes for their locks: zero does not wait, `Duration::MAX` waits for
    /// ever.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.waiting.timeout = timeout;
    }

    /// Returns the longest wait of changes for their locks.
    pub fn lock_timeout(&self) -> Duration {
        self.waiting.timeout
    }

    /// Sets a flag that ends a wait for a lock with
    /// [`LockError::Interrupted`](crate::LockError::Interrupted), from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        self.waiting.interrupt = Some(interrupt);
    }

    /// Sets the priority, -10 to 10, in deadlocks (`SET DEADLOCK_PRIORITY`). The victim is the transaction with the lowest
    /// priority; among equals the one with least to undo.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.waiting.priority = priority.clamp(-10, 10);
    }

    /// Takes a lock on a table, or strengthens one. It is kept until the transaction ends.
    pub fn lock_table(
        &self,
        object: u32,
        mode: impl Into<LockMode>,
        timeout: Duration,
    ) -> Result<(), LockError> {
        acquire(self, &Resource::Object(object), mode.into(), timeout)
    }

    /// Waits until a table could be locked in this mode, without keeping the lock.
    pub fn await_table(&self, object: u32, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        let resource = Resource::Object(object);
        let held = self.shared.locks.held(self.id, &resource);
        acquire(self, &resource, mode, timeout)?;
        if held.is_none() {
            self.shared.locks.release(self.id, &resource);
        }
        Ok(())
    }
}

/// Takes a lock on a table with the time that the transaction waits.
pub(super) fn lock(transaction: &Transaction, object: u32, mode: LockMode) -> Result<(), EngineError> {
    Ok(transaction.lock_table(object, mode, transaction.waiting.timeout)?)
}

/// Locks a table for adding rows while others add too: in IX, unless the table is locked for bulk loads,
/// which is enough.
pub(super) fn lock_for_adding(transaction: &Transaction, object: u32) -> Result<(), EngineError> {
    match transaction.shared.locks.held(transaction.id, &Resource::Object(object)) {
        Some(LockMode::BU) => Ok(()),
        _ => lock(transaction, object, LockMode::IX),
    }
}

pub(super) fn lock_name(transaction: &Transaction, name: &str) -> Result<(), EngineError> {
    Ok(acquire(transaction, &Resource::Name(name.to_owned()), LockMode::X, transaction.waiting.timeout)?)
}

/// Keeps the structural check away until this transaction is over.
pub(super) fn share_catalogue(transaction: &Transaction) -> Result<(), EngineError> {
    lock(transaction, CATALOGUE, LockMode::IX)
}

/// Keeps a name for this transaction.
pub(super) fn claim_name(transaction: &Transaction, name: &str) -> Result<(), EngineError> {
    transaction.check()?;
    share_catalogue(transaction)?;
    lock_name(transaction, name)?;
    match transaction.table(name) {
        Some(_) => Err(EngineError::TableExists { name: name.to_owned() }),
        None => Ok(()),
    }
}

pub(super) fn acquire(
    transaction: &Transaction,
    resource: &Resource,
    mode: LockMode,
    timeout: Duration,
) -> Result<(), LockError> {
    let cost = transaction.shared.pager.log_position(transaction.id).reserved_bytes;
    let request = Request { timeout, cost, ..transaction.waiting.request(transaction.id) };
    transaction.shared.locks.acquire(request, resource, mode)
}
