//! Errors of a format file, a layout or a terminator.

use std::fmt;
use std::io;

/// A terminator that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminatorError {
    /// `0x` and something that is not pairs of hex digits.
    #[error("the terminator {text:?} is not pairs of hex digits behind 0x")]
    Hex {
        /// Argument that is no terminator.
        text: String,
    },
}

/// A format file that cannot be used, and where it is wrong.
#[derive(Debug, thiserror::Error)]
pub struct FormatFileError {
    /// The format file's path.
    pub file: String,
    /// Number of the line, the first being 1.
    pub line: Option<u64>,
    /// Reason why the format file cannot be used.
    #[source]
    pub problem: FormatFileProblem,
}

/// Reason why a format file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatFileProblem {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The file is not text in UTF-8 (or, with a byte-order mark, in UTF-16).
    #[error("expected text in UTF-8, found byte {byte:02X} at offset {offset}")]
    NotText {
        /// The offending byte.
        byte: u8,
        /// Offset of the byte in the file.
        offset: usize,
    },
    /// The first line is not a version number.
    #[error("expected a version from 7.0 to 16.0, found {found:?}")]
    Version {
        /// Text in place of the version.
        found: String,
    },
    /// The second line is not a number of fields.
    #[error("expected the number of fields, 1 or more, found {found:?}")]
    FieldCount {
        /// Text in place of the number of fields.
        found: String,
    },
    /// There are fewer lines than the second line says.
    #[error("expected {expected} fields, found the end of the file after {found}")]
    MissingFields {
        /// Number of fields announced.
        expected: usize,
        /// Number of fields found.
        found: usize,
    },
    /// The last line does not end in a line feed. The vendor's reader refuses such a file.
    #[error("expected a line feed behind the last field, found the end of the file")]
    NoFinalNewline,
    /// A line has another number of tokens.
    #[error("expected {expected} values (host order, host type, prefix length, data length, terminator, server order, server name{}), found {found}", if *.expected == 8 { ", collation" } else { "" })]
    Tokens {
        /// Number of values that this version has on a line.
        expected: usize,
        /// Number of values found.
        found: usize,
    },
    /// A quotation mark that is not closed on its line.
    #[error("expected a closing quotation mark, found the end of the line")]
    OpenQuote,
    /// The host fields are not numbered 1, 2, 3 ….
    #[error("expected host field {expected}, found {found:?}")]
    HostOrder {
        /// Number that the field should have, from 1.
        expected: usize,
        /// Text in place of the host field's number.
        found: String,
    },
    /// The host type is unknown.
    #[error("expected a host type such as SQLCHAR or SQLINT (upper case), found {found:?}")]
    HostType {
        /// Text in place of the host type.
        found: String,
    },
    /// The prefix length is not 0, 1, 2, 4 or 8.
    #[error("expected a prefix length of 0, 1, 2, 4 or 8, found {found:?}")]
    PrefixLength {
        /// Text in place of the prefix length.
        found: String,
    },
    /// A text that is not a number, or a number that is too large.
    #[error("expected {expected}, found {found:?}")]
    Number {
        /// Name of the number, with its range.
        expected: &'static str,
        /// Text in place of the number.
        found: String,
    },
    /// A terminator without quotation marks.
    #[error("expected a terminator in double quotation marks, found {found:?}")]
    Terminator {
        /// Text in place of the terminator.
        found: String,
    },
    /// A collation that is not known.
    #[error("expected a collation of SQL Server, RAW or \"\", found {found:?}")]
    Collation {
        /// Text in place of the collation.
        found: String,
    },
    /// A server column beyond the table's last.
    #[error("expected a server column from 1 to {columns}, found {found}")]
    ServerColumn {
        /// Number of columns of the table.
        columns: usize,
        /// The number given.
        found: usize,
    },
    /// A field that has neither length nor terminator, or a fixed type of another length.
    #[error("field {field}: {problem}")]
    Field {
        /// Number of the host field, the first being 1.
        field: usize,
        /// Rule that the field breaks.
        problem: String,
    },
    /// The XML is not well-formed.
    #[error("expected well-formed XML, found {found}")]
    Xml {
        /// Text at which the XML parser stopped.
        found: String,
    },
    /// An element, attribute or value that the schema does not allow at this place.
    #[error("expected {expected}, found {found}")]
    Schema {
        /// Element, attribute or value that the schema has at this place.
        expected: String,
        /// Text in its place.
        found: String,
    },
}

impl FormatFileError {
    pub(super) fn new(file: &str, line: Option<u64>, problem: FormatFileProblem) -> Self {
        Self { file: file.to_owned(), line, problem }
    }

    /// Returns the message of Microsoft's library for such a file, word for word: SQLSTATE and text.
    pub fn vendor_words(&self) -> (&'static str, &'static str) {
        use FormatFileProblem::*;
        let text = match &self.problem {
            Io(_) => "Format file could not be opened. Invalid name specified or access denied.",
            NotText { .. } => "Format File : Unknown error occurred while attempting to read.",
            Version { found } if found.parse::<f64>().is_ok_and(|number| number < 15.0) => {
                "Attempt to read unknown version of BCP format file"
            }
            Version { .. } => "Format File : Unknown error occurred while attempting to read.",
            FieldCount { .. } => "BCP host-files must contain at least one column",
            HostOrder { .. } | MissingFields { .. } => {
                "Incorrect host-column number found in BCP format-file"
            }
            HostType { .. } => "Format File : Invalid Data type.",
            ServerColumn { .. } => return ("07009", "Invalid Descriptor Index"),
            Terminator { .. } | OpenQuote => "Unexpected EOF encountered in BCP data-file",
            _ => "I/O error while reading BCP format file",
        };
        ("HY000", text)
    }
}

impl fmt::Display for FormatFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}
