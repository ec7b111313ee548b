//! Upper and lower case.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use tds::CodePage;
use tsql::SqlError;

use super::ColumnForm;
use super::passes::{LONG_BYTES, texts};
use super::text_column::column;
use crate::running;

/// A case of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterCase {
    /// UPPER.
    Upper,
    /// LOWER.
    Lower,
}

impl LetterCase {
    /// Converts a character to this case, if that is one character that the code page has.
    pub fn of(self, ch: char, page: Option<CodePage>) -> char {
        if ch.is_ascii() {
            return match self {
                LetterCase::Upper => ch.to_ascii_uppercase(),
                LetterCase::Lower => ch.to_ascii_lowercase(),
            };
        }
        match self {
            LetterCase::Upper => single(ch, ch.to_uppercase(), page),
            LetterCase::Lower => single(ch, ch.to_lowercase(), page),
        }
    }

    fn of_ascii(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            LetterCase::Upper => bytes.to_ascii_uppercase(),
            LetterCase::Lower => bytes.to_ascii_lowercase(),
        }
    }
}

fn single(ch: char, mut other: impl Iterator<Item = char>, page: Option<CodePage>) -> char {
    match (other.next(), other.next()) {
        (Some(letter), None) if letter.is_ascii() => letter,
        (Some(letter), None) => {
            let held = page.is_none_or(|page| page.encoded_len(letter.encode_utf8(&mut [0; 4])).is_ok());
            if held { letter } else { ch }
        }
        _ => ch,
    }
}

/// Makes UPPER and LOWER.
pub(crate) fn cased(case: LetterCase) -> ColumnForm {
    Arc::new(move |columns| {
        let Some(own) = columns.texts(0) else { return Ok(None) };
        if let Some(array) = own.column()
            && let Some(array) = ascii(array, case)?
        {
            return Ok(Some(array));
        }
        let page = columns.page();
        texts(columns, own.bytes(), |row, out| {
            let text = own.at(row);
            if text.len() >= LONG_BYTES {
                return false;
            }
            out.extend(text.chars().map(|ch| case.of(ch, page)));
            true
        })
    })
}

/// Converts the bytes of a column whose letters are all ASCII at once. `None` for other columns.
fn ascii(array: &StringArray, case: LetterCase) -> Result<Option<ArrayRef>, SqlError> {
    let offsets = array.value_offsets();
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Ok(None) };
    let place = |offset: i32| usize::try_from(offset).unwrap_or_default();
    let Some(bytes) = array.value_data().get(place(*first)..place(*last)) else { return Ok(None) };
    if !bytes.is_ascii() {
        return Ok(None);
    }
    running::check()?;
    if bytes.len() >= LONG_BYTES {
        running::take(bytes.len())?;
    }
    let ends = offsets.iter().map(|offset| offset.saturating_sub(*first)).collect();
    column(case.of_ascii(bytes), ends, array.nulls().cloned()).map(Some)
}
