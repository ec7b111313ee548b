//! Columns of a batch as cells of CD records.

use std::borrow::Cow;

use arrow::array::types::{Decimal128Type, TimestampMillisecondType};
use arrow::array::{ArrayRef, AsArray};
use arrow::buffer::NullBuffer;

use super::convert;
use super::kind::Kind;
use super::scatter::{Source, Values, value_of};
use crate::record::compress::cell::{Cell, EMPTY, SHORT_LIMIT_BYTES, TRUE};
use crate::record::compress::grid::{CellView, GridColumn};
use crate::record::compress::record::word_at;
use crate::record::compress::row::{LENGTH_LIMIT_BYTES, push_costs};
use crate::record::compress::value::shrink;

/// The cells of one column.
#[derive(Debug)]
pub struct CellColumn<'a> {
    cells: GridColumn,
    data: Cow<'a, [u8]>,
    pointers: Vec<u8>,
    costs: Vec<u16>,
}

impl<'a> CellColumn<'a> {
    /// Takes values that are known to fit; `moved` are the pointers of those stored outside their rows, by
    /// row.
    pub(super) fn new<'m>(
        kind: Kind,
        source: Source<'a>,
        rows: usize,
        moved: impl Iterator<Item = (usize, &'m [u8])>,
    ) -> Self {
        let mut column = Self {
            cells: GridColumn { codes: vec![0; rows], words: vec![0; rows] },
            data: Cow::Borrowed(&[]),
            pointers: Vec::new(),
            costs: Vec::new(),
        };
        let Source { values, nulls } = source;
        match values {
            Values::Bits(bits) => column.cells.fill(bits.iter(), |bit| Cell {
                code: if bit == Some(true) { TRUE } else { EMPTY },
                word: 0,
            }),
            Values::Bytes1(values) => column.cells.fill(values.iter(), |value| Cell {
                code: EMPTY + u8::from(*value != 0),
                word: u64::from(*value),
            }),
            Values::I16(values) => column.cells.fill(values.iter(), |value| Cell::integer(i64::from(*value))),
            Values::I32(values) => column.cells.fill(values.iter(), |value| Cell::integer(i64::from(*value))),
            Values::I64(values) => column.cells.fill(values.iter(), |value| Cell::integer(*value)),
            Values::Integers(values) => column.cells.fill(values.iter(), |value| Cell::integer(*value)),
            Values::F32(values) => {
                column.cells.fill(values.iter(), |value| Cell::float(u64::from(value.to_bits()), 4));
            }
            Values::F64(values) => column.cells.fill(values.iter(), |value| Cell::float(value.to_bits(), 8)),
            Values::Converted(bytes) => {
                let mut data = Vec::new();
                let width = bytes.len().checked_div(rows).unwrap_or(0).max(1);
                column.cells.fill(bytes.chunks_exact(width), |value| shrink(kind, value, &mut data));
                column.data = Cow::Owned(data);
            }
            Values::Variable { data, ends } if matches!(kind, Kind::NVarChar(Some(_))) => {
                let mut compressed = Vec::new();
                let values = (0..rows).map(|row| value_of(&data, &ends, row));
                column.cells.fill(values, |value| shrink(kind, value, &mut compressed));
                column.data = Cow::Owned(compressed);
            }
            Values::Variable { data, ends } => {
                let trims = matches!(kind, Kind::Char(_));
                column.costs = vec![0; rows];
                let costs = column.costs.iter_mut();
                column.cells.fill(ends.windows(2).zip(costs), |(pair, cost)| {
                    let [start, end] = *pair else { return Cell::EMPTY };
                    let (start, mut length) = (start as usize, (end - start) as usize);
                    if trims {
                        let bytes = data.get(start..start + length).unwrap_or_default();
                        length = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                    }
                    match length {
                        0..=SHORT_LIMIT_BYTES => {
                            *cost = length as u16;
                            Cell { code: EMPTY + length as u8, word: word_at(&data, start, length) }
                        }
                        _ => {
                            *cost = (length + 2).min(LENGTH_LIMIT_BYTES) as u16;
                            Cell::long(start, length)
                        }
                    }
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
        let mut any_moved = false;
        for (row, pointer) in moved {
            any_moved = true;
            let cell = Cell::complex(column.pointers.len(), pointer.len());
            column.pointers.extend_from_slice(pointer);
            if let (Some(code), Some(word)) =
                (column.cells.codes.get_mut(row), column.cells.words.get_mut(row))
            {
                (*code, *word) = (cell.code, cell.word);
            }
        }
        if nulls.is_some() || any_moved || column.costs.len() < rows {
            column.costs.clear();
            let mut costs = Vec::with_capacity(rows);
            push_costs(&column.view(), &mut costs);
            column.costs = costs;
        }
        column
    }

    /// Returns the cells.
    pub fn view(&self) -> CellView<'_> {
        CellView {
            codes: &self.cells.codes,
            words: &self.cells.words,
            heads: &[],
            costs: &self.costs,
            data: &self.data,
            pointers: &self.pointers,
        }
    }
}

impl GridColumn {
    fn fill<T>(&mut self, values: impl Iterator<Item = T>, mut cell: impl FnMut(T) -> Cell) {
        for ((code, word), value) in self.codes.iter_mut().zip(&mut self.words).zip(values) {
            let cell = cell(value);
            (*code, *word) = (cell.code, cell.word);
        }
    }
}

/// Converts values of a kind whose compressed form needs nothing but numbers. A value that cannot be kept is
/// refused with its row.
pub(super) fn integers<'a>(
    kind: Kind,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<Values<'a>, (usize, &'static str)> {
    if matches!(kind, Kind::DateTime) {
        let milliseconds = array.as_primitive::<TimestampMillisecondType>().values();
        return numbers(milliseconds, nulls, |value| convert::date_time(*value));
    }
    let values = array.as_primitive::<Decimal128Type>().values();
    numbers(values, nulls, |value| convert::money(kind, *value))
}

fn numbers<'a, T>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    number: impl Fn(&T) -> Result<i64, &'static str>,
) -> Result<Values<'a>, (usize, &'static str)> {
    let mut refused = false;
    let numbers: Vec<i64> = values
        .iter()
        .map(|value| {
            number(value).unwrap_or_else(|_| {
                refused = true;
                0
            })
        })
        .collect();
    if refused {
        // Unless it is only what stands where a null is.
        for (row, value) in values.iter().enumerate() {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                number(value).map_err(|reason| (row, reason))?;
            }
        }
    }
    Ok(Values::Integers(numbers))
}
