//! Finds the row terminator of a file if the user has not named it.

use super::options::{CsvOptions, RowTerminator};

/// Looks for the first line end outside of quotes, and behind it for others; fed with the text of the file's head as it is read.
///
/// Lone carriage returns end rows if no line feed stands outside of quotes within [`HEAD_BYTES`], and `\r\r\n` does if the first
/// row ends so. What is found does not depend on the pieces in which the text comes.
pub(super) struct RowEnds {
    quote: Option<u8>,
    delimiter_end: u8,
    in_quotes: bool,
    at_field_start: bool,
    returns: bool,
    /// The bytes in front, as far as they matter.
    previous: [u8; 2],
    seen: usize,
}

/// Row terminator, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// No line end is known yet: read on.
    Unknown,
    /// `\n` or `\r\n`, row by row.
    Feed,
    /// `\r\r\n`.
    TwoReturns,
    /// `\r`.
    Return,
}

/// Text that is looked at.
const HEAD_BYTES: usize = 64 << 10;

impl RowEnds {
    pub(super) fn new(options: &CsvOptions) -> Self {
        Self {
            quote: options.quote,
            delimiter_end: options.delimiter.bytes().next_back().unwrap_or(b','),
            in_quotes: false,
            at_field_start: true,
            returns: false,
            previous: [0; 2],
            seen: 0,
        }
    }

    /// Looks at the text behind what was looked at before; `last` says that none follows.
    pub(super) fn look(&mut self, text: &[u8], last: bool) -> RowEnd {
        for &byte in text.get(self.seen..).unwrap_or_default() {
            if self.seen >= HEAD_BYTES {
                break;
            }
            self.seen += 1;
            if self.in_quotes {
                // A doubled quote ends the quotes and begins them again.
                self.in_quotes = Some(byte) != self.quote;
                self.at_field_start = !self.in_quotes;
            } else if Some(byte) == self.quote && self.at_field_start {
                self.in_quotes = true;
            } else {
                match (byte, self.previous) {
                    (b'\n', [b'\r', b'\r']) => return RowEnd::TwoReturns,
                    (b'\n', _) => return RowEnd::Feed,
                    (b'\r', _) => self.returns = true,
                    _ => {}
                }
                self.at_field_start = byte == self.delimiter_end || byte == b'\r';
            }
            self.previous = [self.previous[1], byte];
        }
        match (last || self.seen >= HEAD_BYTES, self.returns) {
            (false, _) => RowEnd::Unknown,
            (true, true) => RowEnd::Return,
            (true, false) => RowEnd::Feed,
        }
    }
}

impl RowEnd {
    /// Returns the terminator to read by.
    pub(super) fn terminator(self) -> RowTerminator {
        match self {
            Self::Unknown | Self::Feed => RowTerminator::Auto,
            Self::TwoReturns => RowTerminator::Text("\r\r\n".to_owned()),
            Self::Return => RowTerminator::Text("\r".to_owned()),
        }
    }
}
