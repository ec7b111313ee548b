//! Functions with OVER.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::datatypes::DataType;

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::functions_window;
use datafusion::logical_expr::expr::{NullTreatment, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, cast, lit,
};
use tds::{Collation, Length, SqlType};

use super::super::Datum;
use super::super::collation::{is_lossy, key};
use super::super::datum::data_type;
use super::super::extreme::extreme;
use super::super::functions::{self, Aggregate as Aggregated, Kernel, Window as Kind};
use super::super::moving::{MovingKind, moving};
use super::super::percentile::percentile;
use super::super::scalar::Scalar;
use super::super::shift::{negative_offset, shift};
use super::super::typed::{Typed, call_with};
use super::aggregate::{Aggregate, of_engine};
use super::clause::Clause;
use super::scope::reference;
use super::{Binder, Scope, plan_error};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::{Expr as Ast, Frame, FrameBound, FunctionCall, Literal, Window};
use tsql::query::{QueryBody, SelectItem};

/// The window functions met while binding a select list, by the name of their column.
#[derive(Default)]
pub(super) struct Windows {
    pub exprs: RefCell<Vec<(String, Expr)>>,
    /// Constants in ORDER BY or PARTITION BY. They become columns below the windows, because the engine cannot sort by constants.
    pub below: RefCell<Vec<(String, Expr)>>,
}

impl Windows {
    /// Returns the plan below the windows.
    pub fn input(&self, plan: LogicalPlan) -> Result<LogicalPlanBuilder, SqlError> {
        let below = self.below.borrow();
        if below.is_empty() {
            return Ok(LogicalPlanBuilder::from(plan));
        }
        let columns = plan.schema().columns().into_iter().map(Expr::Column).collect::<Vec<_>>();
        let added = below.iter().map(|(name, expr)| expr.clone().alias(name));
        LogicalPlanBuilder::from(plan).project(columns.into_iter().chain(added)).map_err(plan_error)
    }
}

/// A window function, before its OVER.
struct Called {
    function: WindowFunctionDefinition,
    arguments: Vec<Expr>,
    /// The type of what the engine returns.
    value_type: SqlType,
    /// T-SQL's type.
    result: SqlType,
    /// The collation of a text.
    collation: Option<Collation>,
}

impl Binder<'_> {
    /// Binds a call with OVER.
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
        if call.distinct {
            let text = "Use of DISTINCT is not allowed with the OVER clause.";
            return Err(SqlError::new(10759, 15, 1, text));
        }
        let inner = Scope { windows: None, ..scope.clone() };
        window_over(self, call, over, &inner, windows).map_err(|error| match error.number {
            4108 => SqlError::new(
                4109,
                15,
                1,
                "Windowed functions cannot be used in the context of another windowed function or aggregate.",
            ),
            _ => error,
        })
    }
}

/// Binds a call over a window. `scope` has no windows: none stands inside of another.
fn window_over(
    binder: &Binder<'_>,
    call: &FunctionCall,
    over: &Window,
    scope: &Scope<'_>,
    windows: &Windows,
) -> Result<Typed, SqlError> {
    let Called { function, arguments, value_type, result, collation } = window_function(binder, call, scope)?;
    let kind = window_kind(&call.name);
    let ranking = kind.is_some_and(|kind| !is_percentile(kind) && !matches!(kind, Kind::First | Kind::Last));
    if ranking && over.order_by.is_empty() {
        return Err(SqlError::new(
            4112,
            15,
            1,
            format!("The function '{}' must have an OVER clause with ORDER BY.", call.name),
        ));
    }
    if kind.is_some_and(is_percentile) && (!over.order_by.is_empty() || over.frame.is_some()) {
        let text = format!("The function '{}' may not have ORDER BY in OVER clause.", call.name);
        return Err(SqlError::new(10755, 15, 1, text));
    }
    let mut partition_by = Vec::new();
    for expr in &over.partition_by {
        let value = binder.value(expr, scope)?;
        if matches!(value.sql_type, SqlType::Vector { .. }) {
            return Err(errors::VECTOR_COMPARED.error());
        }
        partition_by.push(readable_value(binder, key(&value), windows));
    }
    let mut order_by = Vec::new();
    for item in &over.order_by {
        if let Ast::Literal(literal) = &item.expr {
            return Err(constant_order(literal));
        }
        let value = binder.value(&item.expr, scope)?;
        if !is_constant_query(&item.expr) {
            let key = readable_value(binder, rankable(&value), windows);
            order_by.push(Sort::new(key, !item.descending, !item.descending));
        }
    }
    let window_frame = frame(over, !order_by.is_empty())?;
    // A query among the arguments is a column below the window.
    let arguments = arguments.into_iter().map(|argument| match has_query(&argument) {
        Ok(true) => Ok(reference(&shared(binder, &windows.below, argument))),
        Ok(false) => Ok(argument),
        Err(error) => Err(plan_error(error)),
    });
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let ignores_nulls = call.ignores_nulls && matches!(kind, Some(Kind::First | Kind::Last));
    let expr = Expr::WindowFunction(Box::new(WindowFunction {
        fun: function,
        params: WindowFunctionParams {
            args: arguments,
            partition_by,
            order_by,
            window_frame,
            filter: None,
            null_treatment: ignores_nulls.then_some(NullTreatment::IgnoreNulls),
            distinct: false,
        },
    }));
    let name = shared(binder, &windows.exprs, expr);
    let value = Typed::new(reference(&name), value_type, true).with_collation(collation);
    of_engine(value, &result, &call.name)
}

