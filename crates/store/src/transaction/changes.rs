//! Row changes of a transaction.

use arrow::array::{Array, RecordBatch};

use super::locks::lock_for_adding;
use super::rows::{insert_rows, with_rows};
use super::write_table::WriteTable;
use crate::catalogue::tree_of;
use crate::error::EngineError;
use crate::heap::claiming::claim_root;
use crate::page::RowId;
use crate::record::layout::Layout;
use crate::tree;
use crate::tree::index::RowLocator;

impl WriteTable<'_> {
    /// Inserts rows one by one, each logged. Returns their addresses; rows of a clustered table have none.
    pub fn insert(&mut self, batch: &RecordBatch) -> Result<Vec<RowId>, EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| insert_rows(this, object, batch))
    }

    /// Inserts rows of a load that are too few to be merged. Loads into the same trees take turns.
    pub fn insert_in_turn(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| {
            with_rows(this, object, claim_root)?;
            insert_rows(this, object, batch).map(drop)
        })
    }

    /// Adds rows to a table while other transactions do the same. The rows wait in memory, and the commit inserts them one by
    /// one, each logged. Scans do not show them; [`Transaction::pending`](super::Transaction::pending) does.
    pub fn insert_at_commit(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        self.transaction.settle();
        self.transaction.check()?;
        lock_for_adding(self.transaction, self.object)?;
        let table = self.definition()?;
        fits(&table.layout, batch)?;
        self.transaction.work.pending.entry(self.object).or_default().push(batch.clone());
        Ok(())
    }

    /// Takes back the rows that wait for the commit, in order to add them in another way.
    pub fn take_pending(&mut self) -> Vec<RecordBatch> {
        self.transaction.work.pending.remove(&self.object).unwrap_or_default()
    }

    /// Inserts the rows that wait for the commit now.
    pub fn insert_pending(&mut self) -> Result<(), EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| {
            let rows = this.work.pending.remove(&object).unwrap_or_default();
            rows.iter().try_for_each(|batch| insert_rows(this, object, batch).map(drop))
        })
    }

    /// Removes the rows with these keys, a batch of the key columns, from a clustered table. Of a key that is not unique, all rows go.
    pub fn delete_keys(&mut self, keys: &RecordBatch) -> Result<(), EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| {
            with_rows(this, object, |heap| {
                let tree = tree_of(heap.table)?;
                let mut locators = Vec::new();
                for key in tree::keys_of(&tree, keys)?.iter().flatten() {
                    locators.extend(heap.tree(&tree).located(key)?);
                }
                heap.delete_located(&locators)
            })
        })
    }

    /// Replaces rows of a table with a unique clustered key by the rows of `batch` with the same keys.
    pub fn update_keyed(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| {
            with_rows(this, object, |heap| {
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

    /// Removes rows of any table by the locators from a scan of this transaction. Unless the table is locked exclusively, the
    /// rows must have been [claimed](Self::claim_rows), since another transaction may have changed them.
    pub fn delete_located(&mut self, locators: &[RowLocator]) -> Result<(), EngineError> {
        let object = self.beside()?;
        self.transaction.guarded(|this| with_rows(this, object, |heap| heap.delete_located(locators)))
    }

    /// Replaces rows of any table by the rows of `batch`. The address of a row of a heap stays; a row of a clustered table
    /// whose key changes is found by its new key from then on.
    pub fn update_located(
        &mut self,
        locators: &[RowLocator],
        batch: &RecordBatch,
    ) -> Result<(), EngineError> {
        let object = self.beside()?;
        if locators.len() != batch.num_rows() {
            let reason = format!("{} rows to replace by {}", locators.len(), batch.num_rows());
            return Err(EngineError::Schema { reason });
        }
        self.transaction.guarded(|this| with_rows(this, object, |heap| heap.update_located(locators, batch)))
    }

    /// Removes the rows at these addresses of a heap.
    pub fn delete(&mut self, addresses: &[RowId]) -> Result<(), EngineError> {
        self.heap()?;
        let locators: Vec<RowLocator> = addresses.iter().copied().map(RowLocator::Address).collect();
        self.delete_located(&locators)
    }

    /// Replaces the rows at these addresses by the rows of `batch`; the addresses stay valid.
    pub fn update(&mut self, addresses: &[RowId], batch: &RecordBatch) -> Result<(), EngineError> {
        self.heap()?;
        let locators: Vec<RowLocator> = addresses.iter().copied().map(RowLocator::Address).collect();
        self.update_located(&locators, batch)
    }

    /// Refuses a table whose rows have no addresses.
    fn heap(&self) -> Result<(), EngineError> {
        match self.transaction.table_of(self.object).is_some_and(|table| table.clustered.is_some()) {
            true => {
                let reason = format!("rows of {:?} are found by their key", self.name);
                Err(EngineError::Schema { reason })
            }
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
