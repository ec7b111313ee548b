//! UNION, EXCEPT and INTERSECT.

use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union};
use tds::SqlType;

use super::super::collation::key;
use super::super::typed::Typed;
use super::super::types::{agreed_type, common_type};
use super::scope::reference;
use super::select::output_values;
use super::{Binder, BoundQuery, OutputColumn, Scope, plan_error};
use tsql::SqlError;
use tsql::errors;
use tsql::query::{QueryBody, SetOperator};

/// Set operators that nest in a plan, as those of a UNION do not.
const NESTED_MAX: usize = 200;

impl Binder<'_> {
    /// Queries joined by set operators. A chain is walked from its first query on; what UNION joins stands side by side.
    pub(super) fn combined(
        &self,
        body: &QueryBody,
        parent: Option<&Scope<'_>>,
    ) -> Result<BoundQuery, SqlError> {
        let mut chain = Vec::new();
        let mut first = body;
        while let QueryBody::Set { operator, all, left, right } = first {
            if matches!(right.as_ref(), QueryBody::Select(select) if select.into.is_some()) {
                return Err(SqlError::new(
                    196,
                    15,
                    1,
                    "SELECT INTO must be the first query in a statement containing a UNION, INTERSECT or EXCEPT operator.",
                ));
            }
            chain.push((*operator, *all, right.as_ref()));
            first = left.as_ref();
        }
        let mut left = self.body(first, parent)?;
        let mut nested = 0;
        let mut links = chain.into_iter().rev().peekable();
        while let Some((operator, all, right)) = links.next() {
            let right = self.body(right, parent)?;
            if operator != SetOperator::Union {
                nested += 1;
                left = by_presence_of(self, left, right, operator == SetOperator::Intersect)?;
            } else {
                let mut parts = vec![left, right];
                // The removal of duplicates is decided once for all UNIONs that follow each other.
                while let Some((_, _, next)) =
                    links.next_if(|(operator, own, _)| *operator == SetOperator::Union && *own == all)
                {
                    parts.push(self.body(next, parent)?);
                }
                let joined = side_by_side(self, parts)?;
                nested += usize::from(!all);
                left = if all { joined } else { self.distinct(joined)? };
            }
            if nested > NESTED_MAX {
                return Err(errors::TOO_COMPLEX.error());
            }
        }
        Ok(left)
    }
}

/// Binds UNION ALL.
fn side_by_side(binder: &Binder<'_>, parts: Vec<BoundQuery>) -> Result<BoundQuery, SqlError> {
    let columns = common_columns(&parts)?;
    let names: Vec<String> = columns.iter().map(|_| binder.fresh()).collect();
    let mut inputs = Vec::with_capacity(parts.len());
    for part in parts {
        inputs.push(std::sync::Arc::new(as_common(part, &columns, &names)?));
    }
    let union = Union::try_new_with_loose_types(inputs).map_err(plan_error)?;
    Ok(BoundQuery { plan: LogicalPlan::Union(union), columns })
}

fn by_presence_of(
    binder: &Binder<'_>,
    left: BoundQuery,
    right: BoundQuery,
    wanted: bool,
) -> Result<BoundQuery, SqlError> {
    let parts = [left, right];
    let columns = common_columns(&parts)?;
    let names: Vec<String> = columns.iter().map(|_| binder.fresh()).collect();
    let [left, right] = parts;
    let (left, right) = (as_common(left, &columns, &names)?, as_common(right, &columns, &names)?);
    by_presence(binder, left, right, columns, wanted)
}

