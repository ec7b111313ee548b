//! Collects the values of one column from records for an Arrow array.

use std::sync::Arc;

use arrow::array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt64Type,
};
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType};

use super::convert;
use super::expand::ColumnError;
use super::kind::{Kind, Place};
use crate::error::EngineError;

/// Values of one column. The value at a null is arbitrary; a text or binary one is empty.
#[derive(Debug)]
pub enum Values {
    /// `bit`.
    Bits(Vec<bool>),
    /// `tinyint`.
    U8(Vec<u8>),
    /// `smallint`.
    I16(Vec<i16>),
    /// `int`, and what Arrow counts in 32 bits: `date`, short times.
    I32(Vec<i32>),
    /// `bigint`, and what Arrow counts in 64 bits.
    I64(Vec<i64>),
    /// `rowversion`.
    U64(Vec<u64>),
    /// `real`.
    F32(Vec<f32>),
    /// `float`.
    F64(Vec<f64>),
    /// `decimal` and the money types.
    I128(Vec<i128>),
    /// `datetime2(7)`.
    Bytes8(Vec<[u8; 8]>),
    /// `datetimeoffset`.
    Bytes10(Vec<[u8; 10]>),
    /// `uniqueidentifier`.
    Bytes16(Vec<[u8; 16]>),
    /// Text and bytes: row r is `data[ends[r]..ends[r + 1]]`.
    Variable {
        /// Bytes of all values.
        data: Vec<u8>,
        /// End of each value in `data`, behind a zero.
        ends: Vec<i32>,
    },
}

/// The bytes of values of a fixed width, row by row.
pub trait FixedSource {
    /// Lists each row's value, which is `WIDTH` bytes wide.
    fn values<const WIDTH: usize>(&self) -> impl Iterator<Item = [u8; WIDTH]>;
}

/// Values one after the other.
#[derive(Debug)]
pub struct Packed<'b>(pub &'b [u8]);

impl FixedSource for Packed<'_> {
    fn values<const WIDTH: usize>(&self) -> impl Iterator<Item = [u8; WIDTH]> {
        self.0.as_chunks().0.iter().copied()
    }
}

impl Values {
    /// Creates an empty column with room for about this many rows and bytes of text.
    pub fn with_capacity(kind: Kind, rows: usize, text_bytes: usize) -> Self {
        match kind.data_type() {
            DataType::Boolean => Self::Bits(Vec::with_capacity(rows)),
            DataType::UInt8 => Self::U8(Vec::with_capacity(rows)),
            DataType::Int16 => Self::I16(Vec::with_capacity(rows)),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Self::I32(Vec::with_capacity(rows)),
            DataType::UInt64 => Self::U64(Vec::with_capacity(rows)),
            DataType::Float32 => Self::F32(Vec::with_capacity(rows)),
            DataType::Float64 => Self::F64(Vec::with_capacity(rows)),
            DataType::Decimal128(..) => Self::I128(Vec::with_capacity(rows)),
            DataType::FixedSizeBinary(8) => Self::Bytes8(Vec::with_capacity(rows)),
            DataType::FixedSizeBinary(10) => Self::Bytes10(Vec::with_capacity(rows)),
            DataType::FixedSizeBinary(_) => Self::Bytes16(Vec::with_capacity(rows)),
            DataType::Utf8 | DataType::Binary => {
                let mut ends = Vec::with_capacity(rows + 1);
                ends.push(0);
                Self::Variable { data: Vec::with_capacity(text_bytes), ends }
            }
            // `bigint` and all other times.
            _ => Self::I64(Vec::with_capacity(rows)),
        }
    }

    /// Adds values of a fixed width that are neither bits, text nor bytes. False if some of them are invalid; arbitrary values
    /// take their places.
    #[must_use]
    pub fn append_fixed(&mut self, kind: Kind, source: &impl FixedSource) -> bool {
        match (self, kind) {
            (Self::U8(out), _) => all(out, source, u8::from_le_bytes),
            (Self::I16(out), _) => all(out, source, i16::from_le_bytes),
            (Self::U64(out), _) => all(out, source, u64::from_be_bytes),
            (Self::F32(out), _) => all(out, source, f32::from_le_bytes),
            (Self::F64(out), _) => all(out, source, f64::from_le_bytes),
            (Self::I32(out), Kind::Date) => valid(out, source, convert::date),
            (Self::I32(out), Kind::Time { scale }) => match width(kind) {
                3 => valid(out, source, |bytes: [u8; 3]| convert::time(scale, bytes)?.try_into().ok()),
                _ => valid(out, source, |bytes: [u8; 4]| convert::time(scale, bytes)?.try_into().ok()),
            },
            (Self::I32(out), _) => all(out, source, i32::from_le_bytes),
            (Self::I64(out), Kind::SmallDateTime) => all(out, source, convert::small_datetime),
            (Self::I64(out), Kind::DateTime) => all(out, source, convert::datetime),
            (Self::I64(out), Kind::Time { scale }) => match convert::time_bytes(scale) {
                4 => valid(out, source, |bytes: [u8; 4]| convert::time(scale, bytes)),
                _ => valid(out, source, |bytes: [u8; 5]| convert::time(scale, bytes)),
            },
            (Self::I64(out), Kind::DateTime2 { scale }) => match convert::time_bytes(scale) {
                3 => valid(out, source, |bytes: [u8; 6]| convert::datetime2(scale, bytes)),
                4 => valid(out, source, |bytes: [u8; 7]| convert::datetime2(scale, bytes)),
                _ => valid(out, source, |bytes: [u8; 8]| convert::datetime2(scale, bytes)),
            },
            (Self::I64(out), _) => all(out, source, i64::from_le_bytes),
            (Self::I128(out), Kind::Money) => all(out, source, |bytes| i64::from_le_bytes(bytes).into()),
            (Self::I128(out), Kind::SmallMoney) => all(out, source, |bytes| i32::from_le_bytes(bytes).into()),
            (Self::I128(out), _) => match width(kind) {
                5 => valid(out, source, |bytes: [u8; 5]| convert::decimal(&bytes)),
                9 => valid(out, source, |bytes: [u8; 9]| convert::decimal(&bytes)),
                13 => valid(out, source, |bytes: [u8; 13]| convert::decimal(&bytes)),
                _ => valid(out, source, |bytes: [u8; 17]| convert::decimal(&bytes)),
            },
            (Self::Bytes8(out), _) => valid(out, source, |bytes: [u8; 8]| convert::ticks(7, &bytes)),
            (Self::Bytes10(out), Kind::DateTimeOffset { scale }) => match convert::time_bytes(scale) {
                3 => valid(out, source, |bytes: [u8; 8]| convert::offset_ticks(scale, &bytes)),
                4 => valid(out, source, |bytes: [u8; 9]| convert::offset_ticks(scale, &bytes)),
                _ => valid(out, source, |bytes: [u8; 10]| convert::offset_ticks(scale, &bytes)),
            },
            (Self::Bytes16(out), _) => all(out, source, convert::guid),
            (Self::Bits(_) | Self::Bytes10(_) | Self::Variable { .. }, _) => false,
        }
    }

