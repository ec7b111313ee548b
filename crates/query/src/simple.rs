//! Queries that take longer to plan than to run: a small stored table, or none, with conditions and a select list.
//!
//! They skip the engine's optimiser and its physical plan, nothing else: the bound plan's own expressions are evaluated by
//! the same kernels over the same batches, in the order in which rows are stored. Whatever is not surely the same is left to
//! the planner.

use std::sync::Arc;

use super::bind::plan_error;
use super::grouping::Grouping;
use super::provider::{RowScan, StoredTable};
use super::scalar::{Scalar, sql_error_of};
use arrow::array::{AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{SortOptions, concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{Row, RowConverter, SortField};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, FetchType, LogicalPlan, Operator, Projection, SkipType,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tsql::SqlError;

/// Rows of a table beyond which the planner is worth its time.
const TABLE_ROWS_MAX: u64 = 8192;
/// The same of its bytes: those rows may be long.
const TABLE_BYTES_MAX: u64 = 1 << 20;

/// A simple query that runs.
pub(super) struct SimpleQuery {
    source: Source,
    /// From the source upwards.
    steps: Vec<Step>,
}

enum Source {
    /// One row without columns, once.
    Row(Option<RecordBatch>),
    Table(Box<dyn RowScan>),
    /// All rows, once, sorted or grouped.
    Gathered(Option<RecordBatch>),
}

enum Step {
    Filter(Arc<dyn PhysicalExpr>),
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
    /// Rows yet to be skipped, and yet to be passed on.
    Limit(usize, Option<usize>),
    /// Keys of all rows, and their order.
    Sort(Vec<(Arc<dyn PhysicalExpr>, SortOptions)>),
    Group(Box<Grouping>),
}

impl SimpleQuery {
    /// The query, if it is a simple one. Errors: those of opening the table.
    pub fn of(plan: &LogicalPlan) -> Result<Option<SimpleQuery>, SqlError> {
        let mut query = SimpleQuery { source: Source::Row(None), steps: Vec::new() };
        Ok(query.add(plan, Vec::new())?.then_some(query))
    }

    /// Adds a plan's steps; false if it has one that is not simple. Only rows that satisfy `conditions` are wanted of it.
    fn add(&mut self, plan: &LogicalPlan, mut conditions: Vec<Expr>) -> Result<bool, SqlError> {
        match plan {
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {
                let options = RecordBatchOptions::new().with_row_count(Some(1));
                let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
                self.source = Source::Row(Some(row.map_err(SqlError::internal)?));
                Ok(true)
            }
            LogicalPlan::TableScan(scan) => {
                if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
                    return Ok(false);
                }
                let Ok(provider) = source_as_provider(&scan.source) else { return Ok(false) };
                let Some(table) = provider.downcast_ref::<StoredTable>() else { return Ok(false) };
                let rows = table.open(None, &conditions)?;
                let small = rows.rows() <= TABLE_ROWS_MAX && rows.bytes() <= TABLE_BYTES_MAX;
                self.source = Source::Table(rows);
                Ok(small)
            }
            LogicalPlan::SubqueryAlias(alias) => self.add(&alias.input, conditions),
            LogicalPlan::Filter(filter) => {
                let Some(condition) = physical(&filter.predicate, filter.input.schema())? else {
                    return Ok(false);
                };
                conditions.push(filter.predicate.clone());
                let simple = self.add(&filter.input, conditions)?;
                self.steps.push(Step::Filter(condition));
                Ok(simple)
            }
            LogicalPlan::Projection(projection) => {
                let Some(step) = projected(projection)? else { return Ok(false) };
                let conditions = conditions.iter().filter_map(|condition| before(condition, projection));
                let simple = self.add(&projection.input, conditions.collect())?;
                self.steps.push(step);
                Ok(simple)
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let mut keys = Vec::with_capacity(sort.expr.len());
                for key in &sort.expr {
                    let Some(expr) = physical(&key.expr, sort.input.schema())? else { return Ok(false) };
                    let order = SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
                    keys.push((expr, order));
                }
                let simple = self.add(&sort.input, conditions)?;
                self.steps.push(Step::Sort(keys));
                Ok(simple)
            }
            LogicalPlan::Aggregate(aggregate) => {
                let Some(grouping) = Grouping::of(aggregate, physical)? else { return Ok(false) };
                let simple = self.add(&aggregate.input, Vec::new())?;
                self.steps.push(Step::Group(Box::new(grouping)));
                Ok(simple)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(grouping) = Grouping::distinct(input.schema()) else { return Ok(false) };
                let simple = self.add(input, conditions)?;
                self.steps.push(Step::Group(Box::new(grouping)));
                Ok(simple)
            }
            LogicalPlan::Limit(limit) => {
                let (Ok(SkipType::Literal(skip)), Ok(FetchType::Literal(fetch))) =
                    (limit.get_skip_type(), limit.get_fetch_type())
                else {
                    return Ok(false);
                };
                let simple = self.add(&limit.input, Vec::new())?;
                self.steps.push(Step::Limit(skip, fetch));
                Ok(simple)
            }
            _ => Ok(false),
        }
    }

    /// The next rows; None at the end.
    pub fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        next_of(&mut self.source, &mut self.steps)
    }
}

