//! To the numeric types and bit.

use std::borrow::Cow;

use rows::text::number::POWERS_OF_TEN;
use rows::text::spelling::TextSpelling;
use rows::text::{ParseOptions, TextError, money, number, write};
use tds::SqlType;
use tds::currency::CURRENCY_SIGNS;

use super::super::datum::{DAYS_TO_1900, Datum, TICKS_PER_DAY};
use super::{bytes, refused, type_name};
use crate::date_format::DateReading;
use crate::running;
use tsql::SqlError;
use tsql::errors;

const ROUNDING: ParseOptions =
    ParseOptions { allow_rounding: true, drop_time_zone: false, date_order: None, year_cutoff: None };
const MONEY_UNIT: i128 = 10_000;

/// Converts a value that is not NULL.
pub(super) fn to_number(value: Datum, from: &SqlType, to: &SqlType) -> Result<Datum, SqlError> {
    let value = match value {
        Datum::Text(text) => return from_text(&text, from, to),
        Datum::Binary(bytes) => match to {
            SqlType::Money | SqlType::SmallMoney => return Ok(Datum::Decimal(bytes::money_of(&bytes, to))),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                let failed = || errors::CONVERTING.with([&type_name(from), "numeric"]);
                let (units, own) = bytes::decimal_of(&bytes).ok_or_else(failed)?;
                let overflow = || SqlError::overflow(&type_name(from), &type_name(to));
                let units = rescale(units, own, *scale).ok_or_else(overflow)?;
                return decimal_range(units, *precision, from, to).map(Datum::Decimal);
            }
            SqlType::Float | SqlType::Real => return Err(refused(from, to)),
            _ => Datum::Int(integer_of_bytes(&bytes)),
        },
        Datum::RowVersion(version) => Datum::Int(version as i64),
        Datum::Moment(ticks) if matches!(from, SqlType::DateTime | SqlType::SmallDateTime) => {
            Datum::Float((ticks - DAYS_TO_1900 * TICKS_PER_DAY) as f64 / TICKS_PER_DAY as f64)
        }
        Datum::Date(_) | Datum::Time(_) | Datum::Moment(_) | Datum::Instant { .. } | Datum::Guid(_) => {
            return Err(refused(from, to));
        }
        other => other,
    };
    match to {
        SqlType::Bit => Ok(Datum::Bit(match value {
            Datum::Bit(value) => value,
            Datum::Int(value) => value != 0,
            Datum::Real(value) => value != 0.0,
            Datum::Float(value) => value != 0.0,
            Datum::Decimal(value) => value != 0,
            _ => return Err(refused(from, to)),
        })),
        SqlType::Real => {
            let float = to_float(&value, from).ok_or_else(|| refused(from, to))?;
            let real = float as f32;
            if real.is_infinite() {
                Err(SqlError::overflow(&type_name(from), "real"))
            } else {
                Ok(Datum::Real(real))
            }
        }
        SqlType::Float => to_float(&value, from).map(Datum::Float).ok_or_else(|| refused(from, to)),
        SqlType::Money | SqlType::SmallMoney => {
            to_scaled(&value, from, 4, to).and_then(|units| money_range(units, from, to)).map(Datum::Decimal)
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let units = to_scaled(&value, from, *scale, to)?;
            decimal_range(units, *precision, from, to).map(Datum::Decimal)
        }
        _ => to_integer(&value, from, to),
    }
}

fn to_float(value: &Datum, from: &SqlType) -> Option<f64> {
    Some(match value {
        Datum::Bit(value) => f64::from(u8::from(*value)),
        Datum::Int(value) => *value as f64,
        Datum::Real(value) => f64::from(*value),
        Datum::Float(value) => *value,
        // Through text, so that 0.1 becomes the float nearest to 0.1.
        Datum::Decimal(units) => decimal_text(*units, scale_of(from)).parse().ok()?,
        _ => return None,
    })
}

/// Digits after the point of a decimal or money type.
pub fn scale_of(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => *scale,
        SqlType::Money | SqlType::SmallMoney => 4,
        _ => 0,
    }
}

