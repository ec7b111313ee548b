//! Pieces of texts: TRIM, LEFT, RIGHT, SUBSTRING; and LEN.

use std::ops::Range;
use std::sync::Arc;

use tsql::SqlError;

use super::ColumnForm;
use super::passes::{LONG_BYTES, pieces, values};
use crate::datum::Datum;

/// Trims the blanks at a text's start or its end or both.
pub(crate) fn trimmed(start: bool, end: bool) -> ColumnForm {
    Arc::new(move |columns| {
        let Some(texts) = columns.texts(0) else { return Ok(None) };
        pieces(columns, texts, |_, text| {
            let kept = if end { text.trim_end_matches(' ') } else { text };
            let first = if start { kept.len() - kept.trim_start_matches(' ').len() } else { 0 };
            Some(first..kept.len())
        })
    })
}

/// Makes LEFT, or RIGHT.
pub(crate) fn end_of(left: bool) -> ColumnForm {
    Arc::new(move |columns| {
        let (Some(texts), Some(counts)) = (columns.texts(0), columns.ints(1)) else { return Ok(None) };
        pieces(columns, texts, |row, text| {
            let count = usize::try_from(counts.at(row)?).ok()?;
            if text.len() >= LONG_BYTES {
                return None;
            }
            match left {
                true => Some(0..place(text, count)?),
                false => Some(place(text, units(text).saturating_sub(count))?..text.len()),
            }
        })
    })
}

/// Makes SUBSTRING of a text.
pub(crate) fn substring() -> ColumnForm {
    Arc::new(|columns| {
        let (Some(texts), Some(starts), Some(counts)) = (columns.texts(0), columns.ints(1), columns.ints(2))
        else {
            return Ok(None);
        };
        pieces(columns, texts, |row, text| {
            if text.len() >= LONG_BYTES {
                return None;
            }
            let window = window(starts.at(row)?, counts.at(row)?, units(text)).ok()?;
            Some(place(text, window.start)?..place(text, window.end)?)
        })
    })
}

/// Makes LEN: `count` returns the length of a text without the blanks at its end.
pub(crate) fn length(count: fn(&str) -> Result<usize, SqlError>) -> ColumnForm {
    Arc::new(move |columns| {
        let Some(texts) = columns.texts(0) else { return Ok(None) };
        values(columns, |row| Ok(Datum::Int(count(texts.at(row).trim_end_matches(' '))? as i64)))
    })
}

/// Returns SUBSTRING's window: it may begin before the text, and then is shorter. Errors: 537.
pub(crate) fn window(start: i64, count: i64, length: usize) -> Result<Range<usize>, SqlError> {
    if count < 0 {
        return Err(SqlError::new(
            537,
            16,
            3,
            "Invalid length parameter passed to the LEFT or SUBSTRING function.",
        ));
    }
    let length = length as i64;
    let end = (start - 1).saturating_add(count).clamp(0, length);
    let start = (start - 1).clamp(0, length);
    Ok(start as usize..end.max(start) as usize)
}

/// Units of UTF-16.
fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Returns the byte at which the unit at `index` begins, or the end of the text. `None` within a character of two
/// units.
fn place(text: &str, index: usize) -> Option<usize> {
    if text.is_ascii() {
        return Some(index.min(text.len()));
    }
    let mut units = 0;
    for (at, ch) in text.char_indices() {
        if units >= index {
            return (units == index).then_some(at);
        }
        units += ch.len_utf16();
    }
    (units <= index).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn units_have_places() {
        let places = |text: &str| (0..6).map(|index| place(text, index)).collect::<Vec<_>>();
        assert_eq!(places("abc"), [Some(0), Some(1), Some(2), Some(3), Some(3), Some(3)]);
        assert_eq!(places("ä𝄞b"), [Some(0), Some(2), None, Some(6), Some(7), Some(7)]);
        assert_eq!(places("a𝄞"), [Some(0), Some(1), None, Some(5), Some(5), Some(5)]);
    }
}