/// Returns the columns of all parts together: names of the first, types that hold the values of all. Errors: 205.
fn common_columns(parts: &[BoundQuery]) -> Result<Vec<OutputColumn>, SqlError> {
    let mut columns: Vec<OutputColumn> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let values = output_values(part);
        if index == 0 {
            columns = values
                .iter()
                .map(|(typed, output)| {
                    let mut column =
                        OutputColumn::expression(output.name.clone(), typed.sql_type.clone(), typed.nullable);
                    column.collation = typed.collation;
                    column.untyped_null = output.untyped_null;
                    column
                })
                .collect();
            continue;
        }
        if values.len() != columns.len() {
            return Err(SqlError::new(
                205,
                16,
                1,
                "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.",
            ));
        }
        for (column, (value, own)) in columns.iter_mut().zip(&values) {
            column.sql_type = match (column.untyped_null, own.untyped_null) {
                (true, false) => value.sql_type.clone(),
                (false, true) => column.sql_type.clone(),
                (true, true) => common_type(&column.sql_type, &value.sql_type),
                (false, false) => agreed_type(&column.sql_type, &value.sql_type)?,
            };
            column.untyped_null &= own.untyped_null;
            column.nullable |= value.nullable;
            column.collation = column.collation.or(value.collation);
        }
    }
    Ok(columns)
}

/// Binds EXCEPT and INTERSECT: keeps the distinct rows of the left side that the right side lacks, or has. Rows are
/// equal if their keys are, with NULL equal to NULL.
fn by_presence(
    binder: &Binder<'_>,
    left: LogicalPlan,
    right: LogicalPlan,
    columns: Vec<OutputColumn>,
    wanted: bool,
) -> Result<BoundQuery, SqlError> {
    let left = binder.distinct(BoundQuery { plan: left, columns: columns.clone() })?;
    let keys = |plan: LogicalPlan| -> Result<(LogicalPlan, Vec<String>), SqlError> {
        let bound = BoundQuery { plan, columns: columns.clone() };
        let (mut exprs, mut names) = (Vec::new(), Vec::new());
        for (value, _) in output_values(&bound) {
            names.push(binder.fresh());
            exprs.push(key(&value).alias(names.last().map_or("", String::as_str)));
        }
        let own = bound.plan.schema().columns().into_iter().map(Expr::Column);
        let exprs: Vec<Expr> = own.chain(exprs).collect();
        let plan = LogicalPlanBuilder::from(bound.plan).project(exprs).and_then(LogicalPlanBuilder::build);
        Ok((plan.map_err(plan_error)?, names))
    };
    let names = left.plan.schema().columns();
    let (left_plan, left_keys) = keys(left.plan)?;
    // The right side keeps its keys only: its columns have the left one's names.
    let (right_plan, right_keys) = keys(right)?;
    let right_plan = LogicalPlanBuilder::from(right_plan)
        .project(right_keys.iter().map(|name| reference(name)))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    let on: (Vec<Column>, Vec<Column>) = left_keys
        .iter()
        .zip(&right_keys)
        .map(|(left, right)| (Column::new_unqualified(left), Column::new_unqualified(right)))
        .unzip();
    let kind = if wanted { JoinType::LeftSemi } else { JoinType::LeftAnti };
    let plan = LogicalPlanBuilder::from(left_plan)
        .join_detailed(right_plan, kind, on, None, NullEquality::NullEqualsNull)
        .and_then(|builder| builder.project(names.into_iter().map(Expr::Column)))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    Ok(BoundQuery { plan, columns })
}

/// Converts a query's columns to the types and names of others.
fn as_common(bound: BoundQuery, columns: &[OutputColumn], names: &[String]) -> Result<LogicalPlan, SqlError> {
    let cast = |(value, output): (Typed, OutputColumn), to: &SqlType, name: &str| {
        let value = if output.untyped_null { Typed::null() } else { value };
        Ok::<Expr, SqlError>(value.cast(to)?.expr.alias(name))
    };
    let values = output_values(&bound).into_iter().zip(columns).zip(names);
    let exprs = values.map(|((value, column), name)| cast(value, &column.sql_type, name));
    let exprs = exprs.collect::<Result<Vec<_>, _>>()?;
    LogicalPlanBuilder::from(bound.plan)
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}
