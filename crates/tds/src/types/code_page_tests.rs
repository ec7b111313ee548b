#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// `code page, text, bytes`: words in the languages that the code pages were made for.
const WORDS: &[(u16, &str, &[u8])] = &[
    (65001, "naïve 😀", b"na\xC3\xAFve \xF0\x9F\x98\x80"),
    (437, "café ░ß", b"caf\x82 \xB0\xE1"),
    (850, "Ñandú", b"\xA5and\xA3"),
    (874, "ไทย", b"\xE4\xB7\xC2"),
    (932, "日本語 ﾊﾝｶｸ", b"\x93\xFA\x96\x7B\x8C\xEA \xCA\xDD\xB6\xB8"),
    (932, "①㈱髙", b"\x87\x40\x87\x8A\xFB\xFC"),
    (936, "中文€", b"\xD6\xD0\xCE\xC4\x80"),
    (949, "한국어 똠", b"\xC7\xD1\xB1\xB9\xBE\xEE \x8C\x63"),
    (950, "中文€碁", b"\xA4\xA4\xA4\xE5\xA3\xE1\xF9\xD6"),
    (1250, "Łódź", b"\xA3\xF3d\x9F"),
    (1251, "Привет", b"\xCF\xF0\xE8\xE2\xE5\xF2"),
    (1252, "Äpfel €5 – naïve", b"\xC4pfel \x805 \x96 na\xEFve"),
    (1253, "Ελλάδα", b"\xC5\xEB\xEB\xDC\xE4\xE1"),
    (1254, "İstanbul ğş", b"\xDDstanbul \xF0\xFE"),
    (1255, "שלום", b"\xF9\xEC\xE5\xED"),
    (1256, "سلام", b"\xD3\xE1\xC7\xE3"),
    (1257, "ąčęė", b"\xE0\xE8\xE6\xEB"),
    (1258, "ăđơư", b"\xE3\xF0\xF5\xFD"),
    // Undefined bytes are C1 controls, or private use where Windows puts them there.
    (1252, "\u{81}\u{8D}\u{8F}\u{90}\u{9D}", b"\x81\x8D\x8F\x90\x9D"),
    (1250, "\u{81}\u{83}\u{88}\u{90}\u{98}", b"\x81\x83\x88\x90\x98"),
    (1253, "\u{F8F9}\u{F8FA}\u{F8FB}", b"\xAA\xD2\xFF"),
    (1255, "\u{F88D}\u{F893}\u{F896}", b"\xD9\xDF\xFF"),
    (1257, "\u{F8FC}\u{F8FD}", b"\xA1\xA5"),
    (874, "\u{F8C1}\u{F8C8}", b"\xDB\xFF"),
    // End-user-defined characters: first and last of each area.
    (932, "\u{E000}\u{E757}\u{F8F0}", b"\xF0\x40\xF9\xFC\xA0"),
    (936, "\u{E000}\u{E234}\u{E4C5}\u{E4C6}\u{E765}", b"\xAA\xA1\xF8\xA1\xFE\xFE\xA1\x40\xA7\xA0"),
    (949, "\u{E000}\u{E05D}\u{E05E}\u{E0BB}", b"\xC9\xA1\xC9\xFE\xFE\xA1\xFE\xFE"),
    (950, "\u{E000}\u{E310}\u{E311}\u{EEB7}", b"\xFA\x40\xFE\xFE\x8E\x40\xA0\xFE"),
    (950, "\u{EEB8}\u{F6B0}\u{F6B1}\u{F848}", b"\x81\x40\x8D\xFE\xC6\xA1\xC8\xFE"),
];

#[test]
fn words_convert_both_ways() {
    for (number, text, bytes) in WORDS {
        let code_page = CodePage::from_number(*number).unwrap();
        assert_eq!(code_page.encode(text).unwrap().as_ref(), *bytes, "{code_page} {text}");
        assert_eq!(code_page.decode(bytes).unwrap(), *text, "{code_page}");
        assert_eq!(code_page.encoded_len(text), Ok(bytes.len()), "{code_page} {text}");
    }
}

#[test]
fn ascii_is_borrowed_both_ways() {
    for code_page in CodePage::ALL {
        assert!(matches!(code_page.decode(b"plain text"), Ok(Cow::Borrowed("plain text"))));
        assert!(matches!(code_page.encode("plain text"), Ok(Cow::Borrowed(b"plain text"))));
        assert_eq!(code_page.encoded_len("plain text"), Ok(10));
        let ascii: Vec<u8> = (0..0x80).collect();
        assert_eq!(code_page.decode(&ascii).unwrap().as_bytes(), ascii);
    }
}

