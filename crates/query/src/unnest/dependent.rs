//! Plans that look at outer columns, as plans over the domain of those.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, ScalarValue};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{Sort as SortKey, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, ExprSchemable, FetchType, GroupingSet, Join, Limit, LogicalPlan,
    LogicalPlanBuilder, Operator, Projection, SkipType, TableScan, Union, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowFunctionDefinition, cast, lit, when,
};

use super::domain::Domain;
use super::fresh;
use crate::apply::ApplyTable;
use crate::computed::{computed, rows_of};
use crate::correlated::{outer_names, outer_names_of};
use crate::matched::ApplyKind;
use crate::recursive::{RecursiveTable, WorkTable};

/// The engine's name of the column that tells which grouping set a row is of.
const SET_COLUMN: &str = "__grouping_id";

/// Turns plans that look at the outer columns of a domain into plans over it.
pub(crate) struct Unnesting<'d> {
    domain: &'d Arc<Domain>,
    /// The outer columns.
    names: &'d BTreeSet<String>,
    /// The recursions whose steps the plans are part of.
    recursions: Vec<Recursion>,
}

impl<'d> Unnesting<'d> {
    /// Plans over `domain`, whose columns are called `names`.
    pub fn new(domain: &'d Arc<Domain>, names: &'d BTreeSet<String>) -> Unnesting<'d> {
        Unnesting { domain, names, recursions: Vec::new() }
    }

    /// Plans the rows of a plan for each row of the domain. The domain's columns come first, unqualified; those of the
    /// plan follow, under their own names. The plan has no subqueries but hidden ones.
    pub fn plan(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        if !self.looks_out(plan)? {
            return self.beside(plan);
        }
        let unnested = match plan {
            LogicalPlan::Projection(projection) => self.projection(projection)?,
            LogicalPlan::Filter(filter) => self.filter(&filter.predicate, &filter.input)?,
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let input = self.plan(&sort.input)?;
                let keys = self.sort_keys(&sort.expr, input.schema())?;
                LogicalPlanBuilder::from(input).sort(keys)?.build()?
            }
            LogicalPlan::Limit(limit) => return self.limit(plan, limit),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                LogicalPlanBuilder::from(self.plan(input)?).distinct()?.build()?
            }
            LogicalPlan::Aggregate(aggregate) => return self.aggregate(plan, aggregate),
            LogicalPlan::Window(window) => {
                let input = self.plan(&window.input)?;
                let functions = window
                    .window_expr
                    .iter()
                    .zip(plan.schema().fields().iter().skip(window.input.schema().fields().len()));
                let functions = functions.map(|(expr, field)| {
                    let own = self.partitioned(self.fitted(expr, input.schema())?)?;
                    Ok(named(own, field.name()))
                });
                let functions = functions.collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(input).window(functions)?.build()?
            }
            LogicalPlan::Union(union) => self.union(union)?,
            LogicalPlan::Join(join) => self.join(plan, join)?,
            LogicalPlan::TableScan(scan) => return self.scan(plan, scan),
            _ => return self.row_by_row(plan),
        };
        Ok(unnested)
    }

    fn looks_out(&self, plan: &LogicalPlan) -> Result<bool> {
        Ok(!outer_names(plan)?.is_disjoint(self.names) || reads_work(plan, &self.recursions)?)
    }

    fn expr_looks_out(&self, expr: &Expr) -> Result<bool> {
        Ok(!outer_names_of(expr)?.is_disjoint(self.names))
    }

    /// Returns the columns of the domain as expressions.
    fn own(&self) -> Vec<Expr> {
        self.domain.columns().into_iter().map(Expr::Column).collect()
    }

    fn number(&self) -> Expr {
        Expr::Column(Column::new_unqualified(self.domain.number()))
    }

    /// Repeats each row of a plan that does not look out for each row of the domain.
    fn beside(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let domain = self.domain.plan()?;
        match plan {
            LogicalPlan::EmptyRelation(empty)
                if empty.produce_one_row && empty.schema.fields().is_empty() =>
            {
                Ok(domain)
            }
            _ => LogicalPlanBuilder::from(domain).cross_join(plan.clone())?.build(),
        }
    }

    /// Computes a plan for each row of the domain in turn.
    fn row_by_row(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        // Rows of a turn belong to several rows of the domain: then the recursion itself runs for each of them.
        for recursion in &self.recursions {
            if reads_work(plan, std::slice::from_ref(recursion))? {
                recursion.stuck.set(true);
            }
        }
        ApplyTable::new(self.domain.plan()?, plan.clone(), ApplyKind::Cross)?.row_by_row().into_plan(&fresh())
    }

    /// Rewrites an expression over an unnested plan: outer columns become columns of the domain, and hidden plans have
    /// lost their qualifiers.
    fn fitted(&self, expr: &Expr, input: &DFSchema) -> Result<Expr> {
        let fitted = expr.clone().transform_up(|part| {
            Ok(match part {
                Expr::OuterReferenceColumn(_, column) if self.names.contains(&column.name) => {
                    Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
                }
                Expr::Column(column)
                    if column.relation.is_some() && input.maybe_index_of_column(&column).is_none() =>
                {
                    Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
                }
                part => Transformed::no(part),
            })
        })?;
        Ok(fitted.data)
    }

    fn fitted_all<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        input: &DFSchema,
    ) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.fitted(expr, input)).collect()
    }

    fn sort_keys(&self, keys: &[SortKey], input: &DFSchema) -> Result<Vec<SortKey>> {
        let fitted = |key: &SortKey| Ok(SortKey { expr: self.fitted(&key.expr, input)?, ..key.clone() });
        keys.iter().map(fitted).collect()
    }

    fn projection(&self, projection: &Projection) -> Result<LogicalPlan> {
        let input = self.plan(&projection.input)?;
        let mut exprs = self.own();
        for (expr, field) in projection.expr.iter().zip(projection.schema.fields()) {
            exprs.push(named(self.fitted(expr, input.schema())?, field.name()));
        }
        LogicalPlanBuilder::from(input).project(exprs)?.build()
    }

    fn filter(&self, predicate: &Expr, input: &LogicalPlan) -> Result<LogicalPlan> {
        if self.looks_out(input)? {
            let input = self.plan(input)?;
            let predicate = self.fitted(predicate, input.schema())?;
            return LogicalPlanBuilder::from(input).filter(predicate)?.build();
        }
        // The conditions that look out are those by which the domain is joined with the rows.
        let (mut across, mut own) = (Vec::new(), Vec::new());
        for part in split_conjunction(predicate) {
            match self.expr_looks_out(part)? {
                true => across.push(part),
                false => own.push(part.clone()),
            }
        }
        let mut rows = LogicalPlanBuilder::from(input.clone());
        if let Some(own) = own.into_iter().reduce(Expr::and) {
            rows = rows.filter(own)?;
        }
        let rows = rows.build()?;
        let across = self.fitted_all(across, rows.schema())?;
        LogicalPlanBuilder::from(self.domain.plan()?).join_on(rows, JoinType::Inner, across)?.build()
    }

    /// Counts TOP, OFFSET and FETCH within each row of the domain.
    fn limit(&self, plan: &LogicalPlan, limit: &Limit) -> Result<LogicalPlan> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return self.row_by_row(plan);
        };
        let (keys, below) = match limit.input.as_ref() {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.expr.as_slice(), sort.input.as_ref()),
            other => (&[][..], other),
        };
        let input = self.plan(below)?;
        let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        let place = fresh();
        let frame = WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            WindowFrameBound::CurrentRow,
        );
        let number = Expr::WindowFunction(Box::new(WindowFunction {
            fun: WindowFunctionDefinition::WindowUDF(row_number_udwf()),
            params: WindowFunctionParams {
                args: Vec::new(),
                partition_by: vec![self.number()],
                order_by: self.sort_keys(keys, input.schema())?,
                window_frame: frame,
                filter: None,
                null_treatment: None,
                distinct: false,
            },
        }));
        let reference = Expr::Column(Column::new_unqualified(&place));
        let skip = skip as u64;
        let mut chosen = reference.clone().gt(lit(skip));
        if let Some(fetch) = fetch {
            chosen = chosen.and(reference.lt_eq(lit(skip.saturating_add(fetch as u64))));
        }
        LogicalPlanBuilder::from(input)
            .window([number.alias(place)])?
            .filter(chosen)?
            .project(columns)?
            .build()
    }

    /// Partitions a window by the row of the domain.
    fn partitioned(&self, expr: Expr) -> Result<Expr> {
        let partitioned = expr.transform_up(|part| {
            Ok(match part {
                Expr::WindowFunction(mut window) => {
                    window.params.partition_by.insert(0, self.number());
                    Transformed::yes(Expr::WindowFunction(window))
                }
                part => Transformed::no(part),
            })
        })?;
        Ok(partitioned.data)
    }

    /// Groups within each row of the domain. What has a group without any row keeps it for each of them.
    fn aggregate(&self, plan: &LogicalPlan, aggregate: &Aggregate) -> Result<LogicalPlan> {
        let sets = match aggregate.group_expr.as_slice() {
            [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => Some(sets),
            [Expr::GroupingSet(_), ..] => return self.row_by_row(plan),
            _ => None,
        };
        let totals = match sets {
            None => usize::from(aggregate.group_expr.is_empty()),
            Some(sets) => sets.iter().filter(|set| set.is_empty()).count(),
        };
        if totals > 1 {
            return self.row_by_row(plan);
        }
        let input = self.plan(&aggregate.input)?;
        let width = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
        let fields = aggregate.schema.fields();
        let groups = match sets {
            Some(sets) => {
                let set = |set: &Vec<Expr>| {
                    let mut exprs = self.own();
                    exprs.extend(self.fitted_all(set, input.schema())?);
                    Ok(exprs)
                };
                let sets = sets.iter().map(set).collect::<Result<Vec<_>>>()?;
                vec![Expr::GroupingSet(GroupingSet::GroupingSets(sets))]
            }
            None => {
                let mut groups = self.own();
                for (expr, field) in aggregate.group_expr.iter().zip(fields) {
                    groups.push(named(self.fitted(expr, input.schema())?, field.name()));
                }
                groups
            }
        };
        let mut aggregates = Vec::with_capacity(aggregate.aggr_expr.len());
        for (expr, field) in aggregate.aggr_expr.iter().zip(fields.iter().skip(width)) {
            aggregates.push(named(self.fitted(expr, input.schema())?, field.name()));
        }
        let grouped = LogicalPlanBuilder::from(input).aggregate(groups, aggregates)?.build()?;
        if totals == 0 {
            return Ok(grouped);
        }
        self.with_totals(aggregate, grouped, sets.map_or(0, |_| width.saturating_sub(1)))
    }

    /// Adds the aggregates of no row for each row of the domain without a group. Of grouping sets over `width`
    /// expressions it is the set of none.
    fn with_totals(&self, aggregate: &Aggregate, grouped: LogicalPlan, width: usize) -> Result<LogicalPlan> {
        let number = fresh();
        let mut below = vec![self.number().alias(&number)];
        let first = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
        let mut above = self.own();
        let reference = |name: &str| Expr::Column(Column::new_unqualified(name));
        let missing = reference(&number).is_null();
        for (index, (qualifier, field)) in aggregate.schema.iter().enumerate() {
            let column = grouped.schema().maybe_index_of_column(&Column::new_unqualified(field.name()));
            let own = match column {
                Some(_) => reference(field.name()),
                None => Expr::Column(Column::new(qualifier.cloned(), field.name())),
            };
            let of_none = if index < first {
                (field.name() == SET_COLUMN).then(|| {
                    let all = (1_u64 << width.min(63)) - 1;
                    cast(lit(all), field.data_type().clone())
                })
            } else {
                let function = aggregate.aggr_expr.get(index - first).and_then(function_of);
                match function {
                    Some(function) => {
                        let value = function.default_value(field.data_type())?;
                        (!value.is_null()).then(|| lit(value))
                    }
                    None => None,
                }
            };
            let name = fresh();
            let mut value = reference(&name);
            if let Some(of_none) = of_none {
                let data_type = grouped_type(&grouped, &own)?;
                value = when(missing.clone(), cast(of_none, data_type)).otherwise(value)?;
            }
            below.push(own.alias(&name));
            above.push(value.alias(field.name()));
        }
        let grouped = LogicalPlanBuilder::from(grouped).project(below)?.build()?;
        LogicalPlanBuilder::from(self.domain.plan()?)
            .join_on(grouped, JoinType::Left, [self.number().eq(reference(&number))])?
            .project(above)?
            .build()
    }

    fn union(&self, union: &Union) -> Result<LogicalPlan> {
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let plan = self.plan(input)?;
            let mut exprs = self.own();
            for ((qualifier, own), field) in input.schema().iter().zip(union.schema.fields()) {
                let column = Expr::Column(Column::new(qualifier.cloned(), own.name()));
                exprs.push(self.fitted(&column, plan.schema())?.alias(field.name()));
            }
            inputs.push(Arc::new(LogicalPlanBuilder::from(plan).project(exprs)?.build()?));
        }
        Ok(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?))
    }

    /// Renames the domain's columns in a plan over it; returns the new name of the number, and of all of them.
    fn renamed(&self, plan: LogicalPlan) -> Result<(LogicalPlan, Vec<String>)> {
        let columns = plan.schema().columns();
        let names: Vec<String> = self.domain.columns().iter().map(|_| fresh()).collect();
        let width = names.len();
        let exprs = columns.into_iter().enumerate().map(|(index, column)| match names.get(index) {
            Some(name) if index < width => Expr::Column(column).alias(name),
            _ => Expr::Column(column),
        });
        let plan = LogicalPlanBuilder::from(plan).project(exprs.collect::<Vec<_>>())?.build()?;
        Ok((plan, names))
    }

    fn join(&self, plan: &LogicalPlan, join: &Join) -> Result<LogicalPlan> {
        let (of_left, of_right) = (self.looks_out(&join.left)?, self.looks_out(&join.right)?);
        let kind = join.join_type;
        // Rows of a side that may stand alone do so for each row of the domain.
        let (with_left, with_right) = match kind {
            JoinType::Inner if !of_left && !of_right => (true, false),
            JoinType::Inner => (of_left, of_right),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => (true, of_right),
            JoinType::Right => (of_left, true),
            JoinType::Full => (true, true),
            _ => return self.row_by_row(plan),
        };
        let left = if with_left { self.plan(&join.left)? } else { join.left.as_ref().clone() };
        let right = if with_right { self.plan(&join.right)? } else { join.right.as_ref().clone() };
        // If both sides have the domain's columns, those of one side get other names.
        let (left, right, other) = match (with_left, with_right, kind) {
            (true, true, JoinType::Right) => {
                let (left, names) = self.renamed(left)?;
                (left, right, Some(names))
            }
            (true, true, _) => {
                let (right, names) = self.renamed(right)?;
                (left, right, Some(names))
            }
            _ => (left, right, None),
        };
        let both = left.schema().join(right.schema())?;
        let reference = |name: &str| Expr::Column(Column::new_unqualified(name));
        // A join has one rule for NULL in all of its keys; the number is none.
        let equal = |one: Expr, two: Expr| match join.null_equality {
            NullEquality::NullEqualsNothing => one.eq(two),
            NullEquality::NullEqualsNull => {
                Expr::BinaryExpr(BinaryExpr::new(Box::new(one), Operator::IsNotDistinctFrom, Box::new(two)))
            }
        };
        let mut conditions = Vec::new();
        if let Some(number) = other.as_ref().and_then(|names| names.first()) {
            conditions.push(equal(self.number(), reference(number)));
        }
        for (one, two) in &join.on {
            let (one, two) = (self.fitted(one, &both)?, self.fitted(two, &both)?);
            conditions.push(equal(one, two));
        }
        for part in join.filter.iter().flat_map(split_conjunction) {
            conditions.push(self.fitted(part, &both)?);
        }
        if conditions.is_empty() {
            conditions.push(lit(true));
        }
        let kept: Vec<Column> = match kind {
            JoinType::LeftSemi | JoinType::LeftAnti => join.left.schema().columns(),
            _ => join.left.schema().columns().into_iter().chain(join.right.schema().columns()).collect(),
        };
        let mut exprs = match (&other, kind) {
            // The side that is there has them.
            (Some(names), JoinType::Full) => {
                let columns = self.domain.columns().into_iter().zip(names);
                let number = self.number();
                let either = columns.map(|(column, name)| {
                    let own = Expr::Column(column.clone());
                    let value = when(number.clone().is_null(), reference(name)).otherwise(own)?;
                    Ok(value.alias(column.name))
                });
                either.collect::<Result<Vec<_>>>()?
            }
            _ => self.own(),
        };
        let joined = LogicalPlanBuilder::from(left).join_on(right, kind, conditions)?.build()?;
        for column in kept {
            exprs.push(self.fitted(&Expr::Column(column), joined.schema())?);
        }
        LogicalPlanBuilder::from(joined).project(exprs)?.build()
    }

    /// Handles a hidden dependent join whose right side sees the outer columns beside those of the left one, and a call
    /// of a function for each row.
    fn scan(&self, plan: &LogicalPlan, scan: &TableScan) -> Result<LogicalPlan> {
        let provider = source_as_provider(&scan.source)?;
        let whole = scan.projection.is_none() && scan.filters.is_empty() && scan.fetch.is_none();
        match rows_of::<ApplyTable>(provider.as_ref()) {
            Some(apply) if whole && !reads_work(&apply.right, &self.recursions)? => {
                return apply.with_sides(self.plan(&apply.left)?, apply.right.clone())?.into_plan(&fresh());
            }
            _ => {}
        }
        let own = rows_of::<Arc<WorkTable>>(provider.as_ref());
        if let Some(own) = own
            && let Some(recursion) = self.recursions.iter().find(|known| Arc::ptr_eq(&known.before, own))
        {
            let whole = computed(Arc::clone(&recursion.after));
            return self.carrying(whole, scan.projected_schema.iter().map(|(_, field)| field.name()));
        }
        match rows_of::<RecursiveTable>(provider.as_ref()) {
            Some(recursive) if whole => match self.recursive(recursive)? {
                Some(table) => {
                    self.carrying(table, recursive.work().columns().fields().iter().map(|field| field.name()))
                }
                None => self.row_by_row(plan),
            },
            _ => self.row_by_row(plan),
        }
    }

    /// Plans the reading of a table that has the domain's columns before those of `names`.
    fn carrying<'n>(
        &self,
        table: Arc<dyn TableProvider>,
        names: impl Iterator<Item = &'n String>,
    ) -> Result<LogicalPlan> {
        let scan = LogicalPlanBuilder::scan(fresh(), provider_as_source(table), None)?;
        let own = self.domain.columns().into_iter().map(|column| column.name);
        let names: Vec<String> = own.chain(names.cloned()).collect();
        let columns = scan.schema().columns().into_iter();
        let named = columns.filter(|column| names.contains(&column.name)).map(|column| {
            let name = column.name.clone();
            Expr::Column(column).alias(name)
        });
        scan.project(named.collect::<Vec<_>>())?.build()
    }

    /// Carries the domain's columns through a recursion: its turns are those of all rows of the domain. `None` if its step has
    /// something that runs for each of them.
    fn recursive(&self, recursive: &RecursiveTable) -> Result<Option<Arc<dyn TableProvider>>> {
        let before = recursive.work();
        let fields: Vec<FieldRef> =
            self.domain.fields().iter().chain(before.columns().fields()).cloned().collect();
        let after = Arc::new(WorkTable::new(Arc::new(Schema::new(fields))));
        let recursion =
            Recursion { before: Arc::clone(before), after: Arc::clone(&after), stuck: Cell::new(false) };
        let mut recursions = self.recursions.clone();
        recursions.push(recursion);
        let inner = Unnesting { domain: self.domain, names: self.names, recursions };
        let step = inner.plan(&recursive.step)?;
        if inner.recursions.iter().any(|recursion| recursion.stuck.get()) {
            return Ok(None);
        }
        let anchor = self.plan(&recursive.anchor)?;
        Ok(Some(computed(recursive.over(anchor, step, after))))
    }
}

