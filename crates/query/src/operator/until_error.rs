//! The rows before one that fails. Expressions are evaluated for many rows at a time, and an error leaves none of them. At
//! the top of a plan, where rows are a result's, those before the one that fails are found and passed on first.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use futures::StreamExt;

use crate::one_input::{OneInputExec, Step};
use crate::scalar::sql_error_of;
use crate::unordered::is_unordered;
use tsql::SqlError;
use tsql::errors;

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

/// Makes the filters and select lists at the top of a plan, which may be below a limit, pass on the rows before one that fails.
pub(crate) fn until_error(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() {
        let inputs = plan.children().into_iter().map(|input| until_error(Arc::clone(input)));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        return replace_children_if_necessary(plan, inputs);
    }
    let (mut parts, mut fetch) = (Vec::new(), None);
    let mut below = Arc::clone(&plan);
    while let Some((part, input, limit)) = parts_of(&below) {
        // Rows are counted behind all parts: only the topmost filter may limit them.
        let filters = parts.iter().any(|part| matches!(part, Part::Filter(_)));
        if limit.is_some() && filters {
            break;
        }
        fetch = fetch.or(limit);
        parts.extend(part);
        below = input;
    }
    if parts.is_empty() {
        return Ok(plan);
    }
    parts.reverse();
    let schema = plan.schema();
    let properties = Arc::clone(plan.properties());
    let step = UntilError { parts: parts.into(), fetch, schema };
    Ok(Arc::new(OneInputExec::with_properties(below, properties, step)))
}

/// A part of a plan that looks at each row by itself.
enum Part {
    Filter(Arc<dyn PhysicalExpr>),
    Columns(Vec<usize>),
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
}

/// The operator at the top of a plan: its parts from the last to the first, what is below it, and the rows that it passes on at
/// most.
type Taken = (Vec<Part>, Arc<dyn ExecutionPlan>, Option<usize>);

fn parts_of(plan: &Arc<dyn ExecutionPlan>) -> Option<Taken> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let exprs = projection.expr().iter().map(|part| Arc::clone(&part.expr)).collect();
        let part = Part::Project(exprs, projection.schema());
        return Some((vec![part], Arc::clone(projection.input()), None));
    }
    if is_unordered(plan.as_ref()) {
        let input = plan.children().into_iter().next()?;
        return Some((Vec::new(), Arc::clone(input), None));
    }
    let filter = plan.downcast_ref::<FilterExec>()?;
    let mut parts = Vec::new();
    if let Some(columns) = filter.projection() {
        parts.push(Part::Columns(columns.to_vec()));
    }
    parts.push(Part::Filter(Arc::clone(filter.predicate())));
    Some((parts, Arc::clone(filter.input()), filter.fetch()))
}

impl Part {
    fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        match self {
            Part::Filter(condition) => {
                let chosen = condition.evaluate(batch)?.into_array(batch.num_rows())?;
                let chosen = chosen.as_boolean_opt().ok_or_else(|| {
                    DataFusionError::Internal("a condition that is not a truth value".to_owned())
                })?;
                Ok(filter_record_batch(batch, chosen)?)
            }
            Part::Columns(columns) => Ok(batch.project(columns)?),
            Part::Project(exprs, schema) => {
                let rows = batch.num_rows();
                let columns = exprs.iter().map(|expr| expr.evaluate(batch)?.into_array(rows));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
            }
        }
    }
}

#[derive(Clone)]
struct UntilError {
    /// From the input upwards.
    parts: Arc<[Part]>,
    /// Rows that are passed on at most.
    fetch: Option<usize>,
    schema: SchemaRef,
}

impl UntilError {
    fn apply(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let mut batch = batch;
        for part in self.parts.iter() {
            batch = part.apply(&batch)?;
        }
        Ok(batch)
    }

    /// Returns what comes of rows: other rows, an error, or rows and an error behind them.
    fn results(&self, batch: Result<RecordBatch>) -> Vec<Result<RecordBatch>> {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return vec![Err(error)],
        };
        match self.apply(batch.clone()) {
            Err(error) if batch.num_rows() > 1 && is_of_a_row(&sql_error_of(&error)) => {
                let good = rows_before(batch.num_rows(), |rows| self.apply(batch.slice(0, rows)).ok());
                good.map(Ok).into_iter().chain([Err(error)]).collect()
            }
            result => vec![result],
        }
    }
}

impl Step for UntilError {
    const NAME: &'static str = "UntilErrorExec";
    const KEEPS_ORDER: bool = true;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let step = self.clone();
        let rows = input.execute(partition, context)?;
        let mut left = step.fetch.unwrap_or(usize::MAX);
        let results = rows.flat_map(move |batch| futures::stream::iter(step.results(batch)));
        let results = results.scan((), move |(), batch| {
            let passed = match batch {
                _ if left == 0 => None,
                Ok(batch) => {
                    let rows = batch.num_rows().min(left);
                    left -= rows;
                    Some(Ok(batch.slice(0, rows)))
                }
                Err(error) => Some(Err(error)),
            };
            std::future::ready(passed)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), results)))
    }
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
