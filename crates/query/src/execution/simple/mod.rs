//! Queries that take longer to plan than to run: a small stored table, or none, with conditions and a select list.
//!
//! They skip the engine's optimiser and its physical plan, nothing else. The same kernels evaluate the bound plan's own
//! expressions over the same batches, in the order in which rows are stored. Queries for which the result might differ are left
//! to the planner.

use std::sync::Arc;

mod chosen;
mod joined;
mod passing;
mod unplanned;

use crate::bind::plan_error;
use crate::grouping::{Grouping, has_one_form};
use crate::key_range::KeyRange;
use crate::lazy_logic::lazy_value;
pub(crate) use crate::limits::Limits;
use crate::parameters::reads_outer_row;
use crate::plan_operator::PlanOperator;
use crate::provider::StoredTable;
use crate::row_scan::RowScan;
use crate::scalar::{Scalar, sql_error_of};
use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{SortOptions, concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{Row, RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, JoinType, ScalarValue};
use datafusion::datasource::{MemTable, source_as_provider};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, FetchType, Filter, Join, LogicalPlan, Operator, Projection,
    SkipType, Subquery, TableScan, Union,
};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use tsql::SqlError;

use chosen::chosen;
use joined::{Joining, Kind, joined};
use passing::passed;
pub use unplanned::without_plan;

/// Rows of a table beyond which the planner is worth its time.
const TABLE_ROWS_MAX: u64 = 8192;
/// Bytes of a table beyond which it is: rows may be long.
const TABLE_BYTES_MAX: u64 = 1 << 20;

/// Sources of a query beyond which the planner is worth its time.
const SOURCES_MAX: usize = 16;
/// Pairs of rows beyond which a join is left to the engine, which keeps an eye on memory.
const PAIRS_MAX: u64 = 1 << 20;

/// Rows of a table beyond which a query that runs for each row of another is planned: keys may find its rows.
const ROWS_AGAIN_MAX: u64 = 256;

/// A simple query that runs.
pub struct SimpleQuery {
    source: Source,
    /// From the source upwards.
    steps: Vec<Step>,
    /// As many rows can come at most.
    most: u64,
}

impl std::fmt::Debug for SimpleQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimpleQuery").field("most", &self.most).finish_non_exhaustive()
    }
}

enum Source {
    /// A single row without columns, yielded once.
    Row(Option<RecordBatch>),
    /// A table, or a range of it.
    Table(Box<dyn RowScan>, Box<(StoredTable, Option<KeyRange>)>),
    /// Rows in memory.
    Batches(std::vec::IntoIter<RecordBatch>),
    /// The rows of several queries, one query after the other.
    Union(Vec<SimpleQuery>, SchemaRef),
    /// Two sides, until they are joined.
    Join(Box<(Arc<Joining>, SimpleQuery, SimpleQuery)>),
    /// All rows, once, sorted, grouped or joined.
    Gathered(Option<RecordBatch>),
    /// No more rows: the error of the row that would have been next.
    Failed(SqlError),
}

#[derive(Clone)]
enum Step {
    Filter(Arc<dyn PhysicalExpr>),
    Project(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
    /// Rows yet to be skipped, and yet to be passed on.
    Limit(usize, Option<usize>),
    /// Keys of all rows, and their order.
    Sort(Vec<(Arc<dyn PhysicalExpr>, SortOptions)>),
    Group(Arc<Grouping>),
}

impl SimpleQuery {
    /// Makes a simple query of the plan, if it is one. Errors: those of opening the table.
    pub(crate) fn of(plan: &LogicalPlan) -> Result<Option<SimpleQuery>, SqlError> {
        Outline::query_of(plan, false)
    }

    /// Makes a simple query of few rows of the plan, if it is one, to be run [many times](Self::again). It may look at
    /// a row around it.
    pub(crate) fn of_many(plan: &LogicalPlan) -> Result<Option<SimpleQuery>, SqlError> {
        Outline::query_of(plan, true)
    }

