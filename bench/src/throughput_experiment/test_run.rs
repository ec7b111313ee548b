//! Run of a test: workers for a fixed time, samples meanwhile, and then every table counted and compared.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use formats::{Checksum, ContentChecksum};
use load::TableName;
use serde::Serialize;

use super::sampler::{self, ResourceSample, Sample};
use super::worker::{self, Orders, Pace, Work};
use super::{Settings, Test, row};
use crate::experiment::{Outcome, Session, Target, Told, plant_wrong_row, verify};
use crate::process_usage;

/// Rows that are made again at a time, to be compared with what the table has.
const CHECK_ROWS: u64 = 8192;
/// A share of a limit from which on it counts as reached.
const REACHED_PERCENT: f64 = 90.0;

/// The result of a test. The rows of every table were read back and compared with the committed ones.
#[derive(Debug, Clone, Serialize)]
pub struct TestRun {
    /// Number of rows committed.
    pub rows: u64,
    /// Time from the first worker's start to the last one's end.
    pub seconds: f64,
    /// Rows a second.
    pub rows_per_second: f64,
    /// Megabytes (1,048,576 bytes) of data a minute, by type, without what protocol, pages and log add.
    pub megabytes_per_minute: f64,
    /// Number of batches committed.
    pub batches: u64,
    /// Batches that failed.
    pub errors: u64,
    /// Error of the first batch that failed.
    pub first_error: Option<String>,
    /// Times at which no batch was sent because the server had not finished an earlier one.
    pub missed_for_server: u64,
    /// Times at which no batch was sent because the client was late by itself.
    pub missed_by_client: u64,
    /// Processor time of this process, as a percentage of all processors.
    pub client_cpu_percent: Option<f64>,
    /// Processor time of the embedded server, as a percentage of all processors.
    pub server_process_cpu_percent: Option<f64>,
    /// Share of the workers' time that went into making rows.
    pub making_percent: f64,
    /// Statistics of the server itself, of intervals within the test.
    pub resources: Told<Vec<ResourceSample>>,
    /// Samples by the clock.
    pub samples: Vec<Sample>,
    /// Resource that is the limit.
    pub limit: Limit,
}

/// The resource that keeps a test from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The client: its figures are not the server's limit.
    Client,
    /// Writes to the log.
    LogWrite,
    /// Processors of the server.
    ServerProcessor,
    /// No resource: all batches were sent and done in time.
    None,
    /// The server shows none.
    Unknown,
}

impl Limit {
    /// Returns the name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Client => "client",
            Limit::LogWrite => "log write",
            Limit::ServerProcessor => "server CPU",
            Limit::None => "none",
            Limit::Unknown => "not told",
        }
    }
}

impl TestRun {
    /// Returns the largest share of the tier's log rate, by the server's statistics.
    pub fn log_write_percent(&self) -> Option<f64> {
        self.largest(|sample| sample.log_write_percent)
    }

    /// Returns the largest share of the tier's processors, by the server's statistics.
    pub fn server_cpu_percent(&self) -> Option<f64> {
        self.largest(|sample| sample.cpu_percent)
    }

    fn largest(&self, of: fn(&ResourceSample) -> f64) -> Option<f64> {
        self.resources.value()?.iter().map(of).reduce(f64::max)
    }

    fn find_limit(&self, pace: Pace) -> Limit {
        let reached = |percent: Option<f64>| percent.is_some_and(|percent| percent >= REACHED_PERCENT);
        let in_time = self.missed_for_server == 0 && self.missed_by_client == 0 && self.errors == 0;
        // Workers that mostly make rows would keep no server busy.
        let client = reached(self.client_cpu_percent)
            || self.missed_by_client > self.missed_for_server
            || (pace == Pace::Unlimited && self.making_percent > 50.0);
        match pace {
            Pace::BatchesPerSecond(_) if in_time => Limit::None,
            _ if client => Limit::Client,
            _ if reached(self.log_write_percent()) => Limit::LogWrite,
            _ if reached(self.server_cpu_percent()) => Limit::ServerProcessor,
            _ => Limit::Unknown,
        }
    }
}

