//! `bulkwire convert`.

use std::path::PathBuf;

use clap::Args;

use super::{ConnectionOptions, FileOptions, FormatName, TextOptions};

/// Converts one file format into another, without a server unless `--table` gives the columns.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// File to read; `-` is standard input
    pub source: String,
    /// File to write; `-` is standard output
    pub target: String,
    /// Format of the source (default: by its suffix)
    #[arg(long, visible_alias = "format", value_enum, value_name = "FORMAT", help_heading = "File")]
    pub from: Option<FormatName>,
    /// Format of the target (default: by its suffix)
    #[arg(long, visible_alias = "to-format", value_enum, value_name = "FORMAT", help_heading = "File")]
    pub to: Option<FormatName>,
    /// Format file of bcp that describes the source
    #[arg(long, value_name = "FILE", conflicts_with = "from", help_heading = "File")]
    pub from_format_file: Option<PathBuf>,
    /// Remove blanks at the end of text fields of fixed width; a field of blanks is NULL
    #[arg(long)]
    pub trim_blanks: bool,
    /// Format file of bcp that describes the target
    #[arg(long, value_name = "FILE", conflicts_with = "to", help_heading = "File")]
    pub to_format_file: Option<PathBuf>,
    /// The columns, as in CREATE TABLE: "id int not null, name nvarchar(20)"
    #[arg(long, value_name = "COLUMNS", help_heading = "Columns")]
    pub declare: Option<String>,
    /// Take the columns of this table; the only use of the connection
    #[arg(long, value_name = "TABLE", conflicts_with = "declare", help_heading = "Columns")]
    pub table: Option<String>,
    #[command(flatten)]
    pub connection: ConnectionOptions,
    /// Field delimiter of a text source
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub delimiter: Option<String>,
    /// Field delimiter of a text target
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub to_delimiter: Option<String>,
    /// What ends a row of a text source (default: a line feed, with or without a carriage return)
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub row_terminator: Option<String>,
    /// What ends a row of a text target (default: a line feed)
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub to_row_terminator: Option<String>,
    /// Lines to skip before a CSV source's header or first row
    #[arg(long, value_name = "LINES", help_heading = "Text")]
    pub skip_lines: Option<usize>,
    /// Lines to leave out at the end of a CSV source, such as a total; empty lines do not count
    #[arg(long, value_name = "LINES", help_heading = "Text")]
    pub skip_footer: Option<usize>,
    /// Quote character of a CSV source
    #[arg(long, value_name = "CHAR", help_heading = "Text")]
    pub quote: Option<char>,
    /// No quoting in a CSV source: quote characters are data
    #[arg(long, conflicts_with = "quote", help_heading = "Text")]
    pub no_quote: bool,
    /// No quoting in a CSV target; values that would need it are refused
    #[arg(long, help_heading = "Text")]
    pub to_no_quote: bool,
    /// A CSV source has no header line
    #[arg(long, help_heading = "Text")]
    pub no_header: bool,
    /// A CSV target gets no header line
    #[arg(long, help_heading = "Text")]
    pub to_no_header: bool,
    /// The character behind which a quote, a delimiter, a line break or itself is data in a CSV source
    #[arg(long, value_name = "CHAR", help_heading = "Text")]
    pub escape: Option<char>,
    /// Leave out blanks between a delimiter and a field of a CSV source
    #[arg(long, help_heading = "Text")]
    pub skip_initial_space: bool,
    /// Text that stands for NULL in a CSV source; repeat it for several
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub null_text: Vec<String>,
    /// Text that stands for NULL in a CSV target
    #[arg(long, value_name = "TEXT", help_heading = "Text")]
    pub to_null_text: Option<String>,
    /// Encoding of a text source: utf-8, utf-16le, utf-16be or a code page number; raw for bcp's files
    #[arg(long, value_name = "NAME", help_heading = "Text")]
    pub encoding: Option<String>,
    /// Encoding of a text target
    #[arg(long, value_name = "NAME", help_heading = "Text")]
    pub to_encoding: Option<String>,
    #[command(flatten)]
    pub text: TextOptions,
    /// Write rows of a bcp file that do not fit its description to this file, a JSON object a line
    #[arg(long, value_name = "FILE", help_heading = "Refused rows")]
    pub rejects: Option<PathBuf>,
    /// Rows that may be refused before the conversion fails (default: none, or any number with --rejects)
    #[arg(long, value_name = "ROWS", help_heading = "Refused rows")]
    pub max_errors: Option<u64>,
    /// No report
    #[arg(long, short)]
    pub quiet: bool,
}

impl ConvertArgs {
    /// Returns the flags that describe the source.
    pub fn source_flags(&self) -> FileOptions {
        FileOptions {
            format: self.from,
            compression: None,
            format_file: self.from_format_file.clone(),
            trim_blanks: self.trim_blanks,
            delimiter: self.delimiter.clone(),
            row_terminator: self.row_terminator.clone(),
            skip_lines: self.skip_lines,
            skip_footer: self.skip_footer,
            quote: self.quote,
            no_quote: self.no_quote,
            no_header: self.no_header,
            columns: None,
            escape: self.escape,
            skip_initial_space: self.skip_initial_space,
            null_text: self.null_text.clone(),
            encoding: self.encoding.clone(),
        }
    }

    /// Returns the flags that describe the target.
    pub fn target_flags(&self) -> FileOptions {
        FileOptions {
            format: self.to,
            compression: None,
            format_file: self.to_format_file.clone(),
            trim_blanks: self.trim_blanks,
            delimiter: self.to_delimiter.clone(),
            row_terminator: self.to_row_terminator.clone(),
            skip_lines: None,
            skip_footer: None,
            quote: None,
            no_quote: self.to_no_quote,
            no_header: self.to_no_header,
            columns: None,
            escape: None,
            skip_initial_space: false,
            null_text: self.to_null_text.iter().cloned().collect(),
            encoding: self.to_encoding.clone(),
        }
    }
}
