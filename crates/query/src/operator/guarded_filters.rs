//! Conditions on their way to the rows that they choose among.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The engine's rule, but for conditions above groups that are there without any row. The engine takes a condition
/// without columns for one over the columns that are grouped by. Below an aggregate without GROUP BY it would leave no
/// row of many, and there is a group all the same. The total of grouping sets likewise, of whose columns none is the
/// one below.
#[derive(Debug, Default)]
pub(crate) struct GuardedFilters(PushDownFilter);

impl OptimizerRule for GuardedFilters {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if is_above_total(&plan) { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

fn is_above_total(plan: &LogicalPlan) -> bool {
    let mut below = plan;
    while let LogicalPlan::Filter(filter) = below {
        below = &filter.input;
    }
    match below {
        LogicalPlan::Aggregate(aggregate) if !matches!(plan, LogicalPlan::Aggregate(_)) => {
            aggregate.group_expr.is_empty()
                || aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
        }
        _ => false,
    }
}
