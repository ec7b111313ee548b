//! Rows as cells, column by column.

use std::ops::Range;

use super::cell::{Cell, LONG};

/// The mark for a value without a head: it begins with its own bytes.
pub const WHOLE: u16 = u16::MAX;
/// A head of no bytes in front of the eight that are in the word itself.
pub const INLINE: u16 = u16::MAX - 1;

/// The cells of one column, and the bytes of the long ones.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'a> {
    /// Codes, one per row.
    pub codes: &'a [u8],
    /// Words, one per row.
    pub words: &'a [u64],
    /// Number of the anchor's bytes that each long value begins with, [`WHOLE`] or [`INLINE`]. Empty in a
    /// column without an anchor.
    pub heads: &'a [u16],
    /// Bytes that each value adds to its record: its own, and an end offset if it is long. Empty if they were
    /// not computed yet.
    pub costs: &'a [u16],
    /// The bytes of long cells.
    pub data: &'a [u8],
    /// The pointers of complex cells.
    pub pointers: &'a [u8],
}

impl<'a> CellView<'a> {
    /// Returns the cell of a row; NULL if there is no such row.
    #[inline]
    pub fn cell(&self, row: usize) -> Cell {
        match (self.codes.get(row), self.words.get(row)) {
            (Some(code), Some(word)) => Cell { code: *code, word: *word },
            _ => Cell::NULL,
        }
    }

    /// Returns the cells of a range of rows.
    #[inline]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        Self {
            codes: self.codes.get(rows.clone()).unwrap_or_default(),
            words: self.words.get(rows.clone()).unwrap_or_default(),
            heads: self.heads.get(rows.clone()).unwrap_or_default(),
            costs: self.costs.get(rows).unwrap_or_default(),
            ..*self
        }
    }

    /// Returns true if some values of the column are long.
    #[inline]
    pub fn has_long(&self) -> bool {
        has_long(self.codes)
    }

    /// Returns the bytes of a long cell, without a head.
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
    /// The bytes of long and complex cells.
    pub data: Vec<u8>,
    /// Rows that were taken out at the front.
    first: usize,
}

impl Grid {
    /// Creates an empty grid of this many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns: (0..columns).map(|_| GridColumn::default()).collect(), data: Vec::new(), first: 0 }
    }

    /// Counts the rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.codes.len()) - self.first
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            column.codes.clear();
            column.words.clear();
        }
        self.data.clear();
        self.first = 0;
    }

    /// Returns the cells of one column.
    pub fn view(&self, column: usize) -> CellView<'_> {
        let (codes, words): (&[u8], &[u64]) =
            self.columns.get(column).map_or((&[], &[]), |column| (&column.codes, &column.words));
        CellView {
            codes: codes.get(self.first..).unwrap_or_default(),
            words: words.get(self.first..).unwrap_or_default(),
            heads: &[],
            costs: &[],
            data: &self.data,
            pointers: &self.data,
        }
    }

    /// Returns the cells of all columns.
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
            if !has_long(codes) {
                continue;
            }
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

/// Returns true if one of the codes is that of a long value.
#[inline]
pub fn has_long(codes: &[u8]) -> bool {
    // The loop does not end early, so that the compiler compares many codes at once.
    codes.iter().fold(false, |any, code| any | (*code == LONG))
}
