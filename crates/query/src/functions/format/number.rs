//! Numbers.

use tds::SqlType;

use super::Culture;
use crate::Datum;
use crate::types::is_integer;
use tsql::SqlError;

/// A number in decimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Digits {
    negative: bool,
    whole: String,
    fraction: String,
}

impl Digits {
    fn of(value: &Datum, sql_type: &SqlType) -> Option<Digits> {
        let text = match value {
            Datum::Int(value) => value.to_string(),
            Datum::Decimal(units) => {
                let scale = match sql_type {
                    SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => usize::from(*scale),
                    _ => 4,
                };
                let digits = format!("{:0>width$}", units.unsigned_abs(), width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                format!("{}{whole}.{fraction}", if *units < 0 { "-" } else { "" })
            }
            Datum::Float(value) => format!("{value}"),
            Datum::Real(value) => format!("{value}"),
            _ => return None,
        };
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.as_str()),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        Some(Digits {
            negative,
            whole: whole.trim_start_matches('0').to_string(),
            fraction: fraction.to_string(),
        })
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.bytes().all(|digit| digit == b'0')
    }

    /// Multiplies the number by a power of ten.
    fn shifted(mut self, places: i32) -> Digits {
        for _ in 0..places {
            let digit = if self.fraction.is_empty() { '0' } else { self.fraction.remove(0) };
            self.whole.push(digit);
        }
        for _ in places..0 {
            let digit = self.whole.pop().unwrap_or('0');
            self.fraction.insert(0, digit);
        }
        self.whole = self.whole.trim_start_matches('0').to_string();
        self
    }

    /// Rounds to this many places, halves away from zero; keeps exactly as many digits behind the point.
    fn rounded(mut self, places: usize) -> Digits {
        let up = self.fraction.as_bytes().get(places).is_some_and(|digit| *digit >= b'5');
        self.fraction.truncate(places);
        while self.fraction.len() < places {
            self.fraction.push('0');
        }
        if up {
            let mut digits: Vec<u8> = self.whole.bytes().chain(self.fraction.bytes()).collect();
            let mut at = digits.len();
            loop {
                let Some(before) = at.checked_sub(1) else {
                    digits.insert(0, b'1');
                    break;
                };
                at = before;
                match digits.get_mut(at) {
                    Some(digit) if *digit < b'9' => {
                        *digit += 1;
                        break;
                    }
                    Some(digit) => *digit = b'0',
                    None => break,
                }
            }
            let text: String = digits.into_iter().map(char::from).collect();
            let (whole, fraction) = text.split_at(text.len() - places);
            self.whole = whole.to_string();
            self.fraction = fraction.to_string();
        }
        self
    }

    /// One digit, so many behind the point, and the power of ten by which they are to be multiplied.
    fn scientific(self, places: usize) -> (Digits, i32) {
        let zero = self.is_zero();
        let leading = self.fraction.bytes().take_while(|digit| *digit == b'0').count();
        let exponent = match self.whole.len() {
            _ if zero => 0,
            0 => -(i32::try_from(leading).unwrap_or(0) + 1),
            length => i32::try_from(length).unwrap_or(1) - 1,
        };
        let digits = self.shifted(-exponent).rounded(places);
        match digits.whole.len() {
            0 | 1 => (digits, exponent),
            _ => (digits.shifted(-1).rounded(places), exponent + 1),
        }
    }

    fn whole_or_zero(&self) -> &str {
        if self.whole.is_empty() { "0" } else { &self.whole }
    }
}

