//! GROUP BY and aggregates.
//!
//! Grouping splits a SELECT in two: below, the rows of FROM with the grouped expressions beside them; above,
//! one row a group, in which only grouped expressions and aggregates exist.

use std::cell::RefCell;

use arrow::datatypes::DataType;
use datafusion::functions_aggregate as engine_aggregates;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, Sort};
use datafusion::logical_expr::{Expr, cast, lit};
use rows::text::number::POWERS_OF_TEN;
use tds::{Collation, Length, SqlType};

use super::super::Datum;
use super::super::arithmetic::checked_float;
use super::super::collation::{is_lossy, key};
use super::super::convert::{length_limit, text_length, type_name};
use super::super::distinct_spread::distinct_spread;
use super::super::first_of_group::first_of_group;
use super::super::functions::{self, Aggregate as Kind, Kernel, Written};
use super::super::kernels;
use super::super::typed::{Typed, call, call_by_column};
use super::super::types::{as_decimal, bounded_decimal, is_integer};
use super::clause::{Clause, misplaced_aggregate, not_grouped};
use super::scope::{InnerAggregates, outer, reference};
use super::window::moving_kind;
use super::{Binder, Scope};
use tsql::SqlError;
use tsql::expression::{Expr as Ast, FunctionCall};

/// The grouped expressions of a SELECT, and the aggregates met while binding what stands above them.
pub(super) struct Grouping<'s> {
    /// Names below the grouping.
    pub below: &'s Scope<'s>,
    /// Each grouped expression, bound below, and its column above.
    pub keys: Vec<(Typed, Typed)>,
    /// Aggregates by the name of their column.
    pub aggregates: RefCell<Vec<(String, Expr)>>,
    /// With grouping sets: the column with the number of a row's set.
    pub set_column: Option<String>,
}

/// Returns true if a call names an aggregate, with or without a window.
pub(super) fn is_aggregate(call: &FunctionCall) -> bool {
    call.schema.is_none() && functions::aggregate(&call.name).is_some()
}

/// Returns true if an expression contains an aggregate of the query whose FROM is `scope`, rather than of a query
/// around it.
pub(super) fn has_own_aggregate(expr: &Ast, scope: &Scope<'_>) -> bool {
    contains_aggregate(expr, &|call| matches!(owner(call, scope), Owner::Query))
}

/// Returns true if a function is computed from a group rather than from its rows.
fn stands_above(name: &str) -> bool {
    let kernel = functions::find(name).map(|function| function.kernel);
    matches!(kernel, Some(Kernel::Aggregate(_) | Kernel::Written(Written::Grouping | Written::GroupingId)))
}

/// The query that an aggregate belongs to.
enum Owner<'s> {
    /// The query's that it stands in.
    Query,
    /// A grouped query's around it.
    Around(&'s Scope<'s>),
    /// The aggregate belongs to a query around it that is not grouped, or not yet.
    Ungrouped,
}

/// Finds the query that an aggregate belongs to: the nearest one around it that has all columns of its arguments, if
/// the query itself has none of them.
fn owner<'s>(call: &FunctionCall, scope: &Scope<'s>) -> Owner<'s> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    for argument in &call.arguments {
        argument.clone().rewrite(&mut |part| {
            if let Ast::Column(path) = &part {
                columns.push(path.clone());
            }
            part
        });
    }
    let own = scope.grouping.map_or(scope, |grouping| grouping.below);
    if columns.is_empty() || columns.iter().any(|path| own.has_column(path)) {
        return Owner::Query;
    }
    let mut around = scope.parent;
    while let Some(outer) = around {
        let below = outer.grouping.map_or(outer, |grouping| grouping.below);
        if !columns.iter().all(|path| below.has_column(path)) {
            around = outer.parent;
            continue;
        }
        return match (outer.grouping, outer.inner_aggregates) {
            (Some(_), _) => Owner::Around(outer),
            (None, InnerAggregates::Own) => Owner::Query,
            (None, InnerAggregates::Refused) => Owner::Ungrouped,
            (None, InnerAggregates::Group(wanted)) => {
                wanted.set(true);
                Owner::Ungrouped
            }
        };
    }
    Owner::Query
}

/// Returns true if an expression contains an aggregate of any query.
pub(super) fn has_aggregate(expr: &Ast) -> bool {
    contains_aggregate(expr, &|_| true)
}

