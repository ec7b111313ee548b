//! The shape of a text, and the common shape of all texts of a column.

use super::number::{Number, digits, number};

/// The family that all values of a column so far belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value has come yet.
    Unseen,
    /// `true` or `false`.
    Boolean,
    Number(Number),
    Date,
    /// `scale`: digits after the seconds' point that are needed.
    Time {
        scale: u8,
    },
    DateTime {
        scale: u8,
    },
    DateTimeOffset {
        scale: u8,
    },
    Guid,
    /// `0x` and pairs of hex digits; the most bytes of a value.
    Hex {
        bytes: usize,
    },
    Text,
}

impl Shape {
    /// Recognises the shape of one value. Only spellings that no conversion could change are typed: a leading
    /// zero or plus sign (`00123`, `+49 89`), blanks or thousands separators make a text.
    pub(super) fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let shape = match bytes {
            [b'0', b'x', digits @ ..] => hex(digits),
            [b'0'..=b'9', ..] => number(bytes).or_else(|| moment(bytes)).or_else(|| guid(bytes)),
            [b'-' | b'.', ..] => number(bytes),
            [b't' | b'T' | b'f' | b'F', ..] if is_boolean(value) => Some(Self::Boolean),
            [b'{' | b'a'..=b'f' | b'A'..=b'F', ..] => guid(bytes),
            _ => None,
        };
        shape.unwrap_or(Self::Text)
    }

    /// Returns the narrowest shape that holds both. The order of merging does not matter.
    pub(super) fn merge(self, other: Self) -> Self {
        use Shape::*;
        match (self, other) {
            (Unseen, shape) | (shape, Unseen) => shape,
            (Boolean, Boolean) => Boolean,
            (Number(a), Number(b)) => Number(a.merge(b)),
            (Date, Date) => Date,
            (Time { scale: a }, Time { scale: b }) => Time { scale: a.max(b) },
            (DateTime { scale }, Date) | (Date, DateTime { scale }) => DateTime { scale },
            (DateTime { scale: a }, DateTime { scale: b }) => DateTime { scale: a.max(b) },
            (DateTimeOffset { scale: a }, DateTimeOffset { scale: b }) => DateTimeOffset { scale: a.max(b) },
            (Guid, Guid) => Guid,
            (Hex { bytes: a }, Hex { bytes: b }) => Hex { bytes: a.max(b) },
            _ => Text,
        }
    }

    /// Returns the shape once all values are known: numbers that no type holds without loss become text.
    pub(super) fn settle(self) -> Self {
        match self {
            Self::Number(number) if !number.is_representable() => Self::Text,
            shape => shape,
        }
    }
}

fn is_boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

/// Recognises `yyyy-mm-dd`, `hh:mm[:ss[.fffffff]]`, or both with a blank or `T` between, and then perhaps an
/// offset.
fn moment(bytes: &[u8]) -> Option<Shape> {
    if bytes.get(2) == Some(&b':') {
        let (scale, rest) = time_of_day(bytes)?;
        return rest.is_empty().then_some(Shape::Time { scale });
    }
    let rest = date(bytes)?;
    let time = match rest {
        [] => return Some(Shape::Date),
        [b' ' | b'T', time @ ..] => time,
        _ => return None,
    };
    let (scale, rest) = time_of_day(time)?;
    match rest {
        [] => Some(Shape::DateTime { scale }),
        [b'Z'] | [b' ', b'Z'] => Some(Shape::DateTimeOffset { scale }),
        [b' ', offset @ ..] | offset => {
            let moved = minutes(time)? - offset_minutes(offset)?;
            // The instant must lie in the years 1 to 9999 too.
            let leaves = (moved < 0 && bytes.starts_with(b"0001-01-01"))
                || (moved >= MINUTES_OF_DAY && bytes.starts_with(b"9999-12-31"));
            (!leaves).then_some(Shape::DateTimeOffset { scale })
        }
    }
}

fn date(bytes: &[u8]) -> Option<&[u8]> {
    let (date, rest) = bytes.split_at_checked(10)?;
    let [_, _, _, _, b'-', _, _, b'-', _, _] = date else { return None };
    let year = two(&date[0..2])? * 100 + two(&date[2..4])?;
    let (month, day) = (two(&date[5..7])?, two(&date[8..10])?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    (year >= 1 && (1..=days).contains(&day)).then_some(rest)
}

/// Returns the scale that a time of day needs (without trailing zeros), and the rest of the text.
fn time_of_day(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (time, mut rest) = bytes.split_at_checked(5)?;
    if time[2] != b':' || two(&time[0..2])? > 23 || two(&time[3..5])? > 59 {
        return None;
    }
    let mut scale = 0;
    if let [b':', tens, ones, after @ ..] = rest {
        if two(&[*tens, *ones])? > 59 {
            return None;
        }
        rest = after;
        if let [b'.', after @ ..] = rest {
            let (fraction, after) = digits(after);
            if fraction.is_empty() || fraction.len() > 7 {
                return None;
            }
            scale = fraction.len() - fraction.iter().rev().take_while(|&&digit| digit == b'0').count();
            rest = after;
        }
    }
    Some((scale as u8, rest))
}

const MINUTES_OF_DAY: i64 = 24 * 60;

/// Parses `hh:mm` to minutes since midnight.
fn minutes(time: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, ..] = time else { return None };
    Some(i64::from(two(&[*h1, *h2])?) * 60 + i64::from(two(&[*m1, *m2])?))
}

/// Parses `+hh:mm` to minutes, within the 14 hours that SQL Server allows.
fn offset_minutes(bytes: &[u8]) -> Option<i64> {
    let [sign @ (b'+' | b'-'), time @ ..] = bytes else { return None };
    let [_, _, b':', _, m2] = time else { return None };
    let total = minutes(time)?;
    let fits = m2.is_ascii_digit() && two(&time[3..5])? < 60 && total <= 14 * 60;
    fits.then_some(if *sign == b'-' { -total } else { total })
}

fn two(digits: &[u8]) -> Option<u32> {
    match digits {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
        }
        _ => None,
    }
}

/// Recognises digits as binary values are written: of other letters the case would be lost, which in some
/// codes is a checksum.
fn hex(digits: &[u8]) -> Option<Shape> {
    let is_hex = digits.len().is_multiple_of(2)
        && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    is_hex.then_some(Shape::Hex { bytes: digits.len() / 2 })
}

fn guid(bytes: &[u8]) -> Option<Shape> {
    let inner = match bytes {
        [b'{', inner @ .., b'}'] => inner,
        _ => bytes,
    };
    let fits = inner.len() == 36
        && inner.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    fits.then_some(Shape::Guid)
}
