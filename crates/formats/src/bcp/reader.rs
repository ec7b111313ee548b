//! Host file to batches.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use rows::Form;
use tds::{CodePage, Column, Length, SqlType};

use super::HostType;
use super::cells::SplitRows;
use super::column::{self, ColumnFiller, Report};
use super::deviation::{Deviation, Suffered};
use super::format_file::{FieldCollation, FormatFile, HostField};
use super::options::{ByteOrderMark, FileCodePage, HostReadOptions, TextFields};
use super::reject::{RejectReason, RejectedField, RejectedRow};
use super::splitter::{Splitter, Stop};
use super::text_column::TextForm;
use super::value::{Fault, native};
use super::window::Window;
use crate::{Compression, FormatError, Location, Place, Reason, RowPositions};

/// Reads a host file as an iterator of batches. Rows before an error are delivered; the error is the last item.
///
/// Memory is bounded by [`HostReadOptions::batch_bytes`] and [`HostReadOptions::max_row_bytes`], whatever the size of the
/// file.
pub struct HostReader {
    file: String,
    schema: SchemaRef,
    table_columns: Vec<usize>,
    columns_missing: usize,
    fields: Vec<FieldReader>,
    splitter: Splitter,
    window: Window,
    options: HostReadOptions,
    rows: SplitRows,
    report: Report,
    batch: Building,
    rows_seen: u64,
    suffered: Vec<Suffered>,
    failure: Option<FormatError>,
    finished: bool,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

/// A batch, with the positions of its rows and the rows that were rejected.
#[derive(Debug)]
pub struct HostBatch {
    /// The rows that load, in [`HostReader::schema`]. May be empty.
    pub batch: RecordBatch,
    /// Where each row of the batch came from.
    pub positions: RowPositions,
    /// The rows that do not load, in file order.
    pub rejected: Vec<RejectedRow>,
}

/// A batch being filled.
#[derive(Default)]
struct Building {
    positions: RowPositions,
    /// Rows of the batch, from 0, that are rejected.
    dropped: Vec<usize>,
    rejected: Vec<RejectedRow>,
    bytes: usize,
}

/// One field of the file.
struct FieldReader {
    stored: HostField,
    /// How its text is decoded, also for error messages.
    text: TextForm,
    /// The column it fills: its name, its type, and the values so far.
    target: Option<Target>,
}

struct Target {
    column: Column,
    filler: Box<dyn ColumnFiller>,
    /// Which column of the batch it becomes; none if a later field fills the same column.
    batch_column: Option<usize>,
}

/// What is wrong with a row: the field, from 0, and the fault.
type RowFault = (u32, u16, Fault);

const BLOCK_BYTES: usize = 1 << 20;
const CHUNK_ROWS: usize = 4096;

impl HostReader {
    /// Opens a host file that `format_file` describes, to be loaded into a table of these `columns` (all of the table's,
    /// in its order).
    ///
    /// # Errors
    /// The file cannot be opened; a field names a column that the table has not.
    pub fn open(
        location: &Location,
        compression: Compression,
        format_file: &FormatFile,
        columns: &[Column],
        options: &HostReadOptions,
    ) -> Result<Self, FormatError> {
        let source = location.open_source()?;
        let name = source.name.clone();
        let input = compression.decompress(source.input).map_err(|error| error.in_file(&name))?;
        let mut reader = Self::new(input, &name, format_file, columns, options)?;
        reader.bytes_read = source.bytes_read;
        reader.bytes_total = source.bytes_total;
        Ok(reader)
    }

    /// Reads a host file from any source of (uncompressed) bytes; `name` appears in errors.
    ///
    /// # Errors
    /// As [`HostReader::open`].
    pub fn new(
        input: impl Read + Send + 'static,
        name: &str,
        format_file: &FormatFile,
        columns: &[Column],
        options: &HostReadOptions,
    ) -> Result<Self, FormatError> {
        Self::with_block_bytes(Box::new(input), name, format_file, columns, options, BLOCK_BYTES)
    }