    /// Returns the next run of a query that runs many times; `None` if its rows can be read once only.
    pub(crate) fn again(&self) -> Option<SimpleQuery> {
        let source = match &self.source {
            Source::Row(row) => Source::Row(row.clone()),
            Source::Batches(batches) => Source::Batches(batches.clone()),
            Source::Union(parts, schema) => Source::Union(
                parts.iter().map(SimpleQuery::again).collect::<Option<Vec<_>>>()?,
                Arc::clone(schema),
            ),
            Source::Join(sides) => {
                let (joining, left, right) = sides.as_ref();
                Source::Join(Box::new((Arc::clone(joining), left.again()?, right.again()?)))
            }
            Source::Table(..) | Source::Gathered(_) | Source::Failed(_) => return None,
        };
        Some(SimpleQuery { source, steps: self.steps.clone(), most: self.most })
    }

    fn over(source: Source, most: u64) -> SimpleQuery {
        SimpleQuery { source, steps: Vec::new(), most }
    }

    fn then(mut self, step: Step) -> SimpleQuery {
        self.steps.push(step);
        self
    }

    /// Returns the query's operators for shown plans.
    pub(crate) fn operators(&self) -> PlanOperator {
        let mut top = match &self.source {
            Source::Row(_) | Source::Batches(_) | Source::Gathered(_) | Source::Failed(_) => {
                PlanOperator::leaf("Constant Scan")
            }
            Source::Table(_, origin) => PlanOperator::leaf(origin.0.access(origin.1.as_ref())),
            Source::Union(parts, _) => {
                PlanOperator::over("Concatenation", parts.iter().rev().map(SimpleQuery::operators).collect())
            }
            Source::Join(sides) => {
                let (joining, left, right) = sides.as_ref();
                let kind = match joining.kind {
                    Kind::Inner => "Hash Match(Inner Join)",
                    Kind::Left => "Hash Match(Left Outer Join)",
                    Kind::Having(true) => "Hash Match(Left Semi Join)",
                    Kind::Having(false) => "Hash Match(Left Anti Semi Join)",
                };
                PlanOperator::over(kind, vec![left.operators(), right.operators()])
            }
        };
        for step in &self.steps {
            let text = match step {
                Step::Filter(_) => "Filter",
                Step::Project(exprs, _) if exprs.iter().all(|expr| expr.is::<Column>()) => continue,
                Step::Project(..) => "Compute Scalar",
                Step::Limit(..) => "Top",
                Step::Sort(_) => "Sort",
                Step::Group(grouping) if grouping.has_keys() => "Hash Match(Aggregate)",
                Step::Group(_) => "Stream Aggregate",
            };
            top = PlanOperator::over(text, vec![top]);
        }
        top
    }

    /// Returns the next rows; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        next_of(&mut self.source, &mut self.steps)
    }
}

/// The state of the analysis that finds a query's steps.
struct Outline {
    /// The number of sources so far.
    sources: usize,
    /// True if the query is to run many times.
    again: bool,
    limits: Limits,
}

impl Outline {
    fn query_of(plan: &LogicalPlan, again: bool) -> Result<Option<SimpleQuery>, SqlError> {
        let limits = Limits::current();
        match limits {
            Limits::Nothing => Ok(None),
            _ => Outline { sources: 0, again, limits }.query(plan, Vec::new()),
        }
    }

