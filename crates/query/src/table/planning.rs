//! Plans within plans: tables that hide plans have them planned by what plans the query around them.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use futures::future::BoxFuture;

/// Plans a query with a state.
type Planner = for<'a> fn(&'a SessionState, &'a LogicalPlan) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>;

/// In a state's configuration: what plans with it.
pub(crate) struct Planning(pub Planner);

/// Plans a query that another hides.
pub(crate) async fn planned_within(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    let missing = || DataFusionError::Internal("a state that nobody plans with".to_owned());
    let planning = state.config().get_extension::<Planning>().ok_or_else(missing)?;
    (planning.0)(state, plan).await
}
