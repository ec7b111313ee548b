//! The load itself: over one connection or several, in which transient errors are tried again.
//!
//! One thread reads each source and cuts it into chunks. Writers take chunks from one queue; each has a connection,
//! encodes a chunk, sends it and commits it as one transaction. Where rows may have to be sent again, a writer holds
//! those of its chunk until they are committed. With a [`Ledger`], the transaction also says which rows it commits.
//! Then a commit whose answer was lost is looked up, and a load that was killed goes on where it stopped.
//!
//! A single writer needs no whole chunks: its encoder takes rows as they are read. Without a second try and without a
//! ledger it ends a transaction after the plan's number of rows. With them the writer ends a transaction when it has taken
//! some time, or its rows much memory. Memory does not grow with a transaction whose rows are not held.
//!
//! The rows of a partitioned table go by lane, if the plan says so. The reader cuts chunks of one lane each, and the
//! queue hands the chunks of a lane to one writer at a time.

mod chunk;
mod comparer;
mod encoder;
mod job;
mod lane_chunks;
mod lane_reader;
mod ledger;
mod ledger_place;
mod ledger_target;
mod ledger_twin;
mod ledger_value;
mod line;
mod open_chunk;
mod options;
mod queue;
mod ramp;
mod ranges;
mod reader;
mod report;
mod routes;
mod state;
mod writer;

