//! Pauses in queries that compute: joins and sorts can work for minutes without ever waiting, which would keep a
//! cancellation unnoticed and other sessions waiting for the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use futures::Stream;

use crate::attentive::attentive;
use crate::one_input::{OneInputExec, Step};
use crate::running::{self, Running};
use tsql::SqlError;

/// The time for which a query computes before it yields the thread to others.
pub(crate) const WORK_SPAN: Duration = Duration::from_millis(5);

/// Puts a pause behind every operator of a plan. Any thread that runs a part of it works for `running`.
pub(crate) fn with_pauses(plan: Arc<dyn ExecutionPlan>, running: &Running) -> Result<Arc<dyn ExecutionPlan>> {
    let paused = |plan| -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
        let pause = Pause { running: running.clone() };
        Ok(Transformed::yes(Arc::new(OneInputExec::new(attentive(plan)?, pause))))
    };
    plan.transform_up(paused).map(|transformed| transformed.data)
}

/// Runs a plan that is part of what this thread does already.
pub(crate) fn with_current_pauses(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    match running::current() {
        Some(running) => with_pauses(plan, &running),
        None => Ok(plan),
    }
}

/// Hands on its input's batches, and pauses between them.
#[derive(Clone)]
struct Pause {
    running: Running,
}

impl Step for Pause {
    const NAME: &'static str = "PauseExec";
    const KEEPS_ORDER: bool = true;

    fn run(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = input.execute(partition, context)?;
        Ok(Box::pin(PauseStream { input, running: self.running.clone(), paused: Instant::now() }))
    }
}

struct PauseStream {
    input: SendableRecordBatchStream,
    running: Running,
    /// The end of the last pause.
    paused: Instant,
}

impl Stream for PauseStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Once cancelled the query is dropped where its batches are awaited: it must only get there.
        if self.paused.elapsed() >= WORK_SPAN || self.running.cancellation().is_cancelled() {
            self.paused = Instant::now();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let running = self.running.clone();
        let next = running.step(|| {
            // A defect below ends the statement, not the connection; nothing of the plan is used afterwards.
            let poll = AssertUnwindSafe(|| self.input.as_mut().poll_next(cx));
            catch_unwind(poll).unwrap_or_else(|_| Poll::Ready(Some(Err(broken()))))
        });
        if next.is_pending() {
            self.paused = Instant::now();
        }
        next
    }
}

fn broken() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::internal("an operator of the query stopped")))
}

impl RecordBatchStream for PauseStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