    /// Works like [`HostReader::new`], but reads `block_bytes` at a time. The size does not change what is read.
    ///
    /// # Errors
    /// As [`HostReader::open`].
    pub fn with_block_bytes(
        input: Box<dyn Read + Send>,
        name: &str,
        format_file: &FormatFile,
        columns: &[Column],
        options: &HostReadOptions,
        block_bytes: usize,
    ) -> Result<Self, FormatError> {
        let fail = |error: super::FormatFileError| FormatError::new(Reason::FormatFile(Box::new(error)));
        format_file.check("format file", columns.len()).map_err(fail)?;
        let max_row_bytes = options.max_row_bytes.min(row_bytes_limit(columns));
        let options = &HostReadOptions { max_row_bytes, ..options.clone() };
        let stored = format_file.stored_fields(options.native_version);
        let mut fields: Vec<FieldReader> =
            stored.iter().map(|field| FieldReader::new(field.clone(), columns, options)).collect();
        let cuts: Vec<usize> = fields.iter().map(FieldReader::cut).collect();
        let splitter = Splitter::new(&stored, &cuts, options.blank_is_null, options.max_row_bytes);
        let (table_columns, twice) = number_columns(&mut fields);
        let schema = schema(&fields, &table_columns, columns, options);
        let mut reader = Self {
            file: name.to_owned(),
            schema,
            columns_missing: columns.len().saturating_sub(table_columns.len()),
            table_columns,
            splitter,
            window: Window::new(Box::new(input), block_bytes, max_row_bytes),
            rows: SplitRows::default(),
            report: Report::default(),
            batch: Building::new(options),
            rows_seen: 0,
            suffered: Vec::new(),
            failure: None,
            finished: false,
            bytes_read: Arc::default(),
            bytes_total: None,
            options: options.clone(),
            fields,
        };
        for field in twice {
            reader
                .suffer_or_fail(Deviation::ColumnTwice, Some(field))
                .map_err(|error| error.in_file(name))?;
        }
        reader.begin().and_then(|()| reader.skip_lines()).map_err(|error| error.in_file(name))?;
        Ok(reader)
    }

    /// The schema of every batch: the columns that fields fill, in the table's order, in the exact form of the type
    /// mapping (or as text, by [`TextFields::Keep`]).
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// For each column of a batch its index, from 0, in the columns given at the start.
    pub fn table_columns(&self) -> &[usize] {
        &self.table_columns
    }

    /// Rows of the file that were delivered, rejected or skipped so far.
    pub fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// What the original would not have mentioned, so far.
    pub fn suffered(&self) -> &[Suffered] {
        &self.suffered
    }

    /// Bytes taken from the file so far, as stored (before decompression).
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Size of the file as stored, if it is known (not for a pipe).
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Reads the head of the file and deals with a byte-order mark.
    fn begin(&mut self) -> Result<(), FormatError> {
        while self.window.bytes().len() < 3 && !self.window.ended() {
            self.window.fill()?;
        }
        let Some(first) = self.fields.first() else { return Ok(()) };
        let mark: &[u8] = match first.stored.host_type {
            HostType::Char => b"\xEF\xBB\xBF",
            HostType::NChar if first.stored.prefix_length == 0 => b"\xFF\xFE",
            _ => return Ok(()),
        };
        if !self.window.bytes().starts_with(mark) {
            return Ok(());
        }
        let strip = match self.options.byte_order_mark {
            ByteOrderMark::Keep => false,
            ByteOrderMark::Strip => true,
            ByteOrderMark::Vendor => {
                first.stored.host_type == HostType::Char && first.text == TextForm::Page(CodePage::Utf8)
            }
        };
        if strip {
            self.window.advance(mark.len());
            Ok(())
        } else {
            self.suffer_or_fail(Deviation::LoadedMark, Some(0))
        }
    }

