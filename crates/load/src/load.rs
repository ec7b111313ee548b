//! The pipeline of a load: read, encode and send on three threads.
//!
//! The reader hands over record batches, the encoder fills recycled buffers with ROW tokens, and the calling thread
//! sends them. Both queues are short, so memory does not grow with the load, and encoding goes on while the server
//! commits.

mod encoder;
mod sender;

pub(crate) use encoder::{is_about_a_value, refuse};
pub(crate) use sender::{parts_of, row_at};

use std::{
    fmt,
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Sender, bounded};
use encoder::encode_all;
use sender::PieceSender;

use crate::report::row_words;
use crate::{
    client::Client,
    doubt::{Finding, Look, settle},
    error::Error,
    plan::LoadPlan,
    platform::CpuWatch,
    reject::Tolerance,
    report::{LoadReport, Phases},
    source::SourceBatch,
};

/// Bytes of encoded rows handed over at a time: they still sit in the cache when they are sent.
const CHUNK_BYTES: usize = 512 * 1024;
/// Chunks between encoder and sender: what can be encoded while the server commits a batch.
const CHUNKS_MAX: usize = 24;
/// Record batches between reader and encoder.
const BATCHES_MAX: usize = 2;
/// Rows that are checked and bound at a time.
pub(crate) const BIND_ROWS_MAX: usize = 65_536;

/// How far a load is, for progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows committed.
    pub rows_committed: u64,
    /// Rows of the batch whose commit is under way. Until the answer arrives it is not known whether they are committed.
    pub rows_committing: u64,
    /// Batches committed.
    pub batches: u64,
    /// Bytes written to the socket.
    pub bytes_on_wire: u64,
}

/// A load that failed, with what it had committed before.
#[derive(Debug)]
pub struct LoadError {
    /// The batch that failed, if one was under way. It was rolled back unless `rows_in_doubt` or `look` says otherwise.
    pub batch: Option<FailedBatch>,
    /// Rows that are known to be committed.
    pub rows_committed: u64,
    /// Rows of the failed batch if it is not known whether it was committed; 0 if that is known.
    pub rows_in_doubt: u64,
    /// What the table's row count showed after the answer to a commit was lost.
    pub look: Option<Box<Look>>,
    /// What went wrong.
    pub source: Error,
}

/// The batch that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedBatch {
    /// Which of the load's sources its rows come from, from 0.
    pub source: usize,
    /// Its number, from 0.
    pub index: u64,
    /// Rows of the source that were sent in it, counted from 0.
    pub rows: Range<u64>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Error::InDoubt { source, .. } => write!(f, "{source}")?,
            source => write!(f, "{source}")?,
        }
        if let Some(FailedBatch { index, rows, .. }) = &self.batch {
            write!(
                f,
                " (batch {}, rows {} to {} of the source)",
                index + 1,
                rows.start + 1,
                rows.end.max(rows.start + 1)
            )?;
        }
        let finding = self.look.as_ref().map(|look| look.finding);
        match (self.rows_committed, self.rows_in_doubt) {
            (rows, 0) if finding == Some(Finding::Committed) => {
                let (noun, verb) = row_words(rows);
                write!(f, "; {rows} {noun} {verb} committed, those of this batch included")?;
            }
            (0, 0) => f.write_str("; nothing was committed")?,
            (0, _) => f.write_str("; nothing before it was committed")?,
            (rows, _) => {
                let (noun, verb) = row_words(rows);
                write!(f, "; {rows} {noun} before it {verb} committed")?;
            }
        }
        if self.rows_in_doubt > 0 {
            let (noun, verb) = row_words(self.rows_in_doubt);
            write!(f, "; it is not known whether its {} {noun} {verb} committed", self.rows_in_doubt)?;
        }
        match &self.look {
            Some(look) => write!(f, " ({})", look.seen),
            None => Ok(()),
        }
    }
}

