//! Plans that read the stream: which of them can run batch by batch, and joins that keep the other side in memory instead.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;

use super::source_rows::SourceRows;
use crate::one_input::OneInputExec;

/// Returns the operator's reading of the stream, if it is that.
pub(super) fn source_rows(node: &Arc<dyn ExecutionPlan>) -> Option<&OneInputExec<SourceRows>> {
    node.downcast_ref::<OneInputExec<SourceRows>>()
}

fn reads_stream(plan: &Arc<dyn ExecutionPlan>) -> bool {
    source_rows(plan).is_some() || plan.children().into_iter().any(reads_stream)
}

/// Turns each join so that the stream is on the side that is not kept in memory.
pub(super) fn with_stream_probing(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let children = node.children();
        let [left, right] = children.as_slice() else { return Ok(Transformed::no(node)) };
        if !reads_stream(left) || reads_stream(right) {
            return Ok(Transformed::no(node));
        }
        if let Some(join) = node.downcast_ref::<HashJoinExec>()
            && !join.null_aware
        {
            return join.swap_inputs(PartitionMode::CollectLeft).map(Transformed::yes);
        }
        if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            return join.swap_inputs().map(Transformed::yes);
        }
        if let Some(join) = node.downcast_ref::<CrossJoinExec>() {
            return join.swap_inputs().map(Transformed::yes);
        }
        Ok(Transformed::no(node))
    })
    .data()
}

/// Returns true if a plan has only conditions and select lists over the stream.
pub(super) fn is_chain(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if source_rows(plan).is_some() {
        return true;
    }
    below(plan).is_some_and(is_chain)
}

/// Returns the input of a condition or a select list.
pub(super) fn below(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filter.fetch().is_none().then(|| filter.input());
    }
    plan.downcast_ref::<ProjectionExec>().map(ProjectionExec::input)
}

/// Returns true if each row of the result comes from one row of the stream, and the plan can run for one batch
/// after another.
pub(super) fn is_row_wise(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if source_rows(plan).is_some() {
        return true;
    }
    if let Some(input) = below(plan) {
        return is_row_wise(input);
    }
    let children = plan.children();
    let [other, stream] = children.as_slice() else { return false };
    if reads_stream(other) || !is_row_wise(stream) {
        return false;
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return !join.null_aware && needs_no_end(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return needs_no_end(*join.join_type());
    }
    plan.is::<CrossJoinExec>()
}

/// Returns true if a join yields no rows of its left side alone, which are known only after the last batch of the
/// right one.
fn needs_no_end(join: JoinType) -> bool {
    matches!(
        join,
        JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark
    )
}