/// Returns true for an expression with a subquery.
fn has_query(expr: &Expr) -> Result<bool, DataFusionError> {
    expr.exists(|part| Ok(matches!(part, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))))
}

/// Returns a key that reads a column: one without columns is computed below the windows.
fn readable_value(binder: &Binder<'_>, key: Expr, windows: &Windows) -> Expr {
    if !key.column_refs().is_empty() {
        return key;
    }
    reference(&shared(binder, &windows.below, key))
}

/// Returns the column of an expression that is computed only once. The engine would take the common parts of several
/// windows out of them, and then find a window where none can be computed. A volatile expression is not shared.
fn shared(binder: &Binder<'_>, known: &RefCell<Vec<(String, Expr)>>, expr: Expr) -> String {
    let mut known = known.borrow_mut();
    if let Some((name, _)) = known.iter().find(|(_, own)| *own == expr && !expr.is_volatile()) {
        return name.clone();
    }
    let name = binder.fresh();
    known.push((name.clone(), expr));
    name
}

fn window_function(binder: &Binder<'_>, call: &FunctionCall, scope: &Scope<'_>) -> Result<Called, SqlError> {
    let of_value = |function, arguments, value: &Typed| Called {
        function: WindowFunctionDefinition::WindowUDF(function),
        arguments,
        value_type: value.sql_type.clone(),
        result: value.sql_type.clone(),
        collation: value.collation,
    };
    // The engine counts ranks in an unsigned 64-bit type, which only rowversion has in T-SQL; the cast makes bigint.
    let counted = |function, arguments, value_type, result| Called {
        function: WindowFunctionDefinition::WindowUDF(function),
        arguments,
        value_type,
        result,
        collation: None,
    };
    let rank = |function| counted(function, Vec::new(), SqlType::RowVersion, SqlType::BigInt);
    let Some(kind) = window_kind(&call.name) else { return aggregate_window(binder, call, scope) };
    let missing = || SqlError::internal("a window function with too few arguments");
    Ok(match kind {
        Kind::RowNumber => rank(functions_window::row_number::row_number_udwf()),
        Kind::Rank => rank(functions_window::rank::rank_udwf()),
        Kind::DenseRank => rank(functions_window::rank::dense_rank_udwf()),
        Kind::Tile => {
            let buckets = call.arguments.first().ok_or_else(missing)?;
            let buckets = binder.constant_int(buckets, scope)?;
            if buckets < 1 {
                let text =
                    "The function 'ntile' takes only a positive int or bigint expression as its input.";
                return Err(SqlError::new(4116, 16, 1, text));
            }
            let arguments = vec![lit(i64::from(buckets))];
            counted(functions_window::ntile::ntile_udwf(), arguments, SqlType::RowVersion, SqlType::BigInt)
        }
        Kind::PercentRank | Kind::CumulativeShare => {
            let function = match kind {
                Kind::PercentRank => functions_window::rank::percent_rank_udwf(),
                _ => functions_window::cume_dist::cume_dist_udwf(),
            };
            counted(function, Vec::new(), SqlType::Float, SqlType::Float)
        }
        Kind::Before | Kind::After => {
            let mut arguments = call.arguments.iter();
            let value = binder.value(arguments.next().ok_or_else(missing)?, scope)?;
            let offset = match arguments.next() {
                Some(offset) => binder.value(offset, scope)?.cast(&SqlType::BigInt)?,
                None => Typed::constant(Datum::Int(1), SqlType::BigInt)?,
            };
            if matches!(offset.constant, Some(Datum::Int(rows)) if rows < 0) {
                return Err(negative_offset());
            }
            let default = match arguments.next() {
                Some(default) => binder.value(default, scope)?,
                None => Typed::null(),
            };
            let default = default.cast(&value.sql_type)?.expr;
            let backwards = kind == Kind::Before;
            let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !value.is_null());
            let plain =
                !call.ignores_nulls && is_constant(&offset.expr) && matches!(default, Expr::Literal(..));
            let function = match plain {
                true if backwards => functions_window::lead_lag::lag_udwf(),
                true => functions_window::lead_lag::lead_udwf(),
                false => shift(backwards, call.ignores_nulls),
            };
            of_value(function, vec![value.expr.clone(), offset.expr, default], &value)
        }
        Kind::First | Kind::Last => {
            let value = call.arguments.first().ok_or_else(missing)?;
            let value = binder.value(value, scope)?;
            let function = match kind {
                Kind::First => functions_window::nth_value::first_value_udwf(),
                _ => functions_window::nth_value::last_value_udwf(),
            };
            of_value(function, vec![value.expr.clone()], &value)
        }
        Kind::ContinuousPercentile | Kind::DiscretePercentile => percentile_value(binder, call, kind, scope)?,
    })
}

