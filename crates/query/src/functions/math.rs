//! Functions of numbers.

use tds::{Length, SqlType};

use super::super::convert::{convert, rescale, type_name};
use super::super::scalar::Scalar;
use super::super::typed;
use super::super::typed::{Typed, call_with};
use super::super::types::{as_decimal, bounded_decimal, is_integer, is_numeric};
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{is_convertible, strict};
use tsql::SqlError;

/// Functions of numbers.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("ABS", &["number"], "the number's type", |call| whole(call, Rounding::Magnitude)).light(),
    scalar("SIGN", &["number"], "the number's type", |call| whole(call, Rounding::Sign)),
    scalar("CEILING", &["number"], "the number's type", |call| whole(call, Rounding::Up)).light(),
    scalar("FLOOR", &["number"], "the number's type", |call| whole(call, Rounding::Down)).light(),
    scalar("ROUND", &["number", "digits"], "the number's type", round_to).optional(&["cut"]).light(),
    scalar("POWER", &["number", "exponent"], "the number's type", power),
    scalar("SQUARE", &["number"], "float", |call| of_float(call, |value| value * value)),
    scalar("SQRT", &["number"], "float", |call| of_float(call, f64::sqrt)),
    scalar("EXP", &["number"], "float", |call| of_float(call, f64::exp)),
    scalar("LOG", &["number"], "float", logarithm).optional(&["base"]),
    scalar("LOG10", &["number"], "float", |call| of_float(call, f64::log10)),
    scalar("SIN", &["number"], "float", |call| of_float(call, f64::sin)),
    scalar("COS", &["number"], "float", |call| of_float(call, f64::cos)),
    scalar("TAN", &["number"], "float", |call| of_float(call, f64::tan)),
    scalar("COT", &["number"], "float", |call| of_float(call, |value| 1.0 / value.tan())),
    scalar("ASIN", &["number"], "float", |call| of_float(call, f64::asin)),
    scalar("ACOS", &["number"], "float", |call| of_float(call, f64::acos)),
    scalar("ATAN", &["number"], "float", |call| of_float(call, f64::atan)),
    scalar("ATN2", &["y", "x"], "float", arc_tangent),
    scalar("RADIANS", &["number"], "the number's type", |call| angle(call, f64::to_radians)),
    scalar("DEGREES", &["number"], "the number's type", |call| angle(call, f64::to_degrees)),
    scalar("PI", &[], "float", |_| Typed::constant(Datum::Float(std::f64::consts::PI), SqlType::Float)),
    scalar("RAND", &[], "float", random).optional(&["seed"]),
    scalar("ISNUMERIC", &["value"], "int", is_numeric_text),
];

/// A function that maps a number to another of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Magnitude,
    Sign,
    Up,
    Down,
}

fn whole(call: &Call<'_, dyn Facts>, rounding: Rounding) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let sql_type = shape(value.sql_type.clone());
    let result = match (rounding, as_decimal(&sql_type)) {
        (Rounding::Up | Rounding::Down, Some((precision, _))) if sql_type.is_decimal() => {
            SqlType::Numeric { precision, scale: 0 }
        }
        _ => sql_type.clone(),
    };
    let scale =
        as_decimal(&sql_type).filter(|_| !is_integer(&sql_type)).map_or(0, |(_, scale)| u32::from(scale));
    let keeps_scale = result == sql_type;
    strict(call.name, vec![(value, sql_type.clone())], result, move |values| {
        rounded(rounding, &values[0], scale, keeps_scale, &sql_type)
    })
}

fn round_to(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, digits] = call.take()?;
    let cut = call.argument_or(2, Datum::Int(0), SqlType::Int)?;
    let sql_type = shape(value.sql_type.clone());
    let scale =
        as_decimal(&sql_type).filter(|_| !is_integer(&sql_type)).map_or(0, |(_, scale)| i64::from(scale));
    strict(
        call.name,
        vec![(value, sql_type.clone()), (digits, SqlType::Int), (cut, SqlType::Int)],
        sql_type,
        move |values| {
            let (digits, cut) = (values[1].as_int().unwrap_or(0), values[2].as_int().unwrap_or(0) != 0);
            Ok(round(&values[0], digits, cut, scale))
        },
    )
}

