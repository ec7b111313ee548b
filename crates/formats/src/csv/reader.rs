//! Delimited text to batches of Utf8 columns.

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use rows::text::spelling::TextSpelling;

use super::ahead::{Input, Ready};
use super::columns::{FieldRules, TextColumn};
use super::options::{CsvOptions, RowTerminator};
use super::row_ends::{RowEnd, RowEnds};
use super::splitter::{FieldForm, Rows, Span, Split, Splitter, Stop};
use super::text_input::{BadBytes, TextEnd, TextInput};
use crate::rejected_rows::Rejects;
use crate::row_lines::RowLines;
use crate::{BatchReader, Compression, Encoding, FormatError, Location, Place, Reason, RowPositions};

/// Reads delimited text. Every column is Utf8; memory is bounded by `max_row_bytes` and `max_batch_bytes`.
///
/// Rows with too few or too many fields are errors that name row, line and byte. An empty line is not a row. In a file of one
/// column it is an empty field, but not before the first row, while the number of columns is still unknown.
pub struct CsvReader {
    file: String,
    pub(super) schema: SchemaRef,
    columns: Vec<TextColumn>,
    pub(super) rules: FieldRules,
    pub(super) blocks: Blocks,
    pub(super) batch_rows: usize,
    pub(super) batch_bytes_max: usize,
    rows_in_batch: usize,
    bytes_in_batch: usize,
    /// Rows handed to columns so far.
    pub(super) rows_read: u64,
    pub(super) lines: RowLines,
    /// Rows that were handed back instead, and to whom.
    pub(super) rejected: u64,
    pub(super) rejects: Option<Rejects>,
    /// Places of the rows in the batch being filled, if rows may be handed back.
    filling: RowPositions,
    delivered: Option<RowPositions>,
    /// Batches that were read ahead, in order.
    pub(super) ready: Ready,
    /// Threads that are to read ahead, before they have begun.
    threads: usize,
    /// Error to return once the rows before it were returned.
    failure: Option<FormatError>,
    finished: bool,
    spelling: TextSpelling,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

/// The text of the file, a window at a time, and the position in it.
pub(super) struct Blocks {
    pub(super) input: Input,
    pub(super) splitter: Splitter,
    /// Text not split yet begins at `start`.
    pub(super) text: Vec<u8>,
    pub(super) start: usize,
    /// A place in the text and its offset in the file, in bytes: at or before `start`, to count on from.
    known_offset: (usize, u64),
    /// Line on which `text[start]` stands, the first being 1.
    pub(super) line: u64,
    /// Ends a line that is no row.
    line_end: u8,
    pub(super) block_bytes: usize,
    max_row_bytes: usize,
    /// Bytes that are no text, if rows that hold them are handed back.
    pub(super) bad_bytes: Option<BadBytes>,
}

impl CsvReader {
    /// Opens a file; reads its head to find the columns.
    ///
    /// # Errors
    /// I/O failures, options out of range, an empty file without column names, a malformed header.
    pub fn open(
        location: &Location,
        options: &CsvOptions,
        compression: Compression,
        batch_rows: usize,
    ) -> Result<Self, FormatError> {
        let source = location.open_source()?;
        let name = source.name.clone();
        let input = compression.decompress(source.input).map_err(|error| error.in_file(&name))?;
        let mut reader = Self::new(input, &name, options, batch_rows)?;
        reader.bytes_read = source.bytes_read;
        reader.bytes_total = source.bytes_total;
        Ok(reader)
    }

    /// Reads delimited text from any source of (uncompressed) bytes; `name` appears in errors.
    ///
    /// # Errors
    /// The errors of [`CsvReader::open`].
    pub fn new(
        input: impl Read + Send + 'static,
        name: &str,
        options: &CsvOptions,
        batch_rows: usize,
    ) -> Result<Self, FormatError> {
        Self::with_block_bytes(Box::new(input), name, options, batch_rows, BLOCK_BYTES)
    }

    /// Lets several threads split the text that follows, of any size. The rows that are read stay the same.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Returns the line of the file that each row read so far began in.
    pub fn row_lines(&self) -> RowLines {
        self.lines.clone()
    }

    /// Returns the destination of rows that do not fit the file's columns, if one was set.
    pub(crate) fn handed_back(&self) -> Option<&Rejects> {
        self.rejects.as_ref()
    }