    /// Steps over the lines in front of the first row.
    fn skip_lines(&mut self) -> Result<(), FormatError> {
        if self.options.skip_lines > 0 && !self.splitter.has_lines() {
            let problem = "the last field of the file has no terminator, so there are no lines to skip";
            return Err(FormatError::option("skip_lines", problem));
        }
        for _ in 0..self.options.skip_lines {
            loop {
                let start = self.window.start();
                let text = self.window.bytes().get(start..).unwrap_or_default();
                let length = text.len();
                match self.splitter.behind_line(text) {
                    Some(behind) => {
                        self.window.advance(start + behind);
                        break;
                    }
                    None if self.window.ended() => {
                        self.window.advance(start + length);
                        return Ok(());
                    }
                    None if length > self.options.max_row_bytes => {
                        let limit_bytes = self.options.max_row_bytes;
                        return Err(self.here(Reason::RowTooLong { limit_bytes }, None));
                    }
                    None => self.window.fill()?,
                }
            }
        }
        Ok(())
    }

    /// Fills the batch until it is full, the file ends, or nothing more can be found.
    fn fill(&mut self) -> Result<(), FormatError> {
        while self.batch.positions.len() < self.options.batch_rows.max(1)
            && self.batch.bytes < self.options.batch_bytes
        {
            let skipping = self.options.first_row.saturating_sub(1).saturating_sub(self.rows_seen);
            let wanted = if skipping > 0 {
                skipping
            } else {
                let room = self.options.batch_rows.max(1) - self.batch.positions.len();
                let left = self.options.last_row.map_or(u64::MAX, |last| last.saturating_sub(self.rows_seen));
                left.min(room as u64)
            };
            if wanted == 0 || self.options.last_row.is_some_and(|last| last <= self.rows_seen) {
                self.finished = true;
                return Ok(());
            }
            self.rows.clear();
            let (start, ended) = (self.window.start(), self.window.ended());
            let wanted = wanted.min(CHUNK_ROWS as u64) as usize;
            let (next, stop) = self.splitter.split(self.window.bytes(), start, ended, wanted, &mut self.rows);
            if skipping == 0 && self.rows.len() > 0 {
                self.convert();
            }
            self.rows_seen += self.rows.len() as u64;
            self.window.advance(next);
            match stop {
                Stop::Enough => {}
                Stop::Window => self.window.fill()?,
                Stop::End => {
                    self.finished = true;
                    return Ok(());
                }
                Stop::DroppedTail => {
                    self.finished = true;
                    return self.suffer_or_fail(Deviation::DroppedTail, None);
                }
                Stop::UnexpectedEnd { field } => return Err(self.here(Reason::UnexpectedEnd, Some(field))),
                Stop::TooLong => {
                    let limit_bytes = self.options.max_row_bytes;
                    return Err(self.here(Reason::RowTooLong { limit_bytes }, None));
                }
                Stop::Length { field, length } => {
                    return Err(self.here(Reason::ImpossibleLength { length }, Some(field)));
                }
            }
        }
        Ok(())
    }

    /// Keeps the rows to come as they stand in the file, as [`HostReadOptions::keep_raw_rows`] does.
    pub(crate) fn keep_raw_rows(&mut self) {
        if !self.options.keep_raw_rows && self.batch.positions.is_empty() {
            self.options.keep_raw_rows = true;
            self.batch.positions = RowPositions::keeping(true);
        }
    }

