//! Text and bytes in other spellings: UNISTR, BASE64_ENCODE and _DECODE, COMPRESS and DECOMPRESS.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tds::{Length, SqlType};

use super::super::convert::{self, length_limit};
use super::super::typed::Typed;
use super::super::{Datum, Facts, running};
use super::bits::as_bytes;
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::{long_text, strict};
use tsql::SqlError;

/// Functions of spellings.
pub(super) const FUNCTIONS: &[Function<Kernel>] = &[
    scalar("UNISTR", &["text"], "nvarchar", unistr).optional(&["escape"]),
    scalar("BASE64_ENCODE", &["bytes"], "varchar", base64_encode).optional(&["url_safe"]),
    scalar("BASE64_DECODE", &["text"], "varbinary", base64_decode),
    scalar("COMPRESS", &["value"], "varbinary(max)", compress),
    scalar("DECOMPRESS", &["bytes"], "varbinary(max)", decompress),
];

fn unistr(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text] = call.take()?;
    let escape = call.argument_or(1, Datum::Text("\\".to_owned()), SqlType::NChar { length: 1 })?;
    let result = match length_limit(&text.sql_type) {
        Some(units) => SqlType::NVarChar { length: Length::Units(units.clamp(1, 4000) as u16) },
        None => long_text(),
    };
    let arguments = vec![(text, long_text()), (escape, SqlType::NVarChar { length: Length::Units(4) })];
    strict(call.name, arguments, result, |values| match values {
        [Datum::Text(text), Datum::Text(escape)] => {
            let mut signs = escape.chars();
            let (Some(escape), None) = (signs.next(), signs.next()) else { return Err(invalid_escape()) };
            unescaped(text, escape).map(Datum::Text).ok_or_else(invalid_escape)
        }
        _ => Ok(Datum::Null),
    })
}

fn invalid_escape() -> SqlError {
    SqlError::new(9803, 16, 20, "Invalid data for type \"unistr\".")
}

/// Reads `\xxxx` and `\+xxxxxx` as the characters of those codes, and a doubled escape as itself.
fn unescaped(text: &str, escape: char) -> Option<String> {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        rest = rest.get(sign.len_utf8()..)?;
        if sign != escape {
            units.extend(sign.encode_utf16(&mut [0; 2]).iter());
        } else if let Some(behind) = rest.strip_prefix(escape) {
            units.extend(sign.encode_utf16(&mut [0; 2]).iter());
            rest = behind;
        } else {
            let long = rest.starts_with('+');
            let digits = if long { rest.get(1..7)? } else { rest.get(..4)? };
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            let code = u32::from_str_radix(digits, 16).ok()?;
            match (char::from_u32(code), u16::try_from(code)) {
                (Some(sign), _) => units.extend(sign.encode_utf16(&mut [0; 2]).iter()),
                // Half of a surrogate pair.
                (None, Ok(unit)) => units.push(unit),
                _ => return None,
            }
            rest = rest.get(if long { 7 } else { 4 }..)?;
        }
    }
    String::from_utf16(&units).ok()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Bytes whose text fills a varchar(8000).
const ENCODED_MAX: usize = 6000;

fn base64_encode(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [bytes] = call.take()?;
    let url_safe = call.argument_or(1, Datum::Bit(false), SqlType::Bit)?;
    if !bytes.sql_type.is_binary() && !bytes.untyped_null {
        return Err(wrong_type(&bytes, "base64_encode"));
    }
    let length = match length_limit(&bytes.sql_type) {
        Some(length) if length <= ENCODED_MAX => Length::Units(length.div_ceil(3).max(1) as u16 * 4),
        _ => Length::Max,
    };
    let all = SqlType::VarBinary { length: Length::Max };
    let result = SqlType::VarChar { length };
    strict(call.name, vec![(bytes, all), (url_safe, SqlType::Bit)], result, |values| match values {
        [Datum::Binary(bytes), url_safe] => {
            running::check()?;
            Ok(Datum::Text(encoded(bytes, url_safe.as_int() == Some(1))))
        }
        _ => Ok(Datum::Null),
    })
}

/// Writes bytes in base 64, padded only if they are not for an address.
fn encoded(bytes: &[u8], url_safe: bool) -> String {
    let alphabet = if url_safe { URL_SAFE } else { STANDARD };
    let sign = |bits: u32| alphabet.get(bits as usize & 63).map_or('=', |byte| char::from(*byte));
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            if at <= group.len() {
                text.push(sign(bits >> (18 - 6 * at)));
            } else if !url_safe {
                text.push('=');
            }
        }
    }
    text
}

