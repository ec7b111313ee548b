//! Options that describe files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::{NumberOrWord, TextOrTexts, option, optional_list, texts};

/// The format of a file that is read or written, for every verb that has files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileOptions {
    /// File format (default: by the file's suffix)
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "File")]
    pub format: Option<FormatName>,
    /// Compression (default: by the file's suffix, .gz or .zst)
    #[arg(long, value_enum, value_name = "KIND", help_heading = "File")]
    pub compression: Option<CompressionName>,
    /// Format file of bcp that describes the file, non-XML or XML
    #[arg(long, value_name = "FILE", help_heading = "File")]
    pub format_file: Option<PathBuf>,
    /// Remove blanks at the end of text fields of fixed width; a field of blanks is NULL
    #[arg(long, requires = "format_file", help_heading = "File")]
    pub trim_blanks: bool,
    /// Field delimiter; \t and other escapes are understood
    #[arg(long, value_name = "TEXT", help_heading = "CSV")]
    pub delimiter: Option<String>,
    /// What ends a row (default: a line feed, with or without a carriage return; also lone carriage returns, if the file has
    /// nothing else); \n, \r and other escapes are understood. With --server-side as T-SQL spells it (default: 0x0a)
    #[arg(long, value_name = "TEXT", help_heading = "CSV")]
    pub row_terminator: Option<String>,
    /// Lines to skip before the header or the first row
    #[arg(long, value_name = "LINES", help_heading = "CSV")]
    pub skip_lines: Option<usize>,
    /// Lines to leave out at the end, such as a total; empty lines do not count
    #[arg(long, value_name = "LINES", help_heading = "CSV")]
    pub skip_footer: Option<usize>,
    /// Quote character
    #[arg(long, value_name = "CHAR", help_heading = "CSV")]
    pub quote: Option<char>,
    /// No quoting: quote characters are data
    #[arg(long, conflicts_with = "quote", help_heading = "CSV")]
    pub no_quote: bool,
    /// The file has no header line
    #[arg(long, help_heading = "CSV")]
    pub no_header: bool,
    /// Names of the file's columns, in order
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', help_heading = "CSV")]
    #[serde(with = "optional_list")]
    #[schemars(with = "Option<Vec<String>>")]
    pub columns: Option<Vec<String>>,
    /// The character behind which a quote, a delimiter, a line break or itself is data, as in "say \"hi\""
    #[arg(long, value_name = "CHAR", help_heading = "CSV")]
    pub escape: Option<char>,
    /// Leave out blanks between a delimiter and a field, in front of quotes too
    #[arg(long, help_heading = "CSV")]
    pub skip_initial_space: bool,
    /// Text that stands for NULL (default: an empty, unquoted field); repeat it for several. An empty field is then an empty
    /// text, unless '' is one of them
    #[arg(long, value_name = "TEXT", help_heading = "CSV")]
    #[serde(with = "texts")]
    #[schemars(with = "TextOrTexts")]
    pub null_text: Vec<String>,
    /// Character encoding: utf-8, utf-16le, utf-16be, or a code page number; raw for bcp's files
    #[arg(long, value_name = "NAME", help_heading = "CSV")]
    #[serde(with = "option")]
    #[schemars(with = "Option<NumberOrWord>")]
    pub encoding: Option<String>,
}

/// File formats by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormatName {
    /// Delimited text.
    Csv,
    /// Tab-delimited text.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file form.
    Arrow,
    /// Arrow IPC, stream form.
    Arrows,
    /// bcp -c: text without quoting.
    Char,
    /// bcp -w: the same in UTF-16.
    Widechar,
    /// bcp -n: native values.
    Native,
    /// bcp -N: native values, text in UTF-16.
    Widenative,
}

impl FormatName {
    /// Returns true for bcp's formats, which do not describe themselves.
    pub fn is_host(self) -> bool {
        matches!(self, Self::Char | Self::Widechar | Self::Native | Self::Widenative)
    }
}

/// Compression by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompressionName {
    /// As it is.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}
