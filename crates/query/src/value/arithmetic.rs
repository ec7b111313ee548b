//! `+ - * / % & | ^` with T-SQL's result types, overflow errors and meanings for strings and dates.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::error::ArrowError;
use rows::text::number::POWERS_OF_TEN;
use tds::{Length, SqlType};

use crate::convert::{length_limit, type_name};
use crate::datum::{DAYS_TO_1900, Datum, TICKS_PER_DAY};
use crate::functions::growing::ask;
use crate::kernels::{concatenated, negation, operation};
use crate::scalar::Scalar;
use crate::typed::{Typed, call, call_by_column, call_with};
use crate::types::{self, as_decimal, bounded_decimal, is_integer, is_numeric, is_text};
use tsql::SqlError;
use tsql::errors;
use tsql::expression::BinaryOperator;

/// Binds one operator.
///
/// Errors: 402 and 206 for operands that do not go together.
pub fn bind(left: Typed, operator: BinaryOperator, right: Typed) -> Result<Typed, SqlError> {
    if left.untyped_null && right.untyped_null {
        return Ok(Typed::null());
    }
    let (left, right) = typed_nulls(left, right)?;
    if operator == BinaryOperator::Add && is_string(&left.sql_type) && is_string(&right.sql_type) {
        return concatenate(left, right);
    }
    if matches!(left.sql_type, SqlType::DateTime | SqlType::SmallDateTime)
        || matches!(right.sql_type, SqlType::DateTime | SqlType::SmallDateTime)
    {
        return on_dates(left, operator, right);
    }
    let common = types::common_type(&left.sql_type, &right.sql_type);
    let bits = matches!(operator, BinaryOperator::BitAnd | BinaryOperator::BitOr | BinaryOperator::BitXor);
    let usable = if bits { is_integer(&common) || common == SqlType::Bit } else { is_numeric(&common) };
    let float = matches!(common, SqlType::Float | SqlType::Real);
    let usable = usable && !(float && operator == BinaryOperator::Modulo);
    if !usable || (common == SqlType::Bit && !bits) {
        return Err(incompatible(&left, operator, &right));
    }
    // A text may be no number.
    let of_text = is_string(&left.sql_type) || is_string(&right.sql_type);
    let value = match &common {
        SqlType::Float | SqlType::Real | SqlType::Bit => on_columns(left, operator, right, common),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => on_decimals(left, operator, right),
        SqlType::Money | SqlType::SmallMoney => on_money(left, operator, right, common),
        _ => on_columns(left, operator, right, common),
    }?;
    Ok(Typed { nullable: value.nullable || of_text, ..value })
}

/// Makes `-e`.
pub fn negate(value: Typed) -> Result<Typed, SqlError> {
    if value.untyped_null {
        return Ok(value);
    }
    // The most negative value has no opposite; the subtraction below reports it.
    if let (Some(Datum::Int(number)), SqlType::Int) = (&value.constant, &value.sql_type)
        && let Some(opposite) = i32::try_from(*number).ok().and_then(i32::checked_neg)
    {
        return Typed::constant(Datum::Int(i64::from(opposite)), SqlType::Int);
    }
    if let (Some(Datum::Decimal(units)), sql_type) = (&value.constant, &value.sql_type) {
        return Typed::constant(Datum::Decimal(-units), sql_type.clone());
    }
    if let (Some(Datum::Float(float)), SqlType::Float) = (&value.constant, &value.sql_type) {
        return Typed::constant(Datum::Float(-float), SqlType::Float);
    }
    if !is_numeric(&value.sql_type) || value.sql_type == SqlType::Bit {
        return Err(invalid_operand(&value.sql_type, "minus"));
    }
    let zero = Typed::constant(Datum::Int(0), SqlType::TinyInt)?;
    if value.sql_type.is_decimal() {
        // Zero of the same shape, so that the precision does not grow.
        let sql_type = value.sql_type.clone();
        let form = Some(negation(&sql_type));
        return Ok(call_by_column("negate", vec![value], sql_type, form, |arguments| {
            match arguments.first() {
                Some(Datum::Decimal(units)) => Ok(Datum::Decimal(-units)),
                _ => Ok(Datum::Null),
            }
        }));
    }
    bind(zero, BinaryOperator::Subtract, value)
}

