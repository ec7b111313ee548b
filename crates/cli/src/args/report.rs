//! Flags for what is said of a load: before it, and when it is done.

use std::path::PathBuf;

use clap::Args;

/// The forecasts and reports to make.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Say how many pages, how much log and how much time the load takes, and stop with --dry-run, or say with --report what it took. The
    /// file is read for it, and some rows are loaded into a temporary table, which is dropped again, to measure the time
    #[arg(long, help_heading = "Report")]
    pub forecast: bool,
    /// Write a page with charts of the load to this file, which must not exist
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run", help_heading = "Report")]
    pub report: Option<PathBuf>,
}
