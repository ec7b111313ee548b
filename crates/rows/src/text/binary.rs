//! `binary`, `varbinary`, `image` and `rowversion`: hexadecimal digits, with or without `0x`.

use super::{TextError, trim_blanks};

const NOT_HEX: TextError = TextError::Syntax { expected: "hexadecimal text" };
const BAD: u8 = 0xff;

/// Appends the bytes of hexadecimal text to `out`; on error `out` is left as it was.
///
/// The empty text is the empty value. An odd number of digits is refused, since tools disagree about its meaning.
pub fn append_binary(text: &str, out: &mut Vec<u8>) -> Result<(), TextError> {
    let trimmed = trim_blanks(text);
    let digits = match trimmed {
        [b'0', b'x' | b'X', rest @ ..] => rest,
        _ => trimmed,
    };
    let start = out.len();
    let mut bad = 0u8;
    out.extend(digits.chunks_exact(2).map(|pair| {
        let (high, low) = (nibble(pair[0]), nibble(pair[1]));
        bad |= high | low;
        (high << 4) | (low & 0x0f)
    }));
    if bad & 0xf0 != 0 || digits.chunks_exact(2).remainder().iter().any(|&digit| nibble(digit) == BAD) {
        out.truncate(start);
        return Err(NOT_HEX);
    }
    if digits.len() % 2 != 0 {
        out.truncate(start);
        return Err(TextError::OddHexDigits { digits: digits.len() });
    }
    Ok(())
}

/// Parses hexadecimal text to bytes; see [`append_binary`].
pub fn binary(text: &str) -> Result<Vec<u8>, TextError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    append_binary(text, &mut bytes)?;
    Ok(bytes)
}

#[inline]
pub(super) fn nibble(digit: u8) -> u8 {
    NIBBLES[usize::from(digit)]
}

/// The value of each hex digit; [`BAD`] for every other byte.
const NIBBLES: [u8; 256] = {
    let mut table = [BAD; 256];
    let mut value = 0u8;
    while value < 16 {
        let lower = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        table[lower as usize] = value;
        table[lower.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};
