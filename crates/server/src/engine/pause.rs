//! Pauses in queries that compute: joins and sorts can work for minutes without ever waiting, which would keep a
//! cancellation unnoticed and other sessions waiting for the thread.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::Stream;

use crate::session::Cancellation;

/// How long a query works before it lets others have the thread.
const WORK_SPAN: Duration = Duration::from_millis(5);

/// The plan with a pause behind every operator.
pub(super) fn with_pauses(
    plan: Arc<dyn ExecutionPlan>,
    cancellation: &Cancellation,
) -> Result<Arc<dyn ExecutionPlan>> {
    let paused = |plan| -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
        Ok(Transformed::yes(Arc::new(PauseExec { input: plan, cancellation: cancellation.clone() })))
    };
    plan.transform_up(paused).map(|transformed| transformed.data)
}

/// Hands on its input's batches.
struct PauseExec {
    input: Arc<dyn ExecutionPlan>,
    cancellation: Cancellation,
}

impl fmt::Debug for PauseExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PauseExec")
    }
}

impl DisplayAs for PauseExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PauseExec")
    }
}

impl ExecutionPlan for PauseExec {
    fn name(&self) -> &str {
        "PauseExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
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
            .ok_or_else(|| DataFusionError::Internal("a pause without an input".to_string()))?;
        Ok(Arc::new(PauseExec { input, cancellation: self.cancellation.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        Ok(Box::pin(PauseStream { input, cancellation: self.cancellation.clone(), paused: Instant::now() }))
    }
}

struct PauseStream {
    input: SendableRecordBatchStream,
    cancellation: Cancellation,
    /// When the last pause ended.
    paused: Instant,
}

impl Stream for PauseStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Once cancelled the query is dropped where its batches are awaited: it must only get there.
        if self.paused.elapsed() >= WORK_SPAN || self.cancellation.is_cancelled() {
            self.paused = Instant::now();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.input.as_mut().poll_next(cx);
        if next.is_pending() {
            self.paused = Instant::now();
        }
        next
    }
}

impl RecordBatchStream for PauseStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