/// Binds an aggregate over the rows of a window. Errors: 4113 for those that have none.
fn aggregate_window(binder: &Binder<'_>, call: &FunctionCall, scope: &Scope<'_>) -> Result<Called, SqlError> {
    let kind = functions::aggregate(&call.name);
    let never = matches!(
        kind,
        Some(
            Aggregated::Joined
                | Aggregated::ApproximateCount
                | Aggregated::ContinuousPercentile
                | Aggregated::DiscretePercentile
        )
    );
    if never {
        return Err(not_windowing(&call.name));
    }

    let inner = FunctionCall { over: None, ..call.clone() };
    let first = inner.arguments.first().map(|argument| binder.value(argument, scope)).transpose()?;
    let Aggregate { expr, value_type, result, collation } = binder.aggregate_of(&inner, scope)?;
    if let Some(value) = first
        .filter(|value| matches!(kind, Some(Aggregated::Least | Aggregated::Greatest)) && is_lossy(value))
    {
        let function = WindowFunctionDefinition::AggregateUDF(extreme(kind == Some(Aggregated::Greatest)));
        let arguments = vec![value.expr.clone(), key(&value)];
        return Ok(Called { function, arguments, value_type, result, collation });
    }
    let Expr::AggregateFunction(aggregate) = expr else {
        return Err(SqlError::internal("an aggregate that is none"));
    };
    let function = match kind.filter(|_| value_type == SqlType::Float).and_then(moving_kind) {
        Some(kind) => moving(kind, aggregate.func),
        None => aggregate.func,
    };
    let function = WindowFunctionDefinition::AggregateUDF(function);
    Ok(Called { function, arguments: aggregate.params.args, value_type, result, collation })
}

/// Returns the moving computation for an aggregate of float.
pub(super) fn moving_kind(kind: Aggregated) -> Option<MovingKind> {
    Some(match kind {
        Aggregated::Sum => MovingKind::Sum,
        Aggregated::Average => MovingKind::Mean,
        Aggregated::Variance => MovingKind::Variance,
        Aggregated::PopulationVariance => MovingKind::PopulationVariance,
        Aggregated::Deviation => MovingKind::Deviation,
        Aggregated::PopulationDeviation => MovingKind::PopulationDeviation,
        _ => return None,
    })
}

fn window_kind(name: &str) -> Option<Kind> {
    match functions::find(name)?.kernel {
        Kernel::Window(kind) => Some(kind),
        _ => None,
    }
}

/// Returns true for the functions that need both WITHIN GROUP and OVER.
fn is_percentile(kind: Kind) -> bool {
    matches!(kind, Kind::ContinuousPercentile | Kind::DiscretePercentile)
}

/// Binds PERCENTILE_CONT and PERCENTILE_DISC. Errors: 10754 without WITHIN GROUP, 40515 for a fraction that is no
/// constant.
fn percentile_value(
    binder: &Binder<'_>,
    call: &FunctionCall,
    kind: Kind,
    scope: &Scope<'_>,
) -> Result<Called, SqlError> {
    let (value, function) = percentile_of(binder, call, kind == Kind::ContinuousPercentile, scope)?;
    let arguments = vec![value.expr.clone(), key(&value)];
    let function = WindowFunctionDefinition::AggregateUDF(function);
    let (result, collation) = (value.sql_type.clone(), value.collation);
    Ok(Called { function, arguments, value_type: value.sql_type, result, collation })
}

