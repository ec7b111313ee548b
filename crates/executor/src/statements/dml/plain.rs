//! Rows of plain queries, which need no plan.

use std::any::Any;

use databases::storage::{Scan, ScannedRows};
use databases::store_error::store_error;
use query::PlainQuery;
use tsql::SqlError;

use crate::session::work::QueryScan;

/// Rows of one table, of all of it or of a range of its clustered key.
pub(crate) struct PlainRows {
    scan: Scan,
}

impl PlainRows {
    /// Opens the table of a query, if its values have the same bytes on the wire as in pages; None otherwise.
    /// `result` has the columns for the client.
    pub fn of(query: &PlainQuery, result: &[tds::Column]) -> Result<Option<PlainRows>, SqlError> {
        let scan: Box<dyn Any + Send> = query.open()?;
        let Ok(scan) = scan.downcast::<QueryScan>() else { return Ok(None) };
        let mut scan = scan.into_inner();
        let has_rows = scan.is_range() || !query.has_range();
        Ok((has_rows && scan.hand_out_as_it_lies(result)).then_some(PlainRows { scan }))
    }

    /// Returns the next rows; `None` at the end.
    pub fn next_rows(&mut self) -> Result<Option<ScannedRows>, SqlError> {
        self.scan.next_rows().transpose().map_err(store_error)
    }
}
