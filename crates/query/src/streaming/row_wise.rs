//! A query in which each row of the result comes of one row of the stream, run batch by batch.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter, filter_record_batch};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use arrow::util::display::array_value_to_string;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use tsql::SqlError;

use super::evaluation::{Values, of_type, values, values_once};
use super::source_rows::Feed;
use super::streamed_join::{below, source_rows};
use super::{Context, ResultColumns};
use crate::running::Running;
use crate::scalar::plan_error;

mod joined_rows;

use joined_rows::JoinedRows;

/// Characters of a value that an error shows.
const VALUE_CHARS_MAX: usize = 100;

/// A query that runs batch by batch.
pub struct RowWise {
    result: ResultColumns,
    /// The columns of the stream that are read.
    reads: Vec<usize>,
    base: Base,
    /// From the base upwards.
    steps: Vec<Step>,
    running: Running,
}

/// The origin of rows before conditions and select lists.
enum Base {
    /// The stream itself.
    Stream,
    /// Joins of the stream with other tables.
    Joined(Box<JoinedRows>),
}

enum Step {
    Filter { condition: Arc<dyn PhysicalExpr>, kept: Option<Vec<usize>> },
    Project { columns: Vec<Computed>, schema: SchemaRef },
}

/// A column of a select list.
struct Computed {
    expr: Arc<dyn PhysicalExpr>,
    /// The column of the result that is made of it.
    name: Option<String>,
    /// Evaluating it changes something outside.
    acts: bool,
}

/// Rows of a result and what they are made of.
#[derive(Debug)]
pub struct Portion {
    /// Rows of the result.
    pub batch: RecordBatch,
    /// For each of them the index of its row in the batch of the stream, never decreasing.
    pub rows: UInt32Array,
}

/// A row of the stream for which a value could not be computed.
#[derive(Debug, Clone)]
pub struct FailedRow {
    /// The index of the row in the batch of the stream.
    pub row: usize,
    /// The column of the result, if it is known.
    pub column: Option<String>,
    /// The first value that the expression reads, as text.
    pub value: Option<String>,
    /// The error of the row.
    pub error: SqlError,
}

/// The result of transforming a batch.
#[derive(Debug, Default)]
pub struct Transformed {
    /// Rows of the result, in the stream's order.
    pub portions: Vec<Portion>,
    /// Rows left out, in the stream's order, each once.
    pub failed: Vec<FailedRow>,
}

impl RowWise {
    /// Conditions and select lists over the stream alone.
    pub(super) fn of_chain(
        plan: &Arc<dyn ExecutionPlan>,
        result: ResultColumns,
        running: Running,
    ) -> Result<RowWise, SqlError> {
        let mut steps = Vec::new();
        let bottom = steps_above(plan, &mut steps);
        let Some(source) = source_rows(bottom) else {
            return Err(SqlError::internal("a query without its stream"));
        };
        let reads = source.step().columns.clone();
        let mut query = RowWise { result, reads, base: Base::Stream, steps, running };
        query.name_columns();
        Ok(query)
    }

    /// Joins, whose result carries the row's index in its last column.
    pub(super) async fn of_joins(
        plan: Arc<dyn ExecutionPlan>,
        result: ResultColumns,
        feed: &Feed,
        running: Running,
        context: Context,
    ) -> Result<RowWise, SqlError> {
        let mut steps = Vec::new();
        let bottom = Arc::clone(steps_above(&plan, &mut steps));
        let mut carried = plan.schema().fields().len().saturating_sub(1);
        for step in steps.iter().rev() {
            carried = match step {
                Step::Filter { kept, .. } => {
                    kept.as_ref().and_then(|kept| kept.get(carried).copied()).unwrap_or(carried)
                }
                Step::Project { columns, .. } => {
                    let column = columns.get(carried).and_then(|column| column.expr.downcast_ref::<Column>());
                    column.map(Column::index).ok_or_else(|| SqlError::internal("the row's number is lost"))?
                }
            };
        }
        let reads = read_columns(&bottom).unwrap_or_default();
        let joined = JoinedRows::open(bottom, carried, &reads, feed.clone(), &running, context).await?;
        let mut query = RowWise { result, reads, base: Base::Joined(Box::new(joined)), steps, running };
        query.name_columns();
        Ok(query)
    }

