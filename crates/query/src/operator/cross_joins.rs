//! Joins without a condition, with little data in memory.
//!
//! Such a join reads its left side into memory before its first row. In `a, b, c, d` that side holds the product of
//! all tables but the last. Columns that are never read take no memory that could be counted, so it would grow
//! without end.

use std::sync::Arc;

use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use futures::TryStreamExt;

use crate::one_input::{OneInputExec, Step};

/// Returns the plan with a table, not a product, on the left of each join without a condition, where there is one.
/// Rows that are only counted there become their count. It has not been optimised.
pub(crate) fn with_small_sides(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if !plan.exists(|node| Ok(buffers_left(node)))? {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        if let Some(join) = node.downcast_ref::<CrossJoinExec>()
            && is_product(join.left())?
            && !is_product(join.right())?
        {
            return Ok(Transformed::yes(join.swap_inputs()?));
        }
        Ok(Transformed::no(node))
    })
    .data()?
    .transform_up(|node| {
        let children = node.children();
        match children.as_slice() {
            [left, right] if buffers_left(&node) && left.schema().fields().is_empty() => {
                let counted = Arc::new(OneInputExec::new(Arc::clone(left), RowCount));
                let children = vec![counted as Arc<dyn ExecutionPlan>, Arc::clone(right)];
                Ok(Transformed::yes(replace_children_if_necessary(node, children)?))
            }
            _ => Ok(Transformed::no(node)),
        }
    })
    .data()
}

/// Returns true if an operator keeps its left side in memory without knowing the compared columns.
fn buffers_left(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<CrossJoinExec>() || node.is::<NestedLoopJoinExec>()
}

/// Returns true if a plan joins anything, so that it may have more rows than any table.
fn is_product(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| {
        Ok(node.is::<CrossJoinExec>()
            || node.is::<NestedLoopJoinExec>()
            || node.is::<HashJoinExec>()
            || node.is::<SortMergeJoinExec>())
    })
}

/// Counts the rows of an input without columns: one batch instead of many.
#[derive(Clone, Copy)]
struct RowCount;

impl Step for RowCount {
    const NAME: &'static str = "RowCountExec";
    const KEEPS_ORDER: bool = false;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = input.schema();
        let batches = input.execute(partition, context)?;
        let counted = {
            let schema = Arc::clone(&schema);
            async move {
                let sum = |rows: usize, batch: RecordBatch| async move {
                    rows.checked_add(batch.num_rows())
                        .ok_or_else(|| DataFusionError::ResourcesExhausted("too many rows".to_string()))
                };
                let rows = batches.try_fold(0, sum).await?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                Ok(RecordBatch::try_new_with_options(schema, Vec::new(), &options)?)
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(counted))))
    }
}
