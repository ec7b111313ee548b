//! A sink for measuring clients: rows are counted and dropped.

use tds::Column;
use tsql::SqlError;

use crate::connection::bulk_receiver::RowSink;

/// Counts rows without decoding their values.
#[derive(Default)]
pub(super) struct DiscardSink {
    rows: u64,
}

impl RowSink for DiscardSink {
    fn columns(&mut self, _columns: &[Column]) -> Result<(), SqlError> {
        Ok(())
    }

    fn rows(&mut self, _rows: &[u8], count: u64) -> Result<(), SqlError> {
        self.rows += count;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64, SqlError> {
        Ok(self.rows)
    }
}
