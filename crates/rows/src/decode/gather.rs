//! Methods that every column of pass 2 has.

use arrow::array::ArrayRef;
use arrow::error::ArrowError;

use super::error::RowDecodeErrorReason as Reason;
use super::validity::Validity;

/// A cell that is not a value, and its row in the block.
pub(super) type BadCell = (usize, Reason);

/// A column under construction.
pub(super) trait Gather: Send {
    /// Appends the cells that start at `lane` in `block`. After an error the column is of no more use.
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell>;

    /// Takes what was appended as an array and starts afresh, with room for `rows_hint` rows.
    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError>;

    /// Returns the marks of those rows since the last array that are not null.
    fn validity(&self) -> &Validity;

    /// Counts the bytes of text or binary data that wait in the column.
    fn data_bytes(&self) -> usize {
        0
    }
}
