//! vector: lists of numbers, JSON text and stored vectors.
//!
//! Text is rounded to the element's type, as the server rounds it. A number of a list must come through unchanged,
//! unless rounding is allowed.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use tds::vector::{append_elements, check, first_not_finite, header, parse_elements, rounded};
use tds::{VectorBase, VectorError};

use super::raw::Raw;
use super::{Fault, Source, Target};
use crate::cell_error::CellErrorReason;
use crate::encode::{Content, Offsets, VariableLane};

pub(super) fn vectors<'a>(
    source: &Source<'a, '_>,
    target: &Target,
    dimensions: u16,
    base: VectorBase,
) -> Result<VariableLane<'a>, Fault> {
    if matches!(source.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView) {
        return stored(source, target, dimensions, base);
    }
    let width = tds::vector::HEADER_BYTES + usize::from(dimensions) * base.element_bytes();
    let mut bytes = Vec::with_capacity(source.len() * width);
    let head = header(base, dimensions);
    if matches!(source.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        let texts =
            Raw::new(source.array).ok_or_else(|| Fault { index: 0, reason: target.out_of_range() })?;
        let mut elements = Vec::new();
        for index in 0..source.len() {
            if source.is_valid(index) {
                elements.clear();
                let text = std::str::from_utf8(texts.value(index)).unwrap_or_default();
                parse_elements(text, base, &mut elements)
                    .and_then(|()| expect_count(elements.len(), dimensions))
                    .map_err(|error| fault(index, error))?;
                bytes.extend_from_slice(&head);
                append_elements(base, &elements, &mut bytes);
            }
            // The slot of a NULL is as wide as any other.
            bytes.resize((index + 1) * width, 0);
        }
    } else {
        let lists =
            Lists::new(source.array).ok_or_else(|| Fault { index: 0, reason: target.out_of_range() })?;
        let elements = Elements::new(&lists.values, target)?;
        for index in 0..source.len() {
            if source.is_valid(index) {
                let span = lists.span(index);
                expect_count(span.len(), dimensions).map_err(|error| fault(index, error))?;
                bytes.extend_from_slice(&head);
                elements
                    .append(span, base, target, source.options.allow_rounding, &mut bytes)
                    .map_err(|reason| Fault { index, reason })?;
            }
            bytes.resize((index + 1) * width, 0);
        }
    }
    let offsets = Offsets::Every(width);
    Ok(VariableLane { bytes: bytes.into(), offsets, content: Content::Bytes, frame: target.frame })
}

/// Takes vectors as the embedded server stores them, and checks each once.
fn stored<'a>(
    source: &Source<'a, '_>,
    target: &Target,
    dimensions: u16,
    base: VectorBase,
) -> Result<VariableLane<'a>, Fault> {
    let raw = Raw::new(source.array).ok_or_else(|| Fault { index: 0, reason: target.out_of_range() })?;
    for index in (0..raw.len).filter(|&index| source.is_valid(index)) {
        check(raw.value(index), base, dimensions).map_err(|error| fault(index, error))?;
    }
    Ok(VariableLane { bytes: raw.bytes, offsets: raw.offsets, content: Content::Bytes, frame: target.frame })
}

fn fault(index: usize, error: VectorError) -> Fault {
    Fault { index, reason: CellErrorReason::Vector(error) }
}

fn expect_count(found: usize, expected: u16) -> Result<(), VectorError> {
    match found == usize::from(expected) {
        true => Ok(()),
        false => Err(VectorError::Dimensions { found, expected }),
    }
}

/// Lists of any layout: an array of numbers, and the range of each row in it.
struct Lists<'a> {
    array: &'a ArrayRef,
    values: ArrayRef,
}

impl<'a> Lists<'a> {
    fn new(array: &'a ArrayRef) -> Option<Self> {
        let values = match array.data_type() {
            DataType::FixedSizeList(..) => array.as_fixed_size_list().values(),
            DataType::List(_) => array.as_list::<i32>().values(),
            DataType::LargeList(_) => array.as_list::<i64>().values(),
            DataType::ListView(_) => array.as_list_view::<i32>().values(),
            DataType::LargeListView(_) => array.as_list_view::<i64>().values(),
            _ => return None,
        };
        Some(Self { array, values: values.clone() })
    }