fn of_float(
    call: &Call<'_, dyn Facts>,
    operation: impl Fn(f64) -> f64 + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    strict(call.name, vec![(value, SqlType::Float)], SqlType::Float, move |values| match values[0] {
        Datum::Float(value) => finite(operation(value)),
        _ => Ok(Datum::Null),
    })
}

/// Converts an angle to another unit: whole numbers stay whole, decimals get 18 digits after the point.
fn angle(call: &Call<'_, dyn Facts>, operation: fn(f64) -> f64) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let result = match shape(value.sql_type) {
        decimal if decimal.is_decimal() => SqlType::Numeric { precision: 38, scale: 18 },
        other => other,
    };
    of_float(call, operation)?.cast(&result)
}

fn logarithm(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    let base = call.argument_or(1, Datum::Float(std::f64::consts::E), SqlType::Float)?;
    of_two_floats(call.name, value, base, |value, base| match base == std::f64::consts::E {
        true => value.ln(),
        false => value.ln() / base.ln(),
    })
}

fn arc_tangent(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [y, x] = call.take()?;
    of_two_floats(call.name, y, x, f64::atan2)
}

fn power(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, exponent] = call.take()?;
    let sql_type = shape(value.sql_type.clone());
    let result = match as_decimal(&sql_type) {
        Some((_, scale)) if sql_type.is_decimal() => bounded_decimal(38, u32::from(scale)),
        _ => sql_type,
    };
    of_two_floats(call.name, value, exponent, f64::powf)?.cast(&result)
}

fn of_two_floats(
    name: &str,
    left: Typed,
    right: Typed,
    operation: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
) -> Result<Typed, SqlError> {
    let cast = vec![(left, SqlType::Float), (right, SqlType::Float)];
    strict(name, cast, SqlType::Float, move |values| match values {
        [Datum::Float(left), Datum::Float(right)] => finite(operation(*left, *right)),
        _ => Ok(Datum::Null),
    })
}

/// Makes a different number for each row, or the same one for a seed.
fn random(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let fraction = |bits: u64| Datum::Float((bits >> 11) as f64 / (1_u64 << 53) as f64);
    if let Some(seed) = call.arguments.first() {
        return strict(call.name, vec![(seed.clone(), SqlType::BigInt)], SqlType::Float, move |values| {
            let seed = values.first().and_then(Datum::as_int).unwrap_or(0) as u64;
            // The finishing steps of splitmix64: neighbouring seeds give numbers far apart.
            let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            Ok(fraction(mixed ^ mixed >> 31))
        });
    }
    let function = Scalar::by_value(call.name, Vec::new(), SqlType::Float, move |_| {
        Ok(fraction(uuid::Uuid::new_v4().as_u128() as u64))
    });
    Ok(call_with(function.volatile(), Vec::new()))
}

fn is_numeric_text(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    if is_numeric(&value.sql_type) {
        let mut typed = typed::call(call.name, vec![value], SqlType::Int, |values| {
            Ok(Datum::Int(i64::from(!values.first().is_none_or(Datum::is_null))))
        });
        typed.nullable = false;
        return Ok(typed);
    }
    if !value.sql_type.is_character() {
        return is_convertible(call.name, &value, &SqlType::Float);
    }
    let mut typed = typed::call(call.name, vec![value], SqlType::Int, |values| {
        let numeric = matches!(values, [Datum::Text(text)] if number_of_any_type(text));
        Ok(Datum::Int(i64::from(numeric)))
    });
    typed.nullable = false;
    Ok(typed)
}

