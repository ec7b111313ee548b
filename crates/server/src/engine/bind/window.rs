//! Functions with OVER.

use std::cell::RefCell;

use datafusion::common::ScalarValue;
use datafusion::functions_window;
use datafusion::logical_expr::expr::{Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, lit,
};
use tds::SqlType;

use super::super::Datum;
use super::super::collation::{is_lossy, key};
use super::super::percentile::percentile;
use super::super::typed::Typed;
use super::aggregate::is_aggregate;
use super::scope::reference;
use super::{Binder, Scope};
use crate::sql_error::SqlError;
use crate::tsql::expression::{Frame, FrameBound, FunctionCall, Window};

/// The window functions met while binding a select list, by the name of their column.
#[derive(Default)]
pub(super) struct Windows {
    pub exprs: RefCell<Vec<(String, Expr)>>,
}

impl Binder<'_> {
    /// A call with OVER.
    pub(super) fn window_call(&self, call: &FunctionCall, scope: &Scope<'_>) -> Result<Typed, SqlError> {
        let Some(windows) = scope.windows else {
            return Err(SqlError::new(
                4108,
                15,
                1,
                "Windowed functions can only appear in the SELECT or ORDER BY clauses.",
            ));
        };
        let Some(over) = &call.over else { return Err(SqlError::internal("a window without OVER")) };
        let inner = Scope { windows: None, ..scope.clone() };
        self.window_over(call, over, &inner, windows).map_err(|error| match error.number {
            4108 => SqlError::new(
                4109,
                15,
                1,
                "Windowed functions cannot be used in the context of another windowed function or aggregate.",
            ),
            _ => error,
        })
    }

    /// `scope` has no windows: none stands inside of another.
    fn window_over(
        &self,
        call: &FunctionCall,
        over: &Window,
        scope: &Scope<'_>,
        windows: &Windows,
    ) -> Result<Typed, SqlError> {
        let (function, arguments, value_type, result) = self.window_function(call, scope)?;
        let ranking = !is_aggregate(&call.name)
            && !is_percentile(&call.name)
            && !matches!(call.name.as_str(), "FIRST_VALUE" | "LAST_VALUE");
        if ranking && over.order_by.is_empty() {
            return Err(SqlError::new(
                4112,
                15,
                1,
                format!("The function '{}' must have an OVER clause with ORDER BY.", call.name),
            ));
        }
        if is_percentile(&call.name) && (!over.order_by.is_empty() || over.frame.is_some()) {
            let text = format!("The function '{}' may not have ORDER BY in OVER clause.", call.name);
            return Err(SqlError::new(10755, 15, 1, text));
        }
        let mut partition_by = Vec::new();
        for expr in &over.partition_by {
            partition_by.push(key(&self.value(expr, scope)?));
        }
        let mut order_by = Vec::new();
        for item in &over.order_by {
            // ORDER BY (SELECT NULL) is the usual way to ask for no order.
            let value = self.value(&item.expr, scope)?;
            order_by.push(Sort::new(key(&value), !item.descending, !item.descending));
        }
        let window_frame = frame(over)?;
        let expr = Expr::WindowFunction(Box::new(WindowFunction {
            fun: function,
            params: WindowFunctionParams {
                args: arguments,
                partition_by,
                order_by,
                window_frame,
                filter: None,
                null_treatment: None,
                distinct: false,
            },
        }));
        let name = self.fresh();
        windows.exprs.borrow_mut().push((name.clone(), expr));
        Typed::new(reference(&name), value_type, true).cast(&result)
    }

    fn window_function(
        &self,
        call: &FunctionCall,
        scope: &Scope<'_>,
    ) -> Result<(WindowFunctionDefinition, Vec<Expr>, SqlType, SqlType), SqlError> {
        // The engine counts ranks in an unsigned 64-bit type, which only rowversion has in T-SQL; the cast makes bigint.
        let rank = |function| {
            (WindowFunctionDefinition::WindowUDF(function), Vec::new(), SqlType::RowVersion, SqlType::BigInt)
        };
        Ok(match call.name.as_str() {
            "ROW_NUMBER" => rank(functions_window::row_number::row_number_udwf()),
            "RANK" => rank(functions_window::rank::rank_udwf()),
            "DENSE_RANK" => rank(functions_window::rank::dense_rank_udwf()),
            "NTILE" => {
                let buckets = call.arguments.first().ok_or_else(|| SqlError::argument_count("ntile", 1))?;
                let buckets = self.constant_int(buckets, scope)?;
                let (function, _, value_type, result) = rank(functions_window::ntile::ntile_udwf());
                (function, vec![lit(i64::from(buckets))], value_type, result)
            }
            "PERCENT_RANK" | "CUME_DIST" => {
                let function = match call.name.as_str() {
                    "PERCENT_RANK" => functions_window::rank::percent_rank_udwf(),
                    _ => functions_window::cume_dist::cume_dist_udwf(),
                };
                (WindowFunctionDefinition::WindowUDF(function), Vec::new(), SqlType::Float, SqlType::Float)
            }
            "LAG" | "LEAD" => {
                let mut arguments = call.arguments.iter();
                let value = self.value(
                    arguments.next().ok_or_else(|| SqlError::argument_count(&call.name.to_lowercase(), 1))?,
                    scope,
                )?;
                let offset = match arguments.next() {
                    Some(offset) => self.constant_int(offset, scope)?,
                    None => 1,
                };
                let default = match arguments.next() {
                    Some(default) => self.value(default, scope)?.cast(&value.sql_type)?.expr,
                    None => Typed::null().cast(&value.sql_type)?.expr,
                };
                let function = match call.name.as_str() {
                    "LAG" => functions_window::lead_lag::lag_udwf(),
                    _ => functions_window::lead_lag::lead_udwf(),
                };
                let arguments = vec![value.expr, lit(i64::from(offset)), default];
                (
                    WindowFunctionDefinition::WindowUDF(function),
                    arguments,
                    value.sql_type.clone(),
                    value.sql_type,
                )
            }
            "FIRST_VALUE" | "LAST_VALUE" => {
                let value =
                    call.arguments.first().ok_or_else(|| SqlError::argument_count("first_value", 1))?;
                let value = self.value(value, scope)?;
                let function = match call.name.as_str() {
                    "FIRST_VALUE" => functions_window::nth_value::first_value_udwf(),
                    _ => functions_window::nth_value::last_value_udwf(),
                };
                (
                    WindowFunctionDefinition::WindowUDF(function),
                    vec![value.expr],
                    value.sql_type.clone(),
                    value.sql_type,
                )
            }
            "PERCENTILE_CONT" | "PERCENTILE_DISC" => self.percentile(call, scope)?,
            name if is_aggregate(name) => {
                let inner = FunctionCall { over: None, ..call.clone() };
                let first =
                    inner.arguments.first().map(|argument| self.value(argument, scope)).transpose()?;
                if matches!(name, "MIN" | "MAX") && first.as_ref().is_some_and(is_lossy) {
                    return Err(SqlError::unsupported("MIN or MAX of text with OVER"));
                }
                let (expr, value_type, result) = self.aggregate_of(&inner, scope)?;
                let Expr::AggregateFunction(aggregate) = expr else {
                    return Err(SqlError::internal("an aggregate that is none"));
                };
                (
                    WindowFunctionDefinition::AggregateUDF(aggregate.func),
                    aggregate.params.args,
                    value_type,
                    result,
                )
            }
            name => return Err(SqlError::unknown_function(name)),
        })
    }
}

