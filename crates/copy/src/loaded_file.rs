//! A file while it is loaded: its batches with the origins of their rows, and malformed rows.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use formats::bcp::{self, HostReader};
use formats::{BatchReader, Encoding, FormatError, RowLines, RowPositions, SortColumn, Sorted};
use load::{KeyOrder, Origin, Origins, SourceBatch, UnreadRow};

/// Yields the rows of a file.
pub enum Reader {
    /// A file whose format has types or names.
    Typed {
        /// The reader of the format.
        reader: Box<dyn BatchReader>,
        /// The collector of rows that do not fit the columns; without it, the first one ends the reading.
        rejects: Option<bcp::Rejects>,
    },
    /// A reader of a bcp format.
    Host(Box<HostReader>),
}

impl Reader {
    /// Makes a reader that ends at the first row that does not have the file's columns.
    pub fn typed(reader: Box<dyn BatchReader>) -> Self {
        Self::Typed { reader, rejects: None }
    }

    /// Continues after malformed rows, if the format allows it, and keeps the rows' bytes.
    pub fn collect_rejects(&mut self) {
        if let Self::Typed { reader, rejects } = self {
            *rejects = reader.rejects();
        }
    }

    /// Has so many threads read, at most.
    pub fn use_threads(&mut self, threads: usize) {
        match self {
            Self::Typed { reader, .. } => reader.use_threads(threads),
            Self::Host(reader) => reader.use_threads(threads),
        }
    }

    /// Takes the CPU time of those threads since the last call.
    fn take_helpers_cpu(&mut self) -> Duration {
        match self {
            Self::Typed { reader, .. } => reader.take_helpers_cpu(),
            Self::Host(reader) => reader.take_helpers_cpu(),
        }
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        match self {
            Self::Typed { reader, .. } => reader.schema(),
            Self::Host(reader) => reader.schema(),
        }
    }

    /// Checks whether the rows come in the order of a key.
    ///
    /// # Errors
    /// The key's columns cannot be read.
    pub fn follows(&self, order: &KeyOrder) -> Result<Sorted, FormatError> {
        let Self::Typed { reader, .. } = self else { return Ok(Sorted::Unknown) };
        let columns = order.key.iter().zip(&order.sources);
        let columns =
            columns.map(|((_, descending), index)| SortColumn { index: *index, descending: *descending });
        reader.sorted_by(&columns.collect::<Vec<_>>(), order.is_unique)
    }

    /// Bytes of the stored file that were read.
    pub fn bytes_read(&self) -> u64 {
        match self {
            Self::Typed { reader, .. } => reader.bytes_read(),
            Self::Host(reader) => reader.bytes_read(),
        }
    }

    /// Bytes of the stored file, if that is known.
    pub fn bytes_total(&self) -> Option<u64> {
        match self {
            Self::Typed { reader, .. } => reader.bytes_total(),
            Self::Host(reader) => reader.bytes_total(),
        }
    }

    /// Returns the line of each row, if the format has lines.
    pub fn lines(&self) -> Option<RowLines> {
        match self {
            Self::Typed { reader, .. } => reader.lines(),
            Self::Host(_) => None,
        }
    }

    /// Returns the file's encoding, where rows are handed out as text decoded from it.
    pub fn text_encoding(&self) -> Option<Encoding> {
        match self {
            Self::Typed { reader, .. } => reader.text_encoding(),
            Self::Host(_) => None,
        }
    }

    /// Returns the next batch, with the rows among its own that cannot be read. Those that stand behind the last batch
    /// come with an empty one.
    fn next(&mut self) -> (Option<Result<SourceBatch, FormatError>>, Vec<bcp::RejectedRow>) {
        match self {
            Self::Typed { reader, rejects } => {
                let next = reader.next().map(|batch| {
                    let batch = batch?;
                    Ok(match reader.positions() {
                        Some(positions) => SourceBatch::new(batch, Arc::new(FileOrigins(positions))),
                        None => SourceBatch::from(batch),
                    })
                });
                (next, rejects.as_ref().map(bcp::Rejects::take).unwrap_or_default())
            }
            Self::Host(reader) => match reader.next() {
                Some(Ok(batch)) => {
                    let origins = Arc::new(FileOrigins(batch.positions));
                    (Some(Ok(SourceBatch::new(batch.batch, origins))), batch.rejected)
                }
                Some(Err(error)) => (Some(Err(error)), Vec::new()),
                None => (None, Vec::new()),
            },
        }
    }
}

