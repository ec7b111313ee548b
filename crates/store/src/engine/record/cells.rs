//! Columns of a batch as cells of CD records.

use std::borrow::Cow;

use super::super::compress::cell::{Cell, EMPTY, SHORT_LIMIT_BYTES, TRUE};
use super::super::compress::grid::{CellView, GridColumn};
use super::super::compress::value::shrink;
use super::super::kind::Kind;
use super::scatter::{Source, Values, value_of};

/// The cells of one column.
#[derive(Debug)]
pub struct CellColumn<'a> {
    cells: GridColumn,
    data: Cow<'a, [u8]>,
    pointers: Vec<u8>,
}

impl<'a> CellColumn<'a> {
    /// From values that are known to fit; `moved` are the pointers of those that are elsewhere, by row.
    pub(super) fn new<'m>(
        kind: Kind,
        source: Source<'a>,
        rows: usize,
        moved: impl Iterator<Item = (usize, &'m [u8])>,
    ) -> Self {
        let mut column = Self {
            cells: GridColumn { codes: Vec::with_capacity(rows), words: Vec::with_capacity(rows) },
            data: Cow::Borrowed(&[]),
            pointers: Vec::new(),
        };
        let Source { values, nulls } = source;
        match values {
            Values::Bits(bits) => column.fill(bits.iter(), |bit| Cell {
                code: if bit == Some(true) { TRUE } else { EMPTY },
                word: 0,
            }),
            Values::Bytes1(values) => column.fill(values.iter(), |value| Cell {
                code: EMPTY + u8::from(*value != 0),
                word: u64::from(*value),
            }),
            Values::I16(values) => column.fill(values.iter(), |value| Cell::integer(i64::from(*value))),
            Values::I32(values) => column.fill(values.iter(), |value| Cell::integer(i64::from(*value))),
            Values::I64(values) => column.fill(values.iter(), |value| Cell::integer(*value)),
            Values::F32(values) => {
                column.fill(values.iter(), |value| Cell::float(u64::from(value.to_bits()), 4));
            }
            Values::F64(values) => column.fill(values.iter(), |value| Cell::float(value.to_bits(), 8)),
            Values::Converted(bytes) => {
                let mut data = Vec::new();
                let width = bytes.len().checked_div(rows).unwrap_or(0).max(1);
                column.fill(bytes.chunks_exact(width), |value| shrink(kind, value, &mut data));
                column.data = Cow::Owned(data);
            }
            Values::Variable { data, ends } if matches!(kind, Kind::NVarChar(Some(_))) => {
                let mut compressed = Vec::new();
                let values = (0..rows).map(|row| value_of(&data, &ends, row));
                column.fill(values, |value| shrink(kind, value, &mut compressed));
                column.data = Cow::Owned(compressed);
            }
            Values::Variable { data, ends } => {
                column.fill(ends.windows(2), |pair| match *pair {
                    [start, end] if (end - start) as usize > SHORT_LIMIT_BYTES => {
                        Cell::long(start as usize, (end - start) as usize)
                    }
                    [start, end] => Cell::short(data.get(start as usize..end as usize).unwrap_or_default()),
                    _ => Cell::EMPTY,
                });
                column.data = data;
            }
        }
        if let Some(nulls) = nulls {
            let cells = column.cells.codes.iter_mut().zip(&mut column.cells.words);
            for ((code, word), valid) in cells.zip(nulls.iter()) {
                if !valid {
                    (*code, *word) = (Cell::NULL.code, Cell::NULL.word);
                }
            }
        }
        for (row, pointer) in moved {
            let cell = Cell::complex(column.pointers.len(), pointer.len());
            column.pointers.extend_from_slice(pointer);
            if let (Some(code), Some(word)) =
                (column.cells.codes.get_mut(row), column.cells.words.get_mut(row))
            {
                (*code, *word) = (cell.code, cell.word);
            }
        }
        column
    }

    /// Its cells.
    pub fn view(&self) -> CellView<'_> {
        CellView {
            codes: &self.cells.codes,
            words: &self.cells.words,
            data: &self.data,
            pointers: &self.pointers,
        }
    }

    fn fill<T>(&mut self, values: impl Iterator<Item = T>, mut cell: impl FnMut(T) -> Cell) {
        for value in values {
            self.cells.push(cell(value));
        }
    }
}