use std::{
    iter,
    sync::{Mutex, PoisonError, atomic::Ordering},
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use self::{
    chunk::ChunkSize,
    job::Job,
    line::Line,
    open_chunk::WriterEffort,
    queue::ChunkQueue,
    ramp::Ramp,
    reader::read_all,
    report::limit,
    routes::routers,
    state::{Cut, Failure, Shared, Terms},
};
pub use self::{
    ledger::{CommittedChunk, Ledger, LoadIdentity, SourceIdentity},
    ledger_place::{LedgerLoad, LedgerPlace, LoadState},
    options::{
        BoxError, CommitWatch, CommittedBatch, ParallelOptions, ParallelSource, SourceBatches, Writers,
    },
    ramp::RampStep,
    ranges::RowRanges,
    report::{Limit, ParallelReport, RetryNote},
};
pub(crate) use self::{ledger_target::TargetFacts, ramp::Ramp as ConnectionRamp, state::Pace};
use crate::{
    client::Client,
    config::Config,
    doubt::settle,
    error::Error,
    load_error::{LoadError, Progress},
    options::BatchTransaction,
    plan::LoadPlan,
    platform::CpuWatch,
    report::{LoadReport, Phases},
};

/// The interval at which the writers are observed.
const LOOK: Duration = Duration::from_millis(50);
/// Sources that are read at a time.
const READERS_MAX: usize = 4;
/// Batches between the reader and an encoder that takes them as they are read.
const BATCHES_MAX: usize = 2;

/// Loads sources. The first writer uses `client`, the others connect as it did. `progress` is called from time to time and at the
/// end, by the calling thread.
///
/// In a transaction of the caller's there is one writer, which commits nothing.
///
/// # Errors
/// What went wrong, and what was committed before. Besides: [`Error::NotAlone`] if the load must stay on one connection,
/// because of an open transaction or a temporary table, but cannot; [`Error::SourceChanged`] and [`Error::LoadTimedOut`].
pub fn load_parallel(
    client: &mut Client,
    sources: Vec<ParallelSource<'_>>,
    options: &ParallelOptions<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ParallelReport, LoadError> {
    let plans = sources.iter().map(|source| &source.plan);
    plans.clone().try_for_each(|plan| check_place(client, plan, options)).map_err(LoadError::before_rows)?;
    let routers = routers(client, plans, options.ledger, &options.writers).map_err(LoadError::before_rows)?;
    let mut jobs = Vec::new();
    let mut readers = Vec::new();
    for ((number, source), router) in sources.into_iter().enumerate().zip(routers) {
        let ParallelSource { plan, tolerance, batches } = source;
        jobs.push(Job { plan, tolerance, router });
        readers.push((number, batches));
    }
    let cpu = CpuWatch::start();
    let config = client.sibling_config();
    let (news, heard) = bounded(1);
    let shared = Shared::new(terms(client, &jobs, options), news);
    let run = Run { jobs: &jobs, config: &config, shared: &shared, options };
    let done = run.run(client, readers, &heard, progress);
    progress(&shared.progress());
    let counters = &shared.counters;
    let rows_loaded = counters.rows_committed.load(Ordering::SeqCst);
    if let Some(Failure { error, source, batch }) = shared.take_failure() {
        let rows_committed = if shared.is_within { 0 } else { rows_loaded };
        let rows_in_doubt = counters.rows_in_doubt.load(Ordering::SeqCst);
        let error = LoadError {
            batch,
            source_index: source,
            rows_committed,
            rows_in_doubt,
            look: None,
            source: error,
        };
        return Err(match jobs.first() {
            Some(job) => settle(client, &job.plan, error),
            None => error,
        });
    }
    let Done { reading, efforts, steps } = done;
    let writers = efforts.len();
    let (retry_notes, messages) = shared.take_notes();
    let elapsed = shared.ended();
    let sum = |of: fn(&WriterEffort) -> Duration| efforts.iter().map(of).sum::<Duration>();
    let phases = Phases {
        read: reading.busy,
        encode: sum(|effort| effort.encode),
        send: sum(|effort| effort.send),
        wait: sum(|effort| effort.wait),
    };
    let client_cpu = [cpu.elapsed(), reading.cpu]
        .into_iter()
        .chain(efforts.iter().map(|effort| effort.cpu))
        .sum::<Option<Duration>>();
    let load = LoadReport {
        rows: rows_loaded,
        rows_ignored: counters.rows_ignored.load(Ordering::SeqCst),
        batches: counters.batches.load(Ordering::SeqCst),
        bytes_on_wire: counters.bytes.load(Ordering::SeqCst),
        elapsed,
        phases,
        client_cpu,
        messages,
    };
    let limit = limit(&load, writers);
    let retries = counters.retries.load(Ordering::SeqCst);
    let rows_skipped = counters.rows_skipped.load(Ordering::SeqCst);
    Ok(ParallelReport { load, writers, steps, retries, retry_notes, rows_skipped, limit })
}

/// Refuses what one connection alone cannot do.
fn check_place(client: &Client, plan: &LoadPlan, options: &ParallelOptions<'_>) -> Result<(), Error> {
    client.check_transaction()?;
    let place = match (client.in_transaction(), plan.table.is_temporary()) {
        (true, _) => "inside a transaction, which has one connection",
        (false, true) => "for a temporary table, which goes with its connection",
        (false, false) => "with batches that commit themselves",
    };
    let is_bound = client.in_transaction() || plan.table.is_temporary();
    let autocommit = plan.transaction == BatchTransaction::Autocommit;
    let wish = match options {
        ParallelOptions { ledger: Some(_), .. } if is_bound || autocommit => "a ledger",
        ParallelOptions { writers: Writers::Fixed(2..), .. } if is_bound => "more than one writer",
        ParallelOptions { retry, .. } if is_bound && !retry.patience.is_zero() => "another try",
        _ => return Ok(()),
    };
    Err(Error::NotAlone { wish, place })
}

/// Derives the terms of the writers' work from the options of the load.
fn terms<'a>(client: &Client, jobs: &[Job<'_>], options: &ParallelOptions<'a>) -> Terms<'a> {
    let &ParallelOptions { ref writers, retry, ledger, watch, .. } = options;
    let is_within = client.in_transaction();
    let is_alone = matches!(writers, Writers::Fixed(0 | 1) | Writers::Auto(0 | 1));
    let repeats = !retry.patience.is_zero();
    // Inside a transaction of the caller's, a refused batch takes the others along.
    let bisects = !is_within && jobs.iter().any(|job| job.tolerance.is_some_and(|given| given.bisect));
    // Lanes are cut by the reader.
    let has_lanes = jobs.iter().any(|job| job.router.is_some());
    let cut = match is_alone && !has_lanes {
        true if !repeats && ledger.is_none() => Cut::Encoder,
        true => Cut::Writer,
        false => Cut::Reader,
    };
    let holds = repeats || bisects;
    Terms { ledger, retry, watch, size: chunk_size(jobs), cut, holds, is_within }
}

/// Chooses the size of chunks: fills row groups of a columnstore, and honours the user's number.
fn chunk_size(jobs: &[Job<'_>]) -> ChunkSize {
    let rows_max = jobs.iter().map(|job| job.plan.batch_rows).min().unwrap_or(u64::MAX);
    ChunkSize::new(rows_max, jobs.iter().any(|job| job.plan.keeps_batch_rows))
}

struct Run<'a> {
    jobs: &'a [Job<'a>],
    config: &'a Config,
    shared: &'a Shared<'a>,
    options: &'a ParallelOptions<'a>,
}

