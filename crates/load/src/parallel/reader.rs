//! Reads a source, leaves out what was committed before, and cuts the rest into chunks.

use std::{
    ops::Range,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use rows::CellErrorReason;

use super::{
    chunk::{Chunk, Chunker, Queued},
    encoder::BIND_ROWS_MAX,
    job::Job,
    ledger::CommittedChunk,
    options::BoxError,
    ranges::RowRanges,
    state::{Cut, Shared},
};
use crate::{bulk::rows_of, error::Error, plan::LoadPlan, source::SourceBatch};

/// Bytes that are encoded at a time to be compared.
const COMPARED_BYTES: usize = 512 * 1024;

/// Reads sources in turn until there is none left; the time that it took to read, and the CPU time of other threads that
/// helped.
pub(super) fn read_all<'a>(
    jobs: &[Job<'a>],
    sources: impl Iterator<Item = (usize, Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send + 'a>)>,
    shared: &Shared<'_>,
    chunks: &Sender<Queued>,
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
                let _ = chunks.send(Err((number, error)));
            }
            break;
        }
    }
    (busy, helpers_cpu)
}

enum Stop {
    Failed(Error),
    /// All writers have ended, so no more chunks are needed.
    Unwanted,
}

struct Reader<'a> {
    source: usize,
    shared: &'a Shared<'a>,
    chunks: &'a Sender<Queued>,
    chunker: Chunker<'a>,
    done: RowRanges,
    comparer: Option<Comparer<'a>>,
    busy: Duration,
    helpers_cpu: Duration,
}

impl<'a> Reader<'a> {
    fn new(number: usize, job: &'a Job<'_>, shared: &'a Shared<'_>, chunks: &'a Sender<Queued>) -> Self {
        let ledger = shared.ledger;
        let done = ledger.map(|ledger| ledger.committed_rows(number)).unwrap_or_default();
        let compared = ledger.filter(|_| !done.is_empty());
        let comparer = compared.map(|ledger| Comparer::new(&job.plan, ledger.committed(number)));
        Self {
            source: number,
            shared,
            chunks,
            chunker: Chunker::new(number, &shared.size, shared.cut == Cut::Writer),
            done,
            comparer,
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
            let chunk = Chunk { source, rows: numbers, batches, bytes: 0, is_complete: true };
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
            } else {
                let chunks = self.chunks;
                self.chunker.push(part, start..end, &mut |chunk| hand_over(chunks, chunk))?;
            }
            (batch, start) = (rest, end);
        }
        Ok(())
    }
}

fn hand_over(chunks: &Sender<Queued>, chunk: Chunk) -> Result<(), Stop> {
    chunks.send(Ok(chunk)).map_err(|_| Stop::Unwanted)
}

/// The number behind the last row of a batch.
fn end_of(batch: &SourceBatch, start: u64) -> u64 {
    let last = batch.rows().checked_sub(1).map(|last| batch.origin_row(last));
    let last_unread = batch.unread().last().map(|unread| unread.origin.row);
    last.max(last_unread).map_or(start, |last| last.saturating_add(1).max(start))
}

/// Compares rows of the source with those that were committed before, by count and checksum.
struct Comparer<'a> {
    plan: &'a LoadPlan,
    committed: &'a [CommittedChunk],
    rows: u64,
    checksum: crc32fast::Hasher,
}

impl<'a> Comparer<'a> {
    fn new(plan: &'a LoadPlan, committed: &'a [CommittedChunk]) -> Self {
        Self { plan, committed, rows: 0, checksum: crc32fast::Hasher::new() }
    }

    fn compare(&mut self, batch: &SourceBatch, numbers: Range<u64>) -> Result<(), Error> {
        let mut start = numbers.start;
        let mut rest = batch.clone();
        while start < numbers.end {
            let Some(chunk) = self.committed.first() else { return Ok(()) };
            let end = chunk.rows.end.min(numbers.end);
            let (part, behind) = rest.parted(end, numbers.end);
            self.add(&part)?;
            if end == chunk.rows.end {
                self.close(chunk)?;
            }
            (rest, start) = (behind, end);
        }
        Ok(())
    }

    /// Rows that do not fit their columns were refused, and so they were not committed.
    fn add(&mut self, batch: &SourceBatch) -> Result<(), Error> {
        let mut parts = Vec::new();
        let mut first = 0;
        while first < batch.rows() {
            let length = BIND_ROWS_MAX.min(batch.rows() - first);
            parts.push(batch.slice(first, length));
            first += length;
        }
        parts.reverse();
        let mut bytes = Vec::new();
        while let Some(part) = parts.pop() {
            match self.plan.rows.bind(part.batch(), 0) {
                Ok(bound) => {
                    self.rows += bound.rows() as u64;
                    let step = rows_of(COMPARED_BYTES, &bound);
                    let mut next = 0;
                    while next < bound.rows() {
                        let end = bound.rows().min(next + step);
                        bytes.clear();
                        bound.encode(next..end, &mut bytes);
                        self.checksum.update(&bytes);
                        next = end;
                    }
                }
                Err(error) if matches!(error.reason, CellErrorReason::SourceType { .. }) => {
                    return Err(error.into());
                }
                Err(_) if part.rows() > 1 => {
                    let half = part.rows() / 2;
                    parts.push(part.slice(half, part.rows() - half));
                    parts.push(part.slice(0, half));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn close(&mut self, chunk: &CommittedChunk) -> Result<(), Error> {
        let (rows, checksum) =
            (std::mem::take(&mut self.rows), std::mem::take(&mut self.checksum).finalize());
        if rows != chunk.row_count {
            let what = format!("{rows} rows instead of {}", chunk.row_count);
            return Err(Error::SourceChanged { rows: chunk.rows.clone(), what });
        }
        if checksum != chunk.checksum {
            let what = "another checksum".to_owned();
            return Err(Error::SourceChanged { rows: chunk.rows.clone(), what });
        }
        self.committed = self.committed.get(1..).unwrap_or_default();
        Ok(())
    }

    /// The source is at its end: nothing may be left.
    fn finish(self) -> Result<(), Error> {
        match self.committed.first() {
            Some(chunk) => {
                let what = "the source ends before them".to_owned();
                Err(Error::SourceChanged { rows: chunk.rows.clone(), what })
            }
            None => Ok(()),
        }
    }
}
