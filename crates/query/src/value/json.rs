//! JSON text, read in place: a value is a piece of the text. JSON_QUERY and OPENJSON return pieces as they were written, so
//! nothing is parsed into other values.

use std::ops::Range;

use crate::running;
use tsql::SqlError;

/// Nesting of objects and arrays that is followed.
const DEPTH_MAX: usize = 128;
/// Elements between two looks at the request.
const TURNS: usize = 1 << 16;

/// The kind of a piece, with OPENJSON's number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null = 0,
    String = 1,
    Number = 2,
    Boolean = 3,
    Array = 4,
    Object = 5,
}

/// A path such as `$.a[0]."b c"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// `strict`: a missing value is an error.
    pub strict: bool,
    pub(crate) steps: Vec<Step>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Element(usize),
}

/// Returns the value that a whole text is. Errors: 13609.
pub fn value(text: &str) -> Result<&str, SqlError> {
    let bytes = text.as_bytes();
    let start = skip_blanks(bytes, 0);
    let unexpected = |at: usize| {
        let found = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('.');
        SqlError::new(
            13609,
            16,
            4,
            format!(
                "JSON text is not properly formatted. Unexpected character '{found}' is found at position {at}."
            ),
        )
    };
    // A text that is not read to its end because the request is to stop is not wrong.
    let stopped = |at: usize| running::check().err().unwrap_or_else(|| unexpected(at));
    let end = end_of(bytes, start, 0).map_err(stopped)?;
    let rest = skip_blanks(bytes, end);
    if rest < bytes.len() {
        return Err(unexpected(rest));
    }
    Ok(text.get(start..end).unwrap_or_default())
}

/// Returns a whole text in the form of type json: without white space between tokens and without escapes that are not needed.
///
/// Errors: those of [`value`].
pub fn normal(text: &str) -> Result<String, SqlError> {
    let text = value(text)?;
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => end_of_string(rest.as_bytes(), 0).unwrap_or(rest.len()),
            _ => rest.find('"').unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        match first {
            '"' if piece.contains('\\') => write_string(&mut normal, &units(piece)),
            '"' => normal.push_str(piece),
            _ => normal.extend(piece.chars().filter(|ch| !matches!(ch, ' ' | '\t' | '\n' | '\r'))),
        }
        rest = after;
    }
    Ok(normal)
}

/// Writes a string of UTF-16 units with its quotes, and with the escapes that it cannot do without. Half a surrogate pair stays an escape.
fn write_string(out: &mut String, units: &[u16]) {
    out.push('"');
    for ch in char::decode_utf16(units.iter().copied()) {
        match ch {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(ch) if ch < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(ch))),
            Ok(ch) => out.push(ch),
            Err(half) => out.push_str(&format!("\\u{:04x}", half.unpaired_surrogate())),
        }
    }
    out.push('"');
}

/// Returns the kind of value that a piece spells.
pub fn kind(piece: &str) -> Kind {
    match piece.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

/// Returns the text of a scalar: a string without quotes and escapes, anything else as written; `None` for null.
pub fn scalar(piece: &str) -> Option<String> {
    match kind(piece) {
        Kind::Null => None,
        Kind::String => Some(unescaped(piece)),
        _ => Some(piece.to_string()),
    }
}

/// Names and values of an object, or positions and values of an array; empty for scalars.
#[derive(Debug)]
pub struct Entries<T> {
    piece: T,
    of_object: bool,
    /// The beginning of the next entry.
    at: usize,
    found: usize,
}

impl<T: AsRef<str>> Entries<T> {
    /// Iterates over the entries of a piece.
    pub fn new(piece: T) -> Entries<T> {
        let text = piece.as_ref();
        let of_object = kind(text) == Kind::Object;
        let is_list = of_object || kind(text) == Kind::Array;
        let at = if is_list { skip_blanks(text.as_bytes(), 1) } else { text.len() };
        Entries { piece, of_object, at, found: 0 }
    }

    /// Returns the next name, and the place of its value.
    pub(crate) fn place(&mut self) -> Option<(String, Range<usize>)> {
        let text = self.piece.as_ref();
        let bytes = text.as_bytes();
        // The piece was checked when the whole text was: what is not as expected is its end.
        if self.at + 1 >= bytes.len() {
            return None;
        }
        let mut name = self.found.to_string();
        let mut at = self.at;
        if self.of_object {
            let end = end_of_string(bytes, at).ok()?;
            name = unescaped(text.get(at..end).unwrap_or_default());
            at = skip_blanks(bytes, skip_blanks(bytes, end) + 1);
        }
        let end = end_of(bytes, at, 0).ok()?;
        self.at = skip_blanks(bytes, skip_blanks(bytes, end) + 1);
        self.found += 1;
        Some((name, at..end))
    }
}

impl<T: AsRef<str>> Iterator for Entries<T> {
    type Item = (String, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, place) = self.place()?;
        Some((name, self.piece.as_ref().get(place).unwrap_or_default().to_string()))
    }
}

