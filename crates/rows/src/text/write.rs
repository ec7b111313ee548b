//! Writers of digits into a byte buffer: no allocation, no formatting machinery.

use super::calendar::civil_from_days;

/// Every pair of digits, "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut value = 0;
    while value < 100 {
        pairs[value] = [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        value += 1;
    }
    pairs
};

#[inline]
fn pair(value: u32) -> [u8; 2] {
    PAIRS[(value % 100) as usize]
}

/// Writes an unsigned whole number.
#[inline]
pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    let mut digits = [b'0'; 20];
    let start = fill(&mut digits, value);
    out.extend_from_slice(digits.get(start..).unwrap_or(&[]));
}

/// Writes a signed whole number.
#[inline]
pub fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// Puts the digits at the end of `digits` and returns where they start.
#[inline]
fn fill(digits: &mut [u8; 20], mut value: u64) -> usize {
    let mut start = digits.len();
    while value >= 100 {
        start -= 2;
        [digits[start], digits[start + 1]] = PAIRS[(value % 100) as usize];
        value /= 100;
    }
    if value >= 10 {
        start -= 2;
        [digits[start], digits[start + 1]] = PAIRS[value as usize];
    } else {
        start -= 1;
        digits[start] = b'0' + value as u8;
    }
    start
}

/// Writes exactly `width` (at most 20) digits, zeros in front.
#[inline]
fn padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    fill(&mut digits, value);
    out.extend_from_slice(digits.get(20usize.saturating_sub(width)..).unwrap_or(&[]));
}

/// Writes a number in units of 10^-scale, all decimals written; `0.50` is `.50` without the leading zero.
#[inline]
pub fn scaled(out: &mut Vec<u8>, value: i128, scale: u8, leading_zero: bool) {
    if value < 0 {
        out.push(b'-');
    }
    let magnitude = value.unsigned_abs();
    let scale = usize::from(scale);
    let start = out.len();
    match u64::try_from(magnitude) {
        Ok(small) => unsigned(out, small),
        Err(_) => {
            // Two halves of 19 digits; the upper one is below 2^64 for every u128 of 38 digits.
            const HALF: u128 = 10u128.pow(19);
            let (upper, lower) = (magnitude / HALF, (magnitude % HALF) as u64);
            match u64::try_from(upper) {
                Ok(upper) => unsigned(out, upper),
                Err(_) => {
                    unsigned(out, (upper / HALF) as u64);
                    padded(out, (upper % HALF) as u64, 19);
                }
            }
            padded(out, lower, 19);
        }
    }
    if scale == 0 {
        return;
    }
    let written = out.len() - start;
    if written > scale {
        out.insert(out.len() - scale, b'.');
    } else {
        let prefix = [b'0'; 40];
        let zeros = prefix.get(..scale - written).unwrap_or(&prefix);
        let point: &[u8] = if leading_zero { b"0." } else { b"." };
        out.splice(start..start, point.iter().chain(zeros).copied());
    }
}

/// Writes `yyyy-mm-dd`.
#[inline]
pub fn date(out: &mut Vec<u8>, days: i32) {
    let (year, month, day) = civil_from_days(days);
    let ([a, b], [c, d], [e, f], [g, h]) = (pair(year / 100), pair(year), pair(month), pair(day));
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Writes `hh:mm:ss`, then a point and `scale` digits if the scale is not zero. `ticks` count 10^-scale s.
#[inline]
pub fn time(out: &mut Vec<u8>, ticks: u64, scale: u8) {
    let per_second = 10u64.pow(u32::from(scale.min(9)));
    let (seconds, fraction) = ((ticks / per_second) as u32, ticks % per_second);
    let ([a, b], [c, d], [e, f]) = (pair(seconds / 3600), pair(seconds / 60 % 60), pair(seconds % 60));
    out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
    if scale > 0 {
        out.push(b'.');
        padded(out, fraction, usize::from(scale.min(9)));
    }
}

/// Writes an offset as ` +hh:mm`.
#[inline]
pub fn offset(out: &mut Vec<u8>, minutes: i16) {
    let magnitude = u32::from(minutes.unsigned_abs());
    let ([a, b], [c, d]) = (pair(magnitude / 60), pair(magnitude % 60));
    out.extend_from_slice(&[b' ', if minutes < 0 { b'-' } else { b'+' }, a, b, b':', c, d]);
}

/// Writes upper-case hexadecimal digits.
#[inline]
pub fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend(
        bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0x0f)]]),
    );
}

/// Writes a GUID in text order, upper case, without braces.
#[inline]
pub fn guid(out: &mut Vec<u8>, guid: &[u8; 16]) {
    for (index, byte) in guid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        hex(out, std::slice::from_ref(byte));
    }
}

/// Writes the shortest digits that read back as the same value, always with a point; from 1E16 and below 1E-5
/// with an exponent, as `bcp` writes them.
pub fn float(out: &mut Vec<u8>, value: f64) {
    if (1e-5..1e16).contains(&value.abs()) {
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else {
        exponential(out, value == 0.0, &value);
    }
}

/// Prints a 32-bit number as [`float`] does; the exponent form begins at 1E7.
pub fn real(out: &mut Vec<u8>, value: f32) {
    if (1e-5..1e7).contains(&value.abs()) {
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else {
        exponential(out, value == 0.0, &value);
    }
}

/// Writes a number with an exponent: `1.0E+16`, `1.5E-7`. Zero is `0.0`, and infinities and NaN have their
/// names.
fn exponential<T: std::fmt::UpperExp>(out: &mut Vec<u8>, zero: bool, value: &T) {
    let text = format!("{value:E}");
    if zero {
        out.extend_from_slice(if text.starts_with('-') { b"-0.0" } else { b"0.0" });
        return;
    }
    let Some((mantissa, exponent)) = text.split_once('E') else {
        out.extend_from_slice(text.as_bytes());
        return;
    };
    out.extend_from_slice(mantissa.as_bytes());
    if !mantissa.contains('.') {
        out.extend_from_slice(b".0");
    }
    out.push(b'E');
    if !exponent.starts_with('-') {
        out.push(b'+');
    }
    out.extend_from_slice(exponent.as_bytes());
}
