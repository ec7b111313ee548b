//! Queries that are all rows of a table, some of its columns: what exports and drivers' reads are. There is nothing to plan.

use std::any::Any;

use query::BoundQuery;
use tsql::SqlError;

use crate::session::work::QueryScan;
use crate::storage::{Scan, ScannedRows};
use crate::store_error::store_error;

/// Rows of one table, in the order in which it is read.
pub(crate) struct PlainRows {
    scan: Scan,
}

impl PlainRows {
    /// Opens the table of a query that is nothing but columns of it, if their values are on the wire as they are stored; None for all other
    /// queries.
    pub fn of(bound: &BoundQuery) -> Result<Option<PlainRows>, SqlError> {
        let Some((table, projection)) = bound.plain() else { return Ok(None) };
        let result: Vec<tds::Column> = bound.columns.iter().map(|column| column.wire()).collect();
        let scan: Box<dyn Any + Send> = table.open(Some(projection), &[])?;
        let Ok(scan) = scan.downcast::<QueryScan>() else { return Ok(None) };
        let mut scan = scan.into_inner();
        Ok(scan.hand_out_as_it_lies(&result).then_some(PlainRows { scan }))
    }

    /// The next rows; None at the end.
    pub fn next_rows(&mut self) -> Result<Option<ScannedRows>, SqlError> {
        self.scan.next_rows().transpose().map_err(store_error)
    }
}