    /// Converts the rows that were split last and adds them to the batch.
    fn convert(&mut self) {
        let window = self.window.bytes();
        let fields = self.fields.len();
        let mut faults: Vec<RowFault> = Vec::new();
        let mut remarks = std::mem::take(&mut self.rows.notes);
        for (index, field) in self.fields.iter_mut().enumerate() {
            let Some(target) = &mut field.target else { continue };
            target.filler.fill(self.rows.cells(window, index, fields), &mut self.report);
            faults.extend(self.report.faults.drain(..).map(|(row, fault)| (row, index as u16, fault)));
            remarks.extend(self.report.remarks.drain(..).map(|(row, what)| (row, index as u16, what)));
        }
        // In the order of the file, so that the first place is the same whatever the chunks.
        remarks.sort_by_key(|(row, field, _)| (*row, *field));
        for (row, field, deviation) in remarks {
            if self.options.tolerance.suffers(deviation) {
                let position = self.rows.bounds.get(row as usize).map_or(0, |bounds| bounds.0);
                let place = (self.rows_seen + u64::from(row) + 1, self.window.offset_of(position as usize));
                let column = self.fields.get(usize::from(field)).map(FieldReader::name);
                tally(&mut self.suffered, deviation, place, column, 1);
            } else {
                faults.push((row, field, Fault::Refused(deviation)));
            }
        }
        // Of each row the first field at fault, as in the original.
        faults.sort_by_key(|(row, field, _)| (*row, *field));
        faults.dedup_by_key(|(row, ..)| *row);
        let first_in_batch = self.batch.positions.len();
        for (row, field, fault) in faults {
            self.batch.dropped.push(first_in_batch + row as usize);
            let rejected = self.rejected(row as usize, usize::from(field), fault);
            self.batch.rejected.extend(rejected);
        }
        let window = self.window.bytes();
        let (first_row, offset) = (self.rows_seen + 1, self.window.offset_of(0));
        for (row, &(start, end)) in (first_row..).zip(&self.rows.bounds) {
            let raw = window.get(start as usize..end as usize).unwrap_or_default();
            self.batch.positions.push(row, offset + u64::from(start), end - start, raw);
        }
        let bounds = (self.rows.bounds.first(), self.rows.bounds.last());
        if let (Some((start, _)), Some((_, end))) = bounds {
            self.batch.bytes += (end - start) as usize;
        }
    }

    /// The row of the chunk, spelled out for those who ask why it does not load.
    fn rejected(&self, row: usize, field: usize, fault: Fault) -> Option<RejectedRow> {
        let window = self.window.bytes();
        let &(start, end) = self.rows.bounds.get(row)?;
        let fields: Vec<RejectedField> = self
            .fields
            .iter()
            .enumerate()
            .map(|(index, field)| field.spell(self.rows.cells(window, index, self.fields.len()).get(row)))
            .collect();
        let reader = self.fields.get(field)?;
        let target = reader.target.as_ref().map(|target| target.column.sql_type().clone());
        let target =
            target.or_else(|| reader.stored.host_type.natural_sql_type()).unwrap_or(SqlType::SqlVariant);
        let value = match fields.get(field) {
            Some(RejectedField::Text(text)) => shortened(text),
            _ => String::new(),
        };
        Some(RejectedRow {
            row: self.rows_seen + row as u64 + 1,
            byte_offset: self.window.offset_of(start as usize),
            field: field + 1,
            column: reader.name().to_owned(),
            value,
            reason: fault.reason(&target),
            raw: window.get(start as usize..end as usize).unwrap_or_default().to_vec(),
            raw_encoding: None,
            fields,
            columns_missing: self.columns_missing,
        })
    }

