//! Filters and select lists that look at each row by itself: steps that rows take wherever they are.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::scalar::sql_error_of;
use tsql::SqlError;
use tsql::errors;

/// A part of a plan that looks at each row by itself.
#[derive(Clone)]
pub(crate) enum RowStep {
    /// Passes on the rows for which the condition is true.
    Filter(Arc<dyn PhysicalExpr>),
    /// Passes on these columns.
    Columns(Vec<usize>, SchemaRef),
    /// Computes other columns.
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
}

impl RowStep {
    /// Returns the steps of a filter or a select list, in the order in which rows take them. `None` for any other operator.
    /// The rows that a filter passes on at most are not among them.
    pub(crate) fn of(plan: &dyn ExecutionPlan) -> Option<Vec<RowStep>> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let exprs = projection.expr().iter().map(|part| Arc::clone(&part.expr)).collect();
            return Some(vec![RowStep::Project(exprs, projection.schema())]);
        }
        let filter = plan.downcast_ref::<FilterExec>()?;
        let mut steps = vec![RowStep::Filter(Arc::clone(filter.predicate()))];
        if let Some(columns) = filter.projection() {
            steps.push(RowStep::Columns(columns.to_vec(), filter.schema()));
        }
        Some(steps)
    }

    /// Returns the expressions that the step evaluates.
    pub(crate) fn exprs(&self) -> &[Arc<dyn PhysicalExpr>] {
        match self {
            RowStep::Filter(condition) => std::slice::from_ref(condition),
            RowStep::Columns(..) => &[],
            RowStep::Project(exprs, _) => exprs,
        }
    }

    fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        match self {
            RowStep::Filter(condition) => Ok(filter_record_batch(batch, &truth(condition, batch)?)?),
            RowStep::Columns(columns, schema) => {
                let arrays = batch.project(columns)?.columns().to_vec();
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
            }
            RowStep::Project(exprs, schema) => {
                let rows = batch.num_rows();
                let columns = exprs.iter().map(|expr| expr.evaluate(batch)?.into_array(rows));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
            }
        }
    }
}

/// Returns the truth of a condition for each row, which is NULL where it is unknown.
pub(crate) fn truth(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let chosen = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let chosen = chosen.as_boolean_opt().cloned();
    chosen.ok_or_else(|| DataFusionError::Internal("a condition that is not a truth value".to_owned()))
}

fn all_steps(steps: &[RowStep], batch: RecordBatch) -> Result<RecordBatch> {
    steps.iter().try_fold(batch, |batch, step| step.apply(&batch))
}

/// Returns what comes of rows that take all steps: other rows, an error, or rows and an error behind them.
pub(crate) fn results(steps: &[RowStep], batch: Result<RecordBatch>) -> Vec<Result<RecordBatch>> {
    let batch = match batch {
        Ok(batch) => batch,
        Err(error) => return vec![Err(error)],
    };
    match all_steps(steps, batch.clone()) {
        Err(error) if batch.num_rows() > 1 && is_of_a_row(&sql_error_of(&error)) => {
            let good = rows_before(batch.num_rows(), |rows| all_steps(steps, batch.slice(0, rows)).ok());
            good.map(Ok).into_iter().chain([Err(error)]).collect()
        }
        result => vec![result],
    }
}

/// Returns true for an error that values of a row can have, and not one of the request as a whole.
pub(crate) fn is_of_a_row(error: &SqlError) -> bool {
    let of_request = [errors::CANCELLED.number, errors::OUT_OF_MEMORY.number, errors::INTERNAL.number];
    !of_request.contains(&error.number)
}

/// Returns the result of the longest beginning of `rows` rows, at least one and not all, for which `evaluate` has a result.
pub(crate) fn rows_before<T>(rows: usize, mut evaluate: impl FnMut(usize) -> Option<T>) -> Option<T> {
    let (mut good, mut bad) = (0, rows);
    let mut best = None;
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match evaluate(middle) {
            Some(found) => {
                best = Some(found);
                good = middle;
            }
            None => bad = middle,
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_that_works_is_found() {
        for rows in 1..40 {
            for bad in 0..rows {
                let found = rows_before(rows, |upto| (upto <= bad).then_some(upto));
                assert_eq!(found, (bad > 0).then_some(bad), "{rows} rows, {bad} is bad");
            }
        }
    }
}
