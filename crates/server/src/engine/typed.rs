//! An expression of the execution engine together with its T-SQL type.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, cast as arrow_cast, lit};
use datafusion::physical_expr::create_physical_expr;
use tds::{Collation, SqlType};

use super::convert::{convert, length_limit};
use super::datum::{Datum, data_type};
use super::scalar::{LONG_BYTES, Scalar, long_constant, sql_error_of};
use super::types;
use crate::sql_error::SqlError;

/// A bound value: what computes it, and what T-SQL says of it.
#[derive(Debug, Clone)]
pub struct Typed {
    /// Computes the value in the Exact form of `sql_type`.
    pub expr: Expr,
    /// Its type.
    pub sql_type: SqlType,
    /// Its collation, if it has one other than the default.
    pub collation: Option<Collation>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Its value, if it is a constant.
    pub constant: Option<Datum>,
    /// Whether it is the NULL literal, which takes any type.
    pub untyped_null: bool,
}

impl Typed {
    /// A value computed by `expr`.
    pub fn new(expr: Expr, sql_type: SqlType, nullable: bool) -> Typed {
        Typed { expr, sql_type, collation: None, nullable, constant: None, untyped_null: false }
    }

    /// A constant.
    pub fn constant(value: Datum, sql_type: SqlType) -> Result<Typed, SqlError> {
        let array = Datum::array(std::slice::from_ref(&value), &sql_type);
        let nullable = value.is_null();
        let expr = match value.heap_bytes() < LONG_BYTES {
            true => Expr::Literal(ScalarValue::try_from_array(&array, 0).map_err(SqlError::internal)?, None),
            false => {
                let function = Arc::new(long_constant(array, &sql_type).into());
                Expr::ScalarFunction(ScalarFunction::new_udf(function, Vec::new()))
            }
        };
        Ok(Typed { expr, sql_type, collation: None, nullable, constant: Some(value), untyped_null: false })
    }

    /// The NULL literal: an int unless something else is wanted.
    pub fn null() -> Typed {
        Typed {
            expr: Expr::Literal(ScalarValue::Int32(None), None),
            sql_type: SqlType::Int,
            collation: None,
            nullable: true,
            constant: Some(Datum::Null),
            untyped_null: true,
        }
    }

    /// The same with a collation.
    pub fn with_collation(mut self, collation: Option<Collation>) -> Typed {
        self.collation = collation;
        self
    }

    /// Converted implicitly, or by CAST.
    pub fn cast(self, to: &SqlType) -> Result<Typed, SqlError> {
        self.convert(to, 0, false)
    }

    /// Converted by CONVERT with a style; `lenient` gives NULL instead of an error.
    pub fn convert(self, to: &SqlType, style: i32, lenient: bool) -> Result<Typed, SqlError> {
        let collation = if to.is_character() { self.collation } else { None };
        if self.sql_type == *to {
            return Ok(Typed { untyped_null: false, ..self });
        }
        if self.untyped_null {
            return Ok(Typed::constant(Datum::Null, to.clone())?.with_collation(collation));
        }
        if let Some(value) = &self.constant {
            // A constant that cannot be converted fails when it is evaluated, not here: it may never be.
            match convert(value.clone(), &self.sql_type, to, style) {
                Ok(value) => return Ok(Typed::constant(value, to.clone())?.with_collation(collation)),
                Err(_) if lenient => return Typed::constant(Datum::Null, to.clone()),
                Err(error) if error.number == 529 => return Err(error),
                Err(_) => {}
            }
        }
        let nullable = self.nullable || lenient;
        if is_relabelling(&self.sql_type, to) {
            return Ok(Typed { sql_type: to.clone(), collation, untyped_null: false, ..self });
        }
        if is_widening(&self.sql_type, to) {
            return Ok(Typed::new(arrow_cast(self.expr, data_type(to)), to.clone(), nullable));
        }
        let (from, target) = (self.sql_type.clone(), to.clone());
        let name = format!("convert_{}{}_{style}", if lenient { "try_" } else { "" }, to);
        let kernel = move |arguments: &[Datum]| {
            let value = arguments.first().cloned().unwrap_or(Datum::Null);
            match convert(value, &from, &target, style) {
                Err(error) if lenient && error.number != 529 => Ok(Datum::Null),
                other => other,
            }
        };
        let mut typed = call(&name, vec![self], to.clone(), kernel);
        typed.nullable = nullable;
        typed.collation = collation;
        Ok(typed)
    }
}

