//! Checks of the order of rows by some of their columns.

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::compute::kernels::cmp;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

/// Compares rows with those before them, batch by batch, as SQL Server sorts them.
#[derive(Debug)]
pub struct RowOrder {
    columns: Vec<(usize, SortOptions)>,
    strictly: bool,
    /// The last row of the batches before.
    last: Vec<ArrayRef>,
    rows: u64,
}

impl RowOrder {
    /// Creates the order by columns at these places, each with "descending". `strictly`: no two rows may be
    /// equal.
    pub fn new(columns: impl IntoIterator<Item = (usize, bool)>, strictly: bool) -> Self {
        // SQL Server sorts NULL before all values.
        let options = |descending| SortOptions { descending, nulls_first: !descending };
        let columns = columns.into_iter().map(|(place, descending)| (place, options(descending)));
        Self { columns: columns.collect(), strictly, last: Vec::new(), rows: 0 }
    }

    /// Finds the number, from 1, of the first row that does not follow the one before it.
    ///
    /// # Errors
    /// Values of these types cannot be compared.
    pub fn first_unsorted(&mut self, batch: &RecordBatch) -> Result<Option<u64>, ArrowError> {
        let rows = batch.num_rows();
        let arrays: Vec<ArrayRef> =
            self.columns.iter().filter_map(|(place, _)| batch.columns().get(*place).cloned()).collect();
        if rows == 0 {
            return Ok(None);
        }
        let slices = |start: usize, length: usize| -> Vec<ArrayRef> {
            arrays.iter().map(|array| array.slice(start, length)).collect()
        };
        let within = slices(0, rows - 1);
        let pairs = [(std::mem::take(&mut self.last), slices(0, 1), 0), (within, slices(1, rows - 1), 1)];
        for (before, after, start) in pairs {
            if !before.is_empty()
                && let Some(index) = self.first_not_after(&before, &after)?
            {
                return Ok(Some(self.rows + start + index as u64 + 1));
            }
        }
        self.last = slices(rows - 1, 1);
        self.rows += rows as u64;
        Ok(None)
    }

    /// Finds the first index at which a row of `after` does not come behind that of `before`.
    fn first_not_after(&self, before: &[ArrayRef], after: &[ArrayRef]) -> Result<Option<usize>, ArrowError> {
        if let ([before], [after], [(_, options)]) = (before, after, self.columns.as_slice())
            && before.null_count() + after.null_count() == 0
        {
            let (low, high) = if options.descending { (after, before) } else { (before, after) };
            let sorted = if self.strictly { cmp::lt(low, high)? } else { cmp::lt_eq(low, high)? };
            return Ok(first_false(&sorted));
        }
        let compare = before.iter().zip(after).zip(&self.columns);
        let compare = compare.map(|((before, after), (_, options))| make_comparator(before, after, *options));
        let compare = compare.collect::<Result<Vec<_>, _>>()?;
        let rows = before.first().map_or(0, |array| array.len());
        Ok((0..rows).find(|row| {
            let order = compare.iter().map(|compare| compare(*row, *row)).find(|order| order.is_ne());
            !order.map_or(!self.strictly, std::cmp::Ordering::is_lt)
        }))
    }
}

fn first_false(flags: &BooleanArray) -> Option<usize> {
    if flags.true_count() == flags.len() {
        return None;
    }
    (0..flags.len()).find(|index| !flags.value(*index))
}
