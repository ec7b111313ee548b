//! A file while it is loaded: its batches with the origins of their rows, and the rows that are none of its format.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use formats::bcp::{self, HostReader};
use formats::{BatchReader, RowLines};
use load::{Origin, Origins, SourceBatch};

use crate::host_file::HostOrigins;

/// What ends the reading of a source.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// What a refused row of a file leads to: nothing, or the end of the load.
type Refuse<'a> = &'a (dyn Fn(&bcp::RejectedRow) -> Option<SourceError> + Sync);

/// What yields the rows of a file.
pub enum Reader {
    /// A file that says what is in it.
    Typed {
        /// Its reader.
        reader: Box<dyn BatchReader>,
        /// Where it puts rows that are not rows of its columns; without it, the first ends the reading.
        rejects: Option<bcp::Rejects>,
    },
    /// One of bcp's.
    Host(Box<HostReader>),
}

impl Reader {
    /// A reader that ends at the first row that is none of the file's columns.
    pub fn typed(reader: Box<dyn BatchReader>) -> Self {
        Self::Typed { reader, rejects: None }
    }

    /// Goes on behind rows that cannot be read, where the format allows it.
    pub fn collect_rejects(&mut self) {
        if let Self::Typed { reader, rejects } = self {
            *rejects = reader.rejects();
        }
    }

    /// Of every batch.
    pub fn schema(&self) -> SchemaRef {
        match self {
            Self::Typed { reader, .. } => reader.schema(),
            Self::Host(reader) => reader.schema(),
        }
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

    /// Which line each row is on, where there are lines.
    pub fn lines(&self) -> Option<RowLines> {
        match self {
            Self::Typed { reader, .. } => reader.lines(),
            Self::Host(_) => None,
        }
    }
}

/// A reader that reports how far it is in its file, and hands over the rows that its file's format refuses.
pub struct LoadedFile<'a> {
    reader: Reader,
    refuse: Refuse<'a>,
    read: Arc<AtomicU64>,
    /// Rows of a typed file that were delivered.
    delivered: u64,
    /// How many of them stood before each refused row that is not known to stand before all rows to come.
    gaps: Vec<u64>,
    /// Refused rows that stood before the next batch.
    passed: u64,
}

impl<'a> LoadedFile<'a> {
    /// Reads on from where `reader` is; the bytes read are kept in `read`.
    pub fn new(reader: Reader, refuse: Refuse<'a>, read: Arc<AtomicU64>) -> Self {
        Self { reader, refuse, read, delivered: 0, gaps: Vec::new(), passed: 0 }
    }

    /// A batch whose rows are numbered as they stand in the file, refused ones included.
    fn numbered(&mut self, batch: RecordBatch) -> SourceBatch {
        let first = self.delivered;
        let end = first + batch.num_rows() as u64;
        self.delivered = end;
        if self.gaps.is_empty() && self.passed == 0 {
            return SourceBatch::from(batch);
        }
        let within = self.gaps.partition_point(|gap| *gap < end);
        let later = self.gaps.split_off(within);
        let gaps = std::mem::replace(&mut self.gaps, later);
        let origins = Numbered { first, passed: self.passed, gaps };
        self.passed += within as u64;
        SourceBatch::new(batch, Arc::new(origins))
    }
}

impl Iterator for LoadedFile<'_> {
    type Item = Result<SourceBatch, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.reader {
            Reader::Typed { reader, rejects } => {
                let next = reader.next();
                let mut end = None;
                for row in rejects.as_ref().map(bcp::Rejects::take).unwrap_or_default() {
                    let refused_before = self.passed + self.gaps.len() as u64;
                    self.gaps.push(row.row.saturating_sub(1 + refused_before));
                    end = (self.refuse)(&row);
                    if end.is_some() {
                        break;
                    }
                }
                match (end, next) {
                    (Some(end), _) => Some(Err(end)),
                    (None, Some(Ok(batch))) => Some(Ok(self.numbered(batch))),
                    (None, Some(Err(error))) => Some(Err(error.into())),
                    (None, None) => None,
                }
            }
            Reader::Host(reader) => reader.next().map(|batch| {
                let batch = batch?;
                match batch.rejected.iter().find_map(self.refuse) {
                    Some(end) => Err(end),
                    None => Ok(SourceBatch::new(batch.batch, Arc::new(HostOrigins(batch.positions)))),
                }
            }),
        };
        self.read.store(self.reader.bytes_read(), Ordering::Relaxed);
        next
    }
}

/// The rows of a batch between which others were refused.
struct Numbered {
    /// Rows delivered before the batch.
    first: u64,
    /// Rows refused before it.
    passed: u64,
    /// Rows delivered before each row that was refused within it, ascending.
    gaps: Vec<u64>,
}

impl Origins for Numbered {
    fn origin(&self, index: usize) -> Origin {
        let delivered = self.first + index as u64;
        let refused = self.passed + self.gaps.partition_point(|gap| *gap <= delivered) as u64;
        Origin { row: delivered + refused, byte_offset: None, raw: None }
    }
}
