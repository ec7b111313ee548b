//! CD records written in blocks of rows. What is in front of the long data region is written column by column, in
//! memory that stays in the processor's nearest cache. Long values are written row by row, straight into the record.

use std::ops::Range;

use super::cell::{self, Cell, LONG, SHORT_LIMIT_BYTES};
use super::grid::{CellView, INLINE, WHOLE};
use super::record::{HAS_LONG, HEADER, INDEX, LONG_COMPLEX, LONG_TWO_BYTES};
use super::row::{CLUSTER_COLUMNS, clusters, fixed_bytes, head_bytes, is_pointer};

/// Rows of a block: as many codes as one instruction takes.
const BLOCK_ROWS: usize = 16;

/// Flag of a pointer in the higher byte of an end offset.
const POINTER: u8 = (crate::record::COMPLEX >> 8) as u8;

/// Memory for a block; kept from page to page.
#[derive(Debug, Default)]
pub struct Stage {
    bytes: Vec<u8>,
}

/// Writes CD records of some rows.
#[derive(Debug)]
pub struct RowWriter<'v> {
    views: &'v [CellView<'v>],
    rows: Range<usize>,
    /// Columns that have long values in these rows.
    long: Vec<(usize, CellView<'v>)>,
    /// First byte of the records.
    header: u8,
}

/// Records of a block without their long data regions.
struct Block {
    ends: [u16; BLOCK_ROWS],
    /// Long values of each row.
    longs: [u16; BLOCK_ROWS],
}

