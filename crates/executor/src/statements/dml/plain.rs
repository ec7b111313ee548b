//! Queries for columns of all rows of a table, as exports and drivers send them. They need no plan.

use std::any::Any;

use databases::storage::{Scan, ScannedRows};
use databases::store_error::store_error;
use query::StoredTable;
use tsql::SqlError;

use crate::session::work::QueryScan;

/// Rows of one table, in the order in which it is read.
pub(crate) struct PlainRows {
    scan: Scan,
}

impl PlainRows {
    /// Opens a table for columns at these positions, if their values have the same bytes on the wire as in pages; None otherwise.
    /// `result` has the columns for the client.
    pub fn of(
        table: &StoredTable,
        positions: Vec<usize>,
        result: &[tds::Column],
    ) -> Result<Option<PlainRows>, SqlError> {
        let scan: Box<dyn Any + Send> = table.open(Some(positions), &[])?;
        let Ok(scan) = scan.downcast::<QueryScan>() else { return Ok(None) };
        let mut scan = scan.into_inner();
        Ok(scan.hand_out_as_it_lies(result).then_some(PlainRows { scan }))
    }

    /// The next rows; None at the end.
    pub fn next_rows(&mut self) -> Result<Option<ScannedRows>, SqlError> {
        self.scan.next_rows().transpose().map_err(store_error)
    }
}
