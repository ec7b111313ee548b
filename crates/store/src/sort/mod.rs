//! Sorting more rows than fit the memory given: sorted runs in temporary files of the volume, merged.
//!
//! A run is a sequence of chunks, each an Arrow message with its checksum kept in memory. The files are removed when the sort
//! ends, however it ends. Files that a crash has left are removed when the database is opened.

pub mod message;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::database::shared::Shared;
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use message::{MessageEncoder, decode_message};

/// Rows of a sorted chunk, and its aim in bytes.
const CHUNK_ROWS: usize = 4096;
const CHUNK_BYTES: usize = 256 << 10;
/// Runs that are merged at once, at least.
const LEAST_FAN_IN: usize = 4;

/// Sorts rows by keys that order as byte strings. Rows with equal keys stay in the order in which they came.
#[derive(Debug)]
pub(crate) struct Sorter {
    shared: Arc<Shared>,
    memory_bytes: usize,
    /// Rows with their keys as one more column.
    batches: Vec<RecordBatch>,
    bytes: usize,
    runs: Vec<Run>,
}

impl Sorter {
    /// A sort that keeps up to `memory_bytes` of rows in memory, and at least one batch.
    pub fn new(shared: &Arc<Shared>, memory_bytes: usize) -> Self {
        Self { shared: Arc::clone(shared), memory_bytes, batches: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    /// Takes rows with their keys.
    pub fn push(&mut self, batch: &RecordBatch, keys: BinaryArray) -> Result<(), EngineError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new("key", DataType::Binary, false)));
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(keys));
        let keyed = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        self.bytes += bytes_of(&keyed);
        self.batches.push(keyed);
        if self.bytes > self.memory_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// The rows in order.
    pub fn finish(mut self) -> Result<Sorted, EngineError> {
        if self.runs.is_empty() {
            return Ok(Sorted::Memory(MemoryRun::new(std::mem::take(&mut self.batches))));
        }
        if !self.batches.is_empty() {
            self.spill()?;
        }
        let fan_in = (self.memory_bytes / CHUNK_BYTES).max(LEAST_FAN_IN);
        let mut runs = std::mem::take(&mut self.runs);
        while runs.len() > fan_in {
            let mut merged = Vec::new();
            let mut left = runs.into_iter().peekable();
            while left.peek().is_some() {
                let mut merge = Merge::new(left.by_ref().take(fan_in).collect())?;
                let mut run = Run::create(&self.shared)?;
                while let Some(chunk) = merge.next_chunk()? {
                    run.write(&chunk)?;
                }
                merged.push(run);
            }
            runs = merged;
        }
        Ok(Sorted::Files(Merge::new(runs)?))
    }

    fn spill(&mut self) -> Result<(), EngineError> {
        let mut sorted = MemoryRun::new(std::mem::take(&mut self.batches));
        self.bytes = 0;
        let mut run = Run::create(&self.shared)?;
        while let Some(chunk) = sorted.next_chunk()? {
            run.write(&chunk)?;
        }
        self.runs.push(run);
        Ok(())
    }
}

/// Rows in the order of their keys.
#[derive(Debug)]
pub(crate) enum Sorted {
    Memory(MemoryRun),
    Files(Merge),
}

impl Sorted {
    /// The next rows, and their keys.
    pub fn next(&mut self) -> Result<Option<(RecordBatch, BinaryArray)>, EngineError> {
        let chunk = match self {
            Self::Memory(run) => run.next_chunk()?,
            Self::Files(merge) => merge.next_chunk()?,
        };
        let Some(chunk) = chunk else { return Ok(None) };
        let keys = keys_in(&chunk)?.clone();
        let all: Vec<usize> = (0..chunk.num_columns().saturating_sub(1)).collect();
        Ok(Some((chunk.project(&all)?, keys)))
    }
}

/// Batches in memory and the order of their rows.
#[derive(Debug)]
pub(crate) struct MemoryRun {
    batches: Vec<RecordBatch>,
    order: Option<Vec<(usize, usize)>>,
    done: usize,
}

