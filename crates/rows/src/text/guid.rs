//! `uniqueidentifier`: 8-4-4-4-12 hexadecimal digits, with or without braces.

use super::{TextError, binary::nibble, trim_blanks};

const GUID: TextError = TextError::Syntax { expected: "a GUID (8-4-4-4-12 hex digits)" };

/// Offset of each byte's two digits in the 36-character form.
const DIGIT_OFFSETS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// Parses a GUID in the order of its text; [`swap_order`] gives the wire's order.
pub fn guid(text: &str) -> Result<[u8; 16], TextError> {
    let trimmed = trim_blanks(text);
    let inner = match trimmed {
        [] => return Err(TextError::Empty),
        [b'{', inner @ .., b'}'] => inner,
        _ => trimmed,
    };
    let inner: &[u8; 36] = inner.try_into().map_err(|_| GUID)?;
    if [inner[8], inner[13], inner[18], inner[23]] != [b'-'; 4] {
        return Err(GUID);
    }
    let mut bytes = [0u8; 16];
    let mut bad = 0u8;
    for (byte, &offset) in bytes.iter_mut().zip(&DIGIT_OFFSETS) {
        let (high, low) = (nibble(inner[offset]), nibble(inner[offset + 1]));
        bad |= high | low;
        *byte = (high << 4) | (low & 0x0f);
    }
    if bad & 0xf0 != 0 { Err(GUID) } else { Ok(bytes) }
}

/// Swaps text order to wire order, or back: the first three groups are little-endian on the wire.
#[inline]
pub fn swap_order(guid: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = guid;
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}
