//! A host file that several threads read: one of them at a time finds rows, all of them convert.
//!
//! The end of a row can be found only from its beginning. A terminator may be data of an earlier field, and a
//! length in front of a value moves everything behind it. So rows are found in order, which is the smaller
//! part of the work.

use std::io;
use std::time::Duration;

use super::cells::SplitRows;
use super::reader::HostBatch;
use super::row_converter::{ChunkPlace, RowConverter};
use super::row_finder::RowFinder;
use crate::FormatError;
use crate::crew::Crew;
use crate::deviation::{Suffered, absorb};

/// Rows of a chunk. Mostly a chunk is what a window of the file holds.
const CHUNK_ROWS: usize = 65_536;

/// Chunks on their way.
pub(super) struct Ahead {
    crew: Crew<Outcome>,
}

/// Next part of the file, converted by a thread.
pub(super) struct Outcome {
    /// Rows, the end, or why there are no more rows.
    pub(super) batch: Result<Option<HostBatch>, FormatError>,
    /// Accepted deviations that the original bcp would not have mentioned.
    pub(super) suffered: Vec<Suffered>,
    /// Rows of the file up to here.
    pub(super) rows_seen: u64,
}

/// Rows that were found.
struct Found {
    text: Vec<u8>,
    rows: SplitRows,
    place: ChunkPlace,
}

/// A chunk that is to be converted, or what is known without.
struct Job {
    found: Result<Option<Found>, FormatError>,
    /// Deviations found behind the chunk's rows.
    suffered: Vec<Suffered>,
    rows_seen: u64,
}

struct Jobs {
    finder: RowFinder,
    failure: Option<FormatError>,
    ended: bool,
}

impl Iterator for Jobs {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        if self.ended {
            return None;
        }
        let found = self.found();
        self.ended = !matches!(found, Ok(Some(_)));
        let suffered = std::mem::take(&mut self.finder.suffered);
        Some(Job { found, suffered, rows_seen: self.finder.rows_seen() })
    }
}

impl Jobs {
    fn found(&mut self) -> Result<Option<Found>, FormatError> {
        let mut rows = SplitRows::default();
        loop {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let Some(chunk) = self.finder.find(CHUNK_ROWS, &mut rows) else { return Ok(None) };
            let is_wanted = rows.len() > 0 && !chunk.is_skipped;
            let text = self.finder.text().get(..chunk.length).filter(|_| is_wanted).map(<[u8]>::to_vec);
            // The rows before an error are handed out before it.
            self.failure = self.finder.pass(&chunk, rows.len()).err();
            if let Some(text) = text {
                return Ok(Some(Found { text, rows, place: chunk.place }));
            }
        }
    }
}

impl Ahead {
    /// Starts a thread for each converter.
    pub(super) fn start(finder: RowFinder, converters: Vec<RowConverter>) -> Result<Self, FormatError> {
        let workers = converters.into_iter().map(|mut converter| move |job| convert(job, &mut converter));
        let jobs = Jobs { finder, failure: None, ended: false };
        Ok(Self { crew: Crew::start(jobs, workers.collect())? })
    }

    pub(super) fn next(&mut self) -> Outcome {
        self.crew.next().unwrap_or_else(|| {
            let gone = io::Error::other("a thread that read the file has ended");
            Outcome { batch: Err(gone.into()), suffered: Vec::new(), rows_seen: 0 }
        })
    }

    /// Takes the CPU time of the threads since the last call.
    pub(super) fn take_cpu(&mut self) -> Duration {
        self.crew.take_cpu()
    }
}

fn convert(job: Job, converter: &mut RowConverter) -> Outcome {
    let Job { found, suffered: behind, rows_seen } = job;
    let mut suffered = Vec::new();
    let batch = found.and_then(|found| {
        let Some(Found { text, mut rows, place }) = found else { return Ok(None) };
        converter.convert(&text, place, &mut rows);
        suffered = std::mem::take(&mut converter.suffered);
        converter.take_batch().map(Some)
    });
    absorb(&mut suffered, behind);
    Outcome { batch, suffered, rows_seen }
}
