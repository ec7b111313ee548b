//! The pipeline of a load: read, encode and send on three threads.
//!
//! The reader hands over record batches, the encoder fills recycled buffers with ROW tokens, and the calling thread
//! sends them. Both queues are short, so memory does not grow with the load, and encoding goes on while the server
//! commits.

use std::{
    fmt,
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use arrow::record_batch::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::{
    bulk::{BulkLoad, rows_of},
    client::Client,
    error::Error,
    plan::LoadPlan,
    platform::CpuWatch,
    report::{LoadReport, Phases},
};

/// Bytes of encoded rows handed over at a time: they still sit in the cache when they are sent.
const CHUNK_BYTES: usize = 512 * 1024;
/// Chunks between encoder and sender: what can be encoded while the server commits a batch.
const CHUNKS_MAX: usize = 24;
/// Record batches between reader and encoder.
const BATCHES_MAX: usize = 2;
/// Rows that are checked and bound at a time.
const BIND_ROWS_MAX: usize = 65_536;

/// How far a load is, for progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows sent.
    pub rows_sent: u64,
    /// Rows committed.
    pub rows_committed: u64,
    /// Batches committed.
    pub batches: u64,
    /// Bytes written to the socket.
    pub bytes_on_wire: u64,
}

/// A load that failed, with what it had committed before.
#[derive(Debug)]
pub struct LoadError {
    /// The batch that failed and was rolled back, if one was under way.
    pub batch: Option<FailedBatch>,
    /// Rows committed by the batches before.
    pub rows_committed: u64,
    /// What went wrong.
    pub source: Error,
}

/// The batch that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedBatch {
    /// Its number, from 0.
    pub index: u64,
    /// Rows of the source that were sent in it, counted from 0.
    pub rows: Range<u64>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(FailedBatch { index, rows }) = &self.batch {
            write!(
                f,
                " (batch {}, rows {} to {} of the source)",
                index + 1,
                rows.start + 1,
                rows.end.max(rows.start + 1)
            )?;
        }
        match self.rows_committed {
            0 => f.write_str("; nothing was committed"),
            rows => write!(f, "; {rows} rows before it are committed"),
        }
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
pub fn load<S, E>(
    client: &mut Client,
    plan: &LoadPlan,
    source: S,
    progress: &mut dyn FnMut(&Progress),
) -> Result<LoadReport, LoadError>
where
    S: Iterator<Item = Result<RecordBatch, E>> + Send,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let started = Instant::now();
    let cpu = CpuWatch::start();
    let bytes_before = client.bytes_on_wire().0;
    let nothing = |source| LoadError { batch: None, rows_committed: 0, source };
    let mut bulk = client.bulk_load(plan).map_err(nothing)?;
    let (batch_sender, batches) = bounded(BATCHES_MAX);
    let (piece_sender, pieces) = bounded(CHUNKS_MAX);
    let (recycle, recycled) = bounded(CHUNKS_MAX + 2);
    let (sent, reader, encoder) = thread::scope(|scope| {
        let reader = scope.spawn(move || read_all(source, &batch_sender));
        let encoder = scope.spawn(move || encode_all(plan, &batches, &piece_sender, &recycled));
        let sent = send_all(&mut bulk, &pieces, &recycle, bytes_before, progress);
        // The others stop when their queues are gone.
        drop((pieces, recycle));
        (sent, reader.join(), encoder.join())
    });
    let done = bulk.progress().clone();
    if let Err(source) = sent {
        // A bad value is found before it is sent and names its own row.
        let batch = (!matches!(source, Error::Cell(_) | Error::Source(_)))
            .then_some(FailedBatch { index: done.batches, rows: done.rows_committed..done.rows_sent });
        drop(bulk);
        return Err(LoadError { batch, rows_committed: done.rows_committed, source });
    }
    let stopped = |worker| LoadError {
        batch: None,
        rows_committed: done.rows_committed,
        source: Error::Worker { worker },
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
struct Effort {
    busy: Duration,
    cpu: Option<Duration>,
}

/// What the encoder hands to the sender.
enum Piece {
    Rows {
        bytes: Vec<u8>,
        rows: u64,
    },
    /// The batch has all its rows.
    BatchEnd,
    Failed(Error),
}

fn read_all<S, E>(source: S, batches: &Sender<Result<RecordBatch, Error>>) -> Effort
where
    S: Iterator<Item = Result<RecordBatch, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let cpu = CpuWatch::start();
    let mut busy = Duration::ZERO;
    let mut started = Instant::now();
    for item in source {
        busy += started.elapsed();
        let item = item.map_err(|error| Error::Source(error.into()));
        let failed = item.is_err();
        if batches.send(item).is_err() || failed {
            break;
        }
        started = Instant::now();
    }
    Effort { busy, cpu: cpu.elapsed() }
}

