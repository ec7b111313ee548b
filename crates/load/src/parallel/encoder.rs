//! Encodes the rows of chunks ahead of the writer that sends them.

use std::{
    collections::VecDeque,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender};
use rows::{BoundBatch, CellError};

use super::{chunk::Chunk, job::Job, state::Shared};
use crate::{
    bulk::rows_of,
    error::Error,
    load::{BIND_ROWS_MAX, Effort, is_about_a_value, refuse},
    platform::CpuWatch,
    reject::{RejectReason, RejectedRow},
    source::{SourceBatch, UnreadRow},
};

/// Bytes of encoded rows handed over at a time: they still sit in the cache when they are sent.
const CHUNK_BYTES: usize = 512 * 1024;

/// What the encoder hands to its writer.
pub(super) enum Piece {
    /// Rows of this source follow, beginning with this row.
    ChunkStart { source: usize, first_row: u64, bytes: u64 },
    /// Encoded rows, and what they were made from.
    Rows { bytes: Vec<u8>, rows: u64, source: SourceBatch },
    /// The chunk is complete; it ends before this row.
    ChunkEnd { end_row: u64 },
}

/// Encodes chunks until there are none, something fails, or the writer has ended or is not wanted any more.
pub(super) fn encode_chunks(
    number: usize,
    jobs: &[Job<'_>],
    chunks: &Receiver<Chunk>,
    pieces: &Sender<Piece>,
    recycled: &Receiver<Vec<u8>>,
    shared: &Shared<'_>,
) -> Effort {
    let cpu = CpuWatch::start();
    let mut busy = Duration::ZERO;
    while number < shared.writers_wanted.load(Ordering::SeqCst) && !shared.stop.load(Ordering::Relaxed) {
        let Ok(chunk) = chunks.recv() else { break };
        let Some(job) = jobs.get(chunk.source) else { break };
        let mut encoder = Encoder { job, pieces, recycled, unread: VecDeque::new(), busy: Duration::ZERO };
        let encoded = encoder.encode_chunk(chunk);
        busy += encoder.busy;
        match encoded {
            Ok(()) => {}
            Err(Stop::Failed(error)) => {
                shared.fail(error, None);
                break;
            }
            Err(Stop::WriterGone) => break,
        }
    }
    Effort { busy, cpu: cpu.elapsed() }
}

enum Stop {
    Failed(Error),
    WriterGone,
}

struct Encoder<'a> {
    job: &'a Job<'a>,
    pieces: &'a Sender<Piece>,
    recycled: &'a Receiver<Vec<u8>>,
    /// Rows of the source that could not be read and have not been handed over.
    unread: VecDeque<UnreadRow>,
    busy: Duration,
}

impl Encoder<'_> {
    fn encode_chunk(&mut self, chunk: Chunk) -> Result<(), Stop> {
        let Chunk { source, rows, batches, bytes } = chunk;
        self.hand_over(Piece::ChunkStart { source, first_row: rows.start, bytes })?;
        for mut batch in batches {
            self.unread.extend(batch.take_unread());
            let mut first = 0;
            while first < batch.rows() {
                let length = BIND_ROWS_MAX.min(batch.rows() - first);
                self.encode_slice(&batch.slice(first, length))?;
                first += length;
            }
            self.pass_unread(u64::MAX, &batch)?;
        }
        self.hand_over(Piece::ChunkEnd { end_row: rows.end })
    }

    /// Hands over the unread rows that stand before row `end` of the source.
    fn pass_unread(&mut self, end: u64, batch: &SourceBatch) -> Result<(), Stop> {
        while let Some(UnreadRow { origin, error }) =
            self.unread.pop_front_if(|unread| unread.origin.row < end)
        {
            let Some(tolerance) = self.job.tolerance else {
                return Err(Stop::Failed(Error::Source(Box::new(error))));
            };
            let batch = batch.batch().slice(0, 0);
            if tolerance.reject(RejectedRow { origin, reason: RejectReason::Source(error), batch }) {
                return Err(Stop::Failed(Error::RejectLimit));
            }
        }
        Ok(())
    }

    /// Rows that do not fit are found by halving, so that one bad row costs few checks.
    fn encode_slice(&mut self, batch: &SourceBatch) -> Result<(), Stop> {
        let started = Instant::now();
        let plan = &self.job.plan;
        match (plan.rows.bind(batch.batch(), 0), self.job.tolerance) {
            (Ok(bound), _) => {
                self.busy += started.elapsed();
                let end = batch.rows().checked_sub(1).map_or(0, |last| batch.origin_row(last));
                self.pass_unread(end, batch)?;
                self.encode_bound(batch, &bound)
            }
            (Err(error), Some(tolerance)) if is_about_a_value(&error) => {
                self.busy += started.elapsed();
                let half = batch.rows() / 2;
                if half == 0 {
                    self.pass_unread(batch.origin_row(0), batch)?;
                    return refuse(tolerance, batch, error).map_err(Stop::Failed);
                }
                self.encode_slice(&batch.slice(0, half))?;
                self.encode_slice(&batch.slice(half, batch.rows() - half))
            }
            (Err(error), _) => {
                let index = usize::try_from(error.row).unwrap_or(batch.rows());
                let row = batch.origin(index).row;
                Err(Stop::Failed(CellError { row, ..error }.into()))
            }
        }
    }

    fn encode_bound(&mut self, batch: &SourceBatch, bound: &BoundBatch<'_>) -> Result<(), Stop> {
        let step = rows_of(CHUNK_BYTES, bound);
        let mut next = 0;
        while next < bound.rows() {
            let started = Instant::now();
            let end = bound.rows().min(next + step);
            let mut bytes = self.recycled.try_recv().unwrap_or_default();
            bytes.clear();
            bound.encode(next..end, &mut bytes);
            let source = batch.slice(next, end - next);
            self.busy += started.elapsed();
            self.hand_over(Piece::Rows { bytes, rows: (end - next) as u64, source })?;
            next = end;
        }
        Ok(())
    }

    fn hand_over(&self, piece: Piece) -> Result<(), Stop> {
        self.pieces.send(piece).map_err(|_| Stop::WriterGone)
    }
}
