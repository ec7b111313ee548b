//! One query for each row of another: CROSS and OUTER APPLY, and subqueries. The right side is computed for all distinct outer values
//! of many rows at once; for few of them, and where it cannot be, for one after the other.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DataFusionError, Result, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use parking_lot::Mutex;

use crate::again::Again;
use crate::computed::{Rows, computed, one_stream};
use crate::correlated::{is_volatile, outer_names, with_placeholders};
use crate::matched::{ApplyKind, Found, Matching, Values};
use crate::parameters::{OuterRow, Parameters, state_of};
use crate::pause::{WORK_SPAN, with_current_pauses};
use crate::planning::planned_within;
use crate::provider::external;
use crate::simple::{Limits, SimpleQuery};
use crate::unnest::dependent::Unnesting;
use crate::unnest::domain::Domain;

/// Outer values for which a query that needs no plan is run one after the other: planning it takes as long.
const SIMPLE_RUNS_MAX: usize = 64;
/// Outer values for which a query is run one after the other that finds its rows by a key.
const SEEKING_RUNS_MAX: usize = 64;
/// Batches of the left side that are held at once. The first time it is one, for those who want few rows, and then twice as many each time.
const LEFT_BATCHES_MAX: usize = 64;
/// Bytes of the left side beyond which no further batch is held.
const LEFT_BYTES_MAX: usize = 64 << 20;

/// The rows of `left`, each with what `right` gives for it.
pub(crate) struct ApplyTable {
    pub left: LogicalPlan,
    pub right: LogicalPlan,
    kind: ApplyKind,
    /// The right side has no form over many outer values.
    row_by_row: bool,
    /// The left column that is true for the rows that ask for the right side. To others it is empty.
    asked: Option<String>,
    schema: SchemaRef,
}

