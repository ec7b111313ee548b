//! Values of variables: a type, and the text that everything but statements sees.

use std::fmt;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use tds::{Length, SqlType, Value};

use crate::model::{Kind, Plain};

/// Digits that `decimal` has at most.
const DECIMAL_DIGITS: usize = 38;
/// UTF-16 units of `nvarchar` without `max`.
const NVARCHAR_UNITS: u16 = 4000;
/// Ticks of `datetime2(7)` a second.
const TICKS: u64 = 10_000_000;

/// A value of a variable. None is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The type of the value.
    pub kind: Kind,
    /// The text of the value, in the one form that its type has.
    pub text: Option<String>,
}

/// A text that is no value of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {kind}")]
pub struct NoValue {
    text: String,
    kind: Kind,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Decimal => "decimal",
            Self::Boolean => "boolean",
            Self::Date => "date (2026-11-23)",
            Self::Datetime => "datetime (2026-11-23T08:15:00)",
        })
    }
}

impl Scalar {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: Kind::Text, text: Some(text.into()) }
    }

    /// Makes a whole number.
    pub fn integer(value: i64) -> Self {
        Self { kind: Kind::Integer, text: Some(value.to_string()) }
    }

    /// Makes NULL of a type.
    pub fn null(kind: Kind) -> Self {
        Self { kind, text: None }
    }

    /// Makes a value as TOML writes it, in TOML's type.
    pub fn of_plain(plain: &Plain) -> Self {
        match plain {
            Plain::Boolean(value) => Self { kind: Kind::Boolean, text: Some(value.to_string()) },
            Plain::Integer(value) => Self::integer(*value),
            Plain::Number(value) => Self { kind: Kind::Number, text: Some(value.to_string()) },
            Plain::Text(text) => Self::text(text.clone()),
        }
    }

    /// Parses the value of a type from a text.
    ///
    /// # Errors
    /// The text spells none.
    pub fn parse(kind: Kind, text: &str) -> Result<Self, NoValue> {
        let wrong = || NoValue { text: text.to_owned(), kind };
        let trimmed = text.trim();
        let canonical = match kind {
            Kind::Text => text.to_owned(),
            Kind::Integer => trimmed.parse::<i64>().map_err(|_| wrong())?.to_string(),
            Kind::Number => {
                let number: f64 = trimmed.parse().map_err(|_| wrong())?;
                if !number.is_finite() {
                    return Err(wrong());
                }
                number.to_string()
            }
            Kind::Decimal => {
                decimal(trimmed).ok_or_else(wrong)?;
                trimmed.to_owned()
            }
            Kind::Boolean => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => "true".to_owned(),
                "false" | "0" | "no" | "off" => "false".to_owned(),
                _ => return Err(wrong()),
            },
            Kind::Date => date(trimmed).ok_or_else(wrong)?.format("%Y-%m-%d").to_string(),
            Kind::Datetime => datetime(trimmed).ok_or_else(wrong)?.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
        };
        Ok(Self { kind, text: Some(canonical) })
    }

    /// Returns the type and value as a parameter of a statement.
    pub fn parameter(&self) -> (SqlType, Value) {
        let Some(text) = &self.text else { return (null_type(self.kind), Value::Null) };
        let as_text = || {
            let fits = text.encode_utf16().count() <= usize::from(NVARCHAR_UNITS);
            let length = if fits { Length::Units(NVARCHAR_UNITS) } else { Length::Max };
            (SqlType::NVarChar { length }, Value::String(text.clone()))
        };
        match self.kind {
            Kind::Text => as_text(),
            Kind::Integer => match text.parse() {
                Ok(value) => (SqlType::BigInt, Value::BigInt(value)),
                Err(_) => as_text(),
            },
            Kind::Number => match text.parse() {
                Ok(value) => (SqlType::Float, Value::Float(value)),
                Err(_) => as_text(),
            },
            Kind::Boolean => (SqlType::Bit, Value::Bit(text == "true")),
            Kind::Decimal => match decimal(text) {
                Some((magnitude, negative, precision, scale)) => (
                    SqlType::Decimal { precision, scale },
                    Value::Decimal { magnitude, negative, precision, scale },
                ),
                None => as_text(),
            },
            Kind::Date => match date(text) {
                Some(date) => (SqlType::Date, Value::Date(days(date))),
                None => as_text(),
            },
            Kind::Datetime => match datetime(text) {
                Some(at) => {
                    let time = at.time();
                    let ticks = u64::from(time.num_seconds_from_midnight()) * TICKS
                        + u64::from(time.nanosecond() / 100).min(TICKS - 1);
                    let value = Value::DateTime2 { days: days(at.date()), ticks, scale: 7 };
                    (SqlType::DateTime2 { scale: 7 }, value)
                }
                None => as_text(),
            },
        }
    }

    /// Writes the value as a literal of T-SQL.
    pub fn literal(&self) -> String {
        let Some(text) = &self.text else { return "NULL".to_owned() };
        match self.kind {
            Kind::Integer | Kind::Number | Kind::Decimal => text.clone(),
            Kind::Boolean => if text == "true" { "1" } else { "0" }.to_owned(),
            Kind::Date | Kind::Datetime => format!("'{text}'"),
            Kind::Text => format!("N'{}'", text.replace('\'', "''")),
        }
    }
}

