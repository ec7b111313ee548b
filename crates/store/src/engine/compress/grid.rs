//! Rows as cells, column by column, and how cells become CD records.

use std::ops::Range;

use super::cell::{self, Cell, EMPTY, LONG, NULL, SHORT_LIMIT_BYTES};
use super::record::{CLUSTER_COLUMNS, HAS_LONG, HEADER, LONG_COMPLEX, LONG_TWO_BYTES};

/// Bytes that a row may take, and a word more, since words are written as a whole.
pub const ROW_BUFFER_BYTES: usize = 8192 + SHORT_LIMIT_BYTES;

/// The cells of one column, and the bytes of the long ones.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'a> {
    /// Codes, one per row.
    pub codes: &'a [u8],
    /// Words, one per row.
    pub words: &'a [u64],
    /// What long cells point into.
    pub data: &'a [u8],
    /// What complex cells point into.
    pub pointers: &'a [u8],
}

impl<'a> CellView<'a> {
    /// One row's cell; a null if there is no such row.
    #[inline]
    pub fn cell(&self, row: usize) -> Cell {
        match (self.codes.get(row), self.words.get(row)) {
            (Some(code), Some(word)) => Cell { code: *code, word: *word },
            _ => Cell::NULL,
        }
    }

    /// The bytes of a long cell.
    #[inline]
    pub fn long(&self, cell: Cell) -> &'a [u8] {
        let (start, length) = cell.place();
        let data = if cell.is_complex() { self.pointers } else { self.data };
        data.get(start..start + length).unwrap_or_default()
    }
}

/// Cells of some columns.
#[derive(Debug, Default)]
pub struct GridColumn {
    /// Codes, one per row.
    pub codes: Vec<u8>,
    /// Words, one per row.
    pub words: Vec<u64>,
}

impl GridColumn {
    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: Cell) {
        self.codes.push(cell.code);
        self.words.push(cell.word);
    }
}

/// Rows as cells. Long values are all in one buffer.
#[derive(Debug, Default)]
pub struct Grid {
    /// The columns, all of the same number of rows.
    pub columns: Vec<GridColumn>,
    /// What long and complex cells point into.
    pub data: Vec<u8>,
    /// Rows that were taken out at the front.
    first: usize,
}

impl Grid {
    /// Of so many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns: (0..columns).map(|_| GridColumn::default()).collect(), data: Vec::new(), first: 0 }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.codes.len()) - self.first
    }

    /// No rows.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            column.codes.clear();
            column.words.clear();
        }
        self.data.clear();
        self.first = 0;
    }

    /// One column.
    pub fn view(&self, column: usize) -> CellView<'_> {
        let (codes, words): (&[u8], &[u64]) =
            self.columns.get(column).map_or((&[], &[]), |column| (&column.codes, &column.words));
        CellView {
            codes: codes.get(self.first..).unwrap_or_default(),
            words: words.get(self.first..).unwrap_or_default(),
            data: &self.data,
            pointers: &self.data,
        }
    }

    /// All columns.
    pub fn views(&self) -> Vec<CellView<'_>> {
        (0..self.columns.len()).map(|column| self.view(column)).collect()
    }

    /// Adds rows of other columns, with the bytes of their long cells.
    pub fn append(&mut self, views: &[CellView<'_>], rows: Range<usize>) {
        for (column, view) in self.columns.iter_mut().zip(views) {
            let codes = view.codes.get(rows.clone()).unwrap_or_default();
            let words = view.words.get(rows.clone()).unwrap_or_default();
            let from = column.words.len();
            column.codes.extend_from_slice(codes);
            column.words.extend_from_slice(words);
            let added = column.words.get_mut(from..).unwrap_or_default();
            for (code, word) in codes.iter().zip(added) {
                if *code == LONG {
                    let cell = Cell { code: LONG, word: *word };
                    let (_, length) = cell.place();
                    let start = self.data.len();
                    self.data.extend_from_slice(view.long(cell));
                    *word = match cell.is_complex() {
                        true => Cell::complex(start, length).word,
                        false => Cell::long(start, length).word,
                    };
                }
            }
        }
    }

    /// Takes rows out at the front.
    pub fn remove_front(&mut self, rows: usize) {
        self.first += rows.min(self.rows());
        if self.rows() == 0 {
            self.clear();
        } else if self.first > 4 * self.rows() {
            let mut rest = Self::new(self.columns.len());
            rest.append(&self.views(), 0..self.rows());
            *self = rest;
        }
    }
}

