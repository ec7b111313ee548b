//! Running bound queries and expressions.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, DataFusionError};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{ColumnarValue, Expr, LogicalPlanBuilder, lit};
use datafusion::physical_plan::{EmptyRecordBatchStream, execute_stream};
use datafusion::prelude::SessionConfig;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use tds::SqlType;

use crate::Cancellation;
use crate::bind::{BoundQuery, plan_error};
use crate::datum::Datum;
use crate::memory::{BudgetPool, MemoryBudget};
use crate::merge_joins::{could_merge, with_merge_joins};
use crate::output_column::exact_schema;
use crate::path::Path;
use crate::pause::{with_current_pauses, with_pauses};
use crate::planner::{physical_plan, planning_state};
use crate::running::{self, Running};
use crate::scalar::sql_error_of;
use crate::simple::SimpleQuery;
use crate::size::check_plan;
use crate::spool::Spool;
use crate::typed::Typed;
use crate::until_error::until_error;
use tsql::SqlError;
use tsql::errors;

/// Rows per batch of a result.
const BATCH_ROWS: usize = 8192;
/// Sorts that can set aside memory for merging.
const SORTS_AT_ONCE: usize = 128;

/// The execution engine, shared by all sessions.
pub struct Engine {
    /// The session state with which plans of one partition are made.
    pub(crate) state: SessionState,
    memory: Arc<MemoryBudget>,
    /// The context in which they run.
    pub(crate) context: Arc<TaskContext>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// Makes an engine with one partition, so that rows keep the order in which they are stored. Rows beyond `memory`
    /// go to files below `spill_directory`, which is made when it is needed, or to the system's temporary files.
    pub fn new(memory: &Arc<MemoryBudget>, spill_directory: Option<PathBuf>) -> Result<Engine, SqlError> {
        let mut config = SessionConfig::new().with_target_partitions(1).with_batch_size(BATCH_ROWS);
        // Each sort sets this aside for the merge of what it has spilled.
        let reserved = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *reserved = (*reserved).min(memory.limit() / SORTS_AT_ONCE);
        let mode = match spill_directory {
            Some(directory) => DiskManagerMode::Directories(vec![directory]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(BudgetPool::new(memory)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(mode))
            .build_arc()
            .map_err(|error| SqlError::internal(error))?;
        let state = planning_state(SessionStateBuilder::new().with_runtime_env(environment), config);
        let context = state.task_ctx();
        Ok(Engine { state, memory: Arc::clone(memory), context })
    }

    /// Returns the memory budget of statements.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// Starts a query. Its batches have the schema of [`exact_schema`]. A cancelled run fails with error 3617.
    pub async fn start(
        &self,
        bound: BoundQuery,
        cancellation: &Cancellation,
    ) -> Result<ResultStream, SqlError> {
        match Path::of(&bound)? {
            Path::Simple(query) => {
                Ok(ResultStream::simple(exact_schema(&bound.columns), query, cancellation))
            }
            Path::Plain(..) | Path::Full => self.start_full(bound, cancellation).await,
        }
    }

    /// Starts a query that the engine plans, whatever its [`Path`].
    pub async fn start_full(
        &self,
        bound: BoundQuery,
        cancellation: &Cancellation,
    ) -> Result<ResultStream, SqlError> {
        check_plan(&bound.plan)?;
        let schema = exact_schema(&bound.columns);
        let plan = physical_plan(&self.state, &bound.plan).await.map_err(plan_error)?;
        let could_merge = could_merge(&plan, &bound.plan).map_err(plan_error)?;
        let running = Running::new(cancellation, &self.memory);
        let plan = until_error(plan).and_then(|plan| with_pauses(plan, &running)).map_err(plan_error)?;
        let stream = execute_stream(plan, Arc::clone(&self.context)).map_err(plan_error)?;
        let mut stream = ResultStream::planned(schema, stream, cancellation);
        if could_merge {
            let (state, context) = (self.state.clone(), Arc::clone(&self.context));
            stream.again = Some(Box::new(move || {
                Box::pin(async move {
                    let plan = physical_plan(&with_merge_joins(&state), &bound.plan).await?;
                    execute_stream(with_pauses(plan, &running)?, context)
                })
            }));
        }
        Ok(stream)
    }

    /// Runs a query and returns all rows.
    pub async fn collect(
        &self,
        bound: BoundQuery,
        cancellation: &Cancellation,
    ) -> Result<Vec<RecordBatch>, SqlError> {
        self.start(bound, cancellation).await?.collect().await
    }

    /// Evaluates one value, which refers to tables only in subqueries.
    pub async fn evaluate(&self, value: Typed) -> Result<Datum, SqlError> {
        if let Some(constant) = value.constant {
            return Ok(constant);
        }
        let array = self.evaluate_expr(value.expr).await?;
        Datum::read(array.as_ref(), &value.sql_type, 0)
    }

    /// Evaluates one condition; unknown is false.
    pub async fn holds(&self, condition: Expr) -> Result<bool, SqlError> {
        if !has_query(&condition)? {
            let array = self.evaluate_expr(condition).await?;
            return Ok(Datum::read(array.as_ref(), &SqlType::Bit, 0)? == Datum::Bit(true));
        }
        // EXISTS and IN can stand only where rows are chosen.
        let plan = LogicalPlanBuilder::empty(true)
            .project([lit(true).alias("row")])
            .and_then(|builder| builder.filter(condition))
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
        check_plan(&plan)?;
        let plan = physical_plan(&self.state, &plan).await.map_err(plan_error)?;
        let plan = with_current_pauses(plan).map_err(plan_error)?;
        let mut stream = execute_stream(plan, Arc::clone(&self.context)).map_err(plan_error)?;
        while let Some(batch) = stream.next().await {
            if batch.map_err(|error| sql_error_of(&error))?.num_rows() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Evaluates an expression over the rows of a batch, whose columns it names.
    pub fn evaluate_rows(
        &self,
        expr: &Expr,
        batch: &RecordBatch,
    ) -> Result<arrow::array::ArrayRef, SqlError> {
        let schema = DFSchema::try_from(batch.schema()).map_err(plan_error)?;
        let physical = self.state.create_physical_expr(expr.clone(), &schema).map_err(plan_error)?;
        let value = physical.evaluate(batch).map_err(plan_error)?;
        value.into_array(batch.num_rows()).map_err(plan_error)
    }

    async fn evaluate_expr(&self, expr: Expr) -> Result<arrow::array::ArrayRef, SqlError> {
        if has_query(&expr)? {
            let plan = LogicalPlanBuilder::empty(true)
                .project([expr.alias("value")])
                .and_then(LogicalPlanBuilder::build)
                .map_err(plan_error)?;
            check_plan(&plan)?;
            let plan = physical_plan(&self.state, &plan).await.map_err(plan_error)?;
            let plan = with_current_pauses(plan).map_err(plan_error)?;
            let mut stream = execute_stream(plan, Arc::clone(&self.context)).map_err(plan_error)?;
            while let Some(batch) = stream.next().await {
                let batch = batch.map_err(|error| sql_error_of(&error))?;
                if batch.num_rows() > 0 {
                    return Ok(Arc::clone(batch.column(0)));
                }
            }
            return Err(SqlError::internal("an expression gave no row"));
        }
        let physical = self.state.create_physical_expr(expr, &DFSchema::empty()).map_err(plan_error)?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
            .map_err(|error| SqlError::internal(error))?;
        match physical.evaluate(&batch).map_err(plan_error)? {
            ColumnarValue::Array(array) => Ok(array),
            ColumnarValue::Scalar(scalar) => scalar.to_array().map_err(plan_error),
        }
    }
}

fn has_query(expr: &Expr) -> Result<bool, SqlError> {
    let is_query = |expr: &Expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
        ))
    };
    expr.exists(is_query).map_err(plan_error)
}

/// A running query.
pub struct ResultStream {
    schema: SchemaRef,
    rows: Rows,
    cancellation: Cancellation,
    /// Until the first rows are there: the same query in another way, if this one has no room.
    again: Option<Again>,
}

/// Starts a query once more.
type Again =
    Box<dyn FnOnce() -> BoxFuture<'static, Result<SendableRecordBatchStream, DataFusionError>> + Send>;

/// The source of a query's rows.
enum Rows {
    Planned(SendableRecordBatchStream),
    Simple(SimpleQuery),
    Spooled(Spool),
}

impl ResultStream {
    /// Starts a query that needs no planning, without waiting and without long computation.
    ///
    /// `schema` is the exact one of the query's columns.
    pub fn simple(schema: SchemaRef, query: SimpleQuery, cancellation: &Cancellation) -> ResultStream {
        ResultStream { schema, rows: Rows::Simple(query), cancellation: cancellation.clone(), again: None }
    }

