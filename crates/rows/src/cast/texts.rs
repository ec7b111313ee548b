//! char, varchar, nchar, nvarchar, text, ntext, xml and json.

use arrow::array::ArrayRef;
use arrow::json::writer::{EncoderOptions, make_encoder};
use tds::{CodePage, SqlType};

use super::binaries::{LOB_BYTES_MAX, first_longer};
use super::raw::Raw;
use super::{CastOptions, Fault, Source, Target, text_source};
use crate::cell_error::{CellErrorReason, LengthUnit};
use crate::column_text::{FormatTextError, TextOptions, format_column};
use crate::encode::transcode::{SHORT_BYTES, beyond_ascii, short_utf16_len, utf16_len};
use crate::encode::{Content, VariableLane};

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

/// Encodes UTF-8 text as the target wants it: UTF-16, UTF-8 or a code page, and no longer than the target
/// allows.
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
            // The slots of NULLs are measured too, although their lengths are not used.
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

/// Encoding of text in the target.
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

    /// Counts the units that `character` takes, in the encodings whose lengths follow from the scalar value
    /// alone.
    fn char_len(self, character: char) -> u64 {
        match self {
            Encoding::Utf16 => character.len_utf16() as u64,
            Encoding::CodePage(_) => character.len_utf8() as u64,
        }
    }
}

/// Returns `raw` if no value is longer than `limit` by `measure`, or else, if that is allowed, a copy with
/// the long ones cut.
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

/// Returns the longest head of `text` whose characters take no more than `limit` units.
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

/// Encodes text in a legacy code page.
fn transcoded(
    source: &Source<'_, '_>,
    raw: &Raw<'_>,
    code_page: CodePage,
    limit: u64,
) -> Result<Raw<'static>, Fault> {
    let table = (code_page.max_char_len_bytes() == 1).then(|| SingleByteTable::new(code_page));
    let mut bytes = vec![0; raw.used_bytes().len() + 2 * SHORT_BYTES];
    let mut end = 0;
    let mut offsets = Vec::with_capacity(raw.len + 1);
    offsets.push(0);
    let mut fault = None;
    let mut encoded = Vec::new();
    raw.each_span(|index, span| {
        let text = raw.bytes.get(span.start..).unwrap_or_default();
        let room = bytes.get_mut(end..).unwrap_or_default();
        // The slots of NULLs are written too if they fit, although their bytes are not used.
        let written = table.as_ref().and_then(|table| match table.write_short(text, span.len(), room) {
            None => table.write(text.get(..span.len())?, room),
            written => written,
        });
        match written.filter(|&written| written as u64 <= limit) {
            Some(written) => end += written,
            None if fault.is_none() && source.is_valid(index) => {
                encoded.clear();
                match encode_value(source, text_of(raw, index), code_page, limit, &mut encoded) {
                    Ok(()) => {
                        let start = end;
                        end += encoded.len();
                        let needed = end + raw.used_bytes().len().saturating_sub(span.end) + 2 * SHORT_BYTES;
                        bytes.resize(bytes.len().max(needed), 0);
                        bytes[start..end].copy_from_slice(&encoded);
                    }
                    Err(reason) => fault = Some(Fault { index, reason }),
                }
            }
            None => {}
        }
        offsets.push(end as i64);
    });
    bytes.truncate(end);
    fault.map_or_else(|| Ok(Raw::owned(bytes, offsets)), Err)
}

/// Appends one value in any code page, cut to `limit` if that is allowed.
fn encode_value(
    source: &Source<'_, '_>,
    text: &str,
    code_page: CodePage,
    limit: u64,
    encoded: &mut Vec<u8>,
) -> Result<(), CellErrorReason> {
    append_encoded(text, code_page, source.options, encoded)?;
    let length = encoded.len() as u64;
    if length > limit {
        if !source.options.allow_truncate {
            return Err(CellErrorReason::TooLong { length, limit, unit: LengthUnit::Bytes });
        }
        encoded.clear();
        append_cut(text, code_page, source.options, limit, encoded)?;
    }
    Ok(())
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

    /// Writes the bytes for the first `length` bytes of `text` over `out`, and returns their number. The
    /// [`SHORT_BYTES`] behind may be overwritten too. None, with useless bytes in `out`, if the text is not
    /// short, a character is not in the table, or `text` or `out` ends too early.
    #[inline(always)]
    fn write_short(&self, text: &[u8], length: usize, out: &mut [u8]) -> Option<usize> {
        if length > SHORT_BYTES {
            return None;
        }
        let head = text.first_chunk::<SHORT_BYTES>()?;
        *out.first_chunk_mut()? = *head;
        let mut beyond = u64::from(beyond_ascii(head, length));
        // Bytes of the text that have none of their own.
        let mut surplus = 0;
        while beyond != 0 {
            let at = beyond.trailing_zeros() as usize;
            *out.get_mut(at - surplus)? = self.byte(text.get(at..)?.first_chunk()?)?;
            surplus += 1;
            let next = at + 2;
            *out.get_mut(next - surplus..)?.first_chunk_mut::<SHORT_BYTES>()? =
                *text.get(next..)?.first_chunk()?;
            beyond &= u64::MAX << next;
        }
        Some(length - surplus)
    }

    /// Returns the byte of a character of two bytes of UTF-8.
    #[inline(always)]
    fn byte(&self, &[lead, next]: &[u8; 2]) -> Option<u8> {
        let byte = self.0[(usize::from(lead & 0x1F) << 6 | usize::from(next & 0x3F)) % 0x800];
        (matches!(lead, 0xC0..0xE0) && byte != 0).then_some(byte)
    }

    /// Writes the bytes for UTF-8 `text` over `out`: how many they are. None, and something of no use written, if a
    /// character is not in the table.
    fn write(&self, text: &[u8], out: &mut [u8]) -> Option<usize> {
        let (mut read, mut written) = (0, 0);
        while let Some(rest) = text.get(read..).filter(|rest| !rest.is_empty()) {
            if let (Some(eight), Some(target)) =
                (rest.first_chunk::<8>(), out.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<8>))
                && eight.is_ascii()
            {
                *target = *eight;
                (read, written) = (read + 8, written + 8);
                continue;
            }
            let (byte, used) = match rest {
                [ascii @ 0..0x80, ..] => (*ascii, 1),
                _ => (self.byte(rest.first_chunk()?)?, 2),
            };
            *out.get_mut(written)? = byte;
            (read, written) = (read + used, written + 1);
        }
        Some(written)
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

/// Appends as many whole characters of `text` as fit `limit` bytes.
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

/// Returns value `index`; Arrow's text arrays are valid UTF-8 by construction.
fn text_of<'r>(raw: &'r Raw<'_>, index: usize) -> &'r str {
    std::str::from_utf8(raw.value(index)).unwrap_or_default()
}

/// Formats values that are not text, in SQL Server's spelling.
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

/// Formats nested values as JSON text.
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