impl MemoryRun {
    fn new(batches: Vec<RecordBatch>) -> Self {
        Self { batches, order: None, done: 0 }
    }

    fn next_chunk(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let order = match &self.order {
            Some(order) => order,
            None => {
                let keys = self.batches.iter().map(keys_in).collect::<Result<Vec<_>, _>>()?;
                let rows = keys.iter().enumerate();
                let mut order: Vec<(&[u8], usize, usize)> = rows
                    .flat_map(|(batch, keys)| (0..keys.len()).map(move |row| (keys.value(row), batch, row)))
                    .collect();
                // Equal keys: by batch and row, as they came.
                order.sort_unstable();
                self.order.insert(order.into_iter().map(|(_, batch, row)| (batch, row)).collect())
            }
        };
        let total: usize = self.batches.iter().map(bytes_of).sum();
        let rows = chunk_rows(total, order.len());
        let Some(chunk) = order.get(self.done..(self.done + rows).min(order.len())) else { return Ok(None) };
        if chunk.is_empty() {
            return Ok(None);
        }
        self.done += chunk.len();
        gather(&self.batches, chunk).map(Some)
    }
}

/// Rows that make about [`CHUNK_BYTES`].
fn chunk_rows(bytes: usize, rows: usize) -> usize {
    let row = (bytes / rows.max(1)).max(1);
    (CHUNK_BYTES / row).clamp(1, CHUNK_ROWS)
}

/// A sorted run in a file.
#[derive(Debug)]
struct Run {
    file: Temporary,
    schema: Option<SchemaRef>,
    /// Offset, length and checksum of each chunk.
    chunks: Vec<(u64, usize, u32)>,
    end: u64,
}

impl Run {
    fn create(shared: &Shared) -> Result<Self, EngineError> {
        let number = shared.next_sort.fetch_add(1, Ordering::Relaxed);
        let file = Temporary::create(&shared.volume, file_name(number))?;
        Ok(Self { file, schema: None, chunks: Vec::new(), end: 0 })
    }

