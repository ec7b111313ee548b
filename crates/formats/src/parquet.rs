//! Parquet files, row group by row group in both directions.

mod int96;
mod lanes;
mod order;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::Length;

use lanes::Lanes;

use crate::batch::check_schema;
use crate::compression::Compressor;
use crate::counted_chunks::CountedChunks;
use crate::damage::contained;
use crate::witness::Witness;
use crate::{BatchReader, BatchWriter, Compression, FormatError, Location, SortColumn, Sorted, Written};

/// Options for writing a Parquet file. Reading needs no options.
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
    batches: Batches,
    chunks: CountedChunks,
    /// Another reader of the file, for looks at single columns.
    places: CountedChunks,
    metadata: ArrowReaderMetadata,
    batch_rows: usize,
    /// Threads that are to read, before they have begun.
    threads: usize,
    bytes_read: Arc<AtomicU64>,
    bytes_total: u64,
    witness: Option<Witness>,
    failed: bool,
}

enum Batches {
    /// Read by the caller.
    Here(ParquetRecordBatchReader),
    /// Read by several threads.
    Lanes(Lanes),
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
        let bytes_total = chunks.len();
        let witness = chunks.source.witness()?;
        let metadata = ArrowReaderMetadata::load(&chunks, ArrowReaderOptions::default())?;
        let metadata = int96::fitted(&chunks, metadata)?;
        let places = chunks;
        let chunks = places.whole(metadata.metadata());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone());
        let batches = builder.with_batch_size(batch_rows).build()?;
        Ok(Self {
            file: name.to_owned(),
            schema: Arc::clone(metadata.schema()),
            batches: Batches::Here(batches),
            bytes_read: chunks.source.counter(),
            chunks,
            places,
            metadata,
            batch_rows,
            threads: 1,
            bytes_total,
            witness,
            failed: false,
        })
    }
}

impl ParquetReader {
    /// Deals the columns out to threads, if the file is worth it.
    fn start_lanes(&mut self, threads: usize) {
        let row_groups = self.metadata.metadata().row_groups();
        let bytes: i64 = row_groups.iter().map(|group| group.total_byte_size()).sum();
        if bytes < LANES_BYTES_MIN {
            return;
        }
        // If no thread can be started, the caller reads.
        if let Ok(Some(lanes)) = Lanes::start(&self.chunks, &self.metadata, self.batch_rows, threads) {
            self.batches = Batches::Lanes(lanes);
        }
    }
}

impl Batches {
    fn next(&mut self, schema: &SchemaRef) -> Option<Result<RecordBatch, FormatError>> {
        match self {
            Self::Here(batches) => batches.next().map(|batch| {
                // The batches come without the file's own metadata.
                Ok(batch?.with_schema(Arc::clone(schema))?)
            }),
            Self::Lanes(lanes) => lanes.next(schema),
        }
    }
}

impl Iterator for ParquetReader {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let threads = std::mem::replace(&mut self.threads, 1);
        if threads > 1 {
            self.start_lanes(threads);
        }
        let next = contained(|| match self.batches.next(&self.schema) {
            Some(batch) => batch.map(Some),
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

    fn sorted_by(&self, columns: &[SortColumn], strictly: bool) -> Result<Sorted, FormatError> {
        // These columns are read again with the rows, so their bytes are not counted.
        let chunks = self.places.uncounted();
        let sorted = contained(|| order::sorted_by(&chunks, &self.metadata, columns, strictly));
        sorted.map_err(|error| error.in_file(&self.file))
    }

    fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    fn take_helpers_cpu(&mut self) -> Duration {
        match &mut self.batches {
            Batches::Here(_) => Duration::ZERO,
            Batches::Lanes(lanes) => lanes.take_cpu(),
        }
    }
}

/// Files of fewer bytes, uncompressed, are read by one thread.
const LANES_BYTES_MIN: i64 = 4 << 20;

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