/// Returns true if an expression contains an aggregate that `counts`.
fn contains_aggregate(expr: &Ast, counts: &dyn Fn(&FunctionCall) -> bool) -> bool {
    let has_aggregate = |expr: &Ast| contains_aggregate(expr, counts);
    match expr {
        Ast::Function(call) if call.over.is_none() && is_aggregate(call) && counts(call) => true,
        Ast::Function(call) => {
            let window = call.over.iter().any(|over| {
                over.partition_by.iter().any(has_aggregate)
                    || over.order_by.iter().any(|item| has_aggregate(&item.expr))
            });
            window || call.arguments.iter().any(has_aggregate)
        }
        Ast::Unary(_, inner) | Ast::Not(inner) | Ast::IsNull(inner, _) | Ast::Collate(inner, _) => {
            has_aggregate(inner)
        }
        Ast::Cast { value, .. } => has_aggregate(value),
        Ast::Binary(left, _, right)
        | Ast::Compare(left, _, right)
        | Ast::And(left, right)
        | Ast::Or(left, right) => has_aggregate(left) || has_aggregate(right),
        Ast::Between { value, low, high, .. } => {
            has_aggregate(value) || has_aggregate(low) || has_aggregate(high)
        }
        Ast::InList { value, list, .. } => has_aggregate(value) || list.iter().any(has_aggregate),
        Ast::InQuery { value, .. } | Ast::Quantified { value, .. } => has_aggregate(value),
        Ast::Like { value, pattern, .. } => has_aggregate(value) || has_aggregate(pattern),
        Ast::Case { operand, branches, otherwise } => {
            operand.as_deref().is_some_and(has_aggregate)
                || otherwise.as_deref().is_some_and(has_aggregate)
                || branches.iter().any(|(when, then)| has_aggregate(when) || has_aggregate(then))
        }
        Ast::Literal(_)
        | Ast::Column(_)
        | Ast::Variable(_)
        | Ast::Subquery(_)
        | Ast::NextValue(_)
        | Ast::Exists(_) => false,
    }
}

/// Makes an aggregate call of the engine.
pub(super) fn aggregate(
    function: std::sync::Arc<datafusion::logical_expr::AggregateUDF>,
    arguments: Vec<Expr>,
    distinct: bool,
    order_by: Vec<Sort>,
) -> Expr {
    Expr::AggregateFunction(AggregateFunction {
        func: function,
        params: AggregateFunctionParams {
            args: arguments,
            distinct,
            filter: None,
            order_by,
            null_treatment: None,
        },
    })
}

/// What a group of equal keys, and DISTINCT, shows: the value of its first row.
pub(super) fn first_of(value: &Typed) -> Expr {
    aggregate(first_of_group(), vec![value.expr.clone()], false, Vec::new())
}

/// A bound aggregate.
pub(super) struct Aggregate {
    /// The engine's call.
    pub expr: Expr,
    /// The type of its value.
    pub value_type: SqlType,
    /// T-SQL's type.
    pub result: SqlType,
    /// The collation of a text.
    pub collation: Option<Collation>,
}

/// Converts an aggregate's column to T-SQL's value of it.
fn finished(value: Typed, result: SqlType, name: &str) -> Result<Typed, SqlError> {
    if functions::aggregate(name) == Some(Kind::Joined) {
        let joined = cast(value.expr.clone(), DataType::Utf8);
        return Ok(joined_text(Typed { expr: joined, nullable: true, ..value }, result));
    }
    of_engine(value, &result, name)
}

/// Converts the engine's result of an aggregate to T-SQL's value. An average is a division, whose quotient is cut
/// at its scale and not rounded.
pub(super) fn of_engine(value: Typed, result: &SqlType, name: &str) -> Result<Typed, SqlError> {
    let collation = value.collation;
    let averages = functions::aggregate(name) == Some(Kind::Average);
    let value = match (as_decimal(&value.sql_type), as_decimal(result)) {
        (Some((_, from)), Some((_, to))) if averages && from > to => cut_quotient(value, from, to),
        _ => value,
    };
    checked_float(value).with_collation(collation).cast(result)
}

/// Cuts the digits behind scale `to` from a decimal of scale `from`.
fn cut_quotient(value: Typed, from: u8, to: u8) -> Typed {
    let result = SqlType::Numeric { precision: 38, scale: to };
    let divisor = POWERS_OF_TEN.get(usize::from(from - to)).copied().unwrap_or(1);
    let form = Some(kernels::cut(divisor, &result));
    call_by_column(&format!("cut_from_{from}_to_{to}"), vec![value], result, form, move |values| {
        Ok(match values {
            [Datum::Decimal(units)] => Datum::Decimal(units / divisor),
            _ => Datum::Null,
        })
    })
}

