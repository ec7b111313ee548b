//! One query for each row of another: CROSS and OUTER APPLY, and subqueries that cannot become joins. The right side is planned
//! once, and run for every combination of outer values that it uses.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array,
};
use arrow::compute::{concat, concat_batches, take};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Column, DataFusionError, Result, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use parking_lot::Mutex;

use crate::again::Again;
use crate::computed::{Rows, computed, one_stream};
use crate::correlated::{outer_names, physical_plan, with_placeholders};
use crate::parameters::{OuterRow, Parameters, state_of};
use crate::pause::WORK_SPAN;
use crate::provider::external;
use crate::simple::SimpleQuery;
use tsql::errors;

/// Results that are kept for rows that look alike.
const KEPT_MAX: usize = 512;

/// What becomes of the right side's rows.
#[derive(Debug, Clone)]
pub(crate) enum ApplyKind {
    /// CROSS APPLY.
    Cross,
    /// OUTER APPLY: a row without any on the right stays, with NULLs.
    Outer,
    /// A value in a column of this name; NULL for no row.
    Scalar(String),
    /// Whether there is a row.
    Exists(String),
    /// Whether the value of the left column `value` is among the rows: true, false or unknown.
    In {
        /// The new column.
        name: String,
        /// The left column.
        value: String,
    },
}

/// The rows of `left`, each with what `right` gives for it.
pub(crate) struct ApplyTable {
    pub left: LogicalPlan,
    pub right: LogicalPlan,
    pub kind: ApplyKind,
    schema: SchemaRef,
}

impl ApplyTable {
    /// An apply. Names of columns must be unique over both sides.
    pub fn new(left: LogicalPlan, right: LogicalPlan, kind: ApplyKind) -> Result<ApplyTable> {
        let mut fields: Vec<Field> =
            left.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        match &kind {
            ApplyKind::Cross | ApplyKind::Outer => {
                fields.extend(
                    right.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true)),
                );
            }
            ApplyKind::Scalar(name) => {
                let data_type =
                    right.schema().fields().first().map_or(DataType::Null, |field| field.data_type().clone());
                fields.push(Field::new(name, data_type, true));
            }
            ApplyKind::Exists(name) | ApplyKind::In { name, .. } => {
                fields.push(Field::new(name, DataType::Boolean, true));
            }
        }
        Ok(ApplyTable { left, right, kind, schema: Arc::new(Schema::new(fields)) })
    }

    /// The table as a plan whose columns have no qualifiers.
    pub fn into_plan(self, name: &str) -> Result<LogicalPlan> {
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        let scan = LogicalPlanBuilder::scan(name, provider_as_source(computed(self)), None)?;
        let exprs: Vec<Expr> = scan
            .schema()
            .columns()
            .into_iter()
            .zip(names)
            .map(|(column, name)| Expr::Column(Column::new(column.relation, column.name)).alias(name))
            .collect();
        scan.project(exprs)?.build()
    }
}

#[async_trait]
impl Rows for ApplyTable {
    const NAME: &'static str = "ApplyTable";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state_of(session)?;
        let left = Box::pin(physical_plan(state, &self.left)).await?;
        // Names of the left side that the right one looks at.
        let own: BTreeSet<&str> =
            self.left.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let names: BTreeSet<String> =
            outer_names(&self.right)?.into_iter().filter(|name| own.contains(name.as_str())).collect();
        let row = OuterRow::new(names.iter().cloned().collect());
        let right = with_placeholders(&self.right, &names)?;
        let state = Parameters::within(state, Some(&row));
        let right = match simple(&state, &right)? {
            Some((query, schema)) => Right::Simple(Mutex::new(query), schema),
            None => Right::Planned(Box::pin(physical_plan(&state, &right)).await?),
        };
        let partition = ApplyPartition {
            schema: Arc::clone(&self.schema),
            left,
            inner: Arc::new(Inner { row, right, kind: self.kind.clone(), schema: Arc::clone(&self.schema) }),
        };
        one_stream(partition, projection, limit)
    }
}

/// The right side as a query that needs no plan, if it is one.
fn simple(state: &SessionState, right: &LogicalPlan) -> Result<Option<(SimpleQuery, SchemaRef)>> {
    let Some(parameters) = Parameters::of(state) else { return Ok(None) };
    let query = SimpleQuery::of_many(&parameters.bound_plan(right.clone())?).map_err(external)?;
    Ok(query.map(|query| (query, Arc::new(right.schema().as_arrow().clone()))))
}

