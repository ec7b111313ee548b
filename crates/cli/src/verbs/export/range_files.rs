//! A directory with a file for each range, written by the readers themselves.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use formats::{BatchWriter, Compression, Folder, Format, FormatError, Written, part_name};
use load::read::RangeSink;

type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Files of a directory, numbered as their ranges. A range without rows has no file.
pub struct RangeFiles {
    folder: Arc<Folder>,
    format: Format,
    compression: Compression,
    open: Mutex<HashMap<usize, Box<dyn BatchWriter>>>,
    written: Mutex<Written>,
    rows: AtomicU64,
    count: Box<dyn Fn(u64) + Send + Sync>,
    is_stopped: AtomicBool,
}

impl RangeFiles {
    /// Starts with no file.
    pub fn new(
        folder: Arc<Folder>,
        format: Format,
        compression: Compression,
        count: Box<dyn Fn(u64) + Send + Sync>,
    ) -> Self {
        Self {
            folder,
            format,
            compression,
            open: Mutex::default(),
            written: Mutex::new(Written { rows: 0, bytes: 0 }),
            rows: AtomicU64::new(0),
            count,
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Completes the directory. Without any rows it has one file, which shows the columns.
    pub fn finish(self: Arc<Self>, schema: SchemaRef) -> Result<Written, FormatError> {
        let written = *self.written();
        match written.rows {
            0 => self.create(0, schema)?.finish(),
            _ => Ok(written),
        }
    }

    fn create(&self, range: usize, schema: SchemaRef) -> Result<Box<dyn BatchWriter>, FormatError> {
        let name = part_name(range + 1, &self.format, self.compression);
        formats::create(&self.folder.file(&name)?, schema, &self.format, self.compression)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<usize, Box<dyn BatchWriter>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RangeSink for RangeFiles {
    fn begin(&self, _: usize) -> bool {
        !self.is_stopped.load(Ordering::Relaxed)
    }

    fn push(&self, range: usize, batch: RecordBatch) -> Result<bool, SinkError> {
        // Taken out, so that other ranges are written meanwhile.
        let open = self.open().remove(&range);
        let mut writer = match open {
            Some(writer) => writer,
            None => self.create(range, batch.schema())?,
        };
        writer.write(&batch)?;
        self.open().insert(range, writer);
        let rows = batch.num_rows() as u64;
        (self.count)(self.rows.fetch_add(rows, Ordering::Relaxed) + rows);
        Ok(!self.is_stopped.load(Ordering::Relaxed))
    }

    fn restart(&self, range: usize) -> bool {
        // Its file was under a temporary name, and goes with the writer.
        drop(self.open().remove(&range));
        true
    }

    fn complete(&self, range: usize) -> Result<(), SinkError> {
        let open = self.open().remove(&range);
        if let Some(writer) = open {
            let done = writer.finish()?;
            let mut written = self.written();
            *written = Written { rows: written.rows + done.rows, bytes: written.bytes + done.bytes };
        }
        Ok(())
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
