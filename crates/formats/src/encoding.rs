//! Encodings of text files: names, decoding in pieces, encoding.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use encoding_rs::{DecoderResult, EncoderResult};

/// Encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8 (code page 65001).
    #[default]
    Utf8,
    /// UTF-16, low byte first (code page 1200): what SQL Server calls Unicode or widechar files.
    Utf16Le,
    /// UTF-16, high byte first (code page 1201).
    Utf16Be,
    /// A Windows, DOS, ISO or EUC code page by number; [`Encoding::from_code_page`] knows which exist.
    CodePage(u16),
}

/// A name or number of an unknown encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown encoding {0:?}; use utf-8, utf-16le, utf-16be or a code page such as 1252 or 850")]
pub struct UnknownEncoding(pub String);

impl Encoding {
    /// Returns the encoding of a Windows code page number, if it is supported.
    pub fn from_code_page(number: u16) -> Option<Self> {
        match number {
            65001 => Some(Self::Utf8),
            1200 => Some(Self::Utf16Le),
            1201 => Some(Self::Utf16Be),
            _ => Coder::of_code_page(number).map(|_| Self::CodePage(number)),
        }
    }

    /// Returns encoding and length in bytes of the byte-order mark at the head of a file.
    pub(crate) fn of_mark(head: &[u8]) -> Option<(Self, usize)> {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => Some((Self::Utf8, 3)),
            [0xFF, 0xFE, ..] => Some((Self::Utf16Le, 2)),
            [0xFE, 0xFF, ..] => Some((Self::Utf16Be, 2)),
            _ => None,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8 => f.write_str("UTF-8"),
            Self::Utf16Le => f.write_str("UTF-16LE"),
            Self::Utf16Be => f.write_str("UTF-16BE"),
            Self::CodePage(number) => write!(f, "code page {number}"),
        }
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let plain: String =
            name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
        let number = match plain.as_str() {
            "utf8" => 65001,
            // Microsoft's "Unicode" files are little-endian; a byte-order mark still wins.
            "utf16" | "utf16le" | "unicode" | "widechar" => 1200,
            "utf16be" => 1201,
            "ascii" | "usascii" => 20127,
            "latin1" | "iso88591" => 28591,
            "shiftjis" | "sjis" => 932,
            "gbk" | "gb2312" => 936,
            "gb18030" => 54936,
            "big5" => 950,
            "euckr" => 51949,
            "eucjp" => 51932,
            "koi8r" => 20866,
            "koi8u" => 21866,
            other => {
                let digits = ["windows", "codepage", "ibm", "oem", "cp"]
                    .iter()
                    .find_map(|prefix| other.strip_prefix(prefix))
                    .unwrap_or(other);
                digits.parse().map_err(|_| UnknownEncoding(name.to_owned()))?
            }
        };
        Self::from_code_page(number).ok_or_else(|| UnknownEncoding(name.to_owned()))
    }
}

/// Coder of a code page: the crate's own table for single bytes, or encoding_rs.
enum Coder {
    SingleByte(Box<[Option<char>; 256]>),
    Library(&'static encoding_rs::Encoding),
}

impl Coder {
    /// Returns the coder of a code page: encoding_rs where it has the page. Its windows-125x tables give the
    /// C1 controls for unassigned bytes, as Windows does. DOS pages come from oem_cp.
    fn of_code_page(number: u16) -> Option<Self> {
        Some(Self::Library(match number {
            932 => encoding_rs::SHIFT_JIS,
            936 => encoding_rs::GBK,
            949 | 51949 => encoding_rs::EUC_KR,
            950 => encoding_rs::BIG5,
            1250 => encoding_rs::WINDOWS_1250,
            1251 => encoding_rs::WINDOWS_1251,
            1252 => encoding_rs::WINDOWS_1252,
            1253 => encoding_rs::WINDOWS_1253,
            1254 => encoding_rs::WINDOWS_1254,
            1255 => encoding_rs::WINDOWS_1255,
            1256 => encoding_rs::WINDOWS_1256,
            1257 => encoding_rs::WINDOWS_1257,
            1258 => encoding_rs::WINDOWS_1258,
            10000 => encoding_rs::MACINTOSH,
            20866 => encoding_rs::KOI8_R,
            21866 => encoding_rs::KOI8_U,
            20932 | 51932 => encoding_rs::EUC_JP,
            28592 => encoding_rs::ISO_8859_2,
            28593 => encoding_rs::ISO_8859_3,
            28594 => encoding_rs::ISO_8859_4,
            28595 => encoding_rs::ISO_8859_5,
            28596 => encoding_rs::ISO_8859_6,
            28597 => encoding_rs::ISO_8859_7,
            28598 => encoding_rs::ISO_8859_8,
            28603 => encoding_rs::ISO_8859_13,
            28605 => encoding_rs::ISO_8859_15,
            54936 => encoding_rs::GB18030,
            20127 => return Some(Self::table(|byte| byte.is_ascii().then_some(char::from(byte)))),
            28591 => return Some(Self::table(|byte| Some(char::from(byte)))),
            _ => {
                let page = oem_cp::code_table::DECODING_TABLE_CP_MAP.get(&number)?;
                return Some(Self::table(|byte| page.decode_char_checked(byte)));
            }
        }))
    }

