//! The values that a cast reads.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};

use super::target::{CastOptions, Fault};
use super::zone::Zone;
use crate::cell_error::CellErrorReason;

/// A column on its way through a cast.
pub(crate) struct Source<'a, 'c> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) nulls: Option<&'c NullBuffer>,
    pub(crate) field: &'c Field,
    pub(crate) zone: Option<&'c Zone>,
    pub(crate) options: &'c CastOptions,
}

impl<'a> Source<'a, '_> {
    pub(crate) fn data_type(&self) -> &'a DataType {
        self.array.data_type()
    }

    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    pub(crate) fn is_valid(&self, index: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls.is_valid(index))
    }

    pub(crate) fn primitive<T: ArrowPrimitiveType>(&self) -> &'a PrimitiveArray<T> {
        self.array.as_primitive()
    }

    /// Applies `convert` to every value of `values`; the result is of no use where the row is NULL.
    pub(crate) fn map<T: Copy, U: Default + Clone>(
        &self,
        values: impl ExactSizeIterator<Item = T>,
        convert: impl Fn(T) -> Result<U, CellErrorReason>,
    ) -> Result<Vec<U>, Fault> {
        let mut converted = vec![U::default(); values.len()];
        for (index, (slot, value)) in converted.iter_mut().zip(values).enumerate() {
            match convert(value) {
                Ok(value) => *slot = value,
                // Slots of NULLs may hold anything; asking only here keeps the question out of the usual way.
                Err(reason) if self.is_valid(index) => return Err(Fault { index, reason }),
                Err(_) => {}
            }
        }
        Ok(converted)
    }
}

/// Borrows values that need no conversion: the column's own buffer, in groups of the value's width.
pub(crate) fn borrowed<'a, T: ArrowPrimitiveType, const W: usize>(
    array: &'a PrimitiveArray<T>,
) -> Cow<'a, [[u8; W]]> {
    Cow::Borrowed(array.values().inner().as_slice().as_chunks::<W>().0)
}

pub(crate) fn time_len(scale: u8) -> usize {
    usize::from(tds::sql_type::time_len_bytes(scale))
}
