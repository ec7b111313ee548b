//! The narrowest types that hold a delimited file without loss.

mod column;
mod evidence;
mod files;
mod findings;
mod number;
mod rivals;
mod shape;
mod spelling;

use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use rows::mapping::SQL_TYPE_KEY;
use rows::text::spelling::TextSpelling;
use tds::SqlType;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::bcp::{RejectedRow, Rejects};
use crate::column_reading::ValueSpelling;
use crate::csv::{CsvOptions, CsvReader};
use crate::{BatchReader, ColumnReading, Compression, FormatError, Location};
use column::{Place, Tally};
pub use evidence::{Evidence, Example, NullWords};
pub use files::{InferProgress, infer_files};
pub use findings::Finding;
pub use rivals::Doubt;

/// The types of a source's columns, found by reading all rows (or the first ones).
#[derive(Debug, Clone, PartialEq)]
pub struct InferredSchema {
    /// Inferred columns, in the order of the source.
    pub columns: Vec<InferredColumn>,
    /// Number of rows read.
    pub rows: u64,
    /// All rows were read. If false, lengths and ranges may grow and NULLs may follow.
    pub is_complete: bool,
}

/// Inferred type of a column, and figures of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredColumn {
    /// Name of the column.
    pub name: String,
    /// The column with its type. Metadata `sql_type` names the SQL Server type if the Arrow type is not precise enough (scales of
    /// times, `uniqueidentifier`).
    pub field: Field,
    /// Longest text in characters (code points).
    pub max_chars: u64,
    /// Longest text in UTF-16 units, as `nvarchar(n)` counts.
    pub max_utf16_units: u64,
    /// Longest text in bytes of UTF-8.
    pub max_utf8_bytes: u64,
    /// Longest binary value, if the column is binary.
    pub max_binary_bytes: Option<u64>,
    /// Number of NULLs seen.
    pub nulls: u64,
    /// No text has a character beyond ASCII.
    pub ascii_only: bool,
    /// Digits in all, of exact numbers.
    pub precision: Option<u8>,
    /// Digits after the point, of exact numbers and times.
    pub scale: Option<u8>,
    /// The value that the type is owed to, of columns that were read as text and have values.
    pub evidence: Option<Evidence>,
    /// The reading of the values that the type is meant for, found in all of them. [`InferredSchema::readings`] hands it to the
    /// reader. What the user declared is not part of it.
    pub reading: ColumnReading,
    /// A value that is spelled otherwise than SQL Server spells it, if the type is meant for such.
    pub example: Option<Example>,
    /// Words that stand for NULL where the column is not text.
    pub null_words: Option<NullWords>,
    /// The reason why the column is text though its values look like numbers or dates: two readings differ.
    pub doubt: Option<Doubt>,
}

impl InferredColumn {
    /// Forgets what was found of the values where the column has this type instead.
    pub fn declare(&mut self, sql_type: &SqlType) {
        let keeps = match self.reading.values {
            Some(ValueSpelling::Dates(..)) => sql_type.is_temporal(),
            Some(ValueSpelling::Numbers(_)) => !sql_type.is_temporal() && !sql_type.is_character(),
            None => !sql_type.is_character(),
        };
        if !keeps {
            self.reading = ColumnReading::default();
            (self.example, self.null_words) = (None, None);
        }
        (self.doubt, self.evidence) = (None, None);
    }

    /// Makes room for another column's values; the type stays.
    pub(crate) fn widen(&mut self, other: &Self) {
        self.max_chars = self.max_chars.max(other.max_chars);
        self.max_utf16_units = self.max_utf16_units.max(other.max_utf16_units);
        self.max_utf8_bytes = self.max_utf8_bytes.max(other.max_utf8_bytes);
        self.max_binary_bytes = self.max_binary_bytes.max(other.max_binary_bytes);
        self.nulls += other.nulls;
        self.ascii_only &= other.ascii_only;
        if other.field.is_nullable() && !self.field.is_nullable() {
            self.field = self.field.clone().with_nullable(true);
        }
        // A declared type that not both have may be too short for the other's values.
        if other.field.metadata().get(SQL_TYPE_KEY) != self.field.metadata().get(SQL_TYPE_KEY) {
            self.field.metadata_mut().remove(SQL_TYPE_KEY);
        }
    }
}

impl InferredSchema {
    /// Returns the schema of no file at all.
    pub(crate) fn of_nothing() -> Self {
        Self { columns: Vec::new(), rows: 0, is_complete: true }
    }

    /// Returns the columns' fields as an Arrow schema.
    pub fn schema(&self) -> Schema {
        Schema::new(self.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>())
    }

    /// Returns the readings of the columns for the reader of the file; `None` if all are SQL Server's own.
    pub fn readings(&self) -> Option<Arc<[ColumnReading]>> {
        let is_plain = self.columns.iter().all(|column| column.reading.is_plain());
        (!is_plain).then(|| self.columns.iter().map(|column| column.reading).collect())
    }

    /// Returns the columns as text, in place of their inferred types.
    #[must_use]
    pub fn into_text(mut self) -> Self {
        for column in &mut self.columns {
            column.field = Field::new(column.name.clone(), DataType::Utf8, column.field.is_nullable());
            (column.max_binary_bytes, column.precision, column.scale) = (None, None, None);
            column.evidence = None;
            (column.reading, column.example) = (ColumnReading::default(), None);
            (column.null_words, column.doubt) = (None, None);
        }
        self
    }
}

