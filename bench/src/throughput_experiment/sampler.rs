//! Measurements during a test: samples every few seconds, and the server's own resource statistics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use load::{Client, literal};
use serde::Serialize;
use tds::Value;

use crate::experiment::{Outcome, Session, Target, Told, answer, file_io, number, text};
use crate::process_usage;

/// Length of an interval of `sys.dm_db_resource_stats`.
const INTERVAL_SECONDS: u32 = 15;
const NAP: Duration = Duration::from_millis(50);

/// The figures between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds from the beginning of the test to the end of the sample.
    pub at_seconds: f64,
    /// Rows committed a second.
    pub rows_per_second: f64,
    /// Megabytes (1,048,576 bytes) written to the log a minute, if the server gives them.
    pub log_megabytes_per_minute: Option<f64>,
    /// Processor time of this process, as a percentage of all processors.
    pub client_cpu_percent: Option<f64>,
    /// Processor time of the embedded server, as a percentage of all processors.
    pub server_process_cpu_percent: Option<f64>,
}

/// A row of `sys.dm_db_resource_stats`: percentages of what the tier allows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResourceSample {
    /// End of the interval, 15 seconds as a rule, by the server's clock.
    pub end_time: String,
    /// Processor time as a percentage of the tier's limit.
    pub cpu_percent: f64,
    /// Log writes as a percentage of the tier's limit.
    pub log_write_percent: f64,
}

/// Reads the server's clock, as [`resource_samples`] takes it.
///
/// # Errors
/// [`answer`]'s.
pub fn server_time(client: &mut Client) -> Outcome<Told<String>> {
    let rows = answer(client, "SELECT CONVERT(varchar(40), CAST(SYSUTCDATETIME() AS datetime), 126)")?;
    Ok(rows.and_then(|rows| text(rows.first()?.first()?), "the server does not tell its time"))
}

/// Reads the rows of the current database's resource statistics whose whole interval is between two times,
/// the oldest first.
///
/// # Errors
/// [`answer`]'s.
pub fn resource_samples(client: &mut Client, from: &str, to: &str) -> Outcome<Told<Vec<ResourceSample>>> {
    let (from, to) = (literal(from), literal(to));
    let sql = format!(
        "SELECT CONVERT(varchar(40), end_time, 126), avg_cpu_percent, avg_log_write_percent FROM sys.dm_db_resource_stats \
         WHERE end_time >= DATEADD(second, {INTERVAL_SECONDS}, CAST({from} AS datetime)) AND end_time <= CAST({to} AS datetime) ORDER BY end_time"
    );
    let read = |rows: Vec<Vec<Value>>| {
        let sample = |row: &Vec<Value>| {
            Some(ResourceSample {
                end_time: text(row.first()?)?,
                cpu_percent: number(row.get(1)?)?,
                log_write_percent: number(row.get(2)?)?,
            })
        };
        rows.iter().map(sample).collect::<Option<Vec<_>>>()
    };
    Ok(answer(client, &sql)?.and_then(read, "sys.dm_db_resource_stats does not answer with its columns"))
}

/// Samples until `done`, or until a connection fails, which ends the samples and nothing else.
pub(super) fn sample(
    target: &Target,
    mut session: Session,
    period: Duration,
    rows: &AtomicU64,
    done: &AtomicBool,
) -> Vec<Sample> {
    let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
    let started = Instant::now();
    let mut samples = Vec::new();
    let mut last = Counters::read(target, &mut session, rows);
    while !done.load(Ordering::Relaxed) {
        let due = last.at + period;
        while Instant::now() < due && !done.load(Ordering::Relaxed) {
            thread::sleep(NAP);
        }
        if done.load(Ordering::Relaxed) {
            break;
        }
        let now = Counters::read(target, &mut session, rows);
        let seconds = (now.at - last.at).as_secs_f64();
        let percent = |now: Option<f64>, last: Option<f64>| Some((now? - last?) / seconds / cores * 100.0);
        let log = now.log_bytes.zip(last.log_bytes).map(|(now, last)| now.saturating_sub(last) as f64);
        samples.push(Sample {
            at_seconds: (now.at - started).as_secs_f64(),
            rows_per_second: (now.rows - last.rows) as f64 / seconds,
            log_megabytes_per_minute: log.map(|bytes| bytes / f64::from(1 << 20) / seconds * 60.0),
            client_cpu_percent: percent(now.client_cpu, last.client_cpu),
            server_process_cpu_percent: percent(now.server_cpu, last.server_cpu),
        });
        last = now;
    }
    samples
}

struct Counters {
    at: Instant,
    rows: u64,
    log_bytes: Option<u64>,
    client_cpu: Option<f64>,
    server_cpu: Option<f64>,
}

impl Counters {
    fn read(target: &Target, client: &mut Client, rows: &AtomicU64) -> Counters {
        let io = if client.is_broken() { None } else { file_io(client).ok() };
        Counters {
            at: Instant::now(),
            rows: rows.load(Ordering::Relaxed),
            log_bytes: io.and_then(|io| Some(io.value()?.get("log")?.written_bytes)),
            client_cpu: process_usage::of_self().map(|usage| usage.cpu.as_secs_f64()),
            server_cpu: target.server_cpu_seconds(),
        }
    }
}