/// Makes `~e`.
pub fn complement(value: Typed) -> Result<Typed, SqlError> {
    let sql_type = value.sql_type.clone();
    if sql_type == SqlType::Bit {
        return Ok(call("complement", vec![value], sql_type, |arguments| match arguments.first() {
            Some(Datum::Bit(bit)) => Ok(Datum::Bit(!bit)),
            _ => Ok(Datum::Null),
        }));
    }
    if !is_integer(&sql_type) {
        return Err(invalid_operand(&sql_type, "'~'"));
    }
    let tiny = sql_type == SqlType::TinyInt;
    Ok(call("complement", vec![value], sql_type, move |arguments| match arguments.first() {
        Some(Datum::Int(number)) => Ok(Datum::Int(if tiny { !number & 0xFF } else { !number })),
        _ => Ok(Datum::Null),
    }))
}

/// Gives a NULL literal the other operand's type.
fn typed_nulls(left: Typed, right: Typed) -> Result<(Typed, Typed), SqlError> {
    if left.untyped_null {
        let left = left.cast(&right.sql_type)?;
        return Ok((left, right));
    }
    if right.untyped_null {
        let right = right.cast(&left.sql_type)?;
        return Ok((left, right));
    }
    Ok((left, right))
}

fn is_string(sql_type: &SqlType) -> bool {
    is_text(sql_type) || matches!(sql_type, SqlType::Binary { .. } | SqlType::VarBinary { .. })
}

fn incompatible(left: &Typed, operator: BinaryOperator, right: &Typed) -> SqlError {
    let name = match operator {
        BinaryOperator::Add => "add",
        BinaryOperator::Subtract => "subtract",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::BitAnd => "'&'",
        BinaryOperator::BitOr => "'|'",
        BinaryOperator::BitXor => "'^'",
        BinaryOperator::Concatenate => "concat",
    };
    let (one, other) = (type_name(&left.sql_type), type_name(&right.sql_type));
    if !types::is_convertible(&left.sql_type, &right.sql_type) {
        return errors::TYPE_CLASH.with([&one, &other]);
    }
    if one == other && left.sql_type != SqlType::Bit {
        return invalid_operand(&left.sql_type, name);
    }
    SqlError::new(
        402,
        16,
        1,
        format!("The data types {one} and {other} are incompatible in the {name} operator."),
    )
}

/// Makes error 8117: no operand of this type.
fn invalid_operand(sql_type: &SqlType, operator: &str) -> SqlError {
    let text = format!("Operand data type {} is invalid for {operator} operator.", type_name(sql_type));
    SqlError::new(8117, 16, 1, text)
}

/// Binds `left || right`: NULL if either is, whatever the session's options say. What is no string becomes text beside a text.
///
/// Errors: 402 and 206 for operands that do not go together.
pub fn concatenate_any(left: Typed, right: Typed) -> Result<Typed, SqlError> {
    if left.untyped_null && right.untyped_null {
        return Ok(Typed::null());
    }
    let (left, right) = typed_nulls(left, right)?;
    let beside = |value: Typed, other: &Typed| match is_string(&value.sql_type) || !is_text(&other.sql_type) {
        true => Ok(value),
        false => value.cast(&types::text_of(other.sql_type.is_unicode(), Some(SHOWN_MAX))),
    };
    let is_large = |value: &Typed| {
        matches!(value.sql_type, SqlType::Xml | SqlType::Json | SqlType::Text | SqlType::NText)
    };
    let (left, right) = (beside(left.clone(), &right)?, beside(right, &left)?);
    let mixed = left.sql_type.is_binary() != right.sql_type.is_binary();
    if mixed
        || !is_string(&left.sql_type)
        || !is_string(&right.sql_type)
        || is_large(&left)
        || is_large(&right)
    {
        return Err(incompatible(&left, BinaryOperator::Concatenate, &right));
    }
    concatenate(left, right)
}

/// Characters of the text of a number, a date or the like, at most.
const SHOWN_MAX: usize = 100;

