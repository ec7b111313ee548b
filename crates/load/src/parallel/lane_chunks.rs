//! Cuts the rows of lanes into chunks.

use std::ops::Range;

use arrow::{
    array::{Array, ArrayRef, AsArray},
    record_batch::RecordBatch,
};

use super::chunk::{Chunk, ChunkSize};
use crate::source::SourceBatch;

/// Pieces of fewer rows are joined: each costs the encoder something.
const PIECE_ROWS_MIN: usize = 4096;

/// The open chunks of the lanes of a source.
///
/// Together they take so much memory and no more: where the rows of many lanes come in turn, the largest chunk is handed over
/// before it is full.
pub(super) struct LaneChunks<'a> {
    source: usize,
    size: &'a ChunkSize,
    lanes: Vec<OpenLane>,
    bytes: u64,
}

#[derive(Default)]
struct OpenLane {
    pieces: Vec<SourceBatch>,
    /// From the first row to behind the last; rows of other lanes lie between.
    numbers: Range<u64>,
    /// Rows, those included that could not be read.
    rows: u64,
    bytes: u64,
}

impl<'a> LaneChunks<'a> {
    pub(super) fn new(source: usize, size: &'a ChunkSize, lanes: usize) -> Self {
        Self { source, size, lanes: (0..lanes).map(|_| OpenLane::default()).collect(), bytes: 0 }
    }

    /// Takes rows of a lane, which have these numbers, and hands over the chunks that they complete; and the largest ones, while
    /// all are larger than `bytes_max`.
    pub(super) fn push<E>(
        &mut self,
        lane: usize,
        piece: SourceBatch,
        numbers: Range<u64>,
        bytes_max: u64,
        hand_over: &mut impl FnMut(Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = piece;
        let mut next = numbers.start;
        while next < numbers.end {
            let Some(open) = self.lanes.get_mut(lane) else { return Ok(()) };
            let bytes = bytes_of(&rest, open.pieces.last());
            let rows = rest.rows().max(1) as u64;
            let room = self.size.room(open.rows, open.bytes, (bytes / rows).max(1));
            let taken = usize::try_from(room).unwrap_or(usize::MAX).min(rest.rows());
            // The number of the first row that has to wait.
            let end = match taken < rest.rows() {
                true => rest.origin_row(taken),
                false => numbers.end,
            };
            let (part, behind) = rest.parted(end, numbers.end);
            if let Some(last) = last_number(&part) {
                let share = bytes / rows * part.rows() as u64 + bytes % rows;
                if open.rows == 0 {
                    open.numbers.start = next;
                }
                open.numbers.end = last + 1;
                open.rows += (part.rows() + part.unread().len()) as u64;
                open.bytes += share;
                self.bytes += share;
                open.pieces.push(part);
            }
            let is_full = behind.rows() > 0 || self.size.room(open.rows, open.bytes, 1) == 0;
            (rest, next) = (behind, end);
            if is_full {
                self.close(lane, hand_over)?;
            }
        }
        while self.bytes > bytes_max {
            let largest = self.lanes.iter().enumerate().max_by_key(|(_, open)| open.bytes);
            match largest {
                Some((lane, open)) if open.rows > 0 => self.close(lane, hand_over)?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Hands over the rows of a lane.
    pub(super) fn close<E>(
        &mut self,
        lane: usize,
        hand_over: &mut impl FnMut(Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(open) = self.lanes.get_mut(lane).map(std::mem::take).filter(|open| open.rows > 0) else {
            return Ok(());
        };
        self.bytes -= open.bytes;
        hand_over(Chunk {
            source: self.source,
            lane: Some(lane),
            rows: open.numbers,
            batches: joined(open.pieces),
            bytes: open.bytes,
            is_complete: true,
        })
    }

    /// Hands over the rows of all lanes.
    pub(super) fn finish<E>(&mut self, hand_over: &mut impl FnMut(Chunk) -> Result<(), E>) -> Result<(), E> {
        (0..self.lanes.len()).try_for_each(|lane| self.close(lane, hand_over))
    }
}

/// Returns the number of the last row, including rows that could not be read.
pub(super) fn last_number(batch: &SourceBatch) -> Option<u64> {
    let last = batch.rows().checked_sub(1).map(|last| batch.origin_row(last));
    last.max(batch.unread().last().map(|unread| unread.origin.row))
}

/// Returns the number of the first row, including rows that could not be read.
pub(super) fn first_number(batch: &SourceBatch) -> Option<u64> {
    let first = (batch.rows() > 0).then(|| batch.origin_row(0));
    let unread = batch.unread().first().map(|unread| unread.origin.row);
    match (first, unread) {
        (Some(first), Some(unread)) => Some(first.min(unread)),
        (first, unread) => first.or(unread),
    }
}

/// Joins small neighbours.
fn joined(pieces: Vec<SourceBatch>) -> Vec<SourceBatch> {
    let mut all = Vec::new();
    let mut small: Vec<SourceBatch> = Vec::new();
    let mut rows = 0;
    let mut join = |small: &mut Vec<SourceBatch>| match SourceBatch::joined(small) {
        Ok(Some(whole)) => {
            small.clear();
            all.push(whole);
        }
        // Of several files, or of columns that cannot be joined.
        Ok(None) | Err(_) => all.append(small),
    };
    for piece in pieces {
        rows += piece.rows();
        small.push(piece);
        if rows >= PIECE_ROWS_MIN {
            join(&mut small);
            rows = 0;
        }
    }
    join(&mut small);
    all
}

/// Returns the bytes that a piece takes in memory. Values of a dictionary count only where `before` has other ones.
fn bytes_of(piece: &SourceBatch, before: Option<&SourceBatch>) -> u64 {
    let columns = piece.batch().columns().iter().enumerate().map(|(place, column)| {
        let shared = before.and_then(|before| before.batch().columns().get(place));
        column_bytes(column, shared)
    });
    (columns.sum::<usize>() + piece.origin_bytes() + size_of::<RecordBatch>()) as u64
}

fn column_bytes(column: &ArrayRef, before: Option<&ArrayRef>) -> usize {
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        let values = dictionary.values();
        let is_known = before
            .and_then(|before| before.as_any_dictionary_opt())
            .is_some_and(|before| before.values().to_data().ptr_eq(&values.to_data()));
        let values = if is_known { 0 } else { values.get_array_memory_size() };
        return dictionary.keys().to_data().get_slice_memory_size().unwrap_or_default() + values;
    }
    let data = column.to_data();
    let slice = data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size());
    slice + size_of_val(&data)
}

#[cfg(test)]
mod tests;
