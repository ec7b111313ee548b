//! The locks that a transaction takes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{CATALOGUE, EngineError, Transaction};
use crate::TableId;
use crate::error::LockError;
use crate::lock::{LockKey, LockMode};

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

    /// Takes a lock on a table, or strengthens one.
    pub fn lock_table(&self, object: u32, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        self.acquire(&LockKey::Table(TableId(u64::from(object))), mode, timeout)
    }

    pub(in crate::engine) fn lock(&self, object: u32, mode: LockMode) -> Result<(), EngineError> {
        Ok(self.lock_table(object, mode, self.lock_timeout)?)
    }

    pub(super) fn lock_name(&self, name: &str) -> Result<(), EngineError> {
        let key = LockKey::Name(name.to_owned());
        Ok(self.acquire(&key, LockMode::Exclusive, self.lock_timeout)?)
    }

    /// Keeps the structural check away until this transaction is over.
    pub(super) fn share_catalogue(&self) -> Result<(), EngineError> {
        self.lock(CATALOGUE, LockMode::Append)
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

    pub(super) fn acquire(&self, key: &LockKey, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        self.shared.locks.acquire(self.id, key, mode, timeout, self.interrupt.as_deref())
    }
}
