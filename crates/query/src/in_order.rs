//! Partitions one after another: the rows of a UNION ALL or of a table value constructor come in the order in which they are written.
//!
//! SQL promises no order without ORDER BY. But tests expect an order that does not change from run to run, and
//! identities are given in the order in which rows arrive.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};

/// The plan, of one partition, with every place where partitions meet unordered in the order of the partitions.
pub(super) fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan
        .transform_up(|plan| Ok(replaced(&plan).map_or_else(|| Transformed::no(plan), Transformed::yes)))?;
    let plan = plan.data;
    if plan.output_partitioning().partition_count() <= 1 {
        return Ok(plan);
    }
    let coalesced = CoalescePartitionsExec::new(Arc::clone(&plan));
    Ok(Arc::new(InOrderExec { properties: Arc::clone(coalesced.properties()), input: plan }))
}

fn replaced(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let coalesce = plan.downcast_ref::<CoalescePartitionsExec>()?;
    let input = Arc::clone(coalesce.input());
    let merged: Arc<dyn ExecutionPlan> =
        Arc::new(InOrderExec { input, properties: Arc::clone(coalesce.properties()) });
    Some(match coalesce.fetch() {
        None => merged,
        fetch => Arc::new(GlobalLimitExec::new(merged, 0, fetch)),
    })
}

/// Reads its input's partitions one after another.
struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for InOrderExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrderExec")
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrderExec")
    }
}

impl ExecutionPlan for InOrderExec {
    fn name(&self) -> &str {
        "InOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children
            .into_iter()
            .next()
            .ok_or_else(|| DataFusionError::Internal("partitions in order without an input".to_string()))?;
        Ok(Arc::new(Self { input, properties: Arc::clone(&self.properties) }))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let partitions = input.output_partitioning().partition_count();
        let schema = input.schema();
        let streams = futures::stream::iter(0..partitions);
        let batches =
            streams.map(move |partition| input.execute(partition, Arc::clone(&context))).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