/// A malformed row of a file, as an error.
#[derive(Debug)]
pub struct UnfitRow {
    /// The row.
    pub row: bcp::RejectedRow,
    /// File and place.
    place: String,
}

impl fmt::Display for UnfitRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, row } = self;
        write!(f, "{place}, row {}", row.row)?;
        match (&row.reason, row.column.as_str(), row.value.as_str()) {
            (bcp::RejectReason::Row { .. }, ..) | (_, "", _) => write!(f, ": {}", row.reason),
            (_, column, value) => write!(f, ", column {column:?}: {} (value: {value})", row.reason),
        }
    }
}

impl Error for UnfitRow {}

/// Rows that cannot be read as a load takes them.
pub fn unread(file: &str, rows: Vec<bcp::RejectedRow>) -> Vec<UnreadRow> {
    rows.into_iter()
        .map(|row| UnreadRow {
            origin: Origin { row: row.row.saturating_sub(1), byte_offset: Some(row.byte_offset), raw: None },
            error: Arc::new(UnfitRow { row, place: file.to_owned() }),
        })
        .collect()
}

/// A reader that reports how far it is in its file.
pub struct LoadedFile {
    name: String,
    reader: Reader,
    read: Arc<AtomicU64>,
    /// The error to report next, if it is already known.
    pending: Option<FormatError>,
    ended: bool,
    deviations: Deviations,
}

/// Filled at the end of a file: what in it was read although it may mean something else.
pub type Deviations = Arc<Mutex<Vec<bcp::Suffered>>>;

impl LoadedFile {
    /// Continues with `reader` and counts the bytes read in `read`. `name` is the file's.
    pub fn new(name: &str, reader: Reader, read: Arc<AtomicU64>) -> Self {
        let deviations = Deviations::default();
        Self { name: name.to_owned(), reader, read, pending: None, ended: false, deviations }
    }

    /// Puts deviations here.
    pub fn with_deviations(self, deviations: &Deviations) -> Self {
        Self { deviations: Arc::clone(deviations), ..self }
    }
}

impl Iterator for LoadedFile {
    type Item = Result<SourceBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.pending.take() {
            return Some(Err(error));
        }
        if self.ended {
            return None;
        }
        let (next, refused) = self.reader.next();
        self.read.store(self.reader.bytes_read(), Ordering::Relaxed);
        let unread = unread(&self.name, refused);
        let batch = match next {
            Some(Ok(batch)) => batch,
            other => {
                self.ended = true;
                if let Reader::Host(reader) = &self.reader {
                    let mut deviations = self.deviations.lock().unwrap_or_else(PoisonError::into_inner);
                    deviations.extend_from_slice(reader.suffered());
                }
                self.pending = other.and_then(Result::err);
                if unread.is_empty() {
                    return self.pending.take().map(Err);
                }
                SourceBatch::from(RecordBatch::new_empty(self.reader.schema()))
            }
        };
        let cpu = self.reader.take_helpers_cpu();
        Some(Ok(batch.with_unread(unread).with_helpers_cpu(cpu)))
    }
}

/// Positions in a file as a load sees them.
pub struct FileOrigins(pub RowPositions);

impl Origins for FileOrigins {
    fn origin(&self, index: usize) -> Origin {
        Origin {
            row: self.row(index),
            byte_offset: Some(self.0.byte_offset(index)),
            raw: self.0.raw(index).map(<[u8]>::to_vec),
        }
    }

    fn row(&self, index: usize) -> u64 {
        self.0.row(index).saturating_sub(1)
    }
}
