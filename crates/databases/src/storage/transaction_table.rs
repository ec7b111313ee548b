//! A table within a transaction: reads and changes.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use query::KeyRange;
use store::catalogue::Table;
use store::{
    BulkOptions, BulkWriter, CopyRefusal, EngineError, RebuildOptions, RowLocator, WireForm, WireRowCopier,
    WireRows,
};

use super::database::object_of;
use super::database_transaction::DatabaseTransaction;
use super::error::StoreError;
use super::isolation::{ReadLock, Reads};
use super::logging::LoadLogging;
use super::scan::{LocatedScan, OpenRows, Scan};
use super::side_writer::SideWriter;
use super::table_info::{LockMode, TableId};
use super::trees::TableTrees;

/// Rows of one statement that are not worth extents of their own.
const WAITING_ROWS_MAX: usize = 512;
/// Bytes of one statement's rows that are not worth extents of their own.
const WAITING_BYTES_MAX: usize = 64 << 10;
/// Rows that are fetched at once by their locators: their pages are held meanwhile.
const FETCHED_ROWS: usize = 8192;

/// A table of a transaction. It holds nothing by itself: locks are those of the transaction, and kept to its end.
#[derive(Debug)]
pub struct TransactionTable<'t> {
    pub(super) part: &'t mut DatabaseTransaction,
    pub(super) id: TableId,
}

