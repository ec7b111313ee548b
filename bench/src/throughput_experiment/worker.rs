//! A worker: loads batches into a table of its own, at once one after the other or at fixed times.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use load::{Client, LoadOptions, LoadPlan, TableName};
use serde::Serialize;

use super::row;
use crate::experiment::{Interrupt, Outcome, Session, Target};

/// Longest sleep before an interruption is looked for.
const NAP: Duration = Duration::from_millis(100);
/// Wait before a server that refused a connection is asked again.
const RECONNECT: Duration = Duration::from_secs(1);

/// Times at which batches are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// The next as soon as the last is done.
    Unlimited,
    /// A fixed number of batches a second.
    BatchesPerSecond(f64),
}

/// Work of a thread: its committed rows, batches and errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Rows that are in the table, by number.
    pub(super) committed: Vec<Range<u64>>,
    pub(super) data_bytes: u64,
    pub(super) batches: u64,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    /// Times at which no batch was sent because the server had not finished an earlier one.
    pub(super) missed_for_server: u64,
    /// Times at which no batch was sent because the worker was late by itself.
    pub(super) missed_by_client: u64,
    /// Time spent making rows.
    pub(super) making: Duration,
    /// Time spent sending rows and waiting for the server.
    pub(super) loading: Duration,
}

/// Orders and counts that all workers of a test share.
pub(super) struct Orders<'a> {
    pub(super) target: &'a Target,
    pub(super) pace: Pace,
    pub(super) batch_rows: u64,
    pub(super) until: Instant,
    /// Rows committed so far, of all workers.
    pub(super) rows: &'a AtomicU64,
}

/// Works until the time is over.
///
/// # Errors
/// An interruption; a first connection that fails, or a table whose columns cannot be read; a failed batch
/// whose rows the server cannot be asked for. Errors of batches are counted.
pub(super) fn work(number: u16, table: &TableName, orders: &Orders<'_>) -> Outcome<Work> {
    let interrupt = orders.target.interrupt();
    let mut session = orders.target.connect()?;
    let plan = plan(&mut session, table, orders.batch_rows)?;
    let mut work = Work::default();
    let mut next = 1;
    let mut times = Times::new(orders.pace);
    while Instant::now() < orders.until {
        interrupt.check()?;
        let ids = next..next + orders.batch_rows;
        let made = Instant::now();
        let batch = row::batch(number, ids.clone())?;
        work.making += made.elapsed();
        if !times.wait(&mut work, orders.until, interrupt)? {
            break;
        }
        let started = Instant::now();
        let loaded = load(&mut session, &plan, &batch);
        work.loading += started.elapsed();
        times.server_done();
        // Numbers are not used again, even if the batch failed.
        next = ids.end;
        let is_there = match loaded {
            Ok(()) => true,
            Err(error) => {
                interrupt.check()?;
                work.errors += 1;
                work.first_error.get_or_insert_with(|| error.to_string());
                if session.is_broken() {
                    session = reconnect(orders)?;
                }
                is_committed(&mut session, table, &ids)?
            }
        };
        if is_there {
            work.batches += 1;
            work.data_bytes += row::data_bytes(&batch);
            orders.rows.fetch_add(orders.batch_rows, Ordering::Relaxed);
            match work.committed.last_mut().filter(|last| last.end == ids.start) {
                Some(last) => last.end = ids.end,
                None => work.committed.push(ids),
            }
        }
    }
    Ok(work)
}

fn plan(client: &mut Client, table: &TableName, batch_rows: u64) -> Outcome<LoadPlan> {
    let target = client.describe(table)?;
    let options =
        LoadOptions { batch_rows: Some(batch_rows), table_lock: Some(false), ..LoadOptions::default() };
    Ok(LoadPlan::new(client, &target, &row::schema(), &options)?)
}

fn load(client: &mut Client, plan: &LoadPlan, batch: &RecordBatch) -> Result<(), load::Error> {
    let mut load = client.bulk_load(plan)?;
    load.write(batch)?;
    load.finish().map(|_| ())
}

