//! Reading the rows of a table, batch by batch.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use store::StoreError;
use store::engine;

use super::columns::TableForm;

/// The rows of one table as of one moment.
#[derive(Debug)]
pub enum Scan {
    /// Of segments.
    Segments(store::Scan),
    /// Of pages.
    Pages(Box<PagedScan>),
}

impl From<store::Scan> for Scan {
    fn from(scan: store::Scan) -> Self {
        Scan::Segments(scan)
    }
}

impl Scan {
    /// Schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        match self {
            Scan::Segments(scan) => scan.schema(),
            Scan::Pages(scan) => Arc::clone(&scan.schema),
        }
    }

    /// Rows that were not read when the scan was opened.
    pub fn rows(&self) -> u64 {
        match self {
            Scan::Segments(scan) => scan.rows(),
            Scan::Pages(scan) => scan.rows,
        }
    }

    /// Bytes that those rows take.
    pub fn bytes(&self) -> u64 {
        match self {
            Scan::Segments(scan) => scan.bytes(),
            Scan::Pages(scan) => scan.bytes,
        }
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Scan::Segments(scan) => scan.next(),
            Scan::Pages(scan) => scan.next(),
        }
    }
}

/// A scan of pages, and of the rows that wait for the transaction's commit.
#[derive(Debug)]
pub struct PagedScan {
    inner: engine::Scan,
    waiting: Option<RecordBatch>,
    form: Arc<TableForm>,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    rows: u64,
    bytes: u64,
}

impl PagedScan {
    pub(super) fn new(
        inner: engine::Scan,
        waiting: Option<RecordBatch>,
        form: Arc<TableForm>,
        projection: Option<Vec<usize>>,
        (rows, bytes): (u64, u64),
    ) -> Result<Self, StoreError> {
        let schema = match &projection {
            Some(projection) => Arc::new(form.schema.project(projection)?),
            None => Arc::clone(&form.schema),
        };
        let waiting = match (waiting, &projection) {
            (Some(batch), Some(projection)) => Some(batch.project(projection)?),
            (waiting, _) => waiting,
        };
        Ok(Self { inner, waiting, form, projection, schema, rows, bytes })
    }
}

impl Iterator for PagedScan {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.inner.next() {
            Some(batch) => batch,
            None => Ok(self.waiting.take()?),
        };
        Some(
            batch
                .map_err(StoreError::from)
                .and_then(|batch| self.form.decode(&batch, self.projection.as_deref(), &self.schema)),
        )
    }
}