    fn write(&mut self, chunk: &RecordBatch) -> Result<(), EngineError> {
        let schema = self.schema.get_or_insert_with(|| chunk.schema());
        let mut encoder = MessageEncoder::new(schema)?;
        let bytes: Vec<u8> =
            encoder.encode(chunk)?.iter().flat_map(|piece| piece.as_slice().iter().copied()).collect();
        let io = |source| self.file.io("write", source);
        self.file.file.write_at(self.end, &bytes).map_err(io)?;
        self.chunks.push((self.end, bytes.len(), crc32fast::hash(&bytes)));
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn read(&self, number: usize) -> Result<Option<RecordBatch>, EngineError> {
        let (Some((offset, length, checksum)), Some(schema)) = (self.chunks.get(number), &self.schema) else {
            return Ok(None);
        };
        let mut bytes = vec![0; *length];
        self.file.file.read_at(*offset, &mut bytes).map_err(|source| self.file.io("read", source))?;
        let damaged = |reason: String| {
            self.file.io("read", std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
        };
        if crc32fast::hash(&bytes) != *checksum {
            return Err(damaged("it is not what was written".to_owned()));
        }
        let batch = decode_message(&Buffer::from_vec(bytes), schema);
        batch.map(Some).map_err(|error| damaged(error.reason))
    }
}

/// Merges runs. Of equal keys those of the earlier run come first.
#[derive(Debug)]
pub(crate) struct Merge {
    runs: Vec<Cursor>,
    /// The next key of each run that is not at its end.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

#[derive(Debug)]
struct Cursor {
    run: Run,
    next_chunk: usize,
    chunk: Option<RecordBatch>,
    row: usize,
}

impl Cursor {
    /// The key of the next row; None: there is none.
    fn key(&mut self) -> Result<Option<Vec<u8>>, EngineError> {
        if self.chunk.as_ref().is_none_or(|chunk| self.row >= chunk.num_rows()) {
            self.chunk = self.run.read(self.next_chunk)?;
            self.next_chunk += 1;
            self.row = 0;
        }
        let Some(chunk) = &self.chunk else { return Ok(None) };
        Ok(Some(keys_in(chunk)?.value(self.row).to_vec()))
    }
}

impl Merge {
    fn new(runs: Vec<Run>) -> Result<Self, EngineError> {
        let cursors = runs.into_iter().map(|run| Cursor { run, next_chunk: 0, chunk: None, row: 0 });
        let mut merge = Self { runs: cursors.collect(), heap: BinaryHeap::new() };
        for (number, cursor) in merge.runs.iter_mut().enumerate() {
            merge.heap.extend(cursor.key()?.map(|key| Reverse((key, number))));
        }
        Ok(merge)
    }

    fn next_chunk(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        // Chunks that rows were taken of, and which of them each run is at.
        let mut sources: Vec<RecordBatch> = Vec::new();
        let mut at: Vec<Option<(usize, usize)>> = vec![None; self.runs.len()];
        let mut rows = Vec::new();
        let mut wanted = CHUNK_ROWS;
        while rows.len() < wanted {
            let Some(Reverse((_, number))) = self.heap.pop() else { break };
            let Some(cursor) = self.runs.get_mut(number) else { break };
            let Some(chunk) = &cursor.chunk else { break };
            let Some(place) = at.get_mut(number) else { break };
            let source = match *place {
                Some((source, of)) if of == cursor.next_chunk => source,
                _ => {
                    wanted = wanted.min(chunk_rows(bytes_of(chunk), chunk.num_rows()));
                    sources.push(chunk.clone());
                    *place = Some((sources.len() - 1, cursor.next_chunk));
                    sources.len() - 1
                }
            };
            rows.push((source, cursor.row));
            cursor.row += 1;
            self.heap.extend(cursor.key()?.map(|key| Reverse((key, number))));
        }
        if rows.is_empty() { Ok(None) } else { gather(&sources, &rows).map(Some) }
    }
}

/// Rows of several batches of one schema, by batch and row.
fn gather(batches: &[RecordBatch], rows: &[(usize, usize)]) -> Result<RecordBatch, EngineError> {
    let Some(first) = batches.first() else {
        return Err(EngineError::Schema { reason: "no rows to sort".to_owned() });
    };
    let columns = (0..first.num_columns()).map(|column| {
        let arrays =
            batches.iter().filter_map(|batch| batch.columns().get(column)).map(|array| array.as_ref());
        Ok(interleave(&arrays.collect::<Vec<_>>(), rows)?)
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, EngineError>>()?;
    Ok(RecordBatch::try_new(first.schema(), columns)?)
}

fn keys_in(batch: &RecordBatch) -> Result<&BinaryArray, EngineError> {
    let keys = batch.columns().last().and_then(|keys| keys.as_binary_opt::<i32>());
    keys.ok_or_else(|| EngineError::Schema { reason: "rows to sort without keys".to_owned() })
}

fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes = batch.columns().iter().map(|array| array.to_data().get_slice_memory_size().unwrap_or(0));
    bytes.sum()
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
        // If it stays, the next opening of the database removes it.
        let _ = self.volume.remove(&self.name);
    }
}

/// `sort-<number>.tmp`.
fn file_name(number: u64) -> String {
    format!("sort-{number}.tmp")
}

/// Removes what sorts have left when the process ended.
pub(crate) fn remove_left_over(volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
    let io = |operation, path| move |source| EngineError::Io { operation, path, source };
    for name in volume.list().map_err(io("list", volume.path("")))? {
        let number = name.strip_prefix("sort-").and_then(|rest| rest.strip_suffix(".tmp"));
        if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
            volume.remove(&name).map_err(io("remove", volume.path(&name)))?;
        }
    }
    Ok(())
}
