//! A query that needs all rows of the stream before the first row of its result is known.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use tsql::SqlError;

use super::{Context, ResultColumns};
use crate::pause::with_pauses;
use crate::running::Running;
use crate::scalar::plan_error;
use crate::{Cancellation, ResultStream};

/// A query over the whole stream. What it sorts or groups goes to files when it has no more memory.
pub struct Gathering {
    plan: Arc<dyn ExecutionPlan>,
    result: ResultColumns,
    context: Context,
    cancellation: Cancellation,
    rows: Option<ResultStream>,
}

impl Gathering {
    pub(super) fn new(
        plan: Arc<dyn ExecutionPlan>,
        result: ResultColumns,
        running: Running,
        context: Context,
        cancellation: &Cancellation,
    ) -> Result<Gathering, SqlError> {
        let plan = with_pauses(plan, &running).map_err(plan_error)?;
        Ok(Gathering { plan, result, context, cancellation: cancellation.clone(), rows: None })
    }

    pub(super) fn result(&self) -> &ResultColumns {
        &self.result
    }

    /// Returns the next rows; `None` at the end. The first call reads the [`Feed`](super::Feed), which must be filled.
    ///
    /// # Errors
    /// The stream fails, or a value has an error; 701 if there is no more memory.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let stream =
                    execute_stream(Arc::clone(&self.plan), Arc::clone(&self.context)).map_err(plan_error)?;
                let schema = Arc::clone(&self.result.schema);
                self.rows.insert(ResultStream::planned(schema, stream, &self.cancellation))
            }
        };
        rows.next().await
    }
}
