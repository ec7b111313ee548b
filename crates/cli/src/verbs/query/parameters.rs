//! `--param NAME[:TYPE][=VALUE]` of `bulkwire query`.

use rows::text::{ParseOptions, TextError, binary, bit, datetime, guid, money, number};
use tds::{Length, SqlType, Value};

use crate::failure::Failure;

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryParameter {
    /// The name of the parameter, with `@`.
    pub name: String,
    /// The declared type of the parameter.
    pub sql_type: SqlType,
    /// The value of the parameter.
    pub value: Value,
}

/// UTF-16 units of `nvarchar` without `max`.
const NVARCHAR_UNITS_MAX: u16 = 4000;

/// Reads `name=value` (nvarchar), `name:type=value`, and `name:type`, which is NULL.
pub fn parameter(text: &str) -> Result<QueryParameter, Failure> {
    let (declared, value) = match text.split_once('=') {
        Some((declared, value)) => (declared, Some(value)),
        None => (text, None),
    };
    let (name, type_name) = match declared.split_once(':') {
        Some((name, type_name)) => (name.trim(), Some(type_name.trim())),
        None => (declared.trim(), None),
    };
    let bare = name.strip_prefix('@').unwrap_or(name);
    let is_name =
        !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$'));
    if !is_name || (value.is_none() && type_name.is_none()) {
        return Err(Failure::Usage(format!(
            "--param {text}: NAME=VALUE, NAME:TYPE=VALUE or NAME:TYPE is expected"
        )));
    }
    let name = format!("@{bare}");
    let sql_type = match type_name {
        Some(declared) => declared.parse::<SqlType>().map_err(|error| {
            Failure::Usage(format!("--param {name}: {declared:?} is no SQL type: {error}"))
        })?,
        None => {
            let units = value.unwrap_or_default().encode_utf16().count();
            let fits = units <= usize::from(NVARCHAR_UNITS_MAX);
            SqlType::NVarChar { length: if fits { Length::Units(NVARCHAR_UNITS_MAX) } else { Length::Max } }
        }
    };
    let value = match value {
        None => Value::Null,
        Some(text) => typed(text, &sql_type)
            .map_err(|error| Failure::Usage(format!("--param {name}: {text:?} as {sql_type}: {error}")))?
            .ok_or_else(|| Failure::Usage(format!("--param {name}: {sql_type} has no form of text here")))?,
    };
    Ok(QueryParameter { name, sql_type, value })
}

/// Parses the value of a type from a text; `None` for types that cannot be parameters of text.
fn typed(text: &str, sql_type: &SqlType) -> Result<Option<Value>, TextError> {
    let options = ParseOptions::default();
    Ok(Some(match *sql_type {
        SqlType::Bit => Value::Bit(bit::bit(text)?),
        SqlType::TinyInt => Value::TinyInt(number::tinyint(text)?),
        SqlType::SmallInt => Value::SmallInt(number::smallint(text)?),
        SqlType::Int => Value::Int(number::int(text)?),
        SqlType::BigInt => Value::BigInt(number::bigint(text)?),
        SqlType::Real => Value::Real(number::real(text)?),
        SqlType::Float => Value::Float(number::float(text)?),
        SqlType::Money => Value::Money(money::money(text, &options)?),
        SqlType::SmallMoney => Value::SmallMoney(money::smallmoney(text, &options)?),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let value = number::decimal(text, precision, scale, &options)?;
            Value::Decimal { magnitude: value.unsigned_abs(), negative: value < 0, precision, scale }
        }
        SqlType::Date => Value::Date(datetime::date(text, &options)?),
        SqlType::Time { scale } => Value::Time { ticks: datetime::time(text, scale, &options)?, scale },
        SqlType::DateTime2 { scale } => {
            let (days, ticks) = datetime::datetime2(text, scale, &options)?;
            Value::DateTime2 { days, ticks, scale }
        }
        SqlType::DateTimeOffset { scale } => {
            let (days, ticks, offset_minutes) = datetime::datetimeoffset(text, scale, &options)?;
            Value::DateTimeOffset { days, ticks, scale, offset_minutes }
        }
        SqlType::DateTime => {
            let (days, ticks) = datetime::datetime(text, &options)?;
            Value::DateTime { days, ticks }
        }
        SqlType::SmallDateTime => {
            let (days, minutes) = datetime::smalldatetime(text, &options)?;
            Value::SmallDateTime { days, minutes }
        }
        SqlType::UniqueIdentifier => Value::Guid(guid::swap_order(guid::guid(text)?)),
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image => {
            Value::Binary(binary::binary(text)?)
        }
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Text
        | SqlType::NText
        | SqlType::Xml
        | SqlType::Json => Value::String(text.to_owned()),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_types_and_values() {
        let shown = |text: &str| match parameter(text) {
            Ok(QueryParameter { name, sql_type, value }) => format!("{name} {sql_type} {value:?}"),
            Err(error) => error.to_string(),
        };
        for (text, expected) in [
            ("a=x=y", "@a nvarchar(4000) String(\"x=y\")"),
            ("@a:int= 5", "@a int Int(5)"),
            ("a:int", "@a int Null"),
            (
                "a:decimal(5,2)=1.5",
                "@a decimal(5, 2) Decimal { magnitude: 150, negative: false, precision: 5, scale: 2 }",
            ),
            ("a:date=0001-01-02", "@a date Date(1)"),
            ("a:int=x", "--param @a: \"x\" as int: not a whole number"),
            ("a", "--param a: NAME=VALUE, NAME:TYPE=VALUE or NAME:TYPE is expected"),
            ("a b=1", "--param a b=1: NAME=VALUE, NAME:TYPE=VALUE or NAME:TYPE is expected"),
            ("a:sql_variant=1", "--param @a: sql_variant has no form of text here"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
