//! Encodes rows ahead of the writer that sends them.

use std::{
    collections::VecDeque,
    mem,
    ops::Deref,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use arrow::buffer::Buffer;
use crossbeam_channel::{Receiver, Sender};
use rows::{BoundBatch, CellError};

use super::{
    chunk::Chunk,
    job::Job,
    queue::{ChunkQueue, Taken},
    state::{Cut, Shared},
};
use crate::{
    bulk::rows_of,
    error::Error,
    platform::CpuWatch,
    reject::{RejectReason, RejectedRow, Tolerance},
    source::{SourceBatch, UnreadRow},
};

/// Rows that are checked and bound at a time.
pub(super) const BIND_ROWS_MAX: usize = 65_536;
/// Bytes of encoded rows handed over at a time: they still sit in the cache when they are sent.
pub(super) const PIECE_BYTES: usize = 512 * 1024;
/// Encoded bytes at which the encoder ends a chunk whose rows are held in case the server refuses it.
const HELD_BYTES_MAX: usize = 32 << 20;

/// The item that the encoder hands to its writer.
pub(super) enum Piece {
    /// Rows of this source follow, beginning with this row; of one lane, or all.
    ChunkStart { source: usize, lane: Option<usize>, first_row: u64 },
    /// Encoded rows, which end before `end_row`; what they were made from, if they may have to be sent again. Rows that were refused
    /// since the piece before are listed, also some behind `end_row`.
    Rows { bytes: RowBytes, rows: u64, end_row: u64, source: Option<SourceBatch>, refused: Vec<u64> },
    /// The chunk has all its rows, which end before this one and took so many bytes of memory, and the last that were refused.
    ChunkEnd { end_row: u64, bytes: u64, refused: Vec<u64> },
    /// The load cannot go on behind what came before.
    Failed { source: usize, error: Error },
}

/// ROW tokens on their way to the socket.
pub(super) enum RowBytes {
    /// Encoded rows.
    Encoded(Vec<u8>),
    /// Rows that are sent from where their batch has them.
    Shared(Buffer),
}

impl Deref for RowBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Encoded(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// The time that a worker thread used.
pub(super) struct Effort {
    pub(super) busy: Duration,
    pub(super) cpu: Option<Duration>,
}

/// Encodes chunks until there are none, something fails, or the writer has ended or is not wanted any more.
pub(super) fn encode_chunks(
    number: usize,
    jobs: &[Job<'_>],
    chunks: &ChunkQueue<'_>,
    pieces: &Sender<Piece>,
    recycled: &Receiver<Vec<u8>>,
    shared: &Shared<'_>,
) -> Effort {
    let cpu = CpuWatch::start();
    let mut busy = Duration::ZERO;
    let mut open = None;
    while number < shared.writers_wanted.load(Ordering::SeqCst) && !shared.stop.load(Ordering::Relaxed) {
        let taken = chunks.take(number);
        let source = match &taken {
            Taken::Next(Ok(chunk)) => chunk.source,
            Taken::Next(Err((source, _))) => *source,
            Taken::End => open.as_ref().map_or(0, |open: &Open| open.source),
            Taken::Stopped => break,
        };
        let Some(job) = jobs.get(source) else { break };
        let mut encoder = Encoder {
            job,
            source,
            pieces,
            recycled,
            cut: shared.cut,
            holds: shared.holds,
            open: open.take(),
            unread: VecDeque::new(),
            busy: Duration::ZERO,
        };
        let encoded = match taken {
            Taken::Next(Ok(chunk)) => encoder.encode_chunk(chunk),
            Taken::Next(Err((_, error))) => Err(Stop::Failed(error)),
            Taken::End | Taken::Stopped => encoder.close().and(Err(Stop::Done)),
        };
        busy += encoder.busy;
        match encoded {
            Ok(()) => open = encoder.open,
            Err(Stop::Failed(error)) => {
                encoder.fail(error);
                break;
            }
            Err(Stop::WriterGone | Stop::Done) => break,
        }
    }
    Effort { busy, cpu: cpu.elapsed() }
}

enum Stop {
    Failed(Error),
    WriterGone,
    /// All sources are read.
    Done,
}

/// A chunk whose rows are being handed over.
struct Open {
    source: usize,
    rows: u64,
    /// Encoded bytes.
    bytes: usize,
    /// The bytes that the rows took in memory, if the reader cut them.
    source_bytes: u64,
    /// The number behind its last row so far.
    end_row: u64,
    /// Rows that were refused since the last piece, which a ledger lists.
    refused: Vec<u64>,
}

struct Encoder<'a> {
    job: &'a Job<'a>,
    source: usize,
    pieces: &'a Sender<Piece>,
    recycled: &'a Receiver<Vec<u8>>,
    cut: Cut,
    holds: bool,
    open: Option<Open>,
    /// Rows of the source that could not be read and have not been handed over.
    unread: VecDeque<UnreadRow>,
    busy: Duration,
}

impl Encoder<'_> {
    fn encode_chunk(&mut self, chunk: Chunk) -> Result<(), Stop> {
        let Chunk { source, lane, rows, batches, bytes, is_complete } = chunk;
        if self.open.as_ref().is_some_and(|open| open.source != source) {
            self.close()?;
        }
        if self.cut != Cut::Encoder && self.open.is_none() {
            self.start(lane, rows.start)?;
        }
        for mut batch in batches {
            self.unread.extend(batch.take_unread());
            let mut first = 0;
            while first < batch.rows() {
                let length = BIND_ROWS_MAX.min(batch.rows() - first);
                self.encode_slice(&batch.slice(first, length))?;
                first += length;
            }
            self.pass_unread(u64::MAX, &batch).map_err(|(_, stop)| stop)?;
        }
        match (self.cut, &mut self.open) {
            (Cut::Reader | Cut::Writer, Some(open)) => {
                (open.end_row, open.source_bytes) = (rows.end, bytes);
                if is_complete { self.close() } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, lane: Option<usize>, first_row: u64) -> Result<(), Stop> {
        let source = self.source;
        let (end_row, refused) = (first_row, Vec::new());
        self.open = Some(Open { source, rows: 0, bytes: 0, source_bytes: 0, end_row, refused });
        self.hand_over(Piece::ChunkStart { source, lane, first_row })
    }

    /// Notes that a row of the open chunk is refused.
    fn note_refused(&mut self, row: u64) {
        if let Some(open) = &mut self.open {
            open.refused.push(row);
        }
    }

    /// Ends the open chunk.
    fn close(&mut self) -> Result<(), Stop> {
        match self.open.take() {
            Some(Open { end_row, source_bytes: bytes, refused, .. }) => {
                self.hand_over(Piece::ChunkEnd { end_row, bytes, refused })
            }
            None => Ok(()),
        }
    }

    /// Ends the encoding; the open chunk is committed before if it is to be kept.
    fn fail(&mut self, error: Error) {
        let keeps = self.job.tolerance.is_some_and(|tolerance| tolerance.keep_open_batch);
        if keeps && self.close().is_err() {
            return;
        }
        // A writer that is gone has an error of its own.
        let _ = self.hand_over(Piece::Failed { source: self.source, error });
    }

    /// Hands over the unread rows that stand before row `end` of the source. If one is too many: its number, and the error
    /// that it is.
    fn pass_unread(&mut self, end: u64, batch: &SourceBatch) -> Result<(), (u64, Stop)> {
        while let Some(UnreadRow { origin, error }) =
            self.unread.pop_front_if(|unread| unread.origin.row < end)
        {
            let row = origin.row;
            let Some(tolerance) = self.job.tolerance else {
                return Err((row, Stop::Failed(Error::Source(Box::new(error)))));
            };
            self.note_refused(row);
            let batch = batch.batch().slice(0, 0);
            if tolerance.reject(RejectedRow { origin, reason: RejectReason::Source(error), batch }) {
                return Err((row, Stop::Failed(Error::RejectLimit)));
            }
        }
        Ok(())
    }

    /// Rows that do not fit are found by halving, so that one bad row costs few checks and many cost no more than
    /// each row's share.
    fn encode_slice(&mut self, batch: &SourceBatch) -> Result<(), Stop> {
        let started = Instant::now();
        let plan = &self.job.plan;
        match (plan.rows.bind(batch.batch(), 0), self.job.tolerance) {
            (Ok(bound), _) => {
                self.busy += started.elapsed();
                let end = batch.rows().checked_sub(1).map_or(0, |last| batch.origin_row(last));
                match self.pass_unread(end, batch) {
                    Ok(()) => self.encode_bound(batch, &bound, bound.rows()),
                    Err((last, stop)) => {
                        // The rows before the one too many are good, and may be kept.
                        self.encode_bound(batch, &bound, batch.rows_before(last))?;
                        Err(stop)
                    }
                }
            }
            (Err(error), Some(tolerance)) if is_about_a_value(&error) => {
                self.busy += started.elapsed();
                let half = batch.rows() / 2;
                if half == 0 {
                    self.pass_unread(batch.origin_row(0), batch).map_err(|(_, stop)| stop)?;
                    self.note_refused(batch.origin_row(0));
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

    /// Encodes the first `rows` of the batch.
    fn encode_bound(&mut self, batch: &SourceBatch, bound: &BoundBatch<'_>, rows: usize) -> Result<(), Stop> {
        // Spliced rows come in batches of about a piece: no second one for the last row.
        let piece_bytes = if bound.shared(0..0).is_some() { 2 * PIECE_BYTES } else { PIECE_BYTES };
        let step = rows_of(piece_bytes, bound);
        let mut next = 0;
        while next < rows {
            let started = Instant::now();
            if self.open.is_none() {
                self.start(None, batch.origin_row(next))?;
            }
            let end = rows.min(next.saturating_add(self.room())).min(next.saturating_add(step));
            let bytes = match bound.shared(next..end) {
                Some(bytes) => RowBytes::Shared(bytes),
                None => {
                    let mut bytes = self.recycled.try_recv().unwrap_or_default();
                    bytes.clear();
                    bound.encode(next..end, &mut bytes);
                    RowBytes::Encoded(bytes)
                }
            };
            let source = self.holds.then(|| batch.slice(next, end - next));
            let end_row = batch.origin_row(end - 1).saturating_add(1);
            let refused = self.open.as_mut().map(|open| mem::take(&mut open.refused)).unwrap_or_default();
            let piece_rows = (end - next) as u64;
            let is_full = self.count(piece_rows, bytes.len(), end_row);
            self.busy += started.elapsed();
            self.hand_over(Piece::Rows { bytes, rows: piece_rows, end_row, source, refused })?;
            if is_full {
                self.close()?;
            }
            next = end;
        }
        Ok(())
    }

    /// Rows that the open chunk still takes, at least one.
    fn room(&self) -> usize {
        let taken = self.open.as_ref().map_or(0, |open| open.rows);
        match self.cut {
            Cut::Reader | Cut::Writer => usize::MAX,
            Cut::Encoder => {
                let room = self.job.plan.batch_rows.saturating_sub(taken).max(1);
                usize::try_from(room).unwrap_or(usize::MAX)
            }
        }
    }

    /// Counts rows of the open chunk; true if they are its last.
    fn count(&mut self, rows: u64, bytes: usize, end_row: u64) -> bool {
        let Some(open) = &mut self.open else { return false };
        open.rows += rows;
        open.bytes += bytes;
        open.end_row = end_row;
        let is_heavy = self.holds && open.bytes >= HELD_BYTES_MAX;
        self.cut == Cut::Encoder && (is_heavy || open.rows >= self.job.plan.batch_rows)
    }

    fn hand_over(&self, piece: Piece) -> Result<(), Stop> {
        self.pieces.send(piece).map_err(|_| Stop::WriterGone)
    }
}

/// Hands the only row of a batch over as refused.
fn refuse(tolerance: &Tolerance<'_>, batch: &SourceBatch, error: CellError) -> Result<(), Error> {
    let origin = batch.origin(0);
    let error = CellError { row: origin.row, ..error };
    let row =
        RejectedRow { origin, reason: RejectReason::Cell(Box::new(error)), batch: batch.batch().clone() };
    if tolerance.reject(row) { Err(Error::RejectLimit) } else { Ok(()) }
}

/// Returns true if the error is about a value. A batch of other columns than were planned is no fault of a row.
fn is_about_a_value(error: &CellError) -> bool {
    !matches!(error.reason, rows::CellErrorReason::SourceType { .. })
}