/// Runs a test in tables that are made for it and dropped.
///
/// # Errors
/// A worker fails, or a table does not have the rows that were committed.
pub(super) fn run(
    target: &Target,
    session: &mut Session,
    tables: &[TableName],
    test: &Test,
    settings: &Settings,
) -> Outcome<TestRun> {
    for table in tables {
        session.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
        session.execute(&row::create_table(table))?;
    }
    let from = sampler::server_time(session)?;
    let (rows, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let sampling = target.connect()?;
    let usage =
        || (process_usage::of_self().map(|usage| usage.cpu.as_secs_f64()), target.server_cpu_seconds());
    let before = usage();
    let started = Instant::now();
    let orders = Orders {
        target,
        pace: test.pace,
        batch_rows: test.batch_rows,
        until: started + settings.duration,
        rows: &rows,
    };
    let (works, samples) = thread::scope(|scope| {
        let sampler = scope.spawn(|| sampler::sample(target, sampling, settings.sample_period, &rows, &done));
        let workers: Vec<_> = (0_u16..)
            .zip(tables)
            .map(|(number, table)| (number, table, &orders))
            .map(|(number, table, orders)| scope.spawn(move || worker::work(number, table, orders)))
            .collect();
        let works: Vec<Outcome<Work>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker has panicked".into())))
            .collect();
        done.store(true, Ordering::Relaxed);
        (works, sampler.join().unwrap_or_default())
    });
    let seconds = started.elapsed().as_secs_f64();
    let after = usage();
    let works = works.into_iter().collect::<Outcome<Vec<Work>>>()?;
    let resources = match (from, sampler::server_time(session)?) {
        (Told::Value(from), Told::Value(to)) => sampler::resource_samples(session, &from, &to)?,
        (Told::Unavailable { unavailable }, _) | (_, Told::Unavailable { unavailable }) => {
            Told::unavailable(unavailable)
        }
    };
    for ((number, table), work) in (0_u16..).zip(tables).zip(&works) {
        target.interrupt().check()?;
        if settings.plant_wrong_row {
            plant_wrong_row(session, table, "kind")?;
        }
        verify(session, table, checksum(number, work)?).map_err(|error| format!("{table}: {error}"))?;
        session.execute(&format!("DROP TABLE {table}"))?;
    }
    let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
    let percent =
        |before: Option<f64>, after: Option<f64>| Some((after? - before?) / seconds / cores * 100.0);
    let sum = |of: fn(&Work) -> u64| works.iter().map(of).sum::<u64>();
    let making: Duration = works.iter().map(|work| work.making).sum();
    let busy: Duration = works.iter().map(|work| work.making + work.loading).sum();
    let (rows, data_bytes) = (rows.into_inner(), sum(|work| work.data_bytes));
    let mut run = TestRun {
        rows,
        seconds,
        rows_per_second: rows as f64 / seconds,
        megabytes_per_minute: data_bytes as f64 / f64::from(1 << 20) / seconds * 60.0,
        batches: sum(|work| work.batches),
        errors: sum(|work| work.errors),
        first_error: works.iter().find_map(|work| work.first_error.clone()),
        missed_for_server: sum(|work| work.missed_for_server),
        missed_by_client: sum(|work| work.missed_by_client),
        client_cpu_percent: percent(before.0, after.0),
        server_process_cpu_percent: percent(before.1, after.1),
        making_percent: making.as_secs_f64() / busy.as_secs_f64().max(f64::MIN_POSITIVE) * 100.0,
        resources,
        samples,
        limit: Limit::Unknown,
    };
    run.limit = run.find_limit(test.pace);
    Ok(run)
}

/// Computes the checksum of the rows that a worker committed, made once more.
fn checksum(number: u16, work: &Work) -> Outcome<Checksum> {
    let mut checksum = ContentChecksum::new();
    for range in &work.committed {
        let mut first = range.start;
        while first < range.end {
            let end = range.end.min(first + CHECK_ROWS);
            checksum.update(&row::batch(number, first..end)?)?;
            first = end;
        }
    }
    Ok(checksum.finish())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn test_run() -> TestRun {
        TestRun {
            rows: 4500,
            seconds: 10.0,
            rows_per_second: 450.0,
            megabytes_per_minute: 10.3,
            batches: 45,
            errors: 0,
            first_error: None,
            missed_for_server: 0,
            missed_by_client: 0,
            client_cpu_percent: Some(3.0),
            server_process_cpu_percent: None,
            making_percent: 1.0,
            resources: Told::Value(vec![ResourceSample {
                end_time: "2014-09-01T12:00:00".to_owned(),
                cpu_percent: 13.0,
                log_write_percent: 99.5,
            }]),
            samples: Vec::new(),
            limit: Limit::Unknown,
        }
    }

    #[test]
    fn a_busy_client_is_not_taken_for_the_server_s_limit() {
        let limited = Pace::BatchesPerSecond(1.0);
        let run = test_run();
        assert_eq!(run.find_limit(Pace::Unlimited), Limit::LogWrite);
        assert_eq!(run.find_limit(limited), Limit::None);
        assert_eq!(TestRun { missed_for_server: 3, ..run.clone() }.find_limit(limited), Limit::LogWrite);
        assert_eq!(
            TestRun { missed_for_server: 3, missed_by_client: 4, ..run.clone() }.find_limit(limited),
            Limit::Client
        );
        assert_eq!(
            TestRun { client_cpu_percent: Some(95.0), ..run.clone() }.find_limit(Pace::Unlimited),
            Limit::Client
        );
        assert_eq!(
            TestRun { making_percent: 60.0, ..run.clone() }.find_limit(Pace::Unlimited),
            Limit::Client
        );
        let untold = TestRun { resources: Told::unavailable("no such view"), ..run };
        assert_eq!(untold.find_limit(Pace::Unlimited), Limit::Unknown);
    }
}
