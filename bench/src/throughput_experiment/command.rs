//! `bulkwire bench throughput`: the experiment's command line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use load::report::grouped;

use super::{Pace, Ramp, Settings, TIERS, measure};
use crate::experiment::{Interrupt, Outcome, ReportArguments, TargetArguments};

/// Flags of `bulkwire bench throughput`.
#[derive(Debug, Args)]
pub struct ThroughputArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Service tiers to set, one after the other: Basic, S0, S1, S2, S3, P1, P2, P3, Web, Business, or none for no limit (default: Basic,S1,S2,P1,P2,Web;
    /// with --target, the tier that the database has)
    #[arg(long, value_delimiter = ',', value_name = "TIER", conflicts_with = "in_place")]
    tier: Vec<String>,
    /// UT: the next batch at once; LT: batches at fixed times, their size ramped from test to test
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ut,lt")]
    mode: Vec<Mode>,
    /// Seconds a test (the original's took 1800); shorter ones than 30 may hold no whole interval of the server's statistics
    #[arg(long, value_name = "SECONDS", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Times that every test is run (the original's three)
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Threads, each with a connection and a table of its own (default: as many as were used for the published figures of the tier, or 1)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    threads: Option<u16>,
    /// Rows of a batch of UT, about 400 bytes each
    #[arg(long, value_name = "ROWS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    batch_rows: u64,
    /// Tiers on which LT is run, too; all: on each (default: Basic; all, with --target or --ramp-rows)
    #[arg(long, value_delimiter = ',', value_name = "TIER")]
    lt_tier: Vec<String>,
    /// Batches a second of each thread of LT
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = rate)]
    batches_per_second: f64,
    /// Rows of a batch of LT, test by test (default: 25, 50, 75, 100 and 125 % of the tier's published rate)
    #[arg(long, value_delimiter = ',', value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    ramp_rows: Vec<u64>,
    /// Seconds between samples of rates and processors
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    sample_seconds: u64,
    #[command(flatten)]
    report: ReportArguments,
    #[arg(long, hide = true)]
    plant_wrong_row: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Ut,
    Lt,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(rate),
        _ => Err("a number from 0.01 to 1000 is expected".to_owned()),
    }
}

impl ThroughputArguments {
    /// Runs the experiment: progress to standard error, tables to standard output, and the files that were
    /// asked for.
    ///
    /// # Errors
    /// [`measure`] fails, or a file cannot be written.
    pub fn run(&self) -> Outcome<()> {
        self.report.check()?;
        let tiers = match (self.tier.as_slice(), &self.target.target) {
            ([], None) => TIERS.iter().map(|tier| tier.name.to_owned()).collect(),
            (tiers, _) => tiers.to_vec(),
        };
        let on_all = self.target.target.is_some() || !self.ramp_rows.is_empty();
        let ramp_tiers = match self.lt_tier.as_slice() {
            [] if on_all => Vec::new(),
            [] => vec!["Basic".to_owned()],
            tiers if tiers.iter().any(|tier| tier.eq_ignore_ascii_case("all")) => Vec::new(),
            tiers => tiers.to_vec(),
        };
        let ramp = self.mode.contains(&Mode::Lt).then(|| Ramp {
            tiers: ramp_tiers,
            batches_per_second: self.batches_per_second,
            batch_rows: self.ramp_rows.clone(),
        });
        let settings = Settings {
            target: self.target.clone(),
            tiers,
            rounds: usize::from(self.rounds),
            duration: Duration::from_secs(self.seconds),
            sample_period: Duration::from_secs(self.sample_seconds),
            threads: self.threads,
            unlimited_batch_rows: self.mode.contains(&Mode::Ut).then_some(self.batch_rows),
            ramp,
            plant_wrong_row: self.plant_wrong_row,
        };
        let results = measure(&settings, &Interrupt::watch()?, &mut |round, test, run| {
            let missed = match test.pace {
                Pace::Unlimited => String::new(),
                Pace::BatchesPerSecond(_) => {
                    format!(", {} missed", run.missed_for_server + run.missed_by_client)
                }
            };
            eprintln!(
                "round {} of {}: {test}: {} rows/s, {:.1} MB/min, {} errors{missed}; limit: {}",
                round + 1,
                settings.rounds,
                grouped(run.rows_per_second.round() as u64),
                run.megabytes_per_minute,
                run.errors,
                run.limit.name()
            );
        })?;
        self.report.deliver(&results)
    }
}
