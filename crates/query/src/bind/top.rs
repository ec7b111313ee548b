//! Limits the rows of a SELECT: TOP, OFFSET and FETCH.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, lit,
};
use tds::SqlType;

use super::super::Datum;
use super::super::typed::{Typed, call, constant_of};
use super::scope::reference;
use super::{Binder, Scope, plan_error};
use tsql::SqlError;
use tsql::expression::Expr as Ast;
use tsql::query::{Query, Top};

/// The number and the text of the error for a count that is no number.
type Refusal = (i32, &'static str);

const TOP_COUNT: Refusal =
    (1060, "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.");
const OFFSET_COUNT: Refusal = (10743, "The offset specified in a OFFSET clause must be an integer.");
const FETCH_COUNT: Refusal = (10745, "The number of rows provided for a FETCH clause must be an integer.");

/// Adds ORDER BY, then TOP or OFFSET and FETCH, to a plan.
///
/// `outer` is the scope of the query around, whose columns counts may look at.
///
/// Errors: 1031 for a percentage beyond 100, 1060, 10742 to 10745 and 127 for counts, 1062 for WITH TIES without an order.
pub(super) fn limited(
    binder: &Binder<'_>,
    mut plan: LogicalPlan,
    sorts: Vec<Sort>,
    (top, query): (Option<&Top>, &Query),
    outer: Option<&Scope<'_>>,
) -> Result<LogicalPlan, SqlError> {
    let count = |expr: &Ast, refusal: Refusal| counted(binder, expr, refusal, outer);
    let top_count = match top {
        Some(top) if top.percent || top.with_ties => {
            plan = placed(binder, plan, &sorts, top, outer)?;
            None
        }
        Some(top) => Some(count(&top.count, TOP_COUNT)?),
        None => None,
    };
    let skip = query.offset.as_ref().map(|offset| count(offset, OFFSET_COUNT)).transpose()?;
    let fetch = query.fetch.as_ref().map(|fetch| count(fetch, FETCH_COUNT)).transpose()?;
    let computed = [&top_count, &skip, &fetch].into_iter().flatten().any(|count| count.as_usize().is_none());
    if computed {
        // What differs from one outer row to the next is no limit of a plan: rows are chosen by their places.
        let most = fetch.or(top_count);
        plan = among_places(binder, plan, &sorts, skip, most)?;
        let builder = LogicalPlanBuilder::from(plan);
        let builder = if sorts.is_empty() { Ok(builder) } else { builder.sort(sorts) };
        return builder.and_then(LogicalPlanBuilder::build).map_err(plan_error);
    }
    let mut builder = LogicalPlanBuilder::from(plan);
    if !sorts.is_empty() {
        builder = builder.sort(sorts).map_err(plan_error)?;
    }
    if let Some(top) = top_count.as_ref().and_then(Count::as_usize) {
        builder = builder.limit(0, Some(top)).map_err(plan_error)?;
    }
    if let Some(skip) = skip.as_ref().and_then(Count::as_usize) {
        builder = builder.limit(skip, fetch.as_ref().and_then(Count::as_usize)).map_err(plan_error)?;
    }
    builder.build().map_err(plan_error)
}

/// How many rows a clause says.
enum Count {
    Constant(usize),
    /// Of type bigint, not negative and never NULL.
    Computed(Expr),
}

impl Count {
    fn as_usize(&self) -> Option<usize> {
        match self {
            Count::Constant(rows) => Some(*rows),
            Count::Computed(_) => None,
        }
    }

    fn expr(&self) -> Expr {
        match self {
            Count::Constant(rows) => lit(i64::try_from(*rows).unwrap_or(i64::MAX)),
            Count::Computed(expr) => expr.clone(),
        }
    }
}

/// The rows that stand behind the first `skip`, and of them at most `most`.
fn among_places(
    binder: &Binder<'_>,
    plan: LogicalPlan,
    sorts: &[Sort],
    skip: Option<Count>,
    most: Option<Count>,
) -> Result<LogicalPlan, SqlError> {
    let columns = plan.schema().columns();
    let place = binder.fresh();
    let function = datafusion::functions_window::row_number::row_number_udwf();
    let places = window(WindowFunctionDefinition::WindowUDF(function), Vec::new(), sorts.to_vec());
    let behind = || {
        let place = datafusion::logical_expr::cast(reference(&place), arrow::datatypes::DataType::Int64);
        match &skip {
            Some(skip) => place - skip.expr(),
            None => place,
        }
    };
    let mut condition = behind().gt(lit(0_i64));
    if let Some(most) = &most {
        condition = condition.and(behind().lt_eq(most.expr()));
    }
    LogicalPlanBuilder::from(plan)
        .window([places.alias(&place)])
        .and_then(|builder| builder.filter(condition))
        .and_then(|builder| builder.project(columns.into_iter().map(Expr::Column)))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Binds TOP … PERCENT and TOP … WITH TIES: puts each row's place and the number of rows beside it.
fn placed(
    binder: &Binder<'_>,
    plan: LogicalPlan,
    sorts: &[Sort],
    top: &Top,
    outer: Option<&Scope<'_>>,
) -> Result<LogicalPlan, SqlError> {
    if top.with_ties && sorts.is_empty() {
        let text = "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
        return Err(SqlError::new(1062, 15, 1, text));
    }
    let columns = plan.schema().columns();
    let (place, count) = (binder.fresh(), binder.fresh());
    let function = if top.with_ties {
        datafusion::functions_window::rank::rank_udwf()
    } else {
        datafusion::functions_window::row_number::row_number_udwf()
    };
    let places = window(WindowFunctionDefinition::WindowUDF(function), Vec::new(), sorts.to_vec());
    let counts = window(
        WindowFunctionDefinition::AggregateUDF(datafusion::functions_aggregate::count::count_udaf()),
        vec![lit(1_i64)],
        Vec::new(),
    );
    let limit = if top.percent {
        let percent = binder.value(&top.count, &Scope::empty())?.cast(&SqlType::Float)?;
        let Some(Datum::Float(percent)) = constant_of(&percent)? else {
            return Err(SqlError::unsupported("A TOP … PERCENT that a query computes"));
        };
        if !(0.0..=100.0).contains(&percent) {
            return Err(SqlError::new(1031, 15, 1, "Percent values must be between 0 and 100."));
        }
        let count = Typed::new(reference(&count), SqlType::BigInt, false);
        let name = format!("top_percent_{percent}");
        call(&name, vec![count], SqlType::BigInt, move |arguments| {
            let rows = arguments.first().and_then(Datum::as_int).unwrap_or(0);
            Ok(Datum::Int((rows as f64 * percent / 100.0).ceil() as i64))
        })
        .expr
    } else {
        counted(binder, &top.count, TOP_COUNT, outer)?.expr()
    };
    let place_value = datafusion::logical_expr::cast(reference(&place), arrow::datatypes::DataType::Int64);
    LogicalPlanBuilder::from(plan)
        .window([places.alias(&place)])
        .and_then(|builder| builder.window([counts.alias(&count)]))
        .and_then(|builder| builder.filter(place_value.lt_eq(limit)))
        .and_then(|builder| builder.project(columns.into_iter().map(Expr::Column)))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Makes the error for a count of rows that a clause does not take.
fn out_of_range(refusal: Refusal, rows: i64) -> Option<SqlError> {
    let (least, number, text) = match refusal.0 {
        10743 => (0, 10742, "The offset specified in a OFFSET clause may not be negative."),
        10745 => (1, 10744, "The number of rows provided for a FETCH clause must be greater then zero."),
        _ => (0, 127, "A TOP N or FETCH rowcount value may not be negative."),
    };
    (rows < least).then(|| SqlError::new(number, 15, 1, text))
}

/// A count of rows, which may be computed for each row of the query around.
///
/// Errors: 127, 10742 or 10744 for one that is too small and `refusal` for what is no number, for computed ones when run.
fn counted(
    binder: &Binder<'_>,
    expr: &Ast,
    refusal: Refusal,
    outer: Option<&Scope<'_>>,
) -> Result<Count, SqlError> {
    let scope = Scope::of(Vec::new(), outer);
    let value = binder.value(expr, &scope)?.cast(&SqlType::BigInt)?;
    let checked = move |value: &Datum| match value {
        Datum::Int(rows) => out_of_range(refusal, *rows).map_or(Ok(*rows), Err),
        _ => Err(SqlError::new(refusal.0, 15, 1, refusal.1)),
    };
    match constant_of(&value)? {
        Some(value) => Ok(Count::Constant(usize::try_from(checked(&value)?).unwrap_or(usize::MAX))),
        None => {
            let name = format!("row_count_{}", refusal.0);
            let kernel =
                move |values: &[Datum]| checked(values.first().unwrap_or(&Datum::Null)).map(Datum::Int);
            Ok(Count::Computed(call(&name, vec![value], SqlType::BigInt, kernel).expr))
        }
    }
}

/// Makes a window over an order, or without one over all rows.
fn window(function: WindowFunctionDefinition, arguments: Vec<Expr>, order_by: Vec<Sort>) -> Expr {
    let frame = match order_by.is_empty() {
        true => WindowFrame::new(None),
        // Places need no frame, and the engine has none by values of every type.
        false => WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
            WindowFrameBound::CurrentRow,
        ),
    };
    Expr::WindowFunction(Box::new(WindowFunction {
        fun: function,
        params: WindowFunctionParams {
            args: arguments,
            partition_by: Vec::new(),
            order_by,
            window_frame: frame,
            filter: None,
            null_treatment: None,
            distinct: false,
        },
    }))
}
