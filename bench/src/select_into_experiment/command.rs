//! `bulkwire bench select-into`: the experiment's command line.

use clap::Args;
use load::report::grouped;

use super::{Settings, Variant, measure};
use crate::experiment::{Interrupt, Outcome, Recovery, ReportArguments, TargetArguments};

/// Flags of `bulkwire bench select-into`.
#[derive(Debug, Args)]
pub struct SelectIntoArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Rows of the source, about 110 bytes each
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    rows: u64,
    /// Rounds, in each of which the variants take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Data files of the file group that is written
    #[arg(long, value_delimiter = ',', default_value = "1,2,8", value_parser = clap::value_parser!(u16).range(1..=1000))]
    files: Vec<u16>,
    /// Degrees of parallelism (MAXDOP of the statement)
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..=1000))]
    maxdop: Vec<u16>,
    /// Recovery model of the experiment's database
    #[arg(long, value_enum, value_name = "MODEL", default_value = "bulk-logged")]
    recovery: Recovery,
    /// Directory in which data files are made, as the server sees it (default: that of the database's first file)
    #[arg(long, value_name = "DIR")]
    file_directory: Option<String>,
    /// Megabytes with which each data file begins (default: what the rows take, so that none grows)
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(2..=1 << 24))]
    file_size_mb: Option<u64>,
    #[command(flatten)]
    report: ReportArguments,
    #[arg(long, hide = true)]
    plant_wrong_row: bool,
}

impl SelectIntoArguments {
    /// Runs the experiment: progress to standard error, tables to standard output, and the files that were
    /// asked for.
    ///
    /// # Errors
    /// [`measure`] fails, or a file cannot be written.
    pub fn run(&self) -> Outcome<()> {
        self.report.check()?;
        let settings = Settings {
            target: self.target.clone(),
            rows: self.rows,
            rounds: usize::from(self.rounds),
            variants: Variant::combinations(&self.files, &self.maxdop),
            recovery: self.recovery,
            file_directory: self.file_directory.clone(),
            file_size_mb: self.file_size_mb,
            plant_wrong_row: self.plant_wrong_row,
        };
        let results = measure(&settings, &Interrupt::watch()?, &mut |round, variant, run| {
            let rate = grouped((run.rows as f64 / run.seconds).round() as u64);
            eprintln!(
                "round {} of {}: {variant}: {:.3} s, {rate} rows/s",
                round + 1,
                settings.rounds,
                run.seconds
            );
        })?;
        self.report.deliver(&results)
    }
}
