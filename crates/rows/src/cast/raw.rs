//! A common form of text and binary arrays of every layout: bytes and offsets.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, ByteView};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{BinaryViewType, ByteViewType, DataType, StringViewType};

use crate::encode::Offsets;

/// The values of a text or binary array.
#[derive(Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) offsets: Offsets<'a>,
    pub(crate) len: usize,
}

impl<'a> Raw<'a> {
    /// Borrows the buffers of `array`; views are gathered into one buffer. `None` if it is neither text nor binary.
    pub(crate) fn new(array: &'a ArrayRef) -> Option<Self> {
        let len = array.len();
        Some(match array.data_type() {
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Raw {
                    bytes: Cow::Borrowed(array.values()),
                    offsets: Offsets::Narrow(array.value_offsets()),
                    len,
                }
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                let offsets = Offsets::Wide(Cow::Borrowed(array.value_offsets()));
                Raw { bytes: Cow::Borrowed(array.values()), offsets, len }
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Raw {
                    bytes: Cow::Borrowed(array.values()),
                    offsets: Offsets::Narrow(array.value_offsets()),
                    len,
                }
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                let offsets = Offsets::Wide(Cow::Borrowed(array.value_offsets()));
                Raw { bytes: Cow::Borrowed(array.values()), offsets, len }
            }
            DataType::FixedSizeBinary(width) => {
                let array = array.as_fixed_size_binary();
                let width = usize::try_from(*width).unwrap_or(0);
                Raw { bytes: Cow::Borrowed(array.value_data()), offsets: Offsets::Every(width), len }
            }
            DataType::Utf8View => gathered::<StringViewType>(array),
            DataType::BinaryView => gathered::<BinaryViewType>(array),
            _ => return None,
        })
    }

    /// Takes values made by a cast.
    pub(crate) fn owned(bytes: Vec<u8>, offsets: Vec<i64>) -> Raw<'static> {
        let len = offsets.len().saturating_sub(1);
        Raw { bytes: Cow::Owned(bytes), offsets: Offsets::Wide(Cow::Owned(offsets)), len }
    }

    /// Returns the range of value `index` in the column's bytes.
    pub(crate) fn span(&self, index: usize) -> std::ops::Range<usize> {
        match &self.offsets {
            Offsets::Narrow(offsets) => offsets[index] as usize..offsets[index + 1] as usize,
            Offsets::Wide(offsets) => offsets[index] as usize..offsets[index + 1] as usize,
            Offsets::Every(width) => index * width..(index + 1) * width,
        }
    }

    /// Returns the bytes of value `index`.
    pub(crate) fn value(&self, index: usize) -> &[u8] {
        &self.bytes[self.span(index)]
    }

    /// Calls `visit` with the place of every value in order.
    pub(crate) fn each_span(&self, mut visit: impl FnMut(usize, std::ops::Range<usize>)) {
        match &self.offsets {
            Offsets::Narrow(offsets) => {
                for (index, pair) in offsets.windows(2).enumerate() {
                    visit(index, pair[0] as usize..pair[1] as usize);
                }
            }
            _ => (0..self.len).for_each(|index| visit(index, self.span(index))),
        }
    }

    /// Returns all bytes from the first value's to the last value's.
    pub(crate) fn used_bytes(&self) -> &[u8] {
        match self.len {
            0 => &[],
            len => &self.bytes[self.span(0).start..self.span(len - 1).end],
        }
    }

    /// Finds the first value that is longer than `limit` bytes, by its offsets alone: it may be NULL.
    pub(crate) fn first_longer(&self, limit: u64) -> Option<usize> {
        if self.used_bytes().len() as u64 <= limit {
            return None;
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match &self.offsets {
            Offsets::Narrow(offsets) => {
                let limit = i32::try_from(limit).unwrap_or(i32::MAX);
                // A whole pass without an exit is what the compiler can vectorise; the culprit is looked for after.
                let longest = offsets.windows(2).fold(0, |longest, pair| longest.max(pair[1] - pair[0]));
                if longest <= limit {
                    return None;
                }
                offsets.windows(2).position(|pair| pair[1] - pair[0] > limit)
            }
            _ => (0..self.len).find(|&index| self.span(index).len() > limit),
        }
    }

    /// Makes a copy that borrows nothing.
    pub(crate) fn into_owned(self) -> Raw<'static> {
        let offsets = match self.offsets {
            Offsets::Narrow(offsets) => {
                Offsets::Wide(offsets.iter().map(|&offset| i64::from(offset)).collect())
            }
            Offsets::Wide(offsets) => Offsets::Wide(Cow::Owned(offsets.into_owned())),
            Offsets::Every(width) => Offsets::Every(width),
        };
        Raw { bytes: Cow::Owned(self.bytes.into_owned()), offsets, len: self.len }
    }
}

/// Maximum number of bytes of a value that is stored in its view.
const INLINE_BYTES: usize = 12;

fn gathered<T: ByteViewType>(array: &ArrayRef) -> Raw<'static> {
    let array = array.as_byte_view::<T>();
    let offsets = view_offsets(array.views(), array.nulls());
    let length = offsets.last().map_or(0, |&end| end as usize);
    // Short values are copied with all bytes of their views, so that the copies have one length; what follows overwrites the rest.
    let mut bytes = vec![0; length + INLINE_BYTES];
    for (view, span) in array.views().iter().zip(offsets.windows(2)) {
        let (start, end) = (span[0] as usize, span[1] as usize);
        if end - start <= INLINE_BYTES {
            bytes[start..start + INLINE_BYTES].copy_from_slice(&view.to_le_bytes()[4..]);
        } else {
            let view = ByteView::from(*view);
            let value = &array.data_buffers()[view.buffer_index as usize][view.offset as usize..];
            bytes[start..end].copy_from_slice(&value[..end - start]);
        }
    }
    bytes.truncate(length);
    Raw::owned(bytes, offsets)
}

/// Computes the offsets of values that are put one after the other; NULLs have no bytes.
fn view_offsets(views: &[u128], nulls: Option<&NullBuffer>) -> Vec<i64> {
    let mut offsets = Vec::with_capacity(views.len() + 1);
    let mut end = 0;
    offsets.push(end);
    // The low half of a view's first word is its length.
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => offsets.extend(views.iter().map(|&view| {
            end += i64::from(view as u32);
            end
        })),
        Some(nulls) => offsets.extend(views.iter().zip(nulls).map(|(&view, valid)| {
            end += i64::from(view as u32) * i64::from(valid);
            end
        })),
    }
    offsets
}

/// Marks the rows whose text is not empty, if the array is text and some are.
pub(crate) fn empty_texts(array: &ArrayRef) -> Option<NullBuffer> {
    let not_empty = match array.data_type() {
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().value_offsets();
            BooleanBuffer::collect_bool(array.len(), |index| offsets[index + 1] > offsets[index])
        }
        DataType::LargeUtf8 => {
            let offsets = array.as_string::<i64>().value_offsets();
            BooleanBuffer::collect_bool(array.len(), |index| offsets[index + 1] > offsets[index])
        }
        DataType::Utf8View => {
            let views = array.as_string_view().views();
            // The low half of a view's first word is its length.
            BooleanBuffer::collect_bool(array.len(), |index| views[index] as u32 > 0)
        }
        _ => return None,
    };
    Some(NullBuffer::new(not_empty)).filter(|nulls| nulls.null_count() > 0)
}
