//! char, varchar, nchar, nvarchar, text, ntext, xml and json.

use arrow::array::ArrayRef;
use arrow::json::writer::{EncoderOptions, make_encoder};
use tds::{CodePage, SqlType};

use super::binaries::{LOB_BYTES_MAX, first_longer};
use super::raw::Raw;
use super::{CastOptions, Fault, Source, Target, text_source};
use crate::cell_error::{CellErrorReason, LengthUnit};
use crate::encode::transcode::{SHORT_BYTES, beyond_ascii, short_utf16_len, utf16_len, without_next};
use crate::encode::{Content, VariableLane};
use crate::text::{FormatTextError, TextOptions, format_column};

pub(super) fn texts<'a>(source: &Source<'a, '_>, target: &Target) -> Result<VariableLane<'a>, Fault> {
    let raw = if text_source::is_text(source) {
        Raw::new(source.array).ok_or_else(|| Fault { index: 0, reason: target.out_of_range() })?
    } else if source.data_type().is_nested() {
        json(source)?
    } else {
        formatted(source)?
    };
    encode(source, raw, target)
}

/// UTF-8 text as the target wants it: UTF-16, UTF-8 or a code page, and no longer than the target allows.
fn encode<'a>(source: &Source<'_, '_>, raw: Raw<'a>, target: &Target) -> Result<VariableLane<'a>, Fault> {
    let encoding = Encoding::of(target);
    let limit = target.sql_type().max_length_bytes().map_or(LOB_BYTES_MAX, u64::from) / encoding.unit_bytes();
    let frame = target.frame;
    if raw.used_bytes().is_ascii() {
        let raw = within(source, raw, limit, encoding, |text| text.len() as u64)?;
        let content = match encoding {
            Encoding::Utf16 => Content::AsciiAsUtf16,
            Encoding::CodePage(_) => Content::Bytes,
        };
        return Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content, frame });
    }
    match encoding {
        Encoding::Utf16 => {
            // A UTF-8 text has at least as many bytes as UTF-16 units.
            let raw = match first_longer(source, &raw, limit) {
                Some(_) => within(source, raw, limit, encoding, |text| utf16_len(text.as_bytes()) as u64)?,
                None => raw,
            };
            // The slots of NULLs are measured too; nobody asks for them.
            let mut units = vec![0; raw.len];
            raw.each_span(|index, span| {
                let head = raw.bytes.get(span.start..).and_then(<[u8]>::first_chunk);
                units[index] = match head {
                    Some(head) if span.len() <= SHORT_BYTES => short_utf16_len(head, span.len()) as u32,
                    _ => utf16_len(&raw.bytes[span]) as u32,
                };
            });
            let content = Content::Utf8AsUtf16 { units };
            Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content, frame })
        }
        Encoding::CodePage(CodePage::Utf8) => {
            let raw = within(source, raw, limit, encoding, |text| text.len() as u64)?;
            Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content: Content::Bytes, frame })
        }
        Encoding::CodePage(code_page) => {
            let raw = transcoded(source, &raw, code_page, limit)?;
            Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content: Content::Bytes, frame })
        }
    }
}

/// How the target stores text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf16,
    CodePage(CodePage),
}

impl Encoding {
    fn of(target: &Target) -> Self {
        match target.sql_type() {
            SqlType::Json => Encoding::CodePage(CodePage::Utf8),
            SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text => {
                Encoding::CodePage(target.type_info.collation.unwrap_or_default().code_page())
            }
            _ => Encoding::Utf16,
        }
    }

    fn unit_bytes(self) -> u64 {
        match self {
            Encoding::Utf16 => 2,
            Encoding::CodePage(_) => 1,
        }
    }

    fn unit(self) -> LengthUnit {
        match self {
            Encoding::Utf16 => LengthUnit::Utf16Units,
            Encoding::CodePage(_) => LengthUnit::Bytes,
        }
    }

    /// Units that `character` takes, in the encodings whose lengths follow from the scalar value alone.
    fn char_len(self, character: char) -> u64 {
        match self {
            Encoding::Utf16 => character.len_utf16() as u64,
            Encoding::CodePage(_) => character.len_utf8() as u64,
        }
    }
}

