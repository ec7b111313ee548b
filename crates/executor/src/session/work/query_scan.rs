//! Scans of the storage as queries read them.

use arrow::array::RecordBatch;
use databases::storage::{LocatedScan, RowLocator, Scan};
use databases::store_error::store_error;
use query::{Holds, RowScan};
use tsql::SqlError;

/// A scan whose errors are T-SQL's.
#[derive(Debug)]
pub(crate) struct QueryScan(Scan);

impl QueryScan {
    /// Returns the storage's own scan.
    pub fn into_inner(self) -> Scan {
        self.0
    }
}

impl From<Scan> for QueryScan {
    fn from(scan: Scan) -> Self {
        QueryScan(scan)
    }
}

impl Iterator for QueryScan {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(store_error))
    }
}

impl RowScan for QueryScan {
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn key_order(&self) -> Vec<(usize, bool)> {
        self.0.key_order()
    }

    fn few(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        Some(self.0.few()?.map_err(store_error))
    }

    fn next_where(
        &mut self,
        places: &[usize],
        holds: &mut Holds<'_>,
    ) -> Option<Result<RecordBatch, SqlError>> {
        Some(self.0.next_where(places, holds)?.map_err(store_error))
    }

    fn partitions(self: Box<Self>, parts: usize) -> Vec<Box<dyn RowScan>> {
        let parts = self.0.partitions(parts).into_iter();
        parts.map(|part| -> Box<dyn RowScan> { Box::new(QueryScan(part)) }).collect()
    }
}

/// A scan of rows that a statement may change, whose errors are T-SQL's.
#[derive(Debug)]
pub(crate) struct ChangeScan(LocatedScan);

impl From<LocatedScan> for ChangeScan {
    fn from(scan: LocatedScan) -> Self {
        ChangeScan(scan)
    }
}

impl Iterator for ChangeScan {
    type Item = Result<(RecordBatch, Vec<RowLocator>), SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(store_error))
    }
}

impl query::LocatedScan<RowLocator> for ChangeScan {
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}