#[derive(Default)]
struct Done {
    reading: Reading,
    /// The time spent by every writer that wrote.
    efforts: Vec<WriterEffort>,
    steps: Vec<RampStep>,
}

struct Reading {
    busy: Duration,
    cpu: Option<Duration>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { busy: Duration::ZERO, cpu: Some(Duration::ZERO) }
    }
}

impl Run<'_> {
    fn run(
        &self,
        client: &mut Client,
        sources: Vec<(usize, SourceBatches<'_>)>,
        heard: &Receiver<()>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Done {
        let Self { jobs, config, shared, options } = *self;
        let (most, mut ramp) = match options.writers {
            Writers::Fixed(writers) => (writers.max(1), None),
            Writers::Auto(most) => (most.max(1), Some(Ramp::new(most))),
        };
        let readers = if most == 1 { 1 } else { sources.len().min(READERS_MAX) };
        let sources = Mutex::new(sources.into_iter());
        let next_source = || sources.lock().unwrap_or_else(PoisonError::into_inner).next();
        let queued_max = if shared.cut == Cut::Reader { 1 } else { BATCHES_MAX };
        let queue = &ChunkQueue::new(queued_max, &shared.stop);
        let mut done = Done::default();
        shared.readers.store(readers, Ordering::SeqCst);
        thread::scope(|scope| {
            let writing_end = queue.writing_end();
            let readers: Vec<_> = (0..readers)
                .map(|_| {
                    let (chunks, next_source) = (queue.reading_end(), &next_source);
                    scope.spawn(move || {
                        let cpu = CpuWatch::start();
                        let (busy, helpers_cpu) = read_all(jobs, iter::from_fn(next_source), shared, &chunks);
                        Reading { busy, cpu: cpu.elapsed().map(|cpu| cpu + helpers_cpu) }
                    })
                })
                .collect();
            let mut lent = Some(client);
            let mut writers = Vec::new();
            loop {
                let wanted = ramp.as_mut().map_or(most, |ramp| {
                    if shared.writers_lost.load(Ordering::SeqCst) > 0 {
                        ramp.limit(shared.writers_running.load(Ordering::SeqCst));
                    }
                    ramp.wanted(shared.started.elapsed(), shared.pace())
                });
                if shared.writers_wanted.swap(wanted, Ordering::SeqCst) != wanted {
                    shared.begin_epoch();
                }
                for number in writers.len()..wanted {
                    let line = lent.take().map_or(Line::Down, Line::Lent);
                    let is_optional = ramp.is_some() && number > 0;
                    writers.push(
                        scope.spawn(move || {
                            writer::run(number, line, is_optional, config, jobs, queue, shared)
                        }),
                    );
                }
                if shared.writers_ended.load(Ordering::SeqCst) >= writers.len()
                    || writers.iter().all(ScopedJoinHandle::is_finished)
                {
                    break;
                }
                match heard.recv_timeout(LOOK) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                progress(&shared.progress());
                self.look_at_time();
            }
            // Readers that wait for a writer end with the queue.
            drop(writing_end);
            for writer in writers {
                match writer.join() {
                    Ok(effort) => done.efforts.extend(effort),
                    Err(_) => shared.fail(Error::Worker { worker: "writing" }, None, None),
                }
            }
            for reader in readers {
                match reader.join() {
                    Ok(Reading { busy, cpu }) => {
                        done.reading.busy += busy;
                        done.reading.cpu = done.reading.cpu.zip(cpu).map(|(all, cpu)| all + cpu);
                    }
                    Err(_) => shared.fail(Error::Worker { worker: "reading" }, None, None),
                }
            }
        });
        done.steps = ramp.map(Ramp::into_steps).unwrap_or_default();
        done
    }

    /// Ends a load that takes too long.
    fn look_at_time(&self) {
        let Self { shared, options, .. } = self;
        let elapsed = shared.started.elapsed();
        if let Some(limit) = options.time_limit
            && elapsed >= limit
            && !shared.break_off.load(Ordering::SeqCst)
        {
            shared.fail(Error::LoadTimedOut { limit }, None, None);
            shared.break_off();
        }
    }
}