    /// Works like [`CsvReader::new`], but reads about `block_bytes` (at least one) at a time. The size does not change what is read.
    ///
    /// # Errors
    /// The errors of [`CsvReader::open`].
    pub fn with_block_bytes(
        input: Box<dyn Read + Send>,
        name: &str,
        options: &CsvOptions,
        batch_rows: usize,
        block_bytes: usize,
    ) -> Result<Self, FormatError> {
        Self::at_head(input, name, options, batch_rows, block_bytes.max(1))
            .map_err(|error| error.in_file(name))
    }

    fn at_head(
        input: Box<dyn Read + Send>,
        name: &str,
        options: &CsvOptions,
        batch_rows: usize,
        block_bytes: usize,
    ) -> Result<Self, FormatError> {
        options.check()?;
        let mut input = TextInput::new(input, options.encoding)?;
        input.skip_footer(options.skip_footer, options.max_row_bytes);
        let mut blocks = Blocks {
            known_offset: (0, input.first_byte_offset()),
            input: Input::Here(input),
            splitter: Splitter::new(options),
            text: Vec::new(),
            start: 0,
            line: 1,
            line_end: options.row_terminator.line_end(),
            block_bytes,
            max_row_bytes: options.max_row_bytes,
            bad_bytes: None,
        };
        if options.row_terminator == RowTerminator::Auto {
            blocks.find_row_end(options)?;
        }
        blocks.skip_lines(options.skip_lines)?;
        let names = column_names(&mut blocks, options)?;
        let fields: Vec<Field> =
            names.into_iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let lines = RowLines::default();
        lines.record(1, blocks.line);
        Ok(Self {
            file: name.to_owned(),
            columns: fields.iter().map(|_| TextColumn::new()).collect(),
            schema: Arc::new(Schema::new(fields)),
            rules: FieldRules::new(options),
            blocks,
            batch_rows: batch_rows.max(1),
            batch_bytes_max: options.max_batch_bytes,
            rows_in_batch: 0,
            bytes_in_batch: 0,
            rows_read: 0,
            lines,
            rejected: 0,
            rejects: None,
            filling: RowPositions::default(),
            delivered: None,
            ready: Ready::new(),
            threads: 1,
            failure: None,
            finished: false,
            spelling: options.spelling,
            bytes_read: Arc::default(),
            bytes_total: None,
        })
    }

    /// Returns the spelling of numbers and dates that the user declares.
    pub(crate) fn spelling(&self) -> &TextSpelling {
        &self.spelling
    }

    /// Reads on until a batch is ready or filled, the file ends or a row is wrong.
    fn read_on(&mut self) -> Result<(), FormatError> {
        let threads = std::mem::replace(&mut self.threads, 1);
        self.start_ahead(threads)?;
        self.take_pieces()?;
        if self.ready.is_empty() { self.fill() } else { Ok(()) }
    }

    /// Fills the columns until the batch is full, the file ends or a row is wrong.
    fn fill(&mut self) -> Result<(), FormatError> {
        let mut rows = Rows { bounds: self.rejects.as_ref().map(|_| Vec::new()), ..Rows::default() };
        // Blank lines fill no batch, however many there are.
        while self.rows_in_batch == 0
            || (self.rows_in_batch < self.batch_rows && self.bytes_in_batch < self.batch_bytes_max)
        {
            if self.blocks.is_between_pieces() {
                return Ok(());
            }
            rows.clear();
            let start = self.blocks.start;
            let line = self.blocks.line;
            let columns = self.columns.len();
            let rows_max = self.batch_rows - self.rows_in_batch;
            let split = match self.blocks.holds_stand_ins() {
                false => self.blocks.split(rows_max, Some(columns), &mut rows),
                true => match self.split_at_bad_row(rows_max, &mut rows) {
                    Some(split) => split,
                    None => continue,
                },
            };
            for (index, column) in self.columns.iter_mut().enumerate() {
                column.extend(&self.blocks.text, &rows.fields, index, columns, &self.rules);
            }
            if rows.count > 0 {
                self.record_lines(&rows.line_shifts, line);
            }
            if let Some(bounds) = &rows.bounds {
                self.record_positions(bounds);
            }
            self.rows_in_batch += rows.count;
            self.rows_read += rows.count as u64;
            self.bytes_in_batch += split.next - start;
            let place = |error: FormatError, column: Option<usize>, schema: &Schema, row: u64| {
                let error = error.in_row(row);
                match column.and_then(|column| schema.fields().get(column)) {
                    Some(field) => error.in_column(field.name()),
                    None => error,
                }
            };
            let next_row = self.rows_read + 1;
            match self.blocks.advance(&split) {
                Ok(Advance::More) => {}
                Ok(Advance::Finished) => {
                    self.finished = true;
                    return Ok(());
                }
                Err((error, field)) => {
                    let error = place(error, field, &self.schema, next_row + self.rejected);
                    self.reject(&split, error, field)?;
                }
            }
        }
        Ok(())
    }