impl LoadError {
    /// An error before any row was sent.
    pub fn before_rows(source: Error) -> Self {
        Self { batch: None, rows_committed: 0, rows_in_doubt: 0, look: None, source }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Loads all batches of a source as planned. `progress` is called after every chunk and every batch.
///
/// The source runs on a thread of its own. On an error the open batch is rolled back; batches before it stay committed.
pub fn load<S, E, B>(
    client: &mut Client,
    plan: &LoadPlan,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<LoadReport, LoadError>
where
    S: Iterator<Item = Result<B, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Into<SourceBatch>,
{
    load_tolerant(client, plan, source, None, progress)
}

/// Loads like `load`, but hands over rows that cannot be loaded while the others go on: see [`Tolerance`].
pub fn load_tolerant<S, E, B>(
    client: &mut Client,
    plan: &LoadPlan,
    source: S,
    tolerance: Option<&Tolerance<'_>>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<LoadReport, LoadError>
where
    S: Iterator<Item = Result<B, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Into<SourceBatch>,
{
    let started = Instant::now();
    let cpu = CpuWatch::start();
    let bytes_before = client.bytes_on_wire().0;
    // What batches leave to a transaction of the caller's is not committed by them.
    let is_within = client.in_transaction();
    let mut bulk = client.bulk_load(plan).map_err(LoadError::before_rows)?;
    let (batch_sender, batches) = bounded(BATCHES_MAX);
    let (piece_sender, pieces) = bounded(CHUNKS_MAX);
    let (recycle, recycled) = bounded(CHUNKS_MAX + 2);
    let (sent, reader, encoder) = thread::scope(|scope| {
        let reader = scope.spawn(move || read_all(source, &batch_sender));
        let encoder = scope.spawn(move || encode_all(plan, tolerance, &batches, &piece_sender, &recycled));
        let sent = PieceSender::new(&mut bulk, plan, tolerance, progress).send_all(&pieces, &recycle);
        // The others stop when their queues are gone.
        drop((pieces, recycle));
        (sent, reader.join(), encoder.join())
    });
    let done = bulk.progress().clone();
    if let Err(source) = sent {
        // A bad value is found before it is sent and names its own row.
        let batch = (!matches!(source, Error::Cell(_) | Error::Source(_) | Error::RejectLimit)).then_some(
            FailedBatch { source: 0, index: done.batches, rows: done.rows_committed..done.rows_sent },
        );
        drop(bulk);
        let rows_committed = if is_within { 0 } else { done.rows_committed };
        let error =
            LoadError { batch, rows_committed, rows_in_doubt: done.rows_in_doubt, look: None, source };
        return Err(if client.is_broken() { settle(client, plan, error) } else { error });
    }
    let stopped = |worker| LoadError {
        rows_committed: if is_within { 0 } else { done.rows_committed },
        ..LoadError::before_rows(Error::Worker { worker })
    };
    let reader = reader.map_err(|_| stopped("reading"))?;
    let encoder = encoder.map_err(|_| stopped("encoding"))?;
    let bytes_on_wire = bulk.bytes_sent() - bytes_before;
    drop(bulk);
    let client_cpu = [cpu.elapsed(), reader.cpu, encoder.cpu].into_iter().sum::<Option<Duration>>();
    Ok(LoadReport {
        rows: done.rows_committed,
        batches: done.batches,
        bytes_on_wire,
        elapsed: started.elapsed(),
        phases: Phases { read: reader.busy, encode: encoder.busy, send: done.send, wait: done.wait },
        client_cpu,
        messages: done.messages,
    })
}

/// What a worker thread used.
pub(crate) struct Effort {
    pub(crate) busy: Duration,
    pub(crate) cpu: Option<Duration>,
}

/// What the encoder hands to the sender.
enum Piece {
    Rows(Rows),
    /// The batch has all its rows.
    BatchEnd,
    Failed(Error),
}

/// Encoded rows.
struct Rows {
    bytes: Vec<u8>,
    rows: u64,
    /// The rows themselves, if they may have to be sent again.
    source: Option<SourceBatch>,
}

fn read_all<S, E, B>(source: S, batches: &Sender<Result<SourceBatch, Error>>) -> Effort
where
    S: Iterator<Item = Result<B, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Into<SourceBatch>,
{
    let cpu = CpuWatch::start();
    let (mut busy, mut helpers_cpu) = (Duration::ZERO, Duration::ZERO);
    let mut started = Instant::now();
    for item in source {
        busy += started.elapsed();
        let item: Result<SourceBatch, _> = item.map(Into::into).map_err(|error| Error::Source(error.into()));
        helpers_cpu += item.as_ref().map_or(Duration::ZERO, SourceBatch::helpers_cpu);
        let failed = item.is_err();
        if batches.send(item).is_err() || failed {
            break;
        }
        started = Instant::now();
    }
    Effort { busy, cpu: cpu.elapsed().map(|cpu| cpu + helpers_cpu) }
}
