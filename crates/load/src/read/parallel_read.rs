//! Readers that run.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use arrow::{datatypes::SchemaRef, record_batch::RecordBatch};
use rows::Splice;
use tds::Column;

use super::{
    consistency::{self, Consistency, LockHolder},
    crew::Crew,
    error::ReadError,
    handover::{Handover, RangeSink},
    options::{AUTO_READERS_MAX, READERS_MAX, ReadOptions, Readers},
    reader::Reading,
    reader_ramp::{Consumer, add_readers},
    report::{ReadReport, Shares, limit},
    split_plan::SplitPlan,
};
use crate::{
    client::Client, config::Config, error::Error, platform::CpuWatch, report::ExportReport,
    shared_client::Waited,
};

/// Ranges that may be open for each reader: the one that it reads, and one that it has read ahead.
const OPEN_A_READER: usize = 2;

/// Rows read by several connections, in the order of the plan's ranges. If it is dropped before its end, it cancels all queries
/// and waits until they have ended.
pub struct ParallelRead {
    readers: Crowd,
    handover: Arc<Handover>,
    /// Time in which the consumer waited for rows.
    waited: Duration,
    cpu: CpuWatch,
    has_ended: bool,
}

/// Decides how the rows of a read are handed on.
#[derive(Clone)]
pub struct RowGate(Arc<Reading>);

impl RowGate {
    /// Lets rows come: decoded, or spliced. The first decision stands.
    pub fn open(&self, splice: Option<Arc<Splice>>) {
        self.0.crew.decide(splice);
    }
}

impl fmt::Debug for RowGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowGate").finish_non_exhaustive()
    }
}

/// The taker of a read's rows.
struct Hands {
    sink: Arc<dyn RangeSink>,
    consumer: Option<Consumer>,
    is_undecided: bool,
}

/// The threads of a read.
struct Crowd {
    reading: Arc<Reading>,
    threads: Vec<JoinHandle<()>>,
    trials: Arc<Mutex<Vec<(usize, f64)>>>,
    lock: Option<LockHolder>,
    started: Instant,
}

/// Takes the rows of a plan's ranges into a sink, from several threads.
///
/// # Errors
/// The first failure of a reader or the sink; the sink has been stopped then.
pub fn read_into(
    client: Client,
    plan: SplitPlan,
    options: &ReadOptions,
    sink: Arc<dyn RangeSink>,
) -> Result<(ReadReport, SchemaRef), Error> {
    let config = client.sibling_config();
    let crowd = Crowd::start(
        config,
        Some(client),
        plan,
        options,
        Hands { sink, consumer: None, is_undecided: false },
    )?;
    crowd.reading.crew.wait_for_all();
    let schema = match crowd.reading.crew.columns(None) {
        Waited::Ready(Some((_, schema))) => schema,
        _ => SchemaRef::new(arrow::datatypes::Schema::empty()),
    };
    let report = crowd.finish(None)?;
    Ok((report, schema))
}

impl ParallelRead {
    /// Starts to read over new connections to the server and database of `client`.
    pub fn start(client: &Client, plan: SplitPlan, options: &ReadOptions) -> Result<Self, Error> {
        Self::begin(client.sibling_config(), None, plan, options, false)
    }

    /// Starts to read; `client` becomes one of the readers.
    pub fn start_with(client: Client, plan: SplitPlan, options: &ReadOptions) -> Result<Self, Error> {
        Self::begin(client.sibling_config(), Some(client), plan, options, false)
    }

    /// Starts to read as [`start_with`](Self::start_with) does, up to the columns: rows come when the [`RowGate`] is opened.
    pub fn start_undecided(
        client: Client,
        plan: SplitPlan,
        options: &ReadOptions,
    ) -> Result<(Self, RowGate), Error> {
        let read = Self::begin(client.sibling_config(), Some(client), plan, options, true)?;
        let gate = RowGate(Arc::clone(&read.readers.reading));
        Ok((read, gate))
    }