#[test]
fn every_single_byte_of_the_windows_pages_round_trips() {
    for code_page in CodePage::ALL.into_iter().filter(|code_page| code_page.max_char_len_bytes() == 1) {
        let mut seen = HashSet::new();
        for byte in 0..=u8::MAX {
            let text = code_page.decode(&[byte]).unwrap().into_owned();
            assert!(seen.insert(text.clone()), "{code_page}: two bytes for {text:?}");
            assert_eq!(code_page.encode(&text).unwrap().as_ref(), [byte], "{code_page}");
        }
    }
}

// The counts are those of another implementation's tables plus the user-defined areas.
#[test]
fn every_double_byte_code_round_trips_as_text() {
    for (code_page, characters) in [
        (CodePage::Cp932, 9_206),
        (CodePage::Cp936, 23_834),
        (CodePage::Cp949, 17_236),
        (CodePage::Cp950, 19_710),
    ] {
        let mut seen = HashSet::new();
        for code in 0x8140..=0xFEFE_u16 {
            let bytes = code.to_be_bytes();
            let Ok(text) = code_page.decode(&bytes) else { continue };
            if text.chars().count() != 1 {
                continue; // two single bytes
            }
            let back = code_page.encode(&text).unwrap();
            assert_eq!(code_page.decode(&back).unwrap(), text, "{code_page} {code:04X}");
            seen.insert(text.into_owned());
        }
        assert_eq!(seen.len(), characters, "{code_page}");
    }
}

#[test]
fn best_fits_are_refused() {
    for (number, text, ch, index) in [
        (1252, "smørrebrød Ł", 'Ł', 13),
        (932, "5¥", '¥', 1),
        (932, "a\u{2212}b", '\u{2212}', 1),
        (437, "100€", '€', 3),
        (1251, "é", 'é', 0),
        (936, "x😀", '😀', 1),
        (950, "\u{2550}\u{E5}", '\u{E5}', 3),
    ] {
        let code_page = CodePage::from_number(number).unwrap();
        let error = Unmappable { code_page, ch, index };
        assert_eq!(code_page.encode(text), Err(error));
        assert_eq!(code_page.encoded_len(text), Err(error));
    }
    assert_eq!(
        CodePage::Cp1252.encode("Ł").unwrap_err().to_string(),
        "code page 1252 has no 'Ł' (U+0141, at byte 0)"
    );
}

#[test]
fn broken_bytes_name_their_place() {
    for (number, bytes, offset) in [
        (65001, &b"ok\xC3"[..], 2),
        (932, b"ok\x93", 2),
        (932, b"\x93\xFA\x81\x20", 2),
        (936, b"\xFE\x50", 0),
        (950, b"abc\xA3\xC0", 3),
        (949, b"\xA1\x40", 0),
    ] {
        let code_page = CodePage::from_number(number).unwrap();
        assert_eq!(code_page.decode(bytes), Err(CodePageError { code_page, offset }));
    }
}

#[test]
fn the_preferred_code_of_a_duplicate_is_the_one_windows_uses() {
    // NEC row 13 before JIS symbols' copies, IBM extensions before NEC's selection of them; the box drawing of 950.
    for (number, text, bytes) in [
        (932, "≒", b"\x81\xE0"),
        (932, "∵", b"\x81\xE6"),
        (932, "￢", b"\x81\xCA"),
        (932, "Ⅰ", b"\x87\x54"),
        (932, "ⅰ", b"\xFA\x40"),
        (932, "纊", b"\xFA\x5C"),
        (950, "═", b"\xF9\xF9"),
        (950, "十", b"\xA4\x51"),
    ] {
        let code_page = CodePage::from_number(number).unwrap();
        assert_eq!(code_page.encode(text).unwrap().as_ref(), bytes, "{code_page} {text}");
    }
}

proptest! {
    #[test]
    fn whatever_encodes_decodes_to_itself(text in any::<String>(), page in 0..CodePage::ALL.len()) {
        let code_page = CodePage::ALL[page];
        if let Ok(bytes) = code_page.encode(&text) {
            prop_assert_eq!(code_page.decode(&bytes).unwrap(), text.as_str());
            prop_assert_eq!(code_page.encoded_len(&text), Ok(bytes.len()));
        }
    }

    #[test]
    fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64), page in 0..CodePage::ALL.len()) {
        let code_page = CodePage::ALL[page];
        if let Ok(text) = code_page.decode(&bytes) {
            let back = code_page.encode(&text).unwrap();
            prop_assert_eq!(code_page.decode(&back).unwrap(), text.as_ref());
        }
    }
}
