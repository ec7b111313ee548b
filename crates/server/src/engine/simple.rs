//! Queries that take longer to plan than to run: a small stored table, or none, with conditions and a select list.
//!
//! They skip the engine's optimiser and its physical plan, nothing else: the bound plan's own expressions are evaluated by
//! the same kernels over the same batches, in the order in which rows are stored. Whatever is not surely the same is left to
//! the planner.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, ExprSchemable, FetchType, LogicalPlan, Operator, Projection, SkipType};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use store::StoreError;

use super::bind::plan_error;
use super::provider::StoredTable;
use super::scalar::{Scalar, sql_error_of};
use crate::sql_error::SqlError;
use crate::storage::Scan;

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
    Table(Scan),
}

enum Step {
    Filter(Arc<dyn PhysicalExpr>),
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
    /// Rows yet to be skipped, and yet to be passed on.
    Limit(usize, Option<usize>),
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
                let rows = table.open(None, &conditions).map_err(crate::session::work::store_error)?;
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
        loop {
            if self.steps.iter().any(|step| matches!(step, Step::Limit(_, Some(0)))) {
                return Ok(None);
            }
            let next = match &mut self.source {
                Source::Row(row) => row.take().map(Ok::<_, StoreError>),
                Source::Table(scan) => scan.next(),
            };
            let Some(batch) = next else { return Ok(None) };
            let mut batch = batch.map_err(crate::session::work::store_error)?;
            for step in &mut self.steps {
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
