//! Options for files that are written.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::{NumberOrWord, option};
use super::{CompressionName, FileOptions, FormatName};

/// The format of a file that is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetFileOptions {
    /// Format of the file that is written (default: by its suffix; for --tables: parquet)
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Target file")]
    pub to_format: Option<FormatName>,
    /// Compression of the file that is written (default: by its suffix)
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Target file")]
    pub to_compression: Option<CompressionName>,
    /// Field delimiter of the file that is written
    #[arg(long, value_name = "TEXT", help_heading = "Target file")]
    pub to_delimiter: Option<String>,
    /// What ends a row of the file that is written (default: a line feed)
    #[arg(long, value_name = "TEXT", help_heading = "Target file")]
    pub to_row_terminator: Option<String>,
    /// No quoting in the file that is written; values that would need it are refused
    #[arg(long, help_heading = "Target file")]
    pub to_no_quote: bool,
    /// The file that is written gets no header line
    #[arg(long, help_heading = "Target file")]
    pub to_no_header: bool,
    /// Text that stands for NULL in the file that is written
    #[arg(long, value_name = "TEXT", help_heading = "Target file")]
    pub to_null_text: Option<String>,
    /// Encoding of the file that is written: utf-8, utf-16le, utf-16be or a code page number
    #[arg(long, value_name = "NAME", help_heading = "Target file")]
    #[serde(with = "option")]
    #[schemars(with = "Option<NumberOrWord>")]
    pub to_encoding: Option<String>,
    /// Keep the columns of text files as text, also where the destination has types or a table is made
    #[arg(long, help_heading = "Target file")]
    pub keep_text: bool,
    /// Fill a directory with files of at most this many rows
    #[arg(long, value_name = "ROWS", conflicts_with = "partition_by", help_heading = "Target file", value_parser = clap::value_parser!(u64).range(1..))]
    #[schemars(range(min = 1))]
    pub split_rows: Option<u64>,
    /// Fill a directory with one directory for each value of this column, as Hive does
    #[arg(long, value_name = "COLUMN", help_heading = "Target file")]
    pub partition_by: Option<String>,
}

impl TargetFileOptions {
    /// Returns the options as those of a file.
    pub fn as_file(&self) -> FileOptions {
        FileOptions {
            format: self.to_format,
            compression: self.to_compression,
            delimiter: self.to_delimiter.clone(),
            row_terminator: self.to_row_terminator.clone(),
            no_quote: self.to_no_quote,
            no_header: self.to_no_header,
            null_text: self.to_null_text.iter().cloned().collect(),
            encoding: self.to_encoding.clone(),
            ..FileOptions::default()
        }
    }
}
