//! The order of inner joins over large tables: the pair first that leaves the fewest rows, and the smaller side hashed.
//!
//! Sizes are estimated from the first rows of each table: which part of them its conditions leave, and the number of different values of
//! the columns by which it is joined. Queries over small tables are joined as they are written.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Expr, Filter, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, TableScan,
};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::create_physical_expr;

use crate::limits::Limits;
use crate::provider::StoredTable;

/// Bytes of all joined tables up to which they are joined as they are written.
const SMALL_BYTES_MAX: u64 = 4 << 20;
/// Inputs of one tree of joins from which on their order is not looked for.
const INPUTS_MAX: usize = 24;
/// The share of rows that a condition leaves of which nothing is known.
const UNKNOWN_SHARE: f64 = 0.3;
/// Groups of so many rows have one row.
const ROWS_OF_GROUP: f64 = 5.0;
/// Rows of an operator of which nothing is known.
const UNKNOWN_ROWS: f64 = 1000.0;

/// The rule of the planner. It runs when conditions stand at their tables, and before columns are left out.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if Limits::current().hold(table_bytes(&plan)?, SMALL_BYTES_MAX) {
            return Ok(Transformed::no(plan));
        }
        // Joins with two columns of one name stay as they are written.
        Ok(ordered(plan.clone()).map_or_else(|_| Transformed::no(plan), Transformed::yes))
    }
}

/// Sums the bytes of the tables that a plan reads.
fn table_bytes(plan: &LogicalPlan) -> Result<u64> {
    let mut bytes = 0_u64;
    plan.exists(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Some(rows) = stored(scan).and_then(|table| table.open_range(Some(Vec::new()), None).ok())
        {
            bytes = bytes.saturating_add(rows.bytes());
        }
        Ok(false)
    })?;
    Ok(bytes)
}

fn stored(scan: &TableScan) -> Option<StoredTable> {
    source_as_provider(&scan.source).ok()?.downcast_ref::<StoredTable>().cloned()
}

/// Puts all trees of joins of a plan in the best order that was found.
fn ordered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_tree = matches!(&plan, LogicalPlan::Join(join) if is_inner(join) || is_semi_of_joins(join));
    if !is_tree {
        return plan.map_children(|child| ordered(child).map(Transformed::yes)).map(|plan| plan.data);
    }
    let columns = plan.schema().columns();
    let mut tree = Tree::default();
    tree.take(plan)?;
    for input in &mut tree.inputs {
        let own = std::mem::replace(input, LogicalPlanBuilder::empty(false).build()?);
        *input = ordered(own)?;
    }
    let joined = tree.joined()?;
    if joined.schema().columns() == columns {
        return Ok(joined);
    }
    LogicalPlanBuilder::from(joined).project(columns.into_iter().map(Expr::Column))?.build()
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

/// Returns true if rows of inner joins are left for which others exist, and nothing but equal values decides that.
fn is_semi_of_joins(join: &Join) -> bool {
    let by_values = join.filter.is_none() && !join.on.is_empty();
    join.join_type == JoinType::LeftSemi && by_values && has_joins(&join.left)
}

/// Returns true for an inner join, under conditions or with its columns in another order.
fn has_joins(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => is_inner(join),
        LogicalPlan::Filter(filter) => has_joins(&filter.input),
        LogicalPlan::Projection(projection) => {
            let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
            projection.expr.iter().all(is_column) && has_joins(&projection.input)
        }
        _ => false,
    }
}

/// Inner joins taken apart.
#[derive(Default)]
struct Tree {
    inputs: Vec<LogicalPlan>,
    equalities: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
    /// Rows that must exist for those of the joins.
    presences: Vec<Join>,
}

