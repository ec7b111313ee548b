//! Compares the rows of a source with those that an earlier run has committed.

use std::ops::Range;

use rows::CellErrorReason;

use super::{encoder::BIND_ROWS_MAX, ledger::CommittedChunk};
use crate::{bulk::rows_of, error::Error, plan::LoadPlan, source::SourceBatch};

/// Bytes that are encoded at a time to be compared.
const COMPARED_BYTES: usize = 512 * 1024;

/// Compares rows of the source with those that were committed before, by count and checksum.
pub(super) struct Comparer<'a> {
    plan: &'a LoadPlan,
    /// In order, the next one last.
    committed: Vec<&'a CommittedChunk>,
    rows: u64,
    checksum: crc32fast::Hasher,
}

impl<'a> Comparer<'a> {
    /// Makes a comparer for rows that were loaded by this plan, in chunks that are in the source's order.
    pub(super) fn new(plan: &'a LoadPlan, mut committed: Vec<&'a CommittedChunk>) -> Self {
        committed.reverse();
        Self { plan, committed, rows: 0, checksum: crc32fast::Hasher::new() }
    }

    /// Compares rows with these numbers, all of which were committed.
    ///
    /// # Errors
    /// [`Error::SourceChanged`]: they are other ones than were committed.
    pub(super) fn compare(&mut self, batch: &SourceBatch, numbers: Range<u64>) -> Result<(), Error> {
        let mut start = numbers.start;
        let mut rest = batch.clone();
        while start < numbers.end {
            self.pass(start)?;
            let Some(chunk) = self.committed.last() else { return Ok(()) };
            let end = chunk.rows.end.min(numbers.end);
            let (part, behind) = rest.parted(end, numbers.end);
            self.add(&part)?;
            (rest, start) = (behind, end);
        }
        self.pass(start)
    }

    /// Closes the chunks that end before this row, or at it: no more of their rows follow.
    ///
    /// # Errors
    /// [`Error::SourceChanged`]: rows of them are missing.
    pub(super) fn pass(&mut self, row: u64) -> Result<(), Error> {
        while let Some(chunk) = self.committed.pop_if(|chunk| chunk.rows.end <= row) {
            self.close(chunk)?;
        }
        Ok(())
    }

    /// Rows that do not fit their columns were refused, and so they were not committed.
    fn add(&mut self, batch: &SourceBatch) -> Result<(), Error> {
        let mut parts = Vec::new();
        let mut first = 0;
        while first < batch.rows() {
            let length = BIND_ROWS_MAX.min(batch.rows() - first);
            parts.push(batch.slice(first, length));
            first += length;
        }
        parts.reverse();
        let mut bytes = Vec::new();
        while let Some(part) = parts.pop() {
            match self.plan.rows.bind(part.batch(), 0) {
                Ok(bound) => {
                    self.rows += bound.rows() as u64;
                    let step = rows_of(COMPARED_BYTES, &bound);
                    let mut next = 0;
                    while next < bound.rows() {
                        let end = bound.rows().min(next + step);
                        bytes.clear();
                        bound.encode(next..end, &mut bytes);
                        self.checksum.update(&bytes);
                        next = end;
                    }
                }
                Err(error) if matches!(error.reason, CellErrorReason::SourceType { .. }) => {
                    return Err(error.into());
                }
                Err(_) if part.rows() > 1 => {
                    let half = part.rows() / 2;
                    parts.push(part.slice(half, part.rows() - half));
                    parts.push(part.slice(0, half));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn close(&mut self, chunk: &CommittedChunk) -> Result<(), Error> {
        let (rows, checksum) =
            (std::mem::take(&mut self.rows), std::mem::take(&mut self.checksum).finalize());
        if rows != chunk.row_count {
            let what = format!("{rows} rows instead of {}", chunk.row_count);
            return Err(Error::SourceChanged { rows: chunk.rows.clone(), what });
        }
        if checksum != chunk.checksum {
            let what = "another checksum".to_owned();
            return Err(Error::SourceChanged { rows: chunk.rows.clone(), what });
        }
        Ok(())
    }

    /// Checks at the source's end that nothing is left.
    ///
    /// # Errors
    /// [`Error::SourceChanged`]: rows are missing.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.committed.last() {
            Some(chunk) => {
                let what = "the source ends before them".to_owned();
                Err(Error::SourceChanged { rows: chunk.rows.clone(), what })
            }
            None => Ok(()),
        }
    }
}
