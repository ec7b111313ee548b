//! CD records from cells: how long they are, and their bytes.

use std::ops::Range;

use super::cell::{self, Cell, LONG, SHORT_LIMIT_BYTES};
use super::grid::{CellView, INLINE, WHOLE, has_long};
use super::record::{CLUSTER_COLUMNS, HAS_LONG, HEADER, INDEX, LONG_COMPLEX, LONG_TWO_BYTES};

/// Bytes that a row may take.
pub const ROW_BUFFER_BYTES: usize = 8192;
/// Values that are longer than this are never in a row, and count as so long.
const LENGTH_LIMIT_BYTES: usize = u16::MAX as usize;

/// Bytes of a record of so many columns that has no values.
pub fn fixed_bytes(columns: usize) -> usize {
    1 + if columns > 127 { 2 } else { 1 } + columns.div_ceil(2) + clusters(columns)
}

/// Bytes in front of the end offsets and the values of a long data region, together.
pub fn long_header_bytes(columns: usize) -> usize {
    3 + clusters(columns)
}

/// Entries of a cluster array: all clusters of 30 columns but the last.
pub fn clusters(columns: usize) -> usize {
    columns.saturating_sub(1) / CLUSTER_COLUMNS
}

/// Bytes of each row's CD record. Columns without heads only.
pub fn lengths(views: &[CellView<'_>], rows: usize) -> Vec<u32> {
    let mut lengths = RowLengths::default();
    lengths.start(views.len(), rows);
    let mut costs = Vec::new();
    for view in views {
        costs.clear();
        push_costs(view, &mut costs);
        lengths.add(view.codes, &costs);
    }
    lengths.finish(views.len());
    lengths.bytes
}

/// Appends what each value of a column without heads costs its record: its bytes, and an end offset if it is long.
pub fn push_costs(view: &CellView<'_>, costs: &mut Vec<u16>) {
    // Codes up to nine say how many bytes there are; this is one instruction for many of them.
    if view.codes.iter().fold(0, |most, code| (*code).max(most)) < LONG {
        costs.extend(view.codes.iter().map(|code| u16::from(code.saturating_sub(1))));
        return;
    }
    costs.extend(view.codes.iter().zip(view.words).map(|(code, word)| match *code {
        LONG => (cell::place(*word).1 + 2).min(LENGTH_LIMIT_BYTES) as u16,
        code => cell::short_bytes(code) as u16,
    }));
}

/// Adds up lengths of rows, column by column.
#[derive(Debug, Default)]
pub struct RowLengths {
    /// Bytes of each row's record, after [`finish`](Self::finish).
    pub bytes: Vec<u32>,
    any_long: Vec<bool>,
}

impl RowLengths {
    /// Of so many rows that have no values yet.
    pub fn start(&mut self, columns: usize, rows: usize) {
        self.bytes.clear();
        self.bytes.resize(rows, fixed_bytes(columns) as u32);
        self.any_long.clear();
        self.any_long.resize(rows, false);
    }

    /// Adds a column with these codes and costs.
    pub fn add(&mut self, codes: &[u8], costs: &[u16]) {
        for (bytes, cost) in self.bytes.iter_mut().zip(costs) {
            *bytes += u32::from(*cost);
        }
        if has_long(codes) {
            for (any, code) in self.any_long.iter_mut().zip(codes) {
                *any |= *code == LONG;
            }
        }
    }

    /// Adds what rows with long values need for them.
    pub fn finish(&mut self, columns: usize) {
        let long = long_header_bytes(columns) as u32;
        for (bytes, any) in self.bytes.iter_mut().zip(&self.any_long) {
            *bytes += if *any { long } else { 0 };
        }
    }
}

/// Memory in which [`RowWriter`] makes records; kept from page to page.
#[derive(Debug, Default)]
pub struct Stage {
    /// Everything but the long data region of each row, `stride` bytes apart.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<u32>,
    /// Long values of each row.
    long_counts: Vec<u16>,
}

/// Writes CD records of some rows. What they have in front of the long data region is made column by column, for as many rows at a time
/// as stay in the processor's nearest cache.
#[derive(Debug)]
pub struct RowWriter<'v> {
    views: &'v [CellView<'v>],
    rows: Range<usize>,
    /// Columns that have long values in these rows.
    long: Vec<usize>,
    /// First byte of the records.
    header: u8,
    stage: &'v mut Stage,
    /// Rows that are in the stage.
    staged: Range<usize>,
    stride: usize,
}

