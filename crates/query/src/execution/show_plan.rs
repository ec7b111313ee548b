//! Plans as text: the path of a query and its operators, under the names in SQL Server's plans.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::streaming::StreamingTableExec;

use crate::bind::{BoundQuery, plan_error};
use crate::large_scan::LargeScanExec;
use crate::path::Path;
use crate::plan_operator::PlanOperator;
use crate::planner::physical_plan;
use crate::run::Engine;
use crate::size::check_plan;
use tsql::SqlError;

impl Engine {
    /// Lists the path of a query, and its operators, a line each. The query does not run.
    ///
    /// # Errors
    /// The query cannot be planned.
    pub async fn show_plan(&self, bound: &BoundQuery) -> Result<Vec<String>, SqlError> {
        let path = Path::of(bound)?;
        let mut lines = vec![format!("Path({})", path.name())];
        let top = match path {
            Path::Simple(query) => query.operators(),
            Path::Plain(query) => query.operator(),
            Path::Full => {
                check_plan(&bound.plan)?;
                let plan = physical_plan(&self.state, &bound.plan).await.map_err(plan_error)?;
                operator_of(&plan)
            }
        };
        top.write(0, &mut lines);
        Ok(lines)
    }
}

/// Describes an operator of the execution engine, and TOP above it, which the operator may do itself.
fn operator_of(plan: &Arc<dyn ExecutionPlan>) -> PlanOperator {
    let own = own_operator_of(plan);
    let is_shown = matches!(plan.name(), "GlobalLimitExec" | "LocalLimitExec" | "SortExec(TopK)");
    match plan.fetch() {
        Some(_) if !is_shown => PlanOperator::over("Top", vec![own]),
        _ => own,
    }
}

fn own_operator_of(plan: &Arc<dyn ExecutionPlan>) -> PlanOperator {
    if let Some(scan) = plan.downcast_ref::<StreamingTableExec>() {
        let partition = scan.partitions().first();
        return PlanOperator::leaf(partition.map_or_else(String::new, |partition| format!("{partition:?}")));
    }
    if let Some(scan) = plan.downcast_ref::<LargeScanExec>() {
        return scan.shown().map_or_else(|| PlanOperator::leaf(scan.access()), operator_of);
    }
    let mut inputs: Vec<PlanOperator> = plan.children().into_iter().map(operator_of).collect();
    let join = |kind: &str, join: &JoinType| format!("{kind}({})", join_name(*join));
    let text = if let Some(hash) = plan.downcast_ref::<HashJoinExec>() {
        join("Hash Match", hash.join_type())
    } else if let Some(merge) = plan.downcast_ref::<SortMergeJoinExec>() {
        join("Merge Join", &merge.join_type())
    } else if let Some(loops) = plan.downcast_ref::<NestedLoopJoinExec>() {
        join("Nested Loops", loops.join_type())
    } else if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        match aggregate.group_expr().is_empty() {
            true => "Stream Aggregate".to_owned(),
            false => "Hash Match(Aggregate)".to_owned(),
        }
    } else {
        let only_columns = plan.downcast_ref::<ProjectionExec>().is_some_and(|projection| {
            projection.expr().iter().all(|projected| projected.expr.is::<Column>())
        });
        let known = match plan.name() {
            "CoalesceBatchesExec"
            | "CoalescePartitionsExec"
            | "CooperativeExec"
            | "InOrderExec"
            | "PauseExec"
            | "UnorderedExec" => None,
            "ProjectionExec" if only_columns => None,
            "CrossJoinExec" => Some("Nested Loops(Inner Join)"),
            "FilterExec" => Some("Filter"),
            "ProjectionExec" => Some("Compute Scalar"),
            "SortExec(TopK)" => Some("Sort(Top N Sort)"),
            "SortExec" | "SortPreservingMergeExec" => Some("Sort"),
            "GlobalLimitExec" | "LocalLimitExec" => Some("Top"),
            "UnionExec" | "InterleaveExec" => Some("Concatenation"),
            "WindowAggExec" | "BoundedWindowAggExec" => Some("Window Aggregate"),
            "EmptyExec" | "PlaceholderRowExec" | "DataSourceExec" => Some("Constant Scan"),
            other => Some(other),
        };
        match (known, inputs.len()) {
            // Operators that change no rows are not shown.
            (None, 1) => return inputs.remove(0),
            (known, _) => known.unwrap_or_else(|| plan.name()).to_owned(),
        }
    };
    PlanOperator::over(text, inputs)
}

/// Names a kind of join as SQL Server does.
fn join_name(join: JoinType) -> &'static str {
    match join {
        JoinType::Inner => "Inner Join",
        JoinType::Left => "Left Outer Join",
        JoinType::Right => "Right Outer Join",
        JoinType::Full => "Full Outer Join",
        JoinType::LeftSemi | JoinType::LeftMark => "Left Semi Join",
        JoinType::RightSemi | JoinType::RightMark => "Right Semi Join",
        JoinType::LeftAnti => "Left Anti Semi Join",
        JoinType::RightAnti => "Right Anti Semi Join",
    }
}
