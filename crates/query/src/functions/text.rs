//! Further functions of text: trimming by characters, names, sounds, escapes, messages.

use tds::{Length, SqlType};

use super::super::typed::{self, Typed};
use super::super::types::text_of;
use super::super::{Datum, Facts, convert};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{long_text, name_type, strict};
use tsql::SqlError;

/// Functions of words.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("TRIM LEADING", &["value", "characters"], "text", |call| trim(call, Ends::Start))
        .written("TRIM(LEADING characters FROM value)"),
    scalar("TRIM TRAILING", &["value", "characters"], "text", |call| trim(call, Ends::End))
        .written("TRIM(TRAILING characters FROM value)"),
    scalar("TRIM BOTH", &["value", "characters"], "text", |call| trim(call, Ends::Both))
        .written("TRIM([BOTH] characters FROM value)"),
    scalar("PARSENAME", &["name", "part"], "nvarchar(128)", part_of_name),
    scalar("SOUNDEX", &["value"], "varchar(5)", sound_of),
    scalar("DIFFERENCE", &["left", "right"], "int", difference),
    scalar("STRING_ESCAPE", &["value", "kind"], "nvarchar(max)", string_escape),
    scalar("FORMATMESSAGE", &["message"], "nvarchar(2047)", format_message).optional(&["value"]).repeated(),
];

fn part_of_name(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, piece] = call.take()?;
    strict(call.name, vec![(value, name_type_wide()), (piece, SqlType::Int)], name_type(), |values| {
        Ok(parse_name(text(values, 0), int(values, 1)).map_or(Datum::Null, Datum::Text))
    })
}

fn sound_of(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    strict(call.name, vec![(value, long_text())], SqlType::VarChar { length: Length::Units(5) }, |values| {
        Ok(Datum::Text(soundex(text(values, 0))))
    })
}

fn difference(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [left, right] = call.take()?;
    strict(call.name, vec![(left, long_text()), (right, long_text())], SqlType::Int, |values| {
        let (left, right) = (soundex(text(values, 0)), soundex(text(values, 1)));
        let same = left.bytes().zip(right.bytes()).filter(|(left, right)| left == right).count();
        Ok(Datum::Int(same as i64))
    })
}

fn string_escape(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, kind] = call.take()?;
    strict(call.name, vec![(value, long_text()), (kind, name_type())], long_text(), |values| {
        if !text(values, 1).eq_ignore_ascii_case("json") {
            return Err(SqlError::new(
                15501,
                16,
                1,
                "An invalid value was specified for argument 2 of function 'string_escape'.",
            ));
        }
        Ok(Datum::Text(json_escaped(text(values, 0))))
    })
}

fn format_message(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [format] = call.take()?;
    let values = call.arguments.get(1..).unwrap_or_default();
    if !format.sql_type.is_character() {
        return Err(SqlError::unsupported("FORMATMESSAGE of a message number"));
    }
    let wide = long_text();
    let types: Vec<SqlType> = values.iter().map(|value| value.sql_type.clone()).collect();
    let mut all = vec![format.cast(&wide)?];
    all.extend_from_slice(values);
    let result = SqlType::NVarChar { length: Length::Units(2047) };
    Ok(typed::call(call.name, all, result, move |values| {
        let Some((Datum::Text(format), values)) = values.split_first() else {
            return Ok(Datum::Null);
        };
        let shown: Vec<String> = values
            .iter()
            .zip(&types)
            .map(|(value, sql_type)| match value {
                Datum::Null => "(null)".to_string(),
                value => convert::display(value, sql_type),
            })
            .collect();
        Ok(Datum::Text(formatted(format, &shown)))
    }))
}

fn text(values: &[Datum], at: usize) -> &str {
    values.get(at).and_then(Datum::as_text).unwrap_or_default()
}

fn int(values: &[Datum], at: usize) -> i64 {
    values.get(at).and_then(Datum::as_int).unwrap_or_default()
}

fn name_type_wide() -> SqlType {
    SqlType::NVarChar { length: Length::Units(776) }
}

