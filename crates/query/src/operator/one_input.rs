//! A common form of operators with one input whose columns do not change.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};

/// Transforms the batches of the operator's input.
pub(crate) trait Step: Clone + Send + Sync + 'static {
    /// The operator's name in plans.
    const NAME: &'static str;
    /// True if rows stay in the order of the input.
    const KEEPS_ORDER: bool;
    /// True if nothing is known of the rows but their partitions.
    const SAYS_NOTHING: bool = false;

    /// Returns the batches of a partition.
    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// The operator.
pub(crate) struct OneInputExec<S> {
    input: Arc<dyn ExecutionPlan>,
    /// The properties of the output; `None` for those of the input.
    properties: Option<Arc<PlanProperties>>,
    step: S,
}

impl<S: Step> OneInputExec<S> {
    /// Makes an operator with the properties of its input.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, step: S) -> Self {
        let properties = if S::SAYS_NOTHING { Some(Arc::new(unknown(&input))) } else { None };
        Self { input, properties, step }
    }

    /// Returns the step of the operator.
    pub(crate) fn step(&self) -> &S {
        &self.step
    }

    /// Makes an operator with properties of its own, such as fewer partitions.
    pub(crate) fn with_properties(
        input: Arc<dyn ExecutionPlan>,
        properties: Arc<PlanProperties>,
        step: S,
    ) -> Self {
        Self { input, properties: Some(properties), step }
    }
}

/// Properties of rows of which nothing is known.
fn unknown(input: &Arc<dyn ExecutionPlan>) -> PlanProperties {
    PlanProperties::new(
        EquivalenceProperties::new(input.schema()),
        input.output_partitioning().clone(),
        input.pipeline_behavior(),
        input.boundedness(),
    )
}

impl<S: Step> fmt::Debug for OneInputExec<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::NAME)
    }
}

impl<S: Step> DisplayAs for OneInputExec<S> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::NAME)
    }
}

impl<S: Step> ExecutionPlan for OneInputExec<S> {
    fn name(&self) -> &str {
        S::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.properties.as_ref().unwrap_or_else(|| self.input.properties())
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![S::KEEPS_ORDER]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children
            .into_iter()
            .next()
            .ok_or_else(|| DataFusionError::Internal(format!("{} without an input", S::NAME)))?;
        if S::SAYS_NOTHING {
            return Ok(Arc::new(Self::new(input, self.step.clone())));
        }
        Ok(Arc::new(Self { input, properties: self.properties.clone(), step: self.step.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.step.run(&self.input, partition, context)
    }
}