    /// Returns a plan's source and steps; `None` if it has one that is not simple. Keeps only rows that satisfy
    /// `conditions`.
    fn query(
        &mut self,
        plan: &LogicalPlan,
        mut conditions: Vec<Expr>,
    ) -> Result<Option<SimpleQuery>, SqlError> {
        let (input, step) = match plan {
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {
                let options = RecordBatchOptions::new().with_row_count(Some(1));
                let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
                return Ok(Some(SimpleQuery::over(
                    Source::Row(Some(row.map_err(|error| SqlError::internal(error))?)),
                    1,
                )));
            }
            LogicalPlan::TableScan(scan) => return self.scan(scan, &conditions),
            LogicalPlan::SubqueryAlias(alias) => return self.query(&alias.input, conditions),
            LogicalPlan::Join(join) => return self.join(join, conditions),
            LogicalPlan::Union(union) => return self.union(union),
            LogicalPlan::Filter(filter) if is_never_true(&filter.predicate) => {
                return Ok(Some(SimpleQuery::over(Source::Row(None), 0)));
            }
            LogicalPlan::Filter(filter) => {
                if split_conjunction(&filter.predicate).into_iter().any(|part| presence(part).is_some()) {
                    return self.filter_by_presence(filter, conditions);
                }
                let Some(mut steps) = chosen(&filter.predicate, filter.input.schema())? else {
                    return Ok(None);
                };
                conditions.push(filter.predicate.clone());
                let Some(last) = steps.pop() else { return Ok(None) };
                let input = self.query(&filter.input, conditions)?;
                (input.map(|input| steps.into_iter().fold(input, SimpleQuery::then)), last)
            }
            LogicalPlan::Projection(projection) => {
                let Some(step) = projected(projection)? else { return Ok(None) };
                let conditions = conditions.iter().filter_map(|condition| before(condition, projection));
                (self.query(&projection.input, conditions.collect())?, step)
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let mut keys = Vec::with_capacity(sort.expr.len());
                for key in &sort.expr {
                    let Some(expr) = physical(&key.expr, sort.input.schema())? else { return Ok(None) };
                    let order = SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
                    keys.push((expr, order));
                }
                (self.query(&sort.input, conditions)?, Step::Sort(keys))
            }
            LogicalPlan::Aggregate(aggregate) => {
                let Some(grouping) = Grouping::of(aggregate, physical)? else { return Ok(None) };
                let input = self.query(&aggregate.input, Vec::new())?;
                // Without rows there may still be a group.
                let input = input.map(|input| SimpleQuery { most: input.most.max(1), ..input });
                (input, Step::Group(Arc::new(grouping)))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(grouping) = Grouping::distinct(input.schema()) else { return Ok(None) };
                (self.query(input, conditions)?, Step::Group(Arc::new(grouping)))
            }
            LogicalPlan::Limit(limit) => {
                let (Ok(SkipType::Literal(skip)), Ok(FetchType::Literal(fetch))) =
                    (limit.get_skip_type(), limit.get_fetch_type())
                else {
                    return Ok(None);
                };
                (self.query(&limit.input, Vec::new())?, Step::Limit(skip, fetch))
            }
            _ => return Ok(None),
        };
        Ok(input.map(|input| input.then(step)))
    }

    /// Adds to the number of sources. Returns true while they are few enough.
    fn has_room(&mut self, sources: usize) -> bool {
        self.sources += sources;
        self.sources <= self.limits.rows(SOURCES_MAX)
    }