/// Returns the first wanted entry of a piece.
fn entry(piece: &str, mut wanted: impl FnMut(&str, usize) -> bool) -> Option<&str> {
    let mut entries = Entries::new(piece);
    let mut number = 0;
    loop {
        let (name, place) = entries.place()?;
        if wanted(&name, number) {
            return piece.get(place);
        }
        number += 1;
    }
}

impl Path {
    /// Reads a path. Errors: 13607.
    pub fn parse(text: &str) -> Result<Path, SqlError> {
        let (mut rest, mut strict) = (text.trim(), false);
        for (word, is_strict) in [("strict", true), ("lax", false)] {
            if let Some(after) = rest.strip_prefix(word)
                && after.trim_start().starts_with('$')
            {
                (rest, strict) = (after.trim_start(), is_strict);
            }
        }
        let bad = |rest: &str| {
            let at = text.len() - rest.len();
            let found = rest.chars().next().unwrap_or(' ');
            SqlError::new(
                13607,
                16,
                4,
                format!(
                    "JSON path is not properly formatted. Unexpected character '{found}' is found at position {at}."
                ),
            )
        };
        rest = rest.strip_prefix('$').ok_or_else(|| bad(rest))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let (digits, after) = after.split_once(']').ok_or_else(|| bad(rest))?;
                steps.push(Step::Element(digits.trim().parse().map_err(|_| bad(after))?));
                rest = after;
                continue;
            }
            let after = rest.strip_prefix('.').ok_or_else(|| bad(rest))?;
            if after.starts_with('"') {
                let end = end_of_string(after.as_bytes(), 0).map_err(|_| bad(after))?;
                steps.push(Step::Member(unescaped(after.get(..end).unwrap_or_default())));
                rest = after.get(end..).unwrap_or_default();
                continue;
            }
            let end = after.find(|ch: char| !(ch.is_alphanumeric() || matches!(ch, '_' | '$' | '#' | '@')));
            let end = end.unwrap_or(after.len());
            if end == 0 {
                return Err(bad(after));
            }
            steps.push(Step::Member(after.get(..end).unwrap_or_default().to_string()));
            rest = after.get(end..).unwrap_or_default();
        }
        Ok(Path { strict, steps })
    }

    /// Makes the path of one member, for a column of OPENJSON without a path.
    pub fn member(name: &str) -> Path {
        Path { strict: false, steps: vec![Step::Member(name.to_string())] }
    }

    /// Finds the value at the path. Errors: 13608 under `strict` if there is none.
    pub fn find<'t>(&self, piece: &'t str) -> Result<Option<&'t str>, SqlError> {
        let mut piece = piece;
        for step in &self.steps {
            let found = match step {
                Step::Member(name) if kind(piece) == Kind::Object => entry(piece, |own, _| own == name),
                Step::Element(index) if kind(piece) == Kind::Array => {
                    entry(piece, |_, number| number == *index)
                }
                _ => None,
            };
            match found {
                Some(found) => piece = found,
                None if self.strict => {
                    let text = "Property cannot be found on the specified JSON path.";
                    return Err(SqlError::new(13608, 16, 5, text));
                }
                None => return Ok(None),
            }
        }
        Ok(Some(piece))
    }
}

pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the end of the value that begins at `at`, or the place of its mistake.
fn end_of(bytes: &[u8], at: usize, depth: usize) -> Result<usize, usize> {
    match bytes.get(at) {
        Some(b'{') if depth < DEPTH_MAX => end_of_list(bytes, at, depth, b'}'),
        Some(b'[') if depth < DEPTH_MAX => end_of_list(bytes, at, depth, b']'),
        Some(b'"') => end_of_string(bytes, at),
        Some(b't') => end_of_word(bytes, at, b"true"),
        Some(b'f') => end_of_word(bytes, at, b"false"),
        Some(b'n') => end_of_word(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => end_of_number(bytes, at),
        _ => Err(at),
    }
}

fn end_of_list(bytes: &[u8], at: usize, depth: usize, close: u8) -> Result<usize, usize> {
    let mut at = skip_blanks(bytes, at + 1);
    if bytes.get(at) == Some(&close) {
        return Ok(at + 1);
    }
    for turn in 1_usize.. {
        if turn.is_multiple_of(TURNS) && running::check().is_err() {
            return Err(at);
        }
        if close == b'}' {
            at = skip_blanks(bytes, end_of_string(bytes, at)?);
            if bytes.get(at) != Some(&b':') {
                return Err(at);
            }
            at = skip_blanks(bytes, at + 1);
        }
        at = skip_blanks(bytes, end_of(bytes, at, depth + 1)?);
        match bytes.get(at) {
            Some(b',') => at = skip_blanks(bytes, at + 1),
            Some(found) if *found == close => return Ok(at + 1),
            _ => return Err(at),
        }
    }
    Err(at)
}

fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, usize> {
    if bytes.get(at) != Some(&b'"') {
        return Err(at);
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                Some(b'u') => {
                    let digits = bytes.get(at + 2..at + 6).ok_or(at)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(at);
                    }
                    at += 6;
                }
                _ => return Err(at),
            },
            Some(byte) if *byte >= b' ' => at += 1,
            _ => return Err(at),
        }
    }
}

fn end_of_word(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, usize> {
    if bytes.get(at..at + word.len()) == Some(word) { Ok(at + word.len()) } else { Err(at) }
}

fn end_of_number(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let digits = |mut at: usize| -> Result<usize, usize> {
        let first = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == first { Err(at) } else { Ok(at) }
    };
    let whole = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = digits(whole)?;
    if bytes.get(whole) == Some(&b'0') && at > whole + 1 {
        return Err(whole + 1);
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at + 1 + signed)?;
    }
    Ok(at)
}

/// Removes the quotes and escapes of a string.
fn unescaped(piece: &str) -> String {
    String::from_utf16_lossy(&units(piece))
}

/// Returns the UTF-16 units of a string without its quotes and escapes.
fn units(piece: &str) -> Vec<u16> {
    let inner = piece.strip_prefix('"').and_then(|piece| piece.strip_suffix('"')).unwrap_or(piece);
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let mut buffer = [0; 2];
    let mut chars = inner.chars();
    while let Some(ch) = chars.next() {
        let plain = if ch != '\\' {
            ch
        } else {
            match chars.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
                    continue;
                }
                Some(other) => other,
                None => break,
            }
        };
        units.extend_from_slice(plain.encode_utf16(&mut buffer));
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_checked_to_their_end() {
        for good in ["{}", " [1, -2.5e+3, \"a\\u00e9\", true, null, {\"a\": []}] ", "\"x\"", "0"] {
            assert!(value(good).is_ok(), "{good}");
        }
        for bad in ["", "{", "{a:1}", "[1,]", "01", "1.", "tru", "\"\\x\"", "{} x", "[1 2]", "\"a\nb\""] {
            assert_eq!(value(bad).map_err(|error| error.number), Err(13609), "{bad}");
        }
        assert!(value(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn values_have_one_form() {
        for (written, stored) in [
            (" { \"a b\" : [ 1 , 2.50, true ] }\n", "{\"a b\":[1,2.50,true]}"),
            (r#""caf\u00e9 \ud83d\ude00""#, "\"caf\u{e9} \u{1F600}\""),
            (r#""\/ \" \\ \u0001 \ud83d""#, r#""/ \" \\ \u0001 \ud83d""#),
        ] {
            let normal = normal(written);
            assert_eq!(normal.as_deref(), Ok(stored), "{written}");
        }
        assert!(normal("{bad").is_err());
    }

    #[test]
    fn paths_lead_to_pieces() {
        let text = r#"{"a": {"b c": [10, {"x": "y\n"}]}, "a b": 1}"#;
        let find = |path: &str| {
            Path::parse(path).and_then(|path| path.find(text).map(|found| found.map(str::to_string)))
        };
        assert_eq!(find("$.a.\"b c\"[0]"), Ok(Some("10".to_string())));
        assert_eq!(find("lax $.a.\"b c\"[1].x"), Ok(Some("\"y\\n\"".to_string())));
        assert_eq!(find("$.nosuch[3]"), Ok(None));
        assert_eq!(find("strict $.nosuch").map_err(|error| error.number), Err(13608));
        for bad in ["a", "$a", "$.", "$[x]", "$.a["] {
            assert_eq!(find(bad).map_err(|error| error.number), Err(13607), "{bad}");
        }
    }
}
