//! Rows in a transaction: changed and read.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

use super::{Transaction, no_table};
use crate::catalogue::Table;
use crate::catalogue::tree_of;
use crate::error::EngineError;
use crate::page::RowId;
use crate::record::layout::Layout;
use crate::scan::ordered::{self, KeySpan, OrderedScan};
use crate::scan::{PageReader, Scan, View};
use crate::tree;
use crate::tree::index::RowLocator;

impl Transaction {
    /// Inserts rows one by one, each logged. Returns their addresses; rows of a clustered table have none.
    pub fn insert(&mut self, name: &str, batch: &RecordBatch) -> Result<Vec<RowId>, EngineError> {
        let object = self.beside(name)?;
        self.guarded(|this| this.insert_rows(object, batch))
    }

    /// Adds rows to a table beside other transactions that do the same. They wait in memory: the commit inserts them one by one,
    /// each logged. [`scan`](Self::scan) does not show them; [`pending`](Self::pending) does.
    pub fn insert_at_commit(&mut self, name: &str, batch: &RecordBatch) -> Result<(), EngineError> {
        self.settle();
        self.check()?;
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        self.lock_for_adding(table.object)?;
        let table =
            self.table(name).filter(|again| again.object == table.object).ok_or_else(|| no_table(name))?;
        fits(&table.layout, batch)?;
        self.work.pending.entry(table.object).or_default().push(batch.clone());
        Ok(())
    }

    /// Rows of a table that wait for the commit.
    pub fn pending(&self, object: u32) -> &[RecordBatch] {
        self.work.pending.get(&object).map(Vec::as_slice).unwrap_or_default()
    }

    /// Takes the rows back that wait for the commit, for another way of adding them.
    pub fn take_pending(&mut self, object: u32) -> Vec<RecordBatch> {
        self.work.pending.remove(&object).unwrap_or_default()
    }

    /// Inserts the rows that wait for the commit now.
    pub fn insert_pending(&mut self, name: &str) -> Result<(), EngineError> {
        let object = self.beside(name)?;
        self.guarded(|this| {
            let rows = this.take_pending(object);
            rows.iter().try_for_each(|batch| this.insert_rows(object, batch).map(drop))
        })
    }

    /// Inserts the rows of all tables that wait for the commit now.
    pub fn insert_all_pending_now(&mut self) -> Result<(), EngineError> {
        let waiting: Vec<u32> = self.work.pending.keys().copied().collect();
        let names = waiting.into_iter().filter_map(|object| Some(self.table_of(object)?.name.clone()));
        let names: Vec<Arc<str>> = names.collect();
        names.iter().try_for_each(|name| self.insert_pending(name))
    }

    /// Removes the rows with these keys, a batch of the key columns, from a clustered table. Of a key that is not unique, all rows go.
    pub fn delete_keys(&mut self, name: &str, keys: &RecordBatch) -> Result<(), EngineError> {
        let object = self.beside(name)?;
        self.guarded(|this| {
            this.with_rows(object, |heap| {
                let tree = tree_of(heap.table)?;
                let mut locators = Vec::new();
                for key in tree::keys_of(&tree, keys)?.iter().flatten() {
                    locators.extend(heap.located(&tree, key)?);
                }
                heap.delete_located(&locators)
            })
        })
    }

    /// Puts the rows of `batch` in the places of those with the same keys in a table with a unique clustered key.
    pub fn update_keyed(&mut self, name: &str, batch: &RecordBatch) -> Result<(), EngineError> {
        let object = self.beside(name)?;
        self.guarded(|this| {
            this.with_rows(object, |heap| {
                let tree = tree_of(heap.table)?;
                if !tree.definition.unique {
                    let reason = format!("the key of {:?} does not tell its rows apart", heap.table.name);
                    return Err(EngineError::Schema { reason });
                }
                let keys = tree::keys_of(&tree, &batch.project(&tree.key.column_indexes())?)?;
                let keys = keys.iter().flatten().map(|key| RowLocator::Key(key.into()));
                heap.update_located(&keys.collect::<Vec<_>>(), batch)
            })
        })
    }

    /// Removes rows of any table, found by what a scan of this transaction has said of them. If the table is not locked alone, they must
    /// have been [claimed](Self::claim_rows), or another transaction may have changed them since.
    pub fn delete_located(&mut self, name: &str, locators: &[RowLocator]) -> Result<(), EngineError> {
        let object = self.beside(name)?;
        self.guarded(|this| this.with_rows(object, |heap| heap.delete_located(locators)))
    }

    /// Puts the rows of `batch` in the places of others in any table. The address of a row of a heap stays; a row of a clustered table
    /// whose key changes is found by its new key from then on.
    pub fn update_located(
        &mut self,
        name: &str,
        locators: &[RowLocator],
        batch: &RecordBatch,
    ) -> Result<(), EngineError> {
        let object = self.beside(name)?;
        if locators.len() != batch.num_rows() {
            let reason = format!("{} rows to replace by {}", locators.len(), batch.num_rows());
            return Err(EngineError::Schema { reason });
        }
        self.guarded(|this| this.with_rows(object, |heap| heap.update_located(locators, batch)))
    }

