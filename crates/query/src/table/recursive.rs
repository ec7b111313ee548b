//! Recursive common tables: the step runs over the rows of the previous turn until it gives none.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use parking_lot::Mutex;

use crate::again::Again;
use crate::computed::{Rows, one_stream};
use crate::parameters::{Parameters, state_of};
use crate::pause::WORK_SPAN;
use crate::planning::planned_within;
use tsql::SqlError;

/// The rows of the last turn, as the step sees them.
pub(crate) struct WorkTable {
    schema: SchemaRef,
    rows: TurnRows,
}

impl WorkTable {
    /// Makes a table without rows.
    pub fn new(schema: SchemaRef) -> WorkTable {
        WorkTable { schema, rows: TurnRows::default() }
    }

    /// Returns the columns.
    pub fn columns(&self) -> &SchemaRef {
        &self.schema
    }
}

#[async_trait]
impl Rows for Arc<WorkTable> {
    const NAME: &'static str = "WorkTable";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = WorkRows { schema: Arc::clone(&self.schema), rows: Arc::clone(&self.rows) };
        one_stream(rows, projection, limit)
    }
}

type TurnRows = Arc<Mutex<Vec<RecordBatch>>>;

/// The rows of the turn before the one that runs.
struct WorkRows {
    schema: SchemaRef,
    rows: TurnRows,
}

impl fmt::Debug for WorkRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkRows")
    }
}

impl PartitionStream for WorkRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().clone();
        let stream = futures::stream::iter(rows.into_iter().map(Ok));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream))
    }
}

/// A recursive common table.
pub(crate) struct RecursiveTable {
    /// The first rows.
    pub anchor: LogicalPlan,
    /// The rows that follow from those of the work table.
    pub step: LogicalPlan,
    work: Arc<WorkTable>,
    /// Turns allowed; None for any number.
    turns_max: Option<u64>,
}

impl RecursiveTable {
    /// Makes a recursive table. Both plans have columns of the work table's schema.
    pub fn new(
        anchor: LogicalPlan,
        step: LogicalPlan,
        work: Arc<WorkTable>,
        turns_max: Option<u64>,
    ) -> RecursiveTable {
        RecursiveTable { anchor, step, work, turns_max }
    }

    /// Replaces the plans of the table.
    pub fn with_plans(&self, anchor: LogicalPlan, step: LogicalPlan) -> RecursiveTable {
        self.over(anchor, step, Arc::clone(&self.work))
    }

    /// Replaces the plans of the table, and the work table that the step reads.
    pub fn over(&self, anchor: LogicalPlan, step: LogicalPlan, work: Arc<WorkTable>) -> RecursiveTable {
        RecursiveTable { anchor, step, work, turns_max: self.turns_max }
    }

    /// Returns the rows of the last turn, as the step sees them.
    pub fn work(&self) -> &Arc<WorkTable> {
        &self.work
    }
}

#[async_trait]
impl Rows for RecursiveTable {
    const NAME: &'static str = "RecursiveTable";

    fn schema(&self) -> &SchemaRef {
        &self.work.schema
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state_of(session)?;
        let anchor = Box::pin(planned_within(state, &self.anchor)).await?;
        let step = Box::pin(planned_within(&Parameters::within(state, None), &self.step)).await?;
        let partition =
            RecursivePartition { anchor, step, work: Arc::clone(&self.work), turns_max: self.turns_max };
        one_stream(partition, projection, limit)
    }
}

struct RecursivePartition {
    anchor: Arc<dyn ExecutionPlan>,
    step: Arc<dyn ExecutionPlan>,
    work: Arc<WorkTable>,
    turns_max: Option<u64>,
}

impl fmt::Debug for RecursivePartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecursivePartition")
    }
}

impl PartitionStream for RecursivePartition {
    fn schema(&self) -> &SchemaRef {
        &self.work.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let turn = Turn {
            anchor: Some(Again::new(Arc::clone(&self.anchor))),
            step: Again::new(Arc::clone(&self.step)),
            work: Arc::clone(&self.work),
            turns: 0,
            turns_max: self.turns_max,
            began: Instant::now(),
            context,
        };
        let stream = futures::stream::try_unfold(turn, |mut turn| async move {
            match turn.rows().await? {
                Some(batch) => Ok::<_, DataFusionError>(Some((batch, turn))),
                None => Ok(None),
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.work.schema), stream))
    }
}

struct Turn {
    /// The anchor, until it has run.
    anchor: Option<Again>,
    step: Again,
    work: Arc<WorkTable>,
    turns: u64,
    turns_max: Option<u64>,
    /// The time at which other requests last had the thread.
    began: Instant,
    context: Arc<TaskContext>,
}

impl Turn {
    /// Returns the next turn's rows; `None` when one has had none. Errors: 530 after too many turns.
    async fn rows(&mut self) -> Result<Option<RecordBatch>> {
        let batches = match self.anchor.take() {
            Some(mut anchor) => anchor.collect(&self.context).await?,
            None => self.step.collect(&self.context).await?,
        };
        let batches = batches
            .into_iter()
            .filter(|batch| batch.num_rows() > 0)
            .map(|batch| RecordBatch::try_new(Arc::clone(&self.work.schema), batch.columns().to_vec()))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        if batches.is_empty() {
            return Ok(None);
        }
        if self.turns_max.is_some_and(|limit| self.turns > limit) {
            let limit = self.turns_max.unwrap_or(0);
            let text = format!(
                "The statement terminated. The maximum recursion {limit} has been exhausted before statement completion."
            );
            return Err(DataFusionError::External(Box::new(SqlError::new(530, 16, 1, text))));
        }
        self.turns += 1;
        let batch = arrow::compute::concat_batches(&self.work.schema, &batches)?;
        *self.work.rows.lock() = vec![batch.clone()];
        // Others may have the thread, and a cancellation is heard.
        if self.began.elapsed() >= WORK_SPAN {
            tokio::task::yield_now().await;
            self.began = Instant::now();
        }
        Ok(Some(batch))
    }
}