impl TransactionTable<'_> {
    /// Takes a lock on a table, or strengthens one.
    pub fn lock(&mut self, mode: LockMode, timeout: Duration) -> Result<(), StoreError> {
        self.part.open()?.lock_table(object_of(self.id), mode, timeout)?;
        if mode > LockMode::Append {
            self.part.table_locks.insert(object_of(self.id));
        }
        Ok(())
    }

    /// Locks a table while a statement, or the transaction, reads it.
    pub fn lock_for_reading(&mut self, lock: ReadLock, timeout: Duration) -> Result<(), StoreError> {
        let object = object_of(self.id);
        match lock {
            ReadLock::Exclusive => self.lock(LockMode::Exclusive, timeout)?,
            ReadLock::Update => self.part.open()?.lock_table(object, store::LockMode::U, timeout)?,
            ReadLock::Shared => self.part.open()?.lock_table(object, store::LockMode::S, timeout)?,
            ReadLock::Awaited => self.part.open()?.await_table(object, store::LockMode::S, timeout)?,
        }
        // Rows that were committed during the wait are to be seen.
        self.part.renew_reads();
        Ok(())
    }

    /// Reads a table as this transaction sees it now, or a range of a key of it.
    pub fn scan(
        &mut self,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<Scan, StoreError> {
        self.part.settle()?;
        if reads == Reads::Latest {
            return self.scan_stored(projection, range);
        }
        self.part.open()?.reads().pin();
        self.scan_of(projection, range, reads)
    }

    /// Scans as [`scan`](Self::scan) does, but without the rows of open bulk writers.
    pub fn scan_stored(
        &mut self,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, StoreError> {
        let pinned = self.part.open()?.reads().park();
        let scan = self.scan_of(projection, range, Reads::Latest);
        self.part.open()?.reads().return_to(pinned);
        scan
    }

    fn scan_of(
        &mut self,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<Scan, StoreError> {
        let table = self.existing()?;
        let form = self.part.forms.of(&table);
        let inner = self.part.open()?;
        let waiting = match inner.pending(table.object) {
            [] => None,
            batches => Some(joined(batches)?),
        };
        let range = range.filter(|range| reads != Reads::Past || range.index.is_none());
        inner.reads().set_passes(reads == Reads::Past);
        let open = OpenRows::Transaction(inner);
        let scan = Scan::open(&open, &table, waiting, form, projection, range);
        inner.reads().set_passes(false);
        scan
    }

    /// Scans with the locator of each row, for a statement that changes some. Unless the table is locked
    /// alone, they are to be [claimed](Self::claim) before.
    pub fn located_scan(
        &mut self,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<LocatedScan, StoreError> {
        self.part.settle()?;
        let known = self.existing()?;
        let inner = self.part.open()?;
        if !inner.pending(known.object).is_empty() {
            inner.open(&known).insert_pending()?;
        }
        let alone = self.part.table_locks.contains(&known.object);
        let inner = self.part.open()?;
        if reads == Reads::Latest {
            inner.reads().unpin();
        } else if !alone || inner.reads().keeps() {
            inner.reads().pin();
        }
        let table = self.existing()?;
        let form = self.part.forms.of(&table);
        let inner = self.part.open()?;
        let range = range.filter(|range| reads != Reads::Past || range.index.is_none());
        inner.reads().set_passes(reads == Reads::Past);
        let open = OpenRows::Transaction(inner);
        let scan = Scan::open(&open, &table, None, form, projection, range);
        inner.reads().set_passes(false);
        Ok(LocatedScan(scan?))
    }

    /// Reads the rows of these locators, in their order, with all columns.
    pub fn rows_at(&mut self, locators: &[RowLocator]) -> Result<RecordBatch, StoreError> {
        let table = self.existing()?;
        let form = self.part.forms.of(&table);
        let inner = self.part.open()?;
        let mut batches = Vec::with_capacity(locators.len().div_ceil(FETCHED_ROWS));
        for locators in locators.chunks(FETCHED_ROWS) {
            let rows = inner.read(Arc::clone(&table))?.rows_at(locators)?;
            batches.push(form.decode(&rows, None, &form.schema)?);
        }
        Ok(concat_batches(&form.schema, &batches)?)
    }

    /// Locks the pages of rows that have been read with their locators.
    ///
    /// # Errors
    /// [`EngineError::RowsChanged`]: another transaction has changed some since, and committed.
    pub fn claim(&mut self, locators: &[RowLocator]) -> Result<(), StoreError> {
        let table = self.existing()?;
        Ok(self.part.open()?.open(&table).claim_rows(locators)?)
    }

    /// Locks a table against changes by others, and against the same lock by others.
    pub fn lock_against_changes(&mut self, timeout: Duration) -> Result<(), StoreError> {
        Ok(self.part.open()?.lock_table(object_of(self.id), store::LockMode::U, timeout)?)
    }

    /// Waits until no other transaction is changing the row of a whole key.
    pub fn await_row(&mut self, range: &KeyRange) -> Result<(), StoreError> {
        let table = self.existing()?;
        let form = self.part.forms.of(&table);
        let inner = self.part.open()?;
        for bound in range.spans.iter().filter_map(|span| span.from.as_ref()) {
            let key = form.encode_columns(&bound.columns, &bound.values)?;
            inner.open(&table).await_key(range.index.as_deref(), &key)?;
        }
        Ok(())
    }

    /// Removes rows, and their entries from the indexes.
    pub fn delete_located(&mut self, locators: &[RowLocator]) -> Result<(), StoreError> {
        let table = self.existing()?;
        Ok(self.part.open()?.open(&table).delete_located(locators)?)
    }

    /// Replaces rows by `rows`: in place if they fit, and under their new keys.
    pub fn update_located(&mut self, locators: &[RowLocator], rows: &RecordBatch) -> Result<(), StoreError> {
        let table = self.existing()?;
        let rows = self.part.forms.of(&table).encode(rows)?;
        let done = self.part.open()?.open(&table).update_located(locators, &rows);
        done.map_err(|error| self.part.refused(&table, error))
    }

    /// Rebuilds a table, or one of its indexes: with full pages, or as full as its fill factor says.
    pub fn rebuild(&mut self, index: Option<&str>) -> Result<(), StoreError> {
        self.part.settle()?;
        let table = self.alone()?;
        self.insert_waiting(&table)?;
        let inner = self.part.open()?;
        match index {
            Some(index) => inner.open(&table).rebuild_index(index, RebuildOptions::default())?,
            None => inner.open(&table).rebuild(RebuildOptions::default())?,
        }
        Ok(())
    }

    /// Replaces the text kept with the table. If it is a table's definition, the table's trees are made and dropped accordingly.
    pub fn set_properties(&mut self, properties: &str) -> Result<(), StoreError> {
        self.part.settle()?;
        let table = self.alone()?;
        self.part.open()?.open(&table).alter(&table.name, properties)?;
        let present = TableTrees::present(&table);
        match TableTrees::of_properties(properties).filter(|wanted| *wanted != present) {
            Some(wanted) => {
                self.insert_waiting(&table)?;
                let done = wanted.put(&present, &mut self.part.open()?.open(&table));
                done.map_err(|error| self.part.in_exact_form(&table, &wanted, error))
            }
            None => Ok(()),
        }
    }

    /// Puts rows that wait for the commit into their table, which is held alone.
    pub(super) fn insert_waiting(&mut self, table: &Table) -> Result<(), StoreError> {
        let inner = self.part.open()?;
        match inner.pending(table.object) {
            [] => Ok(()),
            _ => Ok(inner.open(table).insert_pending()?),
        }
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, name: &str) -> Result<(), StoreError> {
        self.part.settle()?;
        let table = self.alone()?;
        Ok(self.part.open()?.open(&table).alter(name, &table.properties)?)
    }

    /// Removes a table and its rows.
    pub fn drop_table(&mut self) -> Result<(), StoreError> {
        self.part.settle()?;
        let table = self.alone()?;
        self.part.forms.forget(table.object);
        Ok(self.part.open()?.open(&table).drop()?)
    }

    /// Gives the table's rows to `target`, which has none and is alike but for indexes that it lacks. No row is copied.
    pub fn switch_to(&mut self, target: TableId) -> Result<(), StoreError> {
        self.part.settle()?;
        let from = self.alone()?;
        self.insert_waiting(&from)?;
        let to = TransactionTable { part: self.part, id: target }.alone()?;
        // Indexes that only the source has stay with it, over no rows.
        let mut trees = TableTrees::present(&from).indexes;
        for of_target in TableTrees::present(&to).indexes {
            if let Some(place) = trees.iter().position(|own| own.is_like(&of_target)) {
                trees.remove(place);
            }
        }
        let inner = self.part.open()?;
        trees.iter().try_for_each(|index| inner.open(&from).drop_index(&index.definition.name))?;
        inner.exchange_rows(&from, &to)?;
        trees.iter().try_for_each(|index| index.create(&mut inner.open(&from)))?;
        Ok(())
    }

    /// Removes all rows of a table.
    pub fn truncate(&mut self) -> Result<(), StoreError> {
        self.part.settle()?;
        let table = self.alone()?;
        Ok(self.part.open()?.open(&table).truncate()?)
    }

    /// Adds rows to a table.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        let object = object_of(self.id);
        let known = self.existing()?;
        let batch = self.part.forms.of(&known).encode(batch)?;
        if self.part.writers.contains_key(&object) {
            return self.append_at_once(&known, |writer| writer.append(&batch));
        }
        let (is_load, sorted) = (self.part.loads.contains(&object), self.part.sorted.contains(&object));
        let Some(inner) = &mut self.part.inner else { return Err(EngineError::Doomed.into()) };
        let waiting: usize = inner.pending(object).iter().map(RecordBatch::num_rows).sum();
        let few = waiting + batch.num_rows() < WAITING_ROWS_MAX && bytes_in(&batch) < WAITING_BYTES_MAX;
        let is_tree = known.clustered.is_some() || !known.indexes.is_empty();
        if few && !sorted {
            self.part.logging.insert(
                object,
                LoadLogging::row_by_row(inner.recovery_model(), self.part.bulk_locks.contains(&object)),
            );
            if !is_tree {
                return Ok(inner.open(&known).insert_at_commit(&batch)?);
            }
            // Keys are in the trees at once, so that duplicates are found by the statement that makes them.
            let mut table = inner.open(&known);
            let done = if is_load { table.insert_in_turn(&batch) } else { table.insert(&batch).map(drop) };
            return done.map_err(|error| self.part.refused(&known, error));
        }
        self.append_at_once(&known, |writer| writer.append(&batch))
    }

    /// Makes a copier of wire rows of a form into the table's pages, or returns the reason why they must be
    /// decoded.
    pub fn wire_row_copier(
        &self,
        form: WireForm<'_>,
    ) -> Result<Result<WireRowCopier, CopyRefusal>, StoreError> {
        Ok(self.existing()?.wire_row_copier(form))
    }

    /// Copies the first wire rows of `bytes`. None: they are too few bytes for extents of their own.
    pub fn append_wire_rows(
        &mut self,
        copier: &WireRowCopier,
        bytes: &[u8],
    ) -> Result<Option<WireRows>, StoreError> {
        let known = self.existing()?;
        if bytes.len() < WAITING_BYTES_MAX && !self.part.writers.contains_key(&known.object) {
            return Ok(None);
        }
        self.append_at_once(&known, |writer| writer.append_wire_rows(copier, bytes)).map(Some)
    }

    /// Adds rows through the statement's writer, which begins with those that wait.
    fn append_at_once<T>(
        &mut self,
        table: &Table,
        add: impl FnOnce(&mut BulkWriter) -> Result<T, EngineError>,
    ) -> Result<T, StoreError> {
        let object = table.object;
        if let Some(mut writer) = self.part.writers.remove(&object) {
            let done = add(&mut writer);
            return self.keep(table, writer, done);
        }
        let (table_lock, sorted) =
            (self.part.bulk_locks.contains(&object), self.part.sorted.contains(&object));
        let inner = self.part.open()?;
        let options = BulkOptions { table_lock, sorted, ..BulkOptions::default() };
        let mut writer = inner.open(table).bulk_writer_with(options)?;
        let logging = LoadLogging::of(writer.minimal_logging(), inner.recovery_model());
        let before = inner.open(table).take_pending();
        self.part.logging.insert(object, logging);
        let done = before.iter().try_for_each(|batch| writer.append(batch)).and_then(|()| add(&mut writer));
        self.keep(table, writer, done)
    }

    /// Makes writers for `count` threads, which fill a heap without indexes side by side until the statement
    /// ends.
    pub fn side_writers(&mut self, count: usize) -> Result<Vec<SideWriter>, StoreError> {
        self.part.settle()?;
        let object = object_of(self.id);
        let known = self.existing()?;
        let form = self.part.forms.of(&known);
        let table_lock = self.part.bulk_locks.contains(&object);
        let options = BulkOptions { table_lock, ..BulkOptions::default() };
        let mut writers = Vec::with_capacity(count);
        for _ in 0..count {
            let inner = self.part.open()?;
            let writer = inner.open(&known).bulk_writer_with(options)?;
            let logging = LoadLogging::of(writer.minimal_logging(), inner.recovery_model());
            self.part.logging.insert(object, logging);
            let side = SideWriter::new(Arc::clone(&form), writer);
            self.part.sides.push((object, side.slot()));
            writers.push(side);
        }
        Ok(writers)
    }

    /// Notes that the table is locked as a whole because that was asked for (TABLOCK), not because its keys
    /// need it.
    pub fn note_table_lock(&mut self) {
        self.part.bulk_locks.insert(object_of(self.id));
    }

    /// Counts what the calling thread has computed for the database, and waits while that is more than its share.
    pub fn charge(&mut self) -> Result<(), StoreError> {
        self.part.open()?.charge();
        Ok(())
    }

    /// Notes that the rows that are appended until `settle` are those of a bulk load.
    pub fn expect_load(&mut self) {
        self.part.loads.insert(object_of(self.id));
    }

    /// Declares that the rows until `settle` are in the order of the clustered key; a row out of order is refused.
    pub fn expect_sorted(&mut self) {
        self.part.sorted.insert(object_of(self.id));
    }

    /// Keeps a writer for more rows, or gives it up if it has failed.
    fn keep<T>(
        &mut self,
        table: &Table,
        writer: BulkWriter,
        done: Result<T, EngineError>,
    ) -> Result<T, StoreError> {
        match done {
            Ok(_) => drop(self.part.writers.insert(table.object, writer)),
            Err(_) => self.part.open()?.abandon_bulk(writer),
        }
        done.map_err(|error| self.part.refused(table, error))
    }

    /// Locks a table alone, and looks at it only then.
    pub(super) fn alone(&mut self) -> Result<Arc<Table>, StoreError> {
        let timeout = self.part.open()?.lock_timeout();
        self.lock(LockMode::Exclusive, timeout)?;
        self.existing()
    }

    pub(super) fn existing(&self) -> Result<Arc<Table>, StoreError> {
        self.part.existing(self.id)
    }
}

fn joined(batches: &[RecordBatch]) -> Result<RecordBatch, StoreError> {
    match batches {
        [one] => Ok(one.clone()),
        [first, ..] => Ok(concat_batches(&first.schema(), batches)?),
        [] => Err(StoreError::SchemaMismatch { table: String::new(), reason: "no rows".to_owned() }),
    }
}

/// Returns the bytes that the values of a batch take, also if it is a slice of larger buffers.
fn bytes_in(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX / 1024))
        .sum()
}
