//! Borrowed page rows, for callers that copy values out of them unchanged.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::batch::{BatchBuilder, ExpectedSizes};
use super::layout::{Layout, Position, RecordForm};
use super::{COMPLEX, HAS_VARIABLE, LargeValueSource};
use crate::error::EngineError;
use crate::page::{PAGE_BYTES, Page};

/// Rows of some pages, whose values are all in the rows. The pages are kept as they were when they were read.
#[derive(Debug, Clone)]
pub struct LyingRows {
    pub(super) layout: Layout,
    pub(super) pages: Vec<LyingPage>,
    pub(super) rows: usize,
}

#[derive(Debug, Clone)]
pub(super) struct LyingPage {
    pub page: Arc<Page>,
    /// The start of each record, whose parts are known to lie within the page.
    pub starts: Vec<u16>,
}

impl LyingRows {
    /// Returns true if rows of this form can be borrowed: uncompressed, and without a column that can be
    /// larger than a page.
    pub fn is_possible(layout: &Layout) -> bool {
        let large = |position: &Position| matches!(position, Position::Variable { limit_bytes: None, .. });
        layout.form == RecordForm::Row && !layout.is_compressed() && !layout.positions.iter().any(large)
    }

    /// Counts the rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Lists for each page its records, each from its first byte to the end of the page.
    pub fn pages(&self) -> impl Iterator<Item = impl ExactSizeIterator<Item = &[u8]>> {
        self.pages.iter().map(|LyingPage { page, starts }| {
            let bytes: &[u8; PAGE_BYTES] = page.bytes();
            starts.iter().map(move |start| bytes.get(usize::from(*start)..).unwrap_or_default())
        })
    }

    /// Decodes the columns in `projection` into a batch.
    pub fn batch(&self, projection: &[usize]) -> Result<RecordBatch, EngineError> {
        let expected = ExpectedSizes { rows: self.rows, ..ExpectedSizes::default() };
        let mut batch = BatchBuilder::new(&self.layout, projection, &expected)?;
        // Any column may have nulls.
        let nulls = vec![0xFF; self.layout.bitmap_bytes()];
        for LyingPage { page, starts } in &self.pages {
            batch.append(page, starts, &nulls, &NowhereElse)?;
        }
        batch.finish(&NowhereElse)
    }
}

/// The place of one column's values in the records of a table.
#[derive(Debug, Clone, Copy)]
pub struct ValuePlace {
    /// Byte of the record and bit in it that say that the value is null; None: it never is.
    null: Option<(u16, u8)>,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Fixed { offset: u16, width: u16 },
    Bit { offset: u16, mask: u8 },
    Variable { part: u16, index: u16 },
}

/// A value that is at the same place of every record that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedPlace {
    /// A fixed number of bytes at an offset.
    Bytes {
        /// Offset of the first byte in the record.
        offset: usize,
        /// Number of bytes.
        width: usize,
    },
    /// A single bit of a byte.
    Bit {
        /// Offset of the byte in the record.
        offset: usize,
        /// Mask of the bit in its byte.
        mask: u8,
    },
}

/// A value in its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LyingValue {
    /// NULL.
    Null,
    /// A range of the record's bytes, from one offset to another.
    Bytes(usize, usize),
    /// Value of a `bit`, which has no bytes of its own.
    Bit(bool),
}

impl ValuePlace {
    /// Returns the form of a table's column, or `None` if there is none.
    pub fn of(layout: &Layout, column: usize) -> Option<Self> {
        let (definition, position) = (layout.columns.get(column)?, layout.positions.get(column)?);
        let bitmap = layout.fixed_bytes + 2;
        let null = definition.nullable.then_some(((bitmap + column / 8) as u16, 1 << (column % 8)));
        let place = match *position {
            Position::Fixed { offset, width } => Place::Fixed { offset: offset as u16, width: width as u16 },
            Position::Bit { offset, bit } => Place::Bit { offset: offset as u16, mask: 1 << bit },
            Position::Variable { index, .. } => {
                Place::Variable { part: layout.bitmap_end() as u16, index: index as u16 }
            }
        };
        Some(Self { null, place })
    }

