//! What a text looks like, and what all texts of a column have in common.

/// The family that all values of a column so far belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value yet.
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

/// Numbers: how many digits they need on either side of the point, and their range while 64 bits hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) integer_digits: u32,
    pub(super) scale: u32,
    /// Every value survives as a double.
    pub(super) fits_float: bool,
    /// An exponent occurs.
    pub(super) is_float: bool,
    /// Range of the whole numbers, if they fit.
    pub(super) range: Option<(i64, i64)>,
}

/// Digits that a double always keeps.
const FLOAT_DIGITS: usize = 15;
const DECIMAL_DIGITS_MAX: u32 = 38;

impl Shape {
    /// The shape of one value. Only spellings that no conversion could change are typed: a leading zero or plus sign
    /// (`00123`, `+49 89`), blanks or thousands separators make a text.
    pub(super) fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let shape = match bytes {
            [b'0', b'x' | b'X', digits @ ..] => hex(digits),
            [b'0'..=b'9', ..] => number(bytes).or_else(|| moment(bytes)).or_else(|| guid(bytes)),
            [b'-' | b'.', ..] => number(bytes),
            [b't' | b'T' | b'f' | b'F', ..] if is_boolean(value) => Some(Self::Boolean),
            [b'{' | b'a'..=b'f' | b'A'..=b'F', ..] => guid(bytes),
            _ => None,
        };
        shape.unwrap_or(Self::Text)
    }

    /// The narrowest shape that holds both. The order of merging does not matter.
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

    /// The shape once all values are known: numbers that no type holds without loss become text.
    pub(super) fn settle(self) -> Self {
        match self {
            Self::Number(number) if !number.is_representable() => Self::Text,
            shape => shape,
        }
    }
}

impl Number {
    fn merge(self, other: Self) -> Self {
        Self {
            integer_digits: self.integer_digits.max(other.integer_digits),
            scale: self.scale.max(other.scale),
            fits_float: self.fits_float && other.fits_float,
            is_float: self.is_float || other.is_float,
            range: self.range.zip(other.range).map(|((a, b), (c, d))| (a.min(c), b.max(d))),
        }
    }

    fn is_representable(&self) -> bool {
        if self.is_float {
            // Values with an exponent come from doubles; the plain ones beside them must survive as doubles too.
            self.fits_float
        } else {
            self.integer_digits + self.scale <= DECIMAL_DIGITS_MAX
        }
    }
}

fn is_boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

/// `-?digits[.digits][e[+-]digits]` without needless leading zeros.
fn number(bytes: &[u8]) -> Option<Shape> {
    let (negative, unsigned) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let (integer, rest) = digits(unsigned);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (&[][..], rest),
    };
    let has_point = rest.len() + fraction.len() + integer.len() < unsigned.len();
    if matches!(integer, [b'0', _, ..])
        || (has_point && fraction.is_empty())
        || (integer.is_empty() && !has_point)
    {
        return None;
    }
    let is_float = match rest {
        [] => false,
        [b'e' | b'E', exponent @ ..] if is_exponent(exponent) && is_finite(bytes) => true,
        _ => return None,
    };
    let integer_digits = if integer == b"0" { 0 } else { integer.len() };
    let leading_zeros =
        if integer_digits > 0 { 0 } else { fraction.iter().take_while(|&&digit| digit == b'0').count() };
    let significant = integer_digits + fraction.len() - leading_zeros;
    let range =
        if has_point || is_float { None } else { whole(integer, negative).map(|value| (value, value)) };
    Some(Shape::Number(Number {
        integer_digits: integer_digits as u32,
        scale: if is_float { 0 } else { fraction.len() as u32 },
        // An exponent is how a double is spelled.
        fits_float: is_float || significant <= FLOAT_DIGITS || is_spelled_double(bytes, significant),
        is_float,
        range,
    }))
}

fn digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn is_exponent(bytes: &[u8]) -> bool {
    let (exponent, rest) = digits(bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes));
    !exponent.is_empty() && rest.is_empty()
}

fn is_finite(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_finite)
}

/// Whether these are the first digits of a double, as in 0.10000000000000001.
fn is_spelled_double(bytes: &[u8], significant: usize) -> bool {
    let digits_of = |text: &[u8]| -> Vec<u8> {
        let mantissa = text.iter().take_while(|&&byte| byte != b'e').filter(|byte| byte.is_ascii_digit());
        mantissa.copied().skip_while(|&digit| digit == b'0').collect()
    };
    let value = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok());
    let spelled = value.map(|value| format!("{value:.*e}", significant.saturating_sub(1)));
    spelled.is_some_and(|spelled| digits_of(spelled.as_bytes()) == digits_of(bytes))
}

fn whole(digits: &[u8], negative: bool) -> Option<i64> {
    digits.iter().try_fold(0i64, |value, digit| {
        let digit = i64::from(digit - b'0');
        let value = value.checked_mul(10)?;
        if negative { value.checked_sub(digit) } else { value.checked_add(digit) }
    })
}

/// `yyyy-mm-dd`, `hh:mm[:ss[.fffffff]]`, or both with a blank or `T` between, and then perhaps an offset.
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
        [b' ', offset @ ..] | offset => is_offset(offset).then_some(Shape::DateTimeOffset { scale }),
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

/// Scale needed (without trailing zeros), and what follows.
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

/// `+hh:mm`, within the 14 hours that SQL Server allows.
fn is_offset(bytes: &[u8]) -> bool {
    let [b'+' | b'-', h1, h2, b':', m1, m2] = bytes else { return false };
    match (two(&[*h1, *h2]), two(&[*m1, *m2])) {
        (Some(hours), Some(minutes)) => minutes < 60 && hours * 60 + minutes <= 14 * 60,
        _ => false,
    }
}

fn two(digits: &[u8]) -> Option<u32> {
    match digits {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
        }
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<Shape> {
    let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
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