fn reconnect(orders: &Orders<'_>) -> Outcome<Session> {
    loop {
        match orders.target.connect() {
            Ok(session) => return Ok(session),
            Err(error) if Instant::now() >= orders.until => return Err(error),
            Err(_) => {
                orders.target.interrupt().check()?;
                thread::sleep(RECONNECT);
            }
        }
    }
}

/// Returns true if a batch that ended with an error was committed all the same: the connection may have been
/// lost behind its end.
fn is_committed(client: &mut Client, table: &TableName, ids: &Range<u64>) -> Outcome<bool> {
    let sql = format!("SELECT COUNT_BIG(*) FROM {table} WHERE id >= {} AND id < {}", ids.start, ids.end);
    let found = client.query_values(&sql)?;
    let count = found.first().and_then(|result| result.rows.first()?.first()).map(ToString::to_string);
    match count.as_deref().map(str::parse::<u64>) {
        Some(Ok(0)) => Ok(false),
        Some(Ok(count)) if count == ids.end - ids.start => Ok(true),
        other => Err(format!("a batch of {} rows is there in part: {other:?}", ids.end - ids.start).into()),
    }
}

/// The times at which batches are due.
struct Times {
    period: Option<Duration>,
    due: Instant,
    server_done: Instant,
}

impl Times {
    fn new(pace: Pace) -> Times {
        let period = match pace {
            Pace::Unlimited => None,
            Pace::BatchesPerSecond(rate) => Some(Duration::from_secs_f64(1.0 / rate)),
        };
        Times { period, due: Instant::now(), server_done: Instant::now() }
    }

    fn server_done(&mut self) {
        self.server_done = Instant::now();
    }

    /// Sleeps until the next batch is due; false if that is after the end.
    fn wait(&mut self, work: &mut Work, until: Instant, interrupt: &Interrupt) -> Outcome<bool> {
        let Some(period) = self.period else { return Ok(Instant::now() < until) };
        let (for_server, by_client) = self.missed(Instant::now(), period);
        work.missed_for_server += for_server;
        work.missed_by_client += by_client;
        loop {
            let left = self.due.saturating_duration_since(Instant::now());
            if self.due >= until {
                return Ok(false);
            }
            if left.is_zero() {
                break;
            }
            interrupt.check()?;
            thread::sleep(left.min(NAP));
        }
        self.due += period;
        Ok(true)
    }

    /// Passes over the times that are missed, so that the next one is to come: how many the server caused, and how many the client. A
    /// time counts as missed when the one after it is due, too: a batch that starts late is sent. The client's are those for whose
    /// whole periods the server had been done.
    fn missed(&mut self, now: Instant, period: Duration) -> (u64, u64) {
        let mut missed = 0;
        while self.due + period <= now {
            missed += 1;
            self.due += period;
        }
        let idle = now.saturating_duration_since(self.server_done);
        let by_client = ((idle.as_secs_f64() / period.as_secs_f64()) as u64).min(missed);
        (missed - by_client, by_client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_times_are_the_server_s_until_it_was_done_and_then_the_client_s() {
        let start = Instant::now();
        let period = Duration::from_millis(100);
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut times = Times { period: Some(period), due: at(100), server_done: at(50) };
        // In time, and late, but not so late that the next one is due.
        assert_eq!(times.missed(at(60), period), (0, 0));
        assert_eq!(times.missed(at(190), period), (0, 0));
        // The server needed until 350: the batches due at 100 and 200 were not sent; the one of 300 is late.
        times.server_done = at(350);
        assert_eq!(times.missed(at(351), period), (2, 0));
        assert_eq!(times.due, at(300));
        // Then rows were made until 610: two periods and a half, for a third of which the server is to blame.
        assert_eq!(times.missed(at(610), period), (1, 2));
        assert_eq!(times.due, at(600));
    }
}