    /// Notes the rows that are not on the line right behind their predecessor's. `line` is where the block began.
    pub(super) fn record_lines(&self, line_shifts: &[(usize, u64)], line: u64) {
        let first_row = self.rows_read + self.rejected + 1;
        // A row on the line that the map gives anyway costs no entry.
        let starts_shifted = line_shifts.first().is_some_and(|&(row, _)| row == 0);
        if !starts_shifted && self.lines.line_of_row(first_row) != Some(line) {
            self.lines.record(first_row, line);
        }
        for &(row, shift) in line_shifts {
            self.lines.record(first_row + row as u64, line.wrapping_add(shift).wrapping_add(row as u64));
        }
    }

    /// Notes the positions of the rows just split, for reports of refused rows.
    fn record_positions(&mut self, bounds: &[(u32, u32)]) {
        let first_row = self.rows_read + self.rejected + 1;
        let mut offset = self.blocks.start_offset();
        let mut counted_to = self.blocks.start;
        for (row, &(start, end)) in (first_row..).zip(bounds) {
            let (start, end) = (start as usize, end as usize);
            let text = |range: std::ops::Range<usize>| self.blocks.text.get(range).unwrap_or_default();
            let byte_offset = offset + self.blocks.input.source_bytes(text(counted_to..start));
            let byte_len = self.blocks.input.source_bytes(text(start..end));
            self.filling.push(row, byte_offset, byte_len as u32, text(start..end));
            (offset, counted_to) = (byte_offset + byte_len, end);
        }
    }

    fn take_batch(&mut self) -> Result<RecordBatch, FormatError> {
        let fresh = RowPositions::keeping(true);
        self.delivered = self.rejects.as_ref().map(|_| std::mem::replace(&mut self.filling, fresh));
        self.rows_in_batch = 0;
        self.bytes_in_batch = 0;
        let arrays = self.rules.finish(&mut self.columns)?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

impl Iterator for CsvReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, positions)) = self.ready.pop_front() {
                self.delivered = positions;
                return Some(Ok(batch));
            }
            if !self.finished && self.failure.is_none() {
                self.failure = self.read_on().err();
            }
            if self.rows_in_batch > 0 {
                return Some(self.take_batch().map_err(|error| error.in_file(&self.file)));
            }
            if self.finished || self.failure.is_some() {
                break;
            }
        }
        self.finished = true;
        self.failure.take().map(|error| Err(error.in_file(&self.file)))
    }
}

impl BatchReader for CsvReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    fn lines(&self) -> Option<RowLines> {
        Some(self.lines.clone())
    }

    fn rejects(&mut self) -> Option<Rejects> {
        if self.rejects.is_none() {
            self.filling = RowPositions::keeping(true);
            let bad_bytes = self.blocks.bad_bytes.get_or_insert_default();
            self.blocks.input.note_bad_bytes(bad_bytes.clone());
        }
        Some(self.rejects.get_or_insert_default().clone())
    }

    fn positions(&mut self) -> Option<RowPositions> {
        self.delivered.take()
    }

    fn use_threads(&mut self, threads: usize) {
        // A pipe may have nothing to read for long, and a small file is read before a thread has begun.
        let is_long = self.bytes_total.is_some_and(|bytes| bytes >= AHEAD_BYTES_MIN);
        if is_long && !self.blocks.input.has_footer() {
            self.threads = threads;
        }
    }

    fn take_helpers_cpu(&mut self) -> Duration {
        self.blocks.input.take_cpu()
    }

    fn text_encoding(&self) -> Option<Encoding> {
        Some(self.blocks.input.encoding())
    }
}

/// Result of advancing through the text.
pub(super) enum Advance {
    More,
    Finished,
}

/// An error and the number (from 0) of the field it is in, if it is in one.
type Misplaced = (FormatError, Option<usize>);

