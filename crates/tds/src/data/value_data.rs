//! The bytes of a value after its length: one encoding per type (MS-TDS 2.2.5.5).

use std::borrow::Cow;

use crate::codec::{DecodeError, decode_utf16};
use crate::collation::Collation;
use crate::sql_type::{SqlType, decimal_len_bytes, time_len_bytes};
use crate::value::Value;
use crate::vector::{self, Vector};

/// Days of 9999-12-31 since 0001-01-01.
pub(crate) const DAYS_MAX: i32 = 3_652_058;
/// Days of 1753-01-01 and 9999-12-31 since 1900-01-01.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
/// 1/300 s of a day.
const DATETIME_TICKS_PER_DAY: u32 = 25_920_000;
const MINUTES_PER_DAY: u16 = 1440;
const SECONDS_PER_DAY: u64 = 86_400;
/// Largest distance from UTC.
const OFFSET_MINUTES_MAX: i16 = 840;

/// Decodes the data of a value that is not NULL. `offset` is where the data stands, for errors.
pub(crate) fn decode_data(
    sql_type: &SqlType,
    collation: Option<Collation>,
    data: &[u8],
    offset: usize,
) -> Result<Value, DecodeError> {
    let fail = |what: Cow<'static, str>| DecodeError::invalid("value", offset, what);
    let value = match sql_type {
        SqlType::Bit => exact(data).map(|[byte]: [u8; 1]| Value::Bit(byte != 0)),
        SqlType::TinyInt => exact(data).map(|[byte]: [u8; 1]| Value::TinyInt(byte)),
        SqlType::SmallInt => exact(data).map(i16::from_le_bytes).map(Value::SmallInt),
        SqlType::Int => exact(data).map(i32::from_le_bytes).map(Value::Int),
        SqlType::BigInt => exact(data).map(i64::from_le_bytes).map(Value::BigInt),
        SqlType::Real => exact(data).map(f32::from_le_bytes).map(Value::Real),
        SqlType::Float => exact(data).map(f64::from_le_bytes).map(Value::Float),
        SqlType::SmallMoney => exact(data).map(i32::from_le_bytes).map(Value::SmallMoney),
        SqlType::Money => exact(data).map(|[a, b, c, d, e, f, g, h]: [u8; 8]| {
            // The high half comes first.
            Value::Money(i64::from_le_bytes([e, f, g, h, a, b, c, d]))
        }),
        SqlType::UniqueIdentifier => exact(data).map(Value::Guid),
        SqlType::DateTime => match exact(data) {
            Some([a, b, c, d, e, f, g, h]) => {
                let days = i32::from_le_bytes([a, b, c, d]);
                let ticks = u32::from_le_bytes([e, f, g, h]);
                if !DATETIME_DAYS.contains(&days) || ticks >= DATETIME_TICKS_PER_DAY {
                    return Err(fail(format!("datetime of {days} days and {ticks} ticks").into()));
                }
                Some(Value::DateTime { days, ticks })
            }
            None => None,
        },
        SqlType::SmallDateTime => match exact(data) {
            Some([a, b, c, d]) => {
                let (days, minutes) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                if minutes >= MINUTES_PER_DAY {
                    return Err(fail(format!("smalldatetime of {minutes} minutes").into()));
                }
                Some(Value::SmallDateTime { days, minutes })
            }
            None => None,
        },
        SqlType::Date => exact(data).map(decode_days).transpose().map_err(fail)?.map(Value::Date),
        SqlType::Time { scale } => match split_time(data, *scale) {
            Some((time, [])) => {
                Some(Value::Time { ticks: decode_ticks(time, *scale).map_err(fail)?, scale: *scale })
            }
            _ => None,
        },
        SqlType::DateTime2 { scale } => match split_time(data, *scale) {
            Some((time, [a, b, c])) => Some(Value::DateTime2 {
                days: decode_days([*a, *b, *c]).map_err(fail)?,
                ticks: decode_ticks(time, *scale).map_err(fail)?,
                scale: *scale,
            }),
            _ => None,
        },
        SqlType::DateTimeOffset { scale } => match split_time(data, *scale) {
            Some((time, [a, b, c, d, e])) => {
                let offset_minutes = i16::from_le_bytes([*d, *e]);
                if !(-OFFSET_MINUTES_MAX..=OFFSET_MINUTES_MAX).contains(&offset_minutes) {
                    return Err(fail(format!("offset of {offset_minutes} minutes").into()));
                }
                Some(Value::DateTimeOffset {
                    days: decode_days([*a, *b, *c]).map_err(fail)?,
                    ticks: decode_ticks(time, *scale).map_err(fail)?,
                    scale: *scale,
                    offset_minutes,
                })
            }
            _ => None,
        },
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            decode_decimal(data, *precision, *scale).map_err(fail)?
        }
        SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text => {
            let text = collation.unwrap_or_default().code_page().decode(data);
            Some(Value::String(text.map_err(|error| fail(error.to_string().into()))?.into_owned()))
        }
        SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText => {
            let text = decode_utf16(data).ok_or_else(|| fail(NOT_UTF16.into()))?;
            Some(Value::String(text))
        }
        SqlType::Xml => {
            let text = data.strip_prefix(&[0xFF, 0xFE]).unwrap_or(data);
            let text = decode_utf16(text).ok_or_else(|| fail(NOT_UTF16.into()))?;
            Some(Value::String(text))
        }
        SqlType::Json => {
            let text = std::str::from_utf8(data).map_err(|error| fail(error.to_string().into()))?;
            Some(Value::String(text.to_owned()))
        }
        SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Image
        | SqlType::RowVersion
        | SqlType::Udt { .. } => Some(Value::Binary(data.to_vec())),
        SqlType::Vector { dimensions, base } => vector::check_type(data, *base, *dimensions)
            .and_then(|_| Vector::from_bytes(data))
            .map(|vector| Some(Value::Vector(vector)))
            .map_err(|error| fail(error.to_string().into()))?,
        SqlType::SqlVariant => None,
    };
    value.ok_or_else(|| fail(format!("{} bytes are no {sql_type}", data.len()).into()))
}

