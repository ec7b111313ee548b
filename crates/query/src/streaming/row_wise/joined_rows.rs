//! Joins of the stream with other tables, run once for each batch. What a join has hashed stays for the next batch.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
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
        reads: &[usize],
        feed: Feed,
        running: &Running,
        context: Context,
    ) -> Result<JoinedRows, SqlError> {
        let ready = prepared(&plan, running)?;
        let mut joined =
            JoinedRows { plan, ready, runs: 0, carried, feed, running: running.clone(), context };
        let empty = RecordBatch::new_empty(joined.feed.read_schema(reads).map_err(plan_failure)?);
        joined.run(empty).await?;
        Ok(joined)
    }

    /// Joins the rows of a batch. It has the columns that are read, one of which numbers the rows.
    pub(super) async fn rows(
        &mut self,
        batch: &RecordBatch,
        failed: &mut Vec<FailedRow>,
    ) -> Result<Vec<Portion>, SqlError> {
        let mut portions = Vec::new();
        let mut pending: Vec<_> = std::iter::once(0..batch.num_rows()).collect();
        while let Some(range) = pending.pop() {
            match self.run(batch.slice(range.start, range.len())).await {
                Ok(batches) => portions.extend(self.in_order(batches)?),
                Err(error) if !is_of_a_row(&error) => return Err(error),
                Err(error) if range.len() <= 1 => {
                    failed.push(FailedRow { row: range.start, column: None, value: None, error });
                }
                Err(_) => pending.extend(parts(&range).rev()),
            }
        }
        Ok(portions)
    }

    /// Rows in the stream's order: an outer join gives rows without a partner behind the others of their batch.
    fn in_order(&self, batches: Vec<RecordBatch>) -> Result<Vec<Portion>, SqlError> {
        let mut portions = Vec::with_capacity(batches.len());
        let mut last = 0;
        let mut is_sorted = true;
        for batch in batches {
            let rows = carried_rows(&batch, self.carried)?;
            is_sorted &=
                rows.values().is_sorted() && rows.values().first().is_none_or(|first| *first >= last);
            last = rows.values().last().copied().unwrap_or(last);
            portions.push(Portion { batch, rows });
        }
        if is_sorted {
            return Ok(portions);
        }
        let whole = concat_batches(&self.ready.schema(), portions.iter().map(|portion| &portion.batch));
        let whole = whole.map_err(|error| SqlError::internal(error))?;
        let rows = carried_rows(&whole, self.carried)?;
        let mut order: Vec<u32> = (0..whole.num_rows() as u32).collect();
        order.sort_by_key(|at| rows.values().get(*at as usize).copied());
        let order = UInt32Array::from(order);
        let batch = take_record_batch(&whole, &order).map_err(|error| SqlError::internal(error))?;
        let rows = carried_rows(&batch, self.carried)?;
        Ok(vec![Portion { batch, rows }])
    }

    async fn run(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>, SqlError> {
        self.runs += 1;
        if self.runs > RUNS_MAX {
            self.runs = 0;
            self.ready = prepared(&self.plan, &self.running)?;
        }
        self.feed.fill_read(batch);
        let stream =
            execute_stream(Arc::clone(&self.ready), Arc::clone(&self.context)).map_err(plan_failure)?;
        let cancellation = self.running.cancellation().clone();
        let rows = async { stream.try_collect::<Vec<_>>().await.map_err(plan_failure) };
        cancellation.or(rows).await
    }
}

/// Returns a plan that has not run yet.
fn prepared(plan: &Arc<dyn ExecutionPlan>, running: &Running) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    let fresh = reset_plan_states(Arc::clone(plan)).map_err(plan_failure)?;
    with_pauses(fresh, running).map_err(plan_failure)
}
