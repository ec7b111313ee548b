//! Python values as parameters of a statement.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMapping, PySequence, PyString};
use tds::{Length, SqlType, Value, Vector, VectorBase};

use crate::failure;

/// A parameter: its name with `@`, its declared type, and its value.
pub(crate) type Parameter = (String, SqlType, Value);

/// Digits of the fraction that Python's times have.
const MICROSECOND_SCALE: u8 = 6;
/// UTF-16 units of `nvarchar` without `max`.
const NVARCHAR_UNITS_MAX: u16 = 4000;
const VARBINARY_BYTES_MAX: u16 = 8000;
const DECIMAL_DIGITS_MAX: usize = 38;

/// Converts parameters. A mapping names its parameters (`{"name": value}` is `@name`); a sequence makes `@p1`, `@p2`,
/// ….
pub(crate) fn from_python(params: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Parameter>> {
    let Some(params) = params else { return Ok(Vec::new()) };
    let py = params.py();
    if let Ok(mapping) = params.cast::<PyMapping>() {
        let items = mapping.items()?;
        return items
            .iter()
            .map(|item| {
                let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
                let name = if name.starts_with('@') { name } else { format!("@{name}") };
                parameter(name, &value)
            })
            .collect();
    }
    let is_text = params.is_instance_of::<PyString>() || params.is_instance_of::<PyBytes>();
    match params.cast::<PySequence>() {
        Ok(sequence) if !is_text => (0..sequence.len()?)
            .map(|index| parameter(format!("@p{}", index + 1), &sequence.get_item(index)?))
            .collect(),
        _ => Err(failure::usage(
            py,
            format!("params must be a mapping or a sequence of values, not {}", params.get_type().name()?),
        )),
    }
}

fn parameter(name: String, value: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let (sql_type, value) = typed(&name, value)?;
    Ok((name, sql_type, value))
}

fn typed(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(SqlType, Value)> {
    let nvarchar = |length| SqlType::NVarChar { length };
    if value.is_none() {
        return Ok((nvarchar(Length::Units(NVARCHAR_UNITS_MAX)), Value::Null));
    }
    // bool is an int to Python, and datetime is a date: the narrower ones first.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok((SqlType::Bit, Value::Bit(flag.is_true())));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(name, value);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok((SqlType::Float, Value::Float(value.extract()?)));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?.into_owned();
        let fits = text.encode_utf16().count() <= usize::from(NVARCHAR_UNITS_MAX);
        let length = if fits { Length::Units(NVARCHAR_UNITS_MAX) } else { Length::Max };
        return Ok((nvarchar(length), Value::String(text)));
    }
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        let bytes: Vec<u8> = value.extract()?;
        let fits = bytes.len() <= usize::from(VARBINARY_BYTES_MAX);
        let length = if fits { Length::Units(VARBINARY_BYTES_MAX) } else { Length::Max };
        return Ok((SqlType::VarBinary { length }, Value::Binary(bytes)));
    }
    match value.get_type().name()?.to_cow()?.as_ref() {
        "Decimal" => decimal(name, &value.str()?.to_cow()?, value),
        "UUID" => {
            let bytes: [u8; 16] = value.getattr("bytes_le")?.extract()?;
            Ok((SqlType::UniqueIdentifier, Value::Guid(bytes)))
        }
        "Null" if value.hasattr("sql_type")? => {
            let declared: String = value.getattr("sql_type")?.extract()?;
            let sql_type = declared.parse::<SqlType>().map_err(|error| {
                failure::usage(
                    value.py(),
                    format!("parameter {name}: \"{declared}\" is no SQL type: {error}"),
                )
            })?;
            Ok((sql_type, Value::Null))
        }
        _ if value.hasattr("tzinfo")? && value.hasattr("year")? => date_time(value),
        _ if value.hasattr("tzinfo")? => {
            let time: NaiveTime = value.extract()?;
            let ticks = micros(time);
            Ok((SqlType::Time { scale: MICROSECOND_SCALE }, Value::Time { ticks, scale: MICROSECOND_SCALE }))
        }
        _ if value.hasattr("toordinal")? => {
            let date: NaiveDate = value.extract()?;
            Ok((SqlType::Date, Value::Date(days(date))))
        }
        "list" | "tuple" | "ndarray" => vector(name, value),
        other => Err(failure::usage(
            value.py(),
            format!("parameter {name}: a value of Python type {other} has no SQL type; convert it first"),
        )),
    }
}

