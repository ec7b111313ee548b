//! Long values: their memory is reserved before they are made, and they are made in pieces, between which a request can be cancelled.

use tds::SqlType;

use super::super::Datum;
use crate::running;
use tsql::SqlError;
use tsql::errors;

/// Most bytes of a value (2^31 - 1).
const VALUE_BYTES_MAX: usize = i32::MAX as usize;
/// Memory is asked for, and the request looked at, once for so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// A text that grows.
pub(crate) struct GrowingText {
    text: String,
    unicode: bool,
    /// Length at which the next look is due.
    next: usize,
}

impl GrowingText {
    /// Makes an empty text; nvarchar counts two bytes for each unit.
    pub fn new(unicode: bool) -> GrowingText {
        GrowingText { text: String::new(), unicode, next: PIECE_BYTES }
    }

    /// Appends. Errors: 7119 beyond the longest value, 701, 3617.
    pub fn push(&mut self, piece: &str) -> Result<(), SqlError> {
        if self.text.len() + piece.len() >= self.next {
            self.look(piece.len())?;
        }
        self.text.push_str(piece);
        Ok(())
    }

    /// Checks for cancellation before many small pieces or a large one.
    fn look(&mut self, more: usize) -> Result<(), SqlError> {
        running::check()?;
        let length = self.text.len().saturating_add(more);
        check_length(length, self.unicode, || units(&self.text))?;
        // While it moves into a larger place it is there twice.
        running::take(more.max(PIECE_BYTES).saturating_mul(2))?;
        self.next = length.saturating_add(PIECE_BYTES);
        Ok(())
    }

    /// Returns the finished value.
    pub fn finish(self) -> Datum {
        Datum::Text(self.text)
    }
}

fn check_length(bytes: usize, unicode: bool, units: impl FnOnce() -> usize) -> Result<(), SqlError> {
    let too_long = match unicode {
        // A unit takes one byte of UTF-8 at least.
        true => bytes > VALUE_BYTES_MAX / 2 && units() > VALUE_BYTES_MAX / 2,
        false => bytes > VALUE_BYTES_MAX,
    };
    if too_long { Err(errors::VALUE_TOO_LONG.error()) } else { Ok(()) }
}

/// Asks for a value of so many bytes that is made at once. Errors: 7119, 701, 3617.
pub(crate) fn ask(bytes: usize, sql_type: &SqlType) -> Result<(), SqlError> {
    if bytes < PIECE_BYTES {
        return Ok(());
    }
    running::check()?;
    check_length(bytes, sql_type.is_unicode(), || bytes)?;
    running::take(bytes)
}

/// Units of UTF-16.
fn units(text: &str) -> usize {
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

/// Units of UTF-16 of a text that may be long. Errors: 3617.
pub(crate) fn count_units(text: &str) -> Result<usize, SqlError> {
    let mut count = 0;
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        running::check()?;
        let unit = |byte: &u8| usize::from(byte & 0xC0 != 0x80) + usize::from(*byte >= 0xF0);
        count += piece.iter().map(unit).sum::<usize>();
    }
    Ok(count)
}

/// Repeats `unit` `count` times; at most `limit` bytes of it, unless it may be of any length.
pub(crate) fn replicate(
    unit: &str,
    count: usize,
    limit: Option<usize>,
    unicode: bool,
) -> Result<Datum, SqlError> {
    let mut text = GrowingText::new(unicode);
    let Some(limit) = limit else {
        let bytes = unit.len().saturating_mul(count);
        check_length(bytes, unicode, || units(unit).saturating_mul(count))?;
        // In pieces of some size, however short the unit is.
        let at_once = (PIECE_BYTES / unit.len().max(1)).clamp(1, count.max(1));
        let piece = unit.repeat(at_once);
        for _ in 0..count / at_once {
            text.push(&piece)?;
        }
        text.push(&unit.repeat(count % at_once))?;
        return Ok(text.finish());
    };
    let fits = if unit.is_empty() { 0 } else { count.min(limit / unit.len() + 1) };
    Ok(Datum::Text(unit.repeat(fits).chars().take(limit).collect()))
}