impl Tree {
    fn take(&mut self, plan: LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Join(join) if is_inner(&join) => {
                self.equalities.extend(join.on);
                self.conditions.extend(join.filter.iter().flat_map(split_conjunction).cloned());
                self.take(Arc::unwrap_or_clone(join.left))?;
                self.take(Arc::unwrap_or_clone(join.right))
            }
            LogicalPlan::Join(mut join) if is_semi_of_joins(&join) => {
                let left = LogicalPlanBuilder::empty(false).build()?;
                let left = std::mem::replace(&mut join.left, Arc::new(left));
                self.presences.push(join);
                self.take(Arc::unwrap_or_clone(left))
            }
            LogicalPlan::Filter(filter) if matches!(filter.input.as_ref(), LogicalPlan::Join(join) if is_inner(join)) =>
            {
                self.conditions.extend(split_conjunction(&filter.predicate).into_iter().cloned());
                self.take(Arc::unwrap_or_clone(filter.input))
            }
            // The columns are put in order above all joins.
            LogicalPlan::Projection(projection)
                if has_joins(&projection.input)
                    && projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) =>
            {
                self.take(Arc::unwrap_or_clone(projection.input))
            }
            other => {
                self.inputs.push(other);
                Ok(())
            }
        }
    }

    /// Joins the inputs in the order that was found.
    fn joined(self) -> Result<LogicalPlan> {
        let Tree { inputs, equalities, mut conditions, presences } = self;
        let mut looked_at: Vec<Column> = Vec::new();
        for (left, right) in &equalities {
            looked_at.extend(left.column_refs().into_iter().chain(right.column_refs()).cloned());
        }
        for presence in &presences {
            looked_at.extend(presence.on.iter().flat_map(|(left, _)| left.column_refs()).cloned());
        }
        let mut parts = Vec::with_capacity(inputs.len());
        for plan in inputs {
            let size = Size::of(&plan, &looked_at);
            parts.push(Part { plan, size });
        }
        let presences = chosen_early(presences, &mut parts)?;
        let mut edges = Vec::with_capacity(equalities.len());
        for (left, right) in equalities {
            match (home(&left, &parts), home(&right, &parts)) {
                (Some(one), Some(other)) if one != other => edges.push(Edge { left, right }),
                _ => conditions.push(left.eq(right)),
            }
        }
        let many = parts.len() > INPUTS_MAX;
        while parts.len() > 1 {
            let (one, other) = if many { (0, 1) } else { best_pair(&parts, &edges) };
            let (one, other) = (one.min(other), one.max(other));
            let (second, first) = (parts.remove(other), parts.remove(one));
            let joined = first.join(second, &mut edges, &mut conditions)?;
            parts.insert(one, joined);
        }
        let mut plan = match parts.pop() {
            Some(part) => part.plan,
            None => LogicalPlanBuilder::empty(false).build()?,
        };
        if let Some(rest) = conjunction(conditions) {
            plan = LogicalPlan::Filter(Filter::try_new(rest, Arc::new(plan))?);
        }
        presences.into_iter().rev().try_fold(plan, present)
    }
}

/// Returns the rows of a plan for which those exist that a semi join asks for.
fn present(left: LogicalPlan, join: Join) -> Result<LogicalPlan> {
    let Join { right, on, filter, join_type, join_constraint, null_equality, null_aware, .. } = join;
    let left = Arc::new(left);
    let join = Join::try_new(left, right, on, filter, join_type, join_constraint, null_equality, null_aware)?;
    Ok(LogicalPlan::Join(join))
}

/// Asks early for the existence of few rows: below the joins, of the one input that they are compared with. Returns the other semi joins.
fn chosen_early(presences: Vec<Join>, parts: &mut [Part]) -> Result<Vec<Join>> {
    let mut late = Vec::new();
    for join in presences {
        let homes: HashSet<Option<usize>> = join.on.iter().map(|(left, _)| home(left, parts)).collect();
        let only = match homes.into_iter().collect::<Vec<_>>().as_slice() {
            [Some(place)] => parts.get_mut(*place),
            _ => None,
        };
        let found = Size::of(&join.right, &[]).rows;
        match only {
            Some(part) if found < part.size.rows => {
                let left = std::mem::replace(&mut part.plan, LogicalPlanBuilder::empty(false).build()?);
                part.plan = present(left, join)?;
                part.size.rows = found;
            }
            _ => late.push(join),
        }
    }
    Ok(late)
}

/// A part of the tree that is joined already.
struct Part {
    plan: LogicalPlan,
    size: Size,
}

/// Two values that must be equal.
struct Edge {
    left: Expr,
    right: Expr,
}