/// Checks the length of STRING_AGG's result. Errors when run: 9829 for a text longer than its type.
fn joined_text(joined: Typed, result: SqlType) -> Typed {
    let Some(limit) = length_limit(&result) else { return joined };
    let target = result.clone();
    call("string_agg_limit", vec![joined], result, move |values| match values {
        [Datum::Text(text)] if text.len() > limit && text_length(text, &target) > limit => {
            let message = "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.";
            Err(SqlError::new(9829, 16, 1, message))
        }
        [value] => Ok(value.clone()),
        _ => Ok(Datum::Null),
    })
}

impl Binder<'_> {
    /// Binds `expr` above the grouping: to its column, if the query groups by it. Errors: 8120 for a column that is
    /// not grouped.
    pub(super) fn grouped(&self, expr: &Ast, grouping: &Grouping<'_>) -> Result<Option<Typed>, SqlError> {
        match expr {
            Ast::Literal(_) | Ast::Variable(_) | Ast::Subquery(_) => return Ok(None),
            Ast::Function(call)
                if call.over.is_some() || (call.schema.is_none() && stands_above(&call.name)) =>
            {
                return Ok(None);
            }
            _ => {}
        }
        let bound = match self.value(expr, grouping.below) {
            Ok(bound) => bound,
            Err(error) => {
                // Names must exist; what contains aggregates cannot be bound below.
                return if matches!(expr, Ast::Column(_)) { Err(error) } else { Ok(None) };
            }
        };
        if let Some((_, above)) = grouping.keys.iter().find(|(below, _)| below.expr == bound.expr) {
            return Ok(Some(above.clone()));
        }
        match (expr, &bound.expr) {
            (Ast::Column(_), Expr::Column(_)) if self.is_uncomputed.get() => {
                Typed::constant(Datum::Null, bound.sql_type).map(Some)
            }
            (Ast::Column(parts), Expr::Column(_)) => {
                let name = match parts.len() {
                    1 => qualified_rows(parts, grouping.below),
                    _ => parts.join("."),
                };
                Err(not_grouped(self.clause.get(), &name))
            }
            // A column of the query around this one is a constant here.
            (Ast::Column(_), _) => Ok(Some(bound)),
            _ => Ok(None),
        }
    }

    /// Binds an aggregate of the query being bound.
    pub(super) fn aggregate_call(&self, call: &FunctionCall, scope: &Scope<'_>) -> Result<Typed, SqlError> {
        let own = match owner(call, scope) {
            Owner::Around(around) => {
                // Computed by the query around this one, in which it is one value for each group.
                let (value, result) = aggregate_column(self, call, around)?;
                return finished(outer(value), result, &call.name);
            }
            Owner::Query => scope.grouping.is_some(),
            Owner::Ungrouped => false,
        };
        if !own {
            return Err(misplaced_aggregate(self.clause.get()));
        }
        let (value, result) = aggregate_column(self, call, scope)?;
        finished(value, result, &call.name)
    }

    /// Returns the engine's aggregate, the type of its value, and T-SQL's type.
    pub(super) fn aggregate_of(&self, call: &FunctionCall, scope: &Scope<'_>) -> Result<Aggregate, SqlError> {
        let numbers = |expr, value_type, result| Aggregate { expr, value_type, result, collation: None };
        let bigint = SqlType::BigInt;
        let kind = functions::aggregate(&call.name).ok_or_else(|| SqlError::internal("no aggregate"))?;
        let count_type = if kind == Kind::Count { SqlType::Int } else { SqlType::BigInt };
        if call.star {
            let expr = aggregate(engine_aggregates::count::count_udaf(), vec![lit(1_i64)], false, Vec::new());
            return Ok(numbers(expr, bigint, count_type));
        }
        let missing = || SqlError::internal("an aggregate with too few arguments");
        let first = call.arguments.first().ok_or_else(missing)?;
        let value = self.of_clause(Clause::Aggregate, || self.value(first, scope))?;
        let sql_type = value.sql_type.clone();
        let value_collation = value.collation;
        let invalid = || {
            SqlError::new(
                8117,
                16,
                1,
                format!(
                    "Operand data type {} is invalid for {} operator.",
                    type_name(&sql_type),
                    call.name.to_lowercase()
                ),
            )
        };
        let vector = matches!(sql_type, SqlType::Vector { .. });
        match kind {
            Kind::Least | Kind::Greatest | Kind::ApproximateCount if vector => Err(invalid()),
            Kind::Count | Kind::CountBig if vector && call.distinct => Err(invalid()),
            Kind::Count | Kind::CountBig | Kind::ApproximateCount | Kind::Least | Kind::Greatest
                if is_large_object(&sql_type) =>
            {
                Err(invalid())
            }
            Kind::Count | Kind::CountBig | Kind::ApproximateCount => {
                let distinct = call.distinct || kind == Kind::ApproximateCount;
                let argument = if distinct { key(&value) } else { value.expr.clone() };
                let count =
                    aggregate(engine_aggregates::count::count_udaf(), vec![argument], distinct, Vec::new());
                Ok(numbers(count, bigint, count_type))
            }
            Kind::Least | Kind::Greatest => {
                if sql_type == SqlType::Bit {
                    return Err(invalid());
                }
                let ascending = kind == Kind::Least;
                let expr = if is_lossy(&value) {
                    // NULLs never win: they are last in either order.
                    let order = vec![Sort::new(key(&value), ascending, false)];
                    aggregate(
                        engine_aggregates::first_last::first_value_udaf(),
                        vec![value.expr.clone()],
                        false,
                        order,
                    )
                } else {
                    let function = if ascending {
                        engine_aggregates::min_max::min_udaf()
                    } else {
                        engine_aggregates::min_max::max_udaf()
                    };
                    aggregate(function, vec![value.expr.clone()], false, Vec::new())
                };
                Ok(Aggregate {
                    expr,
                    value_type: sql_type.clone(),
                    result: sql_type,
                    collation: value.collation,
                })
            }
            Kind::Sum => {
                let sum = engine_aggregates::sum::sum_udaf;
                match &sql_type {
                    SqlType::Float | SqlType::Real => {
                        let argument = value.cast(&SqlType::Float)?.expr;
                        let sum = aggregate(sum(), vec![argument], call.distinct, Vec::new());
                        Ok(numbers(sum, SqlType::Float, SqlType::Float))
                    }
                    _ => {
                        let (wide, result) = sum_types(&sql_type).ok_or_else(invalid)?;
                        let argument = value.cast(&wide)?.expr;
                        Ok(numbers(aggregate(sum(), vec![argument], call.distinct, Vec::new()), wide, result))
                    }
                }
            }
            Kind::Average => average_of(call, value, invalid),
            Kind::Deviation | Kind::PopulationDeviation | Kind::Variance | Kind::PopulationVariance => {
                let function = match kind {
                    Kind::Deviation => engine_aggregates::stddev::stddev_udaf(),
                    Kind::PopulationDeviation => engine_aggregates::stddev::stddev_pop_udaf(),
                    Kind::Variance => engine_aggregates::variance::var_samp_udaf(),
                    _ => engine_aggregates::variance::var_pop_udaf(),
                };
                let argument = value.cast(&SqlType::Float)?.expr;
                let distinct = moving_kind(kind).filter(|_| call.distinct).map(distinct_spread);
                let function = distinct.unwrap_or(function);
                let deviation = aggregate(function, vec![argument], false, Vec::new());
                Ok(numbers(deviation, SqlType::Float, SqlType::Float))
            }
            Kind::Checksum => {
                if !is_integer(&sql_type) {
                    return Err(invalid());
                }
                let argument = value.cast(&SqlType::Int)?.expr;
                let function = engine_aggregates::bit_and_or_xor::bit_xor_udaf();
                let combined = aggregate(function, vec![argument], call.distinct, Vec::new());
                Ok(numbers(combined, SqlType::Int, SqlType::Int))
            }
            Kind::ContinuousPercentile | Kind::DiscretePercentile => {
                super::window::approximate_percentile(self, call, kind, scope)
            }
            Kind::Joined => {
                let separator = call.arguments.get(1).ok_or_else(missing)?;
                let unicode = sql_type.is_unicode() || !sql_type.is_character();
                let text = super::super::types::text_of(unicode, None);
                let separator = self.value(separator, scope)?.cast(&text)?.expr;
                let order = call
                    .within_group
                    .iter()
                    .map(|item| {
                        let value = self.value(&item.expr, scope)?;
                        Ok(Sort::new(key(&value), !item.descending, !item.descending))
                    })
                    .collect::<Result<Vec<_>, SqlError>>()?;
                let result = match (&sql_type, unicode) {
                    (
                        SqlType::VarChar { length: Length::Max } | SqlType::NVarChar { length: Length::Max },
                        _,
                    ) => text.clone(),
                    (_, true) => SqlType::NVarChar { length: Length::Units(4000) },
                    (_, false) => SqlType::VarChar { length: Length::Units(8000) },
                };
                let argument = value.cast(&text)?.expr;
                let function = engine_aggregates::string_agg::string_agg_udaf();
                let collation = value_collation;
                let expr = aggregate(function, vec![argument, separator], false, order);
                Ok(Aggregate { expr, value_type: text, result, collation })
            }
        }
    }
}

