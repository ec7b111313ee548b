//! The head of a file as text: which encoding, which row terminator.

use tds::CodePage;

use crate::Encoding;
use crate::csv::text_of;

/// Decoded text of whole rows.
pub(super) struct Sample {
    pub(super) encoding: Encoding,
    pub(super) byte_order_mark: bool,
    pub(super) text: String,
    /// Text that ends a line.
    pub(super) line_end: String,
    pub(super) last_row_is_terminated: bool,
    /// The file ends behind the sample.
    pub(super) is_complete: bool,
}

/// Returns the name of a format that begins with its own mark.
pub(super) fn known(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"PAR1", "Apache Parquet"),
        (b"ARROW1", "Arrow IPC file"),
        (b"\x1F\x8B", "gzip"),
        (b"\x28\xB5\x2F\xFD", "zstd"),
        (b"PK\x03\x04", "a ZIP archive; a workbook is read by `bulkwire copy`"),
        (
            b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
            "an old Office document; a workbook is read by `bulkwire copy`",
        ),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"%PDF-", "a PDF document"),
    ];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| *name)
}

impl Sample {
    /// Decodes the bytes as text of the encoding that a mark names, or that is `asked` for, or else that is
    /// guessed; `None` if they are no text.
    pub(super) fn decode(bytes: &[u8], is_complete: bool, asked: Option<Encoding>) -> Option<Self> {
        let (mark, skipped) = match Encoding::of_mark(bytes) {
            Some((encoding, length)) => (Some(encoding), length),
            None => (None, 0),
        };
        let body = bytes.get(skipped..).unwrap_or_default();
        let encoding = match mark.or(asked) {
            Some(encoding) => encoding,
            None => guess_encoding(body)?,
        };
        let mut text = match encoding {
            _ if asked.is_some() => text_of(encoding, body),
            Encoding::Utf16Le => utf16(body, u16::from_le_bytes)?,
            Encoding::Utf16Be => utf16(body, u16::from_be_bytes)?,
            Encoding::Utf8 => utf8_head(body).to_owned(),
            Encoding::CodePage(number) => CodePage::from_number(number)?.decode(body).ok()?.into_owned(),
        };
        if asked.is_none() && is_binary(&text) {
            return None;
        }
        let line_end = line_end(&text).to_owned();
        let last_row_is_terminated = text.ends_with(&line_end) || text.is_empty();
        if !is_complete {
            // The last row may be cut off.
            let end = text.rfind(&line_end).map_or(text.len(), |at| at + line_end.len());
            text.truncate(end);
        }
        Some(Self {
            encoding,
            byte_order_mark: mark.is_some(),
            text,
            line_end,
            last_row_is_terminated: last_row_is_terminated || !is_complete,
            is_complete,
        })
    }
}

/// Guesses the encoding of text without a byte-order mark.
fn guess_encoding(body: &[u8]) -> Option<Encoding> {
    // Latin text in UTF-16 has a zero in every other byte; in other encodings zeros are rare.
    let head = body.get(..body.len().min(4096)).unwrap_or_default();
    let zeros = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let half = head.len() / 2;
    if head.len() >= 4 && odd * 10 > half * 7 && even * 10 < half {
        return Some(Encoding::Utf16Le);
    }
    if head.len() >= 4 && even * 10 > half * 7 && odd * 10 < half {
        return Some(Encoding::Utf16Be);
    }
    if utf8_head(body).len() + 4 > body.len() {
        return Some(Encoding::Utf8);
    }
    if is_japanese(body) {
        return Some(Encoding::CodePage(932));
    }
    // In DOS code pages letters lie at 80 to A5, in Windows' at C0 to FF.
    let count = |range: std::ops::RangeInclusive<u8>| body.iter().filter(|byte| range.contains(byte)).count();
    let (dos, windows) = (count(0x80..=0xA5), count(0xC0..=0xFF));
    Some(Encoding::CodePage(if dos > windows { 850 } else { 1252 }))
}

/// Returns true if the bytes are Shift-JIS: they decode, and kana, which no European text decodes to, are a
/// fifth of the characters beyond ASCII.
fn is_japanese(body: &[u8]) -> bool {
    // A character may be cut in two at the end of the sample.
    let Ok(text) = CodePage::Cp932
        .decode(body)
        .or_else(|_| CodePage::Cp932.decode(body.split_last().map_or(body, |(_, rest)| rest)))
    else {
        return false;
    };
    let beyond = text.chars().filter(|c| !c.is_ascii()).count();
    let kana = text.chars().filter(|c| matches!(c, '\u{3041}'..='\u{30FF}')).count();
    kana > 1 && kana * 5 >= beyond
}

/// Returns true if each line is an object of JSON.
pub(super) fn is_json_lines(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| line.starts_with('{') && line.ends_with('}'))
}

/// Returns the head of the bytes that is UTF-8.
fn utf8_head(body: &[u8]) -> &str {
    match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let valid = body.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    }
}

fn utf16(body: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let units: Vec<u16> = body.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
    match String::from_utf16(&units) {
        Ok(text) => Some(text),
        // A character may be cut in two at the end of the sample.
        Err(_) => String::from_utf16(units.split_last()?.1).ok(),
    }
}

/// Returns true if the text has many control characters; one NUL is bcp's empty string.
fn is_binary(text: &str) -> bool {
    let odd = |c: char| {
        c.is_control()
            && !matches!(c, '\t' | '\n' | '\r' | '\u{C}' | '\u{1A}' | '\u{1C}'..='\u{1F}' | '\u{1}' | '\u{2}')
    };
    let controls = text.chars().filter(|c| odd(*c)).count();
    let replaced = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    (controls + replaced) * 20 > text.chars().count()
}

fn line_end(text: &str) -> &'static str {
    let feeds = text.matches('\n').count();
    let both = text.matches("\r\n").count();
    let twice = text.matches("\r\r\n").count();
    if feeds > 0 {
        match (twice * 2 > feeds, both * 2 > feeds) {
            (true, _) => "\r\r\n",
            (false, true) => "\r\n",
            (false, false) => "\n",
        }
    } else if text.contains('\r') {
        "\r"
    } else if text.contains('\u{1E}') {
        "\u{1E}"
    } else {
        "\n"
    }
}
