//! Values as FOR JSON and FOR XML spell them.

use tds::{Length, SqlType};

use super::super::Datum;
use super::super::convert::convert;
use tsql::SqlError;

/// The text of a value that is not NULL: dates by ISO 8601, approximate numbers with an exponent, bytes in base 64.
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

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |group, (at, byte)| group | u32::from(*byte) << (16 - 8 * at));
        for digit in 0..4 {
            if digit <= chunk.len() {
                let index = (group >> (18 - 6 * digit)) & 63;
                text.push(DIGITS.get(index as usize).map_or('=', |digit| char::from(*digit)));
            } else {
                text.push('=');
            }
        }
    }
    text
}
