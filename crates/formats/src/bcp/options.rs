//! Options for reading a host file.

use std::sync::Arc;

use rows::text::spelling::TextSpelling;
use tds::CodePage;

use super::layout::NativeVersion;
use super::regional::RegionalFormat;
use crate::deviation::Tolerance;

/// The encoding of `SQLCHAR` fields whose format file names none (`-C`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileCodePage {
    /// A code page by its number.
    Page(CodePage),
    /// 28591, ISO 8859-1: every byte is the character of that number. No collation has this code page.
    Latin1,
    /// `RAW`: the code page of the column, so bytes are taken as they are.
    Raw,
}

impl FileCodePage {
    /// Returns the code page of a number as `-C` has it, 28591 included.
    pub fn from_number(number: u16) -> Option<Self> {
        match number {
            28591 => Some(Self::Latin1),
            number => CodePage::from_number(number).map(Self::Page),
        }
    }
}

impl Default for FileCodePage {
    fn default() -> Self {
        Self::Page(CodePage::Utf8)
    }
}

/// Treatment of a byte-order mark at the start of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ByteOrderMark {
    /// As in Microsoft's library: EF BB BF is stripped if text is UTF-8, also through a format file; FF FE is data.
    #[default]
    Vendor,
    /// FF FE is stripped too. For `-w`, whose output begins with one.
    Strip,
    /// Every mark is data.
    Keep,
}

/// Result of reading text fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TextFields {
    /// Values of the column's type, by the rules of the vendor's client library.
    #[default]
    Convert,
    /// Text: every text field becomes a Utf8 column. For a caller that converts by other rules (BULK INSERT uses those
    /// of the server).
    Keep,
}

/// Options for reading a host file. The default is `bcp in` on Linux.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReadOptions {
    /// Encoding of `SQLCHAR` fields without one of their own.
    pub code_page: FileCodePage,
    /// The native layout (`-V`).
    pub native_version: NativeVersion,
    /// Treatment of a byte-order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Lines before the first row that are no rows: titles, names of columns. The file's last field must have a terminator. They
    /// count neither as rows nor for `first_row`.
    pub skip_lines: usize,
    /// First row to deliver, from 1 (`-F`). Rows before it are split, not converted.
    pub first_row: u64,
    /// Last row to deliver (`-L`).
    pub last_row: Option<u64>,
    /// Result of reading text fields.
    pub text_fields: TextFields,
    /// Removes blanks at the end of text fields of fixed width; a field of blanks is NULL. The original keeps
    /// blanks. If the last field is a column and has a terminator, each line is then a row: one that is too
    /// short for its columns has left out blanks.
    pub blank_is_null: bool,
    /// The locale's form of money, dates and times in text fields (`-R`); `None` for the locale-independent form.
    pub regional: Option<Arc<RegionalFormat>>,
    /// The field terminator that was asked for, also where the file has one field and so none.
    pub field_terminator: Option<Vec<u8>>,
    /// Dates and times in text by the rules of a load, which takes more spellings than the original and none for another day, and
    /// numbers spelled so. `None` for the original's rules; `-R` goes before it.
    pub spelling: Option<TextSpelling>,
    /// Silent losses of the original that are accepted. Each one that happens is reported.
    pub tolerance: Tolerance,
    /// Keeps the bytes of each batch's rows, so that a row can be returned as it is in the file.
    pub keep_raw_rows: bool,
    /// Rows per batch.
    pub batch_rows: usize,
    /// A batch ends once it holds this many bytes of the file, even if it has fewer rows.
    pub batch_bytes: usize,
    /// Longest row accepted, in bytes. Bounds the reader's memory. At most 1 GiB, or 128 MiB if no column takes values beyond
    /// 8000 bytes.
    pub max_row_bytes: usize,
}

impl Default for HostReadOptions {
    fn default() -> Self {
        Self {
            code_page: FileCodePage::default(),
            native_version: NativeVersion::Current,
            byte_order_mark: ByteOrderMark::Vendor,
            skip_lines: 0,
            first_row: 1,
            last_row: None,
            text_fields: TextFields::Convert,
            blank_is_null: false,
            regional: None,
            field_terminator: None,
            spelling: None,
            tolerance: Tolerance::vendor(),
            keep_raw_rows: false,
            batch_rows: 65_536,
            batch_bytes: 32 << 20,
            max_row_bytes: 1 << 30,
        }
    }
}
