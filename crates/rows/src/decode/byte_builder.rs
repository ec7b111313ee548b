//! Builds strings or bytes: one buffer, and one end offset for each row.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::error::ArrowError;

use super::error::RowDecodeErrorReason as Reason;
use super::gather::BadCell;
use super::validity::{GROUP, Validity};

#[derive(Debug)]
pub(super) struct ByteBuilder {
    pub data: Vec<u8>,
    /// Ends of the rows; the first entry is 0.
    ends: Vec<i32>,
    validity: Validity,
}

impl ByteBuilder {
    pub fn new() -> Self {
        Self { data: Vec::new(), ends: vec![0], validity: Validity::default() }
    }

    /// Appends a row for each start in `lane`: `append` adds its bytes to the buffer and says whether the
    /// row has a value.
    #[inline]
    pub fn rows(
        &mut self,
        lane: &[u32],
        mut append: impl FnMut(&mut Vec<u8>, u32) -> Result<bool, Reason>,
    ) -> Result<(), BadCell> {
        self.ends.reserve(lane.len());
        for (group, starts) in lane.chunks(GROUP).enumerate() {
            let mut valid = 0u64;
            for (index, &start) in starts.iter().enumerate() {
                let row = group * GROUP + index;
                let appended = append(&mut self.data, start).and_then(|has_value| {
                    let exceeds = |_| Reason::ExceedsArrow { length: self.data.len() };
                    Ok((has_value, i32::try_from(self.data.len()).map_err(exceeds)?))
                });
                match appended {
                    Ok((has_value, end)) => {
                        valid |= u64::from(has_value) << index;
                        self.ends.push(end);
                    }
                    Err(reason) => {
                        self.validity.append_before_bad(valid, index);
                        return Err((row, reason));
                    }
                }
            }
            self.validity.append(valid, starts.len());
        }
        Ok(())
    }

    /// Returns the current position, for [`back_to`](Self::back_to).
    pub fn mark(&self) -> (usize, usize) {
        (self.data.len(), self.validity.len())
    }

    /// Removes everything that was appended since the mark.
    pub fn back_to(&mut self, (bytes, rows): (usize, usize)) {
        self.data.truncate(bytes);
        self.ends.truncate(rows + 1);
        self.validity.truncate(rows);
    }

    pub fn validity(&self) -> &Validity {
        &self.validity
    }

    pub fn finish_text(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        let (offsets, data, nulls) = self.take(rows_hint);
        Ok(Arc::new(StringArray::try_new(offsets, data, nulls)?))
    }

    pub fn finish_bytes(&mut self, rows_hint: usize) -> Result<ArrayRef, ArrowError> {
        let (offsets, data, nulls) = self.take(rows_hint);
        Ok(Arc::new(BinaryArray::try_new(offsets, data, nulls)?))
    }

    fn take(&mut self, rows_hint: usize) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        // The next batch gets room for as many bytes as this one, counted up to 16 MiB, and an eighth more.
        let bytes_hint = self.data.len().min(1 << 24);
        let data = std::mem::replace(&mut self.data, Vec::with_capacity(bytes_hint + bytes_hint / 8));
        let ends = std::mem::replace(&mut self.ends, Vec::with_capacity(rows_hint + 1));
        self.ends.push(0);
        (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(data), self.validity.finish())
    }
}
