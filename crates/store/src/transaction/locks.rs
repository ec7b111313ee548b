//! The locks that a transaction takes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{CATALOGUE, EngineError, Transaction};
use crate::error::LockError;
use crate::lock::{LockMode, Request, Resource};

impl Transaction {
    /// How long changes wait for their locks from now on: zero does not wait, `Duration::MAX` waits for ever.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock_timeout = timeout;
    }

    /// How long changes wait for their locks.
    pub fn lock_timeout(&self) -> Duration {
        self.lock_timeout
    }

    /// Setting `interrupt` ends a wait for a lock with [`LockError::Interrupted`](crate::LockError::Interrupted), from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        self.interrupt = Some(interrupt);
    }

    /// Which of several transactions that wait for each other gives way: the one with the least priority, -10 to 10 (`SET
    /// DEADLOCK_PRIORITY`); of equal ones that with least to undo.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.deadlock_priority = priority.clamp(-10, 10);
    }

    /// Takes a lock on a table, or strengthens one. It is kept until the transaction ends.
    pub fn lock_table(
        &self,
        object: u32,
        mode: impl Into<LockMode>,
        timeout: Duration,
    ) -> Result<(), LockError> {
        self.acquire(&Resource::Object(object), mode.into(), timeout)
    }

    /// Waits until a table could be locked so, and does not keep it, unless more of it is held already.
    pub fn await_table(&self, object: u32, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        let resource = Resource::Object(object);
        let held = self.shared.locks.held(self.id, &resource);
        self.acquire(&resource, mode, timeout)?;
        if held.is_none() {
            self.shared.locks.release(self.id, &resource);
        }
        Ok(())
    }

    pub(crate) fn lock(&self, object: u32, mode: LockMode) -> Result<(), EngineError> {
        Ok(self.lock_table(object, mode, self.lock_timeout)?)
    }

    /// For adding rows beside others who do: IX, unless the table is locked for bulk loads, which is enough.
    pub(crate) fn lock_for_adding(&self, object: u32) -> Result<(), EngineError> {
        match self.shared.locks.held(self.id, &Resource::Object(object)) {
            Some(LockMode::BU) => Ok(()),
            _ => self.lock(object, LockMode::IX),
        }
    }

    pub(super) fn lock_name(&self, name: &str) -> Result<(), EngineError> {
        Ok(self.acquire(&Resource::Name(name.to_owned()), LockMode::X, self.lock_timeout)?)
    }

    /// Keeps the structural check away until this transaction is over.
    pub(super) fn share_catalogue(&self) -> Result<(), EngineError> {
        self.lock(CATALOGUE, LockMode::IX)
    }

    /// Keeps a name for this transaction.
    pub(super) fn claim_name(&self, name: &str) -> Result<(), EngineError> {
        self.check()?;
        self.share_catalogue()?;
        self.lock_name(name)?;
        match self.table(name) {
            Some(_) => Err(EngineError::TableExists { name: name.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn acquire(
        &self,
        resource: &Resource,
        mode: LockMode,
        timeout: Duration,
    ) -> Result<(), LockError> {
        let request = Request {
            transaction: self.id,
            timeout,
            interrupt: self.interrupt.as_deref(),
            priority: self.deadlock_priority,
            cost: self.shared.pager.log_position(self.id).reserved_bytes,
        };
        self.shared.locks.acquire(request, resource, mode)
    }
}