fn concatenate(left: Typed, right: Typed) -> Result<Typed, SqlError> {
    if left.sql_type.is_binary() != right.sql_type.is_binary() {
        return Err(incompatible(&left, BinaryOperator::Add, &right));
    }
    let length = match (length_limit(&left.sql_type), length_limit(&right.sql_type)) {
        (Some(left), Some(right)) => Some(left + right),
        _ => None,
    };
    let result = if left.sql_type.is_binary() {
        SqlType::VarBinary {
            length: length.map_or(Length::Max, |length| Length::Units(length.min(8000) as u16)),
        }
    } else {
        types::text_of(left.sql_type.is_unicode() || right.sql_type.is_unicode(), length)
    };
    let limit = length_limit(&result);
    let target = result.clone();
    let form = result.is_character().then(|| concatenated(limit));
    Ok(call_by_column("concatenate", vec![left, right], result, form, move |arguments| match arguments {
        [Datum::Text(left), Datum::Text(right)] => {
            ask(left.len() + right.len(), &target)?;
            let text = format!("{left}{right}");
            Ok(Datum::Text(match limit {
                Some(limit) => crate::convert::cut_text(&text, &target, limit),
                None => text,
            }))
        }
        [Datum::Binary(left), Datum::Binary(right)] => {
            ask(left.len() + right.len(), &target)?;
            Ok(Datum::Binary([left.as_slice(), right].concat()))
        }
        _ => Ok(Datum::Null),
    }))
}

/// Calculates with datetime and smalldatetime, which count as days.
fn on_dates(left: Typed, operator: BinaryOperator, right: Typed) -> Result<Typed, SqlError> {
    if !matches!(operator, BinaryOperator::Add | BinaryOperator::Subtract) {
        return Err(incompatible(&left, operator, &right));
    }
    let unusable = |sql_type: &SqlType| {
        matches!(
            sql_type,
            SqlType::Date | SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. }
        )
    };
    if unusable(&left.sql_type) || unusable(&right.sql_type) {
        return Err(incompatible(&left, operator, &right));
    }
    let result = match (&left.sql_type, &right.sql_type) {
        (SqlType::SmallDateTime, other) | (other, SqlType::SmallDateTime) if *other != SqlType::DateTime => {
            SqlType::SmallDateTime
        }
        _ => SqlType::DateTime,
    };
    let (left, right) = (left.cast(&SqlType::DateTime)?, right.cast(&SqlType::DateTime)?);
    let epoch = DAYS_TO_1900 * TICKS_PER_DAY;
    let name = if operator == BinaryOperator::Add { "add_datetime" } else { "subtract_datetime" };
    let sum = call(name, vec![left, right], SqlType::DateTime, move |arguments| match arguments {
        [Datum::Moment(left), Datum::Moment(right)] => {
            let offset = right - epoch;
            let ticks = if operator == BinaryOperator::Add { left + offset } else { left - offset };
            crate::convert::place(ticks, 0, &SqlType::DateTime)
                .ok_or_else(|| SqlError::overflow("", "datetime"))
        }
        _ => Ok(Datum::Null),
    });
    sum.cast(&result)
}

/// Calculates with whole numbers and floats: a column at a time, by Arrow's checked kernels.
fn on_columns(
    left: Typed,
    operator: BinaryOperator,
    right: Typed,
    common: SqlType,
) -> Result<Typed, SqlError> {
    let (left, right) = (left.cast(&common)?, right.cast(&common)?);
    let target = common.clone();
    let name = format!("arithmetic_{operator:?}");
    let function =
        Scalar::by_column(&name, vec![common.clone(), common.clone()], common, move |arrays, _| {
            let [left, right] = arrays else { return Err(SqlError::internal("an operator of two operands")) };
            compute(left, operator, right, &target)
        });
    Ok(call_with(function, vec![left, right]))
}

