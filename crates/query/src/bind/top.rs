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

/// 1060's text.
const TOP_COUNT: &str =
    "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.";

/// Adds ORDER BY, then TOP or OFFSET and FETCH, to a plan.
///
/// Errors: 1031 for a percentage beyond 100, 1060, 10743 and 127 for counts, 1062 for WITH TIES without an order.
pub(super) fn limited(
    binder: &Binder<'_>,
    mut plan: LogicalPlan,
    sorts: Vec<Sort>,
    top: Option<&Top>,
    query: &Query,
) -> Result<LogicalPlan, SqlError> {
    let top = match top {
        Some(top) if top.percent || top.with_ties => {
            plan = placed(binder, plan, &sorts, top)?;
            None
        }
        Some(top) => Some(constant_rows(binder, &top.count, 1060, TOP_COUNT)?),
        None => None,
    };
    let mut builder = LogicalPlanBuilder::from(plan);
    if !sorts.is_empty() {
        builder = builder.sort(sorts).map_err(plan_error)?;
    }
    if let Some(top) = top {
        builder = builder.limit(0, Some(top)).map_err(plan_error)?;
    }
    if let Some(offset) = &query.offset {
        let text = "The offset specified in a OFFSET clause must be an integer.";
        let skip = constant_rows(binder, offset, 10743, text)?;
        let fetch = match &query.fetch {
            Some(fetch) => Some(constant_rows(binder, fetch, 10743, text)?),
            None => None,
        };
        builder = builder.limit(skip, fetch).map_err(plan_error)?;
    }
    builder.build().map_err(plan_error)
}

/// Binds TOP … PERCENT and TOP … WITH TIES: puts each row's place and the number of rows beside it.
fn placed(
    binder: &Binder<'_>,
    plan: LogicalPlan,
    sorts: &[Sort],
    top: &Top,
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
        lit(constant_rows(binder, &top.count, 1060, TOP_COUNT)? as i64)
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

fn constant_rows(binder: &Binder<'_>, expr: &Ast, number: i32, text: &str) -> Result<usize, SqlError> {
    let value = binder.value(expr, &Scope::empty())?.cast(&SqlType::BigInt)?;
    match constant_of(&value)? {
        Some(Datum::Int(rows)) => usize::try_from(rows)
            .map_err(|_| SqlError::new(127, 15, 1, "A TOP N or FETCH rowcount value may not be negative.")),
        Some(_) => Err(SqlError::new(number, 15, 1, text)),
        None => Err(SqlError::unsupported("A TOP or OFFSET that a query computes")),
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
