//! Plans that run many times.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};

/// Operators that remember nothing of a run but its metrics.
const FORGETFUL: [&str; 6] = [
    "FilterExec",
    "ProjectionExec",
    "StreamingTableExec",
    "PlaceholderRowExec",
    "CoalesceBatchesExec",
    "GlobalLimitExec",
];
/// Runs after which metrics, which add up, are thrown away.
const RUNS_MAX: u32 = 256;

/// A plan that runs many times, one run after the other.
pub(crate) struct Again {
    plan: Arc<dyn ExecutionPlan>,
    forgetful: bool,
    runs: u32,
}

impl Again {
    /// A plan that has not run yet.
    pub fn new(plan: Arc<dyn ExecutionPlan>) -> Again {
        let forgetful = is_forgetful(&plan);
        Again { plan, forgetful, runs: 0 }
    }

    /// All rows of the next run.
    pub async fn collect(&mut self, context: &Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        if self.runs > 0 && (!self.forgetful || self.runs.is_multiple_of(RUNS_MAX)) {
            self.plan = reset_plan_states(Arc::clone(&self.plan))?;
        }
        self.runs = self.runs.wrapping_add(1);
        collect(Arc::clone(&self.plan), Arc::clone(context)).await
    }

    /// The plan's columns.
    pub fn schema(&self) -> arrow::datatypes::SchemaRef {
        self.plan.schema()
    }
}

fn is_forgetful(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let own = FORGETFUL.contains(&plan.name())
        || plan.name() == "AggregateExec"
        || plan.name() == "SortExec" && plan.fetch().is_none();
    own && plan.children().into_iter().all(is_forgetful)
}
