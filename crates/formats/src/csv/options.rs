//! The dialect of a delimited file.

use std::sync::Arc;

use rows::text::spelling::TextSpelling;

use crate::{ColumnReading, Encoding, FormatError};

/// A dialect of delimited text, for reading and writing.
///
/// NULL and the empty string: without `null_texts` an empty field is NULL and a quoted empty field (`""`) is `''`. With
/// `null_texts` a field that is exactly one of these texts, unquoted, is NULL, and an empty field is `''` if it is none of
/// them. A quoted field is never NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Text between fields: one or more characters.
    pub delimiter: String,
    /// Quote character (ASCII), or none: then every byte between delimiters is the value.
    pub quote: Option<u8>,
    /// Lines before the header that are not rows, such as `sep=;` or a title. Reading only. A line ends at a line feed, or at a
    /// carriage return if rows end so.
    pub skip_lines: usize,
    /// Lines at the end that are not rows, such as a total. Empty lines do not count. Reading only.
    pub skip_footer: usize,
    /// The first row names the columns.
    pub header: bool,
    /// Names of the columns, in file order; they take the place of the header's. Reading only.
    pub columns: Option<Vec<String>>,
    /// Texts of NULL; the first is written.
    pub null_texts: Vec<String>,
    /// The character (ASCII) behind which a quote, a delimiter, a line break or itself is data. In front of anything else it is
    /// data itself. Reading only.
    pub escape: Option<u8>,
    /// Leaves out blanks between a delimiter and a field. Reading only.
    pub skip_initial_space: bool,
    /// The spelling of numbers and dates that the user declares. Fields are handed out as they are written; inference goes by it.
    pub spelling: TextSpelling,
    /// The readings of columns, by their places. Their values are handed out in SQL Server's spelling.
    pub readings: Option<Arc<[ColumnReading]>>,
    /// Encoding. When reading, a byte-order mark in the file takes precedence.
    pub encoding: Encoding,
    /// Terminator of rows.
    pub row_terminator: RowTerminator,
    /// Writes a byte-order mark; None: only in front of UTF-16.
    pub byte_order_mark: Option<bool>,
    /// Writes binary values with `0x` in front, so that they cannot be mistaken for text. Reading accepts
    /// both forms.
    pub binary_prefix: bool,
    /// Longest row accepted, in bytes of UTF-8. Bounds the reader's memory. At most [`CsvOptions::ROW_BYTES_LIMIT`].
    pub max_row_bytes: usize,
    /// A batch ends once it holds this much text, even if it has fewer rows than asked for.
    pub max_batch_bytes: usize,
}

/// Terminator of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RowTerminator {
    /// Reading: `\n` or `\r\n`, row by row; at the end of the file also `\r`, or nothing. `\r\r\n` if the first row ends so,
    /// `\r` if the head of the file has no line feed outside of quotes. Writing: `\n`.
    #[default]
    Auto,
    /// Exactly this text.
    Text(String),
}

impl RowTerminator {
    /// Returns the byte that ends a line that is no row.
    pub(crate) fn line_end(&self) -> u8 {
        match self {
            Self::Text(text) if text == "\r" => b'\r',
            _ => b'\n',
        }
    }
}

impl CsvOptions {
    /// Upper bound of `max_row_bytes`, so that a batch's text stays within Arrow's 32-bit offsets.
    pub const ROW_BYTES_LIMIT: usize = 1 << 30;

    /// Checks that no two parts of the dialect can be taken for each other.
    pub(crate) fn check(&self) -> Result<(), FormatError> {
        let fail = |option, problem: &str| Err(FormatError::option(option, problem));
        if self.delimiter.is_empty() {
            return fail("delimiter", "must not be empty");
        }
        match &self.row_terminator {
            RowTerminator::Auto if self.delimiter.contains(['\n', '\r']) => {
                return fail("delimiter", "contains a line break; name the row terminator explicitly");
            }
            RowTerminator::Text(text) if text.is_empty() => {
                return fail("row terminator", "must not be empty");
            }
            RowTerminator::Text(text) if self.delimiter.starts_with(text.as_str()) => {
                return fail("row terminator", "the delimiter begins with it");
            }
            _ => {}
        }
        if let Some(quote) = self.quote {
            if !quote.is_ascii() || matches!(quote, b'\n' | b'\r' | 0) {
                return fail("quote", "must be an ASCII character other than a line break");
            }
            let quote = char::from(quote);
            if self.delimiter.contains(quote) || self.terminator().contains(quote) {
                return fail("quote", "occurs in the delimiter or the row terminator");
            }
            if self.null_texts.iter().any(|text| text.starts_with(quote)) {
                return fail("null text", "begins with the quote character");
            }
        }
        let is_divided = |text: &String| text.contains(&self.delimiter) || text.contains(self.terminator());
        if self.null_texts.iter().any(is_divided) {
            return fail("null text", "contains the delimiter or the row terminator");
        }
        if let Some(escape) = self.escape {
            let escape = char::from(escape);
            let is_other = self.quote.map(char::from) == Some(escape)
                || self.delimiter.contains(escape)
                || self.terminator().contains(escape);
            if !escape.is_ascii() || escape.is_ascii_alphanumeric() || is_other {
                return fail(
                    "escape",
                    "must be an ASCII character that is no letter, no digit, and in no other mark",
                );
            }
        }
        if self.skip_initial_space && self.delimiter.starts_with(' ') {
            return fail("skip initial space", "the delimiter begins with a blank");
        }
        if self.columns.as_ref().is_some_and(Vec::is_empty) {
            return fail("columns", "must name at least one column");
        }
        if !(1..=Self::ROW_BYTES_LIMIT).contains(&self.max_row_bytes) {
            return fail("max_row_bytes", "must lie between 1 byte and 1 GiB");
        }
        if !(1..=Self::ROW_BYTES_LIMIT - 1).contains(&self.max_batch_bytes) {
            return fail("max_batch_bytes", "must lie between 1 byte and 1 GiB");
        }
        Ok(())
    }

    /// Returns the row terminator as it is written and searched for.
    pub(crate) fn terminator(&self) -> &str {
        match &self.row_terminator {
            RowTerminator::Auto => "\n",
            RowTerminator::Text(text) => text,
        }
    }
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: ",".into(),
            quote: Some(b'"'),
            skip_lines: 0,
            skip_footer: 0,
            header: true,
            columns: None,
            null_texts: Vec::new(),
            escape: None,
            skip_initial_space: false,
            spelling: TextSpelling::default(),
            readings: None,
            encoding: Encoding::Utf8,
            row_terminator: RowTerminator::Auto,
            byte_order_mark: None,
            binary_prefix: true,
            max_row_bytes: 64 << 20,
            max_batch_bytes: 32 << 20,
        }
    }
}
