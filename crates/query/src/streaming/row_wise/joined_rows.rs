//! Joins of the stream with other tables, run once for each batch. What a join has hashed stays for the next batch.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::TryStreamExt;
use tsql::SqlError;

use super::super::Context;
use super::super::evaluation::{is_of_a_row, parts};
use super::super::source_rows::Feed;
use super::{FailedRow, Portion, carried_rows, plan_failure};
use crate::pause::with_pauses;
use crate::running::Running;

/// Runs after which a plan is made again, since each run leaves some figures in it.
const RUNS_MAX: u32 = 1 << 14;

/// The joins.
pub(super) struct JoinedRows {
    /// As it was planned.
    plan: Arc<dyn ExecutionPlan>,
    /// The one that runs.
    ready: Arc<dyn ExecutionPlan>,
    runs: u32,
    /// The column that carries the row's number.
    carried: usize,
    feed: Feed,
    running: Running,
    context: Context,
}

impl JoinedRows {
    /// Joins over no rows yet: the other tables are read and hashed.
    pub(super) async fn open(
        plan: Arc<dyn ExecutionPlan>,
        carried: usize,
        feed: Feed,
        running: &Running,
        context: Context,
    ) -> Result<JoinedRows, SqlError> {
        let ready = prepared(&plan, running)?;
        let mut joined =
            JoinedRows { plan, ready, runs: 0, carried, feed, running: running.clone(), context };
        let empty = RecordBatch::new_empty(joined.feed.schema());
        joined.run(empty).await?;
        Ok(joined)
    }

    /// The joined rows of a batch of the stream, whose last column numbers its rows.
    pub(super) async fn rows(
        &mut self,
        batch: &RecordBatch,
        failed: &mut Vec<FailedRow>,
    ) -> Result<Vec<Portion>, SqlError> {
        let mut portions = Vec::new();
        let mut pending = vec![0..batch.num_rows()];
        while let Some(range) = pending.pop() {
            match self.run(batch.slice(range.start, range.len())).await {
                Ok(batches) => {
                    for batch in batches {
                        let rows = carried_rows(&batch, self.carried)?;
                        portions.push(Portion { batch, rows });
                    }
                }
                Err(error) if !is_of_a_row(&error) => return Err(error),
                Err(error) if range.len() <= 1 => {
                    failed.push(FailedRow { row: range.start, column: None, value: None, error });
                }
                Err(_) => pending.extend(parts(&range).rev()),
            }
        }
        Ok(portions)
    }

    async fn run(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>, SqlError> {
        self.runs += 1;
        if self.runs > RUNS_MAX {
            self.runs = 0;
            self.ready = prepared(&self.plan, &self.running)?;
        }
        self.feed.fill(std::iter::once(Ok(batch)));
        let stream =
            execute_stream(Arc::clone(&self.ready), Arc::clone(&self.context)).map_err(plan_failure)?;
        let cancellation = self.running.cancellation().clone();
        let rows = async { stream.try_collect::<Vec<_>>().await.map_err(plan_failure) };
        cancellation.or(rows).await
    }
}

/// A plan that has not run yet.
fn prepared(plan: &Arc<dyn ExecutionPlan>, running: &Running) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    let fresh = reset_plan_states(Arc::clone(plan)).map_err(plan_failure)?;
    with_pauses(fresh, running).map_err(plan_failure)
}