impl<'v> RowWriter<'v> {
    /// Creates a writer of these rows of the columns. `in_index`: they are records of a nonclustered index.
    pub fn new(views: &'v [CellView<'v>], rows: Range<usize>, in_index: bool) -> Self {
        let long = views.iter().enumerate().filter(|(_, view)| view.slice(rows.clone()).has_long());
        let long = long.map(|(column, view)| (column, *view)).collect();
        Self { views, rows, long, header: if in_index { HEADER | INDEX } else { HEADER } }
    }

    /// Writes the records. `next` gets the end of the record before (`start` at first) and returns where in `out` the
    /// next one goes. Returns where the last one ends. Bytes of a record beyond the end of `out` are left out.
    pub fn write(
        &self,
        stage: &mut Stage,
        out: &mut [u8],
        start: usize,
        next: impl FnMut(usize) -> usize,
    ) -> usize {
        // Rows have room for whole words of all columns; a place in them is masked instead of checked.
        match fixed_bytes(self.views.len()) + SHORT_LIMIT_BYTES * self.views.len() {
            0..0x80 => self.write_blocks::<{ 0x80 + 8 }>(stage, out, start, next),
            0x80..0x200 => self.write_blocks::<{ 0x200 + 8 }>(stage, out, start, next),
            0x200..0x800 => self.write_blocks::<{ 0x800 + 8 }>(stage, out, start, next),
            _ => self.write_blocks::<{ 0x4000 + 8 }>(stage, out, start, next),
        }
    }

    fn write_blocks<const STRIDE: usize>(
        &self,
        stage: &mut Stage,
        out: &mut [u8],
        start: usize,
        mut next: impl FnMut(usize) -> usize,
    ) -> usize {
        let bytes = &mut stage.bytes;
        if bytes.len() < BLOCK_ROWS * STRIDE {
            bytes.resize(BLOCK_ROWS * STRIDE, 0);
        }
        let Some(rows) = bytes.as_chunks_mut::<STRIDE>().0.first_chunk_mut::<BLOCK_ROWS>() else {
            return start;
        };
        let mut end = start;
        for first in self.rows.clone().step_by(BLOCK_ROWS) {
            let block = self.stage_block(first, rows);
            let records = rows.iter().zip(block.ends.iter().zip(&block.longs));
            for (row, (record, (length, longs))) in (first..self.rows.end).zip(records) {
                let (at, length) = (next(end), usize::from(*length));
                end = at + length;
                if let (Some(place), Some(record)) = (out.get_mut(at..end), record.get(..length)) {
                    copy_short(record, place);
                }
                if *longs > 0 {
                    let place = out.get_mut(end..).unwrap_or_default();
                    end += self.write_long(row, (*longs).into(), place).unwrap_or(0);
                }
            }
        }
        end
    }

    /// Makes the rows of a block, but for their long values.
    fn stage_block<const STRIDE: usize>(
        &self,
        first: usize,
        records: &mut [[u8; STRIDE]; BLOCK_ROWS],
    ) -> Block {
        let columns = self.views.len();
        let columns_bytes = if columns > 127 { 2 } else { 1 };
        let count = match columns_bytes {
            1 => [0, columns as u8, 0, 0],
            _ => [0, (columns >> 8) as u8 | 0x80, columns as u8, 0],
        };
        for record in records.iter_mut() {
            put(record, 0, count);
        }
        let descriptor = 1 + columns_bytes;
        let cluster_array = descriptor + columns.div_ceil(2);
        let mut block =
            Block { ends: [(cluster_array + clusters(columns)) as u16; BLOCK_ROWS], longs: [0; BLOCK_ROWS] };
        for (number, cluster) in self.views.chunks(CLUSTER_COLUMNS).enumerate() {
            let starts = block.ends;
            // A cluster has an even number of columns.
            let place = descriptor + number * CLUSTER_COLUMNS / 2;
            for (place, pair) in (place..).zip(cluster.chunks(2)) {
                let mut descriptors = [0; BLOCK_ROWS];
                for (shift, view) in [0, 4].into_iter().zip(pair) {
                    let (mut codes, mut words) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
                    let codes = chunk(view.codes, first, &mut codes);
                    for (descriptor, code) in descriptors.iter_mut().zip(codes) {
                        *descriptor |= code << shift;
                    }
                    stage_column(codes, chunk(view.words, first, &mut words), &mut block, records);
                }
                for (record, byte) in records.iter_mut().zip(descriptors) {
                    put(record, place, [byte]);
                }
            }
            if number < clusters(columns) {
                for (record, (start, end)) in records.iter_mut().zip(starts.iter().zip(&block.ends)) {
                    put(record, cluster_array + number, [(end - start) as u8]);
                }
            }
        }
        for (record, longs) in records.iter_mut().zip(&block.longs) {
            put(record, 0, [self.header | if *longs > 0 { HAS_LONG } else { 0 }]);
        }
        block
    }

    /// Writes the long data region of a row and returns its length. None: there is no room for it.
    fn write_long(&self, row: usize, count: usize, out: &mut [u8]) -> Option<usize> {
        if let (1, [(_, view)], ..=CLUSTER_COLUMNS) = (count, self.long.as_slice(), self.views.len()) {
            let (header, values) = out.split_first_chunk_mut::<5>()?;
            let cell = view.cell(row);
            let head = view.heads.get(row).copied().unwrap_or(WHOLE);
            let end = put_long(view, cell, head, values, 0)?;
            let [low, high] = (end as u16).to_le_bytes();
            *header = match is_pointer(cell, head) {
                false => [LONG_TWO_BYTES, 1, 0, low, high],
                true => [LONG_TWO_BYTES | LONG_COMPLEX, 1, 0, low, high | POINTER],
            };
            return Some(5 + end);
        }
        let clusters = clusters(self.views.len());
        let (header, values) = out.split_at_mut_checked(3 + 2 * count + clusters)?;
        let (header, in_clusters) = header.split_at_mut_checked(3 + 2 * count)?;
        in_clusters.iter_mut().for_each(|count| *count = 0);
        let (flags, ends) = header.split_first_chunk_mut::<3>()?;
        let mut ends = ends.as_chunks_mut::<2>().0.iter_mut();
        let [low, high] = (count as u16).to_le_bytes();
        *flags = [LONG_TWO_BYTES, low, high];
        let mut at = 0;
        for (column, view) in &self.long {
            let (Some(&LONG), Some(&word)) = (view.codes.get(row), view.words.get(row)) else { continue };
            let cell = Cell { code: LONG, word };
            let head = view.heads.get(row).copied().unwrap_or(WHOLE);
            at = put_long(view, cell, head, values, at)?;
            let mut end = at as u16;
            if is_pointer(cell, head) {
                flags[0] |= LONG_COMPLEX;
                end |= crate::record::COMPLEX;
            }
            *ends.next()? = end.to_le_bytes();
            if let Some(in_cluster) = in_clusters.get_mut(column / CLUSTER_COLUMNS) {
                *in_cluster += 1;
            }
        }
        Some(3 + 2 * count + clusters + at)
    }
}

