//! Sorting more rows than fit the memory given: sorted runs in temporary files of the volume, merged.
//!
//! Rows are records with their keys. They are moved, never looked into. A run is a sequence of chunks, whose checksums are kept in
//! memory. The files are removed when the sort ends, however it ends. Files that a crash has left are removed when the
//! database is opened.

mod arena;
mod frame;
mod merge;
mod run;

use std::sync::Arc;

use crate::database::shared::Shared;
use crate::disk::volume::Volume;
use crate::error::EngineError;
use crate::record::KeyedRows;
use arena::{Arena, MemoryRun};
use merge::{Merge, Source};
use run::{CHUNK_BYTES, Run, RunReader};

/// Bytes of rows that are given out at once.
const ROWS_BYTES: usize = 64 << 10;

/// Runs that are merged at once, at least.
const LEAST_FAN_IN: usize = 4;

/// Sorts rows by keys that order as byte strings. Rows with equal keys stay in the order in which they came.
#[derive(Debug)]
pub(crate) struct Sorter {
    shared: Arc<Shared>,
    memory_bytes: usize,
    arena: Arena,
    runs: Vec<Run>,
}

impl Sorter {
    /// Creates a sort that keeps up to `memory_bytes` of rows in memory, and at least those that come at
    /// once.
    pub fn new(shared: &Arc<Shared>, memory_bytes: usize) -> Self {
        let memory_bytes = memory_bytes.min(arena::LIMIT_BYTES);
        Self { shared: Arc::clone(shared), memory_bytes, arena: Arena::default(), runs: Vec::new() }
    }

    /// Takes rows to be sorted, and writes a run when they exceed the memory.
    pub fn push(&mut self, rows: &KeyedRows) -> Result<(), EngineError> {
        self.arena.push(rows)?;
        if self.arena.memory_bytes() > self.memory_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns the rows in order.
    pub fn finish(mut self) -> Result<Sorted, EngineError> {
        let merging_bytes = self.runs.len() * CHUNK_BYTES;
        if !self.runs.is_empty() && self.arena.memory_bytes() + merging_bytes > self.memory_bytes {
            self.spill()?;
        }
        let fan_in = (self.memory_bytes / CHUNK_BYTES).max(LEAST_FAN_IN);
        let mut runs = std::mem::take(&mut self.runs);
        while runs.len() > fan_in {
            let mut merged = Vec::new();
            let mut left = runs.into_iter().peekable();
            while left.peek().is_some() {
                let files = left.by_ref().take(fan_in).map(RunReader::new).map(Source::File);
                let mut merge = Merge::new(files.collect())?;
                let (mut run, mut rows) = (Run::create(&self.shared)?, KeyedRows::default());
                while merge.next(&mut rows, ROWS_BYTES)? {
                    run.write_rows(&rows)?;
                }
                merged.push(run.end()?);
            }
            runs = merged;
        }
        let mut sources: Vec<Source> = runs.into_iter().map(RunReader::new).map(Source::File).collect();
        if !self.arena.is_empty() {
            sources.push(Source::Memory(MemoryRun::new(std::mem::take(&mut self.arena))));
        }
        Ok(Sorted(Merge::new(sources)?))
    }

    /// Writes the rows in memory to a run: to the last one, if they all come behind its rows.
    fn spill(&mut self) -> Result<(), EngineError> {
        if self.arena.is_empty() {
            return Ok(());
        }
        let rows = MemoryRun::new(std::mem::take(&mut self.arena));
        let follows =
            self.runs.last().is_some_and(|run| rows.peek().is_none_or(|(key, _)| run.is_before(key)));
        let mut run = match self.runs.pop() {
            Some(run) if follows => run,
            last => {
                self.runs.extend(last);
                Run::create(&self.shared)?
            }
        };
        match rows.chunks() {
            Some(chunks) => chunks.iter().try_for_each(|chunk| run.write_chunk(chunk))?,
            None => rows.frames().try_for_each(|row| run.write_frame(row))?,
        }
        self.runs.push(run.end()?);
        self.arena = rows.into_empty();
        Ok(())
    }
}

/// Rows in the order of their keys.
#[derive(Debug)]
pub(crate) struct Sorted(Merge);

impl Sorted {
    /// Puts the next rows in the place of those in `rows`: as many as the processor's second cache has room for. False: there are no more.
    pub fn next(&mut self, rows: &mut KeyedRows) -> Result<bool, EngineError> {
        self.0.next(rows, ROWS_BYTES)
    }

    /// Reads more rows at once than `next`, for a caller that looks for those that belong together.
    pub fn next_many(&mut self, rows: &mut KeyedRows) -> Result<bool, EngineError> {
        self.0.next(rows, CHUNK_BYTES)
    }
}

/// Removes what sorts have left when the process ended.
pub(crate) fn remove_left_over(volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
    run::remove_left_over(volume)
}

#[cfg(test)]
mod tests;