/// Replaces every `from` in `text` by `to`; with `fold` in any case.
pub(crate) fn replace(
    text: &str,
    from: &str,
    to: &str,
    fold: bool,
    unicode: bool,
) -> Result<Datum, SqlError> {
    let mut replaced = GrowingText::new(unicode);
    if from.is_empty() {
        replaced.push(text)?;
        return Ok(replaced.finish());
    }
    let mut rest = text;
    if !fold {
        while let Some(at) = find(rest, from)? {
            let (head, tail) = rest.split_at(at);
            replaced.push(head)?;
            replaced.push(to)?;
            rest = tail.get(from.len()..).unwrap_or_default();
        }
        replaced.push(rest)?;
        return Ok(replaced.finish());
    }
    let needle: Vec<char> = from.chars().flat_map(char::to_lowercase).collect();
    let length = from.chars().count();
    let mut steps = 0_usize;
    while let Some(first) = rest.chars().next() {
        steps += 1;
        if steps.is_multiple_of(PIECE_BYTES / 16) {
            running::check()?;
        }
        let mut folded = rest.chars().take(length).flat_map(char::to_lowercase);
        let found = needle.iter().all(|ch| folded.next() == Some(*ch)) && folded.next().is_none();
        if found {
            replaced.push(to)?;
            let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
            rest = rest.get(end..).unwrap_or_default();
        } else {
            let (head, tail) = rest.split_at(first.len_utf8());
            replaced.push(head)?;
            rest = tail;
        }
    }
    Ok(replaced.finish())
}

/// Finds `needle` piece by piece, so that the search can be cancelled. Errors: 3617.
pub(crate) fn find(hay: &str, needle: &str) -> Result<Option<usize>, SqlError> {
    let step = PIECE_BYTES.max(needle.len().saturating_mul(2));
    let mut start = 0_usize;
    loop {
        let mut end = start.saturating_add(step).min(hay.len());
        while !hay.is_char_boundary(end) {
            end += 1;
        }
        if let Some(at) = hay.get(start..end).and_then(|piece| piece.find(needle)) {
            return Ok(Some(start + at));
        }
        if end == hay.len() {
            return Ok(None);
        }
        running::check()?;
        // A match that begins in this piece may end in the next.
        let mut back = end.saturating_sub(needle.len());
        while !hay.is_char_boundary(back) {
            back -= 1;
        }
        start = back.max(start + 1);
        while !hay.is_char_boundary(start) {
            start += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn text(value: Datum) -> String {
        value.as_text().unwrap().to_owned()
    }

    #[test]
    fn texts_are_replaced() {
        for (value, from, to, fold, expected) in [
            ("abcabc", "bc", "x", false, "axax"),
            ("aBCabc", "bc", "x", true, "axax"),
            ("aBCabc", "bc", "x", false, "aBCax"),
            ("ÄÖä", "ä", "-", true, "-Ö-"),
            ("aaa", "aa", "b", true, "ba"),
            ("abc", "", "x", true, "abc"),
        ] {
            assert_eq!(text(replace(value, from, to, fold, false).unwrap()), expected);
        }
    }

    #[test]
    fn pieces_hide_nothing() {
        let hay = format!("{}needle", "ä".repeat(PIECE_BYTES - 1));
        assert_eq!(find(&hay, "needle").unwrap(), hay.find("needle"));
        assert_eq!(find(&hay, "nowhere").unwrap(), None);
        assert_eq!(find("", "").unwrap(), Some(0));
        assert_eq!(count_units("aä𝄞").unwrap(), 4);
        assert_eq!(text(replicate("ab", 3, None, false).unwrap()), "ababab");
        assert_eq!(text(replicate("ab", 3, Some(5), false).unwrap()), "ababa");
        assert_eq!(replicate("ab", usize::MAX, None, false).unwrap_err().number, 7119);
    }
}
