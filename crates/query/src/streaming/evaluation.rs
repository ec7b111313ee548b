//! Expressions over the rows of a batch, some of which may have no value.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;
use tsql::SqlError;

use crate::running::Running;
use crate::scalar::sql_error_of;

/// Into so many parts rows are divided in which one has no value.
const PARTS: usize = 8;
/// Errors of this class and above are not about values.
const RESOURCE_CLASS: u8 = 17;

/// A column of values, with NULL for each row that has none, and why.
pub(super) struct Values {
    pub(super) array: ArrayRef,
    pub(super) failed: Vec<(usize, SqlError)>,
}

/// Returns true if an error concerns one value, so that the other rows may still be computed.
pub(super) fn is_of_a_row(error: &SqlError) -> bool {
    error.class < RESOURCE_CLASS && !error.is_cancelled() && error.origin.is_none()
}

/// Parts of a range that has failed: more than one, each shorter.
pub(super) fn parts(range: &Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> + use<> {
    let (start, length) = (range.start, range.len());
    let step = length.div_ceil(PARTS).max(1);
    (0..length.div_ceil(step)).map(move |part| start + part * step..start + ((part + 1) * step).min(length))
}

/// Evaluates an expression over all rows of a batch. Rows without a value are found by dividing the batch, since kernels stop at the
/// first of them.
///
/// # Errors
/// Errors that are not about a value: cancellation, no memory.
pub(super) fn values(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    running: &Running,
) -> Result<Values, SqlError> {
    match evaluated(expr, batch, running) {
        Ok(array) => return Ok(Values { array, failed: Vec::new() }),
        Err(error) if !is_of_a_row(&error) => return Err(error),
        Err(_) => {}
    }
    divided(expr, batch, parts(&(0..batch.num_rows())).rev().collect(), running)
}

/// Evaluates an expression for each row by itself and once, because it changes something.
///
/// # Errors
/// The errors of [`values`].
pub(super) fn values_once(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    running: &Running,
) -> Result<Values, SqlError> {
    divided(expr, batch, (0..batch.num_rows()).rev().map(|row| row..row + 1).collect(), running)
}

/// Evaluates ranges of rows, the last first.
fn divided(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    mut pending: Vec<Range<usize>>,
    running: &Running,
) -> Result<Values, SqlError> {
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut failed = Vec::new();
    let data_type = expr.data_type(batch.schema_ref()).map_err(|error| sql_error_of(&error))?;
    if pending.is_empty() {
        arrays.push(new_null_array(&data_type, 0));
    }
    while let Some(range) = pending.pop() {
        // A batch of one row has failed already, but its error is needed.
        match evaluated(expr, &batch.slice(range.start, range.len()), running) {
            Ok(array) => arrays.push(array),
            Err(error) if !is_of_a_row(&error) => return Err(error),
            Err(error) if range.len() == 1 => {
                arrays.push(new_null_array(&data_type, 1));
                failed.push((range.start, error));
            }
            Err(_) => pending.extend(parts(&range).rev()),
        }
    }
    let arrays = arrays.iter().map(|array| of_type(array, &data_type)).collect::<Result<Vec<_>, _>>()?;
    let arrays: Vec<_> = arrays.iter().map(AsRef::as_ref).collect();
    let array = arrow::compute::concat(&arrays).map_err(|error| SqlError::internal(error))?;
    Ok(Values { array, failed })
}

/// Casts an array to the planned type.
pub(super) fn of_type(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, SqlError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    arrow::compute::cast(array, data_type).map_err(|error| SqlError::internal(error))
}

fn evaluated(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    running: &Running,
) -> Result<ArrayRef, SqlError> {
    running.step(|| {
        // A defect of a kernel ends the query, not the program.
        let work = AssertUnwindSafe(|| expr.evaluate(batch)?.into_array(batch.num_rows()));
        match catch_unwind(work) {
            Ok(result) => result.map_err(|error| sql_error_of(&error)),
            Err(_) => Err(SqlError::internal("a function of the query stopped")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_shorter_and_cover_the_range() {
        for length in 2..200 {
            let range = 5..5 + length;
            let all: Vec<_> = parts(&range).collect();
            assert!(all.len() > 1 && all.iter().all(|part| !part.is_empty() && part.len() < length));
            assert_eq!(all.iter().cloned().flatten().collect::<Vec<_>>(), range.collect::<Vec<_>>());
        }
    }
}