/// Returns true if a schema has a column by its whole name: one without a qualifier is no other's that has one.
fn has(schema: &DFSchema, column: &Column) -> bool {
    schema
        .iter()
        .any(|(qualifier, field)| qualifier == column.relation.as_ref() && *field.name() == column.name)
}

/// Finds the only part that has all columns of an expression.
fn home(expr: &Expr, parts: &[Part]) -> Option<usize> {
    let columns = expr.column_refs();
    if columns.is_empty() {
        return None;
    }
    parts.iter().position(|part| columns.iter().all(|column| has(part.plan.schema(), column)))
}

/// Finds the two parts that leave the fewest rows together, those with a condition between them first.
fn best_pair(parts: &[Part], edges: &[Edge]) -> (usize, usize) {
    let mut best: Option<(bool, f64, f64, (usize, usize))> = None;
    for one in 0..parts.len() {
        for other in one + 1..parts.len() {
            let (Some(first), Some(second)) = (parts.get(one), parts.get(other)) else { continue };
            let between = edges_between(first, second, edges);
            let apart = between.is_empty();
            let rows = joined_rows(first, second, &between);
            let input = first.size.rows + second.size.rows;
            let candidate = (apart, rows, input, (one, other));
            if best.is_none_or(|known| (known.0, known.1, known.2) > (apart, rows, input)) {
                best = Some(candidate);
            }
        }
    }
    best.map_or((0, 1), |(.., pair)| pair)
}

/// Lists the values that two parts are joined by, those of the first part first.
fn edges_between<'e>(first: &Part, second: &Part, edges: &'e [Edge]) -> Vec<(&'e Expr, &'e Expr)> {
    let is_of = |expr: &Expr, part: &Part| {
        expr.column_refs().into_iter().all(|column| has(part.plan.schema(), column))
    };
    let pairs = edges.iter().filter_map(|edge| {
        if is_of(&edge.left, first) && is_of(&edge.right, second) {
            Some((&edge.left, &edge.right))
        } else if is_of(&edge.right, first) && is_of(&edge.left, second) {
            Some((&edge.right, &edge.left))
        } else {
            None
        }
    });
    pairs.collect()
}

/// Estimates the pairs of rows that are equal, if the values of one side are those of a key that the other side refers to.
fn joined_rows(first: &Part, second: &Part, between: &[(&Expr, &Expr)]) -> f64 {
    let values =
        between.iter().map(|(left, right)| first.size.values_of(left).min(second.size.values_of(right)));
    let all: f64 = values.product();
    // Several columns together are a key at most of the smaller table.
    let divisor = if between.len() > 1 { all.min(first.size.base.min(second.size.base)) } else { all };
    (first.size.rows * second.size.rows / divisor.max(1.0)).max(1.0)
}

impl Part {
    /// Joins it with another part by all that is known of both. The smaller one is hashed.
    fn join(self, other: Part, edges: &mut Vec<Edge>, conditions: &mut Vec<Expr>) -> Result<Part> {
        let (small, large) = if other.size.rows < self.size.rows { (other, self) } else { (self, other) };
        let between = edges_between(&small, &large, edges);
        let rows = joined_rows(&small, &large, &between);
        let on: Vec<(Expr, Expr)> =
            between.into_iter().map(|(left, right)| (left.clone(), right.clone())).collect();
        edges.retain(|edge| {
            !on.iter().any(|(left, right)| {
                (left == &edge.left && right == &edge.right) || (right == &edge.left && left == &edge.right)
            })
        });
        let schema = small.plan.schema().join(large.plan.schema())?;
        let (own, rest): (Vec<Expr>, Vec<Expr>) = std::mem::take(conditions)
            .into_iter()
            .partition(|condition| condition.column_refs().into_iter().all(|column| has(&schema, column)));
        *conditions = rest;
        let share = UNKNOWN_SHARE.powi(own.len().min(4) as i32);
        let size = Size {
            rows: (rows * share).max(1.0),
            base: small.size.base.max(large.size.base),
            values: small.size.values.into_iter().chain(large.size.values).collect(),
        };
        let join = Join::try_new(
            Arc::new(small.plan),
            Arc::new(large.plan),
            on,
            conjunction(own),
            JoinType::Inner,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        Ok(Part { plan: LogicalPlan::Join(join), size })
    }
}

/// An estimate of an operator's rows.
struct Size {
    rows: f64,
    /// Rows of the table below, before conditions.
    base: f64,
    /// Numbers of different values of columns.
    values: Vec<(Column, f64)>,
}

impl Size {
    fn of(plan: &LogicalPlan, looked_at: &[Column]) -> Size {
        let looked_at: Vec<Column> =
            looked_at.iter().filter(|column| has(plan.schema(), column)).cloned().collect();
        match Sample::of(plan, &looked_at) {
            Some(sample) => Size { rows: sample.rows(), base: sample.base, values: sample.values },
            None => {
                let rows = rows_of(plan);
                Size { rows, base: rows, values: Vec::new() }
            }
        }
    }

