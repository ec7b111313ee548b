//! Queries whose rows several writers take in any order: plans of several partitions.
//!
//! All other queries run in one partition, so that rows come in the order in which they are stored.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::{MemTable, source_as_provider};
use datafusion::execution::context::SessionContext;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlanProperties, execute_stream, execute_stream_partitioned};

use crate::Cancellation;
use crate::bind::{BoundQuery, plan_error};
use crate::guarded_filters::GuardedFilters;
use crate::output_column::exact_schema;
use crate::pause::with_pauses;
use crate::provider::StoredTable;
use crate::run::{Engine, ResultStream};
use crate::running::Running;
use tsql::SqlError;

/// Bytes of the tables that a query reads from which on it is worth more than one thread.
const PARALLEL_BYTES_MIN: u64 = 2 << 20;

/// A query that runs.
pub enum Streams {
    /// All rows in one stream, and why.
    One(ResultStream, SerialReason),
    /// As many as were asked for, or fewer, each for a thread of its own.
    Several(Vec<ResultStream>),
}

/// The reason why rows are not written by several threads. Names are those of NonParallelPlanReason in SQL Server's plans
/// where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialReason {
    /// MAXDOP is 1, or there is one processor.
    MaxDop,
    /// The tables read are small.
    SmallTables,
    /// A user-defined function is called.
    UserFunction,
    /// NEXT VALUE FOR is asked for.
    Sequence,
    /// APPLY, a recursive common table, a file, or a subquery that is run for each row.
    RowByRow,
    /// ORDER BY: rows are written in its order.
    Ordered,
    /// The last step of the query has one stream: TOP, an aggregate of everything, a window over everything.
    SerialStep,
    /// The target's identities, keys, indexes or references need all rows in one place.
    Target,
    /// INSERT without TABLOCK.
    NoTableLock,
    /// OUTPUT, TOP of the INSERT or SET ROWCOUNT.
    Statement,
    /// The rows come over a connection or out of a file.
    OneSource,
    /// The target is a table variable.
    Storage,
}

impl SerialReason {
    /// Returns the name of the reason in `sys.dm_bulkwire_loads`.
    pub fn name(self) -> &'static str {
        match self {
            SerialReason::MaxDop => "MaxDOPSetToOne",
            SerialReason::SmallTables => "EstimatedDOPIsOne",
            SerialReason::UserFunction => "TSQLUserDefinedFunctionsNotParallelizable",
            SerialReason::Sequence => "NonParallelizableIntrinsicFunction",
            SerialReason::RowByRow => "CouldNotGenerateValidParallelPlan",
            SerialReason::Ordered => "RowsAreOrdered",
            SerialReason::SerialStep => "LastStepHasOneStream",
            SerialReason::Target => "DMLQueryTargetNeedsAllRows",
            SerialReason::NoTableLock => "NoTableLock",
            SerialReason::Statement => "DMLQueryReturnsOutputToClient",
            SerialReason::OneSource => "OneSource",
            SerialReason::Storage => "TargetStorage",
        }
    }
}

impl Engine {
    /// Starts a query in up to `degree` partitions. Once cancelled all of them end with error 3617.
    pub async fn start_parallel(
        &self,
        bound: BoundQuery,
        degree: usize,
        cancellation: &Cancellation,
    ) -> Result<Streams, SqlError> {
        let reason = if degree < 2 { Some(SerialReason::MaxDop) } else { why_serial(&bound.plan)? };
        if let Some(reason) = reason {
            return Ok(Streams::One(self.start(bound, cancellation).await?, reason));
        }
        // The engine's own rules: such a query takes far longer than its planning.
        let config = self.state.config().clone().with_target_partitions(degree);
        let runtime = Arc::clone(self.state.runtime_env());
        let rules = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime);
        let state = rules.with_optimizer_rules(sound_rules()).build();
        let Ok(plan) = state.create_physical_plan(&bound.plan).await else {
            // A query that cannot be planned so may still be run row by row.
            return Ok(Streams::One(self.start(bound, cancellation).await?, SerialReason::RowByRow));
        };
        let running = Running::new(cancellation, self.memory());
        let plan = with_pauses(plan, &running).map_err(plan_error)?;
        let schema = exact_schema(&bound.columns);
        let context = SessionContext::new_with_state(state).task_ctx();
        if plan.output_partitioning().partition_count() == 1 {
            let ordered = plan.output_ordering().is_some();
            let stream = execute_stream(plan, context).map_err(plan_error)?;
            let reason = if ordered { SerialReason::Ordered } else { SerialReason::SerialStep };
            return Ok(Streams::One(ResultStream::planned(schema, stream, cancellation), reason));
        }
        let partitions = execute_stream_partitioned(plan, context).map_err(plan_error)?;
        let streams = dealt(partitions, degree).into_iter();
        let streams = streams.map(|stream| ResultStream::planned(Arc::clone(&schema), stream, cancellation));
        Ok(Streams::Several(streams.collect()))
    }
}

