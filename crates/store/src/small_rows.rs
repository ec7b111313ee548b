//! Keeping many small batches few: neighbours of equal size are merged, so n one-row appends cost O(n log n) copies and
//! leave O(log n) batches.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::ByteViewType;
use arrow::error::ArrowError;

/// Batches of this many rows are left alone.
const MERGED_ROWS_MAX: usize = 8192;
/// Batches of this many bytes are left alone.
const MERGED_BYTES_MAX: usize = 1 << 20;
/// Memory per column not worth a copy to save.
const SLACK_BYTES: usize = 4 << 10;

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
    batch.columns().iter().map(column_bytes).sum()
}

fn column_bytes(column: &ArrayRef) -> usize {
    const VIEW_BYTES: usize = 16;
    if let Some(text) = column.as_string_view_opt() {
        return text.len() * VIEW_BYTES + text.total_buffer_bytes_used();
    }
    if let Some(binary) = column.as_binary_view_opt() {
        return binary.len() * VIEW_BYTES + binary.total_buffer_bytes_used();
    }
    let data = column.to_data();
    data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
}

/// A batch that does not keep much more memory alive than its rows need.
pub(crate) fn compact(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let batch = compact_views(batch)?;
    let slack_bytes = SLACK_BYTES * batch.num_columns();
    if batch.num_columns() == 0 || batch.get_array_memory_size() <= 2 * batch_bytes(&batch) + slack_bytes {
        return Ok(batch);
    }
    take_record_batch(&batch, &UInt64Array::from_iter_values(0..batch.num_rows() as u64))
}

/// View columns whose data buffers hold little more than the values: those would be written whole.
pub(crate) fn compact_views(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    fn wasteful<T: ByteViewType>(array: &GenericByteViewArray<T>) -> bool {
        let held: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
        held > 2 * array.total_buffer_bytes_used() + SLACK_BYTES
    }
    let mut changed = false;
    let mut columns = batch.columns().to_vec();
    for column in &mut columns {
        let smaller: Option<ArrayRef> = match (column.as_string_view_opt(), column.as_binary_view_opt()) {
            (Some(text), _) if wasteful(text) => Some(Arc::new(text.gc())),
            (_, Some(binary)) if wasteful(binary) => Some(Arc::new(binary.gc())),
            _ => None,
        };
        if let Some(smaller) = smaller {
            *column = smaller;
            changed = true;
        }
    }
    match changed {
        true => RecordBatch::try_new(batch.schema(), columns),
        false => Ok(batch.clone()),
    }
}
