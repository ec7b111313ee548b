//! A transaction on pages: few rows wait for the commit, many are written at once into extents of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::StoreError;
use super::table_info::{TableId, TableInfo};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use store::catalogue::Table;
use store::{BulkWriter, EngineError};

use crate::storage::columns::TableForm;
use crate::storage::database::{Forms, info, object_of};
use crate::storage::logging::LoadLogging;
use crate::storage::owners::{Owners, Ownership};
use crate::storage::side_writer::Slot;
use crate::storage::trees::{TableTrees, placement};

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
#[derive(Debug)]
pub struct DatabaseTransaction {
    /// Transaction of the store; None: it is over.
    pub(super) inner: Option<store::Transaction>,
    pub(super) forms: Arc<Forms>,
    /// Writers of the statement that runs, by table.
    pub(super) writers: HashMap<u32, BulkWriter>,
    /// Tables whose lock keeps other writers out, or lets bulk loads only in.
    pub(super) table_locks: HashSet<u32>,
    /// Tables that TABLOCK locks as a whole, or that are new: a condition for minimal logging, and for
    /// building trees.
    pub(super) bulk_locks: HashSet<u32>,
    /// Tables whose next rows are said to be sorted.
    pub(super) sorted: HashSet<u32>,
    /// Tables whose next rows are those of a bulk load.
    pub(super) loads: HashSet<u32>,
    /// Writers of the statement that runs which other threads fill, by table.
    pub(super) sides: Vec<(u32, Arc<Slot>)>,
    /// Logging of the rows that were added last, by table.
    pub(super) logging: HashMap<u32, LoadLogging>,
    owners: Owners,
    /// The session that it is shown under.
    ownership: Option<Ownership>,
}

/// A point of a transaction to go back to.
#[derive(Debug)]
pub struct DatabaseSavepoint(store::Savepoint);

impl DatabaseTransaction {
    pub(super) fn new(inner: store::Transaction, forms: Arc<Forms>, owners: Owners) -> Self {
        Self {
            inner: Some(inner),
            forms,
            writers: HashMap::new(),
            table_locks: HashSet::new(),
            bulk_locks: HashSet::new(),
            sorted: HashSet::new(),
            loads: HashSet::new(),
            sides: Vec::new(),
            logging: HashMap::new(),
            owners,
            ownership: None,
        }
    }

    /// Shows the transaction and its locks under a session.
    pub fn set_session(&mut self, session: u16) {
        self.ownership = self.inner.as_ref().map(|inner| self.owners.enter(inner.id(), session));
    }