/// Returns true for the types of before varchar(max), and xml: no aggregate counts or orders them.
fn is_large_object(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image)
}

fn qualified_rows(parts: &[String], scope: &Scope<'_>) -> String {
    let table = scope
        .columns
        .iter()
        .find(|column| parts.last().is_some_and(|name| tsql::same_name(&column.output.name, name)))
        .and_then(|column| column.table.clone());
    match table {
        Some(table) => format!("{table}.{}", parts.join(".")),
        None => parts.join("."),
    }
}

/// Returns the column that stands for an aggregate above a grouping, and T-SQL's type of it.
fn aggregate_column(
    binder: &Binder<'_>,
    call: &FunctionCall,
    scope: &Scope<'_>,
) -> Result<(Typed, SqlType), SqlError> {
    let grouping = scope.grouping.ok_or_else(|| SqlError::internal("an aggregate without a grouping"))?;
    let Aggregate { expr, value_type, result, collation } = binder.aggregate_of(call, grouping.below)?;
    let mut aggregates = grouping.aggregates.borrow_mut();
    let name = match aggregates.iter().find(|(_, known)| *known == expr) {
        Some((name, _)) => name.clone(),
        None => {
            if let Some(order) = order_of_text(&expr)
                && aggregates.iter().filter_map(|(_, known)| order_of_text(known)).any(|known| known != order)
            {
                let text = "Multiple ordered aggregate functions in the same scope have mutually incompatible orderings.";
                return Err(SqlError::new(8711, 16, 1, text));
            }
            let name = binder.fresh();
            aggregates.push((name.clone(), expr));
            name
        }
    };
    // The type that the engine returns, then T-SQL's type with its overflow check.
    let counts = matches!(functions::aggregate(&call.name), Some(Kind::Count | Kind::CountBig));
    let nullable = !counts;
    Ok((Typed::new(reference(&name), value_type, nullable).with_collation(collation), result))
}