/// Encodes the data of a value that is not NULL. The error says why it is no value of `sql_type`.
pub(crate) fn encode_data<'a>(
    value: &'a Value,
    sql_type: &SqlType,
    collation: Option<Collation>,
) -> Result<Cow<'a, [u8]>, String> {
    let bytes: Vec<u8> = match (sql_type, value) {
        (SqlType::Bit, Value::Bit(bit)) => vec![u8::from(*bit)],
        (SqlType::TinyInt, Value::TinyInt(int)) => vec![*int],
        (SqlType::SmallInt, Value::SmallInt(int)) => int.to_le_bytes().into(),
        (SqlType::Int, Value::Int(int)) => int.to_le_bytes().into(),
        (SqlType::BigInt, Value::BigInt(int)) => int.to_le_bytes().into(),
        (SqlType::Real, Value::Real(float)) => float.to_le_bytes().into(),
        (SqlType::Float, Value::Float(float)) => float.to_le_bytes().into(),
        (SqlType::SmallMoney, Value::SmallMoney(units)) => units.to_le_bytes().into(),
        (SqlType::Money, Value::Money(units)) => {
            let [a, b, c, d, e, f, g, h] = units.to_le_bytes();
            vec![e, f, g, h, a, b, c, d]
        }
        (SqlType::UniqueIdentifier, Value::Guid(guid)) => return Ok(Cow::Borrowed(guid)),
        (SqlType::DateTime, Value::DateTime { days, ticks })
            if DATETIME_DAYS.contains(days) && *ticks < DATETIME_TICKS_PER_DAY =>
        {
            [days.to_le_bytes(), ticks.to_le_bytes()].concat()
        }
        (SqlType::SmallDateTime, Value::SmallDateTime { days, minutes }) if *minutes < MINUTES_PER_DAY => {
            [days.to_le_bytes(), minutes.to_le_bytes()].concat()
        }
        (SqlType::Date, Value::Date(days)) => encode_days(*days)?.into(),
        (SqlType::Time { scale }, Value::Time { ticks, scale: given }) if scale == given => {
            encode_ticks(*ticks, *scale)?
        }
        (SqlType::DateTime2 { scale }, Value::DateTime2 { days, ticks, scale: given }) if scale == given => {
            let mut bytes = encode_ticks(*ticks, *scale)?;
            bytes.extend(encode_days(*days)?);
            bytes
        }
        (
            SqlType::DateTimeOffset { scale },
            Value::DateTimeOffset { days, ticks, scale: given, offset_minutes },
        ) if scale == given && (-OFFSET_MINUTES_MAX..=OFFSET_MINUTES_MAX).contains(offset_minutes) => {
            let mut bytes = encode_ticks(*ticks, *scale)?;
            bytes.extend(encode_days(*days)?);
            bytes.extend(offset_minutes.to_le_bytes());
            bytes
        }
        (
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            Value::Decimal { magnitude, negative, scale: given, .. },
        ) if scale == given && *magnitude < power_of_ten(*precision) => {
            let mut bytes = vec![u8::from(!negative)];
            bytes.extend(magnitude.to_le_bytes());
            bytes.truncate(usize::from(decimal_len_bytes(*precision)));
            bytes
        }
        (SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text, Value::String(text)) => {
            let code_page = collation.unwrap_or_default().code_page();
            return code_page.encode(text).map_err(|error| error.to_string());
        }
        (
            SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText | SqlType::Xml,
            Value::String(text),
        ) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        (SqlType::Json, Value::String(text)) => return Ok(Cow::Borrowed(text.as_bytes())),
        (
            SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Image
            | SqlType::RowVersion
            | SqlType::Udt { .. },
            Value::Binary(bytes),
        ) => return Ok(Cow::Borrowed(bytes)),
        (SqlType::Vector { dimensions, base }, Value::Vector(vector))
            if vector.dimensions() == *dimensions && vector.base() == *base =>
        {
            vector.to_bytes()
        }
        (sql_type, value) => return Err(format!("{value} is no {sql_type}")),
    };
    Ok(Cow::Owned(bytes))
}

