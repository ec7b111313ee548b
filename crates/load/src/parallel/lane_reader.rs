//! Deals the rows of a source out to lanes, leaves out what was committed before, and cuts the rest into chunks.

use std::sync::atomic::Ordering;

use super::{
    chunk::Chunk,
    comparer::Comparer,
    job::Job,
    lane_chunks::{LaneChunks, first_number, last_number},
    queue::ReadingEnd,
    ranges::RowRanges,
    reader::Stop,
    state::Shared,
};
use crate::{error::Error, lanes::Router, source::SourceBatch};

/// Deals the rows of one source out to lanes.
pub(super) struct LaneReader<'a> {
    router: &'a Router,
    shared: &'a Shared<'a>,
    chunks: LaneChunks<'a>,
    /// The committed rows of an earlier run, and their comparer, for each lane.
    before: Vec<(RowRanges, Option<Comparer<'a>>)>,
    /// The rows that an earlier run has refused, and passed over for good.
    refused: RowRanges,
}

impl<'a> LaneReader<'a> {
    pub(super) fn new(source: usize, job: &'a Job<'_>, router: &'a Router, shared: &'a Shared<'_>) -> Self {
        let lanes = router.rule().count();
        let before = (0..lanes).map(|lane| {
            let committed = shared.ledger.map(|ledger| ledger.committed_in(source, Some(lane)));
            let committed = committed.unwrap_or_default();
            let rows = committed.iter().map(|chunk| chunk.rows.clone()).collect();
            (rows, (!committed.is_empty()).then(|| Comparer::new(&job.plan, committed)))
        });
        let chunks = LaneChunks::new(source, &shared.size, lanes);
        let refused = shared.ledger.map(|ledger| ledger.settled_refusals(source)).unwrap_or_default();
        Self { router, shared, chunks, before: before.collect(), refused }
    }

    /// Rows of the source, of all lanes, were committed before: no open chunk may reach over them.
    pub(super) fn pass_over(&mut self, queue: &ReadingEnd<'_>) -> Result<(), Stop> {
        let bytes_max = self.shared.lane_bytes_max();
        self.chunks.finish(&mut |chunk| hand_over(queue, chunk, bytes_max))
    }

    /// Takes rows of which those count as committed whose own lane says so.
    pub(super) fn take(&mut self, batch: SourceBatch, queue: &ReadingEnd<'_>) -> Result<(), Stop> {
        let bytes_max = self.shared.lane_bytes_max();
        let hand_over = &mut |chunk| hand_over(queue, chunk, bytes_max);
        for (lane, mut batch) in self.router.split(batch).map_err(Stop::Failed)? {
            let (Some(mut start), Some(last)) = (first_number(&batch), last_number(&batch)) else { continue };
            let numbers_end = last + 1;
            let Some((done, comparer)) = self.before.get_mut(lane) else { continue };
            while start < numbers_end {
                let is_done = done.contains(start);
                let end = done.next_change(start).unwrap_or(numbers_end).min(numbers_end);
                let (part, rest) = batch.parted(end, numbers_end);
                if is_done {
                    // A chunk of the lane may not reach over rows that another one has.
                    self.chunks.close(lane, hand_over)?;
                    if let Some(comparer) = comparer {
                        comparer.compare(&part, start..end).map_err(Stop::Failed)?;
                    }
                    let passed = (part.rows() + part.unread().len()) as u64;
                    self.shared.counters.rows_skipped.fetch_add(passed, Ordering::Relaxed);
                } else if let Some(first) = first_number(&part) {
                    if let Some(comparer) = comparer {
                        comparer.pass(first).map_err(Stop::Failed)?;
                    }
                    check_new(&part, &self.refused)?;
                    self.chunks.push(lane, part, first..end, bytes_max, hand_over)?;
                }
                (batch, start) = (rest, end);
            }
        }
        Ok(())
    }

    /// Sends the remaining chunks at the source's end.
    pub(super) fn finish(mut self, queue: &ReadingEnd<'_>) -> Result<(), Stop> {
        let bytes_max = self.shared.lane_bytes_max();
        self.chunks.finish(&mut |chunk| hand_over(queue, chunk, bytes_max))?;
        let comparers = self.before.into_iter().filter_map(|(_, comparer)| comparer);
        comparers.map(Comparer::finish).try_for_each(|finished| finished.map_err(Stop::Failed))
    }
}

/// Checks that a refused row does not come again, in another lane for instance.
fn check_new(part: &SourceBatch, refused: &RowRanges) -> Result<(), Stop> {
    if refused.is_empty() {
        return Ok(());
    }
    let mut rows = (0..part.rows()).map(|index| part.origin_row(index));
    match rows.find(|row| refused.contains(*row)) {
        Some(row) => {
            let what = "it did not fit the table before, and does now".to_owned();
            Err(Stop::Failed(Error::SourceChanged { rows: row..row + 1, what }))
        }
        None => Ok(()),
    }
}

fn hand_over(queue: &ReadingEnd<'_>, chunk: Chunk, bytes_max: u64) -> Result<(), Stop> {
    queue.send(Ok(chunk), bytes_max).map_err(Stop::from)
}

#[cfg(test)]
mod tests;