/// A separator between groups of three.
fn grouped(whole: &str, separator: &str) -> String {
    let mut text = String::with_capacity(whole.len() + whole.len() / 3);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

pub(super) fn format(
    value: &Datum,
    sql_type: &SqlType,
    pattern: &str,
    culture: &Culture,
) -> Result<Option<String>, SqlError> {
    let Some(digits) = Digits::of(value, sql_type) else { return Ok(None) };
    let mut chars = pattern.chars();
    let letter = chars.next();
    let rest = chars.as_str();
    if rest.len() <= 2
        && rest.bytes().all(|byte| byte.is_ascii_digit())
        && let Some(letter) = letter.filter(char::is_ascii_alphabetic)
    {
        return standard(value, sql_type, digits, letter, rest.parse().ok(), culture);
    }
    if pattern.is_empty() {
        return standard(value, sql_type, digits, 'G', None, culture);
    }
    custom(digits, pattern, culture).map(Some)
}

fn standard(
    value: &Datum,
    sql_type: &SqlType,
    digits: Digits,
    letter: char,
    places: Option<usize>,
    culture: &Culture,
) -> Result<Option<String>, SqlError> {
    let sign = |digits: &Digits| if digits.negative && !digits.is_zero() { "-" } else { "" };
    let with_point = |digits: &Digits, whole: String| match digits.fraction.is_empty() {
        true => whole,
        false => format!("{whole}{}{}", culture.point, digits.fraction),
    };
    Ok(Some(match letter.to_ascii_uppercase() {
        'N' | 'F' => {
            let digits = digits.rounded(places.unwrap_or(2));
            let whole = digits.whole_or_zero();
            let whole = if letter.eq_ignore_ascii_case(&'N') {
                grouped(whole, culture.group)
            } else {
                whole.to_string()
            };
            format!("{}{}", sign(&digits), with_point(&digits, whole))
        }
        'C' => {
            let digits = digits.rounded(places.unwrap_or(2));
            let text = with_point(&digits, grouped(digits.whole_or_zero(), culture.group));
            let (plain, negative) = culture.money;
            let pattern = if sign(&digits).is_empty() { plain } else { negative };
            pattern.replace('n', &text).replace('$', culture.currency)
        }
        'P' => {
            let digits = digits.shifted(2).rounded(places.unwrap_or(2));
            let text = with_point(&digits, grouped(digits.whole_or_zero(), culture.group));
            format!("{}{text}{}%", sign(&digits), culture.percent_gap)
        }
        'D' if is_integer(sql_type) => {
            let width = places.unwrap_or(0);
            format!("{}{:0>width$}", sign(&digits), digits.whole_or_zero())
        }
        'X' if is_integer(sql_type) => {
            let Datum::Int(number) = value else { return Ok(None) };
            let text = match sql_type {
                SqlType::TinyInt => format!("{:x}", *number as u8),
                SqlType::SmallInt => format!("{:x}", *number as i16),
                SqlType::Int => format!("{:x}", *number as i32),
                _ => format!("{number:x}"),
            };
            let text = if letter == 'X' { text.to_uppercase() } else { text };
            format!("{text:0>width$}", width = places.unwrap_or(0))
        }
        'E' => {
            let (digits, exponent) = digits.scientific(places.unwrap_or(6));
            let mark = if letter == 'e' { 'e' } else { 'E' };
            let text = with_point(&digits, digits.whole_or_zero().to_string());
            let plus = if exponent < 0 { '-' } else { '+' };
            format!("{}{text}{mark}{plus}{:03}", sign(&digits), exponent.unsigned_abs())
        }
        'G' | 'R' if places.is_none_or(|places| places == 0) => {
            // A decimal keeps its places, a float has only those that it needs.
            with_point(&digits, format!("{}{}", sign(&digits), digits.whole_or_zero()))
        }
        'G' => general(digits, places.unwrap_or(1), letter).replace('.', culture.point),
        _ => return Ok(None),
    }))
}

/// So many significant digits, as .NET's "G": with an exponent if the number is larger or smaller than they show.
fn general(digits: Digits, places: usize, letter: char) -> String {
    let sign = if digits.negative && !digits.is_zero() { "-" } else { "" };
    let (first, exponent) = digits.clone().scientific(places.saturating_sub(1));
    let shown = |digits: &Digits| match digits.fraction.trim_end_matches('0') {
        "" => digits.whole_or_zero().to_owned(),
        fraction => format!("{}.{fraction}", digits.whole_or_zero()),
    };
    let most = i32::try_from(places).unwrap_or(i32::MAX);
    if (LEAST_PLAIN_EXPONENT..most).contains(&exponent) {
        let behind = usize::try_from(most - 1 - exponent).unwrap_or(0);
        return format!("{sign}{}", shown(&digits.rounded(behind)));
    }
    let mark = if letter == 'g' { 'e' } else { 'E' };
    let plus = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}{mark}{plus}{:02}", shown(&first), exponent.unsigned_abs())
}

/// Numbers below are written with an exponent.
const LEAST_PLAIN_EXPONENT: i32 = -5;

/// A piece of a custom pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Zero,
    Digit,
    Point,
    Text(String),
}

/// A section of a custom pattern, read.
#[derive(Debug, Default)]
struct Section {
    pieces: Vec<Piece>,
    grouped: bool,
    /// Powers of ten that the number is multiplied by.
    shift: i32,
}

fn custom(digits: Digits, pattern: &str, culture: &Culture) -> Result<String, SqlError> {
    let sections = sections(pattern);
    let section = |index: usize| sections.get(index).map(String::as_str).filter(|text| !text.is_empty());
    let first = read(section(0).unwrap_or_default())?;
    let zero = digits.is_zero();
    let (chosen, minus) = match (digits.negative && !zero, zero) {
        (true, _) => match section(1) {
            // A section for negative numbers writes its own sign.
            Some(negative) => (read(negative)?, false),
            None => (first, true),
        },
        (false, true) => match section(2) {
            Some(zero) => (read(zero)?, false),
            None => (first, false),
        },
        (false, false) => (first, false),
    };
    Ok(written(digits, &chosen, minus, culture))
}