/// Partitions as `count` streams at most: those of UNION ALL are more. All partitions of a stream go on side by side.
fn dealt(partitions: Vec<SendableRecordBatchStream>, count: usize) -> Vec<SendableRecordBatchStream> {
    if partitions.len() <= count {
        return partitions;
    }
    let mut hands: Vec<Vec<SendableRecordBatchStream>> = (0..count).map(|_| Vec::new()).collect();
    for (index, partition) in partitions.into_iter().enumerate() {
        if let Some(hand) = hands.get_mut(index % count) {
            hand.push(partition);
        }
    }
    let stream = |hand: Vec<SendableRecordBatchStream>| -> Option<SendableRecordBatchStream> {
        let schema = hand.first()?.schema();
        Some(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::select_all(hand))))
    };
    hands.into_iter().filter_map(stream).collect()
}

/// Returns the engine's rules except those that lose rows: there are no subqueries, and conditions are pushed down with
/// care.
fn sound_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let rules = Optimizer::new()
        .rules
        .into_iter()
        .filter(|rule| !matches!(rule.name(), "decorrelate_predicate_subquery" | "scalar_subquery_to_join"));
    let sound = rules.map(|rule| -> Arc<dyn OptimizerRule + Send + Sync> {
        match rule.name() {
            "push_down_filter" => Arc::new(GuardedFilters::default()),
            _ => rule,
        }
    });
    sound.collect()
}

/// Says why a query is not cut into partitions. `None`: it can be, and is worth it.
fn why_serial(plan: &LogicalPlan) -> Result<Option<SerialReason>, SqlError> {
    let (mut reason, mut bytes) = (None, 0);
    // The engine's own plans know too much of the order of some rows, which counts where one is wanted.
    let (mut overrated, mut ordered) = (false, false);
    let looked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            if let Some(table) = provider.downcast_ref::<StoredTable>() {
                let scan = table.open(None, &[]);
                bytes += scan.map_err(|error| plan_failure(error.to_string()))?.bytes();
            } else if provider.downcast_ref::<MemTable>().is_none() {
                reason = Some(SerialReason::RowByRow);
            }
        }
        match node {
            LogicalPlan::Limit(_) => overrated = true,
            LogicalPlan::Join(join) => overrated |= join.join_type.is_outer(),
            LogicalPlan::Sort(_) | LogicalPlan::Window(_) => ordered = true,
            _ => {}
        }
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                match part {
                    Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) => {
                        reason = reason.or(Some(SerialReason::RowByRow));
                    }
                    Expr::GroupingSet(_) => overrated = true,
                    _ => {}
                }
                if let Expr::ScalarFunction(call) = part {
                    reason = match call.name() {
                        name if name.starts_with("function ") => Some(SerialReason::UserFunction),
                        name if name.starts_with("next_value_") => Some(SerialReason::Sequence),
                        _ => reason,
                    };
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(TreeNodeRecursion::Continue)
    });
    looked.map_err(plan_error)?;
    let reason = reason.or((overrated && ordered).then_some(SerialReason::RowByRow));
    Ok(reason.or((bytes < PARALLEL_BYTES_MIN).then_some(SerialReason::SmallTables)))
}

fn plan_failure(text: String) -> datafusion::common::DataFusionError {
    datafusion::common::DataFusionError::Execution(text)
}
