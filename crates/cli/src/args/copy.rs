//! Flags of `bulkwire copy`.

use std::path::PathBuf;

use ::copy::Options;
use clap::{Args, ValueEnum};

use super::EventArgs;

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
    #[command(flatten)]
    pub options: Options,
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
    /// Print the report as JSON, like --output json
    #[arg(long, conflicts_with = "output", help_heading = "Report")]
    pub json: bool,
    /// No plan, no progress, no report
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub events: EventArgs,
}

impl CopyArgs {
    /// Returns the form of the report.
    pub fn form(&self) -> ReportForm {
        if self.json { ReportForm::Json } else { self.output }
    }

    /// Returns true if rows go to SQL Server, which commits them batch by batch.
    pub fn loads_server(&self) -> bool {
        let scheme = self.destination.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        scheme.is_some_and(|scheme| scheme == "mssql" || scheme == "sqlserver")
    }
}

/// The form of the printed report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// For people, on standard error.
    Text,
    /// A JSON object, on standard output.
    Json,
}
