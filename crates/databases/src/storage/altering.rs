//! Alters a table's columns, row by row and within the transaction.

use std::sync::Arc;

use super::error::StoreError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use store::{Altering, ColumnSource, NewColumn};

use super::transaction_table::TransactionTable;
use crate::storage::columns::TableForm;
use crate::storage::trees::TableTrees;

/// A table whose columns are being altered: it gives the old rows and takes the new ones, without the transaction.
#[derive(Debug)]
pub struct AlteredTable {
    altering: Altering,
    before: Arc<TableForm>,
    after: TableForm,
}

impl AlteredTable {
    /// Adds rows of the new Exact schema.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        Ok(self.altering.append(&self.after.encode(batch)?)?)
    }
}

/// The rows as they were.
impl Iterator for AlteredTable {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.altering.next()?;
        Some(
            batch
                .map_err(StoreError::from)
                .and_then(|batch| self.before.decode(&batch, None, &self.before.schema)),
        )
    }
}

impl TransactionTable<'_> {
    /// Begins to give a table the columns of `schema` and the text `properties`; the caller writes the new rows and ends with
    /// [`finish_altering`](Self::finish_altering). None if no rows need to be written, and the change is done. `sources` give the
    /// values of each column in the Exact form. After an error the statement must be undone.
    pub fn start_altering(
        &mut self,
        schema: SchemaRef,
        properties: &str,
        mut sources: Vec<ColumnSource>,
    ) -> Result<Option<AlteredTable>, StoreError> {
        self.part.settle()?;
        let old = self.alone()?;
        self.insert_waiting(&old)?;
        let before = self.part.forms().of(&old);
        let (after, columns) = TableForm::new(schema)?;
        for (position, source) in sources.iter_mut().enumerate() {
            if let ColumnSource::Value(value) = source {
                *value = Arc::clone(after.encode_columns(&[position], &[Arc::clone(value)])?.column(0));
            }
        }
        let made = sources.iter().any(|source| matches!(source, ColumnSource::Made(_)));
        let columns = columns.into_iter().zip(sources);
        let columns: Vec<NewColumn> = columns.map(|(column, source)| NewColumn { column, source }).collect();
        self.part.open()?.open(&old).alter(&old.name, properties)?;
        if !made {
            self.part.open()?.open(&old).alter_columns(&columns)?;
            return self.put_trees(properties).map(|()| None);
        }
        match self.part.open()?.open(&old).start_altering(&columns)? {
            Some(altering) => Ok(Some(AlteredTable { altering, before, after })),
            None => self.put_trees(properties).map(|()| None),
        }
    }

    /// Ends the change: the table has the new rows, and the trees that `properties` declare.
    pub fn finish_altering(&mut self, altered: AlteredTable, properties: &str) -> Result<(), StoreError> {
        let present = self.existing()?;
        let done = self.part.open()?.open(&present).finish_altering(altered.altering);
        done.map_err(|error| self.part.refused(&present, error))?;
        self.put_trees(properties)
    }

    /// Gives a table the trees that its definition says, as far as it has others.
    fn put_trees(&mut self, properties: &str) -> Result<(), StoreError> {
        let table = self.existing()?;
        let present = TableTrees::present(&table);
        match TableTrees::of_properties(properties).filter(|wanted| *wanted != present) {
            Some(wanted) => {
                let done = wanted.put(&present, &mut self.part.open()?.open(&table));
                done.map_err(|error| self.part.in_exact_form(&table, &wanted, error))
            }
            None => Ok(()),
        }
    }
}
