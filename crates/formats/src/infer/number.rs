//! Numbers: the precision that they need, and their spelling.

use super::shape::Shape;
use super::spelling::{Exponent, Spelling};

/// Numbers: how many digits they need on either side of the point, and their range while 64 bits hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) integer_digits: u32,
    pub(super) scale: u32,
    /// Every value survives as a double.
    pub(super) fits_float: bool,
    /// An exponent or a negative zero occurs.
    pub(super) is_float: bool,
    /// Range of the whole numbers, if they fit.
    pub(super) range: Option<(i64, i64)>,
    spelling: Spelling,
}

/// Digits that a double always keeps.
const FLOAT_DIGITS: usize = 15;
const DECIMAL_DIGITS_MAX: u32 = 38;
/// Maximum number of significant digits of a double written out.
const DOUBLE_DIGITS_MAX: usize = 767;

impl Number {
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            integer_digits: self.integer_digits.max(other.integer_digits),
            scale: self.scale.max(other.scale),
            fits_float: self.fits_float && other.fits_float,
            is_float: self.is_float || other.is_float,
            range: self.range.zip(other.range).map(|((a, b), (c, d))| (a.min(c), b.max(d))),
            spelling: self.spelling.merge(other.spelling),
        }
    }

    /// Returns true if a decimal holds all values.
    pub(super) fn fits_decimal(&self) -> bool {
        !self.is_float && self.integer_digits + self.scale <= DECIMAL_DIGITS_MAX
    }

    /// Returns true if a type holds all values and reproduces their spelling.
    pub(super) fn is_representable(&self) -> bool {
        if self.is_float {
            // Values with an exponent come from doubles; the plain ones beside them must survive as doubles too.
            self.fits_float && self.spelling.is_of_floats()
        } else {
            self.integer_digits + self.scale <= DECIMAL_DIGITS_MAX && self.spelling.is_of_decimals()
        }
    }
}

/// Recognises `-?digits[.digits][e[+-]digits]` without needless leading zeros.
pub(super) fn number(bytes: &[u8]) -> Option<Shape> {
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
    let is_zero = integer.iter().chain(fraction).all(|digit| *digit == b'0');
    let exponent = match rest {
        [] => None,
        [letter @ (b'e' | b'E'), written @ ..] => {
            let exponent = Exponent::parse(*letter, written)?;
            // `1E5` and `12E3` are codes rather than numbers: a number with an exponent has a sign or a point.
            let is_code = !has_point && !exponent.has_sign();
            let is_normal = integer.len() == 1 && (is_zero || integer != b"0");
            if is_code || !is_normal {
                return None;
            }
            Some(exponent)
        }
        _ => return None,
    };
    // `-0` is no number that a whole type holds; `-0.0` is one of the doubles.
    let is_negative_zero = negative && is_zero;
    if is_negative_zero && !has_point {
        return None;
    }
    let is_float = exponent.is_some() || is_negative_zero;
    let integer_digits = if integer == b"0" { 0 } else { integer.len() };
    let leading_zeros =
        if integer_digits > 0 { 0 } else { fraction.iter().take_while(|&&digit| digit == b'0').count() };
    let significant = integer_digits + fraction.len() - leading_zeros;
    let is_double = match exponent {
        None => significant <= FLOAT_DIGITS || is_spelled_double(bytes, significant),
        // A number with an exponent must be in range, not become zero, and have no digit too many.
        Some(_) => is_spelled_double(bytes, if is_zero { 0 } else { integer.len() + fraction.len() }),
    };
    if exponent.is_some() && !is_double {
        return None;
    }
    let range =
        if has_point || is_float { None } else { whole(integer, negative).map(|value| (value, value)) };
    let places = if is_zero { None } else { Some(integer_digits as i64) };
    Some(Shape::Number(Number {
        integer_digits: integer_digits as u32,
        scale: if exponent.is_some() { 0 } else { fraction.len() as u32 },
        fits_float: is_double,
        is_float,
        range,
        spelling: Spelling::of(integer, fraction, places, exponent),
    }))
}

pub(super) fn digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// Returns true if the bytes are the first digits of a double, as in 0.10000000000000001.
fn is_spelled_double(bytes: &[u8], significant: usize) -> bool {
    if significant > DOUBLE_DIGITS_MAX {
        return false;
    }
    let digits_of = |text: &[u8]| -> Vec<u8> {
        let mantissa =
            text.iter().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e')).filter(|b| b.is_ascii_digit());
        mantissa.copied().skip_while(|&digit| digit == b'0').collect()
    };
    let value = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok());
    let Some(value) = value.filter(|value| value.is_finite()) else { return false };
    let spelled = format!("{value:.*e}", significant.saturating_sub(1));
    digits_of(spelled.as_bytes()) == digits_of(bytes)
}

fn whole(digits: &[u8], negative: bool) -> Option<i64> {
    digits.iter().try_fold(0i64, |value, digit| {
        let digit = i64::from(digit - b'0');
        let value = value.checked_mul(10)?;
        if negative { value.checked_sub(digit) } else { value.checked_add(digit) }
    })
}
