//! Flags of `bulkwire export`.

use clap::{Args, ValueEnum};
use load::read::{Consistency, Readers};

use super::{ConnectionArgs, FileArgs};

/// `bulkwire export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// TABLE FILE, or only FILE with --query; `-` is standard output, and a name that ends with `/` is a directory of files
    #[arg(required = true, num_args = 1..=2, value_name = "TABLE> <FILE")]
    pub target: Vec<String>,
    /// Export this query's result instead of a table
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub format: FileArgs,
    /// How datetime2(7) becomes an Arrow timestamp
    #[arg(long, value_enum, default_value = "ns", value_name = "UNIT", help_heading = "Columns")]
    pub datetime2: Datetime2Form,
    /// Export datetimeoffset as text, with its offset, instead of a UTC timestamp
    #[arg(long, help_heading = "Columns")]
    pub datetimeoffset_text: bool,
    /// Export uniqueidentifier as text instead of 16 bytes
    #[arg(long, help_heading = "Columns")]
    pub guid_text: bool,
    /// Number of connections to read over (1 to 64), or auto for as many as make the export faster. Without --split-by the
    /// clustered key splits the table
    #[arg(long, value_name = "N|auto", default_value = "1", help_heading = "Readers")]
    pub readers: Readers,
    /// Split the rows by this column of the table or the query
    #[arg(long, value_name = "COLUMN", help_heading = "Readers")]
    pub split_by: Option<String>,
    /// Ranges to split the rows into (default: from the table's size)
    #[arg(long, value_name = "N", help_heading = "Readers", value_parser = clap::value_parser!(u16).range(1..=16_384))]
    pub ranges: Option<u16>,
    /// Read all rows as of one point in time: in snapshots that begin together, or under a shared lock on the table
    #[arg(long, value_name = "snapshot|lock|none", default_value = "none", help_heading = "Readers")]
    pub consistent: Consistency,
    /// Disturb other sessions little: short statements, no transaction over two of them, lock waits of five seconds, first victim
    /// of a deadlock
    #[arg(long, help_heading = "Readers")]
    pub gentle: bool,
    /// Milliseconds to wait between two statements
    #[arg(long, value_name = "MILLISECONDS", requires = "gentle", help_heading = "Readers")]
    pub pause: Option<u32>,
    /// Seconds for which a range is tried again after transient errors without progress; 0: never
    #[arg(long, value_name = "SECONDS", help_heading = "Readers")]
    pub retry_for: Option<u32>,
    /// Fill a directory with files of at most this many rows
    #[arg(long, value_name = "ROWS", conflicts_with = "partition_by", help_heading = "File", value_parser = clap::value_parser!(u64).range(1..))]
    pub split_rows: Option<u64>,
    /// Fill a directory with one directory for each value of this column, as Hive does
    #[arg(long, value_name = "COLUMN", help_heading = "File")]
    pub partition_by: Option<String>,
    /// Print the report as JSON on standard error
    #[arg(long)]
    pub json: bool,
    /// No plan, no progress, no report
    #[arg(long, short)]
    pub quiet: bool,
}

/// How `datetime2(7)`, whose range no 64-bit nanosecond count holds, is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Datetime2Form {
    /// Nanoseconds: exact, years 1677 to 2262.
    Ns,
    /// Microseconds: every year, refuses a seventh digit.
    Us,
    /// Text: exact, every year.
    Text,
}