/// Numbers in a row, each rounded to the element's type: half precision for numpy's `float16`.
fn vector(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(SqlType, Value)> {
    let unfit = |why: String| failure::usage(value.py(), format!("parameter {name}: {why}"));
    let is_half = value.hasattr("dtype")? && value.getattr("dtype")?.str()?.to_cow()? == "float16";
    let base = if is_half { VectorBase::Float16 } else { VectorBase::Float32 };
    let elements: Vec<f64> = value.extract().map_err(|_| unfit("a vector is a row of numbers".to_owned()))?;
    let elements = elements.into_iter().map(|element| element as f32).collect();
    let vector = Vector::new(base, elements).map_err(|error| unfit(error.to_string()))?;
    Ok((SqlType::Vector { dimensions: vector.dimensions(), base }, Value::Vector(vector)))
}

fn integer(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(SqlType, Value)> {
    if let Ok(small) = value.extract::<i32>() {
        return Ok((SqlType::Int, Value::Int(small)));
    }
    if let Ok(big) = value.extract::<i64>() {
        return Ok((SqlType::BigInt, Value::BigInt(big)));
    }
    decimal(name, &value.str()?.to_cow()?, value)
}

/// Parses Python's own text of the number, which may have an exponent: `-1.20E+3`.
fn decimal(name: &str, text: &str, value: &Bound<'_, PyAny>) -> PyResult<(SqlType, Value)> {
    let unfit = |why: &str| failure::usage(value.py(), format!("parameter {name}: {text} {why}"));
    let (unsigned, negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let (number, exponent) = unsigned.split_once(['E', 'e']).unwrap_or((unsigned, "0"));
    let exponent: i64 = exponent.parse().map_err(|_| unfit("is not a number that SQL Server has"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = format!("{whole}{fraction}");
    let mut scale = i64::try_from(fraction.len()).unwrap_or(i64::MAX).saturating_sub(exponent);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(unfit("is not a number that SQL Server has"));
    }
    if scale < 0 {
        let zeros = usize::try_from(-scale).unwrap_or(usize::MAX).min(DECIMAL_DIGITS_MAX + 1);
        digits.push_str(&"0".repeat(zeros));
        scale = 0;
    }
    let significant = digits.trim_start_matches('0');
    let scale = u8::try_from(scale).ok().filter(|scale| usize::from(*scale) <= DECIMAL_DIGITS_MAX);
    let (Some(scale), true) = (scale, significant.len() <= DECIMAL_DIGITS_MAX) else {
        return Err(unfit("has more digits than the 38 of decimal"));
    };
    let magnitude = match significant {
        "" => 0,
        digits => digits.parse::<u128>().map_err(|_| unfit("is not a number that SQL Server has"))?,
    };
    let precision = u8::try_from(significant.len()).unwrap_or(u8::MAX).max(scale).max(1);
    Ok((SqlType::Decimal { precision, scale }, Value::Decimal { magnitude, negative, precision, scale }))
}

fn date_time(value: &Bound<'_, PyAny>) -> PyResult<(SqlType, Value)> {
    let scale = MICROSECOND_SCALE;
    let offset: Option<TimeDelta> = value.call_method0("utcoffset")?.extract()?;
    let naive = match offset {
        Some(_) => {
            let none = pyo3::types::PyDict::new(value.py());
            none.set_item("tzinfo", value.py().None())?;
            value.call_method("replace", (), Some(&none))?
        }
        None => value.clone(),
    };
    let local: NaiveDateTime = naive.extract()?;
    let Some(offset) = offset else {
        let value = Value::DateTime2 { days: days(local.date()), ticks: micros(local.time()), scale };
        return Ok((SqlType::DateTime2 { scale }, value));
    };
    let minutes = offset.num_minutes();
    let in_range = (-840..=840).contains(&minutes) && offset == TimeDelta::minutes(minutes);
    let utc = local.checked_sub_signed(offset).filter(|utc| (1..=9999).contains(&utc.year()));
    match (utc, i16::try_from(minutes)) {
        (Some(utc), Ok(offset_minutes)) if in_range => {
            let (days, ticks) = (days(utc.date()), micros(utc.time()));
            Ok((
                SqlType::DateTimeOffset { scale },
                Value::DateTimeOffset { days, ticks, scale, offset_minutes },
            ))
        }
        _ => Err(failure::usage(
            value.py(),
            format!(
                "{} is outside of datetimeoffset, whose offsets are whole minutes up to 14 hours",
                value.str()?
            ),
        )),
    }
}

/// Days since 0001-01-01.
fn days(date: NaiveDate) -> i32 {
    date.num_days_from_ce() - 1
}

fn micros(time: NaiveTime) -> u64 {
    u64::from(time.num_seconds_from_midnight()) * 1_000_000 + u64::from(time.nanosecond() / 1000)
}
