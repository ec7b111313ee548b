//! Expands CD records to columns.

use std::sync::Arc;

use arrow::array::types::{Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt64Type};
use arrow::array::{ArrayRef, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::ArrowPrimitiveType;

use super::kind::{Kind, Place};
use super::values::{Packed, Values};
use super::{LargeValueSource, convert};
use crate::error::EngineError;
use crate::record::compress::cell::{Cell, EMPTY, LONG, NULL, TRUE};
use crate::record::compress::grid::CellView;
use crate::record::compress::scsu;
use crate::record::compress::value::expand_fixed;

/// Reason why a column cannot be read.
#[derive(Debug)]
pub enum ColumnError {
    /// A cell that is invalid for the column.
    Damaged {
        /// Index of the row.
        row: usize,
    },
    /// A value elsewhere, or Arrow.
    Engine(EngineError),
}

impl From<EngineError> for ColumnError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Builds the array of a column's expanded cells.
pub fn column(
    kind: Kind,
    nullable: bool,
    view: CellView<'_>,
    large: &dyn LargeValueSource,
) -> Result<ArrayRef, ColumnError> {
    let nulls = match view.codes.iter().position(|code| *code == NULL) {
        None => None,
        Some(row) if !nullable => return Err(ColumnError::Damaged { row }),
        Some(_) => Some(NullBuffer::from_iter(view.codes.iter().map(|code| *code != NULL))),
    };
    let cells = Cells { kind, view };
    Ok(match kind {
        Kind::Bit => {
            if let Some(row) = view.codes.iter().position(|code| !matches!(*code, NULL | EMPTY | TRUE)) {
                return Err(ColumnError::Damaged { row });
            }
            let bits = view.codes.iter().map(|code| *code == TRUE).collect::<BooleanBuffer>();
            Arc::new(BooleanArray::new(bits, nulls))
        }
        Kind::TinyInt => cells.primitive::<UInt8Type>(nulls, |cell| match cell.code {
            EMPTY => Some(0),
            2 => Some(cell.word as u8),
            _ => None,
        })?,
        Kind::SmallInt => {
            cells.primitive::<Int16Type>(nulls, |cell| i16::try_from(cell.to_integer()?).ok())?
        }
        Kind::Int => cells.primitive::<Int32Type>(nulls, |cell| i32::try_from(cell.to_integer()?).ok())?,
        Kind::BigInt => cells.primitive::<Int64Type>(nulls, Cell::to_integer)?,
        Kind::RowVersion => cells.primitive::<UInt64Type>(nulls, |cell| Some(cell.to_integer()? as u64))?,
        Kind::Real => {
            cells.primitive::<Float32Type>(nulls, |cell| Some(f32::from_bits(cell.to_float(4)? as u32)))?
        }
        Kind::Float => {
            cells.primitive::<Float64Type>(nulls, |cell| Some(f64::from_bits(cell.to_float(8)?)))?
        }
        Kind::VarChar(_) | Kind::NVarChar(_) | Kind::VarBinary(_) => cells.variable(nulls, large)?,
        _ => cells.fixed(nulls)?,
    })
}

#[derive(Clone, Copy)]
struct Cells<'a> {
    kind: Kind,
    view: CellView<'a>,
}

impl<'a> Cells<'a> {
    fn iter(self) -> impl Iterator<Item = Cell> {
        self.view.codes.iter().zip(self.view.words).map(|(code, word)| Cell { code: *code, word: *word })
    }

    fn primitive<T: ArrowPrimitiveType>(
        self,
        nulls: Option<NullBuffer>,
        value: impl Fn(Cell) -> Option<T::Native>,
    ) -> Result<ArrayRef, ColumnError> {
        let mut values = Vec::with_capacity(self.view.codes.len());
        for (row, cell) in self.iter().enumerate() {
            values.push(match value(cell) {
                Some(value) => value,
                None if cell.code == NULL => T::Native::default(),
                None => return Err(ColumnError::Damaged { row }),
            });
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls)))
    }

    fn variable(
        self,
        nulls: Option<NullBuffer>,
        large: &dyn LargeValueSource,
    ) -> Result<ArrayRef, ColumnError> {
        let mut data = Vec::new();
        let mut ends = Vec::with_capacity(self.view.codes.len() + 1);
        ends.push(0);
        let mut scratch = Vec::new();
        for (row, cell) in self.iter().enumerate() {
            let word = cell.word.to_le_bytes();
            let bytes = match cell.code {
                NULL => &[],
                LONG if cell.is_complex() => {
                    scratch.clear();
                    large.read(self.view.long(cell), &mut scratch)?;
                    scratch.as_slice()
                }
                LONG => self.view.long(cell),
                EMPTY..LONG => word.get(..cell.short_bytes()).ok_or(ColumnError::Damaged { row })?,
                _ => return Err(ColumnError::Damaged { row }),
            };
            let read = match self.kind {
                // A value outside its record is not compressed.
                Kind::NVarChar(Some(_)) if scsu::is_compressed(bytes) && !cell.is_complex() => {
                    scsu::expand_utf8(bytes, &mut data)
                }
                Kind::NVarChar(_) => convert::utf8(bytes, &mut data),
                _ => {
                    data.extend_from_slice(bytes);
                    Some(())
                }
            };
            read.ok_or(ColumnError::Damaged { row })?;
            ends.push(data.len() as i32);
        }
        Values::Variable { data, ends }.finish(self.kind, nulls)
    }

    /// Builds the array of values whose uncompressed bytes are not Arrow's.
    fn fixed(self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ColumnError> {
        let width = if let Place::Fixed(width) = self.kind.place() { width } else { 0 }.max(1);
        let rows = self.view.codes.len();
        // Zeros, which stand for nulls, are a value of every such type.
        let mut bytes = vec![0; rows * width];
        for ((row, cell), value) in self.iter().enumerate().zip(bytes.chunks_exact_mut(width)) {
            let long = if cell.is_long() { self.view.long(cell) } else { &[] };
            let known = cell.code == NULL
                || !cell.is_complex() && expand_fixed(self.kind, cell, long, value).is_some();
            if !known {
                return Err(ColumnError::Damaged { row });
            }
        }
        let mut values = Values::with_capacity(self.kind, rows, bytes.len());
        if let Values::Variable { data, ends } = &mut values {
            for ((row, cell), value) in self.iter().enumerate().zip(bytes.chunks_exact(width)) {
                let value = if cell.code == NULL { &[] } else { value };
                match self.kind {
                    Kind::NChar(_) => convert::utf8(value, data).ok_or(ColumnError::Damaged { row })?,
                    _ => data.extend_from_slice(value),
                }
                ends.push(data.len() as i32);
            }
        } else if !values.append_fixed(self.kind, &Packed(&bytes)) {
            let bad = |value: &[u8]| {
                !Values::with_capacity(self.kind, 1, 0).append_fixed(self.kind, &Packed(value))
            };
            return Err(ColumnError::Damaged { row: bytes.chunks_exact(width).position(bad).unwrap_or(0) });
        }
        values.finish(self.kind, nulls)
    }
}