/// Splits a pattern at semicolons that are not quoted.
fn sections(pattern: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quote = None;
    let mut chars = pattern.chars();
    while let Some(ch) = chars.next() {
        let last = sections.len() - 1;
        match (quote, ch) {
            (None, ';') => {
                sections.push(String::new());
                continue;
            }
            (None, '\'' | '"') => quote = Some(ch),
            (Some(open), ch) if ch == open => quote = None,
            _ => {}
        }
        if let Some(section) = sections.get_mut(last) {
            section.push(ch);
            if ch == '\\' {
                section.extend(chars.next());
            }
        }
    }
    sections
}

fn read(text: &str) -> Result<Section, SqlError> {
    let mut section = Section::default();
    let mut commas = 0;
    let mut chars = text.chars().peekable();
    let literal = |pieces: &mut Vec<Piece>, ch: char| match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push(ch),
        _ => pieces.push(Piece::Text(ch.to_string())),
    };
    while let Some(ch) = chars.next() {
        match ch {
            '0' | '#' => {
                section.grouped |= commas > 0 && !section.pieces.contains(&Piece::Point);
                commas = 0;
                section.pieces.push(if ch == '0' { Piece::Zero } else { Piece::Digit });
            }
            '.' if !section.pieces.contains(&Piece::Point) => {
                section.shift -= 3 * std::mem::take(&mut commas);
                section.pieces.push(Piece::Point);
            }
            '.' => {}
            ',' => {
                commas += i32::from(section.pieces.iter().any(|p| matches!(p, Piece::Zero | Piece::Digit)))
            }
            '%' => {
                section.shift += 2;
                literal(&mut section.pieces, '%');
            }
            '‰' => {
                section.shift += 3;
                literal(&mut section.pieces, '‰');
            }
            '\'' | '"' => {
                for inner in chars.by_ref().take_while(|inner| *inner != ch) {
                    literal(&mut section.pieces, inner);
                }
            }
            '\\' => {
                if let Some(escaped) = chars.next() {
                    literal(&mut section.pieces, escaped);
                }
            }
            'e' | 'E' if matches!(chars.peek(), Some('0' | '+' | '-')) => {
                return Err(SqlError::unsupported("An exponent in a custom pattern of FORMAT"));
            }
            other => literal(&mut section.pieces, other),
        }
    }
    // Commas behind the last digit divide by a thousand each.
    if !section.pieces.contains(&Piece::Point) {
        section.shift -= 3 * commas;
    }
    Ok(section)
}

fn written(digits: Digits, section: &Section, minus: bool, culture: &Culture) -> String {
    let point =
        section.pieces.iter().position(|piece| *piece == Piece::Point).unwrap_or(section.pieces.len());
    let (before, after) = section.pieces.split_at(point);
    let holds = |piece: &&Piece| matches!(piece, Piece::Zero | Piece::Digit);
    let places = after.iter().filter(holds).count();
    let digits = digits.shifted(section.shift).rounded(places);
    let slots = before.iter().filter(holds).count();
    // From the first 0 on, every place before the point has a digit.
    let first_zero = before.iter().filter(holds).position(|piece| *piece == Piece::Zero);
    let width = first_zero.map_or(0, |first| slots - first);
    let mut whole = format!("{:0>width$}", digits.whole);
    if section.grouped {
        whole = grouped(&whole, ",");
    }
    let mut text = String::new();
    if minus && !digits.is_zero() {
        text.push('-');
    }
    // Each placeholder takes one digit; the first takes all that are too many.
    let digit_count = whole.bytes().filter(u8::is_ascii_digit).count();
    let mut left = whole.as_str();
    let mut slot = 0;
    for piece in before {
        match piece {
            Piece::Text(literal) => text.push_str(literal),
            Piece::Point => {}
            Piece::Zero | Piece::Digit => {
                let wanted = slots - slot;
                slot += 1;
                let mut remaining = left.bytes().filter(u8::is_ascii_digit).count();
                let too_many = slot == 1 && digit_count > slots;
                while remaining > 0 && (remaining >= wanted || too_many) {
                    let mut chars = left.chars();
                    let Some(ch) = chars.next() else { break };
                    match ch {
                        ',' => text.push_str(culture.group),
                        digit => text.push(digit),
                    }
                    left = chars.as_str();
                    if ch.is_ascii_digit() {
                        remaining -= 1;
                        if remaining < wanted {
                            break;
                        }
                    }
                }
                // The comma goes with the digit before it.
                while let Some(rest) = left.strip_prefix(',') {
                    text.push_str(culture.group);
                    left = rest;
                }
            }
        }
    }
    let held: Vec<&Piece> = after.iter().filter(holds).collect();
    let last_zero = held.iter().rposition(|piece| **piece == Piece::Zero).map_or(0, |at| at + 1);
    let significant = digits.fraction.trim_end_matches('0').len().max(last_zero).min(held.len());
    let mut fraction = digits.fraction.chars().take(significant);
    for piece in after {
        match piece {
            Piece::Point if significant > 0 => text.push_str(culture.point),
            Piece::Point => {}
            Piece::Text(literal) => text.push_str(literal),
            Piece::Zero | Piece::Digit => text.extend(fraction.next()),
        }
    }
    text
}