/// Formats `units` of 10^-scale as plain digits.
pub fn decimal_text(units: i128, scale: u8) -> String {
    let mut digits = Vec::with_capacity(40);
    write::scaled(&mut digits, units, scale, true);
    String::from_utf8(digits).unwrap_or_default()
}

/// Moves the point, rounding half away from zero. None on overflow.
pub fn rescale(units: i128, from_scale: u8, to_scale: u8) -> Option<i128> {
    let power = |places: u8| POWERS_OF_TEN.get(usize::from(places)).copied();
    let Some(places) = from_scale.checked_sub(to_scale) else {
        let factor = power(to_scale - from_scale)?;
        // The product of two words is never too long.
        return match (i64::try_from(units), i64::try_from(factor)) {
            (Ok(units), Ok(factor)) => Some(i128::from(units) * i128::from(factor)),
            _ => units.checked_mul(factor),
        };
    };
    let divisor = power(places)?;
    // The division of two words takes many times as long.
    if let (Ok(units), Ok(divisor)) = (i64::try_from(units), i64::try_from(divisor)) {
        let (quotient, rest) = (units / divisor, units % divisor);
        let half = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
        return Some(i128::from(quotient) + if half { i128::from(units.signum()) } else { 0 });
    }
    let (quotient, rest) = (units / divisor, units % divisor);
    let half = rest.unsigned_abs() * 2 >= divisor.unsigned_abs();
    Some(quotient + if half { units.signum() } else { 0 })
}

fn to_scaled(value: &Datum, from: &SqlType, scale: u8, to: &SqlType) -> Result<i128, SqlError> {
    let overflow = || SqlError::overflow(&type_name(from), &type_name(to));
    match value {
        Datum::Bit(value) => rescale(i128::from(*value), 0, scale).ok_or_else(overflow),
        Datum::Int(value) => rescale(i128::from(*value), 0, scale).ok_or_else(overflow),
        Datum::Decimal(units) => rescale(*units, scale_of(from), scale).ok_or_else(overflow),
        Datum::Real(value) => scaled_float(f64::from(*value), scale).ok_or_else(overflow),
        Datum::Float(value) => scaled_float(*value, scale).ok_or_else(overflow),
        _ => Err(refused(from, to)),
    }
}

fn scaled_float(value: f64, scale: u8) -> Option<i128> {
    // Seventeen significant digits carry every float; the text form rounds them decimally.
    let text = format!("{value:.*}", usize::from(scale) + 1);
    number::decimal(&text, 38, scale, &ROUNDING).ok()
}

fn money_range(units: i128, from: &SqlType, to: &SqlType) -> Result<i128, SqlError> {
    let fits = match to {
        SqlType::SmallMoney => i32::try_from(units).is_ok(),
        _ => i64::try_from(units).is_ok(),
    };
    if fits { Ok(units) } else { Err(SqlError::overflow(&type_name(from), &type_name(to))) }
}

fn decimal_range(units: i128, precision: u8, from: &SqlType, to: &SqlType) -> Result<i128, SqlError> {
    match POWERS_OF_TEN.get(usize::from(precision)) {
        Some(limit) if units.unsigned_abs() >= limit.unsigned_abs() => {
            Err(SqlError::overflow(&type_name(from), &type_name(to)).with_state(if from.is_decimal() {
                8
            } else {
                2
            }))
        }
        _ => Ok(units),
    }
}

