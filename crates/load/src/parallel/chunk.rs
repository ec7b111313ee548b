//! Chunks: the rows that one transaction loads.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use arrow::record_batch::RecordBatch;

use crate::{error::Error, source::SourceBatch};

/// What readers hand over: rows, or why there are no more of a source.
pub(super) type Queued = Result<Chunk, (usize, Error)>;

/// Rows of a source that are loaded in one transaction, or follow one another in the transactions of one writer.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Which of the load's sources.
    pub(super) source: usize,
    /// Its rows' numbers in the source, those that cannot be loaded included.
    pub(super) rows: Range<u64>,
    pub(super) batches: Vec<SourceBatch>,
    /// What they take in memory.
    pub(super) bytes: u64,
}

/// Time that a chunk should take: long enough that its commit does not count, short enough that writers end together and
/// little is sent again.
const CHUNK_TIME: Duration = Duration::from_millis(500);
/// A chunk takes at least so many round trips, of which four are its own.
const ROUND_TRIPS_WORTH: u32 = 40;
/// Bytes of rows in memory. Two chunks of a writer are in memory at a time.
const BYTES_MIN: u64 = 64 << 10;
const BYTES_MAX: u64 = 20 << 20;
/// What a load begins with, before the writers' pace is known.
const BYTES_FIRST: u64 = 128 << 10;

/// How large chunks are made.
#[derive(Debug)]
pub(super) struct ChunkSize {
    rows_max: u64,
    /// Bytes in memory; 0: no limit.
    bytes_max: AtomicU64,
}

impl ChunkSize {
    /// Chunks of so many rows at most. Unless that number is fixed, their bytes follow the writers' pace.
    pub(super) fn new(rows_max: u64, is_fixed: bool) -> Self {
        Self { rows_max, bytes_max: AtomicU64::new(if is_fixed { 0 } else { BYTES_FIRST }) }
    }

    /// Follows a writer's pace: it needed so long for a chunk of so many bytes, and `round_trip` for one answer.
    pub(super) fn adapt(&self, bytes: u64, taken: Duration, round_trip: Duration) {
        let most = self.bytes_max.load(Ordering::Relaxed);
        // The last chunk of a source says little.
        if most == 0 || bytes < most / 2 {
            return;
        }
        let wanted = CHUNK_TIME.max(round_trip * ROUND_TRIPS_WORTH);
        let ratio = wanted.as_secs_f64() / taken.as_secs_f64().max(f64::MIN_POSITIVE);
        let wanted = (most as f64 * ratio.clamp(0.5, 2.0)) as u64;
        self.bytes_max.store(wanted.clamp(BYTES_MIN, BYTES_MAX), Ordering::Relaxed);
    }
}

/// Cuts the batches of a source into chunks.
pub(super) struct Chunker<'a> {
    source: usize,
    size: &'a ChunkSize,
    open: Vec<SourceBatch>,
    rows: Range<u64>,
    bytes: u64,
}

impl<'a> Chunker<'a> {
    pub(super) fn new(source: usize, size: &'a ChunkSize) -> Self {
        Self { source, size, open: Vec::new(), rows: 0..0, bytes: 0 }
    }

    /// Takes rows `numbers` of the source and hands over the chunks that they complete.
    pub(super) fn push<E>(
        &mut self,
        batch: SourceBatch,
        numbers: Range<u64>,
        hand_over: &mut impl FnMut(Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.open.is_empty() || self.rows.end != numbers.start {
            self.finish(hand_over)?;
            self.rows = numbers.start..numbers.start;
        }
        let bytes_a_row = (bytes_of(batch.batch()) / (batch.rows().max(1) as u64)).max(1);
        let mut rest = batch;
        let mut next = numbers.start;
        loop {
            let end = numbers.end.min(next.saturating_add(self.room(bytes_a_row)));
            let (part, behind) = rest.parted(end, numbers.end);
            self.bytes += bytes_a_row * part.rows() as u64;
            self.rows.end = end;
            self.open.push(part);
            (rest, next) = (behind, end);
            if self.room(bytes_a_row) == 0 {
                self.finish(hand_over)?;
                self.rows = next..next;
            }
            if next >= numbers.end {
                return Ok(());
            }
        }
    }

    /// Hands over the rows that are left.
    pub(super) fn finish<E>(&mut self, hand_over: &mut impl FnMut(Chunk) -> Result<(), E>) -> Result<(), E> {
        let bytes = std::mem::take(&mut self.bytes);
        let batches = std::mem::take(&mut self.open);
        match batches.is_empty() {
            true => Ok(()),
            false => hand_over(Chunk { source: self.source, rows: self.rows.clone(), batches, bytes }),
        }
    }

    /// Rows that the open chunk still takes; an empty one takes one at least.
    fn room(&self, bytes_a_row: u64) -> u64 {
        let by_rows = self.size.rows_max.saturating_sub(self.rows.end - self.rows.start);
        let most = self.size.bytes_max.load(Ordering::Relaxed);
        let by_bytes = match most {
            0 => u64::MAX,
            most => most.saturating_sub(self.bytes) / bytes_a_row,
        };
        let room = by_rows.min(by_bytes);
        if self.rows.is_empty() { room.max(1) } else { room }
    }
}

/// What the rows of a batch take in memory.
fn bytes_of(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    });
    bytes.sum::<usize>() as u64
}
