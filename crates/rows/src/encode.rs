//! The columnar scatter: columns that are ready for the wire become ROW tokens.
//!
//! For every block of rows, each column first adds its lengths to those of the rows. The running sum says where
//! each row starts in a row-major buffer. Then each column passes over the block once and writes its cells there.
//! There is no type dispatch and no allocation per cell or per row.

mod block;
mod chunks;
mod fixed;
mod frame;
mod passed;
mod shared;
pub(crate) mod transcode;
mod variable;

use std::ops::Range;

use arrow::buffer::{Buffer, NullBuffer};
use tds::codec::PlpChunk;

use block::{BLOCK_ROWS, Block, SLACK_BYTES};
use chunks::Chunks;
pub(crate) use fixed::{Fixed, FixedLane};
pub(crate) use frame::Frame;
pub(crate) use passed::{PassedRows, ROWS_TYPE};
pub(crate) use shared::{SharedLane, cells_of};
pub(crate) use variable::{Content, Offsets, VariableLane};

/// Room for a block of loosely laid out rows; blocks of longer rows are written tightly.
const SCRATCH_BYTES: usize = 40 * 1024;

/// Rows that are written tightly, whatever their length.
const FEW_ROWS: usize = 8;

/// The token byte in front of every row (MS-TDS 2.2.7.19).
const ROW_TOKEN: u8 = 0xD1;

/// A batch whose columns passed every check; writing its rows cannot fail.
#[derive(Debug)]
pub struct BoundBatch<'a> {
    lanes: Vec<Lane<'a>>,
    rows: usize,
    /// Length in bytes of the row token and of all cells that are equally long in every row.
    constant_len: usize,
    /// The rows, if they are in the form of the wire already. There are no lanes then.
    passed: Option<PassedRows<'a>>,
}

impl<'a> BoundBatch<'a> {
    pub(crate) fn new(lanes: Vec<Lane<'a>>, rows: usize) -> Self {
        let constant_len = 1 + lanes.iter().filter_map(Lane::constant_len).sum::<usize>();
        BoundBatch { lanes, rows, constant_len, passed: None }
    }

    /// Takes rows that are in the form of the wire already.
    pub(crate) fn of_passed(passed: PassedRows<'a>, rows: usize) -> Self {
        BoundBatch { lanes: Vec::new(), rows, constant_len: 0, passed: Some(passed) }
    }

    /// Returns the ROW tokens of `rows` without a copy, if the batch holds them in the form of the wire already.
    pub fn shared(&self, rows: Range<usize>) -> Option<Buffer> {
        self.passed.map(|passed| passed.shared(rows.start..rows.end.min(self.rows)))
    }

    /// Counts the rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the ROW tokens of `rows` to `out`. Rows past the end of the batch are left out.
    pub fn encode(&self, rows: Range<usize>, out: &mut Vec<u8>) {
        if let Some(passed) = &self.passed {
            return out.extend_from_slice(passed.bytes(rows.start..rows.end.min(self.rows)));
        }
        if rows.len() <= FEW_ROWS {
            // To clear the scratch would take longer than to write them.
            return self.for_blocks(rows, |first, lengths| {
                scatter_block(&self.lanes, &[ROW_TOKEN], first, lengths, out);
            });
        }
        let mut scratch = [0; SCRATCH_BYTES];
        self.for_blocks(rows, |first, lengths| {
            let loose_len = lengths.iter().sum::<usize>() + lengths.len() * SLACK_BYTES;
            match scratch.get_mut(..loose_len) {
                Some(scratch) => scatter_loosely(&self.lanes, first, lengths, scratch, out),
                None => scatter_block(&self.lanes, &[ROW_TOKEN], first, lengths, out),
            }
        });
    }

    /// Encodes rows as [`encode`](Self::encode) does. Appends to `chunks` the places in `out` of the chunks
    /// of partially length-prefixed values.
    pub fn encode_in_chunks(
        &self,
        rows: Range<usize>,
        out: &mut Vec<u8>,
        chunks: &mut impl Extend<PlpChunk>,
    ) {
        let base = out.len();
        self.encode(rows, out);
        if self.lanes.iter().any(|lane| lane.frame() == Frame::Chunked) {
            chunks.extend(Chunks::new(&self.lanes, out, base));
        }
    }

    /// Computes the bytes that [`encode`](Self::encode) appends.
    pub fn encoded_len(&self, rows: Range<usize>) -> usize {
        if let Some(passed) = &self.passed {
            return passed.len(rows.start..rows.end.min(self.rows));
        }
        let mut total = 0;
        self.for_blocks(rows, |_, lengths| total += lengths.iter().sum::<usize>());
        total
    }

    /// Adds up the length of each row from `first` on.
    fn sum_lengths(&self, lengths: &mut [usize], first: usize) {
        // Narrow sums first: more of them fit a vector register.
        let mut narrow = [0; BLOCK_ROWS];
        for lane in &self.lanes {
            if let (Cells::Fixed(fixed), Some(nulls)) = (&lane.cells, &lane.nulls) {
                fixed.add_lengths(&mut narrow, nulls, first, lengths.len());
            }
        }
        for (length, &narrow) in lengths.iter_mut().zip(&narrow) {
            *length = self.constant_len + narrow as usize;
        }
        for lane in &self.lanes {
            match &lane.cells {
                Cells::Variable(_) | Cells::Shared(..) => lane.add_lengths(lengths, first),
                Cells::Fixed(_) | Cells::Null(_) => {}
            }
        }
    }