/// Reads a delimited file to its end, or to `rows_max` rows, and finds the types of its columns.
///
/// Bit is only for `true` and `false`; whole numbers get the narrowest of tinyint, smallint, int, bigint and decimal;
/// numbers with an exponent are float. Codes stay text: leading zeros, plus signs, blanks, `1E5`, `-0`, `1.9` beside `1.10`, and
/// digits that a double does not keep. Numbers and dates in another spelling than SQL Server's are typed if all values of the
/// column leave one reading of them ([`InferredColumn::reading`]), and else stay text. Columns without a value are text.
///
/// # Errors
/// The errors of the reader.
pub fn infer(
    location: &Location,
    options: &CsvOptions,
    compression: Compression,
    rows_max: Option<u64>,
) -> Result<InferredSchema, FormatError> {
    infer_reader(CsvReader::open(location, options, compression, BATCH_ROWS)?, rows_max)
}

/// Infers as [`infer`] does from text that is already open: reads it to its end, or to `rows_max` rows. Rows
/// that do not have the reader's columns ([`BatchReader::rejects`]) are skipped.
///
/// # Errors
/// The errors of the reader.
pub fn infer_reader(reader: CsvReader, rows_max: Option<u64>) -> Result<InferredSchema, FormatError> {
    let mut inference = Inference::of(&reader.schema(), reader.spelling());
    inference.read_text(reader, rows_max)?;
    Ok(inference.finish())
}

/// Hears of the reader, of the rows of all files so far, and of those that could not be read since.
type Heard<'a> = dyn FnMut(&dyn BatchReader, u64, &[RejectedRow]) -> ControlFlow<()> + 'a;

/// Running figures of the columns of one or more texts.
pub(crate) struct Inference {
    tallies: Vec<Tally>,
    rows: u64,
    files: usize,
    is_complete: bool,
}

impl Inference {
    /// Begins an inference of columns of which nothing is known yet.
    pub(crate) fn of(schema: &Schema, spelling: &TextSpelling) -> Self {
        Self::of_columns(schema, false, spelling)
    }

    /// Begins an inference of which nothing is known yet; `is_padded`: values stand between blanks.
    fn of_columns(schema: &Schema, is_padded: bool, spelling: &TextSpelling) -> Self {
        let tallies =
            schema.fields().iter().map(|field| Tally::new(field.name(), is_padded, spelling)).collect();
        Self { tallies, rows: 0, files: 0, is_complete: true }
    }

    /// Reads a text to its end, or to `rows_max` rows.
    pub(crate) fn read_text(&mut self, reader: CsvReader, rows_max: Option<u64>) -> Result<(), FormatError> {
        self.read_text_until(reader, rows_max, &|| false)
    }

    /// Reads a text to its end, to `rows_max` rows, or until `is_over` asks to end, between two batches.
    pub(crate) fn read_text_until(
        &mut self,
        mut reader: CsvReader,
        rows_max: Option<u64>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), FormatError> {
        let rejects = reader.handed_back().cloned();
        let mut heard = |_: &dyn BatchReader, _, _: &[RejectedRow]| match is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        self.read(&mut reader, rejects.as_ref(), rows_max, &mut heard).map(drop)
    }

    /// Reads a file to its end, or to `rows_max` rows. Its columns are found by name if it has all of them, or else by their
    /// places. `heard` hears after each batch.
    fn read(
        &mut self,
        reader: &mut dyn BatchReader,
        rejects: Option<&Rejects>,
        rows_max: Option<u64>,
        heard: &mut Heard<'_>,
    ) -> Result<ControlFlow<()>, FormatError> {
        let schema = reader.schema();
        let by_name: Option<Vec<usize>> =
            self.tallies.iter().map(|tally| schema.index_of(tally.name()).ok()).collect();
        let mut rows_before = 0;
        while let Some(batch) = reader.next() {
            let batch = batch?;
            let positions = reader.positions();
            let refused = rejects.map(Rejects::take).unwrap_or_default();
            let wanted = rows_max.map_or(u64::MAX, |rows_max| rows_max.saturating_sub(self.rows));
            if wanted == 0 {
                self.is_complete = false;
                break;
            }
            let taken = (batch.num_rows() as u64).min(wanted) as usize;
            self.is_complete &= taken == batch.num_rows();
            let batch = match &by_name {
                Some(indexes) => batch.project(indexes)?,
                None => batch,
            };
            let counted = |index: usize| rows_before + index as u64 + 1;
            let known = |index: usize| positions.as_ref().map_or(0, |positions| positions.row(index));
            let row: &dyn Fn(usize) -> u64 = if positions.is_some() { &known } else { &counted };
            observe(&mut self.tallies, &batch.slice(0, taken), &Place { file: self.files, row });
            self.rows += taken as u64;
            rows_before += taken as u64;
            if heard(reader, self.rows, &refused).is_break() {
                self.is_complete = false;
                return Ok(ControlFlow::Break(()));
            }
            if !self.is_complete {
                break;
            }
        }
        // Rows that were rejected behind the last batch.
        let refused = rejects.map(Rejects::take).unwrap_or_default();
        self.files += 1;
        Ok(heard(reader, self.rows, &refused))
    }

    pub(crate) fn finish(self) -> InferredSchema {
        let Self { tallies, rows, is_complete, .. } = self;
        let columns = tallies.into_iter().map(|tally| tally.finish(is_complete)).collect();
        InferredSchema { columns, rows, is_complete }
    }
}

fn observe(tallies: &mut [Tally], batch: &RecordBatch, place: &Place<'_>) {
    for (tally, array) in tallies.iter_mut().zip(batch.columns()) {
        tally.observe(array.as_ref(), place);
    }
}

const BATCH_ROWS: usize = 8192;
