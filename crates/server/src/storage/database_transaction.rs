//! A transaction on pages: few rows wait for the commit, many are written at once into extents of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::storage::columns::TableForm;
use crate::storage::database::{Forms, info, object_of};
use crate::storage::error::StoreError;
use crate::storage::isolation::{ReadLock, Reads};
use crate::storage::logging::LoadLogging;
use crate::storage::owners::{Owners, Ownership};
use crate::storage::scan::{LocatedScan, OpenRows, Scan};
use crate::storage::side_writer::{SideWriter, Slot};
use crate::storage::table_info::{LockMode, TableId, TableInfo};
use crate::storage::trees::{TableTrees, placement};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use store::catalogue::Table;
use store::{BulkOptions, BulkWriter, EngineError, RebuildOptions, RowLocator, StrungForm, StrungRows};

use query::KeyRange;

/// Rows of one statement that are not worth extents of their own.
const WAITING_ROWS_MAX: usize = 512;
/// The same in bytes.
const WAITING_BYTES_MAX: usize = 64 << 10;
/// Rows that are fetched at once by what leads to them: so many of their pages are held meanwhile.
const FETCHED_ROWS: usize = 8192;

/// A unit of work. Dropped without [`commit`](Self::commit) it leaves no trace.
#[derive(Debug)]
pub struct DatabaseTransaction {
    /// None: it is over.
    inner: Option<store::Transaction>,
    forms: Arc<Forms>,
    /// Writers of the statement that runs, by table.
    writers: HashMap<u32, BulkWriter>,
    /// Tables whose lock keeps other writers out, or lets bulk loads only in.
    table_locks: HashSet<u32>,
    /// Those that were asked to be locked as a whole, by TABLOCK, or are new: a condition for minimal logging, and for building trees.
    bulk_locks: HashSet<u32>,
    /// Tables whose next rows are said to be sorted.
    sorted: HashSet<u32>,
    /// Writers of the statement that runs which other threads fill, by table.
    sides: Vec<(u32, Arc<Slot>)>,
    /// How much of the rows added last went to the log, by table.
    logging: HashMap<u32, LoadLogging>,
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
        let tables = self.inner.iter().flat_map(store::Transaction::tables);
        tables.map(|table| self.info(&table)).collect()
    }

    /// The table of this name as this transaction sees it.
    pub fn table(&self, name: &str) -> Option<TableInfo> {
        self.inner.as_ref()?.table(name).map(|table| self.info(&table))
    }

    /// The table of this id, likewise.
    pub fn table_of(&self, table: TableId) -> Option<TableInfo> {
        self.inner.as_ref()?.table_of(object_of(table)).map(|table| self.info(&table))
    }

    /// The tables with a FOREIGN KEY to the table of this name, likewise.
    pub fn referring(&self, name: &str) -> Vec<TableInfo> {
        let tables = self.inner.iter().flat_map(|inner| inner.referring(name));
        tables.map(|table| self.info(&table)).collect()
    }

    /// From now on all statements read what the first of them reads (SNAPSHOT), or each what is committed when it begins.
    pub fn keep_reads(&mut self, keeps: bool) {
        if let Some(inner) = &mut self.inner {
            inner.reads().keep(keeps);
        }
    }

    /// A statement begins: what it reads is what is committed from now on, but under SNAPSHOT.
    pub fn renew_reads(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.reads().unpin();
        }
    }

    /// Locks a table against what others do while a statement, or the transaction, reads it.
    pub fn lock_for_reading(
        &mut self,
        table: TableId,
        lock: ReadLock,
        timeout: Duration,
    ) -> Result<(), StoreError> {
        let object = object_of(table);
        match lock {
            ReadLock::Exclusive => self.lock(table, LockMode::Exclusive, timeout)?,
            ReadLock::Update => self.open()?.lock_table(object, store::LockMode::U, timeout)?,
            ReadLock::Shared => self.open()?.lock_table(object, store::LockMode::S, timeout)?,
            ReadLock::Awaited => self.open()?.await_table(object, store::LockMode::S, timeout)?,
        }
        // What was committed while it was waited for is to be seen.
        self.renew_reads();
        Ok(())
    }

    /// Reads a table as this transaction sees it now, or a range of a key of it.
    pub fn scan(
        &mut self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<Scan, StoreError> {
        self.settle()?;
        if reads == Reads::Latest {
            return self.scan_stored(table, projection, range);
        }
        self.open()?.reads().pin();
        self.scan_of(table, projection, range, reads)
    }

    /// The same without the rows of writers that have not ended.
    pub fn scan_stored(
        &mut self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
    ) -> Result<Scan, StoreError> {
        let pinned = self.open()?.reads().park();
        let scan = self.scan_of(table, projection, range, Reads::Latest);
        self.open()?.reads().return_to(pinned);
        scan
    }

    fn scan_of(
        &mut self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<Scan, StoreError> {
        let table = self.existing(table)?;
        let form = self.forms.of(&table);
        let inner = self.open()?;
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

    /// The same with what leads to each row, for a statement that changes some. Unless the table is locked alone, they are to be
    /// [claimed](Self::claim) before.
    pub fn located_scan(
        &mut self,
        table: TableId,
        projection: Option<Vec<usize>>,
        range: Option<&KeyRange>,
        reads: Reads,
    ) -> Result<LocatedScan, StoreError> {
        self.settle()?;
        let known = self.existing(table)?;
        let inner = self.open()?;
        if !inner.pending(known.object).is_empty() {
            inner.open(&known).insert_pending()?;
        }
        let alone = self.table_locks.contains(&known.object);
        let inner = self.open()?;
        if reads == Reads::Latest {
            inner.reads().unpin();
        } else if !alone || inner.reads().keeps() {
            inner.reads().pin();
        }
        let table = self.existing(table)?;
        let form = self.forms.of(&table);
        let inner = self.open()?;
        let range = range.filter(|range| reads != Reads::Past || range.index.is_none());
        inner.reads().set_passes(reads == Reads::Past);
        let open = OpenRows::Transaction(inner);
        let scan = Scan::open(&open, &table, None, form, projection, range);
        inner.reads().set_passes(false);
        Ok(LocatedScan(scan?))
    }

    /// The rows that these lead to, in that order; all columns.
    pub fn rows_at(&mut self, table: TableId, locators: &[RowLocator]) -> Result<RecordBatch, StoreError> {
        let table = self.existing(table)?;
        let form = self.forms.of(&table);
        let inner = self.open()?;
        let mut batches = Vec::with_capacity(locators.len().div_ceil(FETCHED_ROWS));
        for locators in locators.chunks(FETCHED_ROWS) {
            let rows = inner.read(Arc::clone(&table))?.rows_at(locators)?;
            batches.push(form.decode(&rows, None, &form.schema)?);
        }
        Ok(concat_batches(&form.schema, &batches)?)
    }

    /// Locks the pages of rows that have been read with what leads to them.
    ///
    /// # Errors
    /// [`EngineError::RowsChanged`]: another transaction has changed some since, and committed.
    pub fn claim(&mut self, table: TableId, locators: &[RowLocator]) -> Result<(), StoreError> {
        let table = self.existing(table)?;
        Ok(self.open()?.open(&table).claim_rows(locators)?)
    }

    /// Keeps others from changing a table, and from keeping others from it.
    pub fn lock_against_changes(&mut self, table: TableId, timeout: Duration) -> Result<(), StoreError> {
        Ok(self.open()?.lock_table(object_of(table), store::LockMode::U, timeout)?)
    }

    /// Waits until nobody else has the row in hand that a range of a whole key is for.
    pub fn await_row(&mut self, table: TableId, range: &KeyRange) -> Result<(), StoreError> {
        let table = self.existing(table)?;
        let form = self.forms.of(&table);
        let inner = self.open()?;
        for bound in range.spans.iter().filter_map(|span| span.from.as_ref()) {
            let key = form.encode_columns(&bound.columns, &bound.values)?;
            inner.open(&table).await_key(range.index.as_deref(), &key)?;
        }
        Ok(())
    }

    /// Removes rows, and their entries from the indexes.
    pub fn delete_located(&mut self, table: TableId, locators: &[RowLocator]) -> Result<(), StoreError> {
        let table = self.existing(table)?;
        Ok(self.open()?.open(&table).delete_located(locators)?)
    }

    /// Puts `rows` in the places of others: where they lie if they fit there, and under their new keys.
    pub fn update_located(
        &mut self,
        table: TableId,
        locators: &[RowLocator],
        rows: &RecordBatch,
    ) -> Result<(), StoreError> {
        let table = self.existing(table)?;
        let rows = self.forms.of(&table).encode(rows)?;
        let done = self.open()?.open(&table).update_located(locators, &rows);
        done.map_err(|error| self.refused(&table, error))
    }

    /// Writes a table, or one of its indexes, anew: full pages, or as full as its fill factor says.
    pub fn rebuild(&mut self, table: TableId, index: Option<&str>) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        self.insert_waiting(&table)?;
        let inner = self.open()?;
        match index {
            Some(index) => inner.open(&table).rebuild_index(index, RebuildOptions::default())?,
            None => inner.open(&table).rebuild(RebuildOptions::default())?,
        }
        Ok(())
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

    /// Replaces the text kept with the table. If it is a table's definition, the table gets the trees that it says, and those that it does
    /// not say go.
    pub fn set_properties(&mut self, table: TableId, properties: &str) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        self.open()?.open(&table).alter(&table.name, properties)?;
        let present = TableTrees::present(&table);
        match TableTrees::of_properties(properties).filter(|wanted| *wanted != present) {
            Some(wanted) => {
                self.insert_waiting(&table)?;
                let done = wanted.put(&present, &mut self.open()?.open(&table));
                done.map_err(|error| self.in_exact_form(&table, &wanted, error))
            }
            None => Ok(()),
        }
    }

    /// Puts rows that wait for the commit into their table, which is held alone.
    pub(super) fn insert_waiting(&mut self, table: &Table) -> Result<(), StoreError> {
        let inner = self.open()?;
        match inner.pending(table.object) {
            [] => Ok(()),
            _ => Ok(inner.open(table).insert_pending()?),
        }
    }

    /// Puts all rows that wait for the commit into their tables.
    pub fn insert_all_waiting(&mut self) -> Result<(), StoreError> {
        self.settle()?;
        Ok(self.open()?.insert_pending()?)
    }

    /// An error of the engine with the values of a duplicate key as T-SQL knows them. `trees` has the key.
    pub(super) fn in_exact_form(&self, table: &Table, trees: &TableTrees, error: EngineError) -> StoreError {
        let EngineError::DuplicateKey { index, is_constraint, key, values } = error else {
            return error.into();
        };
        let columns = trees.key_of(&index);
        let form = self.forms.of(table);
        let exact = columns.and_then(|columns| {
            let schema = Arc::new(form.schema.project(&columns).ok()?);
            form.decode(&values, Some(&columns), &schema).ok()
        });
        let values = exact.map_or(values, Box::new);
        EngineError::DuplicateKey { index, is_constraint, key, values }.into()
    }

    /// The same for the trees that the table has.
    pub(super) fn refused(&self, table: &Table, error: EngineError) -> StoreError {
        self.in_exact_form(table, &TableTrees::present(table), error)
    }

    /// Gives a table another name.
    pub fn rename_table(&mut self, table: TableId, name: &str) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.open(&table).alter(name, &table.properties)?)
    }

    /// Removes a table and its rows.
    pub fn drop_table(&mut self, table: TableId) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        self.forms.forget(table.object);
        Ok(self.open()?.open(&table).drop()?)
    }

    /// Removes all rows of a table.
    pub fn truncate(&mut self, table: TableId) -> Result<(), StoreError> {
        self.settle()?;
        let table = self.alone(table)?;
        Ok(self.open()?.open(&table).truncate()?)
    }

    /// Adds rows to a table.
    pub fn append(&mut self, table: TableId, batch: &RecordBatch) -> Result<(), StoreError> {
        let object = object_of(table);
        let known = self.existing(table)?;
        let batch = self.forms.of(&known).encode(batch)?;
        if self.writers.contains_key(&object) {
            return self.append_at_once(&known, |writer| writer.append(&batch));
        }
        let (mut table_lock, sorted) = (self.table_locks.contains(&object), self.sorted.contains(&object));
        let Some(inner) = &mut self.inner else { return Err(EngineError::Doomed.into()) };
        let waiting: usize = inner.pending(object).iter().map(RecordBatch::num_rows).sum();
        let few = waiting + batch.num_rows() < WAITING_ROWS_MAX && bytes_in(&batch) < WAITING_BYTES_MAX;
        let is_tree = known.clustered.is_some() || !known.indexes.is_empty();
        if is_tree && !few && !table_lock {
            // Many rows are merged into trees by whoever has the table alone, if nobody else is there.
            let alone = inner.lock_table(object, LockMode::Exclusive, Duration::ZERO).is_ok();
            if alone {
                table_lock = self.table_locks.insert(object);
            }
        }
        if (few || is_tree && !table_lock) && !sorted {
            self.logging.insert(
                object,
                LoadLogging::row_by_row(inner.recovery_model(), self.bulk_locks.contains(&object)),
            );
            if !is_tree {
                return Ok(inner.open(&known).insert_at_commit(&batch)?);
            }
            // Keys are in the trees at once, so that duplicates are found by the statement that makes them.
            let done = inner.open(&known).insert(&batch);
            return done.map(drop).map_err(|error| self.refused(&known, error));
        }
        self.append_at_once(&known, |writer| writer.append(&batch))
    }

    /// Adds the first rows of `bytes` from where they lie, if there are enough of them for extents of their own and the table takes them so.
    pub fn append_strung(
        &mut self,
        table: TableId,
        form: StrungForm<'_>,
        bytes: &[u8],
    ) -> Result<StrungRows, StoreError> {
        let known = self.existing(table)?;
        let bare = known.clustered.is_none() && known.indexes.is_empty();
        let few = bytes.len() < WAITING_BYTES_MAX && !self.writers.contains_key(&known.object);
        if !bare || few {
            return Ok(StrungRows::default());
        }
        self.append_at_once(&known, |writer| writer.append_strung(form, bytes))
    }

    /// Adds rows through the statement's writer, which begins with those that wait.
    fn append_at_once<T>(
        &mut self,
        table: &Table,
        add: impl FnOnce(&mut BulkWriter) -> Result<T, EngineError>,
    ) -> Result<T, StoreError> {
        let object = table.object;
        if let Some(mut writer) = self.writers.remove(&object) {
            let done = add(&mut writer);
            return self.keep(table, writer, done);
        }
        let (table_lock, sorted) = (self.bulk_locks.contains(&object), self.sorted.contains(&object));
        let inner = self.open()?;
        let options = BulkOptions { table_lock, sorted, ..BulkOptions::default() };
        let mut writer = inner.open(table).bulk_writer_with(options)?;
        let logging = LoadLogging::of(writer.minimal_logging(), inner.recovery_model());
        let before = inner.open(table).take_pending();
        self.logging.insert(object, logging);
        let done = before.iter().try_for_each(|batch| writer.append(batch)).and_then(|()| add(&mut writer));
        self.keep(table, writer, done)
    }

    /// Writers for `count` threads, which fill a heap without indexes side by side until the statement ends.
    pub fn side_writers(&mut self, table: TableId, count: usize) -> Result<Vec<SideWriter>, StoreError> {
        self.settle()?;
        let object = object_of(table);
        let known = self.existing(table)?;
        let form = self.forms.of(&known);
        let table_lock = self.bulk_locks.contains(&object);
        let options = BulkOptions { table_lock, ..BulkOptions::default() };
        let mut writers = Vec::with_capacity(count);
        for _ in 0..count {
            let inner = self.open()?;
            let writer = inner.open(&known).bulk_writer_with(options)?;
            let logging = LoadLogging::of(writer.minimal_logging(), inner.recovery_model());
            self.logging.insert(object, logging);
            let side = SideWriter::new(Arc::clone(&form), writer);
            self.sides.push((object, side.slot()));
            writers.push(side);
        }
        Ok(writers)
    }

    /// How much of the rows that were added to a table since this was last asked went to the log; None: none were.
    pub fn take_logging(&mut self, table: TableId) -> Option<LoadLogging> {
        self.logging.remove(&object_of(table))
    }

    /// The table is locked as a whole because that was asked for (TABLOCK), not because its keys need it.
    pub fn note_table_lock(&mut self, table: TableId) {
        self.bulk_locks.insert(object_of(table));
    }

    /// The rows that are appended until [`settle`](Self::settle) come in the order of the clustered key; one that does not is refused.
    pub fn expect_sorted(&mut self, table: TableId) {
        self.sorted.insert(object_of(table));
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

    /// The engine's transaction, with everything done but its commit.
    pub(super) fn finish(&mut self) -> Result<store::Transaction, StoreError> {
        self.settle()?;
        self.inner.take().ok_or_else(|| EngineError::Doomed.into())
    }

    /// Ends the writers that are open: their rows are part of the tables. What a table with keys was given is sorted, merged and checked
    /// only here.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.sorted.clear();
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
                // Dropped meanwhile, or one of them has failed: what they wrote is undone with the statement.
                _ => inner.abandon_bulk(writer),
            }
        }
        result
    }

    /// What open writers wrote is to be undone.
    fn abandon(&mut self) {
        if let Some(inner) = &mut self.inner {
            self.writers.drain().for_each(|(_, writer)| inner.abandon_bulk(writer));
            let sides = self.sides.drain(..).filter_map(|(_, slot)| slot.end());
            sides.for_each(|(writer, _)| inner.abandon_bulk(writer));
        }
        self.sorted.clear();
    }

    /// Keeps a writer for more rows, or gives it up if it has failed.
    fn keep<T>(
        &mut self,
        table: &Table,
        writer: BulkWriter,
        done: Result<T, EngineError>,
    ) -> Result<T, StoreError> {
        match done {
            Ok(_) => drop(self.writers.insert(table.object, writer)),
            Err(_) => self.open()?.abandon_bulk(writer),
        }
        done.map_err(|error| self.refused(table, error))
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

    /// Locks a table alone, and looks at it only then.
    pub(super) fn alone(&mut self, table: TableId) -> Result<Arc<Table>, StoreError> {
        let timeout = self.open()?.lock_timeout();
        self.lock(table, LockMode::Exclusive, timeout)?;
        self.existing(table)
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
