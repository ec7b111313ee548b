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

/// Writes CD records of some rows.
#[derive(Debug)]
pub struct RowWriter<'v> {
    views: &'v [CellView<'v>],
    /// Columns that have long values in these rows.
    long: Vec<usize>,
    /// First byte of the records.
    header: u8,
}

impl<'v> RowWriter<'v> {
    /// For these rows of the columns. `in_index`: they are records of a nonclustered index.
    pub fn new(views: &'v [CellView<'v>], rows: Range<usize>, in_index: bool) -> Self {
        let long = views.iter().enumerate().filter(|(_, view)| view.slice(rows.clone()).has_long());
        let long = long.map(|(column, _)| column).collect();
        Self { views, long, header: if in_index { HEADER | INDEX } else { HEADER } }
    }

    /// Writes the record of a row and returns its length. Up to seven bytes behind it may be written, too, if `out` has them; a record
    /// that is longer than `out` is cut.
    #[inline]
    pub fn write(&self, row: usize, out: &mut [u8]) -> usize {
        let columns = self.views.len();
        let mut at = 1;
        if columns > 127 {
            put(out, at, &((columns as u16) | 0x8000).to_be_bytes());
            at += 2;
        } else {
            put_byte(out, at, columns as u8);
            at += 1;
        }
        let mut descriptor = at;
        at += columns.div_ceil(2);
        let cluster_array = at;
        at += clusters(columns);
        let mut any_long = false;
        for (number, cluster) in self.views.chunks(CLUSTER_COLUMNS).enumerate() {
            let start = at;
            let (pairs, last) = cluster.as_chunks::<2>();
            for [left, right] in pairs {
                let (left, right) = (left.cell(row), right.cell(row));
                any_long |= (left.code == LONG) | (right.code == LONG);
                put_byte(out, descriptor, left.code | (right.code << 4));
                descriptor += 1;
                at = put_short(out, at, left);
                at = put_short(out, at, right);
            }
            if let [last] = last {
                let cell = last.cell(row);
                any_long |= cell.code == LONG;
                put_byte(out, descriptor, cell.code);
                at = put_short(out, at, cell);
            }
            if number < clusters(columns) {
                put_byte(out, cluster_array + number, (at - start) as u8);
            }
        }
        put_byte(out, 0, if any_long { self.header | HAS_LONG } else { self.header });
        if any_long { self.write_long(row, at, out) } else { at }
    }

    fn write_long(&self, row: usize, start: usize, out: &mut [u8]) -> usize {
        let columns = || self.long.iter().filter_map(|column| Some((*column, self.views.get(*column)?)));
        let count = columns().filter(|(_, view)| view.cell(row).is_long()).count();
        let mut flags = LONG_TWO_BYTES;
        put(out, start + 1, &(count as u16).to_le_bytes());
        let mut entry = start + 3;
        let cluster_array = entry + 2 * count;
        let clusters = clusters(self.views.len());
        put_zeros(out, cluster_array, clusters);
        let data = cluster_array + clusters;
        let mut at = data;
        for (column, view) in columns() {
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
            if column / CLUSTER_COLUMNS < clusters
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
    RowWriter::new(views, row..row + 1, false).write(row, out)
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

/// Writes a word, of which the cell's bytes stay if the next cell follows them.
#[inline(always)]
fn put_short(out: &mut [u8], at: usize, cell: Cell) -> usize {
    let length = cell.short_bytes();
    let word = cell.word.to_le_bytes();
    match out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        Some(place) => *place = word,
        None => put(out, at, word.get(..length).unwrap_or_default()),
    }
    at + length
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
