//! Field and row terminators: byte strings, and their spellings.

use crate::format_file_error::TerminatorError;

/// Reads a terminator as `-t` and `-r` give it: the escapes `\t \n \r \\ \0 \"`, or hex digits behind `0x`. A hex form
/// is cut at its first zero byte, as the documentation of `bcp` says.
///
/// # Errors
/// An odd number of hex digits, or something that is no hex digit.
pub fn parse_argument(text: &str) -> Result<Vec<u8>, TerminatorError> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => {
            let mut bytes = hex(digits).ok_or_else(|| TerminatorError::Hex { text: text.to_owned() })?;
            if let Some(zero) = bytes.iter().position(|&byte| byte == 0) {
                bytes.truncate(zero);
            }
            Ok(bytes)
        }
        None => Ok(unescape(text)),
    }
}

/// Replaces the escapes of a terminator: `\t \n \r \\ \0 \"`, and `\x` with two hex digits, which the vendor's reader
/// takes as well. Any other backslash stands for itself.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, taken) = match (first, after) {
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'n', ..]) => (b'\n', 1),
            (b'\\', [b'r', ..]) => (b'\r', 1),
            (b'\\', [b'0', ..]) => (0, 1),
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (b'\\', [b'"', ..]) => (b'"', 1),
            (b'\\', [b'x', high, low, ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'\\', 0),
            },
            (other, _) => (*other, 0),
        };
        bytes.push(byte);
        rest = after.get(taken..).unwrap_or_default();
    }
    bytes
}

/// Spells a terminator with the escapes of format files. Bytes beyond ASCII are taken as UTF-8; invalid ones are written `\x..`.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\0' => text.push_str("\\0"),
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                other if other.is_control() => push_hex(&mut text, other.encode_utf8(&mut [0; 4]).as_bytes()),
                other => text.push(other),
            }
        }
        push_hex(&mut text, chunk.invalid());
    }
    text
}

/// Converts a terminator to UTF-16LE, as Unicode modes and `SQLNCHAR` fields have it.
pub fn widen(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes).encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push_str(&format!("\\x{byte:02X}"));
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks_exact(2);
    if digits.is_empty() || !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn escapes_and_hex_are_read() {
        for (text, bytes) in [
            (r"\t", &b"\t"[..]),
            (r"\r\n", b"\r\n"),
            (r"\\", b"\\"),
            (r"|\0", b"|\0"),
            (r"\x09", b"\t"),
            (r"\q", b"\\q"),
            (r"\x9", b"\\x9"),
            ("\\", b"\\"),
            ("||", b"||"),
            ("", b""),
            ("¦", "¦".as_bytes()),
            ("0x0A", b"\n"),
            ("0x0d0A", b"\r\n"),
            ("0x410041", b"A"),
        ] {
            assert_eq!(parse_argument(text).unwrap(), bytes, "{text}");
        }
        for text in ["0x", "0x1", "0xZZ", "0x4142 "] {
            let error = parse_argument(text).unwrap_err().to_string();
            assert_eq!(error, format!("the terminator {text:?} is not pairs of hex digits behind 0x"));
        }
    }

    #[test]
    fn every_byte_string_is_spelled_so_that_it_reads_back() {
        for bytes in [&b"\t\0"[..], b"\r\0\n\0", b"\"\\", b"\xFF\xFE|", "¦\u{1}".as_bytes(), b""] {
            assert_eq!(unescape(&escape(bytes)), bytes, "{}", escape(bytes));
        }
        assert_eq!(escape(b"\r\0\n\0"), r"\r\0\n\0");
    }

    #[test]
    fn widening_is_utf_16() {
        assert_eq!(widen(b"\r\n"), b"\r\0\n\0");
    }
}
