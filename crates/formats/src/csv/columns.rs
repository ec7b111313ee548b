//! Text columns being filled.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::error::ArrowError;

use super::splitter::{FieldForm, Span};

/// A text column of a batch: values, offsets, nulls.
pub(super) struct TextColumn {
    values: Vec<u8>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

/// Rules for reading a field: the text that is NULL, and the byte that is doubled inside quotes.
#[derive(Clone)]
pub(super) struct FieldRules {
    pub(super) null_text: Vec<u8>,
    pub(super) quote: u8,
}

impl TextColumn {
    pub(super) fn new() -> Self {
        Self { values: Vec::new(), offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }

    /// Appends field `column` of every row; `fields` holds rows of `columns` fields each.
    pub(super) fn extend(
        &mut self,
        text: &[u8],
        fields: &[Span],
        column: usize,
        columns: usize,
        rules: &FieldRules,
    ) {
        self.offsets.reserve(fields.len() / columns.max(1));
        for span in fields.iter().skip(column).step_by(columns.max(1)) {
            let (start, end) = (span.start as usize, span.end as usize);
            match span.form {
                FieldForm::Bare => {
                    if end - start == rules.null_text.len() && text[start..end] == rules.null_text[..] {
                        self.nulls.append_null();
                        self.offsets.push(self.values.len() as i32);
                        continue;
                    }
                    self.append(text, start, end);
                }
                FieldForm::Quoted => self.append(text, start, end),
                FieldForm::QuotedDoubled => self.append_undoubled(&text[start..end], rules.quote),
            }
            self.nulls.append_non_null();
            self.offsets.push(self.values.len() as i32);
        }
    }

    /// Takes back what was appended since the last array.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.offsets.truncate(1);
        self.nulls = NullBufferBuilder::new(0);
    }

    /// Builds the column as an array; the next batch starts with as much room.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let room = Self {
            values: Vec::with_capacity(self.values.len() + self.values.len() / 8),
            offsets: {
                let mut offsets = Vec::with_capacity(self.offsets.len());
                offsets.push(0);
                offsets
            },
            nulls: NullBufferBuilder::new(self.offsets.len()),
        };
        let Self { values, offsets, mut nulls } = std::mem::replace(self, room);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(values), nulls.finish())?))
    }

    #[inline(always)]
    fn append(&mut self, text: &[u8], start: usize, end: usize) {
        // A copy of fixed size is one instruction; most fields are short.
        let length = end - start;
        match text
            .get(start..start + SHORT_FIELD_BYTES)
            .and_then(|bytes| <&[u8; SHORT_FIELD_BYTES]>::try_from(bytes).ok())
        {
            Some(short) if length <= SHORT_FIELD_BYTES => {
                let used = self.values.len();
                self.values.extend_from_slice(short);
                self.values.truncate(used + length);
            }
            _ => self.values.extend_from_slice(&text[start..end]),
        }
    }

    fn append_undoubled(&mut self, field: &[u8], quote: u8) {
        let mut pieces = field.split_inclusive(|&byte| byte == quote);
        while let Some(piece) = pieces.next() {
            self.values.extend_from_slice(piece);
            if piece.last() == Some(&quote) {
                // The quote that follows is its double.
                pieces.next();
            }
        }
    }
}

const SHORT_FIELD_BYTES: usize = 16;