/// Returns the order that WITHIN GROUP gives a STRING_AGG.
fn order_of_text(expr: &Expr) -> Option<&[Sort]> {
    match expr {
        Expr::AggregateFunction(call) if call.func.name() == "string_agg" => {
            Some(call.params.order_by.as_slice()).filter(|order| !order.is_empty())
        }
        _ => None,
    }
}

/// Builds AVG as SUM over COUNT in T-SQL's types: whole numbers stay whole.
fn average_of(
    call: &FunctionCall,
    value: Typed,
    invalid: impl Fn() -> SqlError,
) -> Result<Aggregate, SqlError> {
    let numbers = |expr, value_type, result| Aggregate { expr, value_type, result, collation: None };
    let function = engine_aggregates::average::avg_udaf();
    let result = match &value.sql_type {
        SqlType::Float | SqlType::Real => SqlType::Float,
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => SqlType::Int,
        SqlType::BigInt => SqlType::BigInt,
        SqlType::Money | SqlType::SmallMoney => SqlType::Money,
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            SqlType::Numeric { precision: 38, scale: (*scale).max(6) }
        }
        _ => return Err(invalid()),
    };
    if result == SqlType::Float {
        let argument = value.cast(&SqlType::Float)?.expr;
        let average = aggregate(function, vec![argument], call.distinct, Vec::new());
        return Ok(numbers(average, SqlType::Float, result));
    }
    // The engine's decimal average has four digits more than its argument, up to 38 in all; whole numbers and
    // decimals alike are averaged with six and then cut or kept.
    let wide = SqlType::Numeric {
        precision: 34,
        scale: if is_integer(&result) { 0 } else { as_decimal(&result).map_or(6, |(_, scale)| scale.max(6)) },
    };
    let scale = as_decimal(&wide).map_or(0, |(_, scale)| scale);
    let average = SqlType::Numeric { precision: 38, scale: (scale + 4).min(38) };
    let argument = value.cast(&wide)?.expr;
    Ok(numbers(aggregate(function, vec![argument], call.distinct, Vec::new()), average, result))
}

/// Returns the decimal or whole type that a sum is made in, and T-SQL's type of it.
fn sum_types(sql_type: &SqlType) -> Option<(SqlType, SqlType)> {
    let wide = |scale: u8| SqlType::Numeric { precision: 38, scale };
    Some(match sql_type {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => (wide(0), SqlType::Int),
        SqlType::BigInt => (wide(0), SqlType::BigInt),
        SqlType::Money | SqlType::SmallMoney => (wide(4), SqlType::Money),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            (wide(*scale), bounded_decimal(38, u32::from(*scale)))
        }
        _ => return None,
    })
}