/// Bytes of rows that are staged together, unless a single row takes more.
const STAGE_BYTES: usize = 24 << 10;

impl<'v> RowWriter<'v> {
    /// For these rows of the columns. `in_index`: they are records of a nonclustered index.
    pub fn new(views: &'v [CellView<'v>], rows: Range<usize>, in_index: bool, stage: &'v mut Stage) -> Self {
        let long = views.iter().enumerate().filter(|(_, view)| view.slice(rows.clone()).has_long());
        let long = long.map(|(column, _)| column).collect();
        let header = if in_index { HEADER | INDEX } else { HEADER };
        let stride = fixed_bytes(views.len()) + SHORT_LIMIT_BYTES * (views.len() + 1);
        Self { views, staged: rows.start..rows.start, rows, long, header, stage, stride }
    }

    /// Writes the record of a row and returns its length. A record that is longer than `out` is cut.
    #[inline]
    pub fn write(&mut self, row: usize, out: &mut [u8]) -> usize {
        if !self.staged.contains(&row) {
            self.stage(row);
        }
        let index = row - self.staged.start;
        let end = self.stage.ends.get(index).map_or(0, |end| *end as usize);
        let start = index * self.stride;
        let record = self.stage.bytes.get(start..end).unwrap_or_default();
        put(out, 0, record);
        match self.stage.long_counts.get(index) {
            None | Some(0) => record.len(),
            Some(count) => self.write_long(row, (*count).into(), record.len(), out),
        }
    }

    /// Makes rows from `first` on but for their long values.
    fn stage(&mut self, first: usize) {
        let Self { views, rows, long, header, stage, stride, .. } = self;
        let (columns, stride) = (views.len(), *stride);
        let count = (STAGE_BYTES / stride).max(1).min(rows.end.saturating_sub(first).max(1));
        let rows = first..first + count;
        self.staged = rows.clone();
        let Stage { bytes, ends, long_counts } = &mut **stage;
        if bytes.len() < count * stride {
            bytes.resize(count * stride, 0);
        }
        long_counts.clear();
        long_counts.resize(count, 0);
        for view in long.iter().filter_map(|column| views.get(*column)) {
            for (longs, code) in long_counts.iter_mut().zip(view.slice(rows.clone()).codes) {
                *longs += u16::from(*code == LONG);
            }
        }
        let columns_bytes = if columns > 127 { 2 } else { 1 };
        let descriptor = 1 + columns_bytes;
        let cluster_array = descriptor + columns.div_ceil(2);
        let count_of_columns = match columns_bytes {
            1 => [columns as u8, 0],
            _ => ((columns as u16) | 0x8000).to_be_bytes(),
        };
        for (record, longs) in bytes.chunks_exact_mut(stride).zip(long_counts.iter()) {
            put_byte(record, 0, *header | if *longs > 0 { HAS_LONG } else { 0 });
            put(record, 1, count_of_columns.get(..columns_bytes).unwrap_or_default());
        }
        for (place, pair) in (descriptor..).zip(views.chunks(2)) {
            let [left, right @ ..] = pair else { continue };
            let left = left.slice(rows.clone()).codes;
            let records = bytes.chunks_exact_mut(stride);
            match right {
                [right, ..] => {
                    let codes = left.iter().zip(right.slice(rows.clone()).codes);
                    codes.zip(records).for_each(|((left, right), record)| {
                        put_byte(record, place, left | (right << 4));
                    });
                }
                [] => left.iter().zip(records).for_each(|(code, record)| put_byte(record, place, *code)),
            }
        }
        ends.clear();
        ends.extend((0..count).map(|index| (index * stride + cluster_array + clusters(columns)) as u32));
        let mut starts = Vec::new();
        for (number, cluster) in views.chunks(CLUSTER_COLUMNS).enumerate() {
            let counts = number < clusters(columns);
            if counts {
                starts.clone_from(ends);
            }
            for view in cluster {
                let view = view.slice(rows.clone());
                for ((code, word), end) in view.codes.iter().zip(view.words).zip(ends.iter_mut()) {
                    // Whole words: what is too much of them is written over, or is in the room behind the row.
                    let at = *end as usize;
                    if let Some(place) = bytes.get_mut(at..at + SHORT_LIMIT_BYTES) {
                        place.copy_from_slice(&word.to_le_bytes());
                    }
                    *end += cell::short_bytes(*code) as u32;
                }
            }
            if counts {
                let records = bytes.chunks_exact_mut(stride);
                for ((record, start), end) in records.zip(&starts).zip(ends.iter()) {
                    put_byte(record, cluster_array + number, (end - start) as u8);
                }
            }
        }
    }

    fn write_long(&self, row: usize, count: usize, start: usize, out: &mut [u8]) -> usize {
        let mut flags = LONG_TWO_BYTES;
        put(out, start + 1, &(count as u16).to_le_bytes());
        let mut entry = start + 3;
        let cluster_array = entry + 2 * count;
        let clusters = clusters(self.views.len());
        if clusters > 0 {
            put_zeros(out, cluster_array, clusters);
        }
        let data = cluster_array + clusters;
        let mut at = data;
        for column in &self.long {
            let Some(view) = self.views.get(*column) else { continue };
            let cell = view.cell(row);
            if !cell.is_long() {
                continue;
            }
            let head = view.heads.get(row).copied().unwrap_or(WHOLE);
            at = put_long(view, cell, head, out, at);
            let mut end = (at - data) as u16;
            if is_pointer(cell, head) {
                flags |= LONG_COMPLEX;
                end |= crate::engine::record::COMPLEX;
            }
            put(out, entry, &end.to_le_bytes());
            entry += 2;
            if clusters > 0
                && *column < clusters * CLUSTER_COLUMNS
                && let Some(in_cluster) = out.get_mut(cluster_array + column / CLUSTER_COLUMNS)
            {
                *in_cluster += 1;
            }
        }
        put_byte(out, start, flags);
        at.min(out.len())
    }
}

