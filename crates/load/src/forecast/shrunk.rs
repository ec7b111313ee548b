//! Values without the bytes that ROW compression leaves out.

use super::{sample::Values, stored_kind::StoredKind};

/// Longer values are long ones, which have an end offset each.
pub(super) const SHORT_LIMIT_BYTES: usize = 8;

/// Values of a column as a compressed row has them.
pub(super) fn shrink(kind: StoredKind, values: &Values) -> Values {
    let mut out = Vec::new();
    let mut shrunk = Values::default();
    for value in values.iter() {
        out.clear();
        shrunk.push(value.map(|value| {
            shrink_value(kind, value, &mut out);
            out.as_slice()
        }));
    }
    shrunk
}

/// Returns the bytes that a value takes in its row: its own, and an end offset if it is long.
pub(super) fn cost(length: usize) -> usize {
    if length > SHORT_LIMIT_BYTES { length + 2 } else { length }
}

fn shrink_value(kind: StoredKind, value: &[u8], out: &mut Vec<u8>) {
    match kind {
        // It is in the row's descriptor.
        StoredKind::Bit => {}
        StoredKind::TinyInt => out.extend(value.iter().filter(|byte| **byte > 0)),
        StoredKind::Integer(_) => integer(signed(value), out),
        StoredKind::RowVersion => {
            let bytes = value.first_chunk().copied().unwrap_or_default();
            integer(i64::from_be_bytes(bytes), out);
        }
        StoredKind::Float(_) => out.extend(value.iter().skip_while(|byte| **byte == 0)),
        StoredKind::Decimal { scale, .. } => decimal(value, scale, out),
        StoredKind::Char(_) => out.extend_from_slice(trimmed(value, b" ")),
        StoredKind::Binary(_) => out.extend_from_slice(trimmed(value, &[0])),
        StoredKind::NChar(_) => unicode(trimmed(value, &[b' ', 0]), out),
        StoredKind::Variable { is_unicode: true, .. } => unicode(value, out),
        StoredKind::Fixed(_) | StoredKind::Variable { .. } => out.extend_from_slice(value),
    }
}

/// Drops the padding at a value's end.
pub(super) fn trimmed<'a>(value: &'a [u8], padding: &[u8]) -> &'a [u8] {
    let mut end = value;
    while let Some(rest) = end.strip_suffix(padding) {
        end = rest;
    }
    end
}

fn signed(bytes: &[u8]) -> i64 {
    let negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut all = [if negative { 0xFF } else { 0 }; 8];
    all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    i64::from_le_bytes(all)
}

/// Encodes a number big-endian with the sign bit flipped, in as few bytes as hold it; zero takes none.
fn integer(value: i64, out: &mut Vec<u8>) {
    if value == 0 {
        return;
    }
    let bits = 65 - (value ^ (value >> 63)).leading_zeros();
    let bytes = (bits.div_ceil(8) as usize).clamp(1, 8);
    let mut written = value.to_be_bytes();
    if let Some(first) = written.get_mut(8 - bytes) {
        *first ^= 0x80;
    }
    out.extend_from_slice(written.get(8 - bytes..).unwrap_or_default());
}

/// Encodes sign and exponent, then three digits to ten bits, without zeros at the end.
fn decimal(value: &[u8], scale: u8, out: &mut Vec<u8>) {
    let Some((sign, magnitude)) = value.split_first() else { return };
    let mut all = [0; 16];
    all.iter_mut().zip(magnitude).for_each(|(place, byte)| *place = *byte);
    let magnitude = u128::from_le_bytes(all);
    let Some(digits) = magnitude.checked_ilog10().map(|log| log + 1) else { return };
    let exponent = digits as i32 - 1 - i32::from(scale);
    out.push((if *sign == 0 { 0 } else { 0x80 }) | (exponent + 64).clamp(0, 127) as u8);
    let text = magnitude.to_string();
    let text = text.trim_end_matches('0').as_bytes();
    let (mut bits, mut waiting) = (0_u32, 0);
    for group in text.chunks(3) {
        let number =
            group.iter().chain(b"00").take(3).fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        bits = (bits << 10) | number;
        waiting += 10;
        while waiting >= 8 {
            waiting -= 8;
            out.push((bits >> waiting) as u8);
        }
    }
    if waiting > 0 {
        out.push((bits << (8 - waiting)) as u8);
    }
}

