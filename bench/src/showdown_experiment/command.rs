//! `bulkwire bench showdown`: the experiment's command line.

use std::path::PathBuf;

use clap::Args;
use load::report::grouped;

use super::{Choice, Direction, HostFile, Mover, Settings, Variant, measure};
use crate::experiment::{Interrupt, Outcome, Recovery, ReportArguments, TargetArguments};

/// Flags of `bulkwire bench showdown`.
#[derive(Debug, Args)]
pub struct ShowdownArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Numbers of rows, one after the other (the original's third is 1000000: with fixed width, TABLOCK and a fill factor of 10 a table
    /// of 8 GB)
    #[arg(long, value_delimiter = ',', default_value = "5000,100000", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    rows: Vec<u32>,
    /// Seed of the generated rows
    #[arg(long, default_value_t = 2001)]
    seed: u64,
    /// Rounds, in each of which the variants take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Who moves the rows
    #[arg(long, value_enum, value_delimiter = ',', default_value = "bcp,bulk-insert,load,copy")]
    mover: Vec<Mover>,
    /// Files
    #[arg(long, value_enum, value_delimiter = ',', default_value = "csv,delimited,fixed-width,native")]
    file: Vec<HostFile>,
    /// Which way
    #[arg(long, value_enum, value_delimiter = ',', default_value = "import,export")]
    direction: Vec<Direction>,
    /// Imports with TABLOCK, without it, or both
    #[arg(long, value_enum, value_delimiter = ',', default_value = "on,off")]
    table_lock: Vec<Lock>,
    /// Recovery models of the experiment's database (default: bulk-logged; with --in-place, the one that it has)
    #[arg(long, value_enum, value_name = "MODEL", value_delimiter = ',', conflicts_with = "in_place")]
    recovery: Vec<Recovery>,
    /// Write the files below this directory (default: the system's temporary one)
    #[arg(long, value_name = "DIR")]
    file_directory: Option<PathBuf>,
    /// With --target: --file-directory as the server sees it, for BULK INSERT, which is left out otherwise
    #[arg(long, value_name = "DIR", requires_all = ["target", "file_directory"])]
    server_file_directory: Option<String>,
    #[command(flatten)]
    report: ReportArguments,
    #[arg(long, hide = true)]
    plant_wrong_row: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Lock {
    On,
    Off,
}

impl ShowdownArguments {
    /// Runs the experiment: progress to standard error, tables to standard output, and the files that were
    /// asked for.
    ///
    /// # Errors
    /// [`measure`] fails, or a file cannot be written.
    pub fn run(&self) -> Outcome<()> {
        self.report.check()?;
        let recoveries = match (self.recovery.as_slice(), self.target.in_place) {
            ([], true) => vec![None],
            ([], false) => vec![Some(Recovery::BulkLogged)],
            (models, _) => models.iter().copied().map(Some).collect(),
        };
        let server_reads_files = self.target.target.is_none() || self.server_file_directory.is_some();
        if !server_reads_files && self.mover.contains(&Mover::BulkInsert) {
            eprintln!(
                "BULK INSERT is left out: without --server-file-directory the server cannot read the files"
            );
        }
        let choice = Choice {
            directions: self.direction.clone(),
            movers: self.mover.clone(),
            files: self.file.clone(),
            table_locks: self.table_lock.iter().map(|lock| *lock == Lock::On).collect(),
            recoveries,
            server_reads_files,
        };
        let variants = Variant::combinations(&choice);
        if variants.is_empty() {
            return Err("nothing is left to run: bcp has no CSV, BULK INSERT imports only, and copy writes no fixed width".into());
        }
        let settings = Settings {
            target: self.target.clone(),
            rows: self.rows.clone(),
            seed: self.seed,
            rounds: usize::from(self.rounds),
            variants,
            file_directory: self.file_directory.clone(),
            server_file_directory: self.server_file_directory.clone(),
            plant_wrong_row: self.plant_wrong_row,
        };
        let results = measure(&settings, &Interrupt::watch()?, &mut |rows, round, variant, run| {
            let rate = grouped((run.rows as f64 / run.seconds).round() as u64);
            let rows = grouped(u64::from(rows));
            eprintln!(
                "{rows} rows, round {} of {}: {variant}: {:.3} s, {rate} rows/s",
                round + 1,
                settings.rounds,
                run.seconds
            );
        })?;
        self.report.deliver(&results)
    }
}
