//! A transaction on pages: few rows wait for the commit, many are written at once into extents of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use store::engine::catalogue::Table;
use store::engine::{self, BulkOptions, BulkWriter, EngineError};
use store::{LockMode, StoreError, TableId, TableInfo};

use super::columns::TableForm;
use super::pages::{Forms, bytes_of, id_of, info, object_of};
use super::scan::{PagedScan, Scan};

/// Rows of one statement that are not worth extents of their own.
const WAITING_ROWS_MAX: usize = 512;
/// The same in bytes.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
#[derive(Debug)]
pub struct PagedTransaction {
    /// None: it is over.
    inner: Option<engine::Transaction>,
    forms: Arc<Forms>,
    /// Writers of the statement that runs, by table.
    writers: HashMap<u32, BulkWriter>,
    /// Tables whose lock keeps other writers out, or lets bulk loads only in: TABLOCK, a condition for minimal logging.
    table_locks: HashSet<u32>,
}

/// A point of a transaction to go back to.
#[derive(Debug)]
pub struct PagedSavepoint(engine::Savepoint);

impl PagedTransaction {
    pub(super) fn new(inner: engine::Transaction, forms: Arc<Forms>) -> Self {
        Self { inner: Some(inner), forms, writers: HashMap::new(), table_locks: HashSet::new() }
    }