    pub(super) fn result(&self) -> &ResultColumns {
        &self.result
    }

    /// Returns the columns of the stream that it reads.
    pub fn reads(&self) -> &[usize] {
        &self.reads
    }

    /// Runs it for the next batch of the stream: the columns that it [reads](Self::reads).
    ///
    /// # Errors
    /// Errors that are not about a value: cancellation, no memory.
    pub async fn run(&mut self, batch: &RecordBatch) -> Result<Transformed, SqlError> {
        let mut failed = Vec::new();
        let portions = match &mut self.base {
            Base::Stream => {
                let rows = UInt32Array::from_iter_values(0..batch.num_rows() as u32);
                vec![Portion { batch: batch.clone(), rows }]
            }
            Base::Joined(joined) => joined.rows(batch, &mut failed).await?,
        };
        let joins = matches!(self.base, Base::Joined(_));
        let mut done = Vec::with_capacity(portions.len());
        for portion in portions {
            done.push(self.stepped(portion, &mut failed)?);
        }
        failed.sort_by_key(|failure| failure.row);
        failed.dedup_by_key(|failure| failure.row);
        if joins && !failed.is_empty() {
            // A row of the stream is refused as a whole.
            for portion in &mut done {
                *portion = without(portion, &failed)?;
            }
        }
        Ok(Transformed { portions: done, failed })
    }

    fn stepped(&self, mut portion: Portion, failed: &mut Vec<FailedRow>) -> Result<Portion, SqlError> {
        for step in &self.steps {
            if portion.batch.num_rows() == 0 {
                let batch = RecordBatch::new_empty(Arc::clone(&self.result.schema));
                return Ok(Portion { batch, rows: portion.rows.slice(0, 0) });
            }
            portion = match step {
                Step::Filter { condition, kept } => {
                    self.filtered(portion, condition, kept.as_deref(), failed)?
                }
                Step::Project { columns, schema } => self.projected(portion, columns, schema, failed)?,
            };
        }
        // The last column may be the number that joins carry.
        let fields = self.result.schema.fields();
        let arrays = fields.iter().zip(portion.batch.columns());
        let arrays = arrays.map(|(field, array)| of_type(array, field.data_type()));
        let batch =
            batch_of(&self.result.schema, arrays.collect::<Result<_, _>>()?, portion.batch.num_rows())?;
        Ok(Portion { batch, rows: portion.rows })
    }

    fn filtered(
        &self,
        portion: Portion,
        condition: &Arc<dyn PhysicalExpr>,
        kept: Option<&[usize]>,
        failed: &mut Vec<FailedRow>,
    ) -> Result<Portion, SqlError> {
        let Values { array, failed: bad } = values(condition, &portion.batch, &self.running)?;
        // NULL is not true, and a row whose condition has no value is NULL here.
        note(&portion, condition, None, bad, failed);
        let portion = chosen(portion, array.as_boolean())?;
        match kept {
            Some(kept) => {
                let batch = portion.batch.project(kept).map_err(|error| SqlError::internal(error))?;
                Ok(Portion { batch, rows: portion.rows })
            }
            None => Ok(portion),
        }
    }

