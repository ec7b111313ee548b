//! Rows of which nothing is known but their columns.
//!
//! The engine carries what it knows of an order, and of constant columns, from operator to operator, and pushes sorts
//! down through them. It does so where it must not: a column that is constant on the side of an outer join that may be
//! missing is not so in the join's rows. Grouping sets over sorted rows are not sorted, since their totals have NULL. A
//! sort pushed below OFFSET chooses other rows. Above these operators stands one that says nothing and lets nothing
//! through.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchemaRef, DataFusionError, JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Expr, Extension, Filter, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::lazy_logic::{computes, lazy_choice, with_lazy_logic};
use crate::one_input::{OneInputExec, Step};
use crate::window_keys::over_columns;

/// Makes the planner that knows the operator.
pub(crate) fn physical_planner() -> DefaultPhysicalPlanner {
    DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(UnorderedPlanner)])
}

/// Puts the operator into an optimised plan where it is needed. Splits its conditions in two: cheap ones that cannot
/// fail come first.
pub(crate) fn guarded(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|node| {
        let node = match node {
            LogicalPlan::Filter(filter) => return shielded(filter),
            node => with_lazy_logic(node)?,
        };
        let node = match node {
            LogicalPlan::Window(mut window) => {
                if !matches!(window.input.as_ref(), LogicalPlan::Window(_)) && joins(&window.input)? {
                    window.input = Arc::new(above(Arc::unwrap_or_clone(window.input)));
                }
                return Ok(Transformed::yes(over_columns(window)?));
            }
            node => node,
        };
        let unsafe_order = match &node {
            LogicalPlan::Limit(_) => true,
            LogicalPlan::Join(join) => {
                matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full)
            }
            LogicalPlan::Aggregate(aggregate) => {
                aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
            }
            _ => false,
        };
        Ok(if unsafe_order { Transformed::yes(above(node)) } else { Transformed::no(node) })
    })
    .map(|transformed| transformed.data)
}

fn above(input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Unordered { input }) })
}

/// Returns true if a plan joins anything. A window fails if it is partitioned by a column that a join has made
/// constant.
fn joins(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_))))
}

fn shielded(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let Filter { predicate, input, .. } = filter;
    let (input, others) = match cheap_first(&predicate)? {
        Some((first, second)) => (Arc::new(LogicalPlan::Filter(Filter::try_new(first, input)?)), second),
        None => (input, predicate),
    };
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(lazy_choice(others)?, input)?)))
}

/// Separates the conditions that cannot fail, such as comparisons of columns and constants. The others are evaluated
/// only for the rows that these leave. `None` if there are not both.
pub(crate) fn cheap_first(condition: &Expr) -> Result<Option<(Expr, Expr)>> {
    let (mut cheap, mut others) = (Vec::new(), Vec::new());
    for part in split_conjunction(condition) {
        match computes(part)? {
            true => others.push(part.clone()),
            false => cheap.push(part.clone()),
        }
    }
    Ok(cheap.into_iter().reduce(Expr::and).zip(others.into_iter().reduce(Expr::and)))
}

/// The operator, as optimised plans have it.
#[derive(PartialEq, Eq, Hash)]
struct Unordered {
    input: LogicalPlan,
}

impl PartialOrd for Unordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl fmt::Debug for Unordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unordered")
    }
}

impl UserDefinedLogicalNodeCore for Unordered {
    fn name(&self) -> &str {
        "Unordered"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unordered")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let missing = || DataFusionError::Internal("Unordered without an input".to_owned());
        Ok(Unordered { input: inputs.into_iter().next().ok_or_else(missing)? })
    }
}

struct UnorderedPlanner;

#[async_trait]
impl ExtensionPlanner for UnorderedPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        _: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(input) = physical_inputs.first().cloned() else { return Ok(None) };
        Ok(Some(Arc::new(OneInputExec::new(input, PassedOn))))
    }
}

/// Returns true for the operator, which hands on its input's batches.
pub(crate) fn is_unordered(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<OneInputExec<PassedOn>>()
}

/// Hands on its input's batches.
#[derive(Clone, Copy)]
struct PassedOn;

impl Step for PassedOn {
    const NAME: &'static str = "UnorderedExec";
    const KEEPS_ORDER: bool = false;
    const SAYS_NOTHING: bool = true;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(partition, context)
    }
}

/// Removes the operator from a plan, once sorts are planned.
pub(crate) fn without_unordered(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|node| match node.is::<OneInputExec<PassedOn>>() {
        true => Ok(node.children().first().map_or_else(
            || Transformed::no(Arc::clone(&node)),
            |input| Transformed::yes(Arc::clone(*input)),
        )),
        false => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}
