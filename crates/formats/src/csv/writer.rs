//! Batches to delimited text.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, StringArray};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use rows::column_text::{FormatTextError, TextOptions, format_column};

use super::options::CsvOptions;
use super::text_output::TextOutput;
use crate::compression::Compressor;
use crate::encoding::{Encoder, Encoding};
use crate::{BatchWriter, Compression, FormatError, Location, Reason, Written};

/// Writes delimited text, values in SQL Server's spelling. [`CsvReader`](super::CsvReader) with the same options
/// reads it back unchanged, NULL and `''` included. A value that could not be read back is an error: a delimiter in
/// it while quoting is off, or a character that the encoding lacks.
pub struct CsvWriter {
    file: String,
    schema: SchemaRef,
    output: Compressor,
    cells: TextOutput,
    spelling: TextOptions,
    encoding: Encoding,
    encoder: Encoder,
    /// Whole rows not yet encoded.
    text: String,
    encoded: Vec<u8>,
    /// Nothing has been written, not even a byte-order mark.
    at_start: bool,
    rows: u64,
}

impl CsvWriter {
    /// Starts a file; the header, if any, is written at once.
    ///
    /// # Errors
    /// I/O failures, options out of range, a column name the encoding cannot express.
    pub fn create(
        location: &Location,
        schema: SchemaRef,
        options: &CsvOptions,
        compression: Compression,
    ) -> Result<Self, FormatError> {
        options.check()?;
        if schema.fields().is_empty() {
            return Err(FormatError::option("columns", "a delimited file needs at least one column"));
        }
        let encoder = Encoder::new(options.encoding)
            .map_err(|error| FormatError::option("encoding", error.to_string()))?;
        let file = location.to_string();
        let mut writer = Self {
            output: compression.compress(location.create_target()?)?,
            file,
            schema,
            cells: TextOutput::new(options),
            spelling: TextOptions { binary_prefix: options.binary_prefix, ..TextOptions::default() },
            encoding: options.encoding,
            encoder,
            text: String::new(),
            encoded: Vec::new(),
            at_start: true,
            rows: 0,
        };
        writer.start(options).map_err(|error| error.in_file(&writer.file))?;
        Ok(writer)
    }