fn compute(
    left: &ArrayRef,
    operator: BinaryOperator,
    right: &ArrayRef,
    sql_type: &SqlType,
) -> Result<ArrayRef, SqlError> {
    let float = matches!(sql_type, SqlType::Float | SqlType::Real);
    if float && matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) && has_zero(left, right) {
        return Err(errors::DIVIDE_BY_ZERO.error());
    }
    let result = match operator {
        BinaryOperator::Add => numeric::add(left, right),
        BinaryOperator::Subtract => numeric::sub(left, right),
        BinaryOperator::Multiply => numeric::mul(left, right),
        BinaryOperator::Divide => numeric::div(left, right),
        BinaryOperator::Modulo => numeric::rem(left, right),
        BinaryOperator::BitAnd | BinaryOperator::BitOr | BinaryOperator::BitXor => {
            return bitwise(left, operator, right, sql_type);
        }
        BinaryOperator::Concatenate => return Err(SqlError::internal("numbers are not concatenated")),
    };
    let result = result.map_err(|error| match error {
        ArrowError::DivideByZero => errors::DIVIDE_BY_ZERO.error(),
        _ => SqlError::overflow("", &type_name(sql_type)),
    })?;
    if float && !is_finite(&result) {
        return Err(SqlError::overflow("", &type_name(sql_type)));
    }
    Ok(result)
}

/// Whether a value is divided by zero.
fn has_zero(left: &ArrayRef, right: &ArrayRef) -> bool {
    let zero_at = |row: usize| left.is_valid(row) && right.is_valid(row);
    match right.data_type() {
        DataType::Float64 => {
            let values = right.as_primitive::<Float64Type>().values();
            values.iter().enumerate().any(|(row, value)| *value == 0.0 && zero_at(row))
        }
        DataType::Float32 => {
            let values = right.as_primitive::<Float32Type>().values();
            values.iter().enumerate().any(|(row, value)| *value == 0.0 && zero_at(row))
        }
        _ => false,
    }
}

/// Returns true if every float of a column is a number. Ignores the values at NULLs.
pub fn is_finite(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().all(f64::is_finite),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().all(f32::is_finite),
        _ => true,
    }
}

/// Checks a float that the engine has computed. Errors when run: 8115 for NaN or infinity, which T-SQL's float cannot
/// hold.
pub fn checked_float(value: Typed) -> Typed {
    if value.sql_type != SqlType::Float {
        return value;
    }
    let types = vec![SqlType::Float];
    let function = Scalar::by_column("checked_float", types, SqlType::Float, |arrays, _| {
        let [array] = arrays else { return Err(SqlError::internal("a check of one value")) };
        if is_finite(array) { Ok(Arc::clone(array)) } else { Err(SqlError::overflow("", "float")) }
    });
    call_with(function, vec![value])
}

fn bitwise(
    left: &ArrayRef,
    operator: BinaryOperator,
    right: &ArrayRef,
    sql_type: &SqlType,
) -> Result<ArrayRef, SqlError> {
    let mut values = Vec::with_capacity(left.len());
    for row in 0..left.len() {
        let pair = (Datum::read(left, sql_type, row)?.as_int(), Datum::read(right, sql_type, row)?.as_int());
        values.push(match pair {
            (Some(left), Some(right)) => Datum::Int(match operator {
                BinaryOperator::BitAnd => left & right,
                BinaryOperator::BitOr => left | right,
                _ => left ^ right,
            }),
            _ => Datum::Null,
        });
    }
    Ok(Datum::array(&values, sql_type))
}

/// Calculates with decimals, by "Precision, scale, and length" of the T-SQL reference.
fn on_decimals(left: Typed, operator: BinaryOperator, right: Typed) -> Result<Typed, SqlError> {
    let (left, right) = (literal_as_decimal(left)?, literal_as_decimal(right)?);
    let (Some((p1, s1)), Some((p2, s2))) = (as_decimal(&left.sql_type), as_decimal(&right.sql_type)) else {
        // One side is a text that must become a decimal of the other's shape.
        let common = types::common_type(&left.sql_type, &right.sql_type);
        return on_decimals(left.cast(&common)?, operator, right.cast(&common)?);
    };
    let (p1, s1, p2, s2) = (u32::from(p1), u32::from(s1), u32::from(p2), u32::from(s2));
    let result = match operator {
        BinaryOperator::Add | BinaryOperator::Subtract => {
            let scale = s1.max(s2);
            types::whole_first((p1 - s1).max(p2 - s2), 1, scale)
        }
        BinaryOperator::Multiply => bounded_decimal(p1 + p2 + 1, s1 + s2),
        BinaryOperator::Divide => {
            let scale = 6.max(s1 + p2 + 1);
            bounded_decimal(p1 - s1 + s2 + scale, scale)
        }
        _ => types::whole_first((p1 - s1).min(p2 - s2), 0, s1.max(s2)),
    };
    let as_numeric =
        |typed: Typed, p: u32, s: u32| typed.cast(&SqlType::Numeric { precision: p as u8, scale: s as u8 });
    let (left, right) = (as_numeric(left, p1, s1)?, as_numeric(right, p2, s2)?);
    let (scale, precision) = match as_decimal(&result) {
        Some((precision, scale)) => (u32::from(scale), precision),
        None => (0, 38),
    };
    Ok(by_units(
        &format!("decimal_{operator:?}"),
        [(left, s1), (right, s2)],
        operator,
        (result, scale, precision),
    ))
}

