//! Arrow IPC: the file form (Feather version 2) and the stream form.

mod claims;
mod order;

use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::RecordBatch;

use crate::at_offset::AtOffset;
use crate::batch::check_schema;
use crate::compression::Compressor;
use crate::crew::Crew;
use crate::damage::contained;
use crate::location::Spooled;
use crate::order::{SortColumn, Sorted};
use crate::witness::Witness;
use crate::{BatchReader, BatchWriter, Compression, FormatError, Location, Reason, Written};
use claims::{CheckedStream, FalseClaim};

/// Options for writing Arrow IPC. Readers recognise file and stream by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IpcOptions {
    /// File or stream.
    pub container: IpcContainer,
    /// Compression of the buffers within.
    pub compression: IpcCompression,
}

/// The two forms of Arrow IPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpcContainer {
    /// A file with a footer, readable in any order.
    #[default]
    File,
    /// Messages one after another.
    Stream,
}

/// Compression of IPC buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpcCompression {
    /// Buffers as they are.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Reads Arrow IPC of either form.
pub struct IpcReader {
    file: String,
    schema: SchemaRef,
    batches: Batches,
    /// Rest of a batch larger than `batch_rows`.
    pending: Option<RecordBatch>,
    batch_rows: usize,
    /// Threads that are to decode, before they have begun.
    threads: usize,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    /// Witness of a file that is read by its index; a stream watches itself.
    witness: Option<Witness>,
    finished: bool,
}

enum Batches {
    File {
        reader: Box<FileReader<BufReader<AtOffset>>>,
        source: AtOffset,
    },
    /// A file whose batches are decoded by several threads; how many are still to come.
    Crew {
        crew: Crew<Result<RecordBatch, FormatError>>,
        left: usize,
    },
    Stream(Box<StreamReader<BufReader<CheckedStream<Rejoined>>>>),
}

/// The bytes that were read to distinguish file from stream, and the rest behind them.
type Rejoined = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

impl IpcReader {
    /// Opens a file or a stream; the magic bytes at its head decide which. A file that cannot seek (a pipe,
    /// compressed) is copied to a temporary file first.
    ///
    /// # Errors
    /// I/O failures, or bytes that are not Arrow IPC.
    pub fn open(
        location: &Location,
        compression: Compression,
        batch_rows: usize,
    ) -> Result<Self, FormatError> {
        let name = location.to_string();
        contained(|| Self::open_named(location, compression, batch_rows, &name))
            .map_err(|error| damaged(error).in_file(&name))
    }

    fn open_named(
        location: &Location,
        compression: Compression,
        batch_rows: usize,
        name: &str,
    ) -> Result<Self, FormatError> {
        let source = location.open_source()?;
        let mut input = compression.decompress(source.input)?;
        let mut head = Vec::new();
        input.by_ref().take(FILE_MAGIC.len() as u64).read_to_end(&mut head)?;
        let is_file = head == FILE_MAGIC;
        let mut input = Cursor::new(head).chain(input);
        let mut bytes_read = source.bytes_read;
        let mut bytes_total = source.bytes_total;
        let mut witness = None;
        let schema;
        let batches = if is_file {
            let is_seekable =
                compression == Compression::None && bytes_total.is_some() && location.can_seek()?;
            let seekable = match is_seekable {
                true => location.clone(),
                false => Location::Spooled(Spooled::fill(&mut input, name.to_owned())?),
            };
            bytes_read = Arc::default();
            let places = seekable.open_seekable(Arc::clone(&bytes_read))?;
            claims::check_file(&mut BufReader::new(places.uncounted()))?;
            witness = places.witness()?;
            bytes_total = Some(places.length()?);
            let source = places.whole([]);
            let reader = FileReader::try_new(BufReader::new(source.clone()), None)?;
            schema = reader.schema();
            Batches::File { reader: Box::new(reader), source }
        } else {
            let reader = StreamReader::try_new_buffered(CheckedStream::new(input), None)?;
            schema = reader.schema();
            Batches::Stream(Box::new(reader))
        };
        let file = name.to_owned();
        Ok(Self {
            file,
            schema,
            batches,
            pending: None,
            batch_rows,
            threads: 1,
            bytes_read,
            bytes_total,
            witness,
            finished: false,
        })
    }
}

impl Batches {
    fn next(&mut self) -> Option<Result<RecordBatch, FormatError>> {
        match self {
            Self::File { reader, .. } => reader.next().map(|batch| Ok(batch?)),
            Self::Stream(reader) => reader.next().map(|batch| Ok(batch?)),
            Self::Crew { crew, left } => {
                *left = left.checked_sub(1)?;
                let ended = || Err(io::Error::other("a thread that read the file has ended").into());
                Some(crew.next().unwrap_or_else(ended))
            }
        }
    }

    /// Reads the batches of a file, decoded by this many threads.
    fn by_threads(source: &AtOffset, threads: usize) -> Result<Self, FormatError> {
        let mut left = 0;
        let workers = (0..threads).map(|_| {
            let mut reader = FileReader::try_new(BufReader::new(source.at(0)), None)?;
            left = reader.num_batches();
            let work = move |index| {
                contained(|| {
                    reader.set_index(index)?;
                    let missing = || ArrowError::IpcError("a batch of the index is missing".to_owned());
                    Ok(reader.next().ok_or_else(missing)??)
                })
            };
            Ok(work)
        });
        let workers = workers.collect::<Result<Vec<_>, FormatError>>()?;
        Ok(Self::Crew { crew: Crew::start(0..left, workers)?, left })
    }
}

