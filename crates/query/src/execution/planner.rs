//! Turns a bound plan into one that runs. The engine's own list of rules is made for any plan over any source, and costs more
//! than most queries. The binder has named and typed everything, and sources are tables in one partition, so most rules have
//! nothing to do. Only rules that can change a plan with these nodes run.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::eliminate_group_by_constant::EliminateGroupByConstant;
use datafusion::optimizer::eliminate_join::EliminateJoin;
use datafusion::optimizer::eliminate_limit::EliminateLimit;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::limit_pushdown::LimitPushdown;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_optimizer::update_aggr_exprs::OptimizeAggregateOrder;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::physical_planner::PhysicalPlanner;
use datafusion::prelude::SessionConfig;

use crate::cross_joins::with_small_sides;
use crate::guarded_filters::GuardedFilters;
use crate::in_order::in_order;
use crate::join_order::JoinOrder;
use crate::key_order::KeyOrder;
use crate::large_scan::with_steps_at_scans;
use crate::lazy_logic::LazyJoins;
use crate::merge_joins::joined_by;
use crate::parameters::Parameters;
use crate::planning::Planning;
use crate::running;
use crate::unnest::without_subqueries;
use crate::unordered::{guarded, physical_planner};
use crate::window_twins::WindowTwins;
use tsql::SqlError;

/// Operators of a plan beyond which it is planned on a thread of its own, so that a statement can be stopped meanwhile.
const LARGE: usize = 64;

fn look() -> Result<()> {
    running::check().map_err(|error| DataFusionError::External(Box::new(error)))
}

type Rule = Arc<dyn OptimizerRule + Send + Sync>;
type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Makes a state to plan with in one partition. It knows no function by name: plans hold their functions themselves.
pub(crate) fn planning_state(builder: SessionStateBuilder, config: SessionConfig) -> SessionState {
    let mut config = config;
    let options = &mut config.options_mut().optimizer;
    options.max_passes = 1;
    options.enable_dynamic_filter_pushdown = false;
    // The engine finds a CASE never NULL where it knows the condition to keep NULL out, and misses it once columns are numbered. It
    // fails then, though a column that is said to have NULLs and has none does no harm.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    config.set_extension(Arc::new(Planning(|state, plan| Box::pin(physical_plan(state, plan)))));
    // Rules follow when a plan is there. Sources have no statistics by which joins could be turned round.
    builder.with_config(config).with_physical_optimizer_rules(Vec::new()).build()
}

