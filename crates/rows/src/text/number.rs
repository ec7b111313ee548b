//! Whole numbers, decimals and binary floating point.

use super::{ParseOptions, TextError, split_sign, trim_blanks};

/// Digits that always fit in a `u64`.
const SAFE_DIGITS: usize = 19;

const WHOLE: TextError = TextError::Syntax { expected: "a whole number" };
const DECIMAL: TextError = TextError::Syntax { expected: "a decimal number" };
const FLOATING: TextError = TextError::Syntax { expected: "a floating-point number" };

/// Parses a `tinyint`: 0 to 255.
pub fn tinyint(text: &str) -> Result<u8, TextError> {
    u8::try_from(bigint(text)?).map_err(|_| TextError::OutOfRange { target: "tinyint" })
}

/// Parses a `smallint`: 16 bits, signed.
pub fn smallint(text: &str) -> Result<i16, TextError> {
    i16::try_from(bigint(text)?).map_err(|_| TextError::OutOfRange { target: "smallint" })
}

/// Parses an `int`: 32 bits, signed.
pub fn int(text: &str) -> Result<i32, TextError> {
    i32::try_from(bigint(text)?).map_err(|_| TextError::OutOfRange { target: "int" })
}

/// Parses a `bigint`: 64 bits, signed. Surrounding blanks and a sign are accepted; so are `4.0` and `1e3`,
/// since their value is whole (as the vendor's bulk copy library does).
pub fn bigint(text: &str) -> Result<i64, TextError> {
    let out_of_range = TextError::OutOfRange { target: "bigint" };
    let trimmed = trim_blanks(text);
    let (negative, digits) = split_sign(trimmed);
    if (1..=SAFE_DIGITS).contains(&digits.len())
        && let Some(magnitude) = plain_digits(digits)
    {
        let value =
            if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
        return value.ok_or(out_of_range);
    }
    match exact(trimmed, 0, WHOLE, false) {
        Ok(value) => i64::try_from(value).map_err(|_| out_of_range),
        Err(TextError::NeedsRounding { .. }) => Err(WHOLE),
        Err(TextError::OutOfRange { .. }) => Err(out_of_range),
        Err(error) => Err(error),
    }
}

/// Parses a `decimal(precision, scale)` in units of 10^-scale.
///
/// Surrounding blanks, a sign and an exponent are accepted. Digits beyond the scale must be zeros
/// unless `options.allow_rounding`, which rounds half away from zero.
pub fn decimal(text: &str, precision: u8, scale: u8, options: &ParseOptions) -> Result<i128, TextError> {
    let exceeded = TextError::PrecisionExceeded { precision, scale };
    let value =
        exact(trim_blanks(text), scale, DECIMAL, options.allow_rounding).map_err(|error| match error {
            TextError::OutOfRange { .. } => exceeded,
            other => other,
        })?;
    let limit = 10u128.checked_pow(u32::from(precision)).ok_or(exceeded)?;
    if value.unsigned_abs() >= limit { Err(exceeded) } else { Ok(value) }
}

/// Parses a `real`: the nearest 32-bit value. Infinities and NaN are no values of SQL Server.
pub fn real(text: &str) -> Result<f32, TextError> {
    let value: f32 = float_text(text)?.parse().map_err(|_| FLOATING)?;
    if value.is_finite() { Ok(value) } else { Err(TextError::OutOfRange { target: "real" }) }
}

/// Parses a `float`: the nearest 64-bit value. Infinities and NaN are no values of SQL Server.
pub fn float(text: &str) -> Result<f64, TextError> {
    let value: f64 = float_text(text)?.parse().map_err(|_| FLOATING)?;
    if value.is_finite() { Ok(value) } else { Err(TextError::OutOfRange { target: "float" }) }
}

/// Returns true if a text has digits that the parsed value lacks: more of them than the type keeps, or a
/// magnitude that became zero. `spelled` writes the value with a point and that many digits behind it, and an
/// exponent.
pub(crate) fn loses_digits(text: &str, safe_digits: usize, spelled: impl Fn(usize) -> String) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let mantissa = text.bytes().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'));
    let significant = mantissa.filter(is_digit).skip_while(|digit| *digit == b'0').count();
    // Zeros in front count as long as nothing else is known; those behind are no digits that can be lost.
    let has_exponent = text.bytes().any(|byte| byte.eq_ignore_ascii_case(&b'e'));
    if significant == 0 || (significant <= safe_digits && !has_exponent && text.len() <= SAFE_TEXT_BYTES) {
        return false;
    }
    let digits_of = |text: &str| -> Vec<u8> {
        let mantissa = text.bytes().take_while(|byte| !byte.eq_ignore_ascii_case(&b'e'));
        let mut digits: Vec<u8> = mantissa.filter(is_digit).skip_while(|digit| *digit == b'0').collect();
        let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        digits.truncate(kept);
        digits
    };
    let written = digits_of(text);
    written.len() > FLOAT_DIGITS_MAX || digits_of(&spelled(written.len().saturating_sub(1))) != written
}

/// Longest text without exponent that no range of a float can be left with.
const SAFE_TEXT_BYTES: usize = 36;
/// Maximum number of significant digits of a 64-bit float written out.
const FLOAT_DIGITS_MAX: usize = 767;

