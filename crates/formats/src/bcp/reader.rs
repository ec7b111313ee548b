//! Host file to batches.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use tds::{CodePage, Column, SqlType};

use super::HostType;
use super::ahead::{Ahead, Outcome};
use super::cells::SplitRows;
use super::format_file::{FormatFile, HostField};
use super::options::{ByteOrderMark, HostReadOptions};
use super::row_converter::{FieldReader, RowConverter};
use super::row_finder::RowFinder;
use super::splitter::Splitter;
use super::text_column::TextForm;
use super::window::Window;
use crate::deviation::{Deviation, Suffered, absorb};
use crate::rejected_rows::RejectedRow;
use crate::{Compression, FormatError, Location, Reason, RowPositions};

/// Reads a host file as an iterator of batches. Rows before an error are delivered; the error is the last
/// item.
///
/// [`HostReadOptions::batch_bytes`] and [`HostReadOptions::max_row_bytes`] bound the memory, for files of any
/// size.
pub struct HostReader {
    file: String,
    schema: SchemaRef,
    table_columns: Vec<usize>,
    work: Work,
    /// Fields of the file, from which converters for further threads are made.
    stored: Vec<HostField>,
    columns: Vec<Column>,
    options: HostReadOptions,
    /// Threads that are to read, before they have begun.
    threads: usize,
    rows_seen: u64,
    suffered: Vec<Suffered>,
    failure: Option<FormatError>,
    finished: bool,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

/// Place at which rows are read and converted.
enum Work {
    /// The caller's thread reads.
    Here(Box<Here>),
    /// Further threads read.
    Ahead(Ahead),
    /// Reading has ended.
    Ended,
}

struct Here {
    finder: RowFinder,
    converter: RowConverter,
    rows: SplitRows,
}

/// A batch, with the positions of its rows and the rows that were rejected.
#[derive(Debug)]
pub struct HostBatch {
    /// The rows that load, in [`HostReader::schema`]. May be empty.
    pub batch: RecordBatch,
    /// Places of the batch's rows in the file.
    pub positions: RowPositions,
    /// The rows that do not load, in file order.
    pub rejected: Vec<RejectedRow>,
}

const BLOCK_BYTES: usize = 1 << 20;
/// Rows that are split and converted at a time: they stay in the cache.
const CHUNK_ROWS: usize = 4096;
/// Smaller files are read by one thread.
const AHEAD_BYTES_MIN: u64 = 4 << 20;

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
    /// The errors of [`HostReader::open`].
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
    /// The errors of [`HostReader::open`].
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
        format_file.check_readable("format file").map_err(fail)?;
        let max_row_bytes = options.max_row_bytes.min(row_bytes_limit(columns));
        let options = HostReadOptions { max_row_bytes, ..options.clone() };
        let stored = format_file.stored_fields(options.native_version);
        let (converter, twice) = RowConverter::new(&stored, columns, &options);
        let cuts: Vec<usize> = converter.fields.iter().map(FieldReader::cut).collect();
        let splitter = Splitter::new(&stored, &cuts, &options);
        let window = Window::new(input, block_bytes, max_row_bytes);
        let names = converter.fields.iter().map(|field| field.name().to_owned()).collect();
        let mut finder = RowFinder::new(splitter, window, names, &options);
        let (mark, strips) = byte_order_mark(converter.fields.first(), options.byte_order_mark);
        let mut begin = || {
            twice.iter().try_for_each(|field| finder.suffer_or_fail(Deviation::ColumnTwice, Some(*field)))?;
            finder.begin(mark, strips)?;
            finder.skip_lines(options.skip_lines)
        };
        begin().map_err(|error| error.in_file(name))?;
        Ok(Self {
            file: name.to_owned(),
            schema: Arc::clone(&converter.schema),
            table_columns: converter.table_columns.clone(),
            rows_seen: 0,
            suffered: std::mem::take(&mut finder.suffered),
            work: Work::Here(Box::new(Here { finder, converter, rows: SplitRows::default() })),
            stored,
            columns: columns.to_vec(),
            options,
            threads: 1,
            failure: None,
            finished: false,
            bytes_read: Arc::default(),
            bytes_total: None,
        })
    }

    /// Lets up to this many threads read, if the file is known to be worth it. Rows and batches come in the
    /// file's order all the same, but batches are smaller. To be called before the first batch.
    pub fn use_threads(&mut self, threads: usize) {
        if self.bytes_total.is_some_and(|bytes| bytes >= AHEAD_BYTES_MIN) {
            self.read_ahead(threads);
        }
    }

    /// Sets the number of threads that read, for files of any size.
    pub fn read_ahead(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Takes the CPU time of those threads since the last call.
    pub fn take_helpers_cpu(&mut self) -> Duration {
        match &mut self.work {
            Work::Ahead(ahead) => ahead.take_cpu(),
            Work::Here(_) | Work::Ended => Duration::ZERO,
        }
    }

    /// Returns the schema of every batch: the columns that fields fill, in the table's order, in the exact
    /// form of the type mapping (or as text, by [`TextFields::Keep`](super::TextFields::Keep)).
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns for each column of a batch its index, from 0, in the columns given at the start.
    pub fn table_columns(&self) -> &[usize] {
        &self.table_columns
    }

    /// Counts the rows of the file that were delivered, rejected or skipped so far.
    pub fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// Returns the accepted deviations so far, which the original would not have mentioned.
    pub fn suffered(&self) -> &[Suffered] {
        &self.suffered
    }

    /// Counts the bytes taken from the file so far, as stored (before decompression).
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Returns the size of the file as stored, if it is known (not for a pipe).
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Keeps the rows to come as they stand in the file, as [`HostReadOptions::keep_raw_rows`] does.
    pub(crate) fn keep_raw_rows(&mut self) {
        if let Work::Here(here) = &mut self.work {
            here.converter.keep_raw_rows();
            self.options.keep_raw_rows = true;
        }
    }

    /// Hands the file over to threads.
    fn start_ahead(&mut self, threads: usize) -> Result<(), FormatError> {
        let Work::Here(here) = std::mem::replace(&mut self.work, Work::Ended) else { return Ok(()) };
        let Here { finder, converter, .. } = *here;
        let others = (1..threads).map(|_| RowConverter::new(&self.stored, &self.columns, &self.options).0);
        self.work = Work::Ahead(Ahead::start(finder, std::iter::once(converter).chain(others).collect())?);
        Ok(())
    }

    /// Takes the next batch from the threads.
    fn next_ahead(&mut self) -> Option<Result<HostBatch, FormatError>> {
        let Work::Ahead(ahead) = &mut self.work else { return None };
        let Outcome { batch, suffered, rows_seen } = ahead.next();
        absorb(&mut self.suffered, suffered);
        self.rows_seen = self.rows_seen.max(rows_seen);
        self.finished = !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl Here {
    /// Fills the batch until it is full, the file ends, or nothing more can be found. True at the end.
    fn fill(&mut self, suffered: &mut Vec<Suffered>) -> Result<bool, FormatError> {
        loop {
            let room = self.converter.room().min(CHUNK_ROWS);
            if room == 0 {
                return Ok(false);
            }
            let Some(chunk) = self.finder.find(room, &mut self.rows) else { return Ok(true) };
            let rows = self.rows.len();
            if rows > 0 && !chunk.is_skipped {
                self.converter.convert(self.finder.text(), chunk.place, &mut self.rows);
                absorb(suffered, std::mem::take(&mut self.converter.suffered));
            }
            let passed = self.finder.pass(&chunk, rows);
            absorb(suffered, std::mem::take(&mut self.finder.suffered));
            passed?;
        }
    }
}

impl Iterator for HostReader {
    type Item = Result<HostBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let threads = std::mem::replace(&mut self.threads, 1);
        if threads > 1
            && let Err(error) = self.start_ahead(threads)
        {
            self.finished = true;
            return Some(Err(error.in_file(&self.file)));
        }
        let Work::Here(here) = &mut self.work else {
            let next = if self.finished { None } else { self.next_ahead() };
            return next.map(|batch| batch.map_err(|error| error.in_file(&self.file)));
        };
        if !self.finished && self.failure.is_none() {
            match here.fill(&mut self.suffered) {
                Ok(ended) => self.finished = ended,
                Err(error) => self.failure = Some(error),
            }
            self.rows_seen = here.finder.rows_seen();
        }
        if !here.converter.is_empty() {
            return Some(here.converter.take_batch().map_err(|error| error.in_file(&self.file)));
        }
        self.finished = true;
        self.failure.take().map(|error| Err(error.in_file(&self.file)))
    }
}

/// Returns the byte-order mark that a file may begin with, and true if it is stepped over.
fn byte_order_mark(first: Option<&FieldReader>, option: ByteOrderMark) -> (&'static [u8], bool) {
    let Some(first) = first else { return (&[], false) };
    let mark: &[u8] = match first.stored.host_type {
        HostType::Char => b"\xEF\xBB\xBF",
        HostType::NChar if first.stored.prefix_length == 0 => b"\xFF\xFE",
        _ => return (&[], false),
    };
    let strips = match option {
        ByteOrderMark::Keep => false,
        ByteOrderMark::Strip => true,
        ByteOrderMark::Vendor => {
            first.stored.host_type == HostType::Char && first.text == TextForm::Page(CodePage::Utf8)
        }
    };
    (mark, strips)
}

/// Rows may not be longer: a window's positions are 32-bit, and one bit of them is taken.
const ROW_BYTES_LIMIT: usize = 1 << 30;
/// Nor these, of columns whose values are 8000 bytes at most: 1024 of them, in hexadecimal and in UTF-16, fit four times.
const SHORT_ROW_BYTES_LIMIT: usize = 128 << 20;

/// Returns the longest row of a file for such columns, in bytes. The limit reports a field without an end
/// before it fills the memory.
fn row_bytes_limit(columns: &[Column]) -> usize {
    let holds_long_values = |column: &Column| {
        let sql_type = column.sql_type();
        sql_type.is_plp() || sql_type.is_legacy_lob() || matches!(sql_type, SqlType::Udt { .. })
    };
    if columns.iter().any(holds_long_values) { ROW_BYTES_LIMIT } else { SHORT_ROW_BYTES_LIMIT }
}
