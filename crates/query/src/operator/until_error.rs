//! The rows before one that fails. Expressions are evaluated for many rows at a time, and an error leaves none of them. At
//! the top of a plan, where rows are a result's, those before the one that fails are found and passed on first.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use futures::StreamExt;

use crate::one_input::{OneInputExec, Step};
use crate::row_steps::{RowStep, results};
use crate::unordered::is_unordered;

/// Makes the filters and select lists at the top of a plan, which may be below a limit, pass on the rows before one that fails.
pub(crate) fn until_error(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() {
        let inputs = plan.children().into_iter().map(|input| until_error(Arc::clone(input)));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        return replace_children_if_necessary(plan, inputs);
    }
    let (mut operators, mut fetch): (Vec<Vec<RowStep>>, _) = (Vec::new(), None);
    let mut below = Arc::clone(&plan);
    while let Some((steps, input, limit)) = taken(&below) {
        // Rows are counted behind all steps: only the topmost filter may limit them.
        let filters = operators.iter().flatten().any(|step| matches!(step, RowStep::Filter(_)));
        if limit.is_some() && filters {
            break;
        }
        fetch = fetch.or(limit);
        operators.push(steps);
        below = input;
    }
    let steps: Arc<[RowStep]> = operators.into_iter().rev().flatten().collect();
    if steps.is_empty() {
        return Ok(plan);
    }
    let schema = plan.schema();
    let properties = Arc::clone(plan.properties());
    let step = UntilError { steps, fetch, schema };
    Ok(Arc::new(OneInputExec::with_properties(below, properties, step)))
}

/// The operator at the top of a plan: its steps, what is below it, and the rows that it passes on at most.
type Taken = (Vec<RowStep>, Arc<dyn ExecutionPlan>, Option<usize>);

fn taken(plan: &Arc<dyn ExecutionPlan>) -> Option<Taken> {
    let input = Arc::clone(plan.children().into_iter().next()?);
    if is_unordered(plan.as_ref()) {
        return Some((Vec::new(), input, None));
    }
    let steps = RowStep::of(plan.as_ref())?;
    Some((steps, input, plan.downcast_ref::<FilterExec>().and_then(FilterExec::fetch)))
}

#[derive(Clone)]
struct UntilError {
    steps: Arc<[RowStep]>,
    /// Rows that are passed on at most.
    fetch: Option<usize>,
    schema: SchemaRef,
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
        let steps = Arc::clone(&self.steps);
        let rows = input.execute(partition, context)?;
        let mut left = self.fetch.unwrap_or(usize::MAX);
        let results = rows.flat_map(move |batch| futures::stream::iter(results(&steps, batch)));
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
