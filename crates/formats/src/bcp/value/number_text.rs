//! Numbers written as text.

use super::super::Deviation;
use super::{Fault, Remark};

/// A number in units of 10^-scale, and whether digits beyond the scale were lost.
struct Exact {
    value: i128,
    lossy: bool,
}

/// Returns true if a field is nothing but blanks, as exports of fixed width have it for NULL.
#[inline]
pub(in super::super) fn is_blank(text: &[u8]) -> bool {
    matches!(text, [b' ', ..]) && text.iter().all(|byte| *byte == b' ')
}

/// Parses a whole number from `minimum` to `maximum`. The empty string is 0, as for the original.
#[inline]
pub(in super::super) fn integer(text: &[u8], minimum: i64, maximum: i64) -> Result<i64, Fault> {
    if let Some(value) = plain(text) {
        return if (minimum..=maximum).contains(&value) { Ok(value) } else { Err(Fault::Range) };
    }
    if text.is_empty() {
        return Ok(0);
    }
    let Exact { value, lossy } = exact(trimmed(text), 0, false)?;
    let value = i64::try_from(value).map_err(|_| Fault::Range)?;
    match (minimum..=maximum).contains(&value) {
        false => Err(Fault::Range),
        true if lossy => Err(Fault::TooLong),
        true => Ok(value),
    }
}

/// Parses 0 or 1, in any spelling of a number.
pub(in super::super) fn bit(text: &[u8]) -> Result<bool, Fault> {
    match text {
        b"0" | b"" => return Ok(false),
        b"1" => return Ok(true),
        _ => {}
    }
    let negative = trimmed(text).first() == Some(&b'-');
    let Exact { value, lossy } = exact(trimmed(text), 0, false)?;
    match value {
        0 if negative && lossy => Err(Fault::Range),
        0 | 1 if lossy => Err(Fault::TooLong),
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Fault::Range),
    }
}

/// Parses a number of at most `precision` digits in units of 10^-scale. Blanks may stand behind the sign.
#[inline]
pub(in super::super) fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i128, Fault> {
    let Exact { value, lossy } = exact(trimmed(text), scale, true)?;
    let limit = 10_i128.checked_pow(u32::from(precision)).ok_or(Fault::Range)?;
    match value.abs() < limit {
        false => Err(Fault::Range),
        true if lossy => Err(Fault::TooLong),
        true => Ok(value),
    }
}

/// Parses an amount in units of 1/10000 from `minimum` to `maximum`. With `grouped`, `$` in front and commas
/// between groups of three digits are taken, as the original does in code pages, though not in UTF-16.
pub(in super::super) fn money(text: &[u8], grouped: bool, minimum: i64, maximum: i64) -> Result<i64, Fault> {
    if text.is_empty() {
        return Ok(0);
    }
    let text = trimmed(text);
    let plain;
    let text = if grouped && text.iter().any(|byte| matches!(byte, b'$' | b',')) {
        plain = ungrouped(text).ok_or(Fault::Syntax)?;
        &plain
    } else {
        text
    };
    let Exact { value, lossy } = exact(text, 4, false)?;
    let value = i64::try_from(value).ok().filter(|value| (minimum..=maximum).contains(value));
    match value {
        None => Err(Fault::Range),
        Some(_) if lossy => Err(Fault::TooLong),
        Some(value) => Ok(value),
    }
}

/// Parses a float as the C library does: also in hexadecimal, and "nan".
pub(in super::super) fn float(text: &[u8]) -> Result<(f64, Remark), Fault> {
    let number = float_text(text)?;
    match number {
        FloatText::Nan => Ok((f64::NAN, Some(Deviation::NotFinite))),
        FloatText::Hex(value) => Ok((value, None)),
        FloatText::Decimal(text) => {
            let value: f64 = text.parse().map_err(|_| Fault::Syntax)?;
            if value.is_finite() { Ok((value, None)) } else { Err(Fault::Range) }
        }
    }
}

/// Parses a `real` as the C library does: also in hexadecimal, and "nan".
pub(in super::super) fn real(text: &[u8]) -> Result<(f32, Remark), Fault> {
    let number = float_text(text)?;
    match number {
        FloatText::Nan => Ok((f32::NAN, Some(Deviation::NotFinite))),
        FloatText::Hex(value) if value as f32 == f32::INFINITY => Err(Fault::Range),
        FloatText::Hex(value) => Ok((value as f32, None)),
        FloatText::Decimal(text) => {
            let value: f32 = text.parse().map_err(|_| Fault::Syntax)?;
            if value.is_finite() { Ok((value, None)) } else { Err(Fault::Range) }
        }
    }
}

