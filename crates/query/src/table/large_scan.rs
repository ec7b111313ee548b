//! Scans of large tables: several tasks read, choose and compute rows, which come in the order in which they are stored.
//!
//! A table is cut into stripes. A task reads a stripe and takes the steps that look at one row alone: conditions, and
//! expressions over their rows. Columns that the first condition does not need are read only of the rows that it leaves.

use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, ScalarFunctionExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tsql::errors;

use crate::limits::Limits;
use crate::row_scan::RowScan;
use crate::row_steps::{RowStep, is_of_a_row, results, rows_before, truth};
use crate::running;
use crate::scalar::sql_error_of;

/// Bytes of a table up to which one task reads it.
const LARGE_BYTES_MIN: u64 = 4 << 20;
/// Bytes of a stripe.
const STRIPE_BYTES: u64 = 1 << 20;

/// Rows of a large table, and the steps that each of them takes.
pub(crate) struct LargeScanExec {
    scan: Arc<Mutex<Option<Box<dyn RowScan>>>>,
    bytes: u64,
    /// Columns of the scan.
    schema: SchemaRef,
    /// The wording of shown plans.
    access: String,
    steps: Arc<[RowStep]>,
    /// The operators that the steps stand for.
    shown: Option<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

/// Returns true if a scan is worth several tasks. With one processor they still read no more than they have to.
pub(crate) fn is_large(scan: &dyn RowScan) -> bool {
    !Limits::current().hold(scan.bytes(), LARGE_BYTES_MIN)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl LargeScanExec {
    /// Makes a scan of all rows, with the columns of `schema`.
    pub(crate) fn new(
        scan: Box<dyn RowScan>,
        schema: SchemaRef,
        ordering: Option<LexOrdering>,
        access: String,
    ) -> LargeScanExec {
        let equal = EquivalenceProperties::new_with_orderings(Arc::clone(&schema), ordering);
        let one = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(equal, one, EmissionType::Incremental, Boundedness::Bounded);
        LargeScanExec {
            bytes: scan.bytes(),
            scan: Arc::new(Mutex::new(Some(scan))),
            schema,
            access,
            steps: Arc::new([]),
            shown: None,
            properties: Arc::new(properties),
        }
    }

    /// Returns the access to the rows in the words of shown plans.
    pub(crate) fn access(&self) -> &str {
        &self.access
    }

    /// Returns the operators in whose place the scan stands.
    pub(crate) fn shown(&self) -> Option<&Arc<dyn ExecutionPlan>> {
        self.shown.as_ref()
    }

    /// Returns the same scan with the steps of one more operator.
    fn with_steps(&self, steps: Vec<RowStep>, operator: &Arc<dyn ExecutionPlan>) -> LargeScanExec {
        LargeScanExec {
            scan: Arc::clone(&self.scan),
            bytes: self.bytes,
            schema: Arc::clone(&self.schema),
            access: self.access.clone(),
            steps: self.steps.iter().cloned().chain(steps).collect(),
            shown: Some(Arc::clone(operator)),
            properties: Arc::clone(operator.properties()),
        }
    }
}

/// Moves conditions and expressions over rows of large tables to where those are read.
pub(crate) fn with_steps_at_scans(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if !plan.exists(|node| Ok(node.is::<LargeScanExec>()))? {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        let children = node.children();
        let [child] = children.as_slice() else { return Ok(Transformed::no(node)) };
        let Some(scan) = child.downcast_ref::<LargeScanExec>() else { return Ok(Transformed::no(node)) };
        let Some(steps) = steps_of(&node)? else { return Ok(Transformed::no(node)) };
        Ok(Transformed::yes(Arc::new(scan.with_steps(steps, &node))))
    })
    .data()
}

/// Returns the steps of an operator that looks at one row alone, if any thread can take them.
fn steps_of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Vec<RowStep>>> {
    let limits = node.downcast_ref::<FilterExec>().is_some_and(|filter| filter.fetch().is_some());
    let Some(steps) = RowStep::of(node.as_ref()).filter(|_| !limits) else { return Ok(None) };
    for expr in steps.iter().flat_map(RowStep::exprs) {
        if !runs_anywhere(expr)? {
            return Ok(None);
        }
    }
    Ok(Some(steps))
}

/// Returns true if an expression gives the same on any thread: functions of users run in their session, and others may change
/// from call to call.
fn runs_anywhere(expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let session_bound = expr.exists(|part| {
        Ok(part.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| {
            call.fun().signature().volatility != Volatility::Immutable
                || call.fun().name().starts_with("function ")
        }))
    })?;
    Ok(!session_bound)
}