/// The next rows behind the last of the steps.
fn next_of(source: &mut Source, steps: &mut [Step]) -> Result<Option<RecordBatch>, SqlError> {
    // All rows are there before the first of a sort, or of a group, can be passed on.
    let gathering = steps.iter().rposition(|step| matches!(step, Step::Sort(_) | Step::Group(_)));
    if let Some(position) = gathering
        && let Some((before, rest)) = steps.split_at_mut_checked(position)
        && let Some((step, after)) = rest.split_first_mut()
    {
        if !matches!(source, Source::Gathered(_)) {
            let mut batches = Vec::new();
            while let Some(batch) = next_of(source, before)? {
                batches.push(batch);
            }
            *source = Source::Gathered(match step {
                Step::Sort(keys) => in_order_of(keys, &batches)?,
                Step::Group(grouping) => grouping.groups(&batches)?,
                _ => None,
            });
        }
        return passed(source, after);
    }
    passed(source, steps)
}

/// The next rows of the source that some step leaves any of. None of the steps needs all rows.
fn passed(source: &mut Source, steps: &mut [Step]) -> Result<Option<RecordBatch>, SqlError> {
    loop {
        if steps.iter().any(|step| matches!(step, Step::Limit(_, Some(0)))) {
            return Ok(None);
        }
        let next = match source {
            Source::Row(row) | Source::Gathered(row) => row.take().map(Ok::<_, SqlError>),
            Source::Table(scan) => scan.next(),
        };
        let Some(batch) = next else { return Ok(None) };
        let mut batch = batch?;
        for step in &mut *steps {
            if batch.num_rows() == 0 {
                break;
            }
            batch = step.apply(batch)?;
        }
        if batch.num_rows() > 0 {
            return Ok(Some(batch));
        }
    }
}

/// All rows in the order of their keys; None for no rows.
fn in_order_of(
    keys: &[(Arc<dyn PhysicalExpr>, SortOptions)],
    batches: &[RecordBatch],
) -> Result<Option<RecordBatch>, SqlError> {
    let Some(first) = batches.first() else { return Ok(None) };
    let all = concat_batches(&first.schema(), batches).map_err(SqlError::internal)?;
    let columns =
        keys.iter().map(|(expr, _)| expr.evaluate(&all).and_then(|value| value.into_array(all.num_rows())));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| sql_error_of(&error))?;
    let fields = columns.iter().zip(keys);
    let fields =
        fields.map(|(column, (_, order))| SortField::new_with_options(column.data_type().clone(), *order));
    let rows = RowConverter::new(fields.collect())
        .and_then(|converter| converter.convert_columns(&columns))
        .map_err(SqlError::internal)?;
    // Rows that are alike stay as they are stored.
    let mut order: Vec<(u32, Row<'_>)> = (0..).zip(&rows).collect();
    order.sort_by_key(|(_, key)| *key);
    let order = UInt32Array::from_iter_values(order.into_iter().map(|(row, _)| row));
    take_record_batch(&all, &order).map(Some).map_err(SqlError::internal)
}

