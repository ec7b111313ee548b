//! Reads a source, leaves out what was committed before, and cuts the rest into chunks.

use std::{
    ops::Range,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{
    chunk::{Chunk, Chunker},
    comparer::Comparer,
    job::Job,
    lane_chunks::last_number,
    lane_reader::LaneReader,
    options::BoxError,
    queue::{ReadingEnd, Unwanted},
    ranges::RowRanges,
    state::{Cut, Shared},
};
use crate::{error::Error, source::SourceBatch};

/// Reads sources in turn until there is none left; the time that it took to read, and the CPU time of other threads that
/// helped.
pub(super) fn read_all<'a>(
    jobs: &[Job<'a>],
    sources: impl Iterator<Item = (usize, Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send + 'a>)>,
    shared: &Shared<'_>,
    chunks: &ReadingEnd<'_>,
) -> (Duration, Duration) {
    let (mut busy, mut helpers_cpu) = (Duration::ZERO, Duration::ZERO);
    for (number, batches) in sources {
        let Some(job) = jobs.get(number) else { break };
        let mut reader = Reader::new(number, job, shared, chunks);
        let read = reader.read(batches);
        busy += reader.busy;
        helpers_cpu += reader.helpers_cpu;
        if let Err(stop) = read {
            if let Stop::Failed(error) = stop {
                // Behind the rows before it, so that these can still be committed. Without writers there is another failure.
                let _ = chunks.send(Err((number, error)), 0);
            }
            break;
        }
    }
    (busy, helpers_cpu)
}

pub(super) enum Stop {
    Failed(Error),
    /// All writers have ended, so no more chunks are needed.
    Unwanted,
}

struct Reader<'a> {
    source: usize,
    shared: &'a Shared<'a>,
    chunks: &'a ReadingEnd<'a>,
    chunker: Chunker<'a>,
    done: RowRanges,
    comparer: Option<Comparer<'a>>,
    /// The lane reader of a source whose rows go by lane.
    lanes: Option<LaneReader<'a>>,
    busy: Duration,
    helpers_cpu: Duration,
}

impl From<Unwanted> for Stop {
    fn from(Unwanted: Unwanted) -> Self {
        Self::Unwanted
    }
}

impl<'a> Reader<'a> {
    fn new(number: usize, job: &'a Job<'_>, shared: &'a Shared<'_>, chunks: &'a ReadingEnd<'a>) -> Self {
        let ledger = shared.ledger;
        let committed = ledger.map(|ledger| ledger.committed_in(number, None)).unwrap_or_default();
        let done: RowRanges = committed.iter().map(|chunk| chunk.rows.clone()).collect();
        let comparer = (!committed.is_empty()).then(|| Comparer::new(&job.plan, committed));
        Self {
            source: number,
            shared,
            chunks,
            chunker: Chunker::new(number, &shared.size, shared.cut == Cut::Writer),
            done,
            comparer,
            lanes: job.router.as_ref().map(|router| LaneReader::new(number, job, router, shared)),
            busy: Duration::ZERO,
            helpers_cpu: Duration::ZERO,
        }
    }

    fn read(
        &mut self,
        mut batches: Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send + '_>,
    ) -> Result<(), Stop> {
        let mut rows_seen = 0;
        let mut next = 0;
        loop {
            let started = Instant::now();
            let read = batches.next();
            self.busy += started.elapsed();
            if self.shared.stop.load(Ordering::Relaxed) {
                return Err(Stop::Unwanted);
            }
            let Some(batch) = read else { break };
            let batch = batch.map_err(|error| Stop::Failed(Error::Source(error)))?.counted_from(rows_seen);
            rows_seen += batch.rows() as u64;
            self.helpers_cpu += batch.helpers_cpu();
            let numbers = next..end_of(&batch, next);
            next = numbers.end;
            if !numbers.is_empty() {
                self.take(batch, numbers)?;
            }
        }
        let chunks = self.chunks;
        self.chunker.finish(&mut |chunk| hand_over(chunks, chunk))?;
        if let Some(lanes) = self.lanes.take() {
            lanes.finish(chunks)?;
        }
        match self.comparer.take() {
            Some(comparer) => comparer.finish().map_err(Stop::Failed),
            None => Ok(()),
        }
    }

    /// Takes the rows of a batch, which have these numbers, in parts of which all or none were committed before.
    fn take(&mut self, mut batch: SourceBatch, numbers: Range<u64>) -> Result<(), Stop> {
        if self.shared.cut == Cut::Encoder {
            let source = self.source;
            let batches = vec![batch];
            let chunk = Chunk { source, lane: None, rows: numbers, batches, bytes: 0, is_complete: true };
            return hand_over(self.chunks, chunk);
        }
        let mut start = numbers.start;
        while start < numbers.end {
            let end = self.done.next_change(start).unwrap_or(numbers.end).min(numbers.end);
            let is_done = self.done.contains(start);
            let (part, rest) = batch.parted(end, numbers.end);
            if is_done {
                if let Some(comparer) = &mut self.comparer {
                    comparer.compare(&part, start..end).map_err(Stop::Failed)?;
                }
                // Rows that were refused are passed over like those that were committed, whatever refused them.
                let passed = (part.rows() + part.unread().len()) as u64;
                self.shared.counters.rows_skipped.fetch_add(passed, Ordering::Relaxed);
                if let Some(lanes) = &mut self.lanes {
                    lanes.pass_over(self.chunks)?;
                }
            } else if let Some(lanes) = &mut self.lanes {
                lanes.take(part, self.chunks)?;
            } else {
                let chunks = self.chunks;
                self.chunker.push(part, start..end, &mut |chunk| hand_over(chunks, chunk))?;
            }
            (batch, start) = (rest, end);
        }
        Ok(())
    }
}

fn hand_over(chunks: &ReadingEnd<'_>, chunk: Chunk) -> Result<(), Stop> {
    chunks.send(Ok(chunk), 0).map_err(Stop::from)
}

/// Returns the number behind the last row of a batch.
fn end_of(batch: &SourceBatch, start: u64) -> u64 {
    last_number(batch).map_or(start, |last| last.saturating_add(1).max(start))
}
