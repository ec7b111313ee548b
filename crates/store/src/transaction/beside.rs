//! Rows of tables that other transactions change at the same time.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::{EngineError, Transaction, no_table};
use crate::catalogue::Table;
use crate::catalogue::tree_of;
use crate::database::snapshot::Snapshot;
use crate::heap::HeapWriter;
use crate::heap::claims::Beside;
use crate::lock::{LockMode, Request, Resource};
use crate::page::unit::CATALOGUE;
use crate::tree::index::RowLocator;
use crate::tree::{descend, keys_of};

impl Transaction {
    /// Locks a table for changing rows of it beside others who do, or finds that it is held alone.
    pub(crate) fn beside(&mut self, name: &str) -> Result<u32, EngineError> {
        self.settle();
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        let object = table.object;
        if self.work.changed.contains(object) {
            return Ok(object);
        }
        let held = self.shared.locks.held(self.id, &Resource::Object(object));
        if !held.is_some_and(|held| held.covers(LockMode::IX)) {
            self.lock(object, LockMode::IX)?;
        }
        if self
            .shared
            .locks
            .held(self.id, &Resource::Object(object))
            .is_some_and(|held| held.covers(LockMode::X))
        {
            self.work_on(object)?;
        }
        match self.table(name) {
            Some(again) if again.object == object => Ok(object),
            _ => Err(no_table(name)),
        }
    }