    fn projected(
        &self,
        portion: Portion,
        columns: &[Computed],
        schema: &SchemaRef,
        failed: &mut Vec<FailedRow>,
    ) -> Result<Portion, SqlError> {
        let rows = portion.batch.num_rows();
        let mut arrays = vec![None; columns.len()];
        let mut good: Option<Vec<bool>> = None;
        for (slot, column) in arrays.iter_mut().zip(columns).filter(|(_, column)| !column.acts) {
            let Values { array, failed: bad } = values(&column.expr, &portion.batch, &self.running)?;
            for (row, _) in &bad {
                if let Some(good) = good.get_or_insert_with(|| vec![true; rows]).get_mut(*row) {
                    *good = false;
                }
            }
            note(&portion, &column.expr, column.name.as_deref(), bad, failed);
            *slot = Some(array);
        }
        let mut portion = portion;
        if let Some(good) = good.take() {
            let mask = BooleanArray::from(good);
            for array in arrays.iter_mut().flatten() {
                *array = filter(array, &mask).map_err(|error| SqlError::internal(error))?;
            }
            portion = chosen(portion, &mask)?;
        }
        // Only rows of which everything else is known act, and each acts once.
        let mut acted = vec![true; portion.batch.num_rows()];
        for (slot, column) in arrays.iter_mut().zip(columns).filter(|(_, column)| column.acts) {
            let Values { array, failed: bad } = values_once(&column.expr, &portion.batch, &self.running)?;
            for (row, _) in &bad {
                if let Some(acted) = acted.get_mut(*row) {
                    *acted = false;
                }
            }
            note(&portion, &column.expr, column.name.as_deref(), bad, failed);
            *slot = Some(array);
        }
        let arrays = arrays.into_iter().flatten().collect();
        let batch = batch_of(schema, arrays, portion.batch.num_rows())?;
        let portion = Portion { batch, rows: portion.rows };
        match acted.contains(&false) {
            true => chosen(portion, &BooleanArray::from(acted)),
            false => Ok(portion),
        }
    }

    /// Finds for each computed column the column of the result that it goes into.
    fn name_columns(&mut self) {
        let mut above: Option<Vec<Option<String>>> = None;
        for step in self.steps.iter_mut().rev() {
            let own = match (&above, &*step) {
                (None, Step::Project { columns, .. }) => {
                    let names = self.result.columns.iter().map(|column| Some(column.name.clone()));
                    Some(names.chain(std::iter::repeat(None)).take(columns.len()).collect::<Vec<_>>())
                }
                _ => None,
            };
            let names = own.or_else(|| above.take());
            let Some(names) = names else { continue };
            above = Some(match step {
                Step::Filter { kept: None, .. } => names,
                Step::Filter { kept: Some(kept), .. } => {
                    let width = kept.iter().max().map_or(0, |last| last + 1);
                    let mut below = vec![None; width];
                    for (name, at) in names.into_iter().zip(kept) {
                        if let Some(slot) = below.get_mut(*at) {
                            *slot = name;
                        }
                    }
                    below
                }
                Step::Project { columns, .. } => {
                    let mut below: Vec<Option<String>> = Vec::new();
                    for (column, name) in columns.iter_mut().zip(names) {
                        for at in columns_of(&column.expr) {
                            if below.len() <= at {
                                below.resize(at + 1, None);
                            }
                            if let Some(slot) = below.get_mut(at).filter(|slot| slot.is_none()) {
                                slot.clone_from(&name);
                            }
                        }
                        column.name = name.filter(|name| !name.is_empty());
                    }
                    below
                }
            });
        }
    }
}

/// Returns the columns that the only reading of the stream has.
pub(super) fn read_columns(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<usize>> {
    if let Some(source) = source_rows(plan) {
        return Some(source.step().columns.clone());
    }
    plan.children().into_iter().find_map(read_columns)
}

/// Takes conditions and select lists off a plan, and returns what is below them.
fn steps_above<'p>(plan: &'p Arc<dyn ExecutionPlan>, steps: &mut Vec<Step>) -> &'p Arc<dyn ExecutionPlan> {
    let mut bottom = plan;
    while let Some(input) = below(bottom) {
        if let Some(filter) = bottom.downcast_ref::<FilterExec>() {
            let kept = filter.projection().as_ref().map(|kept| kept.to_vec());
            steps.push(Step::Filter { condition: Arc::clone(filter.predicate()), kept });
        } else if let Some(projection) = bottom.downcast_ref::<ProjectionExec>() {
            let columns = projection.expr().iter().map(|column| Computed {
                expr: Arc::clone(&column.expr),
                name: None,
                acts: acts(&column.expr),
            });
            steps.push(Step::Project { columns: columns.collect(), schema: bottom.schema() });
        }
        bottom = input;
    }
    steps.reverse();
    bottom
}

