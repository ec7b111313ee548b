//! Rows that are taken whole before the first of them is used: a statement that writes to what it reads must not meet its own rows.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::SpillManager;
use futures::{Stream, StreamExt};
use tsql::SqlError;

use crate::bind::plan_error;
use crate::running;

/// Rows beyond this go to a file.
const KEPT_BYTES: usize = 64 << 20;

/// Rows of a query that has come to its end.
pub(crate) struct Spool {
    kept: VecDeque<RecordBatch>,
    /// The rows in a file, which is removed with the spool.
    rest: Option<SendableRecordBatchStream>,
}

impl Spool {
    /// Takes all rows: in memory, and from some size on in a temporary file. Errors: those of the rows, and those of the file.
    pub async fn of(
        environment: Arc<RuntimeEnv>,
        schema: SchemaRef,
        rows: impl Stream<Item = Result<RecordBatch, SqlError>>,
    ) -> Result<Spool, SqlError> {
        let (mut kept, mut kept_bytes) = (VecDeque::new(), 0_usize);
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let manager = SpillManager::new(environment, metrics, schema);
        let mut file = None;
        let mut rows = std::pin::pin!(rows);
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            let bytes = batch.get_array_memory_size();
            let fits = kept_bytes.saturating_add(bytes) <= KEPT_BYTES;
            if file.is_none() && fits && running::hold(bytes).is_ok() {
                kept_bytes += bytes;
                kept.push_back(batch);
                continue;
            }
            let mut writing = match file.take() {
                Some(writing) => writing,
                None => manager.create_in_progress_file("rows to be written").map_err(plan_error)?,
            };
            writing.append_batch(&batch).map_err(plan_error)?;
            file = Some(writing);
        }
        let written = match &mut file {
            Some(writing) => writing.finish().map_err(plan_error)?,
            None => None,
        };
        let rest = written.map(|file| manager.read_spill_as_stream(file, None)).transpose();
        Ok(Spool { kept, rest: rest.map_err(plan_error)? })
    }

    /// Returns the next rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, DataFusionError> {
        match (self.kept.pop_front(), &mut self.rest) {
            (Some(batch), _) => Ok(Some(batch)),
            (None, Some(rest)) => rest.next().await.transpose(),
            (None, None) => Ok(None),
        }
    }
}