    /// The rows of any table that these lead to, in that order; all columns.
    pub fn rows_at(&self, name: &str, locators: &[RowLocator]) -> Result<RecordBatch, EngineError> {
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        let columns: Vec<usize> = (0..table.layout.visible().len()).collect();
        let (reader, table) = self.reader(table)?;
        ordered::rows_at(&reader, &table, &columns, locators)
    }

    /// Removes the rows at these addresses of a heap.
    pub fn delete(&mut self, name: &str, addresses: &[RowId]) -> Result<(), EngineError> {
        self.heap(name)?;
        let locators: Vec<RowLocator> = addresses.iter().copied().map(RowLocator::Address).collect();
        self.delete_located(name, &locators)
    }

    /// Puts the rows of `batch` in the places of those at these addresses, which stay valid.
    pub fn update(
        &mut self,
        name: &str,
        addresses: &[RowId],
        batch: &RecordBatch,
    ) -> Result<(), EngineError> {
        self.heap(name)?;
        let locators: Vec<RowLocator> = addresses.iter().copied().map(RowLocator::Address).collect();
        self.update_located(name, &locators, batch)
    }

    /// Reads a clustered table in the order of its key; see [`Snapshot::ordered_scan`](crate::database::snapshot::Snapshot::ordered_scan).
    pub fn ordered_scan(
        &self,
        name: &str,
        projection: Option<Vec<usize>>,
        from: Option<&RecordBatch>,
        to: Option<&RecordBatch>,
    ) -> Result<OrderedScan, EngineError> {
        self.span_scan(name, None, projection, &[KeySpan::between(from, to)])
    }

    /// Reads a table through one of its nonclustered indexes; see [`Snapshot::index_scan`](crate::database::snapshot::Snapshot::index_scan).
    pub fn index_scan(
        &self,
        name: &str,
        index: &str,
        projection: Option<Vec<usize>>,
        from: Option<&RecordBatch>,
        to: Option<&RecordBatch>,
    ) -> Result<OrderedScan, EngineError> {
        self.span_scan(name, Some(index), projection, &[KeySpan::between(from, to)])
    }

    /// Reads spans of a tree; see [`Snapshot::span_scan`](crate::database::snapshot::Snapshot::span_scan).
    pub fn span_scan(
        &self,
        name: &str,
        index: Option<&str>,
        projection: Option<Vec<usize>>,
        spans: &[KeySpan],
    ) -> Result<OrderedScan, EngineError> {
        let table = self.table(name).ok_or_else(|| no_table(name))?;
        let (reader, table) = self.reader(table)?;
        OrderedScan::new(reader, table, index, projection, spans)
    }

    /// Reads a table as this transaction sees it.
    pub fn scan(&self, name: &str, projection: Option<Vec<usize>>) -> Result<Scan, EngineError> {
        self.scan_table(self.table(name).ok_or_else(|| no_table(name))?, projection)
    }

    /// Reads a table that [`table`](Self::table) has returned.
    pub fn scan_table(&self, table: Arc<Table>, projection: Option<Vec<usize>>) -> Result<Scan, EngineError> {
        let (reader, table) = self.reader(table)?;
        Scan::new(reader, table, projection)
    }

    fn reader(&self, table: Arc<Table>) -> Result<(PageReader, Arc<Table>), EngineError> {
        let (view, table) = match self.work.changed.contains(table.object) {
            true => (View::Current, table),
            false => {
                let (snapshot, table) = self.snapshot_of(table)?;
                (View::Own(snapshot, self.id), table)
            }
        };
        let passes = self.reads_past && !matches!(view, View::Current);
        Ok((PageReader { shared: Arc::clone(&self.shared), view, passes }, table))
    }

    /// Refuses a table whose rows have no addresses.
    fn heap(&self, name: &str) -> Result<(), EngineError> {
        match self.table(name).is_some_and(|table| table.clustered.is_some()) {
            true => Err(EngineError::Schema { reason: format!("rows of {name:?} are found by their key") }),
            false => Ok(()),
        }
    }
}

/// Refuses a batch that is not of a table's form.
fn fits(layout: &Layout, batch: &RecordBatch) -> Result<(), EngineError> {
    let refuse = |reason: String| Err(EngineError::Schema { reason });
    let (given, wanted) = (batch.schema_ref().fields(), layout.schema.fields());
    if given.len() != wanted.len() {
        return refuse(format!("{} columns, the table has {}", given.len(), wanted.len()));
    }
    for ((given, wanted), array) in given.iter().zip(wanted).zip(batch.columns()) {
        if given.data_type() != wanted.data_type() {
            let (name, given, wanted) = (wanted.name(), given.data_type(), wanted.data_type());
            return refuse(format!("column {name:?} is {given}, the table's is {wanted}"));
        }
        if !wanted.is_nullable() && array.null_count() > 0 {
            return refuse(format!("column {:?} allows no null", wanted.name()));
        }
    }
    Ok(())
}