/// What runs for each row of the left side.
enum Right {
    /// A query that needs no plan, and its columns.
    Simple(Mutex<SimpleQuery>, SchemaRef),
    Planned(Arc<dyn ExecutionPlan>),
}

/// A right side that runs many times.
enum RightAgain {
    Simple(SimpleQuery, SchemaRef),
    Planned(Again),
}

impl RightAgain {
    fn of(right: &Right) -> Result<RightAgain> {
        Ok(match right {
            Right::Simple(query, schema) => RightAgain::Simple(next_run(&query.lock())?, Arc::clone(schema)),
            Right::Planned(plan) => RightAgain::Planned(Again::new(Arc::clone(plan))),
        })
    }

    fn schema(&self) -> SchemaRef {
        match self {
            RightAgain::Simple(_, schema) => Arc::clone(schema),
            RightAgain::Planned(again) => again.schema(),
        }
    }

    /// All rows of the next run.
    async fn collect(&mut self, context: &Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        let mut run = match self {
            RightAgain::Planned(again) => return again.collect(context).await,
            RightAgain::Simple(query, _) => next_run(query)?,
        };
        let mut batches = Vec::new();
        while let Some(batch) = run.next().map_err(external)? {
            batches.push(batch);
        }
        Ok(batches)
    }
}

fn next_run(query: &SimpleQuery) -> Result<SimpleQuery> {
    query.again().ok_or_else(|| DataFusionError::Internal("a query that cannot run again".to_owned()))
}

struct ApplyPartition {
    schema: SchemaRef,
    left: Arc<dyn ExecutionPlan>,
    inner: Arc<Inner>,
}

impl fmt::Debug for ApplyPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplyPartition")
    }
}

impl PartitionStream for ApplyPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let inner = Arc::clone(&self.inner);
        let left = match execute_stream(Arc::clone(&self.left), Arc::clone(&context)) {
            Ok(left) => left,
            Err(error) => {
                let stream = futures::stream::iter([Err(error)]);
                return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
            }
        };
        let right = match RightAgain::of(&inner.right) {
            Ok(right) => right,
            Err(error) => {
                let stream = futures::stream::iter([Err(error)]);
                return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
            }
        };
        let start = Running { left, right, inner, context, kept: Kept::default() };
        let stream = futures::stream::try_unfold(start, |mut running| async move {
            let Some(batch) = running.left.next().await.transpose()? else { return Ok(None) };
            let Running { inner, right, context, kept, .. } = &mut running;
            let batch = inner.apply(&batch, right, context, kept).await?;
            Ok::<_, DataFusionError>(Some((batch, running)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, stream))
    }
}

struct Running {
    left: SendableRecordBatchStream,
    right: RightAgain,
    inner: Arc<Inner>,
    context: Arc<TaskContext>,
    kept: Kept,
}

/// Results by the values that they were made for, the oldest first to go.
#[derive(Default)]
struct Kept {
    results: HashMap<Vec<ScalarValue>, RecordBatch>,
    order: VecDeque<Vec<ScalarValue>>,
}

struct Inner {
    right: Right,
    /// The row of the left side that the right one is run for.
    row: Arc<OuterRow>,
    kind: ApplyKind,
    schema: SchemaRef,
}

impl Inner {
    async fn apply(
        &self,
        left: &RecordBatch,
        right: &mut RightAgain,
        context: &Arc<TaskContext>,
        kept: &mut Kept,
    ) -> Result<RecordBatch> {
        let missing = || DataFusionError::Internal("an outer column that is not there".to_owned());
        let columns = self.row.names.iter().map(|name| left.column_by_name(name).ok_or_else(missing));
        let columns = columns.collect::<Result<Vec<&ArrayRef>>>()?;
        let schema = right.schema();
        let mut rights = Vec::with_capacity(left.num_rows());
        let mut began = Instant::now();
        for row in 0..left.num_rows() {
            let values = columns
                .iter()
                .map(|array| ScalarValue::try_from_array(array, row))
                .collect::<Result<Vec<_>>>()?;
            if let Some(known) = kept.results.get(&values) {
                rights.push(known.clone());
                continue;
            }
            self.row.set(&values);
            let mut batches = right.collect(context).await?;
            let result = match batches.len() {
                1 => batches.swap_remove(0),
                _ => concat_batches(&schema, &batches)?,
            };
            if kept.order.len() >= KEPT_MAX
                && let Some(oldest) = kept.order.pop_front()
            {
                kept.results.remove(&oldest);
            }
            kept.order.push_back(values.clone());
            kept.results.insert(values, result.clone());
            rights.push(result);
            // Others may have the thread, and a cancellation is heard.
            if began.elapsed() >= WORK_SPAN {
                tokio::task::yield_now().await;
                began = Instant::now();
            }
        }
        self.combine(left, &rights)
    }

