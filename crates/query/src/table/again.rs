//! Plans that run many times.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};

/// A plan that runs many times, one run after the other. No run knows anything of those before. The state of operators,
/// such as build sides of joins and the least row of a TOP, is thrown away before each run. Streams that hide plans do
/// the same when they are executed.
pub(crate) struct Again {
    plan: Arc<dyn ExecutionPlan>,
}

impl Again {
    /// Wraps a plan, which may have run.
    pub fn new(plan: Arc<dyn ExecutionPlan>) -> Again {
        Again { plan }
    }

    /// Runs the plan again and returns all rows.
    pub async fn collect(&mut self, context: &Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        self.plan = reset_plan_states(Arc::clone(&self.plan))?;
        collect(Arc::clone(&self.plan), Arc::clone(context)).await
    }

    /// Returns the plan's columns.
    pub fn schema(&self) -> arrow::datatypes::SchemaRef {
        self.plan.schema()
    }
}
