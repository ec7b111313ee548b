//! Partitions one after another: the rows of a UNION ALL or of a table value constructor come in the order in which they are written.
//!
//! SQL promises no order without ORDER BY. But tests expect an order that does not change from run to run, and
//! identities are given in the order in which rows arrive.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::{StreamExt, TryStreamExt};

use crate::one_input::{OneInputExec, Step};

/// Keeps the order of partitions at every place where they would meet unordered. The resulting plan has one partition.
pub(crate) fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan
        .transform_up(|plan| Ok(replaced(&plan).map_or_else(|| Transformed::no(plan), Transformed::yes)))?;
    let plan = plan.data;
    if plan.output_partitioning().partition_count() <= 1 {
        return Ok(plan);
    }
    let coalesced = CoalescePartitionsExec::new(Arc::clone(&plan));
    Ok(Arc::new(OneInputExec::with_properties(plan, Arc::clone(coalesced.properties()), InOrder)))
}

fn replaced(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let coalesce = plan.downcast_ref::<CoalescePartitionsExec>()?;
    let input = Arc::clone(coalesce.input());
    let merged: Arc<dyn ExecutionPlan> =
        Arc::new(OneInputExec::with_properties(input, Arc::clone(coalesce.properties()), InOrder));
    Some(match coalesce.fetch() {
        None => merged,
        fetch => Arc::new(GlobalLimitExec::new(merged, 0, fetch)),
    })
}

/// Reads its input's partitions one after another.
#[derive(Clone, Copy)]
struct InOrder;

impl Step for InOrder {
    const NAME: &'static str = "InOrderExec";
    const KEEPS_ORDER: bool = false;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        _: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(input);
        let partitions = input.output_partitioning().partition_count();
        let schema = input.schema();
        let streams = futures::stream::iter(0..partitions);
        let batches =
            streams.map(move |partition| input.execute(partition, Arc::clone(&context))).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
