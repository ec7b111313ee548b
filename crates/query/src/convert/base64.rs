//! Bytes in base 64 (RFC 4648, with padding), as FOR JSON and FOR XML write and OPENJSON reads them.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as text.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |group, (at, byte)| group | u32::from(*byte) << (16 - 8 * at));
        for digit in 0..4 {
            if digit <= chunk.len() {
                let index = (group >> (18 - 6 * digit)) & 63;
                text.push(DIGITS.get(index as usize).map_or('=', |digit| char::from(*digit)));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes a text; `None` for one that is no base 64. Skips blanks and line ends between digits.
pub fn of_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut digits, mut padding) = (0_u32, 0, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match DIGITS.iter().position(|digit| *digit == byte) {
            Some(value) if padding == 0 => value as u32,
            None if byte == b'=' && digits >= 2 => {
                padding += 1;
                0
            }
            _ => return None,
        };
        group = group << 6 | value;
        digits += 1;
        if digits == 4 {
            bytes.extend(group.to_be_bytes().get(1..4 - padding)?);
            (group, digits) = (0, 0);
        }
    }
    (digits == 0 && padding <= 2).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{1}\u{2}", "AQI="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(of_base64(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for wrong in ["Z", "Zg", "Zg=", "Zg==Zg==", "=", "Zg=a", "Z!==", "Zm9vZ==="] {
            assert_eq!(of_base64(wrong), None, "{wrong}");
        }
        assert_eq!(of_base64("Zm9v\r\nYmFy").as_deref(), Some(b"foobar".as_slice()));
    }
}