    /// Changes rows of a table that is held alone, or beside others.
    pub(crate) fn with_rows<T>(
        &mut self,
        object: u32,
        change: impl FnOnce(&mut HeapWriter<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if self.work.changed.contains(object) {
            return self.with_heap(object, change);
        }
        let committed = self.catalogue().tables.get(object).cloned();
        let base = committed.ok_or_else(|| no_table(&object.to_string()))?;
        let Self {
            shared,
            id,
            work,
            allocated,
            claims,
            copies,
            lock_timeout,
            interrupt,
            deadlock_priority,
            ..
        } = self;
        let filled = work.filled.entry(object).or_default();
        let known = copies.remove(&object).filter(|(known, _)| Arc::ptr_eq(known, &base));
        let mut table = known.map_or_else(
            || {
                let mut table = Arc::clone(&base);
                Arc::make_mut(&mut table).attach(filled);
                table
            },
            |(_, table)| table,
        );
        let rows = table.rows;
        let request = Request {
            transaction: *id,
            timeout: *lock_timeout,
            interrupt: interrupt.as_deref(),
            priority: *deadlock_priority,
            cost: 0,
        };
        let beside = Some(Beside { claims, filled, request });
        let done = change(&mut HeapWriter {
            shared,
            transaction: *id,
            table: Arc::make_mut(&mut table),
            allocated,
            beside,
        });
        let filled = work.filled.entry(object).or_default();
        filled.rows += table.rows as i64 - rows as i64;
        copies.insert(object, (base, table));
        done
    }

    /// The table is to be looked up anew.
    pub(crate) fn forget_copy(&mut self, object: u32) {
        self.copies.remove(&object);
    }

    /// From now on until [`claim_rows`](Self::claim_rows), rows are read as they are committed now, and as this transaction has made
    /// them.
    pub fn pin_reads(&mut self) {
        if self.pinned.is_some() {
            return;
        }
        if !self.keeps_reads {
            self.pinned = Some(Snapshot::open(&self.shared));
            return;
        }
        let base = self.base.get_or_insert_with(|| {
            let base = Snapshot::open(&self.shared);
            self.shared.pager.versions.keep_to(self.id, base.sequence());
            base
        });
        self.pinned = Some(base.clone());
    }

    /// Whether every [`pin_reads`](Self::pin_reads) leads to the same snapshot, that of the first one (snapshot isolation). What others
    /// have changed since, the transaction cannot change: [`UpdateConflict`](EngineError::UpdateConflict).
    pub fn keep_reads(&mut self, keeps: bool) {
        self.keeps_reads = keeps;
        self.pinned = None;
    }

    /// Whether it does.
    pub fn keeps_reads(&self) -> bool {
        self.keeps_reads
    }

    /// Whether scans that are opened from now on leave out the rows in pages that others have locked to change them (READPAST).
    pub fn set_reads_past(&mut self, passes: bool) {
        self.reads_past = passes;
    }

    /// Interrupts [`pin_reads`](Self::pin_reads) until [`return_to_reads`](Self::return_to_reads).
    pub fn park_reads(&mut self) -> Option<Snapshot> {
        self.pinned.take()
    }

    /// Goes on with what was pinned before.
    pub fn return_to_reads(&mut self, pinned: Option<Snapshot>) {
        self.pinned = pinned;
    }

    /// A table that is to be had alone must be as the transaction reads it.
    pub(super) fn check_unchanged(&self, object: u32) -> Result<(), EngineError> {
        let Some(base) = self.base.as_ref().filter(|_| object != CATALOGUE) else { return Ok(()) };
        let catalogue = self.catalogue();
        let now = catalogue.tables.get(object);
        match (base.table_of(object), now) {
            (Some(then), Some(now)) if !Arc::ptr_eq(then, now) => {
                Err(EngineError::UpdateConflict { table: now.name.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Ends [`pin_reads`](Self::pin_reads).
    pub fn unpin_reads(&mut self) {
        self.pinned = None;
    }

    /// Locks the pages of rows that this transaction is about to change, and ends [`pin_reads`](Self::pin_reads).
    ///
    /// # Errors
    /// [`RowsChanged`](EngineError::RowsChanged) if another transaction has changed something in those pages since, and committed: the
    /// rows are to be read again. The pages stay locked.
    pub fn claim_rows(&mut self, name: &str, locators: &[RowLocator]) -> Result<(), EngineError> {
        let pinned = self.pinned.take();
        if locators.is_empty() {
            return Ok(());
        }
        let object = self.beside(name)?;
        let claimed =
            self.with_rows(object, |heap| heap.claim_rows(locators, pinned.as_ref().map(Snapshot::sequence)));
        claimed.map_err(|error| match error {
            EngineError::RowsChanged { table } if self.keeps_reads => EngineError::UpdateConflict { table },
            other => other,
        })
    }

    /// Waits until no other transaction is changing what is, or would be, the row with a key of a table, which this transaction has
    /// locked. `index` None: of the clustered key. `key` is a batch of the key's columns with one row.
    pub fn await_key(
        &mut self,
        name: &str,
        index: Option<&str>,
        key: &RecordBatch,
    ) -> Result<(), EngineError> {
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        let tree = match index {
            None => tree_of(&table)?,
            Some(index) => match table.index(index) {
                Some(index) => Arc::clone(&index.tree),
                None => {
                    return Err(EngineError::NoSuchIndex { table: name.to_owned(), index: index.to_owned() });
                }
            },
        };
        let keys = keys_of(&tree, key)?;
        let unit = table.unit(tree.unit).id;
        for key in keys.iter().flatten() {
            let page = {
                let _latch = self.shared.latches.share(unit);
                descend(&tree, key, 0, |id| self.shared.pager.cache.read(id))?.id()
            };
            let resource = Resource::Page { object: table.object, page };
            if self.shared.locks.held(self.id, &resource).is_none() {
                self.acquire(&resource, LockMode::S, self.lock_timeout)?;
                self.shared.locks.release(self.id, &resource);
            }
        }
        Ok(())
    }

    /// The snapshot that a scan of this transaction reads, and the table as it then is.
    ///
    /// # Errors
    /// The transaction keeps to a snapshot in which the table is another one.
    pub(crate) fn snapshot_of(&self, table: Arc<Table>) -> Result<(Snapshot, Arc<Table>), EngineError> {
        let snapshot = self.pinned.clone().unwrap_or_else(|| Snapshot::open(&self.shared));
        if self.keeps_reads && self.pinned.is_some() {
            let then = snapshot.table_of(table.object);
            let is_same = |then: &&Arc<Table>| {
                Arc::ptr_eq(&then.layout, &table.layout) && then.properties == table.properties
            };
            return match then.filter(is_same) {
                Some(then) => Ok((snapshot.clone(), self.with_filled(then))),
                None => Err(EngineError::DefinitionChanged { table: table.name.to_string() }),
            };
        }
        // Others may have committed since the table was looked up: it is to be the one that the snapshot has.
        let same = snapshot.table_of(table.object).filter(|own| Arc::ptr_eq(&own.layout, &table.layout));
        let table = same.map_or(table, |own| self.with_filled(own));
        Ok((snapshot, table))
    }
}
