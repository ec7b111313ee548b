//! A handle to read a table, which was looked up once: as of a commit, or as a transaction sees it.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::ordered::{self, Direction, KeySpan, OrderedScan};
use super::{PageReader, Scan};
use crate::catalogue::Table;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::tree::index::RowLocator;

/// A table in the state that a snapshot or a transaction reads. Scans may outlive it.
#[derive(Debug)]
pub struct ReadTable {
    pub(crate) reader: PageReader,
    pub(crate) table: Arc<Table>,
}

impl ReadTable {
    /// Returns the table that is read.
    pub fn definition(&self) -> &Arc<Table> {
        &self.table
    }

    /// Reads all columns, or those of `projection`, indexes from 0.
    pub fn scan(self, projection: Option<Vec<usize>>) -> Result<Scan, EngineError> {
        Scan::new(self.reader, self.table, projection)
    }

    /// Reads a clustered table in the order of its key, between two keys, both included; each is a batch of one row of the key
    /// columns.
    pub fn ordered_scan(
        self,
        projection: Option<Vec<usize>>,
        from: Option<&RecordBatch>,
        to: Option<&RecordBatch>,
    ) -> Result<OrderedScan, EngineError> {
        self.span_scan(None, projection, &[KeySpan::between(from, to)])
    }

    /// Reads the table through one of its nonclustered indexes, in its order, between two keys, both included; each is a batch of one row
    /// of the first key columns. If the index has all columns of the projection, the table itself is not read.
    pub fn index_scan(
        self,
        index: &str,
        projection: Option<Vec<usize>>,
        from: Option<&RecordBatch>,
        to: Option<&RecordBatch>,
    ) -> Result<OrderedScan, EngineError> {
        self.span_scan(Some(index), projection, &[KeySpan::between(from, to)])
    }

    /// Reads spans of the clustered key (`index` None) or of a nonclustered index: the rows of all, each once, in the order of the key.
    pub fn span_scan(
        self,
        index: Option<&str>,
        projection: Option<Vec<usize>>,
        spans: &[KeySpan],
    ) -> Result<OrderedScan, EngineError> {
        OrderedScan::new(self.reader, self.table, index, projection, spans, Direction::Forward)
    }

    /// Scans in the order of a key, from the last row to the first.
    pub fn backward_scan(
        self,
        index: Option<&str>,
        projection: Option<Vec<usize>>,
        spans: &[KeySpan],
    ) -> Result<OrderedScan, EngineError> {
        OrderedScan::new(self.reader, self.table, index, projection, spans, Direction::Backward)
    }

    /// Reads the rows of these locators, in their order, with all columns.
    pub fn rows_at(&self, locators: &[RowLocator]) -> Result<RecordBatch, EngineError> {
        let columns: Vec<usize> = (0..self.table.layout.visible().len()).collect();
        ordered::rows_at(&self.reader, &self.table, &columns, locators)
    }
}

impl Snapshot {
    /// Returns a handle to read the table of this name.
    ///
    /// # Errors
    /// 208: there is none.
    pub fn read_table(&self, name: &str) -> Result<ReadTable, EngineError> {
        Ok(self.read(Arc::clone(self.existing(name)?)))
    }

    /// Returns a handle to read a table of this snapshot.
    pub fn read(&self, table: Arc<Table>) -> ReadTable {
        ReadTable { reader: self.reader(), table }
    }
}