    fn begin(
        config: Config,
        client: Option<Client>,
        plan: SplitPlan,
        options: &ReadOptions,
        is_undecided: bool,
    ) -> Result<Self, Error> {
        let first = match plan.readers {
            Readers::Count(count) => count,
            Readers::Auto => 1,
        };
        // Small ranges are read several at a time.
        let open_a_reader = OPEN_A_READER * plan.joined_max;
        let handover = Arc::new(Handover::new(plan.ranges.len(), first * open_a_reader));
        let sink: Arc<dyn RangeSink> = Arc::clone(&handover) as _;
        let widened = Arc::clone(&handover);
        let widen = Box::new(move |readers: usize| widened.widen(readers * open_a_reader));
        let watched = Arc::clone(&handover);
        let consumer = Consumer { widen, is_idle: Box::new(move || watched.is_waited_for()) };
        let hands = Hands { sink, consumer: Some(consumer), is_undecided };
        let readers = Crowd::start(config, client, plan, options, hands)?;
        let cpu = CpuWatch::start();
        Ok(Self { readers, handover, waited: Duration::ZERO, cpu, has_ended: false })
    }

    /// Waits at most `patience`, or without end, for the columns.
    pub fn columns(&mut self, patience: Option<Duration>) -> Result<Waited<(Vec<Column>, SchemaRef)>, Error> {
        match self.readers.reading.crew.columns(patience) {
            Waited::NotYet => Ok(Waited::NotYet),
            Waited::Ready(Some(columns)) => Ok(Waited::Ready(columns)),
            Waited::Ready(None) => {
                Err(self.readers.reading.crew.take_failure().unwrap_or(Error::Worker { worker: "reading" }))
            }
        }
    }

    /// Waits at most `patience` for the next batch; `None` is the end.
    pub fn next_within(&mut self, patience: Duration) -> Waited<Option<Result<RecordBatch, Error>>> {
        self.next_after(Some(patience))
    }

    /// Waits for the next batch; `None` is the end.
    pub fn next_blocking(&mut self) -> Option<Result<RecordBatch, Error>> {
        match self.next_after(None) {
            Waited::Ready(next) => next,
            Waited::NotYet => None,
        }
    }

    fn next_after(&mut self, patience: Option<Duration>) -> Waited<Option<Result<RecordBatch, Error>>> {
        if self.has_ended {
            return Waited::Ready(None);
        }
        let started = Instant::now();
        let next = self.handover.next(patience);
        self.waited += started.elapsed();
        match next {
            Waited::NotYet => Waited::NotYet,
            Waited::Ready(Some(batch)) => Waited::Ready(Some(Ok(batch))),
            Waited::Ready(None) => {
                self.has_ended = true;
                // The end is only the end if nothing failed, and a lock was held until now.
                Waited::Ready(self.readers.end().err().map(Err))
            }
        }
    }

    /// Returns the report of the read. Call it after the last batch, on the thread that started the read.
    pub fn finish(self) -> Result<ReadReport, Error> {
        let Self { readers, waited, cpu, .. } = self;
        let mut report = readers.finish(Some(waited))?;
        report.export.client_cpu = [report.export.client_cpu, cpu.elapsed()].into_iter().sum();
        Ok(report)
    }
}

impl fmt::Debug for ParallelRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParallelRead").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}

