//! `bulkwire bench compression`: the experiment's command line.

use clap::Args;
use load::report::grouped;

use super::{Compression, Settings, Shape, Variant, measure};
use crate::experiment::{Interrupt, Outcome, Recovery, ReportArguments, TargetArguments};

/// Flags of `bulkwire bench compression`.
#[derive(Debug, Args)]
pub struct CompressionArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Rows of the source, about 105 bytes each
    #[arg(long, default_value_t = 3_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    rows: u64,
    /// Rounds, in each of which the variants take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// What the rows go into
    #[arg(long, value_enum, value_delimiter = ',', default_value = "clustered,heap-tablock")]
    shape: Vec<Shape>,
    /// DATA_COMPRESSION
    #[arg(long, value_enum, value_delimiter = ',', default_value = "none,row,page")]
    compression: Vec<Compression>,
    /// Recovery model of the experiment's database (default: simple; with --in-place, the one that it has)
    #[arg(long, value_enum, value_name = "MODEL", conflicts_with = "in_place")]
    recovery: Option<Recovery>,
    /// MAXDOP of the INSERT (default: the server's choice)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    maxdop: Option<u16>,
    #[command(flatten)]
    report: ReportArguments,
    #[arg(long, hide = true)]
    plant_wrong_row: bool,
}

impl CompressionArguments {
    /// Runs the experiment: progress to standard error, tables to standard output, and the files that were
    /// asked for.
    ///
    /// # Errors
    /// [`measure`] fails, or a file cannot be written.
    pub fn run(&self) -> Outcome<()> {
        self.report.check()?;
        let default_recovery = (!self.target.in_place).then_some(Recovery::Simple);
        let settings = Settings {
            target: self.target.clone(),
            rows: self.rows,
            rounds: usize::from(self.rounds),
            variants: Variant::combinations(&self.shape, &self.compression),
            recovery: self.recovery.or(default_recovery),
            max_dop: self.maxdop,
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
