//! Counts the reads of a query's stream.

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;

use super::source_rows::is_stream;
use crate::apply::ApplyTable;
use crate::computed::rows_of;
use crate::recursive::RecursiveTable;

/// Counts the reads of streams in a bound query, including plans that it hides.
pub(super) fn readings(plan: &LogicalPlan) -> Result<usize> {
    let mut count = 0;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let table = source_as_provider(&scan.source)?;
            count += usize::from(is_stream(table.as_ref()));
            if let Some(apply) = rows_of::<ApplyTable>(table.as_ref()) {
                count += readings(&apply.left)? + readings(&apply.right)?;
            } else if let Some(recursive) = rows_of::<RecursiveTable>(table.as_ref()) {
                count += readings(&recursive.anchor)? + readings(&recursive.step)?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}
