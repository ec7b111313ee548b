//! `bulkwire bench arrow`: the experiment's command line.

use std::path::PathBuf;

use clap::Args;
use load::report::grouped;

use super::{Outcome, Settings, Storage, Variant, measure, page};
use crate::experiment::Interrupt;

/// Flags of `bulkwire bench arrow`.
#[derive(Debug, Args)]
pub struct ArrowArguments {
    /// Connection string of the server to load into (default: an embedded server, in memory); the password may come from
    /// BULKWIRE_PASSWORD
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Table to make, load, verify and drop, again and again; it must not exist
    #[arg(long, default_value = "dbo.bulkwire_bench_arrow")]
    table: String,
    /// Rows a run
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    rows: u64,
    /// Rounds, in each of which the variants take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// What the rows go into
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heap,clustered,heap-then-key")]
    storage: Vec<Storage>,
    /// Rows of a batch, which is a transaction
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "50000,100000,1000000",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    batch_rows: Vec<u64>,
    /// With TABLOCK, without it, or both
    #[arg(long, value_enum, value_delimiter = ',', default_value = "on,off")]
    table_lock: Vec<Lock>,
    /// Rows that are sent one by one, with an INSERT each; 0 leaves that method out
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(0..=1 << 31))]
    row_by_row: u64,
    /// Write all runs here, as JSON
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page with charts here, as HTML
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Lock {
    On,
    Off,
}

impl ArrowArguments {
    /// Runs the experiment: progress to standard error, the table to standard output, and the files that were asked for.
    pub fn run(&self) -> Outcome<()> {
        let locks: Vec<bool> = self.table_lock.iter().map(|lock| *lock == Lock::On).collect();
        let settings = Settings {
            target: self.target.clone(),
            table: self.table.clone(),
            rows: self.rows,
            row_by_row_rows: self.row_by_row,
            rounds: usize::from(self.rounds),
            variants: Variant::combinations(&self.storage, &self.batch_rows, &locks, self.row_by_row > 0),
        };
        let results = measure(&settings, &Interrupt::watch()?, &mut |round, variant, run| {
            let rate = grouped((run.rows as f64 / run.seconds).round() as u64);
            eprintln!("round {} of {}: {variant}: {rate} rows/s", round + 1, settings.rounds);
        })?;
        print!("{results}");
        let files =
            [(&self.output, serde_json::to_string_pretty(&results)? + "\n"), (&self.report, page(&results))];
        for (path, content) in files {
            if let Some(path) = path {
                std::fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(())
    }
}