    /// Returns the number of different values of an expression, before conditions.
    fn values_of(&self, expr: &Expr) -> f64 {
        let Expr::Column(column) = expr else { return self.base };
        let known = self.values.iter().find(|(known, _)| known == column);
        known.map_or(self.base, |(_, values)| *values)
    }
}

/// Estimates the rows of operators that do more than to choose among a table's rows.
fn rows_of(plan: &LogicalPlan) -> f64 {
    match plan {
        LogicalPlan::TableScan(scan) => stored(scan)
            .and_then(|table| table.open_range(Some(Vec::new()), None).ok())
            .map_or(UNKNOWN_ROWS, |rows| rows.rows() as f64),
        LogicalPlan::Filter(filter) => {
            let conditions = split_conjunction(&filter.predicate).len().min(4) as i32;
            rows_of(&filter.input) * UNKNOWN_SHARE.powi(conditions)
        }
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => 1.0,
        LogicalPlan::Aggregate(aggregate) => rows_of(&aggregate.input) / ROWS_OF_GROUP,
        LogicalPlan::EmptyRelation(_) => 1.0,
        other => {
            let inputs = other.inputs().into_iter().map(rows_of);
            inputs.reduce(f64::max).unwrap_or(UNKNOWN_ROWS)
        }
    }
}

/// The first rows of a table, as they come through projections and conditions above it.
struct Sample {
    rows: RecordBatch,
    schema: DFSchema,
    /// Rows of the table.
    base: f64,
    /// The part of them that conditions leave.
    share: f64,
    values: Vec<(Column, f64)>,
}

impl Sample {
    /// Reads a sample. `None`: the plan is no table with conditions and names.
    fn of(plan: &LogicalPlan, looked_at: &[Column]) -> Option<Sample> {
        match plan {
            LogicalPlan::TableScan(scan) => Sample::of_table(scan, looked_at),
            LogicalPlan::Filter(filter) => {
                let mut needed: Vec<Column> = looked_at.to_vec();
                needed.extend(filter.predicate.column_refs().into_iter().cloned());
                Sample::of(&filter.input, &needed).map(|sample| sample.chosen(&filter.predicate))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let inner = alias.input.schema().columns();
                let outer = alias.schema.columns();
                Sample::of(&alias.input, &renamed(looked_at, &outer, &inner)).map(|sample| {
                    sample.named(|column| {
                        inner.iter().position(|own| own == column).and_then(|index| outer.get(index)).cloned()
                    })
                })
            }
            LogicalPlan::Projection(projection) => {
                let inner: Vec<Option<Column>> = projection
                    .expr
                    .iter()
                    .map(|expr| match expr.clone().unalias() {
                        Expr::Column(column) => Some(column),
                        _ => None,
                    })
                    .collect();
                let outer = projection.schema.columns();
                let needed = looked_at
                    .iter()
                    .filter_map(|column| outer.iter().position(|own| own == column))
                    .filter_map(|index| inner.get(index).cloned().flatten());
                let needed: Vec<Column> = needed.collect();
                Sample::of(&projection.input, &needed).map(|sample| {
                    sample.named(|column| {
                        let place = inner.iter().position(|own| own.as_ref() == Some(column));
                        place.and_then(|index| outer.get(index)).cloned()
                    })
                })
            }
            _ => None,
        }
    }