/// A condition over a few columns of the rows that a scan reads.
#[derive(Clone)]
struct FirstCondition {
    /// The columns' places among those of the scan.
    places: Vec<usize>,
    /// The condition over a batch of these columns.
    condition: Arc<dyn PhysicalExpr>,
}

impl FirstCondition {
    /// Returns the condition of the first step, if it needs some columns and not all.
    fn of(schema: &SchemaRef, steps: &[RowStep]) -> Result<Option<FirstCondition>> {
        let Some(RowStep::Filter(condition)) = steps.first() else { return Ok(None) };
        let mut places: Vec<usize> = collect_columns(condition).iter().map(|column| column.index()).collect();
        places.sort_unstable();
        if places.is_empty() || places.len() == schema.fields().len() {
            return Ok(None);
        }
        let needed = schema.project(&places)?;
        let condition = reassign_expr_columns(Arc::clone(condition), &needed)?;
        Ok(Some(FirstCondition { places, condition }))
    }

    /// Returns the rows for which the condition is true, up to one for which it fails, and the error of that.
    fn holds(&self, batch: &RecordBatch) -> (Option<BooleanArray>, Option<DataFusionError>) {
        match truth(&self.condition, batch) {
            Ok(chosen) => (Some(chosen), None),
            Err(error) if is_of_a_row(&sql_error_of(&error)) => {
                let rows = batch.num_rows();
                let good = rows_before(rows, |rows| truth(&self.condition, &batch.slice(0, rows)).ok());
                let known = good.map(|good| {
                    let rest = rows - good.len();
                    good.iter().chain(std::iter::repeat_n(Some(false), rest)).collect()
                });
                (known, Some(error))
            }
            Err(error) => (None, Some(error)),
        }
    }
}

/// A part of the table whose rows take all steps.
struct Stripe {
    scan: Box<dyn RowScan>,
    schema: SchemaRef,
    steps: Arc<[RowStep]>,
    /// The first step, if it is taken while rows are read.
    first: Option<FirstCondition>,
    /// The error behind the rows that were read last.
    failed: Option<DataFusionError>,
}

impl Stripe {
    /// Reads the next rows. `None` at the end.
    fn read(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        if let Err(error) = running::check() {
            return Some(Err(external(error)));
        }
        let batch = match &self.first {
            None => self.scan.next(),
            Some(first) => {
                let failed = &mut self.failed;
                self.scan.next_where(&first.places, &mut |batch| {
                    if failed.is_some() {
                        return None;
                    }
                    let (chosen, error) = first.holds(&batch);
                    *failed = error;
                    chosen
                })
            }
        };
        match batch {
            Some(Ok(batch)) => Some(labelled(&self.schema, &batch)),
            Some(Err(error)) => Some(Err(external(error))),
            None => self.failed.take().map(Err),
        }
    }

    /// Reads all rows with all steps taken, up to the first error.
    fn rows(mut self) -> impl Iterator<Item = Result<RecordBatch>> + Send {
        let steps = Arc::clone(&self.steps);
        let taken = usize::from(self.first.is_some());
        let batches = std::iter::from_fn(move || self.read());
        let results = batches.flat_map(move |batch| results(steps.get(taken..).unwrap_or_default(), batch));
        let mut failed = false;
        let until_error = results.take_while(move |result| !std::mem::replace(&mut failed, result.is_err()));
        until_error.filter(|result| result.as_ref().map_or(true, |batch| batch.num_rows() > 0))
    }
}