/// Returns the rules that can have something to do for an execution plan.
fn physical_rules(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<PhysicalRule>> {
    let (mut ordered, mut aggregates, mut joins, mut limits) = (false, false, false, false);
    plan.apply(|node| {
        // Rules for plans that need a sort, or that join several partitions to one.
        ordered |= node.required_input_ordering().iter().any(Option::is_some)
            || node.output_partitioning().partition_count() > 1
            || node.is::<SortExec>();
        aggregates |= node.is::<AggregateExec>();
        joins |= node.is::<HashJoinExec>() || node.is::<NestedLoopJoinExec>() || node.is::<CrossJoinExec>();
        limits |= node.is::<GlobalLimitExec>() || node.is::<LocalLimitExec>();
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut rules: Vec<PhysicalRule> = Vec::new();
    if ordered {
        rules.push(Arc::new(OutputRequirements::new_add_mode()));
        rules.push(Arc::new(EnsureRequirements::new()));
    }
    if aggregates {
        rules.push(Arc::new(CombinePartialFinalAggregate::new()));
        rules.push(Arc::new(OptimizeAggregateOrder::new()));
    }
    if ordered || joins {
        rules.push(Arc::new(LazyJoins));
    }
    if ordered {
        rules.push(Arc::new(OutputRequirements::new_remove_mode()));
    }
    if limits {
        rules.push(Arc::new(LimitPushdown::new()));
    }
    Ok(rules)
}

/// The contents of a plan that decide which rules apply.
#[derive(Default)]
struct Contents {
    operators: usize,
    joins: bool,
    /// Joins without a condition, for which WHERE may have one.
    cross_joins: bool,
    distinct: bool,
    aggregates: bool,
    limits: bool,
    filters: bool,
    windows: usize,
    empty: bool,
    /// Calls in all expressions.
    calls: usize,
}

impl Contents {
    fn of(plan: &LogicalPlan) -> Result<Contents> {
        let mut contents = Contents::default();
        plan.apply(|node| {
            contents.operators += 1;
            match node {
                LogicalPlan::Join(join) => {
                    contents.joins = true;
                    contents.cross_joins |= join.on.is_empty() && join.filter.is_none();
                }
                LogicalPlan::Distinct(_) => contents.distinct = true,
                LogicalPlan::Aggregate(_) => contents.aggregates = true,
                LogicalPlan::Limit(_) => contents.limits = true,
                LogicalPlan::Filter(_) => contents.filters = true,
                LogicalPlan::Window(_) => contents.windows += 1,
                LogicalPlan::EmptyRelation(empty) => contents.empty |= !empty.produce_one_row,
                _ => {}
            }
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    match part {
                        Expr::ScalarFunction(_) | Expr::Case(_) => contents.calls += 1,
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(contents)
    }

    /// Returns the rules that can have something to do, in the engine's order.
    fn rules(&self) -> Vec<Rule> {
        let mut rules: Vec<Rule> = vec![Arc::new(SimplifyExpressions::new())];
        let joins = self.joins;
        if self.distinct {
            rules.push(Arc::new(ReplaceDistinctWithAggregate::new()));
        }
        if joins {
            rules.push(Arc::new(EliminateJoin::new()));
        }
        if joins {
            rules.push(Arc::new(ExtractEquijoinPredicate::new()));
        }
        if self.filters {
            rules.push(Arc::new(EliminateFilter::new()));
        }
        if self.cross_joins {
            rules.push(Arc::new(EliminateCrossJoin::new()));
        }
        if self.limits {
            rules.push(Arc::new(EliminateLimit::new()));
        }
        if self.empty || self.filters || self.limits {
            rules.push(Arc::new(PropagateEmptyRelation::new()));
        }
        if joins {
            rules.push(Arc::new(EliminateOuterJoin::new()));
        }
        if self.limits {
            rules.push(Arc::new(PushDownLimit::new()));
        }
        if self.filters || joins {
            rules.push(Arc::new(GuardedFilters::default()));
        }
        if joins && self.filters {
            // There is one pass, and conditions stand at their joins only now.
            rules.push(Arc::new(ExtractEquijoinPredicate::new()));
        }
        if joins {
            rules.push(Arc::new(JoinOrder));
        }
        if self.aggregates {
            rules.push(Arc::new(SingleDistinctToGroupBy::new()));
            rules.push(Arc::new(EliminateGroupByConstant::new()));
        }
        if self.windows > 1 {
            rules.push(Arc::new(WindowTwins));
        }
        if self.calls > 1 {
            rules.push(Arc::new(CommonSubexprEliminate::new()));
        }
        if self.limits || self.aggregates {
            rules.push(Arc::new(KeyOrder));
        }
        rules.push(Arc::new(OptimizeProjections::new()));
        rules
    }
}

/// Plans a query. Its subqueries become operators first.
pub(crate) async fn physical_plan(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    in_order(planned(state, &without_subqueries(plan)?).await?)
}

/// Plans a query in one partition.
async fn planned(state: &SessionState, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let contents = Contents::of(plan)?;
    let running = running::current().filter(|_| contents.operators > LARGE);
    let Some(running) = running else {
        return physical(state, optimized(state, plan, &contents)?).await;
    };
    // A rule that is at work cannot be stopped: nobody waits for it then.
    let (state, plan) = (state.clone(), plan.clone());
    let runtime = tokio::runtime::Handle::current();
    let cancellation = running.cancellation().clone();
    let thread = tokio::task::spawn_blocking(move || {
        let planning = async { physical(&state, optimized(&state, &plan, &contents)?).await };
        runtime.block_on(running.all(planning))
    });
    let planned = cancellation.or(async { thread.await.map_err(|error| SqlError::internal(error)) }).await;
    planned.map_err(|error| DataFusionError::External(Box::new(error)))?
}

fn optimized(state: &SessionState, plan: &LogicalPlan, contents: &Contents) -> Result<LogicalPlan> {
    let plan = state.analyzer().execute_and_check(plan.clone(), &state.options(), |_, _| {})?;
    // All at once: the engine looks at the whole plan before the first rule and after the last.
    let mut rules = contents.rules();
    if contents.operators > LARGE {
        rules = rules.into_iter().flat_map(|rule| [Arc::new(Look) as Rule, rule]).collect();
    }
    look()?;
    Optimizer::with_rules(rules).optimize(plan, state, |_, _| {})
}

/// Changes nothing, and ends planning that has been cancelled.
#[derive(Debug)]
struct Look;

impl OptimizerRule for Look {
    fn name(&self) -> &str {
        "look"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        look()?;
        Ok(Transformed::no(plan))
    }
}

async fn physical(state: &SessionState, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = match state.config().get_extension::<Parameters>() {
        Some(parameters) => parameters.bound_plan(plan)?,
        None => plan,
    };
    look()?;
    let plan = physical_planner().create_physical_plan(&guarded(plan)?, state).await?;
    let mut plan = with_small_sides(joined_by(state, plan)?)?;
    for rule in physical_rules(&plan)? {
        look()?;
        plan = rule.optimize(plan, state.config_options())?;
    }
    with_steps_at_scans(plan)
}
