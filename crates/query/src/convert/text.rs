//! To the character and binary types.

use tds::{CodePage, SqlType};

use super::super::datum::Datum;
use super::bytes::bytes_of;
use super::code_page::{code_page_bytes, from_code_page, in_code_page};
use super::{
    cut_text, cut_whole, format, length_limit, pad_text, refused, text_length, text_of_units, type_name,
};
use tsql::SqlError;
use tsql::errors;

/// Converts a value that is not NULL.
pub(super) fn to_text(
    value: Datum,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    page: CodePage,
) -> Result<Datum, SqlError> {
    let text = match value {
        Datum::Text(text) => text,
        Datum::Binary(bytes) if style == 0 => {
            if to.is_unicode() {
                let units: Vec<u16> = bytes
                    .chunks(2)
                    .map(|pair| u16::from_le_bytes([pair[0], *pair.get(1).unwrap_or(&0)]))
                    .collect();
                text_of_units(&units)?
            } else {
                from_code_page(&bytes, page)
            }
        }
        other => {
            let text = format::format(&other, from, style).ok_or_else(|| refused(from, to))?;
            match length_limit(to) {
                Some(limit) if text_length(&text, to) > limit => too_narrow(&text, from, to, limit)?,
                _ => text,
            }
        }
    };
    let text = match is_paged(to) {
        true => in_code_page(&text, page).unwrap_or(text),
        false => text,
    };
    if let Some(limit) = length_limit(to).filter(|_| is_paged(to) && page.max_char_len_bytes() > 1) {
        return Ok(Datum::Text(of_bytes(text, limit, matches!(to, SqlType::Char { .. }), page)));
    }
    let text = match length_limit(to) {
        Some(limit) if text_length(&text, to) > limit => cut_whole(&text, to, limit)?,
        _ => text,
    };
    Ok(Datum::Text(pad_text(text, to)))
}

/// Returns true if values of the type are bytes of a code page.
fn is_paged(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text)
}

/// Cuts a text, or pads it if `fixed`, to a length in bytes of its code page.
fn of_bytes(text: String, limit: usize, fixed: bool, page: CodePage) -> String {
    let (mut bytes, mut end) = (0, 0);
    for ch in text.chars() {
        let width = page.encoded_len(ch.encode_utf8(&mut [0; 4])).unwrap_or(1);
        if bytes + width > limit {
            break;
        }
        bytes += width;
        end += ch.len_utf8();
    }
    let mut text = text;
    text.truncate(end);
    if fixed {
        text.extend(std::iter::repeat_n(' ', limit - bytes));
    }
    text
}

/// Handles a number or date that does not fit: returns an asterisk, an error, or the cut text.
fn too_narrow(text: &str, from: &SqlType, to: &SqlType, limit: usize) -> Result<String, SqlError> {
    match from {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int if !to.is_unicode() => Ok("*".to_string()),
        SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Decimal { .. }
        | SqlType::Numeric { .. }
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::Real
        | SqlType::Float => Err(SqlError::overflow(&type_name(from), &type_name(to))),
        SqlType::UniqueIdentifier => Err(SqlError::new(
            8170,
            16,
            2,
            "Insufficient result space to convert uniqueidentifier value to char.",
        )),
        _ => Ok(cut_text(text, to, limit)),
    }
}

/// Converts a value that is not NULL.
pub(super) fn to_binary(
    value: Datum,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    page: CodePage,
) -> Result<Datum, SqlError> {
    // Numbers, dates and times keep their last bytes, texts and bytes their first ones.
    let mut numeric = false;
    let mut bytes = match value {
        Datum::Binary(bytes) => bytes,
        Datum::Text(text) if style == 1 || style == 2 => rows::text::binary::binary(&text)
            .map_err(|_| errors::CONVERTING.with([&type_name(from), &type_name(to)]))?,
        Datum::Text(text) if from.is_unicode() => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Datum::Text(text) => code_page_bytes(&text, page),
        Datum::Guid(guid) => rows::text::guid::swap_order(guid).to_vec(),
        Datum::RowVersion(version) => version.to_be_bytes().to_vec(),
        Datum::Bit(value) => {
            numeric = true;
            vec![u8::from(value)]
        }
        Datum::Int(value) => {
            numeric = true;
            let width = match from {
                SqlType::TinyInt => 1,
                SqlType::SmallInt => 2,
                SqlType::Int => 4,
                _ => 8,
            };
            value.to_be_bytes().get(8 - width..).unwrap_or_default().to_vec()
        }
        Datum::Float(value) => {
            numeric = true;
            value.to_be_bytes().to_vec()
        }
        Datum::Real(value) => {
            numeric = true;
            value.to_be_bytes().to_vec()
        }
        other => {
            numeric = true;
            bytes_of(&other, from).ok_or_else(|| refused(from, to))?
        }
    };
    if let Some(limit) = length_limit(to) {
        if bytes.len() > limit {
            if numeric {
                bytes.drain(..bytes.len() - limit);
            } else {
                bytes.truncate(limit);
            }
        }
        if matches!(to, SqlType::Binary { .. }) {
            let missing = limit - bytes.len();
            if numeric {
                bytes.splice(0..0, std::iter::repeat_n(0, missing));
            } else {
                bytes.extend(std::iter::repeat_n(0, missing));
            }
        }
    }
    Ok(Datum::Binary(bytes))
}