/// Returns the values and the aggregate of a percentile. Errors: 10754 without WITHIN GROUP, 40515 for a fraction that is no constant.
fn percentile_of(
    binder: &Binder<'_>,
    call: &FunctionCall,
    continuous: bool,
    scope: &Scope<'_>,
) -> Result<(Typed, Arc<AggregateUDF>), SqlError> {
    let [fraction] = call.arguments.as_slice() else {
        return Err(SqlError::internal("a percentile without its fraction"));
    };
    let [item] = call.within_group.as_slice() else {
        let text = format!("The function '{}' must have a WITHIN GROUP clause.", call.name);
        return Err(SqlError::new(10754, 15, 1, text));
    };
    let fraction = match binder.value(fraction, scope)?.cast(&SqlType::Float)?.constant {
        Some(Datum::Float(fraction)) if (0.0..=1.0).contains(&fraction) => fraction,
        _ => return Err(SqlError::unsupported("A percentile that is not a constant from 0 to 1")),
    };
    let value = binder.value(&item.expr, scope)?;
    let value = if continuous { value.cast(&SqlType::Float)? } else { value };
    Ok((value, percentile(continuous, fraction, item.descending)))
}

/// Binds APPROX_PERCENTILE_CONT and APPROX_PERCENTILE_DISC: aggregates that are exact here.
pub(super) fn approximate_percentile(
    binder: &Binder<'_>,
    call: &FunctionCall,
    kind: Aggregated,
    scope: &Scope<'_>,
) -> Result<Aggregate, SqlError> {
    let continuous = kind == Aggregated::ContinuousPercentile;
    let bound = binder.of_clause(Clause::Aggregate, || percentile_of(binder, call, continuous, scope));
    let (value, function) = bound?;
    let arguments = vec![value.expr.clone(), key(&value)];
    let expr = super::aggregate::aggregate(function, arguments, false, Vec::new());
    let (value_type, result) = (value.sql_type.clone(), value.sql_type);
    Ok(Aggregate { expr, value_type, result, collation: value.collation })
}

/// Returns the key of a value that windows are ordered by. Bytes become their digits, because the engine has no ranges
/// of bytes.
fn rankable(value: &Typed) -> Expr {
    let key = key(value);
    // Nor has it ranges of times of day.
    match data_type(&value.sql_type) {
        DataType::Time32(_) => return cast(key, DataType::Int32),
        DataType::Time64(_) => return cast(key, DataType::Int64),
        _ => {}
    }
    let bytes = matches!(
        value.sql_type,
        SqlType::DateTimeOffset { .. } | SqlType::UniqueIdentifier | SqlType::SqlVariant
    ) || matches!(data_type(&value.sql_type), DataType::Binary | DataType::FixedSizeBinary(_));
    if !bytes {
        return key;
    }
    let text = SqlType::VarChar { length: Length::Max };
    let function = Scalar::by_column("digits", vec![value.sql_type.clone()], text, |arrays, _| {
        let [array] = arrays else { return Err(SqlError::internal("the digits of one value")) };
        digits(array)
    });
    call_with(function, vec![Typed::new(key, value.sql_type.clone(), value.nullable)]).expr
}

/// Bytes as hexadecimal digits, which order as they do.
fn digits(array: &ArrayRef) -> Result<ArrayRef, SqlError> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let texts: StringArray = if let Some(array) = array.as_binary_opt::<i32>() {
        array.iter().map(|value| value.map(hex)).collect()
    } else if let Some(array) = array.as_fixed_size_binary_opt() {
        array.iter().map(|value| value.map(hex)).collect()
    } else {
        return Err(SqlError::internal("digits of what is no bytes"));
    };
    Ok(Arc::new(texts))
}

/// Returns true for `(SELECT NULL)` and its like, the usual way to ask for no order.
fn is_constant_query(expr: &Ast) -> bool {
    let Ast::Subquery(query) = expr else { return false };
    let QueryBody::Select(select) = &query.body else { return false };
    select.from.is_empty()
        && select.filter.is_none()
        && matches!(select.items.as_slice(), [SelectItem::Value { expr: Ast::Literal(_), .. }])
}

fn constant_order(literal: &Literal) -> SqlError {
    let (number, what) = match literal {
        Literal::Integer(_) => (5308, "integer indices"),
        _ => (5309, "constants"),
    };
    let text = format!(
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support {what} as ORDER BY clause expressions."
    );
    SqlError::new(number, 16, 1, text)
}

/// Returns the frame as written, or T-SQL's default: with ORDER BY up to the current row's peers, else everything.
fn frame(over: &Window, ordered: bool) -> Result<WindowFrame, SqlError> {
    match &over.frame {
        None => Ok(WindowFrame::new(ordered.then_some(false))),
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
            if !rows && !ordered {
                // All rows are peers.
                return Ok(WindowFrame::new(None));
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

/// Makes error 4113: a function that takes no OVER.
pub(super) fn not_windowing(name: &str) -> SqlError {
    let text = format!(
        "The function '{name}' is not a valid windowing function, and cannot be used with the OVER clause."
    );
    SqlError::new(4113, 16, 1, text)
}