const NOT_UTF16: &str = "text is not UTF-16: odd length or an unpaired surrogate";

fn exact<const N: usize>(data: &[u8]) -> Option<[u8; N]> {
    data.try_into().ok()
}

/// Splits the time of day off the head of the data.
fn split_time(data: &[u8], scale: u8) -> Option<(&[u8], &[u8])> {
    data.split_at_checked(usize::from(time_len_bytes(scale)))
}

fn decode_days([a, b, c]: [u8; 3]) -> Result<i32, Cow<'static, str>> {
    match i32::from_le_bytes([a, b, c, 0]) {
        days if days <= DAYS_MAX => Ok(days),
        days => Err(format!("date {days} days after 0001-01-01").into()),
    }
}

fn encode_days(days: i32) -> Result<[u8; 3], String> {
    match days {
        0..=DAYS_MAX => {
            let [a, b, c, _] = days.to_le_bytes();
            Ok([a, b, c])
        }
        _ => Err(format!("{days} days after 0001-01-01 is no date")),
    }
}

/// Returns the units of 10^-scale s in a day.
pub(crate) fn ticks_per_day(scale: u8) -> u64 {
    SECONDS_PER_DAY * 10_u64.pow(u32::from(scale.min(7)))
}

fn decode_ticks(time: &[u8], scale: u8) -> Result<u64, Cow<'static, str>> {
    let ticks = time.iter().rev().fold(0, |ticks: u64, byte| ticks << 8 | u64::from(*byte));
    match ticks < ticks_per_day(scale) {
        true => Ok(ticks),
        false => Err(format!("{ticks} units of 10^-{scale} s are no time of day").into()),
    }
}

fn encode_ticks(ticks: u64, scale: u8) -> Result<Vec<u8>, String> {
    if ticks >= ticks_per_day(scale) {
        return Err(format!("{ticks} units of 10^-{scale} s are no time of day"));
    }
    let mut bytes = ticks.to_le_bytes().to_vec();
    bytes.truncate(usize::from(time_len_bytes(scale)));
    Ok(bytes)
}

/// Returns 10^precision, for precisions up to 38.
pub(crate) fn power_of_ten(precision: u8) -> u128 {
    10_u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX)
}

/// Decodes a sign byte and 1 to 16 bytes of magnitude.
fn decode_decimal(data: &[u8], precision: u8, scale: u8) -> Result<Option<Value>, Cow<'static, str>> {
    let [sign, digits @ ..] = data else { return Ok(None) };
    if digits.is_empty() || digits.len() > 16 {
        return Ok(None);
    }
    let magnitude = digits.iter().rev().fold(0, |value: u128, byte| value << 8 | u128::from(*byte));
    if magnitude >= power_of_ten(precision) {
        return Err(format!("{magnitude} has more than {precision} digits").into());
    }
    Ok(Some(Value::Decimal { magnitude, negative: *sign == 0, precision, scale }))
}