/// Writes the CD record of one row into `out` and returns its length. A row that is longer than that is cut.
pub fn write_row(views: &[CellView<'_>], row: usize, out: &mut [u8]) -> usize {
    RowWriter::new(views, row..row + 1, false, &mut Stage::default()).write(row, out)
}

/// Whether a long cell with this head is a pointer.
pub fn is_pointer(cell: Cell, head: u16) -> bool {
    head == WHOLE && cell.is_complex()
}

/// The bytes that say how many of an anchor's a value begins with.
#[inline]
pub fn head_bytes(same: usize) -> ([u8; 2], usize) {
    match same {
        0..0x80 => ([same as u8, 0], 1),
        _ => ([0x80 | (same & 0x7F) as u8, (same >> 7) as u8], 2),
    }
}

/// Writes the bytes of a long cell and returns where they end.
fn put_long(view: &CellView<'_>, cell: Cell, head: u16, out: &mut [u8], mut at: usize) -> usize {
    match head {
        WHOLE => {}
        INLINE => {
            put_byte(out, at, 0);
            put(out, at + 1, &cell.word.to_le_bytes());
            return at + 1 + SHORT_LIMIT_BYTES;
        }
        same => {
            let (bytes, count) = head_bytes(same.into());
            put(out, at, bytes.get(..count).unwrap_or_default());
            at += count;
        }
    }
    let bytes = view.long(cell);
    put(out, at, bytes);
    at + bytes.len()
}

#[inline(always)]
fn put_byte(out: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = out.get_mut(at) {
        *place = byte;
    }
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn put_zeros(out: &mut [u8], at: usize, count: usize) {
    if let Some(place) = out.get_mut(at..at + count) {
        place.fill(0);
    }
}