    /// Returns the place of the value in every record in which it is not null. `None`: the place differs from
    /// record to record.
    pub fn fixed(&self) -> Option<FixedPlace> {
        match self.place {
            Place::Fixed { offset, width } => {
                Some(FixedPlace::Bytes { offset: offset.into(), width: width.into() })
            }
            Place::Bit { offset, mask } => Some(FixedPlace::Bit { offset: offset.into(), mask }),
            Place::Variable { .. } => None,
        }
    }

    /// Returns the number of the value among those of variable length, and the offset at which these begin in
    /// a record; `None`: it has a fixed place.
    pub fn variable(&self) -> Option<(usize, usize)> {
        match self.place {
            Place::Variable { part, index } => Some((index.into(), part.into())),
            Place::Fixed { .. } | Place::Bit { .. } => None,
        }
    }

    /// Returns the byte of a record, and the bit in it, that say that the value is null. `None`: it never is.
    pub fn null(&self) -> Option<(usize, u8)> {
        self.null.map(|(place, mask)| (place.into(), mask))
    }

    /// Returns the value in a record; a value beyond the record's end is null.
    #[inline]
    pub fn value(&self, record: &[u8]) -> LyingValue {
        let byte = |place: u16| record.get(usize::from(place)).copied().unwrap_or(0);
        if self.null.is_some_and(|(place, mask)| byte(place) & mask != 0) {
            return LyingValue::Null;
        }
        match self.place {
            Place::Fixed { offset, width } => {
                LyingValue::Bytes(offset.into(), usize::from(offset) + usize::from(width))
            }
            Place::Bit { offset, mask } => LyingValue::Bit(byte(offset) & mask != 0),
            Place::Variable { part, index } => {
                let (start, end) = VariableEnds::of(record, part.into()).bounds(index.into());
                LyingValue::Bytes(start, end)
            }
        }
    }
}

/// Ends of a record's values of variable length.
#[derive(Debug, Clone, Copy)]
pub struct VariableEnds<'r> {
    ends: &'r [[u8; 2]],
    /// Offset of the first value.
    first: usize,
}

impl<'r> VariableEnds<'r> {
    /// Reads the ends of a record whose variable part begins at `part`.
    #[inline]
    pub fn of(record: &'r [u8], part: usize) -> Self {
        let has_variable = record.first().is_some_and(|status| status & HAS_VARIABLE != 0);
        let Some((count, ends)) =
            record.get(part..).filter(|_| has_variable).and_then(<[u8]>::split_first_chunk)
        else {
            return Self { ends: &[], first: part };
        };
        let count = usize::from(u16::from_le_bytes(*count));
        Self { ends: ends.as_chunks().0.get(..count).unwrap_or_default(), first: part + 2 + 2 * count }
    }

    /// Returns start and end of a value. A column that may be null says so in its bitmap; a value without an
    /// entry is empty.
    #[inline]
    pub fn bounds(&self, index: usize) -> (usize, usize) {
        let end = |entry: &[u8; 2]| usize::from(u16::from_le_bytes(*entry) & !COMPLEX);
        match self.ends.get(index) {
            Some(own) => {
                let before = index.checked_sub(1).and_then(|before| self.ends.get(before));
                (before.map_or(self.first, end), end(own))
            }
            None => (self.first, self.first),
        }
    }
}

/// Source of large values of rows that have none.
struct NowhereElse;

impl LargeValueSource for NowhereElse {
    fn read(&self, _: &[u8], _: &mut Vec<u8>) -> Result<(), EngineError> {
        Err(EngineError::Schema { reason: "a value that lies outside of its row".to_owned() })
    }
}

#[cfg(test)]
mod tests;
