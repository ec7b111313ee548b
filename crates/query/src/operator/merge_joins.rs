//! Joins of sorted rows in place of hashed ones: hashed rows must all be in memory, sorted ones can go to files.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::JoinType;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};

use crate::computed::rows_of;
use crate::function_table::FunctionTable;
use crate::provider::StoredTable;

/// In a state's configuration: its plans join sorted rows.
struct MergeJoins;

/// Makes a state whose plans join sorted rows.
pub(crate) fn with_merge_joins(state: &SessionState) -> SessionState {
    let config = state.config().clone().with_extension(Arc::new(MergeJoins));
    SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build()
}

/// Chooses the joins of a plan as the state wants them. The plan is not optimised yet, so sorts are still to be added.
pub(crate) fn joined_by(
    state: &SessionState,
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if state.config().get_extension::<MergeJoins>().is_none() {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<HashJoinExec>().filter(|join| can_merge(join)) else {
            return Ok(Transformed::no(node));
        };
        let merged = SortMergeJoinExec::try_new(
            Arc::clone(join.left()),
            Arc::clone(join.right()),
            join.on().to_vec(),
            join.filter().cloned(),
            *join.join_type(),
            vec![SortOptions::default(); join.on().len()],
            join.null_equality(),
        )?;
        Ok(Transformed::yes(Arc::new(merged)))
    })
    .data()
}

fn can_merge(join: &HashJoinExec) -> bool {
    let marks = matches!(join.join_type(), JoinType::LeftMark | JoinType::RightMark);
    // NOT IN: one NULL decides about all rows.
    !join.null_aware && join.projection.is_none() && !marks
}

/// Returns true if another plan for the same query may fit into memory where this one does not: it hashes rows, and
/// they can be read again.
pub(crate) fn could_merge(plan: &Arc<dyn ExecutionPlan>, query: &LogicalPlan) -> Result<bool> {
    if !plan.exists(|node| Ok(node.is::<HashJoinExec>()))? {
        return Ok(false);
    }
    let mut again = true;
    query.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            again &= provider.is::<StoredTable>() || rows_of::<FunctionTable>(provider.as_ref()).is_some();
        }
        Ok(if again { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(again)
}