fn labelled(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?)
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl fmt::Debug for LargeScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.access)
    }
}

impl DisplayAs for LargeScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.access)
    }
}

impl ExecutionPlan for LargeScanExec {
    fn name(&self) -> &str {
        "LargeScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        // Only a join asks a second time whose rows have no room in memory.
        let scan = self.scan.lock().take().ok_or_else(|| external(errors::OUT_OF_MEMORY.error()))?;
        let first = FirstCondition::of(&self.schema, &self.steps)?;
        let count = usize::try_from(self.bytes / STRIPE_BYTES).unwrap_or(usize::MAX).max(1);
        let (schema, steps) = (Arc::clone(&self.schema), Arc::clone(&self.steps));
        let stripes: Vec<Stripe> = scan
            .partitions(count)
            .into_iter()
            .map(|scan| Stripe {
                scan,
                schema: Arc::clone(&schema),
                steps: Arc::clone(&steps),
                first: first.clone(),
                failed: None,
            })
            .collect();
        let schema = self.properties.equivalence_properties().schema();
        let rows = if stripes.len() < 2 || Handle::try_current().is_err() {
            // Where there is no runtime, and of rows that cannot be cut, this thread reads all.
            futures::stream::iter(stripes.into_iter().flat_map(Stripe::rows)).boxed()
        } else {
            read_ahead(stripes).boxed()
        };
        let mut failed = false;
        let rows = rows.take_while(move |batch| {
            let goes_on = !std::mem::replace(&mut failed, batch.is_err());
            std::future::ready(goes_on)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), rows)))
    }
}