impl ApplyTable {
    /// Makes an apply. Names of columns must be unique over both sides.
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
        Ok(ApplyTable {
            left,
            right,
            kind,
            row_by_row: false,
            asked: None,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// Makes the apply run for one outer value after the other.
    pub fn row_by_row(self) -> ApplyTable {
        ApplyTable { row_by_row: true, ..self }
    }

    /// Limits the apply to rows whose left column of this name is true.
    pub fn where_asked(self, asked: Option<String>) -> ApplyTable {
        ApplyTable { asked, ..self }
    }

    /// Replaces the plans of the sides. The left one may have more columns.
    pub fn with_sides(&self, left: LogicalPlan, right: LogicalPlan) -> Result<ApplyTable> {
        let (row_by_row, asked) = (self.row_by_row, self.asked.clone());
        Ok(ApplyTable { row_by_row, asked, ..ApplyTable::new(left, right, self.kind.clone())? })
    }

    /// Makes a plan of the table whose columns have no qualifiers.
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

    /// Returns the left column whose value IN looks for.
    fn value(&self) -> Option<&str> {
        match &self.kind {
            ApplyKind::In { value, .. } => Some(value),
            _ => None,
        }
    }
}

#[async_trait]
impl Rows for ApplyTable {
    const NAME: &'static str = "ApplyTable";

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Conditions on left rows are looked at before anything is computed for them.
    fn chooses(&self, condition: &Expr) -> bool {
        let fields = self.left.schema().fields();
        !condition.is_volatile()
            && condition
                .column_refs()
                .into_iter()
                .all(|column| fields.iter().any(|field| *field.name() == column.name))
    }

    fn chosen(&self, condition: Expr) -> Result<Option<ApplyTable>> {
        let own: Vec<Column> = self.left.schema().columns();
        let on_left = condition.transform_up(|part| {
            let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
            Ok(match own.iter().find(|own| own.name == column.name) {
                Some(own) => Transformed::yes(Expr::Column(own.clone())),
                None => Transformed::no(part),
            })
        })?;
        let left = LogicalPlanBuilder::from(self.left.clone()).filter(on_left.data)?.build()?;
        self.with_sides(left, self.right.clone()).map(Some)
    }

    async fn plan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state_of(session)?;
        let fields = self.left.schema().fields();
        // Names of the left side that the right one looks at.
        let used = outer_names(&self.right)?;
        let names: Vec<String> =
            fields.iter().map(|field| field.name()).filter(|name| used.contains(*name)).cloned().collect();
        let wanted = |index: usize| projection.is_none_or(|columns| columns.contains(&index));
        let needed = |index: usize, name: &String| {
            wanted(index)
                || names.contains(name)
                || self.value() == Some(name)
                || self.asked.as_ref() == Some(name)
        };
        let lefts: Vec<usize> = (0..)
            .zip(fields)
            .filter(|(index, field)| needed(*index, field.name()))
            .map(|(index, _)| index)
            .collect();
        let width = fields.len();
        let rights: Vec<usize> = (width..self.schema.fields().len()).filter(|index| wanted(*index)).collect();
        let kept: Vec<usize> = lefts.iter().chain(&rights).copied().collect();
        let schema = Arc::new(self.schema.project(&kept)?);
        let left = match lefts.len() == width {
            true => self.left.clone(),
            false => {
                let columns = self.left.schema().columns().into_iter().enumerate();
                let columns = columns.filter(|(index, _)| lefts.contains(index));
                LogicalPlanBuilder::from(self.left.clone())
                    .project(columns.map(|(_, column)| Expr::Column(column)))?
                    .build()?
            }
        };
        let left = Box::pin(planned_within(state, &left)).await?;
        let position = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let outer: Vec<usize> = names.iter().filter_map(|name| position(name)).collect();
        let matching = Matching {
            kind: self.kind.clone(),
            value: self.value().and_then(position),
            rights: rights.iter().map(|index| index - width).collect(),
            schema: Arc::clone(&schema),
        };
        let right = Box::pin(self.right_side(state, names, &matching)).await?;
        let nothing = RecordBatch::new_empty(Arc::new(self.right.schema().as_arrow().clone()));
        let inner = Inner {
            outer,
            asked: self.asked.as_deref().and_then(position),
            nothing: Arc::new(Found::nothing(matching.looked_at(&nothing)?)),
            right,
            matching,
            every: is_volatile(&self.right)?,
        };
        let partition = ApplyPartition { schema: Arc::clone(&schema), left, inner: Arc::new(inner) };
        let projection: Option<Vec<usize>> = projection.map(|columns| {
            columns.iter().filter_map(|column| kept.iter().position(|own| own == column)).collect()
        });
        one_stream(partition, projection.as_ref(), limit)
    }
}

impl ApplyTable {
    /// Plans the right side for few outer values and for many.
    async fn right_side(
        &self,
        state: &SessionState,
        names: Vec<String>,
        matching: &Matching,
    ) -> Result<RightSide> {
        let own: BTreeSet<String> = names.iter().cloned().collect();
        let alone = names.is_empty();
        let row = OuterRow::new(names.clone());
        let bound = with_placeholders(&self.right, &own)?;
        let row_state = Parameters::within(state, Some(&row));
        let limits = Limits::current();
        let mut one = None;
        let mut runs_max = 0;
        if let Some((query, schema)) = simple(&row_state, &bound)? {
            one = Some(Right::Simple(Mutex::new(query), schema));
            runs_max = limits.rows(SIMPLE_RUNS_MAX);
        } else if alone || self.row_by_row || limits.rows(SEEKING_RUNS_MAX) > 0 {
            let plan = planned_within(&row_state, &bound).await?;
            runs_max = if row.finds_rows() { limits.rows(SEEKING_RUNS_MAX) } else { limits.rows(0) };
            one = Some(Right::Planned(plan));
        }
        if alone || self.row_by_row {
            runs_max = usize::MAX;
        }
        let many = match runs_max {
            usize::MAX => None,
            _ => Some(self.over_domain(state, &own, matching)?),
        };
        Ok(RightSide { row, one, runs_max, many })
    }

