//! The characters of a piece of a file, each with the bytes that it takes there.

use encoding_rs::DecoderResult;

use crate::Encoding;
use crate::encoding::Decoder;

/// A character, and how many bytes of the file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyph {
    /// The character; U+FFFD stands for bytes that are none.
    pub character: char,
    /// Bytes in the file. 0 if it belongs to the bytes of the one before.
    pub bytes: usize,
}

/// Decodes any `bytes` to characters. In an unknown encoding every byte is U+FFFD.
pub fn glyphs(encoding: Encoding, bytes: &[u8]) -> Vec<Glyph> {
    let unknown = |bytes: usize| Glyph { character: char::REPLACEMENT_CHARACTER, bytes };
    match Decoder::new(encoding) {
        Ok(Decoder::Utf8) => {
            let mut found = Vec::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                let valid = chunk.valid().chars();
                found.extend(valid.map(|character| Glyph { character, bytes: character.len_utf8() }));
                found.extend(chunk.invalid().iter().map(|_| unknown(1)));
            }
            found
        }
        Ok(Decoder::SingleByte(table)) => {
            let known = |byte: &u8| match table.get(usize::from(*byte)) {
                Some(Some(character)) => Glyph { character: *character, bytes: 1 },
                _ => unknown(1),
            };
            bytes.iter().map(known).collect()
        }
        Ok(Decoder::Library { decoder, .. }) => of_library(decoder.encoding(), bytes),
        Err(_) => bytes.iter().map(|_| unknown(1)).collect(),
    }
}

/// Decodes `bytes` to text. Bytes that are no text become U+FFFD.
pub fn text_of(encoding: Encoding, bytes: &[u8]) -> String {
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        _ => glyphs(encoding, bytes).into_iter().map(|glyph| glyph.character).collect(),
    }
}

/// Decodes byte by byte, so that each character is known with its bytes.
fn of_library(encoding: &'static encoding_rs::Encoding, bytes: &[u8]) -> Vec<Glyph> {
    let mut found = Vec::with_capacity(bytes.len());
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = [0; 16];
    let mut taken = 0;
    for byte in bytes {
        // A byte that cannot continue the character before it is looked at twice.
        for _ in 0..2 {
            let (result, read, written) =
                decoder.decode_to_utf8_without_replacement(&[*byte], &mut text, false);
            taken += read;
            let decoded = text.get(..written).and_then(|text| std::str::from_utf8(text).ok());
            for character in decoded.unwrap_or_default().chars() {
                found.push(Glyph { character, bytes: std::mem::take(&mut taken) });
            }
            if let DecoderResult::Malformed(..) = result {
                let bytes = std::mem::take(&mut taken);
                found.push(Glyph { character: char::REPLACEMENT_CHARACTER, bytes });
                decoder = encoding.new_decoder_without_bom_handling();
            }
            if read > 0 {
                break;
            }
        }
    }
    if taken > 0 {
        found.push(Glyph { character: char::REPLACEMENT_CHARACTER, bytes: taken });
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn sizes(encoding: Encoding, bytes: &[u8]) -> Vec<(char, usize)> {
        glyphs(encoding, bytes).into_iter().map(|glyph| (glyph.character, glyph.bytes)).collect()
    }

    #[test]
    fn characters_come_with_their_bytes() {
        let page = Encoding::CodePage;
        assert_eq!(sizes(Encoding::Utf8, "aé漢😀".as_bytes()), [('a', 1), ('é', 2), ('漢', 3), ('😀', 4)]);
        assert_eq!(sizes(page(1252), b"a\xE9"), [('a', 1), ('é', 1)]);
        assert_eq!(sizes(page(850), b"\x82"), [('é', 1)]);
        // Shift-JIS: two bytes for a kanji, one for a half-width kana.
        assert_eq!(sizes(page(932), b"a\x8A\xBF\xB1b"), [('a', 1), ('漢', 2), ('ｱ', 1), ('b', 1)]);
        let wide: Vec<u8> = "a漢😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(sizes(Encoding::Utf16Le, &wide), [('a', 2), ('漢', 2), ('😀', 4)]);
        let wide: Vec<u8> = "a漢😀".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(sizes(Encoding::Utf16Be, &wide), [('a', 2), ('漢', 2), ('😀', 4)]);
    }

    #[test]
    fn every_byte_is_counted_once_whatever_it_is() {
        let odd: Vec<u8> = (0..=255).chain([0x8A, b'a', 0xD8, 0x3D, 0xFF]).collect();
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be]
            .into_iter()
            .chain([850, 932, 936, 949, 950, 1252, 20127, 54936, 9].map(Encoding::CodePage))
        {
            let counted: usize = glyphs(encoding, &odd).iter().map(|glyph| glyph.bytes).sum();
            assert_eq!(counted, odd.len(), "{encoding}");
        }
    }
}
