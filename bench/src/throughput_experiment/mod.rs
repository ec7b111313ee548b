//! The experiment of the log-write limits of service tiers (docs/benchmarks.md, "The throughput experiment"): `bulkwire bench throughput`.

mod command;
mod row;
mod sampler;
mod summary;
mod test_run;
mod tier;
mod worker;

use std::fmt;
use std::time::Duration;

use load::TableName;
use load::report::grouped;
use serde::Serialize;

pub use command::ThroughputArguments;
pub use sampler::{ResourceSample, Sample};
pub use summary::{Figures, Results};
pub use test_run::{Limit, TestRun};
pub use tier::{Published, TIERS};
pub use worker::Pace;

use crate::experiment::{Interrupt, Outcome, Recovery, Surroundings, Target, TargetArguments};

/// Settings of the experiment: its target, tiers, rounds and tests.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Server that the experiment measures.
    pub target: TargetArguments,
    /// Tiers to set, one after the other; without any, the one that the database has.
    pub tiers: Vec<String>,
    /// Times that every test is run.
    pub rounds: usize,
    /// Duration of a test.
    pub duration: Duration,
    /// Time between samples.
    pub sample_period: Duration,
    /// Threads, each with a table of its own; the tier's published number without it.
    pub threads: Option<u16>,
    /// Rows of a batch of unlimited throughput; `None` leaves that test out.
    pub unlimited_batch_rows: Option<u64>,
    /// The ramp of limited throughput; `None` leaves it out.
    pub ramp: Option<Ramp>,
    /// Spoil every table before it is verified.
    pub plant_wrong_row: bool,
}

/// Tests of limited throughput, one for each batch size.
#[derive(Debug, Clone)]
pub struct Ramp {
    /// Tiers that it is run on; all with none named.
    pub tiers: Vec<String>,
    /// Batches a second of each thread.
    pub batches_per_second: f64,
    /// Rows of a batch; without any, a quarter to five quarters of the tier's published rate.
    pub batch_rows: Vec<u64>,
}

/// A test: threads that send batches at a pace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    /// Tier that the test runs on, if the server names it.
    pub tier: Option<String>,
    /// Times at which batches are sent.
    pub pace: Pace,
    /// Threads, each with a table of its own.
    pub threads: u16,
    /// Rows of a batch.
    pub batch_rows: u64,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.threads == 1 { "" } else { "s" };
        write!(f, "{}, ", self.tier.as_deref().unwrap_or("no tier"))?;
        match self.pace {
            Pace::Unlimited => f.write_str("UT")?,
            Pace::BatchesPerSecond(rate) => write!(f, "LT {rate} a second")?,
        }
        write!(f, ", {} thread{plural}, {} rows a batch", self.threads, grouped(self.batch_rows))
    }
}

impl Settings {
    /// Lists the tests on a tier.
    fn tests(&self, tier: Option<&str>) -> Vec<Test> {
        let published = tier.and_then(Published::named);
        let threads = self.threads.or(published.map(|published| published.threads)).unwrap_or(1);
        let test = |pace, batch_rows| Test { tier: tier.map(str::to_owned), pace, threads, batch_rows };
        let mut tests: Vec<Test> =
            self.unlimited_batch_rows.map(|rows| test(Pace::Unlimited, rows)).into_iter().collect();
        let Some(ramp) = &self.ramp else { return tests };
        let meant = |name: &String| tier.is_some_and(|tier| tier.eq_ignore_ascii_case(name));
        if !ramp.tiers.is_empty() && !ramp.tiers.iter().any(meant) {
            return tests;
        }
        let sizes =
            match (ramp.batch_rows.as_slice(), published.and_then(|tier| tier.usual_rows_per_second())) {
                ([], Some(rate)) => {
                    let full = rate / f64::from(threads) / ramp.batches_per_second;
                    [0.25, 0.5, 0.75, 1.0, 1.25].map(|share| (full * share).round().max(1.0) as u64).to_vec()
                }
                (sizes, _) => sizes.to_vec(),
            };
        tests.extend(
            sizes.into_iter().map(|rows| test(Pace::BatchesPerSecond(ramp.batches_per_second), rows)),
        );
        tests
    }
}