    /// Plans the right side over the domain of its outer values: the number, and the columns that are read.
    fn over_domain(
        &self,
        state: &SessionState,
        names: &BTreeSet<String>,
        matching: &Matching,
    ) -> Result<Many> {
        let fields = self.left.schema().fields().iter();
        let fields = fields.filter(|field| names.contains(field.name())).map(|field| field.as_ref().clone());
        let domain = Domain::new(fields);
        let plan = Unnesting::new(&domain, names).plan(&self.right)?;
        let first = domain.columns().len();
        let columns = plan.schema().columns();
        let mut exprs = vec![Expr::Column(Column::new_unqualified(domain.number()))];
        let right = columns.into_iter().skip(first).enumerate();
        let right = right.filter(|(index, _)| matching.looks_at(*index));
        exprs.extend(right.map(|(_, column)| Expr::Column(column)));
        let mut builder = LogicalPlanBuilder::from(plan).project(exprs)?;
        if matches!(self.kind, ApplyKind::Exists(_) | ApplyKind::In { .. }) {
            builder = builder.distinct()?;
        }
        Ok(Many { state: Parameters::within(state, None), plan: builder.build()?, domain })
    }
}

/// Returns the right side as a query that needs no plan, if it is one.
fn simple(state: &SessionState, right: &LogicalPlan) -> Result<Option<(SimpleQuery, SchemaRef)>> {
    let Some(parameters) = Parameters::of(state) else { return Ok(None) };
    let query = SimpleQuery::of_many(&parameters.bound_plan(right.clone())?).map_err(external)?;
    Ok(query.map(|query| (query, Arc::new(right.schema().as_arrow().clone()))))
}

/// The right side.
struct RightSide {
    /// The row of the left side that it is run for.
    row: Arc<OuterRow>,
    /// For one outer value after the other.
    one: Option<Right>,
    /// Outer values for which that is the way.
    runs_max: usize,
    /// For any number of them.
    many: Option<Many>,
}

/// The query that runs for each row of the left side.
enum Right {
    /// A query that needs no plan, and its columns.
    Simple(Mutex<SimpleQuery>, SchemaRef),
    Planned(Arc<dyn ExecutionPlan>),
}

/// The query that runs for many outer values at once. It is planned when it is needed.
struct Many {
    state: SessionState,
    plan: LogicalPlan,
    domain: Arc<Domain>,
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

    /// Runs the plan again and returns all rows.
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
        // The plan around this one may run many times, and does not see this one.
        let left = reset_plan_states(Arc::clone(&self.left))
            .and_then(with_current_pauses)
            .and_then(|left| execute_stream(left, Arc::clone(&context)));
        let left = match left {
            Ok(left) => left,
            Err(error) => {
                let stream = futures::stream::iter([Err(error)]);
                return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
            }
        };
        let held = MemoryConsumer::new("rows with subqueries").register(context.memory_pool());
        let start = Run {
            left,
            inner: Arc::clone(&self.inner),
            context,
            batches_max: 1,
            one: None,
            many: None,
            alone: None,
            ready: VecDeque::new(),
            held,
        };
        let stream = futures::stream::try_unfold(start, |mut run| async move {
            Ok::<_, DataFusionError>(run.next().await?.map(|batch| (batch, run)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, stream))
    }
}

struct Inner {
    /// The indexes of the outer columns in the left side's rows.
    outer: Vec<usize>,
    /// The column that marks the rows for which the right side is needed; `None` for all rows.
    asked: Option<usize>,
    /// The rows of the right side for a left side that needs none.
    nothing: Arc<Found>,
    right: RightSide,
    matching: Matching,
    /// Each row of the left side has rows of its own, even if its outer values are those of another.
    every: bool,
}

/// A dependent join that runs.
struct Run {
    left: SendableRecordBatchStream,
    inner: Arc<Inner>,
    context: Arc<TaskContext>,
    /// Batches that are gathered next.
    batches_max: usize,
    one: Option<RightAgain>,
    many: Option<Again>,
    /// The rows of the right side, if they are the same for all rows.
    alone: Option<Arc<Found>>,
    ready: VecDeque<RecordBatch>,
    held: MemoryReservation,
}

impl Run {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            self.held.free();
            let Some(left) = self.gathered().await? else { return Ok(None) };
            let inner = Arc::clone(&self.inner);
            if !inner.matching.looks_right() {
                self.ready.push_back(inner.matching.left_alone(&left)?);
                continue;
            }
            let columns: Vec<_> =
                inner.outer.iter().filter_map(|at| left.columns().get(*at)).cloned().collect();
            let asked = inner.asked.and_then(|at| left.columns().get(at));
            let values = Values::of_asked(&columns, asked, left.num_rows(), inner.every)?;
            let found = match (columns.is_empty(), &self.alone) {
                _ if values.count() == 0 => Arc::clone(&inner.nothing),
                (true, Some(found)) => Arc::clone(found),
                (alone, _) => {
                    let found = Arc::new(self.found(&values).await?);
                    self.alone = alone.then(|| Arc::clone(&found));
                    found
                }
            };
            self.held.try_grow(found.bytes())?;
            inner.matching.combine(&left, &values.numbers, &found, &mut self.ready)?;
        }
    }

