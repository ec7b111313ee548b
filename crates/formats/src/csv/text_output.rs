//! Cells to delimited text: when a value is quoted, and when it cannot be written.

use super::options::{CsvOptions, RowTerminator};
use crate::Reason;

/// Appends cells to a buffer of text. A cell is quoted only when it would be read back as something else.
pub(super) struct TextOutput {
    delimiter: String,
    terminator: String,
    quote: Option<u8>,
    null_text: String,
    /// The reader takes a `\r` in front of the terminator for a part of it.
    return_is_trimmed: bool,
}

impl TextOutput {
    pub(super) fn new(options: &CsvOptions) -> Self {
        Self {
            delimiter: options.delimiter.clone(),
            terminator: options.terminator().to_owned(),
            quote: options.quote,
            null_text: options.null_texts.first().cloned().unwrap_or_default(),
            return_is_trimmed: options.row_terminator == RowTerminator::Auto,
        }
    }

    pub(super) fn delimiter(&self, text: &mut String) {
        text.push_str(&self.delimiter);
    }

    pub(super) fn terminator(&self, text: &mut String) {
        text.push_str(&self.terminator);
    }

    pub(super) fn null(&self, text: &mut String) {
        text.push_str(&self.null_text);
    }

    /// Returns true if none of `values` (a column's text, end to end) has a byte that could make a quote
    /// necessary. Then [`TextOutput::plain_value`] does for all of them.
    pub(super) fn is_plain(&self, values: &[u8]) -> bool {
        let first = |text: &str| text.as_bytes().first().copied().unwrap_or(b'\n');
        let (delimiter, terminator) = (first(&self.delimiter), first(&self.terminator));
        let quote = self.quote.unwrap_or(b'\n');
        // The inner loop does not end early, so that the compiler compares many bytes at a time.
        !values.chunks(PLAIN_CHUNK_BYTES).any(|chunk| {
            chunk.iter().fold(false, |found, &byte| {
                found
                    | (byte == delimiter)
                    | (byte == terminator)
                    | (byte == quote)
                    | (byte == b'\n')
                    | (byte == b'\r')
            })
        })
    }

    /// Appends a value of a column that [`TextOutput::is_plain`].
    pub(super) fn plain_value(&self, value: &str, text: &mut String) -> Result<(), Reason> {
        if value == self.null_text {
            return self.quoted(value, "is the text of NULL", text);
        }
        text.push_str(value);
        Ok(())
    }

    /// Appends any value.
    pub(super) fn value(&self, value: &str, text: &mut String) -> Result<(), Reason> {
        if value == self.null_text {
            return self.quoted(value, "is the text of NULL", text);
        }
        if runs_into(value, &self.delimiter) {
            return self.quoted(value, "contains the delimiter", text);
        }
        if runs_into(value, &self.terminator) {
            return self.quoted(value, "contains the row terminator", text);
        }
        if self.return_is_trimmed && value.ends_with('\r') {
            return self.quoted(value, "ends in a carriage return", text);
        }
        match self.quote {
            Some(quote) if value.bytes().any(|byte| byte == quote || byte == b'\n' || byte == b'\r') => {
                self.quoted(value, "", text)
            }
            _ => {
                text.push_str(value);
                Ok(())
            }
        }
    }

    /// Appends a value in quotes, which protect anything; `problem` says what it needs protection from.
    pub(super) fn quoted(&self, value: &str, problem: &'static str, text: &mut String) -> Result<(), Reason> {
        let Some(quote) = self.quote.map(char::from) else { return Err(Reason::NeedsQuote { problem }) };
        text.push(quote);
        for piece in value.split_inclusive(quote) {
            text.push_str(piece);
            if piece.ends_with(quote) {
                text.push(quote);
            }
        }
        text.push(quote);
        Ok(())
    }
}

const PLAIN_CHUNK_BYTES: usize = 4096;

/// Returns true if `mark` occurs in `value`, or might once the start of another mark follows: `a|` in front
/// of `||`.
fn runs_into(value: &str, mark: &str) -> bool {
    value.contains(mark)
        || (1..mark.len()).any(|length| value.as_bytes().ends_with(&mark.as_bytes()[..length]))
}
