//! Further functions of text: trimming by characters, names, sounds, escapes, messages.

use std::sync::Arc;

use tds::{Length, SqlType};

use super::super::typed::{self, Typed};
use super::super::types::text_of;
use super::super::{Datum, Facts, convert};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{long_text, name_type, strict};
use tsql::SqlError;
use tsql::system_messages::FIRST;

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
    let wide = long_text();
    let types: Vec<SqlType> = values.iter().map(|value| value.sql_type.clone()).collect();
    // The number of a message stands for its text.
    let format = match format.sql_type.is_character() {
        true => format.cast(&wide)?,
        false => {
            let facts = Arc::clone(call.facts);
            let text = move |numbers: &[Datum]| {
                let number = numbers.first().and_then(Datum::as_int);
                let text = number
                    .filter(|number| *number >= i64::from(FIRST))
                    .and_then(|number| facts.message(number));
                Ok(text.map_or(Datum::Null, Datum::Text))
            };
            let mut found =
                typed::call("message_text", vec![format.cast(&SqlType::Int)?], wide.clone(), text);
            found.nullable = true;
            found
        }
    };
    let mut all = vec![format];
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
        Ok(Datum::Text(cut_message(formatted(format, &shown))))
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

/// Removes certain characters at the ends of a text.
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

/// Returns a part of a name of up to four, counted from the right.
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

/// Returns the code of a letter; None for letters that have none.
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

/// Computes SOUNDEX: the first letter and three digits; H and W do not part equal codes (compatibility level 110 and
/// above).
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

/// Escapes a text for the quotes of a JSON string.
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

/// Formats as RAISERROR and FORMATMESSAGE do: `%[flags][width][.precision][h|l|I64]kind` with the kinds `s`, `d`, `i`,
/// `u`, `o`, `x` and `X`, and `%%`. A `*` takes a width or precision from the values.
pub fn formatted(format: &str, values: &[String]) -> String {
    let mut text = String::with_capacity(format.len());
    let mut values = values.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(rest.get(..at).unwrap_or_default());
        let (placeholder, behind) = Placeholder::read(rest.get(at + 1..).unwrap_or_default(), &mut values);
        rest = behind;
        match placeholder.kind {
            '%' => text.push('%'),
            kind => {
                let value = values.next().map_or("(null)", String::as_str);
                text.push_str(&placeholder.padded(&placeholder.digits_or_text(kind, value)));
            }
        }
    }
    text.push_str(rest);
    text
}

/// The flags between a percent sign and the letter that names the kind of value, with that letter.
#[derive(Default)]
struct Placeholder {
    left: bool,
    zeros: bool,
    plus: bool,
    blank: bool,
    prefixed: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Placeholder {
    /// Reads the placeholder behind a percent sign, and returns the rest.
    fn read<'f>(text: &'f str, values: &mut std::slice::Iter<'_, String>) -> (Placeholder, &'f str) {
        let mut own = Placeholder::default();
        let mut rest = text;
        while let Some(flag) = rest.chars().next().filter(|flag| matches!(flag, '-' | '+' | '0' | '#' | ' '))
        {
            match flag {
                '-' => own.left = true,
                '+' => own.plus = true,
                '0' => own.zeros = true,
                '#' => own.prefixed = true,
                _ => own.blank = true,
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let mut number = |rest: &mut &'f str| {
            if let Some(behind) = rest.strip_prefix('*') {
                *rest = behind;
                return values.next().and_then(|value| value.parse().ok()).unwrap_or(0);
            }
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, behind) = rest.split_at_checked(end).unwrap_or(("", rest));
            *rest = behind;
            digits.parse::<usize>().unwrap_or(0)
        };
        own.width = number(&mut rest).min(MESSAGE_UNITS_MAX);
        if let Some(behind) = rest.strip_prefix('.') {
            rest = behind;
            own.precision = Some(number(&mut rest).min(MESSAGE_UNITS_MAX));
        }
        rest = rest.strip_prefix("I64").or_else(|| rest.strip_prefix(['h', 'l'])).unwrap_or(rest);
        own.kind = rest.chars().next().unwrap_or('%');
        let behind = rest.get(own.kind.len_utf8().min(rest.len())..).unwrap_or_default();
        (own, behind)
    }

    fn digits_or_text(&self, kind: char, value: &str) -> String {
        let Some(number) = value.parse::<i64>().ok().filter(|_| kind != 's') else {
            let shown = self.precision.filter(|_| kind == 's').unwrap_or(usize::MAX);
            return value.chars().take(shown).collect();
        };
        // A number of 32 bits has no more digits as an unsigned one.
        let unsigned = match i32::try_from(number) {
            Ok(number) => u64::from(number as u32),
            Err(_) => number as u64,
        };
        let (prefix, digits) = match kind {
            'u' => ("", unsigned.to_string()),
            'o' => (if self.prefixed { "0" } else { "" }, format!("{unsigned:o}")),
            'x' => (if self.prefixed { "0x" } else { "" }, format!("{unsigned:x}")),
            'X' => (if self.prefixed { "0X" } else { "" }, format!("{unsigned:X}")),
            _ if number < 0 => ("-", number.unsigned_abs().to_string()),
            _ if self.plus => ("+", number.to_string()),
            _ if self.blank => (" ", number.to_string()),
            _ => ("", number.to_string()),
        };
        let width = match self.precision {
            Some(precision) => precision,
            None if self.zeros && !self.left => self.width.saturating_sub(prefix.len()),
            None => 0,
        };
        format!("{prefix}{digits:0>width$}")
    }

    fn padded(&self, text: &str) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

/// Units of a message; a longer one is cut, and ends in three points.
const MESSAGE_UNITS_MAX: usize = 2047;

/// Cuts a message to the units that messages have.
fn cut_message(text: String) -> String {
    if text.encode_utf16().count() <= MESSAGE_UNITS_MAX {
        return text;
    }
    let result = SqlType::NVarChar { length: Length::Max };
    format!("{}...", convert::cut_text(&text, &result, MESSAGE_UNITS_MAX - 3))
}

#[cfg(test)]
mod tests {
    use super::formatted;

    #[test]
    fn placeholders() {
        for (format, value, expected) in [
            ("%d|", "255", "255|"),
            ("%x %X", "255", "ff (null)"),
            ("%X", "255", "FF"),
            ("%#x", "255", "0xff"),
            ("%x", "-1", "ffffffff"),
            ("%o", "8", "10"),
            ("%u", "-1", "4294967295"),
            ("%08d", "5", "00000005"),
            ("%08d", "-5", "-0000005"),
            ("%5d|", "5", "    5|"),
            ("%-5d|", "5", "5    |"),
            ("%+d", "5", "+5"),
            ("%.3d", "5", "005"),
            ("%-6s|", "ab", "ab    |"),
            ("%6s|", "ab", "    ab|"),
            ("%.2s|", "abcd", "ab|"),
            ("%I64d", "5000000000", "5000000000"),
            ("100%%", "", "100%"),
            ("%s and %s", "a", "a and (null)"),
            ("50%", "", "50%"),
            ("%ld", "7", "7"),
        ] {
            assert_eq!(formatted(format, &[value.to_string()]), expected, "{format}");
        }
        assert_eq!(formatted("%*d", &["4".to_string(), "7".to_string()]), "   7");
    }
}