/// Returns the text that the standard library may parse: it starts with a digit or a point, so that `inf` and
/// `nan` never reach it.
fn float_text(text: &str) -> Result<&str, TextError> {
    let trimmed = text.trim_matches([' ', '\t']);
    match split_sign(trimmed.as_bytes()).1 {
        [] if trimmed.is_empty() => Err(TextError::Empty),
        [b'0'..=b'9' | b'.', ..] => Ok(trimmed),
        _ => Err(FLOATING),
    }
}

/// Parses up to 19 digits; `None` if any byte is not a digit.
#[inline]
fn plain_digits(digits: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    let mut bad = false;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        bad |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    if bad { None } else { Some(value) }
}

/// Parses a number of any length in units of 10^-scale. `OutOfRange` means beyond 38 digits.
pub(super) fn exact(
    trimmed: &[u8],
    scale: u8,
    malformed: TextError,
    allow_rounding: bool,
) -> Result<i128, TextError> {
    if trimmed.is_empty() {
        return Err(TextError::Empty);
    }
    let (negative, body) = split_sign(trimmed);
    let magnitude = match short(body, scale, allow_rounding) {
        Some(magnitude) => magnitude,
        None => long(body, scale, malformed, allow_rounding)?,
    };
    Ok(if negative { -magnitude } else { magnitude })
}

/// Parses the usual case: `digits[.digits]`, at most 19 digits in all, and decimals beyond the scale only to
/// be rounded.
#[inline]
fn short(body: &[u8], scale: u8, allow_rounding: bool) -> Option<i128> {
    if body.len() > SAFE_DIGITS {
        return None;
    }
    let mut value = 0u64;
    let mut digits = 0usize;
    let mut point = None;
    for (index, &byte) in body.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        } else if byte == b'.' && point.is_none() {
            point = Some(index);
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |index| body.len() - index - 1);
    if digits == 0 {
        return None;
    }
    let Some(missing) = usize::from(scale).checked_sub(decimals) else {
        let divisor = u64::try_from(*POWERS_OF_TEN.get(decimals - usize::from(scale))?).ok()?;
        let (kept, rest) = (value / divisor, value % divisor);
        return allow_rounding.then(|| i128::from(kept) + i128::from(rest >= divisor - rest));
    };
    i128::from(value).checked_mul(*POWERS_OF_TEN.get(missing)?)
}

/// Parses a number of any length, with an exponent or excess decimals.
fn long(body: &[u8], scale: u8, malformed: TextError, allow_rounding: bool) -> Result<i128, TextError> {
    let beyond = TextError::OutOfRange { target: "38 digits" };
    let end = body.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(body.len());
    let (mantissa, exponent) = body.split_at_checked(end).ok_or(malformed)?;
    let exponent = match exponent {
        [] => 0,
        [_, text @ ..] => exponent_value(text).ok_or(malformed)?,
    };
    let point = mantissa.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(index) => (mantissa.get(..index).unwrap_or(&[]), mantissa.get(index + 1..).unwrap_or(&[])),
        None => (mantissa, &[][..]),
    };
    let digits = || whole.iter().chain(fraction);
    if whole.is_empty() && fraction.is_empty() || !digits().all(u8::is_ascii_digit) {
        return Err(malformed);
    }
    if digits().all(|&digit| digit == b'0') {
        return Ok(0);
    }
    // Digits that lie before the last kept place; it may be negative or beyond the written digits.
    let written = i64::try_from(whole.len() + fraction.len()).map_err(|_| beyond)?;
    let kept = i64::try_from(whole.len()).map_err(|_| beyond)? + exponent + i64::from(scale);
    let taken = usize::try_from(kept.clamp(0, written)).map_err(|_| beyond)?;
    let mut magnitude = 0i128;
    for &digit in digits().take(taken) {
        magnitude = push_digit(magnitude, digit - b'0').ok_or(beyond)?;
    }
    let appended = usize::try_from((kept - written).max(0)).map_err(|_| beyond)?;
    if appended > 0 {
        let factor = POWERS_OF_TEN.get(appended).ok_or(beyond)?;
        magnitude = magnitude.checked_mul(*factor).filter(|&value| value <= MAGNITUDE_MAX).ok_or(beyond)?;
    }
    if digits().skip(taken).any(|&digit| digit != b'0') {
        if !allow_rounding {
            return Err(TextError::NeedsRounding { scale });
        }
        // With `kept` negative the first dropped place is a zero that is not written.
        if kept >= 0 && digits().nth(taken).is_some_and(|&digit| digit >= b'5') {
            magnitude = magnitude.checked_add(1).filter(|&value| value <= MAGNITUDE_MAX).ok_or(beyond)?;
        }
    }
    Ok(magnitude)
}

fn push_digit(magnitude: i128, digit: u8) -> Option<i128> {
    magnitude.checked_mul(10)?.checked_add(i128::from(digit)).filter(|&value| value <= MAGNITUDE_MAX)
}

/// Parses the exponent; one of more than nine digits is as good as a billion.
fn exponent_value(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let first = digits.iter().position(|&digit| digit != b'0').unwrap_or(digits.len());
    let significant = digits.get(first..)?;
    let value = if significant.len() > 9 { 1_000_000_000 } else { plain_digits(significant)? as i64 };
    Some(if negative { -value } else { value })
}

/// The largest magnitude of 38 digits.
const MAGNITUDE_MAX: i128 = POWERS_OF_TEN[38] - 1;

/// 10^0 to 10^38.
pub const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut index = 1;
    while index < 39 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};