    /// Returns some rows of the left side; `None` at the end.
    async fn gathered(&mut self) -> Result<Option<RecordBatch>> {
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while batches.len() < self.batches_max && bytes < LEFT_BYTES_MAX {
            let Some(batch) = self.left.next().await.transpose()? else { break };
            if batch.num_rows() == 0 {
                continue;
            }
            let own = batch.get_array_memory_size();
            self.held.try_grow(own)?;
            bytes += own;
            batches.push(batch);
        }
        self.batches_max = (self.batches_max * 2).min(LEFT_BATCHES_MAX);
        Ok(match batches.len() {
            0 => None,
            1 => batches.pop(),
            _ => Some(concat_batches(&self.left.schema(), &batches)?),
        })
    }

    /// Returns the right side's rows for some outer values.
    async fn found(&mut self, values: &Values) -> Result<Found> {
        let inner = Arc::clone(&self.inner);
        let right = &inner.right;
        match &right.many {
            Some(many) if values.count() > right.runs_max || right.one.is_none() => {
                let again = match &mut self.many {
                    Some(again) => again,
                    None => {
                        let plan = Box::pin(planned_within(&many.state, &many.plan)).await?;
                        self.many.insert(Again::new(with_current_pauses(plan)?))
                    }
                };
                many.domain.set(values.columns.clone(), values.count())?;
                let batches = again.collect(&self.context).await?;
                Found::of_many(&again.schema(), &batches, values.count())
            }
            _ => self.one_by_one(&inner, values).await,
        }
    }

    async fn one_by_one(&mut self, inner: &Inner, values: &Values) -> Result<Found> {
        let missing = || DataFusionError::Internal("a right side that cannot run".to_owned());
        let again = match &mut self.one {
            Some(again) => again,
            None => {
                let right = inner.right.one.as_ref().ok_or_else(missing)?;
                self.one.insert(RightAgain::of(right)?)
            }
        };
        let mut batches = Vec::new();
        let mut starts = vec![0];
        let (mut rows, mut began) = (0, Instant::now());
        for number in 0..values.count() {
            let row = values.columns.iter().map(|array| ScalarValue::try_from_array(array, number));
            inner.right.row.set(&row.collect::<Result<Vec<_>>>()?);
            for batch in again.collect(&self.context).await? {
                rows += batch.num_rows();
                batches.push(batch);
            }
            starts.push(rows);
            // Others may have the thread, and a cancellation is heard.
            if began.elapsed() >= WORK_SPAN {
                tokio::task::yield_now().await;
                began = Instant::now();
            }
        }
        let batch = concat_batches(&again.schema(), &batches)?;
        Ok(Found::in_order(inner.matching.looked_at(&batch)?, starts))
    }
}