impl Step {
    fn apply(&mut self, batch: RecordBatch) -> Result<RecordBatch, SqlError> {
        match self {
            Step::Filter(condition) => {
                let chosen = condition
                    .evaluate(&batch)
                    .and_then(|value| value.into_array(batch.num_rows()))
                    .map_err(|error| sql_error_of(&error))?;
                let chosen = chosen
                    .as_boolean_opt()
                    .ok_or_else(|| SqlError::internal("a condition that is not a truth value"))?;
                filter_record_batch(&batch, chosen).map_err(SqlError::internal)
            }
            Step::Project(exprs, schema) => {
                let rows = batch.num_rows();
                let columns = exprs
                    .iter()
                    .map(|expr| expr.evaluate(&batch).and_then(|value| value.into_array(rows)))
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| sql_error_of(&error))?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
                    .map_err(SqlError::internal)
            }
            Step::Limit(skip, fetch) => {
                let skipped = batch.num_rows().min(*skip);
                *skip -= skipped;
                let left = batch.num_rows() - skipped;
                let passed = fetch.map_or(left, |fetch| fetch.min(left));
                if let Some(fetch) = fetch {
                    *fetch -= passed;
                }
                Ok(batch.slice(skipped, passed))
            }
            Step::Sort(_) | Step::Group(_) => Err(SqlError::internal("a sort or a group of some rows")),
        }
    }
}

fn projected(projection: &Projection) -> Result<Option<Step>, SqlError> {
    let mut exprs = Vec::with_capacity(projection.expr.len());
    for expr in &projection.expr {
        match physical(expr, projection.input.schema())? {
            Some(expr) => exprs.push(expr),
            None => return Ok(None),
        }
    }
    // Without NOT NULL: a kernel may know less than the plan.
    let fields = projection.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Ok(Some(Step::Project(exprs, Arc::new(Schema::new(fields.collect::<Vec<_>>())))))
}

/// A condition on a projection's rows as one on the rows that it is made of; None: it is on computed values.
fn before(condition: &Expr, projection: &Projection) -> Option<Expr> {
    let mut plain = true;
    let rewritten = condition.clone().transform(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let source = projection.expr.iter().find_map(|expr| match expr {
            Expr::Alias(alias) if alias.name == column.name => Some(alias.expr.as_ref()),
            Expr::Column(own) if own.name == column.name => Some(expr),
            _ => None,
        });
        match source {
            Some(Expr::Column(source)) => {
                Ok(Transformed::new(Expr::Column(source.clone()), true, TreeNodeRecursion::Jump))
            }
            _ => {
                plain = false;
                Ok(Transformed::no(part))
            }
        }
    });
    rewritten.ok().map(|rewritten| rewritten.data).filter(|_| plain)
}

/// The expression as the engine evaluates it, if it needs none of the planner's rewriting.
fn physical(expr: &Expr, schema: &DFSchema) -> Result<Option<Arc<dyn PhysicalExpr>>, SqlError> {
    if !is_plain(expr, schema) {
        return Ok(None);
    }
    create_physical_expr(expr, schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())
        .map(Some)
        .map_err(plan_error)
}

/// Columns, constants, comparisons of equal types, logic, and functions of our own: nothing that is to be coerced, and
/// no queries.
fn is_plain(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => is_plain(&alias.expr, schema),
        Expr::Not(inner) | Expr::IsNull(inner) | Expr::IsNotNull(inner) => is_plain(inner, schema),
        Expr::Cast(cast) => is_plain(&cast.expr, schema),
        Expr::BinaryExpr(binary) => {
            is_plain(&binary.left, schema)
                && is_plain(&binary.right, schema)
                && operands_agree(&binary.left, binary.op, &binary.right, schema)
        }
        Expr::Case(case) => {
            let plain = |part: &Expr| is_plain(part, schema);
            let results = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            let mut types = results.clone().map(|result| result.get_type(schema).ok());
            let first = types.next().flatten();
            case.expr.is_none()
                && first.is_some()
                && types.all(|other| other == first)
                && case.when_then_expr.iter().all(|(when, _)| plain(when))
                && results.into_iter().all(|result| plain(result))
        }
        Expr::InList(list) => {
            let own = list.expr.get_type(schema).ok();
            own.is_some()
                && is_plain(&list.expr, schema)
                && list
                    .list
                    .iter()
                    .all(|value| matches!(value, Expr::Literal(..)) && value.get_type(schema).ok() == own)
        }
        Expr::ScalarFunction(call) => {
            call.func.inner().is::<Scalar>() && call.args.iter().all(|argument| is_plain(argument, schema))
        }
        _ => false,
    }
}

fn operands_agree(left: &Expr, operator: Operator, right: &Expr, schema: &DFSchema) -> bool {
    let (Ok(left), Ok(right)) = (left.get_type(schema), right.get_type(schema)) else { return false };
    match operator {
        Operator::And | Operator::Or => left == DataType::Boolean && right == DataType::Boolean,
        Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
            left == right
        }
        _ => false,
    }
}