/// Whether a name is that of a function with WITHIN GROUP and OVER.
pub(super) fn is_percentile(name: &str) -> bool {
    matches!(name, "PERCENTILE_CONT" | "PERCENTILE_DISC")
}

impl Binder<'_> {
    /// PERCENTILE_CONT and PERCENTILE_DISC. Errors: 10754 without WITHIN GROUP, 40515 for a fraction that is no constant.
    fn percentile(
        &self,
        call: &FunctionCall,
        scope: &Scope<'_>,
    ) -> Result<(WindowFunctionDefinition, Vec<Expr>, SqlType, SqlType), SqlError> {
        let name = call.name.to_lowercase();
        let [fraction] = call.arguments.as_slice() else { return Err(SqlError::argument_count(&name, 1)) };
        let [item] = call.within_group.as_slice() else {
            let text = format!("The function '{}' must have a WITHIN GROUP clause.", call.name);
            return Err(SqlError::new(10754, 15, 1, text));
        };
        let fraction = match self.value(fraction, scope)?.cast(&SqlType::Float)?.constant {
            Some(Datum::Float(fraction)) if (0.0..=1.0).contains(&fraction) => fraction,
            _ => return Err(SqlError::unsupported("A percentile that is not a constant from 0 to 1")),
        };
        let value = self.value(&item.expr, scope)?;
        let continuous = call.name == "PERCENTILE_CONT";
        let value = if continuous { value.cast(&SqlType::Float)? } else { value };
        let function = percentile(continuous, fraction, item.descending);
        let sql_type = value.sql_type.clone();
        let arguments = vec![value.expr.clone(), key(&value)];
        Ok((WindowFunctionDefinition::AggregateUDF(function), arguments, sql_type.clone(), sql_type))
    }
}

/// The frame as written, or T-SQL's default: with ORDER BY up to the current row's peers, else everything.
fn frame(over: &Window) -> Result<WindowFrame, SqlError> {
    match &over.frame {
        None => Ok(WindowFrame::new((!over.order_by.is_empty()).then_some(false))),
        Some(Frame { rows, start, end }) => {
            let units = if *rows { WindowFrameUnits::Rows } else { WindowFrameUnits::Range };
            if !rows
                && [start, end]
                    .iter()
                    .any(|bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_)))
            {
                return Err(SqlError::new(
                    4194,
                    16,
                    1,
                    "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.",
                ));
            }
            Ok(WindowFrame::new_bounds(units, bound(start), bound(end)))
        }
    }
}

fn bound(bound: &FrameBound) -> WindowFrameBound {
    let rows = |rows: u64| ScalarValue::UInt64(Some(rows));
    match bound {
        FrameBound::UnboundedPreceding => WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
        FrameBound::Preceding(count) => WindowFrameBound::Preceding(rows(*count)),
        FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        FrameBound::Following(count) => WindowFrameBound::Following(rows(*count)),
        FrameBound::UnboundedFollowing => WindowFrameBound::Following(ScalarValue::UInt64(None)),
    }
}
