//! Batches to host file.

use std::io::Write;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use memchr::memmem;
use rows::{CellError, Form};
use tds::{Column, SqlType};

use super::HostType;
use super::form_converter::FormConverter;
use super::format_file::{FieldCollation, FormatFile, HostField};
use super::lane::{Lane, LaneWriter};
use super::options::FileCodePage;
use super::text_column::TextForm;
use super::write_options::HostWriteOptions;
use crate::compression::Compressor;
use crate::deviation::tally;
use crate::deviation::{Deviation, Suffered};
use crate::{BatchWriter, Compression, FormatError, Location, Reason, Written};

/// Writes a host file as a format file describes it.
pub struct HostWriter<W: Write = FileOutput> {
    output: W,
    file: String,
    fields: Vec<FieldWriter>,
    converter: FormConverter,
    options: HostWriteOptions,
    block: Vec<u8>,
    rows: u64,
    bytes: u64,
    suffered: Vec<Suffered>,
    at_start: bool,
}

/// A file on its way to its final name, compressed or not.
pub struct FileOutput(Compressor);

struct FieldWriter {
    writer: LaneWriter,
    lane: Lane,
    terminator: Vec<u8>,
    /// Index from 0 of the column in a batch; None: the field has no column.
    column: Option<usize>,
    name: String,
    /// The field's values can hold a terminator.
    free_text: bool,
}

/// Rows that are written at a time, so that lanes stay in the processor's cache.
const CHUNK_ROWS: usize = 4096;

impl HostWriter<FileOutput> {
    /// Starts a file. Each batch has a column for each of the table's `columns`, by position, with the types of
    /// `schema`. Types other than the exact form are converted by the rules of a load.
    ///
    /// # Errors
    /// The file cannot be created; a field names a column that the table has not; a column's type cannot become that
    /// of its field.
    pub fn create(
        location: &Location,
        compression: Compression,
        format_file: &FormatFile,
        columns: &[Column],
        schema: &Schema,
        options: &HostWriteOptions,
    ) -> Result<Self, FormatError> {
        let name = location.to_string();
        // The layout is checked before anything is created.
        HostWriter::new(std::io::sink(), &name, format_file, columns, schema, options)?;
        let output = compression.compress(location.create_target()?).map_err(|error| error.in_file(&name))?;
        HostWriter::new(FileOutput(output), &name, format_file, columns, schema, options)
    }
}

