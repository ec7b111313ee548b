//! Pass 2 for vectors: lists of numbers, or the bytes as they came.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeListArray, PrimitiveArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, FieldRef, Float16Type, Float32Type};
use arrow::error::ArrowError;
use half::f16;
use tds::{LengthClass, VectorBase, vector};

use super::byte_builder::ByteBuilder;
use super::cell;
use super::error::RowDecodeErrorReason as Reason;
use super::gather::{BadCell, Gather};
use super::validity::{GROUP, Validity};

/// `vector` as a list of fixed size.
pub(super) struct VectorColumn {
    class: LengthClass,
    base: VectorBase,
    dimensions: u16,
    item: FieldRef,
    /// The elements of all rows, as they came; zeros for NULL.
    elements: Vec<u8>,
    validity: Validity,
    joined: Vec<u8>,
}

impl VectorColumn {
    /// Creates the column. `None` if `to` is no list of fixed size with the vector's dimensions.
    pub fn new(class: LengthClass, base: VectorBase, dimensions: u16, to: &DataType) -> Option<Self> {
        let DataType::FixedSizeList(item, size) = to else { return None };
        let fits = *size == i32::from(dimensions) && dimensions > 0;
        fits.then(|| Self {
            class,
            base,
            dimensions,
            item: item.clone(),
            elements: Vec::new(),
            validity: Validity::default(),
            joined: Vec::new(),
        })
    }
}

impl Gather for VectorColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { class, base, dimensions, elements, validity, joined, .. } = self;
        let width = usize::from(*dimensions) * base.element_bytes();
        elements.reserve(lane.len() * width);
        for (group, starts) in lane.chunks(GROUP).enumerate() {
            let mut valid = 0u64;
            for (index, &start) in starts.iter().enumerate() {
                let Some(bytes) = cell::value(block, start, *class, joined) else {
                    elements.resize(elements.len() + width, 0);
                    continue;
                };
                match vector::check_type(bytes, *base, *dimensions) {
                    Ok(found) => elements.extend_from_slice(found),
                    Err(error) => {
                        validity.append_before_bad(valid, index);
                        return Err((group * GROUP + index, Reason::Vector(error)));
                    }
                }
                valid |= 1 << index;
            }
            validity.append(valid, starts.len());
        }
        Ok(())
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        let width = usize::from(self.dimensions) * self.base.element_bytes();
        let room = rows_hint.saturating_mul(width).min(1 << 24);
        let elements = std::mem::replace(&mut self.elements, Vec::with_capacity(room));
        let values: ArrayRef = match self.base {
            VectorBase::Float32 => {
                let values: ScalarBuffer<f32> =
                    elements.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                Arc::new(PrimitiveArray::<Float32Type>::new(values, None))
            }
            VectorBase::Float16 => {
                let values: ScalarBuffer<f16> =
                    elements.as_chunks::<2>().0.iter().map(|bytes| f16::from_le_bytes(*bytes)).collect();
                Arc::new(PrimitiveArray::<Float16Type>::new(values, None))
            }
        };
        let (size, nulls) = (i32::from(self.dimensions), self.validity.finish());
        Ok(Arc::new(FixedSizeListArray::try_new(self.item.clone(), size, values, nulls)?))
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn data_bytes(&self) -> usize {
        self.elements.len()
    }
}

/// `vector` in its exact form: header and elements, once they are known to be of the type and finite.
pub(super) struct StoredVectorColumn {
    class: LengthClass,
    base: VectorBase,
    dimensions: u16,
    builder: ByteBuilder,
    joined: Vec<u8>,
}

impl StoredVectorColumn {
    pub fn new(class: LengthClass, base: VectorBase, dimensions: u16) -> Self {
        Self { class, base, dimensions, builder: ByteBuilder::new(), joined: Vec::new() }
    }
}

impl Gather for StoredVectorColumn {
    fn gather(&mut self, block: &[u8], lane: &[u32]) -> Result<(), BadCell> {
        let Self { class, base, dimensions, builder, joined } = self;
        builder.rows(lane, |out, start| {
            let Some(bytes) = cell::value(block, start, *class, joined) else { return Ok(false) };
            vector::check(bytes, *base, *dimensions).map_err(Reason::Vector)?;
            out.extend_from_slice(bytes);
            Ok(true)
        })
    }

    fn finish(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        self.builder.finish_bytes(rows_hint)
    }

    fn validity(&self) -> &Validity {
        self.builder.validity()
    }

    fn data_bytes(&self) -> usize {
        self.builder.data.len()
    }
}
