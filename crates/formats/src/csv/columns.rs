//! Text columns being filled.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::error::ArrowError;

use super::options::CsvOptions;
use super::splitter::{FieldForm, Span};
use crate::ColumnReading;

/// A text column of a batch: values, offsets, nulls.
pub(super) struct TextColumn {
    values: Vec<u8>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

/// Rules for reading a field.
#[derive(Clone)]
pub(super) struct FieldRules {
    /// The text that is NULL.
    null_text: Vec<u8>,
    /// Further texts that are NULL.
    more_null_texts: Vec<Vec<u8>>,
    /// The byte that is doubled inside quotes.
    quote: u8,
    /// The byte behind which another is data.
    escape: Option<u8>,
    /// The bytes that may stand behind the escape.
    escaped: Vec<u8>,
    readings: Option<Arc<[ColumnReading]>>,
}

impl FieldRules {
    pub(super) fn new(options: &CsvOptions) -> Self {
        let mut null_texts = options.null_texts.iter().map(|text| text.clone().into_bytes());
        let quote = options.quote.unwrap_or(b'"');
        let mut escaped = vec![b'\n', b'\r', quote];
        escaped.extend(options.escape);
        escaped.extend(options.delimiter.bytes().next());
        escaped.extend(options.terminator().bytes().next());
        Self {
            null_text: null_texts.next().unwrap_or_default(),
            more_null_texts: null_texts.collect(),
            quote,
            escape: options.escape,
            escaped,
            readings: options.readings.clone(),
        }
    }

    fn is_null(&self, field: &[u8]) -> bool {
        field == self.null_text.as_slice() || self.more_null_texts.iter().any(|text| text.as_slice() == field)
    }

    /// Builds the arrays of columns, in SQL Server's spelling where a column's is known to be another.
    pub(super) fn finish(&self, columns: &mut [TextColumn]) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut arrays = columns.iter_mut().map(TextColumn::finish).collect::<Result<Vec<_>, _>>()?;
        if let Some(readings) = &self.readings {
            for (array, reading) in arrays.iter_mut().zip(readings.iter()) {
                *array = reading.spelled(array);
            }
        }
        Ok(arrays)
    }
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
                    if rules.is_null(&text[start..end]) {
                        self.nulls.append_null();
                        self.offsets.push(self.values.len() as i32);
                        continue;
                    }
                    self.append_escaped(text, start, end, FieldForm::Bare, rules);
                }
                form if rules.escape.is_some() => self.append_escaped(text, start, end, form, rules),
                FieldForm::Quoted => self.append(text, start, end),
                FieldForm::QuotedDoubled => self.append_undoubled(&text[start..end], rules.quote),
            }
            self.nulls.append_non_null();
            self.offsets.push(self.values.len() as i32);
        }
    }

    /// Returns the values as text; NULLs are empty.
    pub(super) fn texts(&self) -> Vec<String> {
        let ends = self.offsets.iter().zip(self.offsets.iter().skip(1));
        let text = |(from, to): (&i32, &i32)| self.values.get(*from as usize..*to as usize);
        ends.map(|ends| String::from_utf8_lossy(text(ends).unwrap_or_default()).into_owned()).collect()
    }

    /// Takes back what was appended since the last array.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.offsets.truncate(1);
        self.nulls = NullBufferBuilder::new(0);
    }

    /// Builds the column as an array; the next batch starts with as much room.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
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

    /// Appends a field that may have escapes, and doubled quotes if it is quoted so.
    #[inline(always)]
    fn append_escaped(&mut self, text: &[u8], start: usize, end: usize, form: FieldForm, rules: &FieldRules) {
        let Some(escape) = rules.escape else { return self.append(text, start, end) };
        let mut bytes = text[start..end].iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let data = match byte {
                _ if byte == escape => bytes.next_if(|next| rules.escaped.contains(next)),
                _ if byte == rules.quote && form == FieldForm::QuotedDoubled => {
                    bytes.next_if_eq(&rules.quote)
                }
                _ => None,
            };
            self.values.push(data.unwrap_or(byte));
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
