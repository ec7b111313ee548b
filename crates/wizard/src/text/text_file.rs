//! The head of a text file.

use formats::sniff::{self, Head};
use formats::{Compression, Encoding, FormatError, Location};

/// A file whose head is in memory; the rest, however large, is not read.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// The name of the file.
    pub name: String,
    pub(super) head: Head,
}

/// The kind of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Empty,
    /// A format that is no text: `Apache Parquet` and so on.
    Known(&'static str),
    /// Neither text nor a known format.
    Binary,
    /// Text.
    Text,
}

impl TextFile {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(location: &Location, compression: Compression) -> Result<Self, FormatError> {
        Ok(Self { name: location.to_string(), head: Head::read(location, compression)? })
    }

    /// Makes a file of these bytes.
    pub fn of(name: &str, bytes: &[u8], is_complete: bool) -> Self {
        Self { name: name.to_owned(), head: Head { bytes: bytes.to_vec(), is_complete } }
    }

    /// Recognises the kind of the content.
    ///
    /// # Errors
    /// None that a file could cause.
    pub fn content(&self) -> Result<Content, FormatError> {
        let sniffed = sniff::sniff_bytes(&self.head.bytes, self.head.is_complete, &self.name)?;
        Ok(match sniffed.content {
            sniff::Content::Empty => Content::Empty,
            sniff::Content::Known(known) => Content::Known(known),
            sniff::Content::Binary => Content::Binary,
            sniff::Content::Text(_) => Content::Text,
        })
    }

    /// Returns the encoding of a byte-order mark, and the bytes of the mark.
    pub fn mark(&self) -> Option<(Encoding, usize)> {
        match self.head.bytes.as_slice() {
            [0xEF, 0xBB, 0xBF, ..] => Some((Encoding::Utf8, 3)),
            [0xFF, 0xFE, ..] => Some((Encoding::Utf16Le, 2)),
            [0xFE, 0xFF, ..] => Some((Encoding::Utf16Be, 2)),
            _ => None,
        }
    }

    /// Returns the head without the line that may be cut off at its end.
    pub(super) fn whole_lines(&self, chosen: Encoding) -> &[u8] {
        let bytes = self.head.bytes.as_slice();
        let encoding = self.mark().map_or(chosen, |(encoding, _)| encoding);
        if self.head.is_complete {
            return bytes;
        }
        let end = match encoding {
            Encoding::Utf16Le => of_units(bytes, [b'\n', 0], [b'\r', 0]),
            Encoding::Utf16Be => of_units(bytes, [0, b'\n'], [0, b'\r']),
            _ => bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map(|at| at + 1),
        };
        bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes)
    }

    /// Returns true if the head is the whole file.
    pub fn is_complete(&self) -> bool {
        self.head.is_complete
    }
}

/// Returns the end of the last line of UTF-16.
fn of_units(bytes: &[u8], feed: [u8; 2], carriage_return: [u8; 2]) -> Option<usize> {
    let units = bytes.as_chunks::<2>().0;
    units.iter().rposition(|unit| *unit == feed || *unit == carriage_return).map(|at| 2 * (at + 1))
}