/// Runs the experiment. Calls `on_finished` for every finished test with its round from 0, the test, and its result.
///
/// # Errors
/// A server that cannot be reached or lacks a tier, a database or table that exists, tables that do not have the rows that were committed.
/// What was made on the server is dropped in any case, or said to be there still.
pub fn measure(
    settings: &Settings,
    interrupt: &Interrupt,
    on_finished: &mut dyn FnMut(usize, &Test, &TestRun),
) -> Outcome<Results> {
    let target = Target::open(&settings.target, &[], interrupt)?;
    let threads =
        settings.threads.unwrap_or_else(|| TIERS.iter().map(|tier| tier.threads).max().unwrap_or(1));
    let tables: Vec<TableName> =
        (1..=threads).map(|number| target.table(&format!("bulkwire_bench_load_{number}"))).collect();
    if let Err(error) = target.refuse_existing(&tables) {
        return target.close(&[], Err(error));
    }
    let measured = measure_on(&target, &tables, settings, on_finished);
    target.close(&tables, measured)
}

fn measure_on(
    target: &Target,
    tables: &[TableName],
    settings: &Settings,
    on_finished: &mut dyn FnMut(usize, &Test, &TestRun),
) -> Outcome<Results> {
    let mut session = target.connect()?;
    if target.owns_database() {
        // A hosted service has no other model, and no statement for it either.
        let set = Recovery::Full.set(target, &mut session);
        if target.server().is_some() {
            set?;
        }
    }
    let mut results = Results::new(settings, Surroundings::of(target, &mut session));
    let tiers: Vec<Option<String>> = match settings.tiers.as_slice() {
        [] => vec![None],
        tiers => tiers.iter().cloned().map(Some).collect(),
    };
    for round in 0..settings.rounds {
        for asked in &tiers {
            let tier = match asked {
                Some(name) if name.eq_ignore_ascii_case("none") => {
                    tier::set(&mut session, None, target.interrupt())?;
                    None
                }
                Some(name) => {
                    tier::set(&mut session, Some(name), target.interrupt())?;
                    Some(name.clone())
                }
                None => tier::of_database(&mut session)?,
            };
            let tests = settings.tests(tier.as_deref());
            let ramp_is_missing = settings.ramp.as_ref().is_some_and(|ramp| ramp.tiers.is_empty())
                && tests.iter().all(|test| test.pace == Pace::Unlimited);
            if ramp_is_missing {
                results.left_out(tier.as_deref());
            }
            if tests.is_empty() {
                return Err("nothing is left to run: the ramp of LT needs --ramp-rows on a tier that was not published".into());
            }
            for test in tests {
                target.interrupt().check()?;
                let used = tables.get(..usize::from(test.threads)).unwrap_or(tables);
                let run = test_run::run(target, &mut session, used, &test, settings)
                    .map_err(|error| format!("{test}: {error}"))?;
                on_finished(round, &test, &run);
                results.add(test, run);
            }
        }
    }
    results.settle();
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(ramp: Option<Ramp>) -> Settings {
        Settings {
            target: TargetArguments {
                target: None,
                database: "d".to_owned(),
                in_place: false,
                server: Default::default(),
            },
            tiers: Vec::new(),
            rounds: 1,
            duration: Duration::from_secs(1),
            sample_period: Duration::from_secs(1),
            threads: None,
            unlimited_batch_rows: Some(100),
            ramp,
            plant_wrong_row: false,
        }
    }

    #[test]
    fn the_ramp_goes_beyond_the_published_rate() {
        let ramp = Ramp { tiers: vec!["basic".to_owned()], batches_per_second: 2.0, batch_rows: Vec::new() };
        let tests = settings(Some(ramp)).tests(Some("Basic"));
        // 451 rows a second, in two batches.
        let sizes: Vec<u64> = tests.iter().map(|test| test.batch_rows).collect();
        assert_eq!(sizes, [100, 56, 113, 169, 226, 282]);
        assert!(tests.iter().all(|test| test.threads == 1));
        let ramp = Ramp { tiers: vec!["Basic".to_owned()], batches_per_second: 1.0, batch_rows: vec![7] };
        let names: Vec<String> = settings(Some(ramp)).tests(Some("P2")).iter().map(Test::to_string).collect();
        assert_eq!(names, ["P2, UT, 4 threads, 100 rows a batch"]);
    }

    #[test]
    fn without_a_published_tier_the_ramp_is_what_is_said() {
        let ramp = Ramp { tiers: Vec::new(), batches_per_second: 1.0, batch_rows: vec![10, 20] };
        let names: Vec<String> = settings(Some(ramp)).tests(None).iter().map(Test::to_string).collect();
        assert_eq!(
            names,
            [
                "no tier, UT, 1 thread, 100 rows a batch",
                "no tier, LT 1 a second, 1 thread, 10 rows a batch",
                "no tier, LT 1 a second, 1 thread, 20 rows a batch"
            ]
        );
    }
}
