//! Lengths of texts and binary values: cutting and padding.

use tds::{Length, SqlType};
use tsql::SqlError;

/// Returns the length limit of a character or binary type in its own units; `None` for (max) and the old large types.
pub fn length_limit(sql_type: &SqlType) -> Option<usize> {
    match sql_type {
        SqlType::Char { length } | SqlType::NChar { length } | SqlType::Binary { length } => {
            Some(usize::from(*length))
        }
        SqlType::VarChar { length: Length::Units(units) }
        | SqlType::NVarChar { length: Length::Units(units) }
        | SqlType::VarBinary { length: Length::Units(units) } => Some(usize::from(*units)),
        _ => None,
    }
}

/// Returns the length of a text in the units of `sql_type`: UTF-16 units of n-types, else characters (one byte each in
/// the single-byte code pages).
pub fn text_length(text: &str, sql_type: &SqlType) -> usize {
    if sql_type.is_unicode() { text.encode_utf16().count() } else { text.chars().count() }
}

/// Cuts `text` to `limit` units of `sql_type`, never inside a character.
pub fn cut_text(text: &str, sql_type: &SqlType, limit: usize) -> String {
    let mut units = 0;
    let mut end = 0;
    for (at, ch) in text.char_indices() {
        units += if sql_type.is_unicode() { ch.len_utf16() } else { 1 };
        if units > limit {
            break;
        }
        end = at + ch.len_utf8();
    }
    text.get(..end).unwrap_or_default().to_string()
}

/// Cuts `text` like [`cut_text`]. Errors: 40515 if the cut would leave half of a surrogate pair, which no text here can hold.
pub fn cut_whole(text: &str, sql_type: &SqlType, limit: usize) -> Result<String, SqlError> {
    let cut = cut_text(text, sql_type, limit);
    let is_half = sql_type.is_unicode() && cut.len() < text.len() && cut.encode_utf16().count() < limit;
    if is_half { Err(half_of_pair()) } else { Ok(cut) }
}

/// Makes a text of UTF-16 units. Errors: 40515 for half of a surrogate pair.
pub fn text_of_units(units: &[u16]) -> Result<String, SqlError> {
    String::from_utf16(units).map_err(|_| half_of_pair())
}

/// Makes the error for half of a surrogate pair.
pub fn half_of_pair() -> SqlError {
    SqlError::unsupported("Half of a surrogate pair")
}

/// Pads `text` with blanks to the length of a fixed-length type; other types are left alone.
pub fn pad_text(mut text: String, sql_type: &SqlType) -> String {
    if let SqlType::Char { length } | SqlType::NChar { length } = sql_type {
        let missing = usize::from(*length).saturating_sub(text_length(&text, sql_type));
        text.extend(std::iter::repeat_n(' ', missing));
    }
    text
}