    fn scan(&mut self, scan: &TableScan, conditions: &[Expr]) -> Result<Option<SimpleQuery>, SqlError> {
        if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
            return Ok(None);
        }
        let Ok(provider) = source_as_provider(&scan.source) else { return Ok(None) };
        if let Some(table) = provider.downcast_ref::<MemTable>() {
            return Ok(in_memory(table, self.limits));
        }
        let Some(table) = provider.downcast_ref::<StoredTable>() else { return Ok(None) };
        if self.again {
            let rows = table.open_range(None, None)?;
            if !self.limits.hold(rows.rows(), ROWS_AGAIN_MAX)
                || !self.limits.hold(rows.bytes(), TABLE_BYTES_MAX)
            {
                return Ok(None);
            }
            let most = rows.rows();
            let batches = rows.collect::<Result<Vec<_>, _>>()?;
            return Ok(Some(SimpleQuery::over(Source::Batches(batches.into_iter()), most)));
        }
        let range = table.range(conditions);
        let rows = table.open_range(None, range.as_ref())?;
        let small =
            self.limits.hold(rows.rows(), TABLE_ROWS_MAX) && self.limits.hold(rows.bytes(), TABLE_BYTES_MAX);
        let most = rows.rows();
        let origin = Box::new((table.clone(), range));
        Ok(small.then(|| SimpleQuery::over(Source::Table(rows, origin), most)))
    }

    fn union(&mut self, union: &Union) -> Result<Option<SimpleQuery>, SqlError> {
        if !self.has_room(union.inputs.len()) {
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let same = input.schema().fields().iter().zip(union.schema.fields());
            // Coercion is left to the planner.
            if input.schema().fields().len() != union.schema.fields().len()
                || same.into_iter().any(|(own, common)| own.data_type() != common.data_type())
            {
                return Ok(None);
            }
            let Some(part) = self.query(input, Vec::new())? else { return Ok(None) };
            parts.push(part);
        }
        // The first is taken from the end.
        parts.reverse();
        let most = parts.iter().map(|part| part.most).sum();
        Ok(Some(SimpleQuery::over(Source::Union(parts, loose(&union.schema)), most)))
    }

    /// Plans an inner or left join by equal values.
    fn join(&mut self, join: &Join, mut conditions: Vec<Expr>) -> Result<Option<SimpleQuery>, SqlError> {
        let kind = match join.join_type {
            JoinType::Inner => Kind::Inner,
            JoinType::Left => Kind::Left,
            _ => return Ok(None),
        };
        if !join.on.is_empty() || !self.has_room(2) {
            return Ok(None);
        }
        let sides = Sides { left: join.left.schema(), right: join.right.schema(), pairs: &join.schema };
        let own: Vec<Expr> = join.filter.iter().flat_map(split_conjunction).cloned().collect();
        let Some((mut keys, condition)) = sides.keys_of(own.iter())? else { return Ok(None) };
        if kind == Kind::Inner {
            // A join without a condition has it in WHERE, which is looked at above once more.
            let further = conditions.iter().flat_map(split_conjunction);
            for part in further {
                keys.extend(sides.key_of(part)?);
            }
        }
        if keys.is_empty() {
            return Ok(None);
        }
        let of_left = conditions.clone();
        if kind == Kind::Left {
            // Those above hold for pairs, not for rows of the right side.
            conditions.clear();
        }
        conditions.extend(own.iter().cloned());
        let of_left = if kind == Kind::Inner { conditions.clone() } else { of_left };
        let Some(left) = self.query(&join.left, of_left)? else { return Ok(None) };
        let Some(right) = self.query(&join.right, conditions)? else { return Ok(None) };
        let joining =
            Joining { kind, keys, condition, pairs: loose(&join.schema), right: loose(join.right.schema()) };
        Ok(joined_query(joining, left, right))
    }

    /// Conditions among which there is EXISTS or NOT EXISTS, each with an equality of values inside and outside.
    fn filter_by_presence(
        &mut self,
        filter: &Filter,
        mut conditions: Vec<Expr>,
    ) -> Result<Option<SimpleQuery>, SqlError> {
        let (mut presences, mut plain) = (Vec::new(), Vec::new());
        for part in split_conjunction(&filter.predicate) {
            match presence(part) {
                Some(presence) => presences.push(presence),
                None => plain.push(part.clone()),
            }
        }
        if !self.has_room(1 + presences.len()) {
            return Ok(None);
        }
        let schema = filter.input.schema();
        let mut first = Vec::new();
        if let Some(condition) = plain.into_iter().reduce(Expr::and) {
            let Some(steps) = chosen(&condition, schema)? else { return Ok(None) };
            conditions.push(condition);
            first = steps;
        }
        let Some(mut query) = self.query(&filter.input, conditions)? else { return Ok(None) };
        query.steps.extend(first);
        for (subquery, wanted) in presences {
            let Some(inside) = Inside::of(&subquery.subquery) else { return Ok(None) };
            let right = inside.plan.schema();
            let Ok(pairs) = schema.join(right) else { return Ok(None) };
            let sides = Sides { left: schema, right, pairs: &pairs };
            let Some((keys, condition)) = sides.keys_of(inside.across.iter())? else { return Ok(None) };
            if keys.is_empty() {
                return Ok(None);
            }
            let mut step = Vec::new();
            if let Some(own) = inside.own.iter().cloned().reduce(Expr::and) {
                let Some(steps) = chosen(&own, right)? else { return Ok(None) };
                step = steps;
            }
            let Some(mut rows) = self.query(inside.plan, inside.own)? else { return Ok(None) };
            rows.steps.extend(step);
            let joining = Joining {
                kind: Kind::Having(wanted),
                keys,
                condition,
                pairs: loose(&pairs),
                right: loose(right),
            };
            match joined_query(joining, query, rows) {
                Some(joined) => query = joined,
                None => return Ok(None),
            }
        }
        Ok(Some(query))
    }
}

/// Rows in memory, if they are few.
fn in_memory(table: &MemTable, limits: Limits) -> Option<SimpleQuery> {
    let mut batches = Vec::new();
    for partition in &table.batches {
        batches.extend(partition.try_read().ok()?.iter().cloned());
    }
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let bytes: u64 = batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum();
    let small = limits.hold(rows, TABLE_ROWS_MAX) && limits.hold(bytes, TABLE_BYTES_MAX);
    small.then(|| SimpleQuery::over(Source::Batches(batches.into_iter()), rows))
}

/// Makes a join, if it is small enough.
fn joined_query(joining: Joining, left: SimpleQuery, right: SimpleQuery) -> Option<SimpleQuery> {
    let pairs = left.most.checked_mul(right.most.max(1)).filter(|pairs| *pairs <= PAIRS_MAX)?;
    let most = if matches!(joining.kind, Kind::Having(_)) { left.most } else { pairs };
    Some(SimpleQuery::over(Source::Join(Box::new((Arc::new(joining), left, right))), most))
}

