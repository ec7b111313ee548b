//! Keeping many small batches few: neighbours of equal size are merged, so n one-row appends cost O(n log n) copies and
//! leave O(log n) batches.

use arrow::array::{ArrayData, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::error::ArrowError;

/// Batches of this many rows are left alone.
const MERGED_ROWS_MAX: usize = 8192;
/// Batches of this many bytes are left alone.
const MERGED_BYTES_MAX: usize = 1 << 20;

/// Takes batches off the end of a list, merges them with `batch`, and returns what is to be pushed instead.
///
/// `pop` gets the test whether the last element may be merged and returns it removed.
pub(crate) fn merge_small(
    mut batch: RecordBatch,
    mut pop: impl FnMut(&dyn Fn(&RecordBatch) -> bool) -> Option<RecordBatch>,
) -> Result<RecordBatch, ArrowError> {
    let mut bytes = batch_bytes(&batch);
    loop {
        let rows = batch.num_rows();
        let mergeable = |last: &RecordBatch| {
            last.num_rows() <= rows
                && last.num_rows() + rows <= MERGED_ROWS_MAX
                && batch_bytes(last) + bytes <= MERGED_BYTES_MAX
        };
        let Some(last) = pop(&mergeable) else { return Ok(batch) };
        batch = concat_batches(&last.schema(), [&last, &batch])?;
        bytes = batch_bytes(&batch);
    }
}

/// Bytes that the rows of a batch take, whatever larger buffers it is a slice of.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column_bytes(&column.to_data())).sum()
}

fn column_bytes(data: &ArrayData) -> usize {
    data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
}

/// A batch that does not keep much more memory alive than its rows need.
pub(crate) fn compact(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    const SLACK_BYTES: usize = 4 << 10;
    if batch.get_array_memory_size() <= 2 * batch_bytes(batch) + SLACK_BYTES * batch.num_columns().max(1) {
        return Ok(batch.clone());
    }
    if batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    take_record_batch(batch, &UInt64Array::from_iter_values(0..batch.num_rows() as u64))
}