fn to_integer(value: &Datum, from: &SqlType, to: &SqlType) -> Result<Datum, SqlError> {
    let wide: i128 = match value {
        Datum::Bit(value) => i128::from(*value),
        Datum::Int(value) => i128::from(*value),
        // money rounds, decimal and float are cut.
        Datum::Decimal(units) if matches!(from, SqlType::Money | SqlType::SmallMoney) => {
            rescale(*units, 4, 0).unwrap_or(units / MONEY_UNIT)
        }
        Datum::Decimal(units) => {
            POWERS_OF_TEN.get(usize::from(scale_of(from))).map_or(0, |divisor| units / divisor)
        }
        Datum::Real(value) => f64::from(*value).trunc() as i128,
        // A datetime counts days, to the nearest.
        Datum::Float(value) if from.is_temporal() => value.round() as i128,
        Datum::Float(value) => value.trunc() as i128,
        _ => return Err(refused(from, to)),
    };
    let fits = match to {
        SqlType::TinyInt => u8::try_from(wide).is_ok(),
        SqlType::SmallInt => i16::try_from(wide).is_ok(),
        SqlType::Int => i32::try_from(wide).is_ok(),
        _ => i64::try_from(wide).is_ok(),
    };
    if fits {
        return Ok(Datum::Int(wide as i64));
    }
    let small = matches!(to, SqlType::TinyInt | SqlType::SmallInt);
    Err(match from {
        SqlType::Real | SqlType::Float => {
            let float = to_float(value, from).unwrap_or_default();
            SqlError::new(
                232,
                16,
                3,
                format!("Arithmetic overflow error for type {}, value = {float:.6}.", type_name(to)),
            )
        }
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt | SqlType::Bit if small => {
            errors::SMALL_OVERFLOW.with([&type_name(to), &wide.to_string()])
        }
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt | SqlType::Bit => {
            SqlError::overflow("", &type_name(to))
        }
        _ => SqlError::overflow(&type_name(from), &type_name(to)),
    })
}

fn integer_of_bytes(bytes: &[u8]) -> i64 {
    let tail = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
    tail.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)) as i64
}

/// Returns true for signs without digits, which are an amount of nothing: `+`, `$`, `-.`, `,`.
fn is_bare_amount(text: &str) -> bool {
    let (mut signs, mut points, mut currencies) = (0, 0, 0);
    text.chars().all(|ch| {
        match ch {
            '+' | '-' => signs += 1,
            '.' => points += 1,
            ',' => {}
            ch if CURRENCY_SIGNS.contains(&ch) => currencies += 1,
            _ => return false,
        }
        signs <= 1 && points <= 1 && currencies <= 1
    })
}

pub(super) fn from_text(text: &str, from: &SqlType, to: &SqlType) -> Result<Datum, SqlError> {
    let plain = plain_number(text, from, to)?;
    let trimmed = plain.trim_matches(' ');
    match to {
        SqlType::Bit if trimmed.eq_ignore_ascii_case("true") => Ok(Datum::Bit(true)),
        SqlType::Bit if trimmed.is_empty() || trimmed.eq_ignore_ascii_case("false") => Ok(Datum::Bit(false)),
        SqlType::Bit => whole(trimmed)
            .map(|value| Datum::Bit(value != 0))
            .ok_or_else(|| errors::CONVERSION_FAILED.with([&type_name(from), text, "bit"])),
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            let bigint = *to == SqlType::BigInt;
            let failed = || match bigint {
                true => errors::CONVERTING.with([&type_name(from), "bigint"]),
                false => errors::CONVERSION_FAILED.with([&type_name(from), text, &type_name(to)]),
            };
            let value = if trimmed.is_empty() { 0 } else { whole(trimmed).ok_or_else(failed)? };
            let fits = match to {
                SqlType::TinyInt => u8::try_from(value).is_ok(),
                SqlType::SmallInt => i16::try_from(value).is_ok(),
                SqlType::Int => i32::try_from(value).is_ok(),
                _ => i64::try_from(value).is_ok(),
            };
            if fits { Ok(Datum::Int(value as i64)) } else { Err(text_overflow(text, from, to)) }
        }
        SqlType::Real | SqlType::Float => {
            let failed = || errors::CONVERTING.with([&type_name(from), &type_name(to)]);
            let value =
                if trimmed.is_empty() { 0.0 } else { number::float(trimmed).map_err(|_| failed())? };
            if *to == SqlType::Real { Ok(Datum::Real(value as f32)) } else { Ok(Datum::Float(value)) }
        }
        SqlType::Money | SqlType::SmallMoney => {
            let units = if trimmed.is_empty() || is_bare_amount(trimmed) {
                0
            } else {
                money::money(trimmed, &ROUNDING).map_err(|error| match error {
                    TextError::OutOfRange { .. } => SqlError::overflow(&type_name(from), &type_name(to)),
                    _ => SqlError::new(
                        235,
                        16,
                        0,
                        "Cannot convert a char value to money. The char value has incorrect syntax.",
                    ),
                })?
            };
            money_range(i128::from(units), from, to).map(Datum::Decimal)
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            // An exponent is the spelling of a float, which decimal refuses.
            if trimmed.bytes().any(|byte| byte.eq_ignore_ascii_case(&b'e')) {
                return Err(errors::CONVERTING.with([&type_name(from), "numeric"]));
            }
            number::decimal(trimmed, *precision, *scale, &ROUNDING).map(Datum::Decimal).map_err(|error| {
                match error {
                    TextError::PrecisionExceeded { .. } | TextError::OutOfRange { .. } => {
                        SqlError::overflow(&type_name(from), "numeric").with_state(8)
                    }
                    _ => errors::CONVERTING.with([&type_name(from), "numeric"]),
                }
            })
        }
        _ => Err(refused(from, to)),
    }
}

