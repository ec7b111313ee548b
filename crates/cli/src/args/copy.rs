//! Flags of `bulkwire copy`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    BulkArgs, ColumnArgs, CompressionName, ConnectionArgs, ConversionArgs, EventArgs, FileArgs, FormArgs,
    FormatName, ModeArgs, ReaderArgs, RefusalArgs, TransformArgs, WriterArgs,
};

/// Copies rows from any source to any destination.
///
/// Endpoints are mssql://user@host:port/database/schema.table, mssql:schema.table (with the server of --url), files, patterns such as
/// 'in/*.csv', directories, objects (s3://bucket/key, az://, gs://, https://), workbooks (book.xlsx#Sheet), `-`, and other databases (postgresql://host/db#table, sqlite:FILE#table,
/// duckdb:FILE#table, adbc:DRIVER?uri=...#table, odbc:Driver={...};...#table).
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// Where rows come from
    pub source: String,
    /// Where they go
    pub destination: String,
    /// Copy the result of this query, in place of a table
    #[arg(long, value_name = "SQL", conflicts_with = "tables", help_heading = "Source")]
    pub query: Option<String>,
    /// Copy the tables whose names fit: 'sales.*', orders, 'log_????'. Views must be named
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', help_heading = "Several tables")]
    pub tables: Vec<String>,
    /// Leave out the tables whose names fit
    #[arg(
        long,
        value_name = "PATTERN",
        value_delimiter = ',',
        requires = "tables",
        help_heading = "Several tables"
    )]
    pub exclude: Vec<String>,
    /// Tables that are copied at a time
    #[arg(long, value_name = "N", default_value = "2", help_heading = "Several tables", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Begin no further table after one has failed
    #[arg(long, requires = "tables", help_heading = "Several tables")]
    pub fail_fast: bool,
    /// The schema that takes all tables (default: each goes to the schema of its name)
    #[arg(long, value_name = "SCHEMA", requires = "tables", help_heading = "Several tables")]
    pub to_schema: Option<String>,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub format: FileArgs,
    /// Columns of a source of bcp's formats, as in CREATE TABLE: "id int not null, name nvarchar(20)" (default: those of the
    /// destination's table)
    #[arg(long, value_name = "COLUMNS", help_heading = "File")]
    pub declare: Option<String>,
    /// The sheet of a workbook (default: the first)
    #[arg(long, value_name = "NAME", help_heading = "File")]
    pub sheet: Option<String>,
    #[command(flatten)]
    pub target_file: TargetFileArgs,
    /// Whether the destination's table is made, from the source's types: if it is missing (the default), always, or never.
    /// --create alone is always: a table that is there is then an error
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, default_missing_value = "always", require_equals = true, help_heading = "Target")]
    pub create: Option<CreateName>,
    #[command(flatten)]
    pub modes: ModeArgs,
    /// Between SQL Servers: give new tables the keys, indexes, defaults, checks, computed columns and foreign keys of the source's
    #[arg(long, help_heading = "Target")]
    pub with_keys: bool,
    /// What becomes of the collations of columns of tables that are made: keep, default (that of the destination's database), or
    /// map=OLD:NEW, several joined by commas
    #[arg(long, value_name = "WHAT", default_value_t, hide_default_value = true, help_heading = "Target", value_parser = parse_collations)]
    pub collations: copy::Collations,
    #[command(flatten)]
    pub writers: WriterArgs,
    #[command(flatten)]
    pub bulk: BulkArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub conversions: ConversionArgs,
    #[command(flatten)]
    pub forms: FormArgs,
    #[command(flatten)]
    pub transformation: TransformArgs,
    #[command(flatten)]
    pub reading: ReaderArgs,
    #[command(flatten)]
    pub refusals: RefusalArgs,
    /// Say what would be done, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Write a page about the copy to this file, which must not exist
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run", help_heading = "Report")]
    pub report: Option<PathBuf>,
    /// How the report is printed: text on standard error, or JSON on standard output
    #[arg(
        long,
        short = 'o',
        value_enum,
        default_value = "text",
        value_name = "FORM",
        help_heading = "Report"
    )]
    pub output: ReportForm,
    /// No plan, no progress, no report
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub events: EventArgs,
}

fn parse_collations(text: &str) -> Result<copy::Collations, String> {
    text.parse()
}

impl CopyArgs {
    /// Whether rows go to SQL Server, which commits them batch by batch.
    pub fn loads_server(&self) -> bool {
        let scheme = self.destination.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        scheme.is_some_and(|scheme| scheme == "mssql" || scheme == "sqlserver")
    }
}

/// How a file is written.
#[derive(Debug, Default, Args)]
pub struct TargetFileArgs {
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
    pub to_encoding: Option<String>,
    /// Keep the columns of text files as text, also where the destination has types or a table is made
    #[arg(long, help_heading = "Target file")]
    pub keep_text: bool,
    /// Fill a directory with files of at most this many rows
    #[arg(long, value_name = "ROWS", conflicts_with = "partition_by", help_heading = "Target file", value_parser = clap::value_parser!(u64).range(1..))]
    pub split_rows: Option<u64>,
    /// Fill a directory with one directory for each value of this column, as Hive does
    #[arg(long, value_name = "COLUMN", help_heading = "Target file")]
    pub partition_by: Option<String>,
}

impl TargetFileArgs {
    /// The flags as those of a file.
    pub fn as_file(&self) -> FileArgs {
        FileArgs {
            format: self.to_format,
            compression: self.to_compression,
            delimiter: self.to_delimiter.clone(),
            row_terminator: self.to_row_terminator.clone(),
            no_quote: self.to_no_quote,
            no_header: self.to_no_header,
            null_text: self.to_null_text.clone(),
            encoding: self.to_encoding.clone(),
            ..FileArgs::default()
        }
    }
}

/// Whether a table is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CreateName {
    /// If it is not there.
    IfMissing,
    /// A table that is there is an error.
    Always,
    /// A table that is missing is an error.
    Never,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// For people, on standard error.
    Text,
    /// One object, on standard output.
    Json,
}

impl From<CreateName> for copy::Create {
    fn from(name: CreateName) -> Self {
        match name {
            CreateName::IfMissing => Self::IfMissing,
            CreateName::Always => Self::Always,
            CreateName::Never => Self::Never,
        }
    }
}