/// NULL is printed as nothing.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.as_deref().unwrap_or_default())
    }
}

fn null_type(kind: Kind) -> SqlType {
    match kind {
        Kind::Text => SqlType::NVarChar { length: Length::Units(NVARCHAR_UNITS) },
        Kind::Integer => SqlType::BigInt,
        Kind::Number => SqlType::Float,
        Kind::Decimal => SqlType::Decimal { precision: 38, scale: 10 },
        Kind::Boolean => SqlType::Bit,
        Kind::Date => SqlType::Date,
        Kind::Datetime => SqlType::DateTime2 { scale: 7 },
    }
}

/// Parses magnitude, sign, precision and scale.
fn decimal(text: &str) -> Option<(u128, bool, u8, u8)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let is_number = !all.is_empty() && all.len() <= DECIMAL_DIGITS && all.bytes().all(|b| b.is_ascii_digit());
    if !is_number {
        return None;
    }
    Some((all.parse().ok()?, negative, u8::try_from(all.len()).ok()?, u8::try_from(fraction.len()).ok()?))
}

fn date(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|date| (1..=9999).contains(&date.year()))
}

fn datetime(text: &str) -> Option<NaiveDateTime> {
    let parsed = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    parsed
        .or_else(|| Some(NaiveDateTime::new(date(text)?, NaiveTime::MIN)))
        .filter(|at| (1..=9999).contains(&at.year()))
}

/// Days since 0001-01-01.
fn days(date: NaiveDate) -> i32 {
    date.num_days_from_ce() - 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Scalar;
    use crate::model::Kind;
    use tds::{SqlType, Value};

    #[test]
    fn texts_become_values_of_their_type() {
        for (kind, text, expected) in [
            (Kind::Integer, " 5 ", (SqlType::BigInt, Value::BigInt(5))),
            (Kind::Boolean, "Yes", (SqlType::Bit, Value::Bit(true))),
            (Kind::Date, "0001-01-02", (SqlType::Date, Value::Date(1))),
            (
                Kind::Datetime,
                "2026-11-23 01:00:00.5",
                (
                    SqlType::DateTime2 { scale: 7 },
                    Value::DateTime2 { days: 739_942, ticks: 36_005_000_000, scale: 7 },
                ),
            ),
            (
                Kind::Decimal,
                "-1.50",
                (
                    SqlType::Decimal { precision: 3, scale: 2 },
                    Value::Decimal { magnitude: 150, negative: true, precision: 3, scale: 2 },
                ),
            ),
        ] {
            assert_eq!(Scalar::parse(kind, text).unwrap().parameter(), expected, "{text}");
        }
        for (kind, text) in [
            (Kind::Integer, "1.5"),
            (Kind::Date, "23.11.2026"),
            (Kind::Date, "10000-01-01"),
            (Kind::Decimal, "1e5"),
            (Kind::Number, "inf"),
            (Kind::Boolean, "maybe"),
        ] {
            assert!(Scalar::parse(kind, text).is_err(), "{text}");
        }
        assert_eq!(Scalar::text("it's").literal(), "N'it''s'");
    }
}