fn encode_all(
    plan: &LoadPlan,
    batches: &Receiver<Result<RecordBatch, Error>>,
    pieces: &Sender<Piece>,
    recycled: &Receiver<Vec<u8>>,
) -> Effort {
    let cpu = CpuWatch::start();
    let mut encoder =
        Encoder { plan, pieces, recycled, rows_seen: 0, rows_in_batch: 0, busy: Duration::ZERO };
    let outcome = batches.iter().try_for_each(|batch| match batch {
        Ok(batch) => encoder.encode(&batch),
        Err(error) => Err(Stop::Failed(error)),
    });
    let last = match outcome {
        Ok(()) if encoder.rows_in_batch > 0 => Some(Piece::BatchEnd),
        Err(Stop::Failed(error)) => Some(Piece::Failed(error)),
        Ok(()) | Err(Stop::SenderGone) => None,
    };
    if let Some(last) = last {
        // If the sender is gone it has an error of its own.
        let _ = pieces.send(last);
    }
    Effort { busy: encoder.busy, cpu: cpu.elapsed() }
}

struct Encoder<'a> {
    plan: &'a LoadPlan,
    pieces: &'a Sender<Piece>,
    recycled: &'a Receiver<Vec<u8>>,
    rows_seen: u64,
    rows_in_batch: u64,
    busy: Duration,
}

enum Stop {
    Failed(Error),
    SenderGone,
}

impl Encoder<'_> {
    fn encode(&mut self, batch: &RecordBatch) -> Result<(), Stop> {
        let mut first = 0;
        while first < batch.num_rows() {
            let length = BIND_ROWS_MAX.min(batch.num_rows() - first);
            self.encode_slice(&batch.slice(first, length))?;
            first += length;
        }
        Ok(())
    }

    fn encode_slice(&mut self, batch: &RecordBatch) -> Result<(), Stop> {
        let mut started = Instant::now();
        let bound = self.plan.rows.bind(batch, self.rows_seen).map_err(|error| Stop::Failed(error.into()))?;
        let chunk_rows = rows_of(CHUNK_BYTES, &bound);
        let mut next = 0;
        while next < bound.rows() {
            let room = usize::try_from(self.plan.batch_rows - self.rows_in_batch).unwrap_or(usize::MAX);
            let end = bound.rows().min(next.saturating_add(room)).min(next + chunk_rows);
            let mut bytes = self.recycled.try_recv().unwrap_or_default();
            bytes.clear();
            bound.encode(next..end, &mut bytes);
            let rows = (end - next) as u64;
            self.busy += started.elapsed();
            self.hand_over(Piece::Rows { bytes, rows })?;
            self.rows_in_batch += rows;
            if self.rows_in_batch >= self.plan.batch_rows {
                self.rows_in_batch = 0;
                self.hand_over(Piece::BatchEnd)?;
            }
            started = Instant::now();
            next = end;
        }
        self.rows_seen += bound.rows() as u64;
        Ok(())
    }

    fn hand_over(&self, piece: Piece) -> Result<(), Stop> {
        self.pieces.send(piece).map_err(|_| Stop::SenderGone)
    }
}

fn send_all(
    bulk: &mut BulkLoad<'_>,
    pieces: &Receiver<Piece>,
    recycle: &Sender<Vec<u8>>,
    bytes_before: u64,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(), Error> {
    for piece in pieces {
        match piece {
            Piece::Rows { bytes, rows } => {
                bulk.send(&bytes, rows)?;
                // A full recycling queue means that there are buffers enough.
                let _ = recycle.try_send(bytes);
            }
            Piece::BatchEnd => bulk.close_batch()?,
            Piece::Failed(error) => return Err(error),
        }
        let bytes_on_wire = bulk.bytes_sent().saturating_sub(bytes_before);
        let done = bulk.progress();
        let (rows_sent, rows_committed, batches) = (done.rows_sent, done.rows_committed, done.batches);
        progress(&Progress { rows_sent, rows_committed, batches, bytes_on_wire });
    }
    Ok(())
}
