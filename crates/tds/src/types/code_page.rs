//! [`CodePage`]: the encodings of `char`, `varchar` and `text` data.
//!
//! Conversions are exact in both directions: a character is only encoded if its bytes decode to it again. The best-fit
//! replacements of Windows (`¥` to `\`, `é` to `e`) are refused, because they change data silently.

use std::borrow::Cow;
use std::fmt;

use crate::types::code_page_table::CodePageTable;

/// A code page that a SQL Server collation can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodePage {
    /// 65001, UTF-8
    Utf8,
    /// 437, DOS Latin US
    Cp437,
    /// 850, DOS Latin 1
    Cp850,
    /// 874, Thai
    Cp874,
    /// 932, Japanese (Shift-JIS with the NEC and IBM extensions)
    Cp932,
    /// 936, simplified Chinese (GBK)
    Cp936,
    /// 949, Korean (Unified Hangul Code)
    Cp949,
    /// 950, traditional Chinese (Big5 as Windows has it)
    Cp950,
    /// 1250, Central European
    Cp1250,
    /// 1251, Cyrillic
    Cp1251,
    /// 1252, Western European
    Cp1252,
    /// 1253, Greek
    Cp1253,
    /// 1254, Turkish
    Cp1254,
    /// 1255, Hebrew
    Cp1255,
    /// 1256, Arabic
    Cp1256,
    /// 1257, Baltic
    Cp1257,
    /// 1258, Vietnamese
    Cp1258,
}

/// Bytes that are not text in their code page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} is not text in code page {code_page}")]
pub struct CodePageError {
    /// The code page.
    pub code_page: CodePage,
    /// Offset of the first byte of the undecodable sequence.
    pub offset: usize,
}

/// A character that a code page does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("code page {code_page} has no {ch:?} (U+{:04X}, at byte {index})", u32::from(*ch))]
pub struct Unmappable {
    /// The code page.
    pub code_page: CodePage,
    /// Character that the code page lacks.
    pub ch: char,
    /// Start of the character, in bytes of the UTF-8 text.
    pub index: usize,
}

impl CodePage {
    /// All code pages, in numeric order but UTF-8 first.
    pub const ALL: [Self; 17] = [
        Self::Utf8,
        Self::Cp437,
        Self::Cp850,
        Self::Cp874,
        Self::Cp932,
        Self::Cp936,
        Self::Cp949,
        Self::Cp950,
        Self::Cp1250,
        Self::Cp1251,
        Self::Cp1252,
        Self::Cp1253,
        Self::Cp1254,
        Self::Cp1255,
        Self::Cp1256,
        Self::Cp1257,
        Self::Cp1258,
    ];

    /// Returns the Windows number: 65001, 437, ….
    pub fn number(self) -> u16 {
        match self {
            Self::Utf8 => 65001,
            Self::Cp437 => 437,
            Self::Cp850 => 850,
            Self::Cp874 => 874,
            Self::Cp932 => 932,
            Self::Cp936 => 936,
            Self::Cp949 => 949,
            Self::Cp950 => 950,
            Self::Cp1250 => 1250,
            Self::Cp1251 => 1251,
            Self::Cp1252 => 1252,
            Self::Cp1253 => 1253,
            Self::Cp1254 => 1254,
            Self::Cp1255 => 1255,
            Self::Cp1256 => 1256,
            Self::Cp1257 => 1257,
            Self::Cp1258 => 1258,
        }
    }

    /// Returns the code page with this Windows number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code_page| code_page.number() == number)
    }

    /// Returns true if the bytes 00–7F are ASCII, and ASCII text is encoded as itself. That holds for every
    /// code page here; in 932, 936, 949 and 950 a byte below 80 can also be the second half of a character.
    pub fn is_ascii_superset(self) -> bool {
        true
    }

    /// Returns the most bytes that a character takes.
    pub fn max_char_len_bytes(self) -> usize {
        match self {
            Self::Utf8 => 4,
            Self::Cp932 | Self::Cp936 | Self::Cp949 | Self::Cp950 => 2,
            _ => 1,
        }
    }

    /// Returns the text of `bytes`; borrowed if they are ASCII or UTF-8.
    ///
    /// # Errors
    /// A byte sequence that the code page does not define.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, str>, CodePageError> {
        if let Some(text) = self.borrow_text(bytes)? {
            return Ok(Cow::Borrowed(text));
        }
        // Non-ASCII characters of the single-byte code pages take two or three bytes of UTF-8.
        let mut text = String::with_capacity(bytes.len() + bytes.len() / 2);
        self.decode_into(bytes, &mut text)?;
        Ok(Cow::Owned(text))
    }

    /// Appends the text of `bytes` to `text`. After an error, `text` holds what came before it.
    ///
    /// # Errors
    /// A byte sequence that the code page does not define.
    pub fn decode_into(&self, bytes: &[u8], text: &mut String) -> Result<(), CodePageError> {
        match (self.borrow_text(bytes)?, self.table()) {
            (Some(borrowed), _) => text.push_str(borrowed),
            (None, Some(table)) => table.decode(bytes, text).map_err(|offset| self.error(offset))?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Encodes `text` in this code page; borrowed if it is ASCII or the code page is UTF-8.
    ///
    /// # Errors
    /// A character that the code page does not have.
    pub fn encode<'a>(&self, text: &'a str) -> Result<Cow<'a, [u8]>, Unmappable> {
        if text.is_ascii() || *self == Self::Utf8 {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut bytes = Vec::with_capacity(text.len());
        self.encode_into(text, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Appends `text` in this code page to `bytes`. After an error, `bytes` holds what came before it.
    ///
    /// # Errors
    /// A character that the code page does not have.
    pub fn encode_into(&self, text: &str, bytes: &mut Vec<u8>) -> Result<(), Unmappable> {
        match self.table() {
            Some(table) if !text.is_ascii() => {
                table.encode(text, bytes).map_err(|(index, ch)| self.unmappable(index, ch))?;
            }
            _ => bytes.extend_from_slice(text.as_bytes()),
        }
        Ok(())
    }

    /// Counts the bytes that `text` takes in this code page.
    ///
    /// # Errors
    /// A character that the code page does not have.
    pub fn encoded_len(&self, text: &str) -> Result<usize, Unmappable> {
        match self.table() {
            Some(table) if !text.is_ascii() => {
                table.encoded_len(text).map_err(|(index, ch)| self.unmappable(index, ch))
            }
            _ => Ok(text.len()),
        }
    }

    /// Returns `bytes` as text if they need no conversion.
    fn borrow_text<'a>(&self, bytes: &'a [u8]) -> Result<Option<&'a str>, CodePageError> {
        if *self != Self::Utf8 && !bytes.is_ascii() {
            return Ok(None);
        }
        std::str::from_utf8(bytes).map(Some).map_err(|error| self.error(error.valid_up_to()))
    }

    fn table(self) -> Option<&'static CodePageTable> {
        CodePageTable::of(self)
    }

    fn error(self, offset: usize) -> CodePageError {
        CodePageError { code_page: self, offset }
    }

    fn unmappable(self, index: usize, ch: char) -> Unmappable {
        Unmappable { code_page: self, ch, index }
    }
}

impl fmt::Display for CodePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
#[path = "code_page_tests.rs"]
mod tests;