/// Bytes of each row's CD record.
pub fn lengths(views: &[CellView<'_>], rows: usize) -> Vec<usize> {
    let mut lengths = vec![fixed_bytes(views.len()); rows];
    let mut any_long = vec![false; rows];
    for view in views {
        for (((length, any), code), word) in
            lengths.iter_mut().zip(&mut any_long).zip(view.codes).zip(view.words)
        {
            *length += cell::short_bytes(*code);
            if *code == LONG {
                *length += 2 + cell::place(*word).1;
                *any = true;
            }
        }
    }
    let long_bytes = long_header_bytes(views.len());
    for (length, any) in lengths.iter_mut().zip(any_long) {
        *length += if any { long_bytes } else { 0 };
    }
    lengths
}

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

/// Writes the CD record of a row into `out` of [`ROW_BUFFER_BYTES`] and returns its length. A row that is longer than that is cut.
pub fn write_row(views: &[CellView<'_>], row: usize, out: &mut [u8]) -> usize {
    let mut at = 1;
    if views.len() > 127 {
        put(out, at, &((views.len() as u16) | 0x8000).to_be_bytes());
        at += 2;
    } else {
        put(out, at, &[views.len() as u8]);
        at += 1;
    }
    let mut descriptor = at;
    at += views.len().div_ceil(2);
    let cluster_array = at;
    at += clusters(views.len());
    let mut any_long = false;
    for (number, cluster) in views.chunks(CLUSTER_COLUMNS).enumerate() {
        let start = at;
        for pair in cluster.chunks(2) {
            let mut codes = 0;
            for (half, view) in pair.iter().enumerate() {
                let cell = view.cell(row);
                codes |= cell.code << (4 * half);
                any_long |= cell.code == LONG;
                if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    *place = cell.word.to_le_bytes();
                }
                at += cell.short_bytes();
            }
            put(out, descriptor, &[codes]);
            descriptor += 1;
        }
        if number < clusters(views.len()) {
            put(out, cluster_array + number, &[(at - start) as u8]);
        }
    }
    put(out, 0, &[if any_long { HEADER | HAS_LONG } else { HEADER }]);
    if any_long { write_long(views, row, at, out) } else { at }
}

fn write_long(views: &[CellView<'_>], row: usize, start: usize, out: &mut [u8]) -> usize {
    let count = views.iter().filter(|view| view.cell(row).is_long()).count();
    let mut flags = LONG_TWO_BYTES;
    put(out, start + 1, &(count as u16).to_le_bytes());
    let mut entry = start + 3;
    let cluster_array = entry + 2 * count;
    let data = cluster_array + clusters(views.len());
    let mut at = data;
    for (number, cluster) in views.chunks(CLUSTER_COLUMNS).enumerate() {
        let mut in_cluster = 0;
        for view in cluster {
            let cell = view.cell(row);
            if cell.is_long() {
                let bytes = view.long(cell);
                put(out, at, bytes);
                at += bytes.len();
                let mut end = (at - data) as u16;
                if cell.is_complex() {
                    flags |= LONG_COMPLEX;
                    end |= crate::engine::record::COMPLEX;
                }
                put(out, entry, &end.to_le_bytes());
                entry += 2;
                in_cluster += 1;
            }
        }
        if number < clusters(views.len()) {
            put(out, cluster_array + number, &[in_cluster]);
        }
    }
    put(out, start, &[flags]);
    at.min(out.len())
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Whether a cell has bytes that could be shared.
pub(super) fn has_bytes(cell: Cell) -> bool {
    !matches!(cell.code, NULL | EMPTY | cell::TRUE) && !cell.is_complex()
}
