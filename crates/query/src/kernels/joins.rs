//! Texts made of several texts: CONCAT, `+`, REPLACE.

use std::sync::Arc;

use super::ColumnForm;
use super::columns::Texts;
use super::passes::{LONG_BYTES, texts, texts_but};

/// Longest text that REPLACE looks for here.
const NEEDLE_MAX: usize = 32;

/// Makes CONCAT, or CONCAT_WS if `separated`, of at most `limit` units: NULL is left out.
pub(crate) fn joined(separated: bool, limit: Option<usize>) -> ColumnForm {
    Arc::new(move |columns| {
        let Some(all) = columns.all_texts() else { return Ok(None) };
        let bytes = all.iter().map(Texts::bytes).sum();
        let (separator, parts) = match all.split_first() {
            Some((first, rest)) if separated => (Some(*first), rest),
            _ => (None, all.as_slice()),
        };
        texts_but(columns, None, bytes, |row, out| {
            let separator = separator.filter(|own| own.is_present(row)).map_or("", |own| own.at(row));
            let mut is_first = true;
            let start = out.len();
            for part in parts.iter().filter(|part| part.is_present(row)) {
                let part = part.at(row);
                if part.len() >= LONG_BYTES {
                    return false;
                }
                if !std::mem::take(&mut is_first) {
                    out.push_str(separator);
                }
                out.push_str(part);
            }
            // No unit is shorter than a byte.
            if limit.is_some_and(|limit| out.len() - start > limit) {
                return false;
            }
            separator.len() < LONG_BYTES
        })
    })
}

/// Makes `left + right`, of at most `limit` units.
pub(crate) fn concatenated(limit: Option<usize>) -> ColumnForm {
    Arc::new(move |columns| {
        let (Some(left), Some(right)) = (columns.texts(0), columns.texts(1)) else { return Ok(None) };
        texts(columns, left.bytes() + right.bytes(), |row, out| {
            let (left, right) = (left.at(row), right.at(row));
            let length = left.len() + right.len();
            // No unit is shorter than a byte.
            if length >= LONG_BYTES || limit.is_some_and(|limit| length > limit) {
                return false;
            }
            out.push_str(left);
            out.push_str(right);
            true
        })
    })
}

/// Makes REPLACE, with `fold` in any case, of at most `limit` units.
pub(crate) fn replaced(fold: bool, limit: Option<usize>) -> ColumnForm {
    Arc::new(move |columns| {
        let (Some(own), Some(from), Some(to)) = (columns.texts(0), columns.texts(1), columns.texts(2)) else {
            return Ok(None);
        };
        texts(columns, own.bytes(), |row, out| {
            let (text, from, to) = (own.at(row), from.at(row), to.at(row));
            let is_plain = !fold || (from.is_ascii() && !has_letter_that_folds_to_ascii(text));
            if text.len() >= LONG_BYTES || to.len() >= LONG_BYTES || from.len() > NEEDLE_MAX || !is_plain {
                return false;
            }
            let start = out.len();
            let mut rest = text;
            while let Some(at) = find(rest.as_bytes(), from.as_bytes(), fold) {
                let (Some(head), Some(tail)) = (rest.get(..at), rest.get(at + from.len()..)) else {
                    return false;
                };
                out.push_str(head);
                out.push_str(to);
                rest = tail;
                // The value form counts long results in the memory of the request.
                if out.len() - start >= LONG_BYTES {
                    return false;
                }
            }
            out.push_str(rest);
            limit.is_none_or(|limit| out.len() - start <= limit)
        })
    })
}

/// Returns true if a text has a character beyond ASCII whose lower case has a letter of ASCII. There are two: the
/// Kelvin sign and the capital I with a dot.
fn has_letter_that_folds_to_ascii(text: &str) -> bool {
    !text.is_ascii() && text.contains(['\u{212A}', '\u{130}'])
}

/// Finds `needle`; an empty one is found nowhere. With `fold`, ignores the case of letters of ASCII.
fn find(hay: &[u8], needle: &[u8], fold: bool) -> Option<usize> {
    let first = *needle.first()?;
    let last = hay.len().checked_sub(needle.len())?;
    let other = if fold && first.is_ascii_alphabetic() { first ^ 0x20 } else { first };
    let mut start = 0;
    loop {
        let candidates = hay.get(start..=last)?;
        let at = start + candidates.iter().position(|byte| *byte == first || *byte == other)?;
        let found = hay.get(at..at + needle.len())?;
        if found == needle || (fold && found.eq_ignore_ascii_case(needle)) {
            return Some(at);
        }
        start = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_characters_fold_to_ascii() {
        let folds = |ch: &char| !ch.is_ascii() && ch.to_lowercase().any(|lower| lower.is_ascii());
        assert_eq!(('\0'..=char::MAX).filter(folds).collect::<Vec<_>>(), ['\u{130}', '\u{212A}']);
    }

    #[test]
    fn needles_are_found() {
        assert_eq!(find(b"abcABC", b"BC", false), Some(4));
        assert_eq!(find(b"abcABC", b"BC", true), Some(1));
        assert_eq!(find(b"aab", b"ab", false), Some(1));
        assert_eq!(find(b"@`", b"`", true), Some(1));
        assert_eq!((find(b"a", b"ab", true), find(b"a", b"", true)), (None, None));
    }
}
