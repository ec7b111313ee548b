//! EXISTS and IN as semi joins, where a condition on pairs of rows says all that there is to them.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Subquery,
};

use super::subqueries::{holds_subquery, without_subqueries};
use crate::correlated::{outer_names, outer_names_of};

/// Joins the rows for which a condition holds, if it is a plain EXISTS or IN, or the opposite of one.
///
/// NOT IN is that only of values that are never NULL: NULL among them leaves it unknown.
pub(super) fn joined_by_presence(input: &LogicalPlan, condition: &Expr) -> Result<Option<LogicalPlan>> {
    let Some((value, subquery, wanted)) = presence(condition) else { return Ok(None) };
    if let Some(value) = value
        && holds_subquery(value)?
    {
        return Ok(None);
    }
    let key = match value {
        Some(_) => subquery.subquery.schema().columns().into_iter().next().map(Expr::Column),
        None => None,
    };
    let exprs = key.into_iter().collect();
    let Some(mut inside) = Inside::of(&subquery.subquery, exprs, input.schema(), true)? else {
        return Ok(None);
    };
    if let (Some(value), Some(key)) = (value, inside.exprs.pop()) {
        let pairs = input.schema().join(inside.rows.schema())?;
        let may_be_null = value.nullable(&pairs)? || key.nullable(&pairs)?;
        if !wanted && may_be_null || value.get_type(&pairs)? != key.get_type(&pairs)? {
            return Ok(None);
        }
        inside.across.push(value.clone().eq(key));
    }
    if inside.across.is_empty() {
        return Ok(None);
    }
    let kind = if wanted { JoinType::LeftSemi } else { JoinType::LeftAnti };
    let joined = LogicalPlanBuilder::from(input.clone()).join_on(inside.rows, kind, inside.across)?;
    joined.build().map(Some)
}

/// Returns the value of an IN, its query, and true if it is to hold.
fn presence(condition: &Expr) -> Option<(Option<&Expr>, &Subquery, bool)> {
    match condition {
        Expr::Exists(Exists { subquery, negated }) => Some((None, subquery, !negated)),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => Some((Some(expr), subquery, !negated)),
        Expr::Not(inner) => presence(inner).map(|(value, subquery, wanted)| (value, subquery, !wanted)),
        _ => None,
    }
}

/// A query taken apart: rows that do not look out, and conditions that do.
pub(super) struct Inside {
    /// Rows that do not look out.
    pub rows: LogicalPlan,
    /// Conditions for a pair of rows outside and inside.
    pub across: Vec<Expr>,
    /// Expressions over the query's rows, as they are over a pair.
    pub exprs: Vec<Expr>,
}

impl Inside {
    /// Takes the query apart, with `exprs` over its rows; `None` if it does more than to choose and compute. With
    /// `for_presence`, neither order nor duplicates matter.
    pub fn of(
        plan: &LogicalPlan,
        mut exprs: Vec<Expr>,
        outside: &DFSchema,
        for_presence: bool,
    ) -> Result<Option<Inside>> {
        let (mut across, mut own) = (Vec::new(), Vec::new());
        let mut plan = plan;
        loop {
            plan = match plan {
                LogicalPlan::Projection(projection) if !gives_names(projection) => {
                    for expr in exprs.iter_mut().chain(&mut across).chain(&mut own) {
                        if !through(expr, projection)? {
                            return Ok(None);
                        }
                    }
                    &projection.input
                }
                LogicalPlan::Filter(filter) => {
                    for part in split_conjunction(&filter.predicate) {
                        match outer_names_of(part)?.is_empty() {
                            true => own.push(part.clone()),
                            false if holds_subquery(part)? => return Ok(None),
                            false => across.push(part.clone()),
                        }
                    }
                    &filter.input
                }
                LogicalPlan::Sort(sort) if for_presence && sort.fetch.is_none() => &sort.input,
                LogicalPlan::Distinct(Distinct::All(input)) if for_presence => input,
                _ => break,
            };
        }
        if !outer_names(plan)?.is_empty() {
            return Ok(None);
        }
        // An expression that was computed from outer columns looks out now.
        let (own, looking): (Vec<Expr>, Vec<Expr>) =
            own.into_iter().partition(|part| outer_names_of(part).is_ok_and(|names| names.is_empty()));
        across.extend(looking);
        for expr in exprs.iter_mut().chain(&mut across) {
            if expr.is_volatile() || holds_subquery(expr)? {
                return Ok(None);
            }
            // A column that is not outside belongs to a query further out.
            let seen = std::mem::take(expr).transform_up(|part| {
                Ok(match part {
                    Expr::OuterReferenceColumn(_, column)
                        if outside.maybe_index_of_column(&column).is_some() =>
                    {
                        Transformed::yes(Expr::Column(column))
                    }
                    part => Transformed::no(part),
                })
            })?;
            *expr = seen.data;
        }
        let mut rows = LogicalPlanBuilder::from(plan.clone());
        if let Some(own) = own.into_iter().reduce(Expr::and) {
            rows = rows.filter(own)?;
        }
        let rows = without_subqueries(&rows.build()?)?;
        Ok(Some(Inside { rows, across, exprs }))
    }
}

/// Returns true for a projection that gives columns names of their own: those of a table, and the engine's of grouping sets.
pub(super) fn gives_names(projection: &Projection) -> bool {
    match projection.input.as_ref() {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::Aggregate(aggregate) => {
            matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)])
        }
        _ => false,
    }
}

/// Rewrites an expression over a projection's rows for the rows below it. Returns false if it cannot.
pub(super) fn through(expr: &mut Expr, projection: &Projection) -> Result<bool> {
    let mut plain = true;
    let seen = std::mem::take(expr).transform(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        match source_of(column, projection) {
            Some(source) if !source.is_volatile() && !holds_subquery(source)? => {
                Ok(Transformed::new(source.clone(), true, TreeNodeRecursion::Jump))
            }
            _ => {
                plain = false;
                Ok(Transformed::no(part))
            }
        }
    })?;
    *expr = seen.data;
    Ok(plain)
}

fn source_of<'p>(column: &Column, projection: &'p Projection) -> Option<&'p Expr> {
    let index = projection.schema.maybe_index_of_column(column)?;
    match projection.expr.get(index)? {
        Expr::Alias(alias) => Some(&alias.expr),
        expr => Some(expr),
    }
}
