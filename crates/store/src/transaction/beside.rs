//! Changes of tables that other transactions change at the same time.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::locks::acquire;
use super::rows::with_rows;
use super::unit_of_work::no_table;
use super::write_table::WriteTable;
use crate::catalogue::tree_of;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::lock::{LockMode, Resource};
use crate::tree::index::RowLocator;
use crate::tree::{descend, keys_of};

impl WriteTable<'_> {
    /// Locks the pages of rows that this transaction is about to change, and ends [`Reads::pin`](super::reads::Reads::pin).
    ///
    /// # Errors
    /// [`RowsChanged`](EngineError::RowsChanged) if another transaction has changed something in those pages since, and
    /// committed: the rows must be read again. The pages stay locked.
    pub fn claim_rows(&mut self, locators: &[RowLocator]) -> Result<(), EngineError> {
        let pinned = self.transaction.reads.park();
        if locators.is_empty() {
            return Ok(());
        }
        let object = self.beside()?;
        let claimed = with_rows(self.transaction, object, |heap| {
            heap.claim_rows(locators, pinned.as_ref().map(Snapshot::sequence))
        });
        claimed.map_err(|error| match error {
            EngineError::RowsChanged { table } if self.transaction.reads.keeps() => {
                EngineError::UpdateConflict { table }
            }
            other => other,
        })
    }

    /// Waits until no other transaction is changing the row with this key, or the place where it would be. This transaction must
    /// have locked the table. `index` None: of the clustered key. `key` is a batch of the key's columns with one row.
    pub fn await_key(&mut self, index: Option<&str>, key: &RecordBatch) -> Result<(), EngineError> {
        let transaction = &*self.transaction;
        let table = transaction.table_of(self.object).ok_or_else(|| no_table(&self.name))?;
        let tree = match index {
            None => tree_of(&table)?,
            Some(index) => match table.index(index) {
                Some(index) => Arc::clone(&index.tree),
                None => {
                    return Err(EngineError::NoSuchIndex {
                        table: self.name.to_string(),
                        index: index.to_owned(),
                    });
                }
            },
        };
        let keys = keys_of(&tree, key)?;
        let unit = table.unit(tree.unit).id;
        for key in keys.iter().flatten() {
            let page = {
                let _latch = transaction.shared.latches.share(unit);
                descend(&tree, key, 0, |id| transaction.shared.pager.cache.read(id))?.id()
            };
            let resource = Resource::Page { object: table.object, page };
            if transaction.shared.locks.held(transaction.id, &resource).is_none() {
                acquire(transaction, &resource, LockMode::S, transaction.waiting.timeout)?;
                transaction.shared.locks.release(transaction.id, &resource);
            }
        }
        Ok(())
    }
}
