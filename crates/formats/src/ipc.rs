//! Arrow IPC: the file form (Feather version 2) and the stream form.

mod claims;

use std::fs::File;
use std::io::{BufReader, Chain, Cursor, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::RecordBatch;

use crate::batch::check_schema;
use crate::compression::Compressor;
use crate::damage::contained;
use crate::location::{Counted, Spooled};
use crate::witness::Witness;
use crate::{BatchReader, BatchWriter, Compression, FormatError, Location, Reason, Written};
use claims::{CheckedStream, FalseClaim};

/// How Arrow IPC is written. Readers recognise file and stream by themselves.
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
    /// With a footer, readable in any order.
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
    /// What is left of a batch larger than `batch_rows`.
    pending: Option<RecordBatch>,
    batch_rows: usize,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    /// Of a file that is read by its index; a stream watches itself.
    witness: Option<Witness>,
    finished: bool,
}

enum Batches {
    File(Box<FileReader<BufReader<Counted<File>>>>),
    Stream(Box<StreamReader<BufReader<CheckedStream<Rejoined>>>>),
}

/// The bytes looked at to tell file from stream, and the rest behind them.
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
        let batches = if is_file {
            let seekable = match (location, compression) {
                (Location::Path(_) | Location::Spooled(_), Compression::None) if bytes_total.is_some() => {
                    location.clone()
                }
                _ => Location::Spooled(Spooled::fill(&mut input, name.to_owned())?),
            };
            let mut file = seekable.open_file()?;
            claims::check_file(&mut BufReader::new(&file))?;
            file.rewind()?;
            witness = Witness::of(&file)?;
            bytes_total = Some(file.metadata()?.len());
            bytes_read = Arc::default();
            let counted = Counted { inner: file, bytes: Arc::clone(&bytes_read) };
            Batches::File(Box::new(FileReader::try_new(BufReader::new(counted), None)?))
        } else {
            Batches::Stream(Box::new(StreamReader::try_new_buffered(CheckedStream::new(input), None)?))
        };
        let schema = match &batches {
            Batches::File(reader) => reader.schema(),
            Batches::Stream(reader) => reader.schema(),
        };
        let file = name.to_owned();
        Ok(Self {
            file,
            schema,
            batches,
            pending: None,
            batch_rows,
            bytes_read,
            bytes_total,
            witness,
            finished: false,
        })
    }
}

impl Batches {
    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

impl Iterator for IpcReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
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

/// A false claim is a fault of the file, though it was found while reading.
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
