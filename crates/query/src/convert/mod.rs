//! Conversions between the types of T-SQL: CAST, CONVERT and the implicit ones.
//!
//! The rules and error numbers are those of the T-SQL reference, "CAST and CONVERT". Character targets are cut to
//! their length here, as CAST does; columns refuse what is too long before they convert (error 2628).

mod base64;
mod bytes;
mod code_page;
mod format;
mod length;
mod number;
mod temporal;
mod text;
mod type_names;
mod variant;
mod variant_value;
mod vector;
mod xml;

use tds::{CodePage, Length, SqlType};

pub(crate) use xml::escaped;

pub use base64::{base64, of_base64};
pub use code_page::{code_page_bytes, in_code_page};
pub use format::Parts;
pub use format::display;
pub use length::{cut_text, length_limit, pad_text, text_length};
pub(crate) use length::{cut_whole, half_of_pair, text_of_units};
pub use number::rescale;
pub use temporal::place;
pub use type_names::{refused, type_name};
pub use variant::base_of;
pub use variant_value::variant_value;
pub use vector::{check_vector, vector_error};

use super::clr::ClrType;
use super::datum::Datum;
use super::types;
use tsql::SqlError;

/// Converts one value among those of the server's own collation.
///
/// Errors: those of [`convert_in`].
pub fn convert(value: Datum, from: &SqlType, to: &SqlType, style: i32) -> Result<Datum, SqlError> {
    convert_in(value, from, to, style, CodePage::Cp1252)
}

/// Converts a text to a number, date or time; None for another target. Errors: those of [`convert_in`].
pub(crate) fn of_text(
    text: &str,
    from: &SqlType,
    to: &SqlType,
    style: i32,
) -> Option<Result<Datum, SqlError>> {
    match to {
        to if types::is_numeric(to) => Some(number::from_text(text, from, to)),
        to if to.is_temporal() => Some(temporal::from_text(text, from, to, style)),
        _ => None,
    }
}

/// Checks the text of an xml value that came as xml, and returns its normal form with all white space. Errors: 9400 and its siblings.
pub fn checked_xml(text: &str) -> Result<String, SqlError> {
    xml::checked(text, None, true)
}

/// Returns the text of a json value in its normal form. Errors: 13609.
pub fn checked_json(text: &str) -> Result<String, SqlError> {
    super::json::normal(text)
}

/// Converts one value. `page` is the code page of texts that are not Unicode, on either side; `style` is CONVERT's third argument, 0 if it has none.
///
/// Errors: 245 and its siblings for text, 220/8115 for overflow, 241/242 for dates, 529 for pairs without a conversion.
pub fn convert_in(
    value: Datum,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    page: CodePage,
) -> Result<Datum, SqlError> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    if *from == SqlType::SqlVariant
        && *to != SqlType::SqlVariant
        && let Datum::Binary(body) = &value
    {
        let (value, base) = variant::base_of(body)?;
        // Out of a variant every date and time is written as a datetime is.
        let style = if style == 0 && types::is_moment(&base) && to.is_character() { 100 } else { style };
        return convert_in(value, &base, to, style, page);
    }
    match (from, to, &value) {
        (_, SqlType::Vector { .. }, _) => return vector::to_vector(value, from, to),
        (SqlType::Vector { .. }, _, Datum::Binary(bytes)) => {
            let text = Datum::Text(vector::text_of(bytes, from, to)?);
            return text::to_text(text, &SqlType::NVarChar { length: Length::Max }, to, style, page);
        }
        _ => {}
    }
    if to.is_character()
        && let (Some(clr), Datum::Binary(bytes)) = (ClrType::of(from), &value)
    {
        let text = Datum::Text(clr.text(bytes)?);
        return text::to_text(text, &SqlType::NVarChar { length: Length::Max }, to, style, page);
    }
    match to {
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Real
        | SqlType::Float
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::Decimal { .. }
        | SqlType::Numeric { .. } => number::to_number(value, from, to),
        SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => temporal::to_temporal(value, from, to, style),
        SqlType::UniqueIdentifier => match value {
            Datum::Guid(_) => Ok(value),
            Datum::Text(text) => {
                // Characters behind the 36th are ignored, as in SQL Server.
                let head = text.trim_start().get(..if text.trim_start().starts_with('{') { 38 } else { 36 });
                rows::text::guid::guid(head.unwrap_or(&text)).map(Datum::Guid).map_err(|_| {
                    SqlError::new(
                        8169,
                        16,
                        2,
                        "Conversion failed when converting from a character string to uniqueidentifier.",
                    )
                })
            }
            Datum::Binary(bytes) => {
                let mut guid = [0_u8; 16];
                for (to, from) in guid.iter_mut().zip(&bytes) {
                    *to = *from;
                }
                Ok(Datum::Guid(rows::text::guid::swap_order(guid)))
            }
            _ => Err(refused(from, to)),
        },
        SqlType::RowVersion => match value {
            Datum::RowVersion(_) => Ok(value),
            Datum::Int(value) => Ok(Datum::RowVersion(value as u64)),
            Datum::Binary(bytes) => {
                Ok(Datum::RowVersion(bytes.iter().take(8).fold(0, |v, b| v << 8 | u64::from(*b))))
            }
            _ => Err(refused(from, to)),
        },
        SqlType::SqlVariant => match from {
            SqlType::SqlVariant => Ok(value),
            _ => variant::to_variant(value, from),
        },
        SqlType::Udt { .. } | SqlType::Image => match (value, ClrType::of(to)) {
            (Datum::Binary(bytes), Some(clr)) => clr.checked(bytes).map(Datum::Binary),
            (value @ Datum::Binary(_), _) => Ok(value),
            (Datum::Text(text), Some(clr)) => clr.parse(&text).map(Datum::Binary),
            (value, _) => text::to_binary(value, from, to, style, page),
        },
        SqlType::Xml if *from != SqlType::Xml => {
            // 1: white space is kept; 3: that and DTDs.
            let keeps_space = style & 1 != 0;
            match value {
                Datum::Binary(bytes) => xml::of_bytes(&bytes, keeps_space).map(Datum::Text),
                Datum::Text(text) if from.is_character() => {
                    xml::checked(&text, Some(from.is_unicode()), keeps_space).map(Datum::Text)
                }
                _ => Err(refused(from, to)),
            }
        }
        SqlType::Json if *from != SqlType::Json => match value {
            Datum::Text(text) if from.is_character() => super::json::normal(&text).map(Datum::Text),
            _ => Err(refused(from, to)),
        },
        other if other.is_binary() => text::to_binary(value, from, to, style, page),
        _ => text::to_text(value, from, to, style, page),
    }
}
