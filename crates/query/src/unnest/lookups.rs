//! Values of subqueries by joins, where rows of a stream pass: they are not held, so that each row of the result follows from one of them.
//!
//! All groups of the lookup are computed, also those that no row asks for. Elsewhere the values are computed for the rows that ask.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, JoinType, Result};
use datafusion::datasource::source_as_provider;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, ScalarFunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, Operator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit, when,
};

use super::dependent::{function_of, named};
use super::fresh;
use super::presence::{Inside, gives_names, through};
use crate::streaming::is_stream;
use tsql::errors;

/// Rows of a stream with the value of a plain subquery beside them, and that value; None if the rows are no stream's, or the
/// subquery is not plain.
pub(super) fn joined_by_lookup(
    input: &LogicalPlan,
    query: &LogicalPlan,
) -> Result<Option<(LogicalPlan, Expr)>> {
    if !reads_stream(input)? {
        return Ok(None);
    }
    let Some(value) = query.schema().columns().into_iter().next() else { return Ok(None) };
    let mut value = Expr::Column(value);
    let mut below = query;
    while let LogicalPlan::Projection(projection) = below {
        if gives_names(projection) || !through(&mut value, projection)? {
            break;
        }
        below = &projection.input;
    }
    match below {
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            of_aggregate(input, aggregate, value)
        }
        _ => {
            let value = query.schema().columns().into_iter().next().map(Expr::Column);
            of_rows(input, query, value)
        }
    }
}

fn reads_stream(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        Ok(match node {
            LogicalPlan::TableScan(scan) => is_stream(source_as_provider(&scan.source)?.as_ref()),
            _ => false,
        })
    })
}

fn reference(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Aggregates of the rows that belong to a row.
fn of_aggregate(
    input: &LogicalPlan,
    aggregate: &Aggregate,
    value: Expr,
) -> Result<Option<(LogicalPlan, Expr)>> {
    if value.contains_outer() {
        return Ok(None);
    }
    let names: Vec<String> = aggregate.aggr_expr.iter().map(|_| fresh()).collect();
    let Some(joined) = grouped(input, &aggregate.input, aggregate.aggr_expr.clone(), &names)? else {
        return Ok(None);
    };
    let value = value.transform(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let at = aggregate.schema.maybe_index_of_column(column);
        let found = at.and_then(|at| Some((aggregate.aggr_expr.get(at)?, names.get(at)?, at)));
        let Some((call, name, at)) = found else { return Ok(Transformed::no(part)) };
        let of_none = match function_of(call) {
            Some(function) => function.default_value(aggregate.schema.field(at).data_type())?,
            None => return Ok(Transformed::no(part)),
        };
        let own = match (&joined.missing, of_none.is_null()) {
            (Some(missing), false) => when(missing.clone(), lit(of_none)).otherwise(reference(name))?,
            _ => reference(name),
        };
        Ok(Transformed::new(own, true, TreeNodeRecursion::Jump))
    })?;
    Ok(Some((joined.plan, value.data)))
}

/// Joins the one row that belongs to a row. Errors when run: 512 for several.
fn of_rows(
    input: &LogicalPlan,
    query: &LogicalPlan,
    value: Option<Expr>,
) -> Result<Option<(LogicalPlan, Expr)>> {
    let Some(value) = value else { return Ok(None) };
    let call = |func, args| {
        let params = AggregateFunctionParams {
            args,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            null_treatment: None,
        };
        Expr::AggregateFunction(AggregateFunction { func, params })
    };
    let aggregates = vec![call(first_value_udaf(), vec![value]), call(count_udaf(), vec![lit(1_i64)])];
    let names = vec![fresh(), fresh()];
    let Some(joined) = grouped(input, query, aggregates, &names)? else { return Ok(None) };
    let arguments = names.iter().map(|name| reference(name)).collect();
    let one = ScalarUDF::from(OneValue { signature: Signature::any(2, Volatility::Immutable) });
    Ok(Some((joined.plan, Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(one), arguments)))))
}

struct Joined {
    plan: LogicalPlan,
    /// The condition that a row has no group; `None` if each has one.
    missing: Option<Expr>,
}

/// Joins each row with aggregates of the query's rows whose keys are equal to its own.
fn grouped(
    input: &LogicalPlan,
    query: &LogicalPlan,
    aggregates: Vec<Expr>,
    names: &[String],
) -> Result<Option<Joined>> {
    let Some(inside) = Inside::of(query, aggregates, input.schema(), false)? else { return Ok(None) };
    let is_of = |expr: &Expr, plan: &LogicalPlan| {
        !expr.contains_outer()
            && expr
                .column_refs()
                .into_iter()
                .all(|column| plan.schema().maybe_index_of_column(column).is_some())
    };
    if inside.exprs.iter().any(|expr| !is_of(expr, &inside.rows)) {
        return Ok(None);
    }
    let (mut keys, mut conditions) = (Vec::new(), Vec::new());
    for condition in &inside.across {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
            return Ok(None);
        };
        let (outer, own) = match (is_of(left, input), is_of(right, &inside.rows)) {
            (true, true) => (left, right),
            _ if is_of(right, input) && is_of(left, &inside.rows) => (right, left),
            _ => return Ok(None),
        };
        let name = fresh();
        keys.push(own.as_ref().clone().alias(&name));
        conditions.push(outer.as_ref().clone().eq(reference(&name)));
    }
    let exprs = inside.exprs.into_iter().zip(names).map(|(expr, name)| match expr {
        Expr::Alias(alias) => alias.expr.alias(name),
        expr => named(expr, name),
    });
    let first = conditions.first().cloned();
    let missing = match first {
        Some(Expr::BinaryExpr(BinaryExpr { right, .. })) => Some(right.is_null()),
        _ => None,
    };
    let groups = LogicalPlanBuilder::from(inside.rows).aggregate(keys, exprs.collect::<Vec<_>>())?.build()?;
    let builder = LogicalPlanBuilder::from(input.clone());
    let plan = match conditions.is_empty() {
        true => builder.cross_join(groups)?.build()?,
        false => builder.join_on(groups, JoinType::Left, conditions)?.build()?,
    };
    Ok(Some(Joined { plan, missing }))
}

/// The first value of a group that may have one row only.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneValue {
    signature: Signature,
}

impl ScalarUDFImpl for OneValue {
    fn name(&self) -> &str {
        "one_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [value, count] = arguments.args.as_slice() else {
            return Err(DataFusionError::Internal("a value without its count".to_owned()));
        };
        let counts = count.to_array(rows)?;
        let counts = counts.as_primitive_opt::<Int64Type>();
        if counts.is_some_and(|counts| counts.iter().flatten().any(|count| count > 1)) {
            return Err(DataFusionError::External(Box::new(errors::SUBQUERY_ROWS.error())));
        }
        Ok(value.clone())
    }
}