impl IpcReader {
    /// Starts threads that decode the batches of a file, if it is worth it.
    fn start_crew(&mut self, threads: usize) {
        let Batches::File { reader, source } = &self.batches else { return };
        if reader.num_batches() < 2 || self.bytes_total.is_none_or(|bytes| bytes < CREW_BYTES_MIN) {
            return;
        }
        // If no thread can be started, the caller decodes.
        if let Ok(batches) = contained(|| Batches::by_threads(source, threads)) {
            self.batches = batches;
        }
    }
}

impl Iterator for IpcReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let threads = std::mem::replace(&mut self.threads, 1);
        if threads > 1 {
            self.start_crew(threads);
        }
        let next = match self.pending.take() {
            Some(batch) => Ok(Some(batch)),
            None => contained(|| {
                let next = self.batches.next().transpose()?;
                match &self.witness {
                    Some(witness) if next.is_none() => witness.check()?,
                    _ => {}
                }
                Ok(next)
            }),
        };
        let batch = match next {
            Ok(Some(batch)) => batch,
            ended => {
                self.finished = true;
                return ended.map_err(|error| damaged(error).in_file(&self.file)).transpose();
            }
        };
        if batch.num_rows() <= self.batch_rows {
            return Some(Ok(batch));
        }
        self.pending = Some(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
        Some(Ok(batch.slice(0, self.batch_rows)))
    }
}

impl BatchReader for IpcReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn bytes_read(&self) -> u64 {
        let read = self.bytes_read.load(Ordering::Relaxed);
        self.bytes_total.map_or(read, |total| read.min(total))
    }

    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    fn sorted_by(&self, columns: &[SortColumn], strictly: bool) -> Result<Sorted, FormatError> {
        let Batches::File { source, .. } = &self.batches else { return Ok(Sorted::Unknown) };
        contained(|| order::sorted_by(source, columns, strictly))
            .map_err(|error| damaged(error).in_file(&self.file))
    }

    fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    fn take_helpers_cpu(&mut self) -> Duration {
        match &mut self.batches {
            Batches::Crew { crew, .. } => crew.take_cpu(),
            Batches::File { .. } | Batches::Stream(_) => Duration::ZERO,
        }
    }
}

/// Writes Arrow IPC of either form.
pub struct IpcWriter {
    file: String,
    schema: SchemaRef,
    writer: Writer,
    rows: u64,
}

enum Writer {
    File(Box<FileWriter<Compressor>>),
    Stream(Box<StreamWriter<Compressor>>),
}

impl IpcWriter {
    /// Starts a file.
    ///
    /// # Errors
    /// I/O failures.
    pub fn create(
        location: &Location,
        schema: SchemaRef,
        options: &IpcOptions,
        compression: Compression,
    ) -> Result<Self, FormatError> {
        let file = location.to_string();
        let codec = match options.compression {
            IpcCompression::None => None,
            IpcCompression::Lz4 => Some(CompressionType::LZ4_FRAME),
            IpcCompression::Zstd => Some(CompressionType::ZSTD),
        };
        let write_options = IpcWriteOptions::default().try_with_compression(codec)?;
        let output = compression.compress(location.create_target()?)?;
        let writer = match options.container {
            IpcContainer::File => FileWriter::try_new_with_options(output, &schema, write_options)
                .map(|writer| Writer::File(Box::new(writer))),
            IpcContainer::Stream => StreamWriter::try_new_with_options(output, &schema, write_options)
                .map(|writer| Writer::Stream(Box::new(writer))),
        };
        let writer = writer.map_err(|error| FormatError::from(error).in_file(&file))?;
        Ok(Self { file, schema, writer, rows: 0 })
    }
}

impl BatchWriter for IpcWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        check_schema(&self.schema, batch).map_err(|error| error.in_file(&self.file))?;
        let written = match &mut self.writer {
            Writer::File(writer) => writer.write(batch),
            Writer::Stream(writer) => writer.write(batch),
        };
        written.map_err(|error| FormatError::from(error).in_file(&self.file))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written, FormatError> {
        let Self { file, writer, rows, .. } = *self;
        let finish = || -> Result<u64, FormatError> {
            match writer {
                Writer::File(writer) => writer.into_inner()?.finish(),
                Writer::Stream(writer) => writer.into_inner()?.finish(),
            }
        };
        Ok(Written { rows, bytes: finish().map_err(|error| error.in_file(&file))? })
    }
}

/// Turns the error of a false claim into one of a damaged file, though it was found while reading.
fn damaged(error: FormatError) -> FormatError {
    let problem = match error.reason.as_ref() {
        Reason::Io(io) => io.get_ref().and_then(|inner| inner.downcast_ref()).map(FalseClaim::to_string),
        _ => None,
    };
    match problem {
        Some(problem) => FormatError { reason: Box::new(Reason::Damaged { problem }), ..error },
        None => error,
    }
}

/// Head of the file form; a stream begins with 0xFFFFFFFF or a length.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Files of fewer bytes are read by one thread.
const CREW_BYTES_MIN: u64 = 4 << 20;