/// Reads stripes in tasks, some more than there are processors, and returns their rows in order.
fn read_ahead(stripes: Vec<Stripe>) -> impl futures::Stream<Item = Result<RecordBatch>> + Send {
    futures::stream::once(async move {
        // Known when the first rows are asked for.
        let running = running::current();
        futures::stream::iter(stripes)
            .map(move |stripe| {
                let running = running.clone();
                // A task and no thread of its own: requests have all of those.
                let read = SpawnedTask::spawn(async move {
                    let read = || stripe.rows().collect::<Vec<_>>();
                    match running {
                        Some(running) => running.step(read),
                        None => read(),
                    }
                });
                async move { read.await.unwrap_or_else(|error| vec![Err(external(error))]) }
            })
            .buffered(processors() + 1)
            .flat_map(futures::stream::iter)
    })
    .flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, col, lit};
    use tsql::SqlError;

    /// Numbers from one to another in batches of ten, with the same numbers beside them. The scan fails at one of them.
    struct Numbers {
        next: i32,
        end: i32,
        bad: Option<i32>,
    }

    fn schema() -> SchemaRef {
        let field = |name| Field::new(name, DataType::Int32, false);
        Arc::new(Schema::new(vec![field("number"), field("same")]))
    }

    impl Iterator for Numbers {
        type Item = std::result::Result<RecordBatch, SqlError>;

        fn next(&mut self) -> Option<Self::Item> {
            let numbers: Int32Array = (self.next..self.end.min(self.next + 10)).collect();
            self.next += 10;
            let first = numbers.iter().flatten().next()?;
            if self.bad.is_some_and(|bad| (first..first + 10).contains(&bad)) {
                return Some(Err(errors::OUT_OF_MEMORY.error()));
            }
            let numbers = Arc::new(numbers);
            Some(Ok(RecordBatch::try_new(schema(), vec![Arc::clone(&numbers) as _, numbers]).unwrap()))
        }
    }

    impl RowScan for Numbers {
        fn rows(&self) -> u64 {
            self.bytes()
        }

        fn bytes(&self) -> u64 {
            (self.end - self.next) as u64 * STRIPE_BYTES / 100
        }

        fn partitions(self: Box<Self>, parts: usize) -> Vec<Box<dyn RowScan>> {
            let (parts, all) = (parts as i32, self.end - self.next);
            let cut = |part: i32| self.next + all * part / parts;
            let scans = (0..parts).map(|part| -> Box<dyn RowScan> {
                Box::new(Numbers { next: cut(part), end: cut(part + 1), bad: self.bad })
            });
            scans.collect()
        }
    }

    fn scan(bad: Option<i32>) -> Arc<dyn ExecutionPlan> {
        let numbers = Box::new(Numbers { next: 0, end: 2000, bad });
        Arc::new(LargeScanExec::new(numbers, schema(), None, "Numbers".to_owned()))
    }

    fn rows(plan: &Arc<dyn ExecutionPlan>) -> Vec<Result<i32>> {
        let stream = plan.execute(0, Arc::default()).unwrap();
        let batches = futures::stream::StreamExt::collect::<Vec<_>>(stream);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let batches = runtime.block_on(batches);
        let numbers = |batch: RecordBatch| batch.column(0).as_primitive::<Int32Type>().values().to_vec();
        let rows = batches.into_iter().flat_map(|batch| match batch {
            Ok(batch) => numbers(batch).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        rows.collect()
    }

    fn numbers(plan: &Arc<dyn ExecutionPlan>) -> Vec<i32> {
        rows(plan).into_iter().map(Result::unwrap).collect()
    }

    /// Rows whose number divided into 60,000 by a condition is greater than `least`: zero has none.
    fn divided(input: Arc<dyn ExecutionPlan>, least: i32) -> Arc<dyn ExecutionPlan> {
        let quotient =
            binary(lit(60_000), Operator::Divide, col("number", &schema()).unwrap(), &schema()).unwrap();
        let condition = binary(quotient, Operator::Gt, lit(least), &schema()).unwrap();
        with_steps_at_scans(Arc::new(FilterExec::try_new(condition, input).unwrap())).unwrap()
    }

    #[test]
    fn stripes_come_in_order_whoever_reads_them() {
        let in_tasks = tokio::runtime::Runtime::new().unwrap();
        let _guard = in_tasks.enter();
        assert_eq!(numbers(&scan(None)), (0..2000).collect::<Vec<_>>());
    }

    #[test]
    fn a_scan_without_a_runtime_reads_the_same() {
        assert_eq!(numbers(&scan(None)), (0..2000).collect::<Vec<_>>());
    }

    #[test]
    fn rows_before_an_error_come_first() {
        let in_tasks = tokio::runtime::Runtime::new().unwrap();
        let _guard = in_tasks.enter();
        let found = rows(&scan(Some(1234)));
        assert_eq!(found.len(), 1231);
        assert!(found.last().unwrap().is_err());
        assert_eq!(found.iter().flatten().copied().collect::<Vec<_>>(), (0..1230).collect::<Vec<_>>());
    }

    #[test]
    fn conditions_are_taken_where_rows_are_read() {
        let in_tasks = tokio::runtime::Runtime::new().unwrap();
        let _guard = in_tasks.enter();
        let positive = binary(col("same", &schema()).unwrap(), Operator::Gt, lit(0), &schema()).unwrap();
        let plan: Arc<dyn ExecutionPlan> = Arc::new(FilterExec::try_new(positive, scan(None)).unwrap());
        let plan = divided(with_steps_at_scans(plan).unwrap(), 599);
        assert!(plan.is::<LargeScanExec>());
        assert_eq!(numbers(&plan), (1..101).collect::<Vec<_>>());
    }

    #[test]
    fn a_condition_that_fails_leaves_the_rows_before() {
        let plan = divided(scan(None), 599);
        let found = rows(&plan);
        assert!(found.iter().all(Result::is_err), "the first row divides by zero");
        assert_eq!(found.len(), 1);
    }
}
