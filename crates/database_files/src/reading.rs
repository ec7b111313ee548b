//! Rows of a table on their way.

use arrow::{array::RecordBatch, datatypes::SchemaRef};

use crate::error::Result;

/// The rows of a table: batches of one schema. After an error there are no more.
pub struct TableReader {
    /// The schema of every batch.
    pub schema: SchemaRef,
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl TableReader {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Self {
        Self { schema, batches: Box::new(batches) }
    }
}

impl Iterator for TableReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}