enum FloatText<'a> {
    Decimal(std::borrow::Cow<'a, str>),
    Hex(f64),
    Nan,
}

fn float_text(text: &[u8]) -> Result<FloatText<'_>, Fault> {
    let text = std::str::from_utf8(trimmed(text)).map_err(|_| Fault::Syntax)?;
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = magnitude.trim_start_matches(' ');
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let value = u64::from_str_radix(hex, 16).map_err(|_| Fault::Syntax)? as f64;
        return Ok(FloatText::Hex(if sign == "-" { -value } else { value }));
    }
    match digits.as_bytes().first() {
        Some(b'0'..=b'9' | b'.') if digits.len() == magnitude.len() => {
            let text = if text.starts_with('+') { magnitude } else { text };
            Ok(FloatText::Decimal(text.into()))
        }
        Some(b'0'..=b'9' | b'.') => Ok(FloatText::Decimal(format!("{sign}{digits}").into())),
        _ if digits.eq_ignore_ascii_case("nan") => Ok(FloatText::Nan),
        _ if digits.eq_ignore_ascii_case("inf") || digits.eq_ignore_ascii_case("infinity") => {
            Err(Fault::Range)
        }
        _ => Err(Fault::Syntax),
    }
}

/// Parses digits with a minus at most, and few enough not to overflow.
#[inline]
fn plain(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Parses sign, digits with a point among them, exponent. Cut after `scale` digits behind the point.
fn exact(text: &[u8], scale: u8, blank_behind_sign: bool) -> Result<Exact, Fault> {
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if blank_behind_sign {
        rest = trimmed(rest);
    }
    let (whole, rest) = digits(rest);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (&[][..], rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Fault::Syntax);
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest).ok_or(Fault::Syntax)?,
        _ => return Err(Fault::Syntax),
    };
    // The digits that remain in front of the point once the number is multiplied by 10^scale.
    let kept = whole.len() as i64 + exponent + i64::from(scale);
    let all = whole.iter().chain(fraction);
    let leading = all.clone().take_while(|byte| **byte == b'0').count() as i64;
    let total = (whole.len() + fraction.len()) as i64;
    if leading == total {
        return Ok(Exact { value: 0, lossy: false });
    }
    if kept - leading > 38 {
        return Err(Fault::Range);
    }
    let mut value = 0_i128;
    let mut lossy = false;
    for (byte, position) in all.zip(0_i64..) {
        if position < kept {
            value = value * 10 + i128::from(byte - b'0');
        } else {
            lossy |= *byte != b'0';
        }
    }
    // The number has at most 38 digits in total, as checked above.
    let missing = (kept - total).clamp(0, 38) as u32;
    value *= 10_i128.pow(missing);
    Ok(Exact { value: if negative { -value } else { value }, lossy })
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (digits, behind) = digits(rest);
    if digits.is_empty() || !behind.is_empty() {
        return None;
    }
    let value = digits.iter().fold(0_i64, |value, byte| (value * 10 + i64::from(byte - b'0')).min(1_000_000));
    Some(if negative { -value } else { value })
}

/// Strips `1,234.5` of `$` and commas; commas stand between groups of three digits only.
fn ungrouped(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"$").unwrap_or(text);
    let (sign, rest) = match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (Some(*sign), rest),
        rest => (None, rest),
    };
    let whole_end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b',')).unwrap_or(rest.len());
    let (whole, behind) = rest.split_at(whole_end);
    if behind.contains(&b',') || behind.contains(&b'$') {
        return None;
    }
    let groups: Vec<&[u8]> = whole.split(|byte| *byte == b',').collect();
    if let [first, others @ ..] = groups.as_slice()
        && !others.is_empty()
        && (!(1..=3).contains(&first.len()) || others.iter().any(|group| group.len() != 3))
    {
        return None;
    }
    Some(sign.into_iter().chain(groups.concat()).chain(behind.iter().copied()).collect())
}

/// Returns the text without blanks around it.
pub(super) fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