    /// Makes the stream of a running plan's rows.
    pub(crate) fn planned(
        schema: SchemaRef,
        stream: SendableRecordBatchStream,
        cancellation: &Cancellation,
    ) -> ResultStream {
        ResultStream { schema, rows: Rows::Planned(stream), cancellation: cancellation.clone(), again: None }
    }

    /// Computes all rows before the first is handed out.
    pub async fn taken_first(self, engine: &Engine) -> Result<ResultStream, SqlError> {
        let (schema, cancellation) = (Arc::clone(&self.schema), self.cancellation.clone());
        let rows =
            stream::try_unfold(
                self,
                |mut rows| async move { Ok(rows.next().await?.map(|batch| (batch, rows))) },
            );
        let spool = Spool::of(engine.context.runtime_env(), Arc::clone(&schema), rows).await?;
        Ok(ResultStream { schema, rows: Rows::Spooled(spool), cancellation, again: None })
    }

    /// Returns all rows.
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>, SqlError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await? {
            running::hold(batch.get_array_memory_size())?;
            batches.push(batch);
        }
        Ok(batches)
    }

    /// Returns the next rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let next = match &mut self.rows {
            Rows::Simple(query) => query.next()?,
            Rows::Spooled(spool) => {
                let next = async { spool.next().await.map_err(|error| sql_error_of(&error)) };
                self.cancellation.or(next).await?
            }
            Rows::Planned(stream) => {
                let next = async { stream.next().await.transpose().map_err(|error| sql_error_of(&error)) };
                let mut next = self.cancellation.or(next).await;
                let again = self.again.take();
                if let (Err(error), Some(again)) = (&next, again)
                    && error.number == errors::OUT_OF_MEMORY.error().number
                {
                    // The memory of the first path is returned before the other begins.
                    *stream = Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema)));
                    let second = async {
                        *stream = again().await.map_err(plan_error)?;
                        stream.next().await.transpose().map_err(plan_error)
                    };
                    next = self.cancellation.or(second).await;
                }
                next?
            }
        };
        let Some(batch) = next else { return Ok(None) };
        let columns = batch
            .columns()
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                if column.data_type() == field.data_type() {
                    return Ok(Arc::clone(column));
                }
                arrow::compute::cast(column, field.data_type()).map_err(|error| SqlError::internal(error))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map(Some)
            .map_err(|error| SqlError::internal(error))
    }
}
