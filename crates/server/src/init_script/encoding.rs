//! Script files as text: UTF-8, or UTF-16 if it begins with a byte order mark (what SSMS saves as "Unicode").

/// The first byte that is not what the encoding allows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EncodingError {
    pub encoding: &'static str,
    pub offset: usize,
}

/// Decodes the text of a file.
pub(super) fn decode(bytes: &[u8]) -> Result<String, EncodingError> {
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return utf16(rest, u16::from_be_bytes);
    }
    let mark = if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
    match std::str::from_utf8(bytes.get(mark..).unwrap_or_default()) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(EncodingError { encoding: "UTF-8", offset: mark + error.valid_up_to() }),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, EncodingError> {
    const MARK_BYTES: usize = 2;
    let wrong = |offset| EncodingError { encoding: "UTF-16", offset: MARK_BYTES + offset };
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut offset = 0;
    let mut text = String::with_capacity(pairs.len());
    for ch in char::decode_utf16(pairs.iter().copied().map(unit)) {
        let ch = ch.map_err(|_| wrong(offset))?;
        offset += 2 * ch.len_utf16();
        text.push(ch);
    }
    if rest.is_empty() { Ok(text) } else { Err(wrong(offset)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_choose_the_encoding() {
        assert_eq!(decode("é".as_bytes()), Ok("é".to_owned()));
        assert_eq!(decode(b"\xEF\xBB\xBF\xC3\xA9"), Ok("é".to_owned()));
        assert_eq!(decode(b"\xFF\xFE\xE9\x00\x3D\xD8\x00\xDE"), Ok("é😀".to_owned()));
        assert_eq!(decode(b"\xFE\xFF\x00\xE9"), Ok("é".to_owned()));
    }

    #[test]
    fn wrong_bytes_are_named() {
        assert_eq!(decode(b"ab\xE9"), Err(EncodingError { encoding: "UTF-8", offset: 2 }));
        assert_eq!(decode(b"\xFF\xFEa\x00\x00\xDC"), Err(EncodingError { encoding: "UTF-16", offset: 4 }));
        assert_eq!(decode(b"\xFF\xFEa\x00b"), Err(EncodingError { encoding: "UTF-16", offset: 4 }));
    }
}
