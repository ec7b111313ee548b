//! Sorted runs in temporary files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::frame;
use crate::database::shared::Shared;
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::record::KeyedRows;

/// Bytes of a chunk, about.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// A sorted run in a file.
#[derive(Debug)]
pub(super) struct Run {
    file: Temporary,
    /// Offset, length and checksum of each chunk.
    chunks: Vec<(u64, usize, u32)>,
    end: u64,
    /// Rows that make no chunk yet.
    open: Vec<u8>,
    last_key: Vec<u8>,
}

impl Run {
    pub fn create(shared: &Shared) -> Result<Self, EngineError> {
        let number = shared.next_sort.fetch_add(1, Ordering::Relaxed);
        let file = Temporary::create(&shared.volume, file_name(number))?;
        Ok(Self { file, chunks: Vec::new(), end: 0, open: Vec::new(), last_key: Vec::new() })
    }

    /// Returns true if all rows of the run come before a row with this key.
    pub fn is_before(&self, key: &[u8]) -> bool {
        self.last_key.as_slice() <= key
    }

    /// Adds a row.
    #[inline]
    pub fn write(&mut self, key: &[u8], record: &[u8]) -> Result<(), EngineError> {
        if self.open.len() + frame::bytes_of(key, record) > CHUNK_BYTES {
            self.flush()?;
        }
        frame::write(key, record, &mut self.open)
    }

    /// Adds a row by all of its bytes.
    #[inline]
    pub fn write_frame(&mut self, row: &[u8]) -> Result<(), EngineError> {
        if self.open.len() + row.len() > CHUNK_BYTES {
            self.flush()?;
        }
        self.open.extend_from_slice(row);
        Ok(())
    }

    /// Writes rows, which must come in the order of their keys.
    pub fn write_rows(&mut self, rows: &KeyedRows) -> Result<(), EngineError> {
        let mut rows = rows.keys.iter().zip(rows.records.iter());
        rows.try_for_each(|(key, record)| self.write(key, record))
    }

    /// Adds a chunk of rows as it is.
    pub fn write_chunk(&mut self, chunk: &[u8]) -> Result<(), EngineError> {
        self.flush()?;
        let io = |source| self.file.io("write", source);
        self.file.file.write_at(self.end, chunk).map_err(io)?;
        self.chunks.push((self.end, chunk.len(), crc32fast::hash(chunk)));
        self.end += chunk.len() as u64;
        let mut at = 0;
        while let Some((key, record)) = chunk.get(at..).and_then(frame::read) {
            at += frame::bytes_of(key, record);
            if at >= chunk.len() {
                self.last_key.clear();
                self.last_key.extend_from_slice(key);
            }
        }
        Ok(())
    }

    /// Writes all rows.
    pub fn end(mut self) -> Result<Self, EngineError> {
        self.flush()?;
        Ok(self)
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let open = std::mem::take(&mut self.open);
        self.write_chunk(&open)?;
        self.open = open;
        self.open.clear();
        Ok(())
    }

    /// Puts a chunk in the place of `bytes`. False: there are no more.
    fn read(&self, number: usize, bytes: &mut Vec<u8>) -> Result<bool, EngineError> {
        let Some((offset, length, checksum)) = self.chunks.get(number) else { return Ok(false) };
        bytes.resize(*length, 0);
        self.file.file.read_at(*offset, bytes).map_err(|source| self.file.io("read", source))?;
        if crc32fast::hash(bytes) != *checksum {
            let reason = "it is not what was written";
            return Err(self.file.io("read", std::io::Error::new(std::io::ErrorKind::InvalidData, reason)));
        }
        Ok(true)
    }
}

/// Reads a run from its start.
#[derive(Debug)]
pub(super) struct RunReader {
    run: Run,
    next_chunk: usize,
    chunk: Vec<u8>,
    at: usize,
}

impl RunReader {
    pub fn new(run: Run) -> Self {
        Self { run, next_chunk: 0, chunk: Vec::new(), at: 0 }
    }

    /// Makes sure that the next row is in memory, if there is one.
    #[inline]
    pub fn fetch(&mut self) -> Result<(), EngineError> {
        if self.at < self.chunk.len() {
            return Ok(());
        }
        self.at = 0;
        if !self.run.read(self.next_chunk, &mut self.chunk)? {
            self.chunk.clear();
        }
        self.next_chunk += 1;
        Ok(())
    }

    /// Returns the next row's key and record, which were [fetched](Self::fetch).
    #[inline]
    pub fn peek(&self) -> Option<(&[u8], &[u8])> {
        frame::read(self.chunk.get(self.at..)?)
    }

    /// Takes the next row.
    #[inline]
    pub fn advance(&mut self) {
        self.at += self.peek().map_or(0, |(key, record)| frame::bytes_of(key, record));
    }
}

/// A file that is removed with this value.
#[derive(Debug)]
struct Temporary {
    volume: Arc<dyn Volume>,
    name: String,
    file: Arc<dyn VolumeFile>,
}

impl Temporary {
    fn create(volume: &Arc<dyn Volume>, name: String) -> Result<Self, EngineError> {
        let path = volume.path(&name);
        let file =
            volume.create(&name).map_err(|source| EngineError::Io { operation: "create", path, source })?;
        Ok(Self { volume: Arc::clone(volume), name, file })
    }

    fn io(&self, operation: &'static str, source: std::io::Error) -> EngineError {
        EngineError::Io { operation, path: self.volume.path(&self.name), source }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A file that cannot be removed now is removed by the next opening of the database.
        let _ = self.volume.remove(&self.name);
    }
}

/// Returns the name of a file of sorted rows: `sort-<number>.tmp`.
fn file_name(number: u64) -> String {
    format!("sort-{number}.tmp")
}

/// Removes what sorts have left when the process ended.
pub(super) fn remove_left_over(volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
    let io = |operation, path| move |source| EngineError::Io { operation, path, source };
    for name in volume.list().map_err(io("list", volume.path("")))? {
        let number = name.strip_prefix("sort-").and_then(|rest| rest.strip_suffix(".tmp"));
        if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
            volume.remove(&name).map_err(io("remove", volume.path(&name)))?;
        }
    }
    Ok(())
}