impl<W: Write> HostWriter<W> {
    /// Writes to any output; `name` appears in errors.
    ///
    /// # Errors
    /// The errors of [`HostWriter::create`].
    pub fn new(
        output: W,
        name: &str,
        format_file: &FormatFile,
        columns: &[Column],
        schema: &Schema,
        options: &HostWriteOptions,
    ) -> Result<Self, FormatError> {
        let fail = |error: super::FormatFileError| FormatError::new(Reason::FormatFile(Box::new(error)));
        format_file.check("format file", columns.len()).map_err(fail)?;
        let mut wanted = columns.to_vec();
        let mut fields = Vec::new();
        for field in format_file.stored_fields(options.native_version) {
            let index = field.column.map(|number| number - 1);
            let column = index.and_then(|index| columns.get(index));
            let sql_type = match column {
                Some(column) => written_type(&field, column),
                None => SqlType::VarChar { length: tds::Length::Max },
            };
            if let Some((slot, column)) = index.and_then(|index| wanted.get_mut(index)).zip(column) {
                let collation = column.type_info.collation;
                *slot = Column::new(column.name.clone(), sql_type.clone(), true, collation);
            }
            fields.push(FieldWriter::new(field, column, sql_type, options));
        }
        Ok(Self {
            output,
            file: name.to_owned(),
            fields,
            converter: FormConverter::new(schema, &wanted, &Form::Exact)
                .map_err(|error| error.in_file(name))?,
            options: options.clone(),
            block: Vec::new(),
            rows: 0,
            bytes: 0,
            suffered: Vec::new(),
            at_start: true,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// A value that its field cannot hold, or an I/O failure. The writer must not be used afterwards.
    pub fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.append(batch).map_err(|error| error.in_file(&self.file))
    }

    /// Appends the rows of a batch whose values fit the columns; the others go to `refuse`, by their index, in order.
    ///
    /// # Errors
    /// The errors of `refuse`; else as [`HostWriter::write_batch`], for what fits its column and not its field.
    pub(crate) fn write_fitting(
        &mut self,
        batch: &RecordBatch,
        refuse: &mut dyn FnMut(usize, &CellError) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let exact = self.converter.convert_fitting(batch, refuse)?;
        self.append_exact(&exact).map_err(|error| error.in_file(&self.file))
    }

    /// Returns the accepted deviations so far, which the original bcp would not have mentioned.
    pub fn suffered(&self) -> &[Suffered] {
        &self.suffered
    }

    /// Counts the rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Hands the output back.
    ///
    /// # Errors
    /// An I/O failure.
    pub fn into_output(mut self) -> Result<W, FormatError> {
        self.start()?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Writes the byte-order mark at the start of the file, if it has one; also in a file without rows.
    fn start(&mut self) -> Result<(), FormatError> {
        if std::mem::take(&mut self.at_start) && self.options.byte_order_mark {
            self.output.write_all(b"\xFF\xFE")?;
            self.bytes += 2;
        }
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let exact = self.converter.convert(batch)?;
        self.append_exact(&exact)
    }

    fn append_exact(&mut self, exact: &RecordBatch) -> Result<(), FormatError> {
        self.start()?;
        let mut first = 0;
        while first < exact.num_rows() {
            let rows = CHUNK_ROWS.min(exact.num_rows() - first);
            self.append_chunk(&exact.slice(first, rows))?;
            first += rows;
        }
        Ok(())
    }

    fn append_chunk(&mut self, chunk: &RecordBatch) -> Result<(), FormatError> {
        let rows = chunk.num_rows();
        let schema = self.converter.schema();
        for field in &mut self.fields {
            let array = field.column.and_then(|index| chunk.columns().get(index));
            match array.zip(field.column.and_then(|index| schema.fields().get(index))) {
                Some((array, schema_field)) => {
                    let first_row = self.rows;
                    field.writer.write(array, schema_field, &mut field.lane).map_err(|error| {
                        let row = first_row + error.place.row.unwrap_or(0) + 1;
                        FormatError { reason: error.reason, place: Box::default() }
                            .in_row(row)
                            .in_column(&field.name)
                    })?;
                }
                None => field.writer.write_absent(rows, &mut field.lane),
            }
        }
        self.note(rows)?;
        self.block.clear();
        for row in 0..rows {
            for field in &self.fields {
                self.block.extend_from_slice(field.lane.get(row));
                self.block.extend_from_slice(&field.terminator);
            }
        }
        self.output.write_all(&self.block)?;
        self.bytes += self.block.len() as u64;
        self.rows += rows as u64;
        Ok(())
    }

    /// Looks for what the file cannot give back: terminators inside values, and characters that were replaced.
    fn note(&mut self, rows: usize) -> Result<(), FormatError> {
        for field in &self.fields {
            if let Some((row, count)) = field.lane.replaced {
                let place = (self.rows + row as u64 + 1, self.bytes);
                tally(&mut self.suffered, Deviation::UnmappableText, place, Some(&field.name), count);
            }
            if !field.free_text || field.terminator.is_empty() {
                continue;
            }
            // All rows are searched at once. Single rows are searched only if that finds a terminator.
            if memmem::find(field.lane.bytes(), &field.terminator).is_none() {
                continue;
            }
            for row in 0..rows.min(field.lane.len()) {
                if memmem::find(field.lane.get(row), &field.terminator).is_none() {
                    continue;
                }
                let number = self.rows + row as u64 + 1;
                if self.options.refuse_terminators {
                    let reason = super::RejectReason::Refused(Deviation::EmbeddedTerminator);
                    let value = String::from_utf8_lossy(field.lane.get(row)).into_owned();
                    let error =
                        FormatError::new(Reason::Refused(reason)).in_row(number).in_column(&field.name);
                    return Err(error.with_value(&value));
                }
                let place = (number, self.bytes);
                tally(&mut self.suffered, Deviation::EmbeddedTerminator, place, Some(&field.name), 1);
            }
        }
        Ok(())
    }
}

impl BatchWriter for HostWriter<FileOutput> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        self.write_batch(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<Written, FormatError> {
        self.start().map_err(|error| error.in_file(&self.file))?;
        let Self { output, file, rows, .. } = *self;
        let bytes = output.0.finish().map_err(|error| error.in_file(&file))?;
        Ok(Written { rows, bytes })
    }
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl FieldWriter {
    fn new(field: HostField, column: Option<&Column>, sql_type: SqlType, options: &HostWriteOptions) -> Self {
        let own = || column.and_then(|column| column.type_info.collation).unwrap_or_default().code_page();
        let text = match (field.host_type, &field.collation, options.code_page) {
            (HostType::NChar, ..) => TextForm::Wide,
            (_, FieldCollation::Named { collation, .. }, _) => TextForm::Page(collation.code_page()),
            (_, FieldCollation::Default, FileCodePage::Page(page)) => TextForm::Page(page),
            (_, FieldCollation::Default, FileCodePage::Latin1) => TextForm::Latin1,
            (_, FieldCollation::Raw, _) | (_, _, FileCodePage::Raw) => TextForm::Page(own()),
        };
        Self {
            terminator: field.terminator.clone(),
            column: field.column.map(|number| number - 1),
            name: column.map_or_else(|| field.name.clone(), |column| column.name.clone()),
            free_text: field.prefix_length == 0
                && field.host_type.is_text()
                && (sql_type.is_character() || sql_type == SqlType::SqlVariant),
            writer: LaneWriter::new(field, sql_type, text, options),
            lane: Lane::default(),
        }
    }
}

/// Returns the type in which a column's values are encoded: its own for text and for its own native form,
/// else the type of the field's bytes.
fn written_type(field: &HostField, column: &Column) -> SqlType {
    use HostType as H;
    let own = column.sql_type();
    let native = HostType::native(own, false);
    let decimals = |host_type| matches!(host_type, H::Decimal | H::Numeric);
    let binaries = |host_type| matches!(host_type, H::Binary | H::Image | H::Udt);
    let same = field.host_type.is_text()
        || field.host_type == native
        || (decimals(field.host_type) && decimals(native))
        || (binaries(field.host_type) && binaries(native));
    if same {
        return own.clone();
    }
    let decimal = match own {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => (19, 0),
        SqlType::Money | SqlType::SmallMoney => (19, 4),
        _ => (38, 10),
    };
    let (precision, scale) = decimal;
    field.host_type.natural_sql_type().unwrap_or(SqlType::Decimal { precision, scale })
}