/// Gives a whole-number literal beside a decimal only the digits it is written with.
fn literal_as_decimal(value: Typed) -> Result<Typed, SqlError> {
    match (&value.constant, is_integer(&value.sql_type)) {
        (Some(Datum::Int(number)), true) => {
            let precision = number.unsigned_abs().to_string().len().clamp(1, 38) as u8;
            value.cast(&SqlType::Numeric { precision, scale: 0 })
        }
        _ => Ok(value),
    }
}

fn decimal(
    left: i128,
    left_scale: u32,
    operator: BinaryOperator,
    right: i128,
    right_scale: u32,
    scale: u32,
    precision: u8,
) -> Result<i128, SqlError> {
    match short_decimal(left, left_scale, operator, right, right_scale, scale) {
        Some(value) => in_range(arrow::datatypes::i256::from_i128(value), precision),
        None => wide_decimal(left, left_scale, operator, right, right_scale, scale, precision),
    }
}

/// Calculates like [`decimal`], in 256 bits.
fn wide_decimal(
    left: i128,
    left_scale: u32,
    operator: BinaryOperator,
    right: i128,
    right_scale: u32,
    scale: u32,
    precision: u8,
) -> Result<i128, SqlError> {
    use arrow::datatypes::i256;
    let overflow = || SqlError::overflow("", "numeric");
    let ten = |power: u32| i256::from_i128(10).checked_pow(power).ok_or_else(overflow);
    let (wide_left, wide_right) = (i256::from_i128(left), i256::from_i128(right));
    let product = |a: i256, b: i256| a.checked_mul(b).ok_or_else(overflow);
    let common = left_scale.max(right_scale);
    // Every case ends as a numerator over a power of ten, or over the divisor, rounded to the result's scale.
    let (numerator, denominator) = match operator {
        BinaryOperator::Add | BinaryOperator::Subtract => {
            let left = product(wide_left, ten(common - left_scale)?)?;
            let right = product(wide_right, ten(common - right_scale)?)?;
            let sum = if operator == BinaryOperator::Add {
                left.checked_add(right)
            } else {
                left.checked_sub(right)
            };
            (product(sum.ok_or_else(overflow)?, ten(scale)?)?, ten(common)?)
        }
        BinaryOperator::Multiply => {
            let exact = product(wide_left, wide_right)?;
            let exact_scale = left_scale + right_scale;
            if exact_scale >= scale {
                (exact, ten(exact_scale - scale)?)
            } else {
                (product(exact, ten(scale - exact_scale)?)?, ten(0)?)
            }
        }
        BinaryOperator::Divide => {
            if right == 0 {
                return Err(errors::DIVIDE_BY_ZERO.error());
            }
            // The quotient is cut, not rounded, at its scale.
            let shifted = product(wide_left, ten(scale + right_scale)?)?;
            let divisor = product(wide_right, ten(left_scale)?)?;
            let quotient = shifted.checked_div(divisor).ok_or_else(overflow)?;
            return in_range(quotient, precision);
        }
        _ => {
            if right == 0 {
                return Err(errors::DIVIDE_BY_ZERO.error());
            }
            let left = product(wide_left, ten(common - left_scale)?)?;
            let right = product(wide_right, ten(common - right_scale)?)?;
            (left.checked_rem(right).ok_or_else(overflow)?, ten(common - scale)?)
        }
    };
    let quotient = numerator.checked_div(denominator).ok_or_else(overflow)?;
    let rest = numerator.checked_rem(denominator).ok_or_else(overflow)?;
    let doubled = product(rest, i256::from_i128(2))?;
    let away = if rest.is_negative() { i256::from_i128(-1) } else { i256::from_i128(1) };
    let rounds = doubled.wrapping_abs() >= denominator && rest != i256::from_i128(0);
    in_range(if rounds { quotient.wrapping_add(away) } else { quotient }, precision)
}