/// Returns the query of an EXISTS, and true if rows are wanted of it.
fn presence(condition: &Expr) -> Option<(&Subquery, bool)> {
    match condition {
        Expr::Exists(exists) => Some((&exists.subquery, !exists.negated)),
        Expr::Not(inner) => presence(inner).map(|(subquery, wanted)| (subquery, !wanted)),
        _ => None,
    }
}

/// The query of an EXISTS.
struct Inside<'p> {
    plan: &'p LogicalPlan,
    /// Conditions on its own rows.
    own: Vec<Expr>,
    /// Conditions that look at the row outside, whose columns stand there as columns.
    across: Vec<Expr>,
}

impl<'p> Inside<'p> {
    /// Finds the rows that a query chooses among, and its conditions; `None` if it does more than that.
    fn of(plan: &'p LogicalPlan) -> Option<Inside<'p>> {
        let mut inside = Inside { plan, own: Vec::new(), across: Vec::new() };
        // The select list of EXISTS has no effect.
        while let LogicalPlan::Projection(projection) = inside.plan {
            inside.plan = &projection.input;
        }
        while let LogicalPlan::Filter(filter) = inside.plan {
            for part in split_conjunction(&filter.predicate) {
                match part.contains_outer() {
                    true => inside.across.push(as_column(part)?),
                    false => inside.own.push(part.clone()),
                }
            }
            inside.plan = &filter.input;
        }
        Some(inside)
    }
}

/// Replaces the columns of the row outside in a condition.
fn as_column(condition: &Expr) -> Option<Expr> {
    let rewritten = condition.clone().transform(|part| match part {
        Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
        part => Ok(Transformed::no(part)),
    });
    rewritten.ok().map(|rewritten| rewritten.data)
}

/// The columns of a join.
struct Sides<'s> {
    left: &'s DFSchema,
    right: &'s DFSchema,
    pairs: &'s DFSchema,
}

/// Values of both sides that are equal in a pair, and what else holds for it.
type Keys = (Vec<Key>, Option<Arc<dyn PhysicalExpr>>);
type Key = (Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>);

impl Sides<'_> {
    /// Separates the equal values from the other conditions; `None` if one is not simple.
    fn keys_of<'e>(&self, conditions: impl Iterator<Item = &'e Expr>) -> Result<Option<Keys>, SqlError> {
        let (mut keys, mut rest) = (Vec::new(), Vec::new());
        for condition in conditions {
            match self.key_of(condition)? {
                Some(key) => keys.push(key),
                None => rest.push(condition.clone()),
            }
        }
        let Some(rest) = rest.into_iter().reduce(Expr::and) else { return Ok(Some((keys, None))) };
        if !is_of(&rest, self.pairs) {
            return Ok(None);
        }
        Ok(physical(&rest, self.pairs)?.map(|condition| (keys, Some(condition))))
    }

    /// Returns the values that a condition equates, one of each side.
    fn key_of(&self, condition: &Expr) -> Result<Option<Key>, SqlError> {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
            return Ok(None);
        };
        let (left, right) = match (is_of(left, self.left), is_of(right, self.right)) {
            (true, true) => (left, right),
            _ if is_of(right, self.left) && is_of(left, self.right) => (right, left),
            _ => return Ok(None),
        };
        let (Ok(one), Ok(other)) = (left.get_type(self.left), right.get_type(self.right)) else {
            return Ok(None);
        };
        if one != other || !has_one_form(&one) {
            return Ok(None);
        }
        Ok(physical(left, self.left)?.zip(physical(right, self.right)?))
    }
}

/// Returns true if an expression has columns, and all of them are of `schema`.
fn is_of(expr: &Expr, schema: &DFSchema) -> bool {
    let columns = expr.column_refs();
    !columns.is_empty()
        && !expr.contains_outer()
        && columns.into_iter().all(|column| schema.maybe_index_of_column(column).is_some())
}