/// Returns true if evaluating an expression has an effect outside of it.
fn acts(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let own = expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| call.name() == super::ACTING_CALL);
    own || expr.children().into_iter().any(acts)
}

/// Indexes of the columns that an expression reads, the first one first.
fn columns_of(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut found = Vec::new();
    let visited = expr.apply(|part| {
        found.extend(part.downcast_ref::<Column>().map(Column::index));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(visited.is_ok(), "looking at columns does not fail");
    found
}

/// Adds rows without a value to those that are left out.
fn note(
    portion: &Portion,
    expr: &Arc<dyn PhysicalExpr>,
    column: Option<&str>,
    bad: Vec<(usize, SqlError)>,
    failed: &mut Vec<FailedRow>,
) {
    if bad.is_empty() {
        return;
    }
    let read = columns_of(expr).first().and_then(|first| portion.batch.columns().get(*first)).cloned();
    for (at, error) in bad {
        let row = if at < portion.rows.len() { portion.rows.value(at) as usize } else { 0 };
        let value = read.as_ref().and_then(|array| shown(array.as_ref(), at));
        failed.push(FailedRow { row, column: column.map(str::to_owned), value, error });
    }
}

/// Formats a value. Bytes are left out: some stand for dates.
fn shown(array: &dyn Array, at: usize) -> Option<String> {
    if matches!(array.data_type(), DataType::Binary | DataType::FixedSizeBinary(_)) || at >= array.len() {
        return None;
    }
    if array.is_null(at) {
        return Some("NULL".to_owned());
    }
    let text = array_value_to_string(array, at).ok()?;
    Some(match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    })
}

/// Keeps the rows that a mask chooses.
fn chosen(portion: Portion, mask: &BooleanArray) -> Result<Portion, SqlError> {
    if mask.null_count() == 0 && !mask.has_false() {
        return Ok(portion);
    }
    let batch = filter_record_batch(&portion.batch, mask).map_err(|error| SqlError::internal(error))?;
    let rows = filter(&portion.rows, mask).map_err(|error| SqlError::internal(error))?;
    Ok(Portion { batch, rows: rows.as_primitive().clone() })
}

/// Drops the rows of a portion that come from failed rows.
fn without(portion: &Portion, failed: &[FailedRow]) -> Result<Portion, SqlError> {
    let is_good = |row: &u32| failed.binary_search_by_key(&(*row as usize), |failure| failure.row).is_err();
    let mask = BooleanArray::from_iter(portion.rows.values().iter().map(|row| Some(is_good(row))));
    chosen(Portion { batch: portion.batch.clone(), rows: portion.rows.clone() }, &mask)
}

fn batch_of(
    schema: &SchemaRef,
    arrays: Vec<arrow::array::ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
        .map_err(|error| SqlError::internal(error))
}

/// Returns the numbers that a join has carried, as indexes of rows.
fn carried_rows(batch: &RecordBatch, column: usize) -> Result<UInt32Array, SqlError> {
    let numbers = batch
        .columns()
        .get(column)
        .and_then(|array| array.as_primitive_opt::<Int64Type>())
        .ok_or_else(|| SqlError::internal("the row's number is lost"))?;
    Ok(numbers.values().iter().map(|number| u32::try_from(*number).unwrap_or(u32::MAX)).collect())
}

/// Converts the plan's own error to T-SQL's.
fn plan_failure(error: datafusion::common::DataFusionError) -> SqlError {
    plan_error(error)
}