fn base64_decode(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [text] = call.take()?;
    let length = match length_limit(&text.sql_type) {
        Some(units) => Length::Units(units.clamp(1, 8000) as u16),
        None => Length::Max,
    };
    strict(call.name, vec![(text, long_text())], SqlType::VarBinary { length }, |values| match values {
        [Datum::Text(text)] => {
            running::check()?;
            let invalid = || SqlError::new(9803, 16, 20, "Invalid data for type \"Base64Decode\".");
            decoded(text).map(Datum::Binary).ok_or_else(invalid)
        }
        _ => Ok(Datum::Null),
    })
}

/// Reads base 64 in either alphabet; blanks count for nothing, and padding may be missing.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let signs: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).collect();
    let count = signs.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    let padding = signs.len() - count;
    if count % 4 == 1 || padding > 0 && (padding > 2 || !(count + padding).is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(count * 3 / 4);
    for group in signs.get(..count)?.chunks(4) {
        let mut bits = 0_u32;
        for byte in group {
            let value = match byte {
                b'-' => 62,
                b'_' => 63,
                byte => STANDARD.iter().position(|sign| sign == byte)?,
            };
            bits = bits << 6 | value as u32;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend(bits.to_be_bytes().get(1..group.len())?);
    }
    Some(bytes)
}

fn compress(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value] = call.take()?;
    if !value.untyped_null && !value.sql_type.is_character() && !value.sql_type.is_binary() {
        return Err(wrong_type(&value, "compress"));
    }
    let bytes_type = as_bytes(&value.sql_type);
    let bytes = value.cast(&bytes_type)?;
    let (wide, result) = (bytes.sql_type.clone(), SqlType::VarBinary { length: Length::Max });
    strict(call.name, vec![(bytes, wide)], result, |values| match values {
        [Datum::Binary(bytes)] => {
            running::check()?;
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            packed.write_all(bytes).map_err(SqlError::internal)?;
            packed.finish().map(Datum::Binary).map_err(SqlError::internal)
        }
        _ => Ok(Datum::Null),
    })
}

fn decompress(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [bytes] = call.take()?;
    if !bytes.untyped_null && !bytes.sql_type.is_binary() {
        return Err(wrong_type(&bytes, "decompress"));
    }
    let all = SqlType::VarBinary { length: Length::Max };
    strict(call.name, vec![(bytes, all.clone())], all, |values| match values {
        [Datum::Binary(bytes)] => unpacked(bytes).map(Datum::Binary),
        _ => Ok(Datum::Null),
    })
}

/// Bytes that are unpacked between two looks at the memory and the cancellation.
const PIECE_BYTES: u64 = 1 << 20;

/// Unpacks gzip, and counts what comes out in the memory of the request. Errors: 9803, 701.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, SqlError> {
    let mut reader = MultiGzDecoder::new(bytes);
    let mut all = Vec::new();
    loop {
        running::check()?;
        let read = reader.by_ref().take(PIECE_BYTES).read_to_end(&mut all);
        let read = read.map_err(|_| SqlError::new(9803, 16, 20, "Invalid data for type \"decompress\"."))?;
        if read == 0 {
            return Ok(all);
        }
        running::hold(read)?;
    }
}

fn wrong_type(value: &Typed, name: &str) -> SqlError {
    let found = convert::type_name(&value.sql_type);
    let text = format!("Argument data type {found} is invalid for argument 1 of {name} function.");
    SqlError::new(8116, 16, 1, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_read_as_it_is_written() {
        for (bytes, text, url_safe) in [
            (&b""[..], "", ""),
            (b"f", "Zg==", "Zg"),
            (b"fo", "Zm8=", "Zm8"),
            (b"foo", "Zm9v", "Zm9v"),
            (&[0xFB, 0xFF, 0xFE], "+//+", "-__-"),
        ] {
            assert_eq!((encoded(bytes, false), encoded(bytes, true)), (text.to_owned(), url_safe.to_owned()));
            assert_eq!(decoded(text).as_deref(), Some(bytes));
            assert_eq!(decoded(url_safe).as_deref(), Some(bytes));
        }
        assert_eq!(decoded(" Zm\r\n9v ").as_deref(), Some(&b"foo"[..]));
        for wrong in ["Z", "Zg=", "Zg===", "Z=g=", "Zm9v=", "Zm9!"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn escapes_become_characters() {
        assert_eq!(unescaped("a\\00E9\\+01F600\\\\", '\\').as_deref(), Some("a\u{e9}\u{1f600}\\"));
        assert_eq!(unescaped("\\D83D\\DE00", '\\').as_deref(), Some("\u{1f600}"));
        for wrong in ["\\00E", "\\00G0", "\\+01F60", "\\D83D", "\\+110000"] {
            assert_eq!(unescaped(wrong, '\\'), None, "{wrong}");
        }
    }
}
