//! Values of small results as Python objects.

use chrono::{FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tds::Value;

use crate::failure;

/// Converts a value to `None`, `bool`, `int`, `float`, `Decimal`, `date`, `time`, `datetime` (aware for
/// `datetimeoffset`), `str`, `bytes`, `UUID`, or a list of `float` for `vector`. Python's times end at microseconds: a
/// seventh digit other than 0 is refused.
pub(crate) fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bit(value) => value.into_bound_py_any(py),
        Value::TinyInt(value) => value.into_bound_py_any(py),
        Value::SmallInt(value) => value.into_bound_py_any(py),
        Value::Int(value) => value.into_bound_py_any(py),
        Value::BigInt(value) => value.into_bound_py_any(py),
        Value::Real(value) => value.into_bound_py_any(py),
        Value::Float(value) => value.into_bound_py_any(py),
        Value::SmallMoney(_) | Value::Money(_) | Value::Decimal { .. } => {
            py.import("decimal")?.getattr("Decimal")?.call1((decimal_text(value),))
        }
        Value::Date(days) => date(py, *days)?.into_bound_py_any(py),
        Value::Time { ticks, scale } => time(py, *ticks, *scale)?.into_bound_py_any(py),
        Value::DateTime2 { days, ticks, scale } => {
            date(py, *days)?.and_time(time(py, *ticks, *scale)?).into_bound_py_any(py)
        }
        Value::DateTimeOffset { days, ticks, scale, offset_minutes } => {
            let utc = date(py, *days)?.and_time(time(py, *ticks, *scale)?);
            let offset = FixedOffset::east_opt(i32::from(*offset_minutes) * 60);
            let offset = offset.ok_or_else(|| unfit(py, value))?;
            offset.from_utc_datetime(&utc).into_bound_py_any(py)
        }
        Value::DateTime { days, ticks } => {
            // 1/300 s are shown as the nearest millisecond.
            let millis = (u64::from(*ticks) * 10 + 1) / 3;
            since_1900(py, value, i64::from(*days), TimeDelta::milliseconds(millis.cast_signed()))
        }
        Value::SmallDateTime { days, minutes } => {
            since_1900(py, value, i64::from(*days), TimeDelta::minutes(i64::from(*minutes)))
        }
        Value::String(text) => text.into_bound_py_any(py),
        Value::Binary(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::Guid(bytes) => {
            let arguments = PyDict::new(py);
            arguments.set_item("bytes_le", PyBytes::new(py, bytes))?;
            py.import("uuid")?.getattr("UUID")?.call((), Some(&arguments))
        }
        Value::Vector(vector) => vector.elements().into_bound_py_any(py),
        Value::Variant(variant) => from_value(py, &variant.value),
    }
}

/// Formats money with all four digits; `CONVERT` shows two.
fn decimal_text(value: &Value) -> String {
    let money = |units: i64| {
        let sign = if units < 0 { "-" } else { "" };
        format!("{sign}{}.{:04}", units.unsigned_abs() / 10_000, units.unsigned_abs() % 10_000)
    };
    match value {
        Value::SmallMoney(units) => money(i64::from(*units)),
        Value::Money(units) => money(*units),
        other => other.to_string(),
    }
}

/// Makes a date from days since 0001-01-01.
fn date(py: Python<'_>, days: i32) -> PyResult<NaiveDate> {
    let date = days.checked_add(1).and_then(NaiveDate::from_num_days_from_ce_opt);
    date.ok_or_else(|| unfit(py, &Value::Date(days)))
}

fn time(py: Python<'_>, ticks: u64, scale: u8) -> PyResult<NaiveTime> {
    let value = Value::Time { ticks, scale };
    let nanos = ticks.checked_mul(10_u64.pow(u32::from(9_u8.saturating_sub(scale))));
    let nanos = nanos.ok_or_else(|| unfit(py, &value))?;
    if nanos % 1000 != 0 {
        let text = format!(
            "{value} has more digits than Python's microseconds; read it with read(), or CAST it to a scale of 6"
        );
        return Err(failure::usage(py, text));
    }
    let seconds = u32::try_from(nanos / 1_000_000_000).unwrap_or(u32::MAX);
    let rest = u32::try_from(nanos % 1_000_000_000).unwrap_or(u32::MAX);
    NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest).ok_or_else(|| unfit(py, &value))
}

fn since_1900<'py>(
    py: Python<'py>,
    value: &Value,
    days: i64,
    time: TimeDelta,
) -> PyResult<Bound<'py, PyAny>> {
    let start = NaiveDate::from_ymd_opt(1900, 1, 1).map(|date| date.and_time(NaiveTime::MIN));
    let sum = TimeDelta::try_days(days).and_then(|days| days.checked_add(&time));
    let moment: Option<NaiveDateTime> = start.zip(sum).and_then(|(start, sum)| start.checked_add_signed(sum));
    moment.ok_or_else(|| unfit(py, value))?.into_bound_py_any(py)
}

fn unfit(py: Python<'_>, value: &Value) -> PyErr {
    failure::named(py, "ProtocolError", format!("the server sent {value:?}, which is outside of its type"))
}