    fn take_batch(&mut self) -> Result<HostBatch, FormatError> {
        let Building { mut positions, dropped, rejected, .. } =
            std::mem::replace(&mut self.batch, Building::new(&self.options));
        let mut arrays = vec![None; self.table_columns.len()];
        for target in self.fields.iter_mut().filter_map(|field| field.target.as_mut()) {
            let array = target.filler.finish()?;
            if let Some(slot) = target.batch_column.and_then(|index| arrays.get_mut(index)) {
                *slot = Some(array);
            }
        }
        let rows = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(positions.len()));
        let arrays = arrays.into_iter().flatten().collect();
        let mut batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &rows)?;
        if !dropped.is_empty() {
            let mut keep = vec![true; positions.len()];
            for row in dropped {
                if let Some(keep) = keep.get_mut(row) {
                    *keep = false;
                }
            }
            let mut kept = keep.iter();
            positions.retain(|| kept.next().copied().unwrap_or(true));
            batch = filter_record_batch(&batch, &BooleanArray::from(keep))?;
        }
        Ok(HostBatch { batch, positions, rejected })
    }

    /// Notes something that concerns the file rather than a row, or fails because of it.
    fn suffer_or_fail(&mut self, deviation: Deviation, field: Option<usize>) -> Result<(), FormatError> {
        if !self.options.tolerance.suffers(deviation) {
            return Err(self.here(Reason::Refused(RejectReason::Refused(deviation)), field));
        }
        let place = (self.rows_seen + 1, self.window.offset_of(self.window.start()));
        let column = field.and_then(|field| self.fields.get(field)).map(FieldReader::name);
        tally(&mut self.suffered, deviation, place, column, 1);
        Ok(())
    }

    /// An error in the row that begins where the window does.
    fn here(&self, reason: Reason, field: Option<usize>) -> FormatError {
        let column = field.and_then(|field| self.fields.get(field)).map(|field| field.name().to_owned());
        FormatError::new(reason).at(Place {
            row: Some(self.rows_seen + 1),
            byte_offset: Some(self.window.offset_of(self.window.start())),
            column: column.filter(|name| !name.is_empty()),
            ..Place::default()
        })
    }
}

impl Iterator for HostReader {
    type Item = Result<HostBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.finished && self.failure.is_none() {
            self.failure = self.fill().err();
        }
        if !self.batch.positions.is_empty() {
            return Some(self.take_batch().map_err(|error| error.in_file(&self.file)));
        }
        self.finished = true;
        self.failure.take().map(|error| Err(error.in_file(&self.file)))
    }
}

impl Building {
    fn new(options: &HostReadOptions) -> Self {
        Self { positions: RowPositions::keeping(options.keep_raw_rows), ..Self::default() }
    }
}

impl FieldReader {
    fn new(stored: HostField, columns: &[Column], options: &HostReadOptions) -> Self {
        let column = stored.column.and_then(|number| columns.get(number - 1));
        let own = || {
            let collation = column.and_then(|column| column.type_info.collation).unwrap_or_default();
            collation.code_page()
        };
        let text = match (stored.host_type, &stored.collation, options.code_page) {
            (HostType::NChar, ..) => TextForm::Wide,
            (_, FieldCollation::Named { collation, .. }, _) => TextForm::Page(collation.code_page()),
            (_, FieldCollation::Default, FileCodePage::Page(page)) => TextForm::Page(page),
            (_, FieldCollation::Default, FileCodePage::Latin1) => TextForm::Latin1,
            (_, FieldCollation::Raw, _) | (_, _, FileCodePage::Raw) => TextForm::Page(own()),
        };
        let target = column.map(|column| Target {
            column: column.clone(),
            filler: match options.text_fields {
                TextFields::Keep if stored.host_type.is_text() => column::text_filler(column, text),
                _ => column::filler(&stored, column, text, options.regional.as_ref()),
            },
            batch_column: None,
        });
        Self { stored, text, target }
    }

    fn name(&self) -> &str {
        self.target.as_ref().map_or(self.stored.name.as_str(), |target| target.column.name.as_str())
    }

    /// A cell for an error file.
    fn spell(&self, cell: Option<&[u8]>) -> RejectedField {
        let Some(cell) = cell else { return RejectedField::Null };
        if self.stored.host_type.is_text() {
            let text = self.text.decode(cell).unwrap_or_else(|| String::from_utf8_lossy(cell));
            return RejectedField::Text(text.into_owned());
        }
        let mut text = Vec::new();
        native::spell(self.stored.host_type, cell, &mut text);
        RejectedField::Text(String::from_utf8_lossy(&text).into_owned())
    }

