//! The middle of the pipeline: checks rows and turns them into ROW tokens.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use rows::{BoundBatch, CellError};

use super::{BIND_ROWS_MAX, CHUNK_BYTES, Effort, Piece, Rows};
use crate::{
    bulk::rows_of,
    error::Error,
    plan::LoadPlan,
    platform::CpuWatch,
    reject::{RejectReason, RejectedRow, Tolerance},
    source::{SourceBatch, UnreadRow},
};

/// Encoded bytes at which a batch is closed whose rows are held in case the server refuses it.
const HELD_BYTES_MAX: usize = 32 << 20;

/// Encodes batches until the source ends or something fails.
pub(super) fn encode_all(
    plan: &LoadPlan,
    tolerance: Option<&Tolerance<'_>>,
    batches: &Receiver<Result<SourceBatch, Error>>,
    pieces: &Sender<Piece>,
    recycled: &Receiver<Vec<u8>>,
) -> Effort {
    let cpu = CpuWatch::start();
    let mut encoder = Encoder {
        plan,
        tolerance,
        pieces,
        recycled,
        rows_seen: 0,
        rows_in_batch: 0,
        bytes_in_batch: 0,
        unread: VecDeque::new(),
        busy: Duration::ZERO,
    };
    let outcome = batches.iter().try_for_each(|batch| match batch {
        Ok(batch) => encoder.encode(batch),
        Err(error) => Err(Stop::Failed(error)),
    });
    let keep = tolerance.is_some_and(|tolerance| tolerance.keep_open_batch);
    let close = encoder.rows_in_batch > 0 && (outcome.is_ok() || keep);
    // If the sender is gone it has an error of its own.
    if close && !matches!(outcome, Err(Stop::SenderGone)) {
        let _ = pieces.send(Piece::BatchEnd);
    }
    if let Err(Stop::Failed(error)) = outcome {
        let _ = pieces.send(Piece::Failed(error));
    }
    Effort { busy: encoder.busy, cpu: cpu.elapsed() }
}

struct Encoder<'a> {
    plan: &'a LoadPlan,
    tolerance: Option<&'a Tolerance<'a>>,
    pieces: &'a Sender<Piece>,
    recycled: &'a Receiver<Vec<u8>>,
    rows_seen: u64,
    rows_in_batch: u64,
    bytes_in_batch: usize,
    /// Rows of the source that could not be read and have not been handed over.
    unread: VecDeque<UnreadRow>,
    busy: Duration,
}

enum Stop {
    Failed(Error),
    SenderGone,
}

impl Encoder<'_> {
    fn encode(&mut self, mut batch: SourceBatch) -> Result<(), Stop> {
        self.unread.extend(batch.take_unread());
        let batch = batch.counted_from(self.rows_seen);
        self.rows_seen += batch.rows() as u64;
        let mut first = 0;
        while first < batch.rows() {
            let length = BIND_ROWS_MAX.min(batch.rows() - first);
            self.encode_slice(&batch.slice(first, length))?;
            first += length;
        }
        self.pass_unread(u64::MAX, &batch).map_err(|(_, stop)| stop)
    }

    /// Hands over the unread rows that stand before row `end` of the source. If one is too many: its number, and the error
    /// that it is.
    fn pass_unread(&mut self, end: u64, batch: &SourceBatch) -> Result<(), (u64, Stop)> {
        while let Some(UnreadRow { origin, error }) =
            self.unread.pop_front_if(|unread| unread.origin.row < end)
        {
            let row = origin.row;
            let Some(tolerance) = self.tolerance else {
                return Err((row, Stop::Failed(Error::Source(Box::new(error)))));
            };
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
        let plan = self.plan;
        match (plan.rows.bind(batch.batch(), 0), self.tolerance) {
            (Ok(bound), _) => {
                self.busy += started.elapsed();
                let end = batch.rows().checked_sub(1).map_or(0, |last| batch.origin_row(last));
                match self.pass_unread(end, batch) {
                    Ok(()) => self.encode_bound(batch, &bound, bound.rows()),
                    Err((last, stop)) => {
                        // The rows before the one too many are good, and may be kept.
                        let before = batch.rows_before(last);
                        self.encode_bound(batch, &bound, before)?;
                        Err(stop)
                    }
                }
            }
            (Err(error), Some(tolerance)) if is_about_a_value(&error) => {
                self.busy += started.elapsed();
                let half = batch.rows() / 2;
                if half == 0 {
                    let row = batch.origin_row(0);
                    self.pass_unread(row, batch).map_err(|(_, stop)| stop)?;
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
        let held = self.tolerance.is_some_and(|tolerance| tolerance.bisect);
        let chunk_rows = rows_of(CHUNK_BYTES, bound);
        let mut next = 0;
        while next < rows {
            let started = Instant::now();
            let room = usize::try_from(self.plan.batch_rows - self.rows_in_batch).unwrap_or(usize::MAX);
            let end = rows.min(next.saturating_add(room)).min(next + chunk_rows);
            let mut bytes = self.recycled.try_recv().unwrap_or_default();
            bytes.clear();
            bound.encode(next..end, &mut bytes);
            self.rows_in_batch += (end - next) as u64;
            self.bytes_in_batch += bytes.len();
            let source = held.then(|| batch.slice(next, end - next));
            self.busy += started.elapsed();
            self.hand_over(Piece::Rows(Rows { bytes, rows: (end - next) as u64, source }))?;
            let full = held && self.bytes_in_batch >= HELD_BYTES_MAX;
            if full || self.rows_in_batch >= self.plan.batch_rows {
                (self.rows_in_batch, self.bytes_in_batch) = (0, 0);
                self.hand_over(Piece::BatchEnd)?;
            }
            next = end;
        }
        Ok(())
    }

    fn hand_over(&self, piece: Piece) -> Result<(), Stop> {
        self.pieces.send(piece).map_err(|_| Stop::SenderGone)
    }
}

/// Hands the only row of a batch over as refused.
pub(crate) fn refuse(tolerance: &Tolerance<'_>, batch: &SourceBatch, error: CellError) -> Result<(), Error> {
    let origin = batch.origin(0);
    let error = CellError { row: origin.row, ..error };
    let row =
        RejectedRow { origin, reason: RejectReason::Cell(Box::new(error)), batch: batch.batch().clone() };
    if tolerance.reject(row) { Err(Error::RejectLimit) } else { Ok(()) }
}

/// A batch of other columns than were planned is no fault of a row.
pub(crate) fn is_about_a_value(error: &CellError) -> bool {
    !matches!(error.reason, rows::CellErrorReason::SourceType { .. })
}