    fn table(decode: impl Fn(u8) -> Option<char>) -> Self {
        Self::SingleByte(Box::new(std::array::from_fn(|byte| decode(byte as u8))))
    }
}

/// Decodes a stream of bytes, piece by piece, to UTF-8.
pub(crate) enum Decoder {
    Utf8,
    SingleByte(Box<[Option<char>; 256]>),
    Library { encoding: Encoding, decoder: encoding_rs::Decoder },
}

/// Bytes that are not text, relative to the first byte given to [`Decoder::decode`].
pub(crate) struct Malformed {
    /// May be negative: the sequence began in an earlier piece.
    pub(crate) offset: i64,
    pub(crate) length: usize,
    /// Bytes that were looked at, these included: decoding can go on behind them.
    pub(crate) next: usize,
}

/// Outcome of [`Decoder::decode`].
pub(crate) enum Decoded {
    /// Everything except this many bytes at the end, which must be given again before the next piece.
    AllBut(usize),
    Malformed(Malformed),
}

impl Decoder {
    pub(crate) fn new(encoding: Encoding) -> Result<Self, UnknownEncoding> {
        let library = |library: &'static encoding_rs::Encoding| Self::Library {
            encoding,
            decoder: library.new_decoder_without_bom_handling(),
        };
        Ok(match encoding {
            Encoding::Utf8 => Self::Utf8,
            Encoding::Utf16Le => library(encoding_rs::UTF_16LE),
            Encoding::Utf16Be => library(encoding_rs::UTF_16BE),
            Encoding::CodePage(number) => match Coder::of_code_page(number) {
                Some(Coder::SingleByte(table)) => Self::SingleByte(table),
                Some(Coder::Library(found)) => library(found),
                None => return Err(UnknownEncoding(number.to_string())),
            },
        })
    }

    /// Appends the text of `bytes` to `text`. `last` says that nothing follows.
    pub(crate) fn decode(&mut self, bytes: &[u8], last: bool, text: &mut Vec<u8>) -> Decoded {
        match self {
            Self::Utf8 => decode_utf8(bytes, last, text),
            Self::SingleByte(table) => decode_table(table, bytes, text),
            Self::Library { decoder, .. } => decode_library(decoder, bytes, last, text),
        }
    }

    /// Returns the length of `text` in the file's encoding, in bytes.
    pub(crate) fn source_bytes(&self, text: &[u8]) -> u64 {
        let characters = || text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64;
        match self {
            Self::Utf8 => text.len() as u64,
            Self::SingleByte(_) => characters(),
            Self::Library { encoding: Encoding::Utf16Le | Encoding::Utf16Be, .. } => {
                2 * (characters() + text.iter().filter(|&&byte| byte >= 0xF0).count() as u64)
            }
            Self::Library { decoder, .. } => {
                if decoder.encoding().is_single_byte() {
                    return characters();
                }
                match std::str::from_utf8(text) {
                    Ok(text) => decoder.encoding().encode(text).0.len() as u64,
                    Err(_) => characters(),
                }
            }
        }
    }
}

fn decode_utf8(bytes: &[u8], last: bool, text: &mut Vec<u8>) -> Decoded {
    match std::str::from_utf8(bytes) {
        Ok(_) => {
            text.extend_from_slice(bytes);
            Decoded::AllBut(0)
        }
        Err(error) => {
            let valid = error.valid_up_to();
            text.extend_from_slice(&bytes[..valid]);
            let rest = bytes.len() - valid;
            match error.error_len() {
                None if !last => Decoded::AllBut(rest),
                None => {
                    Decoded::Malformed(Malformed { offset: valid as i64, length: rest, next: bytes.len() })
                }
                Some(length) => {
                    Decoded::Malformed(Malformed { offset: valid as i64, length, next: valid + length })
                }
            }
        }
    }
}