/// A call of a function that works value by value.
pub fn call(
    name: &str,
    arguments: Vec<Typed>,
    result: SqlType,
    kernel: impl Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync + 'static,
) -> Typed {
    call_with(
        Scalar::by_value(
            name,
            arguments.iter().map(|a| a.sql_type.clone()).collect(),
            result.clone(),
            kernel,
        ),
        arguments,
    )
}

/// A call of a prepared function.
pub fn call_with(function: Scalar, arguments: Vec<Typed>) -> Typed {
    let result = function.result().clone();
    let nullable = arguments.iter().any(|argument| argument.nullable);
    let collation = arguments.iter().find_map(|argument| argument.collation);
    let expr = Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(function.into()),
        arguments.into_iter().map(|argument| argument.expr).collect(),
    ));
    let collation = if result.is_character() { collation } else { None };
    Typed::new(expr, result, nullable).with_collation(collation)
}

/// The Arrow field of a value inside a plan: no metadata, which is kept beside the plan.
pub fn plan_field(name: &str, sql_type: &SqlType, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, data_type(sql_type), nullable))
}

/// A condition that is always the same.
pub fn truth(value: bool) -> Expr {
    lit(value)
}

/// Whether values need no change: character types without padding or cutting, decimals of one shape.
fn is_relabelling(from: &SqlType, to: &SqlType) -> bool {
    if data_type(from) != data_type(to) {
        return false;
    }
    let roomy = match (length_limit(from), length_limit(to)) {
        (_, None) => true,
        (Some(from), Some(to)) => from <= to,
        (None, Some(_)) => false,
    };
    if from.is_character() && to.is_character() {
        let padded = matches!(to, SqlType::Char { .. } | SqlType::NChar { .. });
        // varchar to nvarchar counts other units; a byte is never more than one unit.
        let units = from.is_unicode() == to.is_unicode() || to.is_unicode();
        return roomy && units && !padded;
    }
    if from.is_binary() && to.is_binary() {
        return roomy && !matches!(to, SqlType::Binary { .. });
    }
    from.is_decimal() && to.is_decimal()
        || matches!((from, to), (SqlType::DateTime2 { scale: low }, SqlType::DateTime2 { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::Time { scale: low }, SqlType::Time { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::DateTimeOffset { scale: low }, SqlType::DateTimeOffset { scale: high }) if low <= high)
        || matches!((from, to), (SqlType::DateTime, SqlType::DateTime2 { scale: 3 }))
}

/// Whether Arrow's own cast gives exactly T-SQL's result and cannot fail.
fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    let width = |sql_type: &SqlType| match sql_type {
        SqlType::Bit => Some(0),
        SqlType::TinyInt => Some(1),
        SqlType::SmallInt => Some(2),
        SqlType::Int => Some(3),
        SqlType::BigInt => Some(4),
        _ => None,
    };
    match (width(from), width(to)) {
        (Some(from), Some(to)) => from < to,
        (Some(_), None) => *to == SqlType::Float,
        _ => *from == SqlType::Real && *to == SqlType::Float && data_type(to) == DataType::Float64,
    }
}

/// The value of what names no column: a constant, or arithmetic and functions of constants. None for anything else.
/// Errors: those of computing it.
pub fn constant_of(value: &Typed) -> Result<Option<Datum>, SqlError> {
    if let Some(constant) = &value.constant {
        return Ok(Some(constant.clone()));
    }
    let (properties, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let Ok(physical) = create_physical_expr(&value.expr, &DFSchema::empty(), &properties, &planning) else {
        return Ok(None);
    };
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(SqlError::internal)?;
    let value_of = |error| sql_error_of(&error);
    let array = physical.evaluate(&one).and_then(|value| value.into_array(1)).map_err(value_of)?;
    Datum::read(array.as_ref(), &value.sql_type, 0).map(Some)
}

/// Casts several values to their common type.
pub fn unify(values: Vec<Typed>) -> Result<(Vec<Typed>, SqlType), SqlError> {
    let mut common: Option<SqlType> = None;
    for value in values.iter().filter(|value| !value.untyped_null) {
        common = Some(match common {
            None => value.sql_type.clone(),
            Some(common) => types::common_type(&common, &value.sql_type),
        });
    }
    let common = common.unwrap_or(SqlType::Int);
    let values = values.into_iter().map(|value| value.cast(&common)).collect::<Result<Vec<_>, _>>()?;
    Ok((values, common))
}
