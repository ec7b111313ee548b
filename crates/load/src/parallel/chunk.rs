//! Chunks: the rows that one transaction loads.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use arrow::record_batch::RecordBatch;

use crate::{error::Error, source::SourceBatch};

/// The item that readers hand over: rows, or the error that ended a source.
pub(super) type Queued = Result<Chunk, (usize, Error)>;

/// Rows of a source that are loaded in one transaction, or follow one another in the transactions of one writer.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The index of the source among those of the load.
    pub(super) source: usize,
    /// The lane whose rows they are. Without one they are all rows of their numbers.
    pub(super) lane: Option<usize>,
    /// The numbers of the rows in the source, including those that cannot be loaded. A part begins where its chunk does.
    pub(super) rows: Range<u64>,
    /// The rows, without those of the chunk's parts that were handed over before.
    pub(super) batches: Vec<SourceBatch>,
    /// The bytes that all of `rows` take in memory.
    pub(super) bytes: u64,
    /// Nothing of the chunk follows.
    pub(super) is_complete: bool,
}

/// Time that a chunk should take: long enough that its commit does not count, short enough that writers end together and
/// little is sent again.
const CHUNK_TIME: Duration = Duration::from_millis(500);
/// A chunk takes at least so many times the pause around it.
const PAUSES_WORTH: u32 = 10;
/// Bytes of a chunk that is in memory as a whole. Two of a writer may be.
const BYTES_MIN: u64 = 64 << 10;
const BYTES_MAX: u64 = 20 << 20;
/// The size that is enough unless the pause takes more than one part in [`PAUSES_SMALL`] of the chunk's time.
const BYTES_ENOUGH: u64 = 8 << 20;
const PAUSES_SMALL: u32 = 50;
/// The size of the first chunks, until the writers' pace is known.
const BYTES_FIRST: u64 = 128 << 10;
/// The largest step from one size to the next.
const GROWTH_MAX: f64 = 4.0;

/// The limits that decide the size of chunks.
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

    /// Follows a writer's pace: it needed so long for a chunk of so many bytes, of which no row moved during `pause`.
    pub(super) fn adapt(&self, bytes: u64, taken: Duration, pause: Duration) {
        let most = self.bytes_max.load(Ordering::Relaxed);
        // The last chunk of a source says little.
        if most == 0 || bytes < most / 2 {
            return;
        }
        let taken = taken.as_secs_f64().max(f64::MIN_POSITIVE);
        let wanted = CHUNK_TIME.max(pause * PAUSES_WORTH);
        let ratio = (wanted.as_secs_f64() / taken).clamp(0.5, GROWTH_MAX);
        let wanted = (most as f64 * ratio) as u64;
        let enough = (bytes as f64 / taken * (pause * PAUSES_SMALL).as_secs_f64()) as u64;
        let most = enough.clamp(BYTES_ENOUGH, BYTES_MAX);
        self.bytes_max.store(wanted.clamp(BYTES_MIN, most), Ordering::Relaxed);
    }

    /// Rows that a chunk of so many rows and bytes still takes; an empty one takes one at least. Rows without bytes are limited by
    /// their number alone.
    pub(super) fn room(&self, rows: u64, bytes: u64, bytes_a_row: u64) -> u64 {
        let by_rows = self.rows_max.saturating_sub(rows);
        let by_bytes = match self.bytes_max.load(Ordering::Relaxed) {
            0 => u64::MAX,
            most => most.saturating_sub(bytes).checked_div(bytes_a_row).unwrap_or(u64::MAX),
        };
        let room = by_rows.min(by_bytes);
        if rows == 0 { room.max(1) } else { room }
    }

    /// Returns true if the only writer should end its chunk here. `held` are the bytes of its rows that are in
    /// memory.
    pub(super) fn is_reached(&self, held: u64, taken: Duration, pause: Duration) -> bool {
        let is_long = taken >= CHUNK_TIME.max(pause * PAUSES_WORTH);
        let is_heavy = held >= BYTES_MAX || held >= BYTES_ENOUGH && taken >= pause * PAUSES_SMALL;
        !self.is_fixed() && (is_long || is_heavy)
    }

    /// Returns true if chunks have the plan's number of rows, however long they take.
    pub(super) fn is_fixed(&self) -> bool {
        self.bytes_max.load(Ordering::Relaxed) == 0
    }
}

/// Cuts the batches of a source into chunks.
pub(super) struct Chunker<'a> {
    source: usize,
    size: &'a ChunkSize,
    /// Hands over what there is of a chunk, which the writer cuts further by its pace.
    in_parts: bool,
    open: Vec<SourceBatch>,
    rows: Range<u64>,
    bytes: u64,
}

impl<'a> Chunker<'a> {
    pub(super) fn new(source: usize, size: &'a ChunkSize, in_parts: bool) -> Self {
        Self { source, size, in_parts, open: Vec::new(), rows: 0..0, bytes: 0 }
    }

    /// Takes rows `numbers` of the source and hands over the chunks that they complete.
    pub(super) fn push<E>(
        &mut self,
        batch: SourceBatch,
        numbers: Range<u64>,
        hand_over: &mut impl FnMut(Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.rows.is_empty() || self.rows.end != numbers.start {
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
            } else if self.in_parts {
                hand_over(self.cut(false))?;
            }
            if next >= numbers.end {
                return Ok(());
            }
        }
    }

    /// Hands over the rows that are left.
    pub(super) fn finish<E>(&mut self, hand_over: &mut impl FnMut(Chunk) -> Result<(), E>) -> Result<(), E> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let chunk = self.cut(true);
        self.rows.start = self.rows.end;
        self.bytes = 0;
        hand_over(chunk)
    }

    fn cut(&mut self, is_complete: bool) -> Chunk {
        let batches = std::mem::take(&mut self.open);
        let (source, rows, bytes) = (self.source, self.rows.clone(), self.bytes);
        Chunk { source, lane: None, rows, batches, bytes, is_complete }
    }

    /// Rows that the open chunk still takes; an empty one takes one at least.
    fn room(&self, bytes_a_row: u64) -> u64 {
        let bytes = if self.in_parts { 0 } else { self.bytes };
        let bytes_a_row = if self.in_parts { 0 } else { bytes_a_row };
        self.size.room(self.rows.end - self.rows.start, bytes, bytes_a_row)
    }
}

/// Returns the bytes that the rows of a batch take in memory.
fn bytes_of(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    });
    bytes.sum::<usize>() as u64
}
