//! Checks record batches that came through Arrow's C data interface, in the memory of another library. That interface passes
//! pointers without any checks. Text that is not UTF-8 and offsets out of order are refused here, since all other code relies on
//! them.

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use thiserror::Error;

/// A value, or a column, that is invalid for its type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnsoundArrow {
    /// A value of a column is invalid: most often text that is not UTF-8.
    #[error("row {row}, column \"{column}\": {reason}")]
    Value {
        /// Counted from 1, over all batches.
        row: u64,
        /// Name of the column.
        column: String,
        /// Arrow's words for it.
        reason: String,
    },
    /// Offsets, lengths or keys that exceed their buffers.
    #[error("column \"{column}\" in the batch that begins with row {row}: {reason}")]
    Column {
        /// The batch's first row, counted from 1 over all batches.
        row: u64,
        /// Name of the column.
        column: String,
        /// Arrow's words for it.
        reason: String,
    },
}

/// Checks a batch; `first_row` is the number of its first row, counted from 1.
///
/// # Errors
/// The first invalid column, and in it the first invalid value.
pub fn check_foreign(batch: &RecordBatch, first_row: u64) -> Result<(), UnsoundArrow> {
    let schema = batch.schema_ref();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let Err(error) = array.to_data().validate_full() else { continue };
        let column = field.name().clone();
        return Err(match first_unsound(array) {
            Some((row, reason)) => {
                UnsoundArrow::Value { row: first_row + row as u64, column, reason: reason.to_string() }
            }
            None => UnsoundArrow::Column { row: first_row, column, reason: error.to_string() },
        });
    }
    Ok(())
}

/// Finds the first value that is unsound while those around it are not to blame.
fn first_unsound(array: &ArrayRef) -> Option<(usize, ArrowError)> {
    // Text alone is looked at value by value: with broken offsets there is no value to cut out.
    if !array.data_type().is_string() || array.to_data().validate().is_err() {
        return None;
    }
    (0..array.len()).find_map(|row| Some((row, array.slice(row, 1).to_data().validate_full().err()?)))
}

/// A reader of batches from another library that checks each of them.
pub struct CheckedReader<R> {
    inner: R,
    rows: u64,
}

impl<R: RecordBatchReader> CheckedReader<R> {
    /// Creates a reader that checks the batches of `inner`.
    pub fn new(inner: R) -> CheckedReader<R> {
        CheckedReader { inner, rows: 0 }
    }
}

impl<R: RecordBatchReader> Iterator for CheckedReader<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.inner.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        if let Err(error) = check_foreign(&batch, self.rows + 1) {
            return Some(Err(ArrowError::ExternalError(Box::new(error))));
        }
        self.rows += batch.num_rows() as u64;
        Some(Ok(batch))
    }
}

impl<R: RecordBatchReader> RecordBatchReader for CheckedReader<R> {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}