fn decode_table(table: &[Option<char>; 256], bytes: &[u8], text: &mut Vec<u8>) -> Decoded {
    text.reserve(bytes.len());
    let mut utf8 = [0; 4];
    let mut position = 0;
    while position < bytes.len() {
        // Every page we have agrees with ASCII below 0x80.
        let ascii = bytes[position..].iter().take_while(|byte| byte.is_ascii()).count();
        text.extend_from_slice(&bytes[position..position + ascii]);
        position += ascii;
        let Some(&byte) = bytes.get(position) else { break };
        let Some(character) = table[usize::from(byte)] else {
            return Decoded::Malformed(Malformed { offset: position as i64, length: 1, next: position + 1 });
        };
        text.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        position += 1;
    }
    Decoded::AllBut(0)
}

fn decode_library(
    decoder: &mut encoding_rs::Decoder,
    bytes: &[u8],
    last: bool,
    text: &mut Vec<u8>,
) -> Decoded {
    let mut position = 0;
    loop {
        let used = text.len();
        let room = decoder
            .max_utf8_buffer_length_without_replacement(bytes.len() - position)
            .unwrap_or(DECODE_ROOM_BYTES)
            .min(DECODE_ROOM_BYTES);
        text.resize(used + room, 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(&bytes[position..], &mut text[used..], last);
        text.truncate(used + written);
        position += read;
        match result {
            DecoderResult::InputEmpty => return Decoded::AllBut(0),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, behind) => {
                let offset = position as i64 - i64::from(length) - i64::from(behind);
                return Decoded::Malformed(Malformed { offset, length: usize::from(length), next: position });
            }
        }
    }
}

const DECODE_ROOM_BYTES: usize = 1 << 20;

/// Encodes text of a file being written.
pub(crate) enum Encoder {
    Utf8,
    Utf16 { big_endian: bool },
    SingleByte(HashMap<char, u8>),
    Library(&'static encoding_rs::Encoding),
}

impl Encoder {
    pub(crate) fn new(encoding: Encoding) -> Result<Self, UnknownEncoding> {
        Ok(match encoding {
            Encoding::Utf8 => Self::Utf8,
            Encoding::Utf16Le => Self::Utf16 { big_endian: false },
            Encoding::Utf16Be => Self::Utf16 { big_endian: true },
            Encoding::CodePage(number) => match Coder::of_code_page(number) {
                Some(Coder::SingleByte(table)) => Self::SingleByte(
                    table
                        .iter()
                        .zip(0..=255)
                        .filter_map(|(character, byte)| Some(((*character)?, byte)))
                        .collect(),
                ),
                Some(Coder::Library(library)) => Self::Library(library),
                None => return Err(UnknownEncoding(number.to_string())),
            },
        })
    }

    /// Appends `text` to `bytes`. On a character the encoding lacks, that character; `bytes` is then useless.
    pub(crate) fn encode(&self, text: &str, bytes: &mut Vec<u8>) -> Result<(), char> {
        match self {
            Self::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16 { big_endian: false } => {
                bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            }
            Self::Utf16 { big_endian: true } => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Self::SingleByte(table) => {
                for character in text.chars() {
                    match character {
                        '\0'..='\x7F' => bytes.push(character as u8),
                        _ => bytes.push(*table.get(&character).ok_or(character)?),
                    }
                }
            }
            Self::Library(library) => encode_library(library, text, bytes)?,
        }
        Ok(())
    }
}

fn encode_library(
    library: &'static encoding_rs::Encoding,
    text: &str,
    bytes: &mut Vec<u8>,
) -> Result<(), char> {
    let mut encoder = library.new_encoder();
    let mut position = 0;
    loop {
        let used = bytes.len();
        bytes.resize(used + DECODE_ROOM_BYTES.min(4 * (text.len() - position) + 16), 0);
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(&text[position..], &mut bytes[used..], true);
        bytes.truncate(used + written);
        position += read;
        match result {
            EncoderResult::InputEmpty => return Ok(()),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => return Err(character),
        }
    }
}
