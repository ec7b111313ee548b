//! Lengths of CD records.

use super::cell::{self, Cell, LONG, SHORT_LIMIT_BYTES};
use super::grid::{CellView, WHOLE, has_long};

/// Columns of a cluster.
pub const CLUSTER_COLUMNS: usize = 30;

/// Bytes that a row may take.
pub const ROW_BUFFER_BYTES: usize = 8192;
/// Values that are longer than this are never in a row, and count as having this length.
pub const LENGTH_LIMIT_BYTES: usize = u16::MAX as usize;

/// Counts the bytes of a record of `columns` columns that has no values.
pub fn fixed_bytes(columns: usize) -> usize {
    1 + if columns > 127 { 2 } else { 1 } + columns.div_ceil(2) + clusters(columns)
}

/// Counts the bytes in front of the end offsets and the values of a long data region, together.
pub fn long_header_bytes(columns: usize) -> usize {
    3 + clusters(columns)
}

/// Computes the room for a CD record of `columns` columns with long values of these bytes.
pub fn room_bytes(columns: usize, long_bytes: usize) -> usize {
    fixed_bytes(columns) + long_header_bytes(columns) + (SHORT_LIMIT_BYTES + 2) * columns + long_bytes
}

/// Counts the entries of a cluster array: all clusters of 30 columns but the last.
pub fn clusters(columns: usize) -> usize {
    columns.saturating_sub(1) / CLUSTER_COLUMNS
}

/// Computes the bytes of each row's CD record. Columns without heads only.
pub fn lengths(views: &[CellView<'_>], rows: usize) -> Vec<u16> {
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
    if view.costs.len() == view.codes.len() {
        costs.extend_from_slice(view.costs);
    } else if has_long(view.codes) {
        costs.extend(view.codes.iter().zip(view.words).map(|(code, word)| match *code {
            LONG => (cell::place(*word).1 + 2).min(LENGTH_LIMIT_BYTES) as u16,
            code => u16::from(cell::few_bytes(code)),
        }));
    } else {
        costs.extend(view.codes.iter().map(|code| u16::from(cell::few_bytes(*code))));
    }
}

/// Adds up lengths of rows, column by column.
#[derive(Debug, Default)]
pub struct RowLengths {
    /// Bytes of each row's record, after [`finish`](Self::finish); as many as there can be if they are more.
    pub bytes: Vec<u16>,
    any_long: Vec<bool>,
}

impl RowLengths {
    /// Starts with this many rows, which have no values yet.
    pub fn start(&mut self, columns: usize, rows: usize) {
        self.bytes.clear();
        self.bytes.resize(rows, fixed_bytes(columns) as u16);
        self.any_long.clear();
        self.any_long.resize(rows, false);
    }

    /// Adds a column with these codes and costs.
    pub fn add(&mut self, codes: &[u8], costs: &[u16]) {
        for (bytes, cost) in self.bytes.iter_mut().zip(costs) {
            *bytes = bytes.saturating_add(*cost);
        }
        if has_long(codes) {
            for (any, code) in self.any_long.iter_mut().zip(codes) {
                *any |= *code == LONG;
            }
        }
    }

    /// Adds what rows with long values need for them.
    pub fn finish(&mut self, columns: usize) {
        let long = long_header_bytes(columns) as u16;
        for (bytes, any) in self.bytes.iter_mut().zip(&self.any_long) {
            *bytes = bytes.saturating_add(if *any { long } else { 0 });
        }
    }
}

/// Returns true if a long cell with this head is a pointer.
pub fn is_pointer(cell: Cell, head: u16) -> bool {
    head == WHOLE && cell.is_complex()
}

/// Encodes the count of the anchor's bytes that a value begins with. Returns its bytes and their number.
#[inline]
pub fn head_bytes(same: usize) -> ([u8; 2], usize) {
    match same {
        0..0x80 => ([same as u8, 0], 1),
        _ => ([0x80 | (same & 0x7F) as u8, (same >> 7) as u8], 2),
    }
}