/// Returns a number as SQL Server spells it, for a text of a file whose numbers are spelled otherwise.
fn plain_number<'t>(text: &'t str, from: &SqlType, to: &SqlType) -> Result<Cow<'t, str>, SqlError> {
    let DateReading::Copy(TextSpelling { numbers: Some(numbers), .. }) = running::date_reading() else {
        return Ok(Cow::Borrowed(text));
    };
    match numbers.plain(text) {
        Ok(plain) => Ok(plain),
        // An empty text, and the words of bit, are judged below.
        Err(TextError::Empty) => Ok(Cow::Borrowed(text)),
        Err(_) if *to == SqlType::Bit => Ok(Cow::Borrowed(text)),
        Err(_) => Err(match to {
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => {
                errors::CONVERSION_FAILED.with([&type_name(from), text, &type_name(to)])
            }
            _ => errors::CONVERTING.with([&type_name(from), &type_name(to)]),
        }),
    }
}

fn text_overflow(text: &str, from: &SqlType, to: &SqlType) -> SqlError {
    let from = type_name(from);
    match to {
        SqlType::BigInt => errors::CONVERTING.with([&from, "bigint"]),
        SqlType::Int => SqlError::new(
            248,
            16,
            1,
            format!("The conversion of the {from} value '{text}' overflowed an int column."),
        ),
        _ => {
            let width = if *to == SqlType::TinyInt { "INT1" } else { "INT2" };
            SqlError::new(
                244,
                16,
                1,
                format!(
                    "The conversion of the {from} value '{text}' overflowed an {width} column. Use a larger integer column."
                ),
            )
        }
    }
}

/// Digits with an optional sign, nothing else (`4.0` is refused, as in SQL Server).
fn whole(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Numbers of one word are read much faster.
    let magnitude = match digits.len() {
        0..=18 => digits.parse::<i64>().map_or(i128::MAX, i128::from),
        _ => digits.parse::<i128>().unwrap_or(i128::MAX),
    };
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of one word are divided in another way than longer ones.
    #[test]
    fn points_move_alike_in_short_and_long_numbers() {
        for units in (-3000..3000).chain([i64::MAX, i64::MIN, 4_999_999_995, -4_999_999_995].map(i128::from))
        {
            for (from, to) in [(4, 2), (4, 4), (2, 4), (1, 0), (3, 0), (19, 1)] {
                let long = units * 10_i128.pow(15);
                assert_eq!(rescale(units, from, to), rescale(long, from + 15, to), "{units} {from} {to}");
            }
        }
        assert_eq!(rescale(i128::MAX, 0, 1), None);
        assert_eq!(
            [decimal_text(-5, 2), decimal_text(12, 0), decimal_text(-1200, 2)],
            ["-0.05", "12", "-12.00"]
        );
    }
}