/// Windows of 128 characters that Unicode compression begins with.
const WINDOWS: [u16; 8] = [0x0080, 0x00C0, 0x0400, 0x0600, 0x0900, 0x3040, 0x30A0, 0xFF00];

/// Applies Unicode compression if it is shorter. Windows that it would define are counted, and their bytes stand for
/// themselves.
fn unicode(utf16: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let (mut windows, mut active, mut defined) = (WINDOWS, 0_usize, 0_usize);
    for unit in utf16.as_chunks::<2>().0 {
        let unit = u16::from_le_bytes(*unit);
        let within = |window: u16| unit.checked_sub(window).filter(|index| *index < 0x80);
        match unit {
            0x20..=0x7F | 0x00 | 0x09 | 0x0A | 0x0D => out.push(unit as u8),
            0..0x20 => out.extend_from_slice(&[1, unit as u8]),
            0x3400..0xE000 => out.extend_from_slice(&[0x0E, (unit >> 8) as u8, unit as u8]),
            _ => {
                if windows.get(active).copied().and_then(within).is_none() {
                    match windows.iter().position(|window| within(*window).is_some()) {
                        Some(window) => {
                            active = window;
                            out.push(0x10 + window as u8);
                        }
                        None => {
                            (active, defined) = (defined, (defined + 1) % windows.len());
                            if let Some(window) = windows.get_mut(active) {
                                *window = unit & !0x7F;
                            }
                            out.extend_from_slice(&[0x18 + active as u8, (unit >> 7) as u8]);
                        }
                    }
                }
                let window = windows.get(active).copied().unwrap_or_default();
                out.push(0x80 | (unit.wrapping_sub(window) & 0x7F) as u8);
            }
        }
    }
    if (out.len() - start).is_multiple_of(2) && out.len() > start {
        out.push(0x10);
    }
    if out.len() - start >= utf16.len() {
        out.truncate(start);
        out.extend_from_slice(utf16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_published_bytes() {
        let cases: [(StoredKind, &[u8], &[u8]); 11] = [
            (StoredKind::Integer(4), &[1, 0, 0, 0], &[0x81]),
            (StoredKind::Integer(4), &[0xFF; 4], &[0x7F]),
            (StoredKind::Integer(2), &[128, 0], &[0x80, 0x80]),
            (StoredKind::Integer(4), &[0x82, 0xBB, 1, 0], &[0x81, 0xBB, 0x82]),
            (StoredKind::Integer(8), &[0; 8], &[]),
            (StoredKind::Integer(8), &[0, 0, 0, 0, 0, 0, 0, 0x80], &[0; 8]),
            (StoredKind::Float(8), &[0, 0, 0, 0, 0, 0, 0xF0, 0x3F], &[0xF0, 0x3F]),
            (StoredKind::Decimal { bytes: 5, scale: 3 }, &[1, 0x40, 0xE2, 1, 0], &[0xC2, 0x1E, 0xDC, 0x80]),
            (StoredKind::Char(10), b"ab        ", b"ab"),
            (StoredKind::NChar(8), b"a\0b\0 \0 \0", b"ab\x10"),
            (StoredKind::Variable { limit_bytes: Some(9), is_unicode: false }, b"ab ", b"ab "),
        ];
        for (kind, value, expected) in cases {
            let mut out = Vec::new();
            shrink_value(kind, value, &mut out);
            assert_eq!(out, expected, "{kind:?} {value:?}");
        }
    }
}