    /// Bytes at which a value with a length in front of it is cut: those of the field, if the column would take more.
    fn cut(&self) -> usize {
        let length = self.stored.length as usize;
        let Some(target) = self.target.as_ref().filter(|_| length > 0) else { return usize::MAX };
        let unit = if self.stored.host_type == HostType::NChar { 2 } else { 1 };
        let column = match target.column.sql_type() {
            SqlType::Char { length } | SqlType::NChar { length } => usize::from(*length) * unit,
            SqlType::VarChar { length: Length::Units(length) }
            | SqlType::NVarChar { length: Length::Units(length) } => usize::from(*length) * unit,
            sql_type => column::byte_limit(sql_type),
        };
        if self.stored.host_type.size_bytes().is_none() && length < column { length } else { usize::MAX }
    }
}

/// Rows may not be longer: a window's positions are 32-bit, and one bit of them is taken.
const ROW_BYTES_LIMIT: usize = 1 << 30;
/// Nor these, of columns whose values are 8000 bytes at most: 1024 of them, in hexadecimal and in UTF-16, fit four times.
const SHORT_ROW_BYTES_LIMIT: usize = 128 << 20;

/// The longest row of a file for such columns, in bytes. The limit reports a field without an end before it fills the
/// memory.
fn row_bytes_limit(columns: &[Column]) -> usize {
    let holds_long_values = |column: &Column| {
        let sql_type = column.sql_type();
        sql_type.is_plp() || sql_type.is_legacy_lob() || matches!(sql_type, SqlType::Udt { .. })
    };
    if columns.iter().any(holds_long_values) { ROW_BYTES_LIMIT } else { SHORT_ROW_BYTES_LIMIT }
}

/// Says which column of the batch each field becomes. Returns the table columns of the batch, and the fields whose column
/// a later field fills as well.
fn number_columns(fields: &mut [FieldReader]) -> (Vec<usize>, Vec<usize>) {
    let mut columns: Vec<usize> =
        fields.iter().filter_map(|field| field.stored.column).map(|n| n - 1).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut taken = vec![false; columns.len()];
    let mut twice = Vec::new();
    for (index, field) in fields.iter_mut().enumerate().rev() {
        let (Some(number), Some(target)) = (field.stored.column, &mut field.target) else { continue };
        if let Ok(place) = columns.binary_search(&(number - 1)) {
            match taken.get_mut(place) {
                Some(taken) if !*taken => {
                    *taken = true;
                    target.batch_column = Some(place);
                }
                _ => twice.push(index),
            }
        }
    }
    (columns, twice)
}

fn schema(
    fields: &[FieldReader],
    table_columns: &[usize],
    columns: &[Column],
    options: &HostReadOptions,
) -> SchemaRef {
    let of_table = table_columns.iter().filter_map(|index| columns.get(*index));
    let schema: Vec<Field> = of_table
        .enumerate()
        .map(|(place, column)| {
            let source = fields
                .iter()
                .find(|field| field.target.as_ref().is_some_and(|target| target.batch_column == Some(place)));
            let text = source.is_some_and(|field| field.stored.host_type.is_text());
            if text && options.text_fields == TextFields::Keep {
                Field::new(&column.name, DataType::Utf8, true)
            } else {
                // A file may hold NULL for any column; whether the column takes it is the server's to say.
                rows::mapping::field_for(column, &Form::Exact).with_nullable(true)
            }
        })
        .collect();
    Arc::new(Schema::new(schema))
}

/// Counts a deviation, and keeps the place (row, byte offset) of the first.
pub(super) fn tally(
    suffered: &mut Vec<Suffered>,
    deviation: Deviation,
    (row, byte_offset): (u64, u64),
    column: Option<&str>,
    count: u64,
) {
    match suffered.iter_mut().find(|known| known.deviation == deviation) {
        Some(known) => known.count += count,
        None => {
            let column = column.filter(|name| !name.is_empty()).map(str::to_owned);
            suffered.push(Suffered { deviation, count, row, byte_offset, column });
        }
    }
}

fn shortened(text: &str) -> String {
    let mut kept: String = text.chars().take(RejectedRow::VALUE_CHARS_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