/// Calculates like [`decimal`] where nothing is rounded and nothing leaves 128 bits; `None` elsewhere.
fn short_decimal(
    left: i128,
    left_scale: u32,
    operator: BinaryOperator,
    right: i128,
    right_scale: u32,
    scale: u32,
) -> Option<i128> {
    let power = |places: u32| POWERS_OF_TEN.get(places as usize).copied();
    let common = left_scale.max(right_scale);
    match operator {
        BinaryOperator::Add | BinaryOperator::Subtract if scale == common => {
            let left = left.checked_mul(power(common - left_scale)?)?;
            let right = right.checked_mul(power(common - right_scale)?)?;
            if operator == BinaryOperator::Add { left.checked_add(right) } else { left.checked_sub(right) }
        }
        BinaryOperator::Multiply if scale == left_scale + right_scale => left.checked_mul(right),
        BinaryOperator::Divide => {
            let shifted = left.checked_mul(power(scale + right_scale)?)?;
            shifted.checked_div(right.checked_mul(power(left_scale)?)?)
        }
        _ => None,
    }
}

fn in_range(value: arrow::datatypes::i256, precision: u8) -> Result<i128, SqlError> {
    let overflow = || SqlError::overflow("", "numeric");
    let value = value.to_i128().ok_or_else(overflow)?;
    match POWERS_OF_TEN.get(usize::from(precision)) {
        Some(limit) if value.unsigned_abs() >= limit.unsigned_abs() => Err(overflow()),
        _ => Ok(value),
    }
}

/// Calculates with money, which keeps four digits; a quotient is cut there.
fn on_money(left: Typed, operator: BinaryOperator, right: Typed, common: SqlType) -> Result<Typed, SqlError> {
    let (left, right) = (left.cast(&common)?, right.cast(&common)?);
    let name = format!("money_{operator:?}");
    let precision = if common == SqlType::Money { 19 } else { 10 };
    Ok(by_units(&name, [(left, 4), (right, 4)], operator, (common, 4, precision)))
}

/// A call that computes in the units of both operands, each of which has its scale beside it, and of the result, with its scale and
/// precision.
fn by_units(
    name: &str,
    [(left, left_scale), (right, right_scale)]: [(Typed, u32); 2],
    operator: BinaryOperator,
    (result, scale, precision): (SqlType, u32, u8),
) -> Typed {
    let exact = move |left: i128, right: i128| {
        decimal(left, left_scale, operator, right, right_scale, scale, precision)
    };
    let form = operation(operator, (left_scale, right_scale), &result, scale, move |left, right| {
        exact(left, right).ok()
    });
    call_by_column(name, vec![left, right], result, Some(form), move |arguments| match arguments {
        [Datum::Decimal(left), Datum::Decimal(right)] => exact(*left, *right).map(Datum::Decimal),
        _ => Ok(Datum::Null),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Small and large numbers are computed in different widths.
    #[test]
    fn widths_agree() {
        let numbers = [0, 1, -1, 7, -15, 99, 12_345, -1_000_000, i128::from(i64::MAX), -(10_i128.pow(30))];
        let operators =
            [BinaryOperator::Add, BinaryOperator::Subtract, BinaryOperator::Multiply, BinaryOperator::Divide];
        let scales = [(0, 0, 6), (2, 4, 4), (4, 2, 6), (3, 3, 6), (5, 1, 5)];
        for (left, right) in numbers.iter().flat_map(|left| numbers.map(|right| (*left, right))) {
            for (operator, (left_scale, right_scale, scale)) in
                operators.iter().flat_map(|operator| scales.map(|scales| (*operator, scales)))
            {
                let short = short_decimal(left, left_scale, operator, right, right_scale, scale);
                let wide = wide_decimal(left, left_scale, operator, right, right_scale, scale, 38);
                if let Some(value) = short {
                    let ranged = in_range(arrow::datatypes::i256::from_i128(value), 38);
                    assert_eq!(
                        ranged, wide,
                        "{left} {operator:?} {right} at {left_scale} {right_scale} {scale}"
                    );
                }
            }
        }
    }
}