/// Writes the CD record of one row into `out` and returns its length. Bytes beyond the end of `out` are left out.
pub fn write_row(views: &[CellView<'_>], row: usize, out: &mut [u8]) -> usize {
    let length = RowWriter::new(views, row..row + 1, false).write(&mut Stage::default(), out, 0, |_| 0);
    length.min(out.len())
}

/// Adds a column to the rows of a block.
#[inline(always)]
fn stage_column<const STRIDE: usize>(
    codes: &[u8; BLOCK_ROWS],
    words: &[u64; BLOCK_ROWS],
    block: &mut Block,
    records: &mut [[u8; STRIDE]; BLOCK_ROWS],
) {
    // The last eight bytes of a row are room for what is too much of a word.
    let mask = STRIDE - 1 - SHORT_LIMIT_BYTES;
    for ((record, word), end) in records.iter_mut().zip(words).zip(&block.ends) {
        put(record, usize::from(*end) & mask, word.to_le_bytes());
    }
    let mut any_long = false;
    for (end, code) in block.ends.iter_mut().zip(codes) {
        *end += u16::from(cell::few_bytes(*code));
        any_long |= *code == LONG;
    }
    if any_long {
        for (longs, code) in block.longs.iter_mut().zip(codes) {
            *longs += u16::from(*code == LONG);
        }
    }
}

/// Returns the values of a block; at the end of a column the missing ones are those of `pad`.
#[inline(always)]
fn chunk<'a, T: Copy>(values: &'a [T], first: usize, pad: &'a mut [T; BLOCK_ROWS]) -> &'a [T; BLOCK_ROWS] {
    let values = values.get(first..).unwrap_or_default();
    if let Some(full) = values.first_chunk() {
        return full;
    }
    pad.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
    pad
}

/// Writes the bytes of a long cell and returns where they end. None: there is no room for them.
#[inline]
fn put_long(view: &CellView<'_>, cell: Cell, head: u16, out: &mut [u8], mut at: usize) -> Option<usize> {
    match head {
        WHOLE => {}
        INLINE => {
            *out.get_mut(at)? = 0;
            *out.get_mut(at + 1..)?.first_chunk_mut()? = cell.word.to_le_bytes();
            return Some(at + 1 + SHORT_LIMIT_BYTES);
        }
        0..0x80 => {
            *out.get_mut(at)? = head as u8;
            at += 1;
        }
        same => {
            *out.get_mut(at..)?.first_chunk_mut()? = head_bytes(same.into()).0;
            at += 2;
        }
    }
    let bytes = view.long(cell);
    let end = at + bytes.len();
    copy_short(bytes, out.get_mut(at..end)?);
    Some(end)
}

/// Copies as many bytes as both have, without a call if they are few: the first and the last, which may overlap.
#[inline(always)]
fn copy_short(bytes: &[u8], out: &mut [u8]) {
    let copied = match bytes.len() {
        8..16 => copy_ends::<8>(bytes, out),
        16..32 => copy_ends::<16>(bytes, out),
        32..=64 => copy_ends::<32>(bytes, out),
        _ => None,
    };
    if copied.is_none() && bytes.len() == out.len() {
        out.copy_from_slice(bytes);
    }
}

#[inline(always)]
fn copy_ends<const COUNT: usize>(bytes: &[u8], out: &mut [u8]) -> Option<()> {
    *out.first_chunk_mut::<COUNT>()? = *bytes.first_chunk()?;
    *out.last_chunk_mut::<COUNT>()? = *bytes.last_chunk()?;
    Some(())
}

#[inline(always)]
fn put<const COUNT: usize>(out: &mut [u8], at: usize, bytes: [u8; COUNT]) {
    if let Some(place) = out.get_mut(at..at + COUNT) {
        place.copy_from_slice(&bytes);
    }
}

const _: () = assert!(cell::NULL == 0, "rows that are missing in a block are nulls");