    fn span(&self, row: usize) -> Range<usize> {
        let from = |start: i64, length: i64| {
            let start = usize::try_from(start).unwrap_or(0);
            start..start.saturating_add(usize::try_from(length).unwrap_or(0))
        };
        match self.array.data_type() {
            DataType::FixedSizeList(..) => {
                let list = self.array.as_fixed_size_list();
                from(i64::from(list.value_offset(row)), i64::from(list.value_length()))
            }
            DataType::List(_) => {
                let list = self.array.as_list::<i32>();
                from(i64::from(list.value_offsets()[row]), i64::from(list.value_length(row)))
            }
            DataType::LargeList(_) => {
                let list = self.array.as_list::<i64>();
                from(list.value_offsets()[row], list.value_length(row))
            }
            DataType::ListView(_) => {
                let list = self.array.as_list_view::<i32>();
                from(i64::from(list.value_offset(row)), i64::from(list.value_size(row)))
            }
            _ => {
                let list = self.array.as_list_view::<i64>();
                from(list.value_offset(row), list.value_size(row))
            }
        }
    }
}

/// The numbers of all lists: as they are, or widened without loss.
enum Elements {
    Single(ArrayRef),
    Double(ArrayRef),
}

impl Elements {
    fn new(values: &ArrayRef, target: &Target) -> Result<Self, Fault> {
        let cast_to = |data_type| {
            cast(values, data_type).map_err(|_| Fault { index: 0, reason: target.out_of_range() })
        };
        match values.data_type() {
            DataType::Float32 => Ok(Self::Single(values.clone())),
            DataType::Float16 | DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => {
                cast_to(&DataType::Float32).map(Self::Single)
            }
            _ => cast_to(&DataType::Float64).map(Self::Double),
        }
    }

    fn array(&self) -> &ArrayRef {
        match self {
            Self::Single(array) | Self::Double(array) => array,
        }
    }

    /// Appends the elements of one row.
    fn append(
        &self,
        span: Range<usize>,
        base: VectorBase,
        target: &Target,
        rounding: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CellErrorReason> {
        if let Some(nulls) = self.array().nulls().filter(|nulls| nulls.null_count() > 0)
            && let Some(index) = span.clone().position(|index| nulls.is_null(index))
        {
            return Err(CellErrorReason::NullElement { index });
        }
        let start = bytes.len();
        let unchanged = match self {
            Self::Single(array) => {
                let values = array.as_primitive::<Float32Type>().values().get(span).unwrap_or(&[]);
                append_elements(base, values, bytes);
                // Most vectors have finite float32 elements, which need no further check.
                let written = bytes.get(start..).unwrap_or(&[]);
                if base == VectorBase::Float32 && first_not_finite(base, written).is_none() {
                    return Ok(());
                }
                round_each(values.iter().map(|value| f64::from(*value)), base)?
            }
            Self::Double(array) => {
                let values = array.as_primitive::<Float64Type>().values().get(span).unwrap_or(&[]);
                let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
                append_elements(base, &single, bytes);
                round_each(values.iter().copied(), base)?
            }
        };
        match unchanged || rounding {
            true => Ok(()),
            false => Err(target.inexact()),
        }
    }
}

/// Returns true if every number stays unchanged when it is rounded to the element type.
fn round_each(values: impl Iterator<Item = f64>, base: VectorBase) -> Result<bool, CellErrorReason> {
    let mut unchanged = true;
    for (index, value) in values.enumerate() {
        let narrow = value as f32;
        if value.is_finite() && !narrow.is_finite() {
            return Err(CellErrorReason::Vector(VectorError::OutOfRange { index, base }));
        }
        let element = rounded(base, narrow, index).map_err(CellErrorReason::Vector)?;
        unchanged &= f64::from(element) == value;
    }
    Ok(unchanged)
}