impl Blocks {
    /// Returns true if the text was split to its end and the next piece, read ahead, begins with a row.
    pub(super) fn is_between_pieces(&self) -> bool {
        matches!(self.input, Input::Ahead(_)) && self.start == self.text.len() && self.input.end().is_none()
    }

    /// Goes on with this text, which begins at `offset` of the file.
    pub(super) fn begin(&mut self, text: Vec<u8>, offset: u64) {
        (self.text, self.start, self.known_offset) = (text, 0, (0, offset));
    }

    /// Finds out whether rows end with something else than a line feed.
    fn find_row_end(&mut self, options: &CsvOptions) -> Result<(), FormatError> {
        let mut ends = RowEnds::new(options);
        let found = loop {
            let found = ends.look(&self.text, self.input.end().is_some());
            if found != RowEnd::Unknown {
                break found;
            }
            self.input.fill(&mut self.text, self.block_bytes)?;
        };
        let row_terminator = found.terminator();
        if row_terminator != RowTerminator::Auto {
            self.line_end = row_terminator.line_end();
            self.splitter = Splitter::new(&CsvOptions { row_terminator, ..options.clone() });
        }
        Ok(())
    }

    /// Passes lines that are no rows. A file may have fewer.
    fn skip_lines(&mut self, lines: usize) -> Result<(), FormatError> {
        for _ in 0..lines {
            loop {
                let rest = self.text.get(self.start..).unwrap_or_default();
                if let Some(at) = rest.iter().position(|byte| *byte == self.line_end) {
                    self.start += at + 1;
                    self.line += 1;
                    break;
                }
                if rest.len() > self.max_row_bytes {
                    let reason = Reason::RowTooLong { limit_bytes: self.max_row_bytes };
                    return Err(
                        FormatError::new(reason).at(Place { line: Some(self.line), ..Place::default() })
                    );
                }
                if self.input.end().is_some() {
                    self.start = self.text.len();
                    return Ok(());
                }
                self.input.fill(&mut self.text, self.block_bytes)?;
            }
        }
        Ok(())
    }

    pub(super) fn split(&self, rows_max: usize, expected: Option<usize>, rows: &mut Rows) -> Split {
        let last = matches!(self.input.end(), Some(TextEnd::File));
        self.splitter.split(&self.text, self.start, last, rows_max, expected, rows)
    }

    /// Steps behind the rows split and, if the text ran out, reads more.
    fn advance(&mut self, split: &Split) -> Result<Advance, Misplaced> {
        self.start = split.next;
        self.line += split.lines;
        match split.stop {
            Stop::Enough => Ok(Advance::More),
            Stop::Ragged { expected, found } => {
                Err((self.error_at(self.start, Reason::Ragged { expected, found }), None))
            }
            Stop::TooLong => Err((self.too_long(), None)),
            Stop::TextAfterQuote { at, told_at, field } => {
                // The limit on the length of a row comes first, as it does if the file is read in small
                // blocks.
                self.check_row_bytes(told_at - self.start)?;
                Err((self.error_at(at, Reason::TextAfterQuote), Some(field)))
            }
            Stop::UnterminatedQuote { field } => {
                self.check_row_bytes(self.text.len() - self.start)?;
                Err((self.error_at(self.start, Reason::UnterminatedQuote), Some(field)))
            }
            Stop::Text => {
                self.check_row_bytes(self.text.len() - self.start)?;
                self.refill().map_err(|error| (error, None))
            }
        }
    }

    /// Refuses a row that is too long. The error does not name the field: the number of fields split by then
    /// depends on the blocks.
    fn check_row_bytes(&self, row_bytes: usize) -> Result<(), Misplaced> {
        if row_bytes > self.max_row_bytes { Err((self.too_long(), None)) } else { Ok(()) }
    }

    pub(super) fn too_long(&self) -> FormatError {
        self.error_at(self.start, Reason::RowTooLong { limit_bytes: self.max_row_bytes })
    }

