//! Pass 2 for values of one width: a strided copy that also notes which rows are not null.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray, PrimitiveArray,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use tds::LengthClass;

use super::error::RowDecodeErrorReason as Reason;
use super::gather::{BadCell, Gather};
use super::validity::{GROUP, Validity};
use super::walk::NULL_CELL;

/// A column whose wire values all have `W` bytes and become one `T` each.
pub(super) struct FixedColumn<T, const W: usize, F> {
    class: LengthClass,
    /// Names the type in the error for a value of another length.
    expected: &'static str,
    convert: F,
    values: Vec<T>,
    validity: Validity,
    data_type: DataType,
    into_array: IntoArray<T>,
}

/// Makes an array of a field's type from its values.
pub(super) type IntoArray<T> = fn(Vec<T>, Option<NullBuffer>, &DataType) -> Result<ArrayRef, ArrowError>;

impl<T, const W: usize, F> FixedColumn<T, W, F>
where
    T: Copy + Default + Send + 'static,
    F: Fn([u8; W]) -> Result<T, Reason> + Send + 'static,
{
    pub fn boxed(
        class: LengthClass,
        expected: &'static str,
        data_type: &DataType,
        into_array: IntoArray<T>,
        convert: F,
    ) -> Box<dyn Gather> {
        Box::new(Self {
            class,
            expected,
            convert,
            values: Vec::new(),
            validity: Validity::default(),
            data_type: data_type.clone(),
            into_array,
        })
    }
}

impl<T, const W: usize, F> Gather for FixedColumn<T, W, F>
where
    T: Copy + Default + Send,
    F: Fn([u8; W]) -> Result<T, Reason> + Send,
{
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { expected, values, validity, .. } = self;
        let convert = &self.convert;
        match self.class {
            LengthClass::Fixed(_) => prefixed::<T, W, 0>(block, lane, expected, values, validity, convert),
            LengthClass::ByteLen => prefixed::<T, W, 1>(block, lane, expected, values, validity, convert),
            _ => prefixed::<T, W, 2>(block, lane, expected, values, validity, convert),
        }
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::replace(&mut self.values, Vec::with_capacity(rows_hint));
        (self.into_array)(values, self.validity.finish(), &self.data_type)
    }
}

/// Builds an array of numbers, dates, times or decimals.
pub(super) fn primitives<P: ArrowPrimitiveType>(
    values: Vec<P::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let array = PrimitiveArray::<P>::try_new(ScalarBuffer::from(values), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

/// Builds an array of booleans from bytes; every byte but 0 is true.
pub(super) fn booleans(
    values: Vec<u8>,
    nulls: Option<NullBuffer>,
    _: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let mut bits = BooleanBufferBuilder::new(values.len());
    for group in values.chunks(GROUP) {
        let word = group.iter().rev().fold(0u64, |word, &byte| (word << 1) | u64::from(byte != 0));
        bits.append_packed_range(0..group.len(), &word.to_le_bytes());
    }
    Ok(Arc::new(BooleanArray::new(bits.finish(), nulls)))
}

/// Builds an array of `N` bytes each.
pub(super) fn byte_arrays<const N: usize>(
    values: Vec<[u8; N]>,
    nulls: Option<NullBuffer>,
    _: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let bytes = Buffer::from_vec(values.into_flattened());
    Ok(Arc::new(FixedSizeBinaryArray::try_new(N as i32, bytes, nulls)?))
}

/// Reads the cells at `lane`, each behind a prefix of `P` bytes (0, 1 or 2), and appends one value a row, a
/// default one for NULL.
#[inline]
fn prefixed<T: Copy + Default, const W: usize, const P: usize>(
    block: &[u8],
    lane: &[u32],
    expected: &'static str,
    values: &mut Vec<T>,
    validity: &mut Validity,
    convert: impl Fn([u8; W]) -> Result<T, Reason>,
) -> Result<(), BadCell> {
    values.reserve(lane.len());
    for (group, starts) in lane.chunks(GROUP).enumerate() {
        let mut valid = 0u64;
        for (index, &start) in starts.iter().enumerate() {
            let value = match cell::<W, P>(block, start) {
                Some(data) => {
                    valid |= 1 << index;
                    convert(data)
                }
                None => unusual::<W, P>(block, start, expected).and_then(|cell| match cell {
                    None => Ok(T::default()),
                    Some(data) => {
                        valid |= 1 << index;
                        convert(data)
                    }
                }),
            };
            match value {
                Ok(value) => values.push(value),
                Err(reason) => {
                    validity.append_before_bad(valid, index);
                    return Err((group * GROUP + index, reason));
                }
            }
        }
        validity.append(valid, starts.len());
    }
    Ok(())
}

/// Returns the data of a cell of the expected length that is not NULL.
#[inline]
fn cell<const W: usize, const P: usize>(block: &[u8], start: u32) -> Option<[u8; W]> {
    let start = start as usize;
    let window = block.get(start..start + P + W)?;
    let (prefix, data) = window.split_at(P);
    let usual = match *prefix {
        [] => true,
        [length] => usize::from(length) == W,
        [low, high, ..] => usize::from(u16::from_le_bytes([low, high])) == W,
    };
    if usual { data.try_into().ok() } else { None }
}

/// Reads a cell of another length: NULL, or an error.
#[inline]
fn unusual<const W: usize, const P: usize>(
    block: &[u8],
    start: u32,
    expected: &'static str,
) -> Result<Option<[u8; W]>, Reason> {
    if start == NULL_CELL {
        return Ok(None);
    }
    let prefix = block.get(start as usize..).and_then(|cell| cell.get(..P)).unwrap_or(&[]);
    match *prefix {
        [0] | [0xff, 0xff] => Ok(None),
        [length] => Err(Reason::Length { length: usize::from(length), expected }),
        [low, high] => Err(Reason::Length { length: usize::from(u16::from_le_bytes([low, high])), expected }),
        _ => Err(Reason::Length { length: 0, expected }),
    }
}
