//! A transaction: private changes over the committed state, made visible together or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};

use crate::catalogue::{Catalogue, Op, Piece, Table, TableId, TableInfo};
use crate::change::TableChange;
use crate::database::{Commit, Shared, Sync};
use crate::error::{LockError, StoreError};
use crate::lock::{LockKey, LockMode, TransactionId};
use crate::scan::Scan;
use crate::schema::check_schema;

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
///
/// It reads what is committed at the moment of reading, and its own changes. Every change takes the lock it needs
/// (appending: [`LockMode::Append`]; everything else: [`LockMode::Exclusive`]) and keeps it to the end, also when it is
/// undone by [`rollback_to`](Self::rollback_to). Read a table that is to be rewritten only after locking it.
///
/// A method that fails leaves the transaction as it was before the call.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<Shared>,
    id: TransactionId,
    lock_timeout: Duration,
    interrupt: Option<Arc<AtomicBool>>,
    changes: BTreeMap<TableId, TableChange>,
    savepoints: Vec<u64>,
    next_savepoint: u64,
}

/// A point of a transaction to go back to.
#[derive(Debug)]
pub struct Savepoint {
    transaction: TransactionId,
    number: u64,
    changes: BTreeMap<TableId, TableChange>,
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>, id: TransactionId) -> Self {
        let lock_timeout = shared.options.lock_timeout;
        Self {
            shared,
            id,
            lock_timeout,
            interrupt: None,
            changes: BTreeMap::new(),
            savepoints: Vec::new(),
            next_savepoint: 0,
        }
    }

    /// How long changes wait for their locks from now on: zero does not wait, `Duration::MAX` waits for ever.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock_timeout = timeout;
    }

    /// Setting `interrupt` ends a wait for a lock with [`LockError::Interrupted`], from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        self.interrupt = Some(interrupt);
    }

    /// Takes a lock on a table, or strengthens one.
    pub fn lock(&mut self, table: TableId, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        self.acquire(&LockKey::Table(table), mode, timeout)
    }

    /// All tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        let catalogue = self.shared.catalogue();
        let mut ids: Vec<TableId> = catalogue.tables().map(|table| table.id).collect();
        ids.extend(self.changes.iter().filter(|(_, change)| change.is_new()).map(|(id, _)| *id));
        ids.into_iter().filter_map(|id| self.view(&catalogue, id)).map(|table| table.info()).collect()
    }

    /// The table of this id as this transaction sees it.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        self.view(&self.shared.catalogue(), table).map(|table| table.info())
    }

    /// The table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.view_named(&self.shared.catalogue(), name).map(|table| table.info())
    }

    /// Reads a table as this transaction sees it: all columns, or those of `projection` (by index from 0, in that order).
    /// The scan is a snapshot: later changes do not show in it.
    pub fn scan(&self, table: TableId, projection: Option<Vec<usize>>) -> Result<Scan, StoreError> {
        let view = self.view(&self.shared.catalogue(), table).ok_or(StoreError::NoSuchTable { table })?;
        Scan::new(view.schema, view.pieces, projection)
    }

    /// Creates a table. Flat column types only: dictionary, run-end encoded and nested ones are refused.
    pub fn create_table(
        &mut self,
        name: impl Into<String>,
        schema: SchemaRef,
        properties: impl Into<String>,
    ) -> Result<TableId, StoreError> {
        let name = name.into();
        check_schema(&schema)?;
        self.claim_name(&name)?;
        let id = self.shared.new_table_id();
        self.lock(id, LockMode::Exclusive, self.lock_timeout)?;
        self.changes.insert(id, TableChange::created(name, schema, properties.into()));
        Ok(id)
    }

    /// Replaces the caller's text kept with the table.
    pub fn set_properties(
        &mut self,
        table: TableId,
        properties: impl Into<String>,
    ) -> Result<(), StoreError> {
        self.exclusive(table)?;
        self.change(table).properties = Some(properties.into());
        Ok(())
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, table: TableId, name: impl Into<String>) -> Result<(), StoreError> {
        let name = name.into();
        let view = self.exclusive(table)?;
        if view.name == name {
            return Ok(());
        }
        // Until this is committed, nobody else can use the old name either.
        self.lock_name(&view.name)?;
        self.claim_name(&name)?;
        self.change(table).name = Some(name);
        Ok(())
    }

    /// Removes a table and its rows.
    pub fn drop_table(&mut self, table: TableId) -> Result<(), StoreError> {
        let view = self.exclusive(table)?;
        self.lock_name(&view.name)?;
        self.change(table).drop_table();
        Ok(())
    }

    /// Removes all rows of a table.
    pub fn truncate(&mut self, table: TableId) -> Result<(), StoreError> {
        self.exclusive(table)?;
        self.change(table).clear();
        Ok(())
    }

    /// Adds rows at the end of a table. Columns are matched by position; types must be equal, and no null may be where the
    /// table allows none.
    ///
    /// Large batches are written to a file of this transaction's own at once; small ones are gathered, so memory stays flat.
    pub fn append(&mut self, table: TableId, batch: &RecordBatch) -> Result<(), StoreError> {
        self.lock(table, LockMode::Append, self.lock_timeout)?;
        let (name, schema) = self.existing(table)?;
        let batch = conform(&name, &schema, batch)?;
        let shared = Arc::clone(&self.shared);
        self.change(table).append(&shared, table, &schema, batch)
    }

    /// Puts `rows` in place of all rows of a table (UPDATE, DELETE). Returns how many there are.
    pub fn replace(
        &mut self,
        table: TableId,
        rows: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<u64, StoreError> {
        self.try_replace(table, rows.into_iter().map(Ok::<_, StoreError>))
    }

    /// Like [`replace`](Self::replace) with rows that may fail to come; then the table stays as it was.
    pub fn try_replace<E: From<StoreError>>(
        &mut self,
        table: TableId,
        rows: impl IntoIterator<Item = Result<RecordBatch, E>>,
    ) -> Result<u64, E> {
        let view = self.exclusive(table)?;
        let mut change = self.changes.get(&table).cloned().unwrap_or_default();
        change.clear();
        let mut count = 0;
        for batch in rows {
            let batch = conform(&view.name, &view.schema, &batch?)?;
            count += batch.num_rows() as u64;
            change.append(&self.shared, table, &view.schema, batch)?;
        }
        self.changes.insert(table, change);
        Ok(count)
    }

    /// Marks a point to go back to.
    pub fn savepoint(&mut self) -> Savepoint {
        self.next_savepoint += 1;
        self.savepoints.push(self.next_savepoint);
        Savepoint { transaction: self.id, number: self.next_savepoint, changes: self.changes.clone() }
    }

    /// Undoes everything since the savepoint, which stays usable; those made after it are gone. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), StoreError> {
        let place = self.savepoints.iter().position(|number| *number == savepoint.number);
        let (Some(place), true) = (place, savepoint.transaction == self.id) else {
            return Err(StoreError::SavepointGone);
        };
        self.savepoints.truncate(place + 1);
        self.changes = savepoint.changes.clone();
        Ok(())
    }

    /// Makes everything durable, then visible, at once. On error nothing of it is visible and the transaction is over;
    /// [`StoreError::CommitUnknown`] is the one case in which a crash may still bring it back, whole.
    pub fn commit(mut self) -> Result<Commit, StoreError> {
        let mut ops = Vec::new();
        let mut segment_bytes = 0;
        let catalogue = self.shared.catalogue();
        for (id, change) in &mut self.changes {
            let schema =
                change.schema().or_else(|| catalogue.table(*id).map(|table| Arc::clone(&table.schema)));
            if let Some(schema) = schema {
                segment_bytes += change.settle(&self.shared, *id, &schema)?;
            }
            ops.extend(change.ops(*id));
        }
        let sequence = catalogue.sequence;
        // Nothing of the committed state is kept alive while waiting for the journal.
        drop(catalogue);
        if ops.is_empty() {
            return Ok(Commit { sequence, bytes_synced: 0, checkpoint_error: None });
        }
        let full = self.shared.options.sync == Sync::Full;
        if let Some(storage) = self.shared.storage.as_ref().filter(|_| full && has_segments(&ops)) {
            storage.sync_directory().map_err(|source| StoreError::Io {
                operation: "sync the directory",
                path: storage.path(""),
                offset: None,
                source,
            })?;
        }
        let mut commit = self.shared.commit(ops)?;
        self.changes.clear();
        commit.bytes_synced += segment_bytes;
        Ok(commit)
    }

    /// Undoes everything. The same as dropping the transaction.
    pub fn rollback(self) {}

    /// Locks the table alone and returns how this transaction sees it.
    fn exclusive(&mut self, table: TableId) -> Result<Table, StoreError> {
        self.lock(table, LockMode::Exclusive, self.lock_timeout)?;
        self.view(&self.shared.catalogue(), table).ok_or(StoreError::NoSuchTable { table })
    }

    fn acquire(&self, key: &LockKey, mode: LockMode, timeout: Duration) -> Result<(), LockError> {
        self.shared.locks.acquire(self.id, key, mode, timeout, self.interrupt.as_deref())
    }

    fn lock_name(&self, name: &str) -> Result<(), LockError> {
        let key = LockKey::Name(name.to_owned());
        self.acquire(&key, LockMode::Exclusive, self.lock_timeout)
    }

    fn claim_name(&self, name: &str) -> Result<(), StoreError> {
        self.lock_name(name)?;
        match self.view_named(&self.shared.catalogue(), name) {
            Some(_) => Err(StoreError::TableExists { name: name.to_owned() }),
            None => Ok(()),
        }
    }

    fn change(&mut self, table: TableId) -> &mut TableChange {
        self.changes.entry(table).or_default()
    }

    /// Name and schema without building the whole view: the way of every append.
    fn existing(&self, table: TableId) -> Result<(String, SchemaRef), StoreError> {
        let gone = StoreError::NoSuchTable { table };
        let change = self.changes.get(&table);
        if change.is_some_and(|change| change.dropped) {
            return Err(gone);
        }
        if let Some((schema, name)) = change.and_then(|change| Some((change.schema()?, change.name.clone()?)))
        {
            return Ok((name, schema));
        }
        let catalogue = self.shared.catalogue();
        let committed = catalogue.table(table).ok_or(gone)?;
        Ok((committed.name.clone(), Arc::clone(&committed.schema)))
    }

    fn view(&self, catalogue: &Catalogue, id: TableId) -> Option<Table> {
        let committed = catalogue.table(id).map(|table| &**table);
        match self.changes.get(&id) {
            Some(change) => change.over(id, committed),
            None => committed.cloned(),
        }
    }

    fn view_named(&self, catalogue: &Catalogue, name: &str) -> Option<Table> {
        let own =
            self.changes.iter().find(|(_, change)| change.name.as_deref() == Some(name) && !change.dropped);
        let id = own.map(|(id, _)| *id).or_else(|| catalogue.named(name).map(|table| table.id))?;
        self.view(catalogue, id).filter(|table| table.name == name)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.changes.values().any(TableChange::has_rows) {
            // Undone, or in the catalogue by now.
            self.changes.clear();
            self.shared.memory.recount(true, || self.shared.catalogue().memory_bytes());
        }
        self.shared.locks.release_all(self.id);
    }
}

fn has_segments(ops: &[Op]) -> bool {
    ops.iter().any(|op| matches!(op, Op::AddSegment { .. }))
}

/// The batch under the table's own schema.
fn conform(table: &str, schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, StoreError> {
    let mismatch = |reason: String| StoreError::SchemaMismatch { table: table.to_owned(), reason };
    let given: &Schema = batch.schema_ref();
    if given.fields().len() != schema.fields().len() {
        return Err(mismatch(format!(
            "{} columns, the table has {}",
            given.fields().len(),
            schema.fields().len()
        )));
    }
    for (column, (wanted, given)) in schema.fields().iter().zip(given.fields()).enumerate() {
        if wanted.data_type() != given.data_type() {
            return Err(mismatch(format!(
                "column {column} ({}) is {}, the table's is {}",
                wanted.name(),
                given.data_type(),
                wanted.data_type()
            )));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)
        .map_err(|error| mismatch(error.to_string()))
}

/// Pieces of `committed` unless the change removed them.
pub(crate) fn kept_pieces(committed: Option<&Table>, cleared: bool) -> Vec<Piece> {
    committed.filter(|_| !cleared).map(|table| table.pieces.clone()).unwrap_or_default()
}