/// A recursion over the rows of a domain.
#[derive(Clone)]
struct Recursion {
    /// The work table that its step was made for.
    before: Arc<WorkTable>,
    /// The work table that has the domain's columns, too.
    after: Arc<WorkTable>,
    /// True if the step has a part that runs for each row of the domain and reads the work table.
    stuck: Cell<bool>,
}

/// Returns true if a plan, or one hidden in it, reads the work table of a recursion.
fn reads_work(plan: &LogicalPlan, recursions: &[Recursion]) -> Result<bool> {
    if recursions.is_empty() {
        return Ok(false);
    }
    plan.exists(|node| {
        let LogicalPlan::TableScan(scan) = node else { return Ok(false) };
        let provider = source_as_provider(&scan.source)?;
        if let Some(apply) = rows_of::<ApplyTable>(provider.as_ref()) {
            return Ok(reads_work(&apply.left, recursions)? || reads_work(&apply.right, recursions)?);
        }
        if let Some(inner) = rows_of::<RecursiveTable>(provider.as_ref()) {
            return Ok(reads_work(&inner.anchor, recursions)? || reads_work(&inner.step, recursions)?);
        }
        let own = rows_of::<Arc<WorkTable>>(provider.as_ref());
        Ok(own.is_some_and(|own| recursions.iter().any(|known| Arc::ptr_eq(&known.before, own))))
    })
}

/// Names an expression.
pub(super) fn named(expr: Expr, name: &str) -> Expr {
    if expr.schema_name().to_string() == name { expr } else { expr.alias(name) }
}

/// Returns the function of an aggregate.
pub(super) fn function_of(expr: &Expr) -> Option<&datafusion::logical_expr::AggregateUDF> {
    match expr {
        Expr::Alias(alias) => function_of(&alias.expr),
        Expr::AggregateFunction(call) => Some(&call.func),
        _ => None,
    }
}

fn grouped_type(grouped: &LogicalPlan, column: &Expr) -> Result<DataType> {
    column.get_type(grouped.schema())
}
