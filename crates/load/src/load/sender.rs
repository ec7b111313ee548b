//! The end of the pipeline: sends ROW tokens, and finds the rows that the server refuses.

use std::ops::Range;

use crossbeam_channel::{Receiver, Sender};

use super::{CHUNK_BYTES, Piece, Progress, Rows};
use crate::{
    bulk::{BulkLoad, rows_of},
    error::{Error, ServerError},
    plan::LoadPlan,
    reject::{RejectReason, RejectedRow, Tolerance, is_row_fault},
    source::SourceBatch,
};

/// Sends pieces in order.
pub(super) struct PieceSender<'a, 'c> {
    pub(super) bulk: &'a mut BulkLoad<'c>,
    pub(super) plan: &'a LoadPlan,
    pub(super) bytes_before: u64,
    pub(super) progress: &'a mut dyn FnMut(&Progress),
    held: Vec<SourceBatch>,
    tolerance: Option<&'a Tolerance<'a>>,
    /// The server has refused the open batch, whose other rows are still to come.
    refused: Option<ServerError>,
}

impl<'a, 'c> PieceSender<'a, 'c> {
    pub(super) fn new(
        bulk: &'a mut BulkLoad<'c>,
        plan: &'a LoadPlan,
        tolerance: Option<&'a Tolerance<'a>>,
        progress: &'a mut dyn FnMut(&Progress),
    ) -> Self {
        let bytes_before = bulk.bytes_sent();
        // Inside a transaction of the caller's a refused batch takes the others along.
        let bisects = !bulk.in_transaction();
        let tolerance = tolerance.filter(|tolerance| tolerance.bisect && bisects);
        Self { bulk, plan, bytes_before, progress, held: Vec::new(), tolerance, refused: None }
    }

    /// Sends everything that comes.
    pub(super) fn send_all(
        &mut self,
        pieces: &Receiver<Piece>,
        recycle: &Sender<Vec<u8>>,
    ) -> Result<(), Error> {
        for piece in pieces {
            match piece {
                Piece::Rows(Rows { bytes, rows, source }) => {
                    self.held.extend(source.filter(|_| self.tolerance.is_some()));
                    if self.refused.is_none() {
                        let sent = self.bulk.send(&bytes, rows);
                        self.settle_for_parts(sent)?;
                    }
                    // A full recycling queue means that there are buffers enough.
                    let _ = recycle.try_send(bytes);
                }
                Piece::BatchEnd => self.end_batch()?,
                Piece::Failed(error) => return Err(error),
            }
            self.report();
        }
        Ok(())
    }

    fn end_batch(&mut self) -> Result<(), Error> {
        if self.refused.is_none() {
            let closed = self.close_batch();
            self.settle_for_parts(closed)?;
        }
        let held = std::mem::take(&mut self.held);
        if let (Some(error), Some(tolerance)) = (self.refused.take(), self.tolerance) {
            self.load_parts(tolerance, &held, error)?;
        }
        Ok(())
    }

    /// Remembers that the server refused the batch for what is in its rows; other errors end the load.
    fn settle_for_parts(&mut self, sent: Result<(), Error>) -> Result<(), Error> {
        match sent {
            Err(Error::Server(error))
                if self.tolerance.is_some() && (is_row_fault(&error) || error.is_about_the_stream()) =>
            {
                self.bulk.forget_failed_batch();
                self.refused = Some(error);
                Ok(())
            }
            sent => sent,
        }
    }

    /// Loads the rows of a refused batch in parts, in order, each a transaction of its own.
    fn load_parts(
        &mut self,
        tolerance: &Tolerance<'_>,
        held: &[SourceBatch],
        error: ServerError,
    ) -> Result<(), Error> {
        let rows = held.iter().map(SourceBatch::rows).sum();
        // Another cut is tried once: a part that fails for the same reason ends the load.
        if rows < 2 && error.is_about_the_stream() {
            return Err(error.into());
        }
        let mut parts = vec![(0, rows, Some(error))];
        while let Some((start, end, known)) = parts.pop() {
            let refused = match known {
                Some(error) => Some(error),
                None => self.load_part(held, start, end)?,
            };
            let Some(error) = refused else { continue };
            if end - start > 1 {
                let middle = start + (end - start) / 2;
                parts.push((middle, end, None));
                parts.push((start, middle, None));
            } else if let Some((batch, index)) = row_at(held, start) {
                let origin = batch.origin(index);
                let batch = batch.batch().slice(index, 1);
                if tolerance.reject(RejectedRow { origin, reason: RejectReason::Server(error), batch }) {
                    return Err(Error::RejectLimit);
                }
            }
            self.report();
        }
        Ok(())
    }

    /// Loads rows `start..end` of a batch as one transaction; the server's error if it refuses them for what they are.
    fn load_part(
        &mut self,
        held: &[SourceBatch],
        start: usize,
        end: usize,
    ) -> Result<Option<ServerError>, Error> {
        let outcome = parts_of(held, start..end).try_for_each(|part| self.send_rows(&part));
        match outcome.and_then(|()| self.close_batch()) {
            Ok(()) => Ok(None),
            Err(Error::Server(error)) if is_row_fault(&error) && !error.is_about_the_stream() => {
                self.bulk.forget_failed_batch();
                Ok(Some(error))
            }
            Err(error) => Err(error),
        }
    }

    fn send_rows(&mut self, batch: &SourceBatch) -> Result<(), Error> {
        let bound = self.plan.rows.bind(batch.batch(), 0)?;
        let chunk_rows = rows_of(CHUNK_BYTES, &bound);
        let mut bytes = Vec::new();
        let mut next = 0;
        while next < bound.rows() {
            let end = bound.rows().min(next + chunk_rows);
            bytes.clear();
            bound.encode(next..end, &mut bytes);
            self.bulk.send(&bytes, (end - next) as u64)?;
            next = end;
        }
        Ok(())
    }

    /// Closes the batch; who watches hears of it first.
    fn close_batch(&mut self) -> Result<(), Error> {
        self.report_commit(self.bulk.rows_in_batch());
        self.bulk.close_batch()
    }

    fn report(&mut self) {
        self.report_commit(0);
    }

    fn report_commit(&mut self, rows_committing: u64) {
        let bytes_on_wire = self.bulk.bytes_sent().saturating_sub(self.bytes_before);
        let done = self.bulk.progress();
        let (rows_sent, rows_committed, batches) = (done.rows_sent, done.rows_committed, done.batches);
        (self.progress)(&Progress { rows_sent, rows_committed, rows_committing, batches, bytes_on_wire });
    }
}

/// Rows `wanted` of all, batch by batch.
pub(crate) fn parts_of(held: &[SourceBatch], wanted: Range<usize>) -> impl Iterator<Item = SourceBatch> + '_ {
    let mut before = 0;
    held.iter().filter_map(move |batch| {
        let own = before..before + batch.rows();
        before = own.end;
        let (first, last) = (wanted.start.max(own.start), wanted.end.min(own.end));
        (first < last).then(|| batch.slice(first - own.start, last - first))
    })
}

/// The batch that holds the row at `index` of all, and the row's index in it.
pub(crate) fn row_at(held: &[SourceBatch], index: usize) -> Option<(&SourceBatch, usize)> {
    let mut before = 0;
    for batch in held {
        if index < before + batch.rows() {
            return Some((batch, index - before));
        }
        before += batch.rows();
    }
    None
}