    fn of_table(scan: &TableScan, looked_at: &[Column]) -> Option<Sample> {
        let table = stored(scan)?;
        let mut places: Vec<usize> = looked_at
            .iter()
            .filter_map(|column| scan.projected_schema.maybe_index_of_column(column))
            .collect();
        places.sort_unstable();
        places.dedup();
        let stored_places = places.iter().map(|place| match &scan.projection {
            Some(projection) => projection.get(*place).copied(),
            None => Some(*place),
        });
        let mut rows = table.open_range(Some(stored_places.collect::<Option<Vec<_>>>()?), None).ok()?;
        let base = rows.rows() as f64;
        let fields = places.iter().map(|place| {
            let (qualifier, field) = scan.projected_schema.qualified_field(*place);
            (qualifier.cloned(), Arc::clone(field))
        });
        let schema = DFSchema::new_with_metadata(fields.collect(), Default::default()).ok()?;
        let first = rows.few()?.ok()?;
        let values = schema.columns().into_iter().zip(first.columns());
        let values = values.map(|(column, array)| {
            let values = distinct(array).map_or(base, |distinct| {
                let read = first.num_rows() as f64;
                // As many of all rows as of these, unless most values have come already.
                if distinct * 10.0 < read { distinct } else { (distinct * base / read.max(1.0)).max(1.0) }
            });
            (column, values)
        });
        let values = values.collect();
        Some(Sample { rows: first, schema, base, share: 1.0, values })
    }

    fn rows(&self) -> f64 {
        (self.base * self.share).max(1.0)
    }

    /// Keeps the rows for which a condition is true.
    fn chosen(mut self, condition: &Expr) -> Sample {
        let read = self.rows.num_rows() as f64;
        match self.evaluated(condition) {
            Some(chosen) if read > 0.0 => {
                // One that was not among them may be the next.
                let left = chosen.num_rows() as f64;
                self.share *= left.max(0.5) / read;
                self.rows = chosen;
            }
            _ => self.share *= UNKNOWN_SHARE,
        }
        self
    }

    fn evaluated(&self, condition: &Expr) -> Option<RecordBatch> {
        let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        if condition.is_volatile() || calls_user_function(condition).ok()? {
            return None;
        }
        let condition = create_physical_expr(condition, &self.schema, &props, &context).ok()?;
        let chosen = condition.evaluate(&self.rows).ok()?.into_array(self.rows.num_rows()).ok()?;
        filter_record_batch(&self.rows, chosen.as_boolean_opt()?).ok()
    }

    /// Gives the columns other names. A column without one stays, and the number of its values is forgotten.
    fn named(self, name: impl Fn(&Column) -> Option<Column>) -> Sample {
        let values = self.values.into_iter();
        let values = values.filter_map(|(column, values)| name(&column).map(|column| (column, values)));
        let values = values.collect();
        let fields = self.schema.iter().map(|(qualifier, field)| {
            let own = Column::new(qualifier.cloned(), field.name());
            let outer = name(&own).unwrap_or(own);
            (outer.relation, Arc::new(field.as_ref().clone().with_name(outer.name)))
        });
        let schema = DFSchema::new_with_metadata(fields.collect(), Default::default());
        let schema = schema.unwrap_or_else(|_| DFSchema::empty());
        Sample { values, schema, ..self }
    }
}

/// Returns true if an expression calls a user's function, which runs statements.
fn calls_user_function(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarFunction(call) if call.name().starts_with("function "))))
}

fn renamed(columns: &[Column], from: &[Column], to: &[Column]) -> Vec<Column> {
    let place = |column: &Column| from.iter().position(|own| own == column);
    columns.iter().filter_map(|column| place(column).and_then(|index| to.get(index)).cloned()).collect()
}

/// Counts the different values of a column.
fn distinct(array: &arrow::array::ArrayRef) -> Option<f64> {
    let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())]).ok()?;
    let rows = converter.convert_columns(std::slice::from_ref(array)).ok()?;
    Some(rows.iter().collect::<HashSet<_>>().len() as f64)
}
