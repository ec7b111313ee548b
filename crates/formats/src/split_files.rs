//! Writes files with a limited number of rows into a directory.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::{BatchWriter, Compression, Folder, Format, FormatError, Written, create};

/// Writes rows to one file after the other, each with at most a given number of rows.
pub struct SplitFiles {
    folder: Arc<Folder>,
    schema: SchemaRef,
    format: Format,
    compression: Compression,
    rows_a_file: usize,
    current: Option<(Box<dyn BatchWriter>, usize)>,
    files: usize,
    written: Written,
}

impl SplitFiles {
    /// Starts with no file.
    pub fn new(
        folder: Arc<Folder>,
        schema: SchemaRef,
        format: &Format,
        compression: Compression,
        rows_a_file: usize,
    ) -> Self {
        Self {
            folder,
            schema,
            format: format.clone(),
            compression,
            rows_a_file: rows_a_file.max(1),
            current: None,
            files: 0,
            written: Written { rows: 0, bytes: 0 },
        }
    }

    fn next_file(&mut self) -> Result<Box<dyn BatchWriter>, FormatError> {
        self.files += 1;
        let location = self.folder.file(&part_name(self.files, &self.format, self.compression))?;
        create(&location, Arc::clone(&self.schema), &self.format, self.compression)
    }

    fn close(&mut self, writer: Box<dyn BatchWriter>) -> Result<(), FormatError> {
        let Written { rows, bytes } = writer.finish()?;
        self.written = Written { rows: self.written.rows + rows, bytes: self.written.bytes + bytes };
        Ok(())
    }
}

impl BatchWriter for SplitFiles {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let mut done = 0;
        while done < batch.num_rows() {
            let (mut writer, rows) = match self.current.take() {
                Some(current) => current,
                None => (self.next_file()?, 0),
            };
            let count = (self.rows_a_file - rows).min(batch.num_rows() - done);
            writer.write(&batch.slice(done, count))?;
            done += count;
            match rows + count == self.rows_a_file {
                true => self.close(writer)?,
                false => self.current = Some((writer, rows + count)),
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, FormatError> {
        // A result without rows makes one file as well, which names the columns.
        let last = match (self.current.take(), self.files) {
            (Some((writer, _)), _) => Some(writer),
            (None, 0) => Some(self.next_file()?),
            (None, _) => None,
        };
        if let Some(writer) = last {
            self.close(writer)?;
        }
        Ok(self.written)
    }
}

/// Returns the name of the file with this number, the first being 1: `part-00001.parquet`.
pub fn part_name(number: usize, format: &Format, compression: Compression) -> PathBuf {
    let suffix = match format {
        Format::Csv(options) if options.delimiter == "\t" => "tsv",
        Format::Csv(_) => "csv",
        Format::Parquet(_) => "parquet",
        Format::ArrowIpc(options) => match options.container {
            crate::IpcContainer::File => "arrow",
            crate::IpcContainer::Stream => "arrows",
        },
        Format::Host(_) => "bcp",
    };
    let compressed = match compression {
        Compression::None => "",
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    format!("part-{number:05}.{suffix}{compressed}").into()
}
