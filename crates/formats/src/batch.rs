//! The two traits that every format implements.

use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::rejected_rows::Rejects;
use crate::{Encoding, FormatError, Reason, RowLines, RowPositions, SortColumn, Sorted};

/// A file being read: an iterator of batches that all have [`BatchReader::schema`].
///
/// After the first error the iterator ends.
pub trait BatchReader: Iterator<Item = Result<RecordBatch, FormatError>> + Send {
    /// Returns the schema of every batch.
    fn schema(&self) -> SchemaRef;

    /// Counts the bytes taken from the file so far, as stored (before decompression).
    fn bytes_read(&self) -> u64;

    /// Returns the size of the file as stored, if it is known (not for a pipe).
    fn bytes_total(&self) -> Option<u64>;

    /// Returns for line-oriented formats the map from rows to lines of the file. The handle stays valid while
    /// the reader runs in another thread.
    fn lines(&self) -> Option<RowLines> {
        None
    }

    /// Collects rows that cannot be read instead of failing at the first, for formats that can go on behind one: delimited
    /// text and host files. The handle stays valid while the reader runs in another thread. A rejected row is numbered as
    /// it stands in the file, and so are rows in errors and in [`BatchReader::lines`].
    fn rejects(&mut self) -> Option<Rejects> {
        None
    }

    /// Returns the places of the last yielded batch's rows in the file, and their bytes. Given once for each
    /// batch, and only after [`BatchReader::rejects`] was asked for.
    fn positions(&mut self) -> Option<RowPositions> {
        None
    }

    /// Decides if all rows are sorted by columns of the schema, NULL before all values and numbers by size;
    /// `strictly` if no two rows may have the same key. Only formats that can find out for little know it.
    ///
    /// # Errors
    /// The columns cannot be read.
    fn sorted_by(&self, _columns: &[SortColumn], _strictly: bool) -> Result<Sorted, FormatError> {
        Ok(Sorted::Unknown)
    }

    /// Lets up to this many threads read, where the format and the file allow it. Batches come in the file's
    /// order all the same, but may have other sizes. To be called before the first batch.
    fn use_threads(&mut self, _threads: usize) {}

    /// Takes the CPU time of threads besides the caller's that made the batches, since the last call.
    fn take_helpers_cpu(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Returns the file's encoding, for text that is handed out in UTF-8, rows in [`BatchReader::positions`]
    /// included.
    fn text_encoding(&self) -> Option<Encoding> {
        None
    }
}

/// A file being written. If it is dropped without [`BatchWriter::finish`], nothing appears under the final name.
pub trait BatchWriter: Send {
    /// Appends the rows of `batch`, whose column types must be those of the schema given to [`create`](crate::create).
    ///
    /// # Errors
    /// A value that the format or the encoding cannot hold, or an I/O failure. The writer is of no use afterwards.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError>;

    /// Completes the file and gives it its final name.
    ///
    /// # Errors
    /// An I/O failure; then nothing stands under the final name.
    fn finish(self: Box<Self>) -> Result<Written, FormatError>;
}

/// Rows and bytes of a finished file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of rows written.
    pub rows: u64,
    /// Bytes of the file as stored (after compression).
    pub bytes: u64,
}

/// Checks that a batch has the columns a file was started with. Nullability and metadata may differ.
pub(crate) fn check_schema(schema: &SchemaRef, batch: &RecordBatch) -> Result<(), FormatError> {
    let mismatch =
        |expected: String, found: String| FormatError::new(Reason::SchemaMismatch { expected, found });
    if schema.fields().len() != batch.num_columns() {
        let columns = |count: usize| format!("{count} columns");
        return Err(mismatch(columns(schema.fields().len()), columns(batch.num_columns())));
    }
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        if field.data_type() != array.data_type() {
            let error = mismatch(field.data_type().to_string(), array.data_type().to_string());
            return Err(error.in_column(field.name()));
        }
    }
    Ok(())
}
