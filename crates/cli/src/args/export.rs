//! Flags of `bulkwire export`.

use super::{ConnectionOptions, EventArgs, FileOptions, FormOptions, ReaderOptions};
use clap::Args;

/// `bulkwire export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// TABLE FILE, or only FILE with --query; `-` is standard output, FILE may be a URL (s3://, az://, gs://), and a name that ends with `/` is a directory of files
    #[arg(required = true, num_args = 1..=2, value_name = "TABLE> <FILE")]
    pub target: Vec<String>,
    /// Export this query's result instead of a table
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,
    #[command(flatten)]
    pub connection: ConnectionOptions,
    #[command(flatten)]
    pub format: FileOptions,
    #[command(flatten)]
    pub forms: FormOptions,
    #[command(flatten)]
    pub reading: ReaderOptions,
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
    #[command(flatten)]
    pub events: EventArgs,
}