    /// Calls `visit` with the first row and the row lengths of each block of `rows`.
    fn for_blocks(&self, rows: Range<usize>, mut visit: impl FnMut(usize, &mut [usize])) {
        let end = rows.end.min(self.rows);
        let mut lengths = [0; BLOCK_ROWS];
        for first in (rows.start.min(end)..end).step_by(BLOCK_ROWS) {
            let lengths = &mut lengths[..BLOCK_ROWS.min(end - first)];
            self.sum_lengths(lengths, first);
            visit(first, lengths);
        }
    }
}

/// A column, ready for the wire.
#[derive(Debug)]
pub(crate) struct Lane<'a> {
    pub(crate) cells: Cells<'a>,
    pub(crate) nulls: Option<NullBuffer>,
}

/// The cells of a column, by how their lengths behave.
#[derive(Debug)]
pub(crate) enum Cells<'a> {
    /// Every row is NULL.
    Null(Frame),
    Fixed(FixedLane<'a>),
    Variable(VariableLane<'a>),
    Shared(SharedLane, Frame),
}

impl Lane<'_> {
    fn frame(&self) -> Frame {
        match &self.cells {
            Cells::Null(frame) | Cells::Shared(_, frame) => *frame,
            Cells::Fixed(lane) => lane.frame,
            Cells::Variable(lane) => lane.frame,
        }
    }

    /// Returns the length in bytes of the column's cells if they are all equally long.
    fn constant_len(&self) -> Option<usize> {
        match &self.cells {
            Cells::Null(frame) => Some(frame.null().len()),
            Cells::Fixed(lane) if self.nulls.is_none() => Some(lane.cell_len()),
            _ => None,
        }
    }

    /// Adds the length of each row's cell to `lengths`, unless it is constant.
    fn add_lengths(&self, lengths: &mut [usize], first: usize) {
        match (&self.cells, &self.nulls) {
            (Cells::Null(_), _) | (Cells::Fixed(_), None) => {}
            (Cells::Fixed(lane), Some(nulls)) => {
                let mut narrow = [0; BLOCK_ROWS];
                lane.add_lengths(&mut narrow, nulls, first, lengths.len());
                for (length, &narrow) in lengths.iter_mut().zip(&narrow) {
                    *length += narrow as usize;
                }
            }
            (Cells::Variable(lane), nulls) => lane.add_lengths(lengths, first, nulls.as_ref()),
            (Cells::Shared(lane, _), _) => lane.add_lengths(lengths, first),
        }
    }

    fn scatter<const LOOSE: bool>(&self, block: &mut Block<'_>) {
        match &self.cells {
            Cells::Null(frame) => {
                let null = frame.null();
                for &mut cursor in block.cursors.iter_mut() {
                    let at = cursor + block.shift;
                    block.out[at..at + null.len()].copy_from_slice(null);
                }
                block.shift += null.len();
            }
            Cells::Fixed(lane) => lane.scatter::<LOOSE>(block, self.nulls.as_ref()),
            Cells::Variable(lane) => lane.scatter::<LOOSE>(block, self.nulls.as_ref()),
            Cells::Shared(lane, _) => lane.scatter(block),
        }
    }
}

/// Appends the block of rows whose lengths are `lengths`: `head`, then the cells of `lanes`. Leaves in `lengths` the end
/// of each row, counted from the block's start.
fn scatter_block(lanes: &[Lane<'_>], head: &[u8], first: usize, lengths: &mut [usize], out: &mut Vec<u8>) {
    let mut total = 0;
    for length in lengths.iter_mut() {
        total += std::mem::replace(length, total);
    }
    let base = out.len();
    out.resize(base + total, 0);
    let mut block = Block { out: &mut out[base..], cursors: lengths, shift: 0, first };
    for &mut cursor in block.cursors.iter_mut() {
        block.out[cursor..cursor + head.len()].copy_from_slice(head);
    }
    block.shift = head.len();
    for lane in lanes {
        lane.scatter::<false>(&mut block);
    }
    let shift = block.shift;
    for cursor in lengths.iter_mut() {
        *cursor += shift;
    }
}

/// Appends a block of rows that fit `scratch` with a gap behind each. The gap lets cells be written in whole
/// registers, without a branch on their lengths; then the rows are moved together.
fn scatter_loosely(
    lanes: &[Lane<'_>],
    first: usize,
    lengths: &mut [usize],
    scratch: &mut [u8],
    out: &mut Vec<u8>,
) {
    let rows = lengths.len();
    let mut starts = [0; BLOCK_ROWS];
    let starts = &mut starts[..rows];
    let mut end = 0;
    for (start, &length) in starts.iter_mut().zip(lengths.iter()) {
        scratch[end] = ROW_TOKEN;
        *start = end;
        end += length + SLACK_BYTES;
    }
    let mut cursors = [0; BLOCK_ROWS];
    let cursors = &mut cursors[..rows];
    cursors.copy_from_slice(starts);
    let mut block = Block { out: scratch, cursors, shift: 1, first };
    for lane in lanes {
        lane.scatter::<true>(&mut block);
    }
    let base = out.len();
    let total = end - rows * SLACK_BYTES;
    out.resize(base + total + SLACK_BYTES, 0);
    let mut target = base;
    for (&start, &length) in starts.iter().zip(lengths.iter()) {
        // Moving whole groups writes past the row's end; the next row, or the truncation below, sees to that.
        let groups = length.div_ceil(SLACK_BYTES) * SLACK_BYTES;
        let source = scratch[start..].as_chunks::<SLACK_BYTES>().0;
        let targets = out[target..].as_chunks_mut::<SLACK_BYTES>().0;
        for (target, source) in targets.iter_mut().zip(&source[..groups / SLACK_BYTES]) {
            *target = *source;
        }
        target += length;
    }
    out.truncate(base + total);
}
