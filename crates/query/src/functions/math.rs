//! Functions of numbers.

use std::sync::Arc;

use tds::SqlType;

use super::super::convert::{rescale, type_name};
use super::super::scalar::Scalar;
use super::super::typed::{Typed, call_with};
use super::super::types::{as_decimal, bounded_decimal, is_integer, is_numeric};
use super::super::{Datum, Facts};
use super::{strict, take};
use tsql::SqlError;

pub(super) fn bind(name: &str, arguments: &[Typed], _: &Arc<dyn Facts>) -> Result<Option<Typed>, SqlError> {
    let float = SqlType::Float;
    Ok(Some(match name {
        "ABS" | "SIGN" | "CEILING" | "FLOOR" => {
            let [value] = take(name, arguments)?;
            let sql_type = shape(value.sql_type.clone());
            let result = match (name, as_decimal(&sql_type)) {
                ("CEILING" | "FLOOR", Some((precision, _))) if sql_type.is_decimal() => {
                    SqlType::Numeric { precision, scale: 0 }
                }
                _ => sql_type.clone(),
            };
            let operation = name.to_string();
            let scale = as_decimal(&sql_type)
                .filter(|_| !is_integer(&sql_type))
                .map_or(0, |(_, scale)| u32::from(scale));
            let keeps_scale = result == sql_type;
            strict(name, vec![(value, sql_type.clone())], result, move |values| {
                rounded(&operation, &values[0], scale, keeps_scale, &sql_type)
            })?
        }
        "ROUND" => {
            let (value, digits, cut) = match arguments {
                [value, digits] => {
                    (value.clone(), digits.clone(), Typed::constant(Datum::Int(0), SqlType::Int)?)
                }
                [value, digits, cut] => (value.clone(), digits.clone(), cut.clone()),
                _ => return Err(SqlError::argument_count("round", 2)),
            };
            let sql_type = shape(value.sql_type.clone());
            let scale = as_decimal(&sql_type)
                .filter(|_| !is_integer(&sql_type))
                .map_or(0, |(_, scale)| i64::from(scale));
            strict(
                name,
                vec![(value, sql_type.clone()), (digits, SqlType::Int), (cut, SqlType::Int)],
                sql_type,
                move |values| {
                    let (digits, cut) =
                        (values[1].as_int().unwrap_or(0), values[2].as_int().unwrap_or(0) != 0);
                    Ok(round(&values[0], digits, cut, scale))
                },
            )?
        }
        "SQRT" | "EXP" | "LOG10" | "SIN" | "COS" | "TAN" | "COT" | "ASIN" | "ACOS" | "ATAN" | "SQUARE"
        | "RADIANS" | "DEGREES" => {
            let [value] = take(name, arguments)?;
            let operation = name.to_string();
            strict(name, vec![(value, float.clone())], float, move |values| {
                let Datum::Float(value) = values[0] else { return Ok(Datum::Null) };
                finite(match operation.as_str() {
                    "SQRT" => value.sqrt(),
                    "EXP" => value.exp(),
                    "LOG10" => value.log10(),
                    "SIN" => value.sin(),
                    "COS" => value.cos(),
                    "TAN" => value.tan(),
                    "COT" => 1.0 / value.tan(),
                    "ASIN" => value.asin(),
                    "ACOS" => value.acos(),
                    "ATAN" => value.atan(),
                    "RADIANS" => value.to_radians(),
                    "DEGREES" => value.to_degrees(),
                    _ => value * value,
                })
            })?
        }
        "LOG" => {
            let (value, base) = match arguments {
                [value] => {
                    (value.clone(), Typed::constant(Datum::Float(std::f64::consts::E), SqlType::Float)?)
                }
                [value, base] => (value.clone(), base.clone()),
                _ => return Err(SqlError::argument_count("log", 1)),
            };
            strict(name, vec![(value, float.clone()), (base, float.clone())], float, |values| match values {
                [Datum::Float(value), Datum::Float(base)] if *base == std::f64::consts::E => {
                    finite(value.ln())
                }
                [Datum::Float(value), Datum::Float(base)] => finite(value.ln() / base.ln()),
                _ => Ok(Datum::Null),
            })?
        }
        "ATN2" => {
            let [y, x] = take(name, arguments)?;
            strict(name, vec![(y, float.clone()), (x, float.clone())], float, |values| match values {
                [Datum::Float(y), Datum::Float(x)] => finite(y.atan2(*x)),
                _ => Ok(Datum::Null),
            })?
        }
        "POWER" => {
            let [value, exponent] = take(name, arguments)?;
            let sql_type = shape(value.sql_type.clone());
            let result = match as_decimal(&sql_type) {
                Some((_, scale)) if sql_type.is_decimal() => bounded_decimal(38, u32::from(scale)),
                _ => sql_type,
            };
            let power =
                strict(name, vec![(value, float.clone()), (exponent, float.clone())], float, |values| {
                    match values {
                        [Datum::Float(value), Datum::Float(exponent)] => finite(value.powf(*exponent)),
                        _ => Ok(Datum::Null),
                    }
                })?;
            power.cast(&result)?
        }
        "PI" => Typed::constant(Datum::Float(std::f64::consts::PI), SqlType::Float)?,
        "RAND" => {
            let function = Scalar::by_value(name, Vec::new(), SqlType::Float, |_| {
                let bits = uuid::Uuid::new_v4().as_u128() as u64 >> 11;
                Ok(Datum::Float(bits as f64 / (1_u64 << 53) as f64))
            });
            call_with(function.volatile(), Vec::new())
        }
        "ISNUMERIC" => {
            let [value] = take(name, arguments)?;
            if is_numeric(&value.sql_type) {
                return Ok(Some(Typed::constant(Datum::Int(1), SqlType::Int)?));
            }
            let is_number = value.convert(&SqlType::Float, 0, true)?;
            let mut typed = super::super::typed::call(name, vec![is_number], SqlType::Int, |values| {
                Ok(Datum::Int(i64::from(!values.first().is_none_or(Datum::is_null))))
            });
            typed.nullable = false;
            typed
        }
        _ => return Ok(None),
    }))
}

/// The type that the function works in: bit and small integers as int, text as float.
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
    operation: &str,
    value: &Datum,
    scale: u32,
    keeps_scale: bool,
    sql_type: &SqlType,
) -> Result<Datum, SqlError> {
    let overflow = || SqlError::overflow("", &type_name(sql_type));
    let unit = 10_i128.pow(scale.min(38));
    Ok(match (operation, value) {
        ("ABS", Datum::Int(value)) => {
            let magnitude = value.checked_abs().ok_or_else(overflow)?;
            if *sql_type == SqlType::Int && i32::try_from(magnitude).is_err() {
                return Err(overflow());
            }
            Datum::Int(magnitude)
        }
        ("ABS", Datum::Float(value)) => Datum::Float(value.abs()),
        ("ABS", Datum::Decimal(units)) => Datum::Decimal(units.abs()),
        ("SIGN", Datum::Int(value)) => Datum::Int(value.signum()),
        ("SIGN", Datum::Float(value)) => Datum::Float(if *value == 0.0 { 0.0 } else { value.signum() }),
        ("SIGN", Datum::Decimal(units)) => Datum::Decimal(units.signum() * unit),
        ("CEILING", Datum::Float(value)) => Datum::Float(value.ceil()),
        ("FLOOR", Datum::Float(value)) => Datum::Float(value.floor()),
        ("CEILING" | "FLOOR", Datum::Decimal(units)) => {
            let whole =
                units.div_euclid(unit) + i128::from(operation == "CEILING" && units.rem_euclid(unit) != 0);
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
