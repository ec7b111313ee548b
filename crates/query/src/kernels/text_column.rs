//! A column of texts that is written row by row.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use tsql::{SqlError, errors};

use crate::running;

/// Memory of the request is asked for once for so many bytes.
const COUNTED_BYTES: usize = 1 << 20;

/// Texts of a column, one behind the other.
pub(crate) struct TextColumn {
    text: String,
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
    /// Bytes that the memory of the request has counted.
    counted: usize,
}

impl TextColumn {
    /// Reserves room for texts of this many rows and bytes.
    pub fn with_capacity(rows: usize, bytes: usize) -> TextColumn {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        // Much room is taken when it is needed.
        let text = String::with_capacity(bytes.min(COUNTED_BYTES));
        TextColumn { text, ends, nulls: NullBufferBuilder::new(rows), counted: 0 }
    }

    /// Adds NULL.
    pub fn push_null(&mut self) {
        self.ends.push(self.ends.last().copied().unwrap_or_default());
        self.nulls.append_null();
    }

    /// Adds a text. Errors: 701.
    pub fn push(&mut self, text: &str) -> Result<(), SqlError> {
        self.count(self.text.len().saturating_add(text.len()))?;
        self.text.push_str(text);
        self.end()
    }

    /// Adds what `write` appends, unless that is false. Errors: 701.
    pub fn write(&mut self, write: impl FnOnce(&mut String) -> bool) -> Result<bool, SqlError> {
        let start = self.text.len();
        if !write(&mut self.text) {
            self.text.truncate(start);
            return Ok(false);
        }
        self.end()?;
        Ok(true)
    }

    fn end(&mut self) -> Result<(), SqlError> {
        let length = self.text.len();
        // A column of the engine holds no more.
        let end = i32::try_from(length).map_err(|_| errors::OUT_OF_MEMORY.error())?;
        self.count(length)?;
        self.ends.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    fn count(&mut self, length: usize) -> Result<(), SqlError> {
        let more = length.saturating_sub(self.counted);
        if more < COUNTED_BYTES {
            return Ok(());
        }
        // While it grows it is there twice.
        running::take(more.saturating_mul(2))?;
        self.counted = length;
        Ok(())
    }

    /// Returns the column.
    pub fn finish(mut self) -> Result<ArrayRef, SqlError> {
        let nulls = self.nulls.finish();
        column(self.text.into_bytes(), self.ends, nulls)
    }
}

/// Makes a column of texts from their bytes and the places where they end, the first of which is 0.
pub(crate) fn column(
    bytes: Vec<u8>,
    ends: Vec<i32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, SqlError> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    let array = StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)
        .map_err(|error| SqlError::internal(error))?;
    Ok(Arc::new(array))
}