    /// Builds the array. Damaged text is found here, all at once.
    pub fn finish(self, kind: Kind, nulls: Option<NullBuffer>) -> Result<ArrayRef, ColumnError> {
        Ok(match self {
            Self::Bits(bits) => {
                let bits = BooleanBuffer::collect_bool(bits.len(), |row| bits.get(row) == Some(&true));
                Arc::new(BooleanArray::new(bits, nulls))
            }
            Self::U8(values) => primitive::<UInt8Type>(values, nulls),
            Self::I16(values) => primitive::<Int16Type>(values, nulls),
            Self::U64(values) => primitive::<UInt64Type>(values, nulls),
            Self::F32(values) => primitive::<Float32Type>(values, nulls),
            Self::F64(values) => primitive::<Float64Type>(values, nulls),
            Self::I32(values) if kind == Kind::Date => primitive::<Date32Type>(values, nulls),
            // Both are casts between types of one representation.
            Self::I32(values) => as_type(primitive::<Int32Type>(values, nulls), kind)?,
            Self::I64(values) => as_type(primitive::<Int64Type>(values, nulls), kind)?,
            Self::I128(values) => {
                let array = PrimitiveArray::<Decimal128Type>::new(ScalarBuffer::from(values), nulls);
                Arc::new(array.with_data_type(kind.data_type()))
            }
            Self::Bytes8(values) => fixed_binary(8, values.into_flattened(), nulls)?,
            Self::Bytes10(values) => fixed_binary(10, values.into_flattened(), nulls)?,
            Self::Bytes16(values) => fixed_binary(16, values.into_flattened(), nulls)?,
            Self::Variable { data, ends } => {
                // If the length fits, no smaller end has wrapped.
                if i32::try_from(data.len()).is_err() {
                    let reason = "more than 2 GiB in one batch".to_owned();
                    return Err(EngineError::Schema { reason }.into());
                }
                let (data, ends) = (Buffer::from(data), OffsetBuffer::new(ScalarBuffer::from(ends)));
                if kind.data_type() == DataType::Binary {
                    return Ok(Arc::new(BinaryArray::try_new(ends, data, nulls).map_err(EngineError::from)?));
                }
                match StringArray::try_new(ends.clone(), data.clone(), nulls) {
                    Ok(array) => Arc::new(array),
                    Err(_) => return Err(ColumnError::Damaged { row: first_without_text(&data, &ends) }),
                }
            }
        })
    }
}

/// Finds the first row whose bytes are not UTF-8.
fn first_without_text(data: &[u8], ends: &[i32]) -> usize {
    let is_text = |pair: &[i32]| match *pair {
        [start, end] => {
            data.get(start as usize..end as usize).is_some_and(|text| std::str::from_utf8(text).is_ok())
        }
        _ => true,
    };
    ends.windows(2).position(|pair| !is_text(pair)).unwrap_or(0)
}

fn all<T, const WIDTH: usize>(
    out: &mut Vec<T>,
    source: &impl FixedSource,
    value: impl Fn([u8; WIDTH]) -> T,
) -> bool {
    out.extend(source.values().map(value));
    true
}

fn valid<T: Default, const WIDTH: usize>(
    out: &mut Vec<T>,
    source: &impl FixedSource,
    value: impl Fn([u8; WIDTH]) -> Option<T>,
) -> bool {
    let mut good = true;
    out.extend(source.values().map(|bytes| {
        value(bytes).unwrap_or_else(|| {
            good = false;
            T::default()
        })
    }));
    good
}

fn width(kind: Kind) -> usize {
    if let Place::Fixed(width) = kind.place() { width } else { 0 }
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

fn as_type(array: ArrayRef, kind: Kind) -> Result<ArrayRef, EngineError> {
    match kind.data_type() {
        same if same == *array.data_type() => Ok(array),
        other => Ok(cast(&array, &other)?),
    }
}

fn fixed_binary(size: i32, values: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef, EngineError> {
    Ok(Arc::new(FixedSizeBinaryArray::try_new(size, Buffer::from(values), nulls)?))
}
