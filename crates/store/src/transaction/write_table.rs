//! A handle to change a table, which was looked up once.

use std::sync::Arc;
use std::time::Duration;

use super::change_alone::{check_locked, clear, give_up, lock_in, plant, redefine, work_on};
use super::locks::{claim_name, lock, lock_name, share_catalogue};
use super::unit_of_work::{Transaction, no_table};
use crate::catalogue::Table;
use crate::error::EngineError;
use crate::error::LockError;
use crate::lock::{LockMode, Resource};

/// A table within a transaction. Its methods take the locks that they need, and keep them to the transaction's end; the handle itself
/// holds none. A table that has been dropped or renamed since the handle was made is error 208.
#[derive(Debug)]
pub struct WriteTable<'t> {
    pub(super) transaction: &'t mut Transaction,
    pub(super) object: u32,
    pub(super) name: Arc<str>,
}

impl WriteTable<'_> {
    /// Returns the table as it is now, without the rows that wait for the commit.
    ///
    /// # Errors
    /// 208: it has been dropped or renamed since the handle was made.
    pub fn definition(&self) -> Result<Arc<Table>, EngineError> {
        let table = self.transaction.table_of(self.object).filter(|table| table.name == self.name);
        table.ok_or_else(|| no_table(&self.name))
    }

    /// Takes a lock on the table, or strengthens one. It is kept until the transaction ends.
    pub fn lock(&self, mode: impl Into<LockMode>, timeout: Duration) -> Result<(), LockError> {
        self.transaction.lock_table(self.object, mode, timeout)
    }

    /// Gives the table another name and other properties.
    pub fn alter(&mut self, new_name: &str, properties: &str) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let transaction = &mut *self.transaction;
        share_catalogue(transaction)?;
        if *self.name != *new_name {
            // Until this is committed, no other transaction can use the old name either.
            lock_name(transaction, &self.name)?;
            claim_name(transaction, new_name)?;
        }
        let mut table = transaction.work.table(object)?;
        if *table.name != *new_name {
            table.name = new_name.into();
            self.name = Arc::clone(&table.name);
        }
        table.set_properties(properties, transaction.shared.options.references);
        transaction.work.put(table);
        transaction.work.redefined.insert(u64::from(object), ());
        Ok(())
    }

    /// Removes the table. Its extents are free when the last snapshot that can read them is gone.
    pub fn drop(mut self) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        let Self { transaction, name, .. } = self;
        share_catalogue(transaction)?;
        lock_name(transaction, &name)?;
        let table = transaction.work.changed.put(object, None).ok_or_else(|| no_table(&name))?;
        transaction.work.pending.remove(&object);
        transaction.work.redefined.insert(u64::from(object), ());
        give_up(&mut transaction.work, table.all_units());
        table.all_units().for_each(|unit| transaction.work.given_up_units.push(unit.clone()));
        Ok(())
    }

    /// Removes all rows by freeing the table's extents.
    pub fn truncate(&mut self) -> Result<(), EngineError> {
        let object = self.alone(LockMode::SchM)?;
        self.transaction.guarded(|this| {
            this.work.pending.remove(&object);
            let old = clear(this, object)?;
            if old.clustered.is_none() && old.indexes.is_empty() {
                return Ok(());
            }
            // The definition names the roots of the trees, which are new.
            redefine(this, object)?;
            let key = old.clustered.as_ref().map(|tree| tree.definition.clone());
            plant(this, object, key.as_ref())
        })
    }

    /// Locks the table for changing rows while others change it too, or finds that it is held alone.
    pub(super) fn beside(&mut self) -> Result<u32, EngineError> {
        let Self { transaction, object, .. } = self;
        let object = *object;
        transaction.settle();
        transaction.check()?;
        if !transaction.work.changed.contains(object) {
            let resource = Resource::Object(object);
            let held = transaction.shared.locks.held(transaction.id, &resource);
            let held = match held.filter(|held| held.covers(LockMode::IX)) {
                Some(held) => held,
                None => {
                    lock(transaction, object, LockMode::IX)?;
                    transaction.shared.locks.held(transaction.id, &resource).unwrap_or(LockMode::IX)
                }
            };
            if held.covers(LockMode::X) {
                work_on(transaction, object)?;
            }
        }
        check_locked(transaction, object, &self.name)?;
        Ok(object)
    }

    /// Locks the table for this transaction alone and makes its working copy.
    pub(super) fn alone(&mut self, mode: LockMode) -> Result<u32, EngineError> {
        self.transaction.settle();
        self.transaction.check()?;
        lock_in(self.transaction, self.object, mode)?;
        check_locked(self.transaction, self.object, &self.name)?;
        Ok(self.object)
    }
}