    fn combine(&self, left: &RecordBatch, rights: &[RecordBatch]) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        match &self.kind {
            ApplyKind::Cross | ApplyKind::Outer => {
                let outer = matches!(self.kind, ApplyKind::Outer);
                let mut picks = Vec::new();
                let mut right_picks: Vec<Option<u64>> = Vec::new();
                let mut first = 0_u64;
                for (row, right) in (0_u64..).zip(rights) {
                    let rows = right.num_rows() as u64;
                    picks.extend(std::iter::repeat_n(row, rows as usize));
                    right_picks.extend((first..first + rows).map(Some));
                    first += rows;
                    if rows == 0 && outer {
                        picks.push(row);
                        right_picks.push(None);
                    }
                }
                let rows = picks.len();
                let (picks, right_picks) = (UInt64Array::from(picks), UInt64Array::from(right_picks));
                for column in left.columns() {
                    columns.push(take(column, &picks, None)?);
                }
                let width = left.num_columns();
                for (index, field) in self.schema.fields().iter().skip(width).enumerate() {
                    let parts: Vec<&dyn Array> = rights
                        .iter()
                        .filter_map(|right| right.columns().get(index))
                        .map(AsRef::as_ref)
                        .collect();
                    let all =
                        if parts.is_empty() { new_null_array(field.data_type(), 0) } else { concat(&parts)? };
                    columns.push(take(&all, &right_picks, None)?);
                }
                return self.batch(columns, rows);
            }
            ApplyKind::Scalar(_) => {
                let mut values = Vec::with_capacity(rights.len());
                let data_type =
                    self.schema.fields().last().map_or(DataType::Null, |field| field.data_type().clone());
                for right in rights {
                    values.push(match (right.num_rows(), right.columns().first()) {
                        (1, Some(column)) => ScalarValue::try_from_array(column, 0)?,
                        (0, _) | (_, None) => ScalarValue::try_from(&data_type)?,
                        _ => return Err(DataFusionError::External(Box::new(errors::SUBQUERY_ROWS.error()))),
                    });
                }
                columns.extend(left.columns().iter().cloned());
                columns.push(if values.is_empty() {
                    new_null_array(&data_type, 0)
                } else {
                    ScalarValue::iter_to_array(values)?
                });
            }
            ApplyKind::Exists(_) => {
                columns.extend(left.columns().iter().cloned());
                let found: BooleanArray = rights.iter().map(|right| Some(right.num_rows() > 0)).collect();
                columns.push(Arc::new(found));
            }
            ApplyKind::In { value, .. } => {
                let wanted = left
                    .column_by_name(value)
                    .ok_or_else(|| DataFusionError::Internal("no value to look for".to_string()))?;
                let mut found = Vec::with_capacity(rights.len());
                for (row, right) in rights.iter().enumerate() {
                    let wanted = ScalarValue::try_from_array(wanted, row)?;
                    found.push(is_among(&wanted, right)?);
                }
                columns.extend(left.columns().iter().cloned());
                columns.push(Arc::new(BooleanArray::from(found)));
            }
        }
        self.batch(columns, left.num_rows())
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// IN: true if a row equals the value, else unknown if the value or a row is NULL, else false.
fn is_among(wanted: &ScalarValue, right: &RecordBatch) -> Result<Option<bool>> {
    let Some(column) = right.columns().first().filter(|column| !column.is_empty()) else {
        return Ok(Some(false));
    };
    if wanted.is_null() {
        return Ok(None);
    }
    for row in 0..column.len() {
        if !column.is_null(row) && ScalarValue::try_from_array(column, row)? == *wanted {
            return Ok(Some(true));
        }
    }
    Ok(if column.null_count() > 0 { None } else { Some(false) })
}