/// Returns true if a condition holds for no row whatever: it compares with NULL.
fn is_never_true(condition: &Expr) -> bool {
    match condition {
        Expr::Literal(ScalarValue::Boolean(value), _) => *value != Some(true),
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And => is_never_true(&binary.left) || is_never_true(&binary.right),
            Operator::Or => is_never_true(&binary.left) && is_never_true(&binary.right),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => is_null(&binary.left) || is_null(&binary.right),
            _ => false,
        },
        _ => false,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// Fields without NOT NULL: a kernel may know less than the plan.
fn loose(schema: &DFSchema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Returns an expression's values for all rows of a batch.
fn values_of(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef, SqlError> {
    let values = expr.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
    values.map_err(|error| sql_error_of(&error))
}

/// Returns the next rows behind the last of the steps.
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

/// Returns the next rows of a source.
fn rows_of(source: &mut Source) -> Result<Option<RecordBatch>, SqlError> {
    if let Source::Join(sides) = source {
        let (joining, left, right) = sides.as_mut();
        *source = Source::Gathered(joined(joining, left, right)?);
    }
    match source {
        Source::Row(row) | Source::Gathered(row) => Ok(row.take()),
        Source::Table(scan, _) => scan.next().transpose(),
        Source::Batches(batches) => Ok(batches.next()),
        Source::Union(parts, schema) => {
            while let Some(part) = parts.last_mut() {
                if let Some(batch) = part.next()? {
                    return relabelled(&batch, schema).map(Some);
                }
                parts.pop();
            }
            Ok(None)
        }
        Source::Join(_) => Err(SqlError::internal("a join that has not been made")),
        Source::Failed(error) => Err(error.clone()),
    }
}

/// Rows under the names of another schema.
fn relabelled(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)
        .map_err(|error| SqlError::internal(error))
}

/// Sorts all rows by their keys; `None` for no rows.
fn in_order_of(
    keys: &[(Arc<dyn PhysicalExpr>, SortOptions)],
    batches: &[RecordBatch],
) -> Result<Option<RecordBatch>, SqlError> {
    let Some(first) = batches.first() else { return Ok(None) };
    let all = concat_batches(&first.schema(), batches).map_err(|error| SqlError::internal(error))?;
    let columns = keys.iter().map(|(expr, _)| values_of(expr, &all)).collect::<Result<Vec<_>, _>>()?;
    let fields = columns.iter().zip(keys);
    let fields =
        fields.map(|(column, (_, order))| SortField::new_with_options(column.data_type().clone(), *order));
    let rows = RowConverter::new(fields.collect())
        .and_then(|converter| converter.convert_columns(&columns))
        .map_err(|error| SqlError::internal(error))?;
    // Rows that are alike stay as they are stored.
    let mut order: Vec<(u32, Row<'_>)> = (0..).zip(&rows).collect();
    order.sort_by_key(|(_, key)| *key);
    let order = UInt32Array::from_iter_values(order.into_iter().map(|(row, _)| row));
    take_record_batch(&all, &order).map(Some).map_err(|error| SqlError::internal(error))
}

impl Step {
    fn apply(&mut self, batch: RecordBatch) -> Result<RecordBatch, SqlError> {
        match self {
            Step::Filter(condition) => {
                let chosen = values_of(condition, &batch)?;
                let chosen = chosen
                    .as_boolean_opt()
                    .ok_or_else(|| SqlError::internal("a condition that is not a truth value"))?;
                filter_record_batch(&batch, chosen).map_err(|error| SqlError::internal(error))
            }
            Step::Project(exprs, schema) => {
                let rows = batch.num_rows();
                let columns =
                    exprs.iter().map(|expr| values_of(expr, &batch)).collect::<Result<Vec<_>, _>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
                    .map_err(|error| SqlError::internal(error))
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
    Ok(Some(Step::Project(exprs, loose(&projection.schema))))
}

/// Rewrites a condition on a projection's rows for the rows below it. `None`: it is on computed values.
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

/// Returns the expression as the engine evaluates it, if it needs none of the planner's rewriting.
fn physical(expr: &Expr, schema: &DFSchema) -> Result<Option<Arc<dyn PhysicalExpr>>, SqlError> {
    if !is_plain(expr, schema) {
        return Ok(None);
    }
    let lazy = lazy_value(expr.clone()).map_err(plan_error)?;
    create_physical_expr(&lazy, schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())
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
        Expr::TryCast(cast) => is_plain(&cast.expr, schema),
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
            (call.func.inner().is::<Scalar>() || reads_outer_row(&call.func))
                && call.args.iter().all(|argument| is_plain(argument, schema))
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