/// `raw` if no value is longer than `limit` by `measure`, or else, if that is allowed, a copy with the long ones cut.
fn within<'a>(
    source: &Source<'_, '_>,
    raw: Raw<'a>,
    limit: u64,
    encoding: Encoding,
    measure: impl Fn(&str) -> u64,
) -> Result<Raw<'a>, Fault> {
    let Some(suspect) = first_longer(source, &raw, limit) else { return Ok(raw) };
    let too_long = |index: usize| source.is_valid(index) && measure(text_of(&raw, index)) > limit;
    let Some(index) = (suspect..raw.len).find(|&index| too_long(index)) else { return Ok(raw) };
    if !source.options.allow_truncate {
        let length = measure(text_of(&raw, index));
        let reason = CellErrorReason::TooLong { length, limit, unit: encoding.unit() };
        return Err(Fault { index, reason });
    }
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(raw.len + 1);
    offsets.push(0);
    for index in 0..raw.len {
        let text = text_of(&raw, index);
        let kept =
            if too_long(index) { head(text, limit, |character| encoding.char_len(character)) } else { text };
        bytes.extend_from_slice(kept.as_bytes());
        offsets.push(bytes.len() as i64);
    }
    Ok(Raw::owned(bytes, offsets))
}

/// The longest head of `text` whose characters take no more than `limit` units.
fn head(text: &str, limit: u64, char_len: impl Fn(char) -> u64) -> &str {
    let mut used = 0;
    for (index, character) in text.char_indices() {
        used += char_len(character);
        if used > limit {
            return text.get(..index).unwrap_or(text);
        }
    }
    text
}

/// Text in a legacy code page.
fn transcoded(
    source: &Source<'_, '_>,
    raw: &Raw<'_>,
    code_page: CodePage,
    limit: u64,
) -> Result<Raw<'static>, Fault> {
    let table = (code_page.max_char_len_bytes() == 1).then(|| SingleByteTable::new(code_page));
    let mut bytes = Vec::with_capacity(raw.used_bytes().len());
    let mut offsets = Vec::with_capacity(raw.len + 1);
    offsets.push(0);
    for index in 0..raw.len {
        if source.is_valid(index) {
            let start = bytes.len();
            let span = raw.span(index);
            let head = raw.bytes.get(span.start..).and_then(<[u8]>::first_chunk);
            let by_table = table.as_ref().is_some_and(|table| match head {
                Some(head) if span.len() <= SHORT_BYTES => {
                    table.append_short(head, span.len(), &mut bytes)
                        || table.append(raw.value(index), &mut bytes)
                }
                _ => table.append(raw.value(index), &mut bytes),
            });
            if by_table && (bytes.len() - start) as u64 <= limit {
                offsets.push(bytes.len() as i64);
                continue;
            }
            bytes.truncate(start);
            append_encoded(text_of(raw, index), code_page, source.options, &mut bytes)
                .map_err(|reason| Fault { index, reason })?;
            let length = (bytes.len() - start) as u64;
            if length > limit {
                if !source.options.allow_truncate {
                    let reason = CellErrorReason::TooLong { length, limit, unit: LengthUnit::Bytes };
                    return Err(Fault { index, reason });
                }
                bytes.truncate(start);
                append_cut(text_of(raw, index), code_page, source.options, limit, &mut bytes)
                    .map_err(|reason| Fault { index, reason })?;
            }
        }
        offsets.push(bytes.len() as i64);
    }
    Ok(Raw::owned(bytes, offsets))
}

/// The bytes of a single-byte code page for the characters of one and two bytes of UTF-8: all letters of Europe and of the
/// Near East.
struct SingleByteTable([u8; 0x800]);

impl SingleByteTable {
    fn new(code_page: CodePage) -> Self {
        let mut table = [0; 0x800];
        let (mut text, mut encoded) = ([0; 4], Vec::new());
        for (scalar, slot) in (0_u32..).zip(&mut table) {
            encoded.clear();
            if let Some(character) = char::from_u32(scalar)
                && code_page.encode_into(character.encode_utf8(&mut text), &mut encoded).is_ok()
                && let [byte] = encoded[..]
            {
                *slot = byte;
            }
        }
        SingleByteTable(table)
    }

    /// Appends the bytes of the first `length` (at most [`SHORT_BYTES`]) bytes of `head`, if they are ASCII but for one
    /// character at most. False, and nothing appended, if they are not.
    #[inline(always)]
    fn append_short(&self, head: &[u8; SHORT_BYTES + 1], length: usize, bytes: &mut Vec<u8>) -> bool {
        let Some(short) = head.first_chunk() else { return false };
        let beyond = beyond_ascii(short, length);
        let at = beyond.trailing_zeros() as usize;
        let start = bytes.len();
        if beyond == 0 {
            bytes.extend_from_slice(short);
            bytes.truncate(start + length);
            return true;
        }
        let Some([lead @ 0xC0..0xE0, next]) = head.get(at..).and_then(<[u8]>::first_chunk::<2>) else {
            return false;
        };
        // Its two bytes are the only ones.
        if beyond != 0b11 << at {
            return false;
        }
        let byte = self.0[(usize::from(lead & 0x1F) << 6 | usize::from(next & 0x3F)) % 0x800];
        if byte == 0 {
            return false;
        }
        bytes.extend_from_slice(&without_next(head, at));
        bytes.truncate(start + length - 1);
        if let Some(slot) = bytes.get_mut(start + at) {
            *slot = byte;
        }
        true
    }