/// The ends of a text that are trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Start,
    End,
    Both,
}

/// A text without certain characters at its ends.
pub(super) fn trim(call: &Call<'_, dyn Facts>, ends: Ends) -> Result<Typed, SqlError> {
    let [value, characters] = call.take()?;
    let unicode = value.sql_type.is_unicode() || characters.sql_type.is_unicode();
    let length =
        if value.sql_type.is_character() { convert::length_limit(&value.sql_type) } else { Some(8000) };
    let (start, end) = (ends != Ends::End, ends != Ends::Start);
    let cast = vec![(value, text_of(unicode, length)), (characters, text_of(unicode, Some(4000)))];
    strict(&format!("TRIM_{ends:?}"), cast, text_of(unicode, length), move |values| {
        let among = |ch: char| text(values, 1).contains(ch);
        let mut value = text(values, 0);
        if start {
            value = value.trim_start_matches(among);
        }
        if end {
            value = value.trim_end_matches(among);
        }
        Ok(Datum::Text(value.to_string()))
    })
}

/// A part of a name of up to four, counted from the right.
fn parse_name(text: &str, piece: i64) -> Option<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(ch) = chars.next() {
        match (quote, ch) {
            (None, '[') => quote = Some(']'),
            (None, '"') => quote = Some('"'),
            (None, '.') => parts.push(String::new()),
            (Some(end), ch) if ch == end => {
                if chars.peek() == Some(&end) {
                    chars.next();
                    parts.last_mut()?.push(ch);
                } else {
                    quote = None;
                }
            }
            (_, ch) => parts.last_mut()?.push(ch),
        }
    }
    let piece = usize::try_from(piece).ok().filter(|piece| (1..=4).contains(piece))?;
    if parts.len() > 4 || quote.is_some() || parts.iter().any(|part| part.encode_utf16().count() > 128) {
        return None;
    }
    parts.into_iter().rev().nth(piece - 1).filter(|part| !part.is_empty())
}

/// The code of a letter; None for letters that have none.
fn sound(ch: char) -> Option<char> {
    match ch.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    }
}

/// SOUNDEX: the first letter and three digits; H and W do not part equal codes (compatibility level 110 and above).
fn soundex(text: &str) -> String {
    let Some(first) = text.chars().next().filter(char::is_ascii_alphabetic) else {
        return "0000".to_string();
    };
    let mut code = String::from(first.to_ascii_uppercase());
    let mut last = sound(first);
    for ch in text.chars().skip(1).take_while(char::is_ascii_alphabetic) {
        let digit = sound(ch);
        match digit {
            Some(digit) if last != Some(digit) => code.push(digit),
            _ => {}
        }
        if !matches!(ch.to_ascii_uppercase(), 'H' | 'W') {
            last = digit;
        }
        if code.len() == 4 {
            break;
        }
    }
    format!("{code:0<4}")
}

/// A text as it stands between the quotes of a JSON string.
pub(super) fn json_escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for ch in text.chars() {
        match ch {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '/' => escaped.push_str("\\/"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            ch if ch < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(ch))),
            ch => escaped.push(ch),
        }
    }
    escaped
}

/// The formatting of RAISERROR and FORMATMESSAGE: `%s`, `%d`, `%i`, `%u`, `%x`, `%%`; widths are read and ignored.
pub fn formatted(format: &str, values: &[String]) -> String {
    let mut text = String::with_capacity(format.len());
    let mut values = values.iter();
    let mut chars = format.chars().peekable();
    while let Some(ch) = chars.next() {
        if ch != '%' {
            text.push(ch);
            continue;
        }
        while chars
            .peek()
            .is_some_and(|ch| ch.is_ascii_digit() || matches!(ch, '-' | '+' | '.' | '#' | '*' | 'l' | 'I'))
        {
            chars.next();
        }
        match chars.next() {
            Some('%') | None => text.push('%'),
            Some(_) => text.push_str(values.next().map_or("(null)", String::as_str)),
        }
    }
    text
}