impl Crowd {
    fn start(
        config: Config,
        client: Option<Client>,
        plan: SplitPlan,
        options: &ReadOptions,
        hands: Hands,
    ) -> Result<Self, Error> {
        let Hands { sink, consumer, is_undecided } = hands;
        let started = Instant::now();
        let ranges = plan.ranges.len();
        let (most, first) = match plan.readers {
            Readers::Count(count) => (count, count),
            Readers::Auto => (AUTO_READERS_MAX, 1),
        };
        let most = most.clamp(1, READERS_MAX).min(ranges);
        let lock = match plan.consistency {
            Consistency::Lock => Some(LockHolder::acquire(&config, &plan.source)?),
            _ => None,
        };
        let mut sessions: Vec<Option<Client>> = match plan.consistency {
            Consistency::Snapshot => {
                drop(client);
                consistency::snapshots(&config, &plan.source, most)?.into_iter().map(Some).collect()
            }
            _ => vec![client],
        };
        let is_auto = plan.readers == Readers::Auto;
        let crew = Crew::new(ranges, most, first, plan.joining(), is_undecided);
        let reading =
            Arc::new(Reading::new(config, plan, options.form.clone(), options.retry_for, sink, crew));
        for client in sessions.iter_mut().flatten() {
            reading.prepare(client)?;
        }
        sessions.resize_with(most, || None);
        let trials = Arc::new(Mutex::new(Vec::new()));
        let mut crowd = Self { reading, threads: Vec::new(), trials: Arc::clone(&trials), lock, started };
        for (reader, session) in sessions.into_iter().enumerate() {
            let reading = Arc::clone(&crowd.reading);
            let name = format!("bulkwire-read-{reader}");
            match thread::Builder::new().name(name).spawn(move || reading.work(reader, session)) {
                Ok(thread) => crowd.threads.push(thread),
                Err(error) => {
                    // Dropped, the crowd waits for those that did start.
                    (reader..most).for_each(|missing| crowd.reading.crew.leave(missing));
                    return Err(Error::io("starting a reader", error));
                }
            }
        }
        if is_auto && most > 1 {
            let reading = Arc::clone(&crowd.reading);
            let add = move || add_readers(&reading, most, consumer.as_ref(), &trials);
            let thread = thread::Builder::new().name("bulkwire-readers".to_owned()).spawn(add);
            crowd.threads.push(thread.map_err(|error| Error::io("starting a reader", error))?);
        }
        Ok(crowd)
    }

    /// Waits for all threads; the first failure, or that a lock was lost.
    fn end(&mut self) -> Result<(), Error> {
        self.reading.crew.wait_for_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                return Err(Error::Worker { worker: "reading" });
            }
        }
        if let Some(error) = self.reading.crew.take_failure() {
            return Err(error);
        }
        if self.reading.crew.is_stopped() {
            return Err(Error::Cancelled);
        }
        if let Some(lock) = self.lock.take() {
            lock.release()
                .map_err(|error| ReadError::Inconsistent { consistency: "lock", source: Box::new(error) })?;
        }
        Ok(())
    }

    fn finish(mut self, consumer_waited: Option<Duration>) -> Result<ReadReport, Error> {
        self.end()?;
        let elapsed = self.started.elapsed();
        let trials = std::mem::take(&mut *self.trials.lock().unwrap_or_else(PoisonError::into_inner));
        let readers = self.reading.crew.worked();
        let figures = self.reading.figures();
        let write = match consumer_waited {
            Some(waited) => elapsed.saturating_sub(waited),
            None => figures.pushing,
        };
        let parts = match consumer_waited {
            Some(_) => 1,
            None => readers.max(1),
        };
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
        let shares = Shares {
            sink: write.as_secs_f64() / seconds / parts as f64,
            processors: figures.cpu.unwrap_or_default().as_secs_f64() / seconds / cores,
            has_several_ranges: self.reading.plan.ranges.len() > 1,
            is_auto: !trials.is_empty(),
        };
        Ok(ReadReport {
            export: ExportReport {
                rows: figures.rows,
                batches: figures.batches,
                bytes_on_wire: figures.bytes_on_wire,
                elapsed,
                wait: figures.wait,
                decode: figures.busy.saturating_sub(figures.wait),
                write,
                client_cpu: figures.cpu,
            },
            readers,
            ranges: self.reading.plan.ranges.len(),
            retries: figures.retries,
            consistency: self.reading.plan.consistency,
            limit: limit(shares, &trials),
            trials,
        })
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        self.reading.crew.stop(None);
        self.reading.sink.stop();
        self.reading.crew.wait_for_all();
        for thread in self.threads.drain(..) {
            // A panic over there has been reported there.
            let _ = thread.join();
        }
    }
}
