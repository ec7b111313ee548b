//! Bytes of a code page to UTF-8.

use tds::{CodePage, Collation};

use super::error::RowDecodeErrorReason as Reason;

/// Bytes that are copied at a time.
const BLOCK_BYTES: usize = 16;
/// Bits that none of sixteen bytes has if all are ASCII.
const NOT_ASCII: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Encoding of the text of one column.
pub(super) enum Charset {
    Utf8,
    /// The UTF-8 of each byte from 80 on.
    SingleByte(Box<[Spelling; 128]>, CodePage),
    /// Double-byte code pages.
    Other(CodePage),
}

/// A character in UTF-8; length 0 for a byte that the code page does not define.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spelling {
    length: u8,
    bytes: [u8; 4],
}

impl Charset {
    /// Returns the character set of a collation; a column without one (before TDS 7.1) has that of the
    /// default collation.
    pub fn new(collation: Option<Collation>) -> Self {
        let code_page = collation.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS).code_page();
        if code_page == CodePage::Utf8 {
            return Self::Utf8;
        }
        if code_page.max_char_len_bytes() > 1 {
            return Self::Other(code_page);
        }
        let mut table = Box::new([Spelling::default(); 128]);
        for (byte, spelling) in (0x80..=0xffu8).zip(table.iter_mut()) {
            if let Ok(text) = code_page.decode(&[byte])
                && let Some(slot) = spelling.bytes.get_mut(..text.len())
            {
                slot.copy_from_slice(text.as_bytes());
                spelling.length = text.len() as u8;
            }
        }
        Self::SingleByte(table, code_page)
    }

    /// Appends the text of `bytes` to `out`. On error `out` is left as it was.
    pub fn append(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        match self {
            Self::Utf8 => match std::str::from_utf8(bytes) {
                Ok(_) => out.extend_from_slice(bytes),
                Err(error) => return Err(Reason::InvalidUtf8 { offset: error.valid_up_to() }),
            },
            Self::SingleByte(table, code_page) => single_bytes(bytes, bytes.len(), table, *code_page, out)?,
            Self::Other(code_page) => match code_page.decode(bytes) {
                Ok(text) => out.extend_from_slice(text.as_bytes()),
                Err(error) => return Err(undefined(error.offset, *code_page)),
            },
        }
        Ok(())
    }

    /// Appends the text of the first `length` of `bytes` to `out`; those behind may be read too. On error `out` is left as it
    /// was.
    #[inline]
    pub fn append_head(&self, bytes: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
        match self {
            Self::SingleByte(table, code_page) => single_bytes(bytes, length, table, *code_page, out),
            Self::Utf8 | Self::Other(_) => self.append(bytes.get(..length).unwrap_or_default(), out),
        }
    }
}

/// Decodes text of a single-byte code page. Whole blocks are copied from the start and from behind every run
/// of characters beyond ASCII.
fn single_bytes(
    bytes: &[u8],
    length: usize,
    table: &[Spelling; 128],
    code_page: CodePage,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let before = out.len();
    let mut offset = 0;
    while offset < length {
        let rest = bytes.get(offset..).unwrap_or_default();
        let left = length - offset;
        let ascii = match rest.first_chunk::<BLOCK_BYTES>() {
            Some(block) => {
                let beyond = u128::from_le_bytes(*block) & NOT_ASCII;
                let ascii = (beyond.trailing_zeros() as usize / 8).min(left);
                let end = out.len() + ascii;
                out.extend_from_slice(block);
                out.truncate(end);
                ascii
            }
            None => {
                let rest = rest.get(..left).unwrap_or(rest);
                if rest.is_empty() {
                    break;
                }
                let ascii = rest.iter().position(|&byte| byte >= 0x80).unwrap_or(rest.len());
                out.extend_from_slice(rest.get(..ascii).unwrap_or_default());
                ascii
            }
        };
        offset += ascii;
        while let Some(&byte) = bytes.get(offset).filter(|&&byte| offset < length && byte >= 0x80) {
            let spelling = &table[usize::from(byte & 0x7f)];
            if spelling.length == 0 {
                out.truncate(before);
                return Err(undefined(offset, code_page));
            }
            let end = out.len() + usize::from(spelling.length);
            out.extend_from_slice(&spelling.bytes);
            out.truncate(end);
            offset += 1;
        }
    }
    Ok(())
}

fn undefined(offset: usize, code_page: CodePage) -> Reason {
    Reason::CodePage { offset, code_page: code_page.number() }
}