    /// Appends the bytes of UTF-8 `text`. False, and something of no use appended, if a character is not in the table.
    fn append(&self, mut text: &[u8], bytes: &mut Vec<u8>) -> bool {
        loop {
            match text {
                [] => return true,
                [ascii @ .., _] if ascii.len() >= 8 && ascii[..8].is_ascii() => {
                    bytes.extend_from_slice(&ascii[..8]);
                    text = &text[8..];
                }
                [ascii @ 0..0x80, rest @ ..] => {
                    bytes.push(*ascii);
                    text = rest;
                }
                [lead @ 0xC0..0xE0, second, rest @ ..] => {
                    let scalar = usize::from(*lead & 0x1F) << 6 | usize::from(*second & 0x3F);
                    match self.0[scalar % 0x800] {
                        0 => return false,
                        byte => bytes.push(byte),
                    }
                    text = rest;
                }
                _ => return false,
            }
        }
    }
}

fn append_encoded(
    text: &str,
    code_page: CodePage,
    options: &CastOptions,
    bytes: &mut Vec<u8>,
) -> Result<(), CellErrorReason> {
    if text.is_ascii() {
        bytes.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let start = bytes.len();
    let Err(unmappable) = code_page.encode_into(text, bytes) else { return Ok(()) };
    bytes.truncate(start);
    let reason = CellErrorReason::Unmappable { character: unmappable.ch, index: unmappable.index, code_page };
    let Some(replacement) = options.replacement else { return Err(reason) };
    let mut buffer = [0; 4];
    let mut replaced = Vec::new();
    code_page.encode_into(replacement.encode_utf8(&mut buffer), &mut replaced).map_err(|_| reason)?;
    for character in text.chars() {
        let before = bytes.len();
        if code_page.encode_into(character.encode_utf8(&mut buffer), bytes).is_err() {
            bytes.truncate(before);
            bytes.extend_from_slice(&replaced);
        }
    }
    Ok(())
}

/// As many whole characters of `text` as fit `limit` bytes.
fn append_cut(
    text: &str,
    code_page: CodePage,
    options: &CastOptions,
    limit: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), CellErrorReason> {
    let start = bytes.len();
    let mut buffer = [0; 4];
    for character in text.chars() {
        let before = bytes.len();
        append_encoded(character.encode_utf8(&mut buffer), code_page, options, bytes)?;
        if (bytes.len() - start) as u64 > limit {
            bytes.truncate(before);
            break;
        }
    }
    Ok(())
}

/// Value `index`; Arrow's text arrays are valid UTF-8 by construction.
fn text_of<'r>(raw: &'r Raw<'_>, index: usize) -> &'r str {
    std::str::from_utf8(raw.value(index)).unwrap_or_default()
}

/// Values that are not text, in SQL Server's spelling.
pub(super) fn formatted(source: &Source<'_, '_>) -> Result<Raw<'static>, Fault> {
    let strings = format_column(source.array, source.field, &TextOptions::default()).map_err(|error| {
        let index = match &error {
            FormatTextError::Value { row, .. } => *row,
            _ => 0,
        };
        Fault { index, reason: CellErrorReason::Text(error.to_string()) }
    })?;
    let strings: ArrayRef = std::sync::Arc::new(strings);
    Ok(Raw::new(&strings).map_or_else(|| Raw::owned(Vec::new(), vec![0; source.len() + 1]), Raw::into_owned))
}

/// Nested values as JSON text.
fn json(source: &Source<'_, '_>) -> Result<Raw<'static>, Fault> {
    let failed = |error: arrow::error::ArrowError| Fault {
        index: 0,
        reason: CellErrorReason::Json(error.to_string()),
    };
    let field = std::sync::Arc::new(source.field.clone());
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(&field, source.array, &options).map_err(failed)?;
    let mut bytes = Vec::new();
    let mut offsets = Vec::with_capacity(source.len() + 1);
    offsets.push(0);
    for index in 0..source.len() {
        if source.is_valid(index) {
            encoder.encode(index, &mut bytes);
        }
        offsets.push(bytes.len() as i64);
    }
    Ok(Raw::owned(bytes, offsets))
}