/// Returns true if a text is a number of some type. White space around it counts for nothing unless it is all there is.
fn number_of_any_type(text: &str) -> bool {
    let is_space = |ch: char| matches!(ch, ' ' | '\t'..='\r' | '\u{a0}');
    let trimmed = text.trim_matches(is_space);
    if trimmed.is_empty() {
        // A tab is taken for an amount of nothing, blanks are not.
        return text.chars().any(|ch| ch != ' ');
    }
    let to = |to: &SqlType, text: &str| {
        let from = SqlType::NVarChar { length: Length::Max };
        convert(Datum::Text(text.to_owned()), &from, to, 0).is_ok()
    };
    let spelled = trimmed.replace(['d', 'D'], "e");
    let digits = trimmed.bytes().any(|byte| byte.is_ascii_digit());
    to(&SqlType::Money, trimmed) || trimmed == "\\" || digits && to(&SqlType::Float, &spelled)
}

/// Returns the type that the function works in: bit and small integers as int, text as float.
fn shape(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt => SqlType::Int,
        SqlType::Real => SqlType::Float,
        SqlType::SmallMoney => SqlType::Money,
        other if is_numeric(&other) => other,
        _ => SqlType::Float,
    }
}

fn rounded(
    rounding: Rounding,
    value: &Datum,
    scale: u32,
    keeps_scale: bool,
    sql_type: &SqlType,
) -> Result<Datum, SqlError> {
    let overflow = || SqlError::overflow("", &type_name(sql_type));
    let unit = 10_i128.pow(scale.min(38));
    Ok(match (rounding, value) {
        (Rounding::Magnitude, Datum::Int(value)) => {
            let magnitude = value.checked_abs().ok_or_else(overflow)?;
            if *sql_type == SqlType::Int && i32::try_from(magnitude).is_err() {
                return Err(overflow());
            }
            Datum::Int(magnitude)
        }
        (Rounding::Magnitude, Datum::Float(value)) => Datum::Float(value.abs()),
        (Rounding::Magnitude, Datum::Decimal(units)) => Datum::Decimal(units.abs()),
        (Rounding::Sign, Datum::Int(value)) => Datum::Int(value.signum()),
        (Rounding::Sign, Datum::Float(value)) => {
            Datum::Float(if *value == 0.0 { 0.0 } else { value.signum() })
        }
        (Rounding::Sign, Datum::Decimal(units)) => Datum::Decimal(units.signum() * unit),
        (Rounding::Up, Datum::Float(value)) => Datum::Float(value.ceil()),
        (Rounding::Down, Datum::Float(value)) => Datum::Float(value.floor()),
        (Rounding::Up | Rounding::Down, Datum::Decimal(units)) => {
            let whole =
                units.div_euclid(unit) + i128::from(rounding == Rounding::Up && units.rem_euclid(unit) != 0);
            Datum::Decimal(if keeps_scale { whole * unit } else { whole })
        }
        (_, other) => other.clone(),
    })
}

fn round(value: &Datum, digits: i64, cut: bool, scale: i64) -> Datum {
    match value {
        Datum::Float(value) => {
            let factor = 10_f64.powi(digits.clamp(-300, 300) as i32);
            let shifted = value * factor;
            Datum::Float(if cut { shifted.trunc() } else { shifted.round() } / factor)
        }
        Datum::Int(value) => Datum::Int(round_units(i128::from(*value), -digits, cut) as i64),
        Datum::Decimal(units) => Datum::Decimal(round_units(*units, scale - digits, cut)),
        other => other.clone(),
    }
}

/// Makes the last `places` digits zero.
fn round_units(units: i128, places: i64, cut: bool) -> i128 {
    if places <= 0 {
        return units;
    }
    let Some(unit) = u32::try_from(places).ok().and_then(|places| 10_i128.checked_pow(places)) else {
        return 0;
    };
    if cut {
        return units / unit * unit;
    }
    rescale(units, places.min(38) as u8, 0).unwrap_or(0) * unit
}

fn finite(value: f64) -> Result<Datum, SqlError> {
    if value.is_finite() {
        return Ok(Datum::Float(value));
    }
    Err(SqlError::new(3623, 16, 1, "An invalid floating point operation occurred."))
}
