//! Joins of few rows by equal values: the left side is hashed, the right one looks its rows up, as in the engine's hash join.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{concat_batches, filter_record_batch, take};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use datafusion::physical_expr::PhysicalExpr;
use tsql::SqlError;

use super::{SimpleQuery, values_of};

/// The rows that a join passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each pair.
    Inner,
    /// Each pair, and rows of the left side that have none.
    Left,
    /// Rows of the left side that have a pair, or that have none.
    Having(bool),
}

/// The kind and the columns of a join.
pub(super) struct Joining {
    pub kind: Kind,
    /// Values that are equal in a pair, of the left side and of the right one.
    pub keys: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    /// Further conditions for a pair, over the columns of both sides.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of both sides.
    pub pairs: SchemaRef,
    /// The schema of the right side.
    pub right: SchemaRef,
}

/// Joins the rows, in the engine's order: that of the right side, then left rows without a pair.
pub(super) fn joined(
    joining: &Joining,
    left: &mut SimpleQuery,
    right: &mut SimpleQuery,
) -> Result<Option<RecordBatch>, SqlError> {
    let Some(left) = all_of(left)? else { return Ok(None) };
    let right = match all_of(right)? {
        Some(right) => right,
        None if joining.kind == Kind::Inner => return Ok(None),
        None => RecordBatch::new_empty(Arc::clone(&joining.right)),
    };
    let (lefts, rights) = matches(joining, &left, &right)?;
    let mut pairs = pairs(joining, &left, &right, &lefts, &rights)?;
    let mut lefts = lefts;
    if let Some(condition) = &joining.condition {
        let holds = values_of(condition, &pairs)?;
        let holds = holds
            .as_boolean_opt()
            .ok_or_else(|| SqlError::internal("a condition that is not a truth value"))?;
        let kept = arrow::compute::filter(&lefts, holds).map_err(|error| SqlError::internal(error))?;
        lefts = kept.as_primitive().clone();
        pairs = filter_record_batch(&pairs, holds).map_err(|error| SqlError::internal(error))?;
    }
    if joining.kind == Kind::Inner {
        return Ok(Some(pairs));
    }
    let mut paired = vec![false; left.num_rows()];
    for row in lefts.values() {
        if let Some(paired) = paired.get_mut(*row as usize) {
            *paired = true;
        }
    }
    let rows_that = |wanted: bool| {
        let rows = (0_u32..).zip(&paired).filter(|(_, paired)| **paired == wanted).map(|(row, _)| row);
        taken(left.columns(), &UInt32Array::from_iter_values(rows))
    };
    match joining.kind {
        Kind::Having(wanted) => {
            let columns = rows_that(wanted)?;
            let rows = paired.iter().filter(|paired| **paired == wanted).count();
            batch(&left.schema(), columns, rows).map(Some)
        }
        _ => {
            let mut columns = rows_that(false)?;
            let rows = paired.iter().filter(|paired| !**paired).count();
            if rows == 0 {
                return Ok(Some(pairs));
            }
            let missing = joining.right.fields().iter().map(|field| new_null_array(field.data_type(), rows));
            columns.extend(missing);
            let alone = batch(&joining.pairs, columns, rows)?;
            concat_batches(&joining.pairs, [&pairs, &alone])
                .map(Some)
                .map_err(|error| SqlError::internal(error))
        }
    }
}

/// Reads all rows of one side; `None` if there are none.
fn all_of(side: &mut SimpleQuery) -> Result<Option<RecordBatch>, SqlError> {
    let mut batches = Vec::new();
    while let Some(batch) = side.next()? {
        batches.push(batch);
    }
    let Some(first) = batches.first() else { return Ok(None) };
    concat_batches(&first.schema(), &batches).map(Some).map_err(|error| SqlError::internal(error))
}

/// Pairs the rows of both sides that have equal keys. NULL equals nothing.
fn matches(
    joining: &Joining,
    left: &RecordBatch,
    right: &RecordBatch,
) -> Result<(UInt32Array, UInt32Array), SqlError> {
    let of_left = joining.keys.iter().map(|(key, _)| values_of(key, left)).collect::<Result<Vec<_>, _>>()?;
    let of_right =
        joining.keys.iter().map(|(_, key)| values_of(key, right)).collect::<Result<Vec<_>, _>>()?;
    let fields = of_left.iter().map(|key| SortField::new(key.data_type().clone())).collect();
    let converter = RowConverter::new(fields).map_err(|error| SqlError::internal(error))?;
    let known_rows = converter.convert_columns(&of_left).map_err(|error| SqlError::internal(error))?;
    let wanted_rows = converter.convert_columns(&of_right).map_err(|error| SqlError::internal(error))?;
    let mut known: HashMap<_, Vec<u32>> = HashMap::with_capacity(left.num_rows());
    for (number, row) in (0_u32..).zip(&known_rows) {
        if !has_null(&of_left, number) {
            known.entry(row).or_default().push(number);
        }
    }
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    for (number, row) in (0_u32..).zip(&wanted_rows) {
        if has_null(&of_right, number) {
            continue;
        }
        for found in known.get(&row).into_iter().flatten() {
            lefts.push(*found);
            rights.push(number);
        }
    }
    Ok((UInt32Array::from(lefts), UInt32Array::from(rights)))
}

fn has_null(keys: &[ArrayRef], row: u32) -> bool {
    keys.iter().any(|key| key.is_null(row as usize))
}

/// Returns the columns of both sides for each pair.
fn pairs(
    joining: &Joining,
    left: &RecordBatch,
    right: &RecordBatch,
    lefts: &UInt32Array,
    rights: &UInt32Array,
) -> Result<RecordBatch, SqlError> {
    let mut columns = taken(left.columns(), lefts)?;
    columns.extend(taken(right.columns(), rights)?);
    batch(&joining.pairs, columns, lefts.len())
}

fn taken(columns: &[ArrayRef], rows: &UInt32Array) -> Result<Vec<ArrayRef>, SqlError> {
    columns.iter().map(|column| take(column, rows, None).map_err(|error| SqlError::internal(error))).collect()
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| SqlError::internal(error))
}
