//! Bytes written as hexadecimal digits.

use super::super::Deviation;
use super::{Fault, Remark};

/// Appends the bytes of hex digits without `0x`; blanks may follow. A last digit without a partner is dropped.
pub(in super::super) fn append(text: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<Remark, Fault> {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    let text = text.get(..end).unwrap_or_default();
    let (pairs, rest) = text.as_chunks::<2>();
    let start = out.len();
    let mut bad = rest.iter().any(|digit| !digit.is_ascii_hexdigit());
    out.reserve(pairs.len());
    for [high, low] in pairs {
        match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => {
                bad = true;
                break;
            }
        }
    }
    if bad || pairs.len() > limit {
        out.truncate(start);
        return Err(if bad { Fault::Syntax } else { Fault::TooLong });
    }
    Ok((!rest.is_empty()).then_some(Deviation::OddHexDigits))
}

/// Spells bytes as `-c` does: upper case, without `0x`.
pub(in super::super) fn spell(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Parses a GUID in the order of its text; braces may stand around it, anything behind it is dropped.
pub(in super::super) fn guid(text: &[u8]) -> Result<([u8; 16], Remark), Fault> {
    let (text, braced) = match text {
        [b'{', rest @ ..] => (rest, true),
        text => (text, false),
    };
    let (digits, mut behind) = text.split_at_checked(36).ok_or(Fault::Syntax)?;
    if braced {
        behind = behind.strip_prefix(b"}").ok_or(Fault::Syntax)?;
    }
    let mut bytes = [0; 16];
    let mut position = 0;
    for (index, slot) in bytes.iter_mut().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            if digits.get(position) != Some(&b'-') {
                return Err(Fault::Syntax);
            }
            position += 1;
        }
        let nibble = |at: usize| digits.get(at).copied().and_then(digit).ok_or(Fault::Syntax);
        *slot = nibble(position)? << 4 | nibble(position + 1)?;
        position += 2;
    }
    let clean = behind.iter().all(|byte| *byte == b' ');
    Ok((bytes, (!clean).then_some(Deviation::CutToColumn)))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
