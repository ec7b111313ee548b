//! Values as FOR JSON and FOR XML spell them.

use tds::{Length, SqlType};

use super::super::Datum;
use super::super::convert::{base64, convert};
use tsql::SqlError;

/// Formats a value that is not NULL: dates by ISO 8601, approximate numbers with an exponent, bytes in base 64.
pub(super) fn scalar_text(value: Datum, sql_type: &SqlType) -> Result<String, SqlError> {
    let style = match sql_type {
        SqlType::Real => 1,
        SqlType::Float | SqlType::Money | SqlType::SmallMoney => 2,
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => 126,
        _ => 0,
    };
    let text = SqlType::NVarChar { length: Length::Max };
    match value {
        Datum::Text(text) => Ok(text),
        Datum::Binary(bytes) if !matches!(sql_type, SqlType::SqlVariant | SqlType::Vector { .. }) => {
            Ok(base64(&bytes))
        }
        Datum::RowVersion(version) => Ok(base64(&version.to_be_bytes())),
        other => match convert(other, sql_type, &text, style)? {
            Datum::Text(text) => Ok(text),
            _ => Ok(String::new()),
        },
    }
}