    fn start(&mut self, options: &CsvOptions) -> Result<(), FormatError> {
        let is_utf16 = matches!(options.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let is_unicode = is_utf16 || options.encoding == Encoding::Utf8;
        match options.byte_order_mark {
            Some(true) if !is_unicode => {
                let problem = format!("{} has none", options.encoding);
                return Err(FormatError::option("byte order mark", problem));
            }
            Some(true) => self.text.push(BYTE_ORDER_MARK),
            None if is_utf16 => self.text.push(BYTE_ORDER_MARK),
            _ => {}
        }
        if !self.text.is_empty() {
            self.at_start = false;
            self.flush_text()?.map_err(|character| FormatError::new(self.unmappable(character)))?;
        }
        if options.header {
            let schema = Arc::clone(&self.schema);
            for (index, field) in schema.fields().iter().enumerate() {
                if index > 0 {
                    self.cells.delimiter(&mut self.text);
                }
                self.cell(field.name(), false)
                    .map_err(|reason| FormatError::new(reason).in_column(field.name()))?;
            }
            self.cells.terminator(&mut self.text);
            self.flush_text()?.map_err(|character| FormatError::new(self.unmappable(character)))?;
        }
        Ok(())
    }

    fn write_rows(&mut self, columns: &[StringArray]) -> Result<(), FormatError> {
        let rows = columns.first().map_or(0, Array::len);
        let plain: Vec<bool> = columns.iter().map(|column| self.cells.is_plain(text_of(column))).collect();
        let mut encoded_rows = 0;
        for row in 0..rows {
            for (index, (column, &plain)) in columns.iter().zip(&plain).enumerate() {
                if index > 0 {
                    self.cells.delimiter(&mut self.text);
                }
                if column.is_null(row) {
                    self.cells.null(&mut self.text);
                    self.at_start = false;
                } else if let Err(reason) = self.cell(column.value(row), plain) {
                    return Err(self.cell_error(reason, row, index, column.value(row)));
                }
            }
            self.cells.terminator(&mut self.text);
            if self.text.len() >= CHUNK_BYTES || row + 1 == rows {
                if let Err(character) = self.flush_text()? {
                    return Err(self.locate_unmappable(character, columns, encoded_rows..row + 1));
                }
                encoded_rows = row + 1;
            }
        }
        self.rows += rows as u64;
        Ok(())
    }

    #[inline(always)]
    fn cell(&mut self, value: &str, plain: bool) -> Result<(), Reason> {
        if self.at_start {
            self.at_start = false;
            // The first bytes of a file must not look like a byte-order mark.
            if value.starts_with(|character: char| !character.is_ascii()) {
                return self.cells.quoted(
                    value,
                    "begins the file and may look like a byte-order mark",
                    &mut self.text,
                );
            }
        }
        if plain {
            self.cells.plain_value(value, &mut self.text)
        } else {
            self.cells.value(value, &mut self.text)
        }
    }

    /// Encodes and writes the rows collected. The inner error is a character that the encoding lacks.
    fn flush_text(&mut self) -> Result<Result<(), char>, FormatError> {
        if matches!(self.encoder, Encoder::Utf8) {
            self.output.write_all(self.text.as_bytes())?;
        } else {
            self.encoded.clear();
            if let Err(character) = self.encoder.encode(&self.text, &mut self.encoded) {
                return Ok(Err(character));
            }
            self.output.write_all(&self.encoded)?;
        }
        self.text.clear();
        Ok(Ok(()))
    }

    fn unmappable(&self, character: char) -> Reason {
        Reason::Unmappable { character, encoding: self.encoding.to_string() }
    }

    /// Finds the cell with the character that a whole chunk failed on.
    fn locate_unmappable(
        &self,
        character: char,
        columns: &[StringArray],
        rows: std::ops::Range<usize>,
    ) -> FormatError {
        let mut scratch = Vec::new();
        for row in rows {
            for (index, column) in columns.iter().enumerate().filter(|(_, column)| column.is_valid(row)) {
                scratch.clear();
                if let Err(character) = self.encoder.encode(column.value(row), &mut scratch) {
                    return self.cell_error(self.unmappable(character), row, index, column.value(row));
                }
            }
        }
        // The character is in no value, so it is in the delimiter, the row terminator or the null text.
        FormatError::new(self.unmappable(character))
    }

    fn cell_error(&self, reason: Reason, row: usize, column: usize, value: &str) -> FormatError {
        let error = FormatError::new(reason).in_row(self.rows + row as u64 + 1).with_value(value);
        match self.schema.fields().get(column) {
            Some(field) => error.in_column(field.name()),
            None => error,
        }
    }

    fn text_error(&self, error: FormatTextError, column: &str) -> FormatError {
        let row = match &error {
            FormatTextError::Value { row, .. } => Some(self.rows + *row as u64 + 1),
            _ => None,
        };
        let reason = match error {
            FormatTextError::Unsupported { data_type, .. } => {
                Reason::UnsupportedType { data_type, format: "CSV" }
            }
            FormatTextError::Value { reason, .. } => Reason::Text(reason.to_owned()),
            other => Reason::Text(other.to_string()),
        };
        let error = FormatError::new(reason).in_column(column);
        match row {
            Some(row) => error.in_row(row),
            None => error,
        }
    }
}

impl BatchWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        crate::batch::check_schema(&self.schema, batch).map_err(|error| error.in_file(&self.file))?;
        let schema = Arc::clone(&self.schema);
        let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| {
            format_column(array, field, &self.spelling).map_err(|error| self.text_error(error, field.name()))
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| error.in_file(&self.file))?;
        self.write_rows(&columns).map_err(|error| error.in_file(&self.file))
    }

    fn finish(self: Box<Self>) -> Result<Written, FormatError> {
        let Self { output, file, rows, .. } = *self;
        let bytes = output.finish().map_err(|error| error.in_file(&file))?;
        Ok(Written { rows, bytes })
    }
}

/// Returns the text of all values of a column, end to end.
fn text_of(column: &StringArray) -> &[u8] {
    let offsets = column.value_offsets();
    let bounds = offsets.first().zip(offsets.last());
    bounds
        .and_then(|(&start, &end)| column.value_data().get(start as usize..end as usize))
        .unwrap_or_default()
}

const BYTE_ORDER_MARK: char = '\u{FEFF}';
const CHUNK_BYTES: usize = 256 * 1024;
