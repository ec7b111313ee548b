//! Rows of a table on their way into a query.

use std::any::Any;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use tsql::SqlError;

/// The rows of one table as of one moment, batch by batch in the Exact form.
pub trait RowScan: Iterator<Item = Result<RecordBatch, SqlError>> + Any + Send {
    /// Rows that were not read when the scan was opened.
    fn rows(&self) -> u64;
    /// Bytes that those rows take.
    fn bytes(&self) -> u64;
    /// The columns of the table in whose order the rows come, and whether they descend.
    fn key_order(&self) -> Vec<(usize, bool)> {
        Vec::new()
    }
    /// Returns some rows from which all can be judged, read in a small part of the time. They are not read again.
    fn few(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        self.next()
    }
    /// Returns the next rows for which `holds` is true of their columns at `places`; None at the end, and from `holds` on. The others need not be
    /// read.
    fn next_where(
        &mut self,
        places: &[usize],
        holds: &mut Holds<'_>,
    ) -> Option<Result<RecordBatch, SqlError>> {
        loop {
            let batch = match self.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let looked_at = match batch.project(places) {
                Ok(looked_at) => looked_at,
                Err(error) => return Some(Err(SqlError::internal(error))),
            };
            let chosen = filter_record_batch(&batch, &holds(looked_at)?);
            match chosen {
                Ok(chosen) if chosen.num_rows() == 0 => {}
                chosen => return Some(chosen.map_err(|error| SqlError::internal(error))),
            }
        }
    }
    /// Cuts the scan into up to `parts` that read different rows and can run side by side.
    fn partitions(self: Box<Self>, parts: usize) -> Vec<Box<dyn RowScan>>;
}

/// Says for which rows of a batch a condition is true; None ends the scan.
pub type Holds<'a> = dyn FnMut(RecordBatch) -> Option<BooleanArray> + 'a;