    pub(super) fn refill(&mut self) -> Result<Advance, FormatError> {
        self.known_offset = (0, self.start_offset());
        self.text.drain(..self.start);
        self.start = 0;
        // A row longer than a block is split again from its start: reading as much again as there is keeps that linear.
        let room = (self.max_row_bytes + 1).saturating_sub(self.text.len()).max(1);
        let block_bytes = self.block_bytes.max(self.text.len()).min(room.max(self.block_bytes));
        let ended = self.input.end().is_some();
        if !ended && self.input.fill(&mut self.text, block_bytes)? {
            return Ok(Advance::More);
        }
        match self.input.end() {
            Some(TextEnd::Malformed { byte_offset, bytes }) => {
                let error = self.input.malformed(bytes);
                Err(error.at(Place {
                    line: Some(self.line + line_breaks(&self.text)),
                    byte_offset: Some(*byte_offset),
                    ..Place::default()
                }))
            }
            // When the end is seen for the first time, the last row may still lack its terminator.
            Some(TextEnd::File) if !ended && !self.text.is_empty() => Ok(Advance::More),
            Some(TextEnd::File) => Ok(Advance::Finished),
            None => Ok(Advance::More),
        }
    }

    /// Returns the offset in the file of `text[at]`, which is not before the place counted to last.
    pub(super) fn offset_of(&self, at: usize) -> u64 {
        let (place, offset) = self.known_offset;
        offset + self.input.source_bytes(self.text.get(place..at).unwrap_or_default())
    }

    /// Returns the offset in the file of `text[start]`, counted from where it was asked for last.
    pub(super) fn start_offset(&mut self) -> u64 {
        let offset = self.offset_of(self.start);
        self.known_offset = (self.start, offset);
        offset
    }

    /// Makes an error at `text[at]`.
    pub(super) fn error_at(&self, at: usize, reason: Reason) -> FormatError {
        let byte_offset = self.offset_of(at);
        let line = self.line + line_breaks(&self.text[self.start..at]);
        FormatError::new(reason).at(Place {
            line: Some(line),
            byte_offset: Some(byte_offset),
            ..Place::default()
        })
    }
}

/// Finds the columns: the user's names, else the header's, else `column1`, `column2`, … as many as the first row has.
fn column_names(blocks: &mut Blocks, options: &CsvOptions) -> Result<Vec<String>, FormatError> {
    if !options.header
        && let Some(names) = &options.columns
    {
        return Ok(names.clone());
    }
    let mut rows = Rows::default();
    let found = loop {
        let split = blocks.split(1, None, &mut rows);
        if rows.count > 0 {
            let mut names = names_in(&blocks.text, &rows.fields, options);
            if options.header {
                number_repeated(&mut names);
                blocks.start = split.next;
                blocks.line += split.lines;
            } else {
                // Empty lines in front are no rows, however the blocks fall.
                let quote = usize::from(rows.fields.first().is_some_and(|span| span.form != FieldForm::Bare));
                blocks.start = rows.fields.first().map_or(blocks.start, |span| span.start as usize - quote);
                blocks.line += rows.line_shifts.first().map_or(0, |&(_, lines)| lines);
            }
            break names;
        }
        if let Advance::Finished = blocks.advance(&split).map_err(|(error, _)| error)? {
            break Vec::new();
        }
    };
    match (&options.columns, found.is_empty()) {
        (Some(names), true) => Ok(names.clone()),
        (None, true) => Err(FormatError::new(Reason::Empty)),
        (Some(names), false) if names.len() != found.len() => {
            let reason = Reason::Ragged { expected: names.len(), found: found.len() };
            Err(FormatError::new(reason).at(Place { line: Some(1), ..Place::default() }))
        }
        (Some(names), false) => Ok(names.clone()),
        (None, false) => Ok(found),
    }
}

/// Returns the names of the columns: those of the header, or numbers.
fn names_in(text: &[u8], fields: &[Span], options: &CsvOptions) -> Vec<String> {
    let numbered = (1..=fields.len()).map(|number| format!("column{number}"));
    if !options.header {
        return numbered.collect();
    }
    let rules = FieldRules::new(options);
    let mut written = TextColumn::new();
    written.extend(text, fields, 0, 1, &rules);
    let names = numbered.zip(written.texts());
    names.map(|(number, name)| if name.is_empty() { number } else { name }).collect()
}

/// Gives a name that is there already a number, as it is done with workbooks: columns are known by their names.
fn number_repeated(names: &mut [String]) {
    let mut taken = HashSet::new();
    for name in names {
        let base = name.clone();
        let mut number = 2;
        while !taken.insert(name.to_lowercase()) {
            *name = format!("{base}_{number}");
            number += 1;
        }
    }
}

pub(super) fn line_breaks(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

const BLOCK_BYTES: usize = 512 * 1024;

/// Files of fewer bytes are not read ahead.
const AHEAD_BYTES_MIN: u64 = 4 << 20;

#[cfg(test)]
mod tests;