    /// How long changes wait for their locks from now on.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        if let Some(inner) = &mut self.inner {
            inner.set_lock_timeout(timeout);
        }
    }

    /// Setting `interrupt` ends a wait for a lock, from any thread.
    pub fn set_interrupt(&mut self, interrupt: Arc<AtomicBool>) {
        if let Some(inner) = &mut self.inner {
            inner.set_interrupt(interrupt);
        }
    }

    /// Takes a lock on a table, or strengthens one.
    pub fn lock(&mut self, table: TableId, mode: LockMode, timeout: Duration) -> Result<(), StoreError> {
        self.open()?.lock_table(object_of(table), mode, timeout)?;
        if mode > LockMode::Append {
            self.table_locks.insert(object_of(table));
        }
        Ok(())
    }

    /// All tables as this transaction sees them, in the order of their creation.
    pub fn tables(&self) -> Vec<TableInfo> {
        let tables = self.inner.iter().flat_map(engine::Transaction::tables);
        tables.map(|table| self.info(&table)).collect()
    }

    /// The table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.inner.as_ref()?.table(name).map(|table| self.info(&table))
    }

    /// Reads a table as this transaction sees it now.
    pub fn scan(&mut self, table: TableId, projection: Option<Vec<usize>>) -> Result<Scan, StoreError> {
        self.settle()?;
        let table = self.existing(table)?;
        let form = self.forms.of(&table);
        let size = (self.info(&table).rows, bytes_of(&table));
        let inner = self.open()?;
        let waiting = match inner.pending(table.object) {
            [] => None,
            batches => Some(joined(batches)?),
        };
        let scan = inner.scan_table(table, projection.clone())?;
        Ok(Scan::Pages(Box::new(PagedScan::new(scan, waiting, form, projection, size)?)))
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
        self.open()?.create_table(name, columns, properties)?;
        let table = self.open()?.table(name).ok_or(StoreError::NoSuchTable { table: TableId(0) })?;
        self.forms.put(table.object, Arc::new(form));
        self.table_locks.insert(table.object);
        Ok(id_of(table.object))
    }

    /// Replaces the text kept with the table.
    pub fn set_properties(&mut self, table: TableId, properties: &str) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.alter_table(&table.name, &table.name, properties)?)
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, table: TableId, name: &str) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.alter_table(&table.name, name, &table.properties)?)
    }

    /// Removes a table and its rows.
    pub fn drop_table(&mut self, table: TableId) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.drop_table(&table.name)?)
    }

    /// Removes all rows of a table.
    pub fn truncate(&mut self, table: TableId) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.truncate_table(&table.name)?)
    }

    /// Adds rows to a table.
    pub fn append(&mut self, table: TableId, batch: &RecordBatch) -> Result<(), StoreError> {
        let object = object_of(table);
        if let Some(mut writer) = self.writers.remove(&object) {
            let form = self.forms.of(&*self.existing(table)?);
            let done = form.encode(batch).and_then(|batch| Ok(writer.append(&batch)?));
            return self.keep(object, writer, done);
        }
        let known = self.existing(table)?;
        let batch = self.forms.of(&known).encode(batch)?;
        let table_lock = self.table_locks.contains(&object);
        let inner = self.open()?;
        let waiting: usize = inner.pending(object).iter().map(RecordBatch::num_rows).sum();
        if waiting + batch.num_rows() < WAITING_ROWS_MAX && bytes_in(&batch) < WAITING_BYTES_MAX {
            return Ok(inner.insert_at_commit(&known.name, &batch)?);
        }
        let options = BulkOptions { table_lock, ..BulkOptions::default() };
        let mut writer = inner.bulk_writer_with(&known.name, options)?;
        let before = inner.take_pending(object);
        let done = before.iter().chain([&batch]).try_for_each(|batch| writer.append(batch));
        self.keep(object, writer, done.map_err(StoreError::from))
    }

    /// Puts `rows` in place of all rows of a table. Returns how many there are.
    pub fn replace(
        &mut self,
        table: TableId,
        rows: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<u64, StoreError> {
        self.truncate(table)?;
        let mut count = 0;
        for batch in rows {
            count += batch.num_rows() as u64;
            self.append(table, &batch)?;
        }
        self.settle()?;
        Ok(count)
    }

    /// Marks a point to go back to.
    pub fn savepoint(&mut self) -> Result<PagedSavepoint, StoreError> {
        self.settle()?;
        Ok(PagedSavepoint(self.open()?.savepoint()))
    }

    /// Undoes everything since the savepoint. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &PagedSavepoint) -> Result<(), StoreError> {
        self.abandon();
        Ok(self.open()?.rollback_to(&savepoint.0)?)
    }

    /// Makes everything durable, then visible, at once.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.settle()?;
        match self.inner.take() {
            Some(inner) => Ok(inner.commit().map(|_| ())?),
            None => Err(EngineError::Doomed.into()),
        }
    }

    /// Ends the writers that are open: their rows are part of the tables.
    fn settle(&mut self) -> Result<(), StoreError> {
        let writers = std::mem::take(&mut self.writers);
        let mut result = Ok(());
        for (object, writer) in writers {
            let inner = self.open()?;
            let name = inner.table_of(object).map(|table| table.name.clone());
            match (name, &result) {
                (Some(name), Ok(())) => result = inner.finish_bulk(&name, writer).map(|_| ()),
                // Dropped meanwhile, or one of them has failed: what they wrote is undone with the statement.
                _ => inner.abandon_bulk(writer),
            }
        }
        Ok(result?)
    }

    /// What open writers wrote is to be undone.
    fn abandon(&mut self) {
        if let Some(inner) = &mut self.inner {
            self.writers.drain().for_each(|(_, writer)| inner.abandon_bulk(writer));
        }
    }

    /// Keeps a writer for more rows, or gives it up if it has failed.
    fn keep(
        &mut self,
        object: u32,
        writer: BulkWriter,
        done: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match done {
            Ok(()) => drop(self.writers.insert(object, writer)),
            Err(_) => self.open()?.abandon_bulk(writer),
        }
        done
    }

    fn open(&mut self) -> Result<&mut engine::Transaction, StoreError> {
        self.inner.as_mut().ok_or_else(|| EngineError::Doomed.into())
    }

    fn existing(&self, table: TableId) -> Result<Arc<Table>, StoreError> {
        let inner = self.inner.as_ref();
        inner.and_then(|inner| inner.table_of(object_of(table))).ok_or(StoreError::NoSuchTable { table })
    }

    /// Locks a table alone, and looks at it only then.
    fn alone(&mut self, table: TableId) -> Result<Arc<Table>, StoreError> {
        let timeout = self.open()?.lock_timeout();
        self.lock(table, LockMode::Exclusive, timeout)?;
        self.existing(table)
    }

    fn info(&self, table: &Table) -> TableInfo {
        let waiting = self.inner.as_ref().map_or(0, |inner| {
            inner.pending(table.object).iter().map(|batch| batch.num_rows() as u64).sum::<u64>()
        });
        let written = self.writers.get(&table.object).map_or(0, BulkWriter::rows);
        info(table, waiting + written, &self.forms)
    }
}

impl Drop for PagedTransaction {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn joined(batches: &[RecordBatch]) -> Result<RecordBatch, StoreError> {
    match batches {
        [one] => Ok(one.clone()),
        [first, ..] => Ok(concat_batches(&first.schema(), batches)?),
        [] => Err(StoreError::SchemaMismatch { table: String::new(), reason: "no rows".to_owned() }),
    }
}

/// Bytes that the values of a batch take, whatever larger buffers it is a slice of.
fn bytes_in(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX / 1024))
        .sum()
}
