//! Rows that are in the form of the wire already: batches of one column, whose values are whole ROW tokens.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;

/// The type of the column that holds the rows.
pub(crate) const ROWS_TYPE: DataType = DataType::LargeBinary;
const ROWS_NAME: &str = "rows";
/// Tells such batches from those that have a binary column of this name.
const MARK: (&str, &str) = ("bulkwire.rows", "tds");

/// Rows of a batch, which follow one another in memory without gaps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedRows<'a>(&'a LargeBinaryArray);

impl<'a> PassedRows<'a> {
    /// Returns the rows of a batch, if it is one of these.
    pub(crate) fn of(batch: &'a RecordBatch) -> Option<Self> {
        let schema = batch.schema_ref();
        let field = schema.fields().first().filter(|_| schema.fields().len() == 1)?;
        let is_marked = field.metadata().get(MARK.0).is_some_and(|value| value == MARK.1);
        let rows = batch.columns().first().and_then(|column| column.as_binary_opt::<i64>())?;
        (is_marked && rows.null_count() == 0).then_some(Self(rows))
    }

    /// Makes a batch of rows; `ends` are the offsets behind each row, behind a 0.
    ///
    /// # Errors
    /// The offsets do not fit the bytes.
    pub(crate) fn batch(bytes: Vec<u8>, ends: Vec<i64>) -> Result<RecordBatch, ArrowError> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let rows = LargeBinaryArray::try_new(offsets, Buffer::from_vec(bytes), None)?;
        RecordBatch::try_new(schema(), vec![Arc::new(rows) as ArrayRef])
    }

    /// Returns the places of `rows` in the memory of the batch.
    fn span(&self, rows: Range<usize>) -> Range<usize> {
        let offsets = self.0.value_offsets();
        let at = |row: usize| {
            let offset = offsets.get(row).or(offsets.last());
            offset.map_or(0, |offset| usize::try_from(*offset).unwrap_or(0))
        };
        at(rows.start)..at(rows.end).max(at(rows.start))
    }

    /// Returns the bytes of `rows`.
    pub(crate) fn bytes(&self, rows: Range<usize>) -> &'a [u8] {
        self.0.value_data().get(self.span(rows)).unwrap_or_default()
    }

    /// Returns the bytes of `rows`, which stay in the memory of the batch.
    pub(crate) fn shared(&self, rows: Range<usize>) -> Buffer {
        let span = self.span(rows);
        self.0.values().slice_with_length(span.start, span.len())
    }

    /// Returns the number of bytes of `rows`.
    pub(crate) fn len(&self, rows: Range<usize>) -> usize {
        self.span(rows).len()
    }
}

fn schema() -> SchemaRef {
    let metadata = [(MARK.0.to_owned(), MARK.1.to_owned())].into();
    Arc::new(Schema::new(vec![Field::new(ROWS_NAME, ROWS_TYPE, false).with_metadata(metadata)]))
}
