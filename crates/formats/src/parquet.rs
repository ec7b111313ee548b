//! Parquet files, row group by row group in both directions.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};

use crate::batch::check_schema;
use crate::compression::Compressor;
use crate::damage::contained;
use crate::location::{Counted, Spooled};
use crate::witness::Witness;
use crate::{BatchReader, BatchWriter, Compression, FormatError, Location, Written};

/// How a Parquet file is written. Reading needs no options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParquetOptions {
    /// Codec of the pages.
    pub compression: ParquetCompression,
    /// Rows of a row group, at most.
    pub row_group_rows: usize,
    /// A row group ends once its encoded pages reach this size; bounds the writer's memory.
    pub row_group_bytes: usize,
}

/// Codec of Parquet pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParquetCompression {
    /// Pages as they are.
    None,
    /// Snappy: fast, and read by everything.
    #[default]
    Snappy,
    /// Zstandard: smaller.
    Zstd,
    /// LZ4, raw blocks.
    Lz4,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            compression: ParquetCompression::default(),
            row_group_rows: 1 << 20,
            row_group_bytes: 128 << 20,
        }
    }
}

/// Reads a Parquet file. Columns have their own types, those of the embedded Arrow schema if there is one.
pub struct ParquetReader {
    file: String,
    schema: SchemaRef,
    batches: ParquetRecordBatchReader,
    bytes_read: Arc<AtomicU64>,
    bytes_total: u64,
    witness: Option<Witness>,
    failed: bool,
}

impl ParquetReader {
    /// Opens a file. A pipe or a compressed file is copied to a temporary file first, since a Parquet file is read
    /// from its end.
    ///
    /// # Errors
    /// I/O failures, or a file that is not Parquet.
    pub fn open(
        location: &Location,
        compression: Compression,
        batch_rows: usize,
    ) -> Result<Self, FormatError> {
        let name = location.to_string();
        let chunks = CountedChunks::open(location, compression)?;
        contained(|| Self::from_chunks(chunks, &name, batch_rows)).map_err(|error| error.in_file(&name))
    }

    fn from_chunks(chunks: CountedChunks, name: &str, batch_rows: usize) -> Result<Self, FormatError> {
        let bytes_read = Arc::clone(&chunks.bytes);
        let bytes_total = chunks.len();
        let witness = Witness::of(&chunks.file)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(chunks)?;
        let schema = Arc::clone(builder.schema());
        let batches = builder.with_batch_size(batch_rows).build()?;
        Ok(Self { file: name.to_owned(), schema, batches, bytes_read, bytes_total, witness, failed: false })
    }
}

impl Iterator for ParquetReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = contained(|| match self.batches.next() {
            // The batches come without the file's own metadata.
            Some(batch) => Ok(Some(batch?.with_schema(Arc::clone(&self.schema))?)),
            None => match &self.witness {
                Some(witness) => Ok(witness.check().map(|()| None)?),
                None => Ok(None),
            },
        });
        self.failed = next.is_err();
        next.map_err(|error| error.in_file(&self.file)).transpose()
    }
}

impl BatchReader for ParquetReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed).min(self.bytes_total)
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(self.bytes_total)
    }
}

/// Writes a Parquet file; field and schema metadata are kept in the embedded Arrow schema.
pub struct ParquetWriter {
    file: String,
    schema: SchemaRef,
    writer: ArrowWriter<Compressor>,
    row_group_bytes: usize,
    rows: u64,
}

impl ParquetWriter {
    /// Starts a file.
    ///
    /// # Errors
    /// I/O failures, or a column type that Parquet cannot carry.
    pub fn create(
        location: &Location,
        schema: SchemaRef,
        options: &ParquetOptions,
        compression: Compression,
    ) -> Result<Self, FormatError> {
        if options.row_group_rows == 0 {
            return Err(FormatError::option("row_group_rows", "must be at least 1"));
        }
        let file = location.to_string();
        let codec = match options.compression {
            ParquetCompression::None => Codec::UNCOMPRESSED,
            ParquetCompression::Snappy => Codec::SNAPPY,
            ParquetCompression::Zstd => Codec::ZSTD(ZstdLevel::default()),
            ParquetCompression::Lz4 => Codec::LZ4_RAW,
        };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .build();
        let output = compression.compress(location.create_target()?)?;
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties))
            .map_err(|error| FormatError::from(error).in_file(&file))?;
        Ok(Self { file, schema, writer, row_group_bytes: options.row_group_bytes, rows: 0 })
    }
}

impl BatchWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let write = |writer: &mut ArrowWriter<Compressor>| -> Result<(), FormatError> {
            check_schema(&self.schema, batch)?;
            writer.write(batch)?;
            if writer.in_progress_size() >= self.row_group_bytes {
                writer.flush()?;
            }
            Ok(())
        };
        write(&mut self.writer).map_err(|error| error.in_file(&self.file))?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written, FormatError> {
        let Self { file, writer, rows, .. } = *self;
        let finish = || -> Result<u64, FormatError> { writer.into_inner()?.finish() };
        Ok(Written { rows, bytes: finish().map_err(|error| error.in_file(&file))? })
    }
}

/// A seekable file that counts what is read from it.
pub(crate) struct CountedChunks {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl CountedChunks {
    pub(crate) fn open(location: &Location, compression: Compression) -> Result<Self, FormatError> {
        let file = match (location, compression) {
            (Location::Path(_) | Location::Spooled(_), Compression::None) => location.open_file()?,
            _ => spool(location, compression)?.open_file()?,
        };
        Ok(Self { file, bytes: Arc::default() })
    }
}

/// Copies what a location gives, decompressed, to a temporary file.
pub(crate) fn spool(location: &Location, compression: Compression) -> Result<Location, FormatError> {
    let source = location.open_source()?;
    let mut input = compression.decompress(source.input)?;
    Ok(Location::Spooled(Spooled::fill(&mut input, source.name)?))
}

impl Length for CountedChunks {
    fn len(&self) -> u64 {
        Length::len(&self.file)
    }
}

impl ChunkReader for CountedChunks {
    type T = BufReader<Counted<File>>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Counted { inner: file, bytes: Arc::clone(&self.bytes) }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // A corrupt footer may claim any length.
        let available = Length::len(&self.file).saturating_sub(start);
        if length as u64 > available {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "{length} bytes expected at offset {start}, {available} left"
            )));
        }
        let mut buffer = vec![0; length];
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Counted { inner: file, bytes: Arc::clone(&self.bytes) }.read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}