    /// Sets the longest wait of later changes for their locks.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        if let Some(inner) = &mut self.inner {
            inner.set_lock_timeout(timeout);
        }
    }

    /// Sets the priority, -10 to 10, in deadlocks.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        if let Some(inner) = &mut self.inner {
            inner.set_deadlock_priority(priority);
        }
    }

    /// Sets a flag that ends a wait for a lock, from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        if let Some(inner) = &mut self.inner {
            inner.set_interrupt(interrupt);
        }
    }

    /// Lists the tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        let tables = self.inner.iter().flat_map(store::Transaction::tables);
        tables.map(|table| self.info(&table)).collect()
    }

    /// Returns the table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.inner.as_ref()?.table(name).map(|table| self.info(&table))
    }

    /// Returns the table of this id as this transaction sees it.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        self.inner.as_ref()?.table_of(object_of(table)).map(|table| self.info(&table))
    }

    /// Lists the tables with a FOREIGN KEY to the table of this name, as this transaction sees them.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        let tables = self.inner.iter().flat_map(|inner| inner.referring(name));
        tables.map(|table| self.info(&table)).collect()
    }

    /// Sets whether all statements read the state of the first one (SNAPSHOT), or each what is committed when it begins.
    pub fn keep_reads(&mut self, keeps: bool) {
        if let Some(inner) = &mut self.inner {
            inner.reads().keep(keeps);
        }
    }

    /// Begins a statement: except under SNAPSHOT, it reads what is committed now.
    pub fn renew_reads(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.reads().unpin();
        }
    }

    /// Creates a table of the Exact form.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: SchemaRef,
        properties: &str,
    ) -> Result<TableId, StoreError> {
        self.settle()?;
        let (form, columns) = TableForm::new(schema)?;
        let trees = TableTrees::of_properties(properties);
        let inner = self.open()?;
        match &trees {
            Some(TableTrees { clustered, compression, .. }) => {
                let placement = &placement(properties);
                let compression = match clustered {
                    Some(key) => key.compression.unwrap_or_default(),
                    None => *compression,
                };
                inner.create_table_on(
                    name,
                    columns,
                    clustered.as_ref(),
                    compression,
                    placement,
                    properties,
                )?;
            }
            None => inner.create_table(name, columns, properties)?,
        }
        if let Some(trees) = trees.filter(|trees| !trees.indexes.is_empty()) {
            let mut table = inner.open_table(name)?;
            trees.indexes.iter().try_for_each(|index| index.create(&mut table))?;
        }
        let table = self.open()?.table(name).ok_or(StoreError::NoSuchTable { table: TableId(0) })?;
        self.forms.put(&table, Arc::new(form));
        self.table_locks.insert(table.object);
        self.bulk_locks.insert(table.object);
        Ok(self.forms.id_of(table.object))
    }

    /// Puts all rows that wait for the commit into their tables.
    pub fn insert_all_waiting(&mut self) -> Result<(), StoreError> {
        self.settle()?;
        Ok(self.open()?.insert_pending()?)
    }

    /// Converts an error of the engine, with the values of a duplicate key as T-SQL knows them. `trees` has
    /// the key.
    pub(super) fn in_exact_form(&self, table: &Table, trees: &TableTrees, error: EngineError) -> StoreError {
        let form = self.forms.of(table);
        let exact = |index: &str, values: RecordBatch| {
            let decoded = trees.key_of(index).and_then(|columns| {
                let schema = Arc::new(form.schema.project(&columns).ok()?);
                form.decode(&values, Some(&columns), &schema).ok()
            });
            decoded.unwrap_or(values)
        };
        let error = match error {
            EngineError::DuplicateKey { index, is_constraint, key, values } => {
                let values = Box::new(exact(&index, *values));
                EngineError::DuplicateKey { index, is_constraint, key, values }
            }
            EngineError::NotSorted { row, keys } => {
                let index = table.clustered.as_ref().map_or("", |tree| tree.definition.name.as_str());
                let keys = keys.map(|keys| Box::new((exact(index, keys.0), exact(index, keys.1))));
                EngineError::NotSorted { row, keys }
            }
            error => error,
        };
        error.into()
    }

    /// Converts an error about a table with the trees that it has.
    pub(super) fn refused(&self, table: &Table, error: EngineError) -> StoreError {
        self.in_exact_form(table, &TableTrees::present(table), error)
    }

    /// Returns the logging of the rows that were added to a table since the last call; None if there were
    /// none.
    pub fn take_logging(&mut self, table: TableId) -> Option<LoadLogging> {
        self.logging.remove(&object_of(table))
    }

    /// Marks a point to go back to.
    pub fn savepoint(&mut self) -> Result<DatabaseSavepoint, StoreError> {
        self.settle()?;
        Ok(DatabaseSavepoint(self.open()?.savepoint()))
    }

    /// Undoes everything since the savepoint. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &DatabaseSavepoint) -> Result<(), StoreError> {
        self.abandon();
        Ok(self.open()?.rollback_to(&savepoint.0)?)
    }

    /// Makes everything durable, then visible, at once.
    pub fn commit(mut self) -> Result<(), StoreError> {
        Ok(self.finish()?.commit().map(|_| ())?)
    }

    /// Takes the engine's transaction, with everything done but its commit.
    pub(super) fn finish(&mut self) -> Result<store::Transaction, StoreError> {
        self.settle()?;
        self.inner.take().ok_or_else(|| EngineError::Doomed.into())
    }

    /// Ends the writers that are open: their rows are part of the tables. The rows of a table with keys are sorted, merged and
    /// checked only here.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.sorted.clear();
        self.loads.clear();
        let writers = std::mem::take(&mut self.writers).into_iter();
        let writers = writers.map(|(object, writer)| (object, writer, true));
        let sides = std::mem::take(&mut self.sides).into_iter();
        let sides =
            sides.filter_map(|(object, slot)| slot.end().map(|(writer, whole)| (object, writer, whole)));
        let mut result = Ok(());
        for (object, writer, whole) in writers.chain(sides) {
            let inner = self.open()?;
            if !whole {
                result = Err(EngineError::Doomed.into());
            }
            match (inner.table_of(object), &result) {
                (Some(table), Ok(())) => {
                    let done = inner.open(&table).finish_bulk(writer).map(|_| ());
                    result = done.map_err(|error| self.refused(&table, error));
                }
                // The table was dropped meanwhile, or another writer has failed. The rows written are undone
                // with the statement.
                _ => inner.abandon_bulk(writer),
            }
        }
        result
    }

    /// Undoes the rows of open writers.
    fn abandon(&mut self) {
        if let Some(inner) = &mut self.inner {
            self.writers.drain().for_each(|(_, writer)| inner.abandon_bulk(writer));
            let sides = self.sides.drain(..).filter_map(|(_, slot)| slot.end());
            sides.for_each(|(writer, _)| inner.abandon_bulk(writer));
        }
        self.sorted.clear();
        self.loads.clear();
    }

    pub(super) fn open(&mut self) -> Result<&mut store::Transaction, StoreError> {
        self.inner.as_mut().ok_or_else(|| EngineError::Doomed.into())
    }

    pub(super) fn forms(&self) -> &Forms {
        &self.forms
    }

    pub(super) fn existing(&self, table: TableId) -> Result<Arc<Table>, StoreError> {
        let inner = self.inner.as_ref();
        inner.and_then(|inner| inner.table_of(object_of(table))).ok_or(StoreError::NoSuchTable { table })
    }

    fn info(&self, table: &Table) -> TableInfo {
        let waiting = self.inner.as_ref().map_or(0, |inner| {
            inner.pending(table.object).iter().map(|batch| batch.num_rows() as u64).sum::<u64>()
        });
        let written = self.writers.get(&table.object).map_or(0, BulkWriter::rows);
        let sides = self.sides.iter().filter(|(object, _)| *object == table.object);
        let beside: u64 = sides.map(|(_, slot)| slot.rows()).sum();
        info(table, waiting + written + beside, &self.forms)
    }
}

impl Drop for DatabaseTransaction {
    fn drop(&mut self) {
        self.abandon();
    }
}
