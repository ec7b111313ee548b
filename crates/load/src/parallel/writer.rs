//! A writer: one connection that loads chunk after chunk, and tries again after transient errors.

use std::{
    ops::Range,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use tds::Isolation;

use super::{
    encoder::{Effort, PIECE_BYTES, Piece, RowBytes, encode_chunks},
    job::Job,
    ledger::Ledger,
    line::Line,
    open_chunk::{Open, Sums, WriterEffort, begin, close, commits_itself, count_wire, doubtful},
    options::CommittedBatch,
    queue::ChunkQueue,
    state::{Cut, Shared},
};
use crate::{
    bulk::{BulkLoad, rows_of},
    client::Client,
    config::Config,
    error::{Error, ServerError},
    load_error::FailedBatch,
    platform::CpuWatch,
    reject::{RejectReason, RejectedRow, Tolerance},
    retry::{Transient, transient, transient_connecting},
    source::{SourceBatch, parts_of, row_at},
};

/// Pieces between a writer's encoder and its socket.
const PIECES_MAX: usize = 8;
/// The pieces between encoder and socket of a writer that is alone: enough to encode while the server commits.
const PIECES_MAX_ALONE: usize = 24;
/// The interval at which a waiting writer checks whether the load is to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Loads chunks until there are none, the load stops, or this writer is not wanted any more.
/// None from a writer that could not connect; an optional one does not make the load fail.
pub(super) fn run(
    number: usize,
    line: Line<'_>,
    is_optional: bool,
    config: &Config,
    jobs: &[Job<'_>],
    chunks: &ChunkQueue<'_>,
    shared: &Shared<'_>,
) -> Option<WriterEffort> {
    let cpu = CpuWatch::start();
    let pieces_max = match shared.cut {
        Cut::Encoder => PIECES_MAX_ALONE,
        Cut::Writer if !shared.holds => PIECES_MAX_ALONE,
        Cut::Writer | Cut::Reader => PIECES_MAX,
    };
    let (piece_sender, pieces) = bounded(pieces_max);
    let (recycle, recycled) = bounded(pieces_max + 2);
    let effort = WriterEffort::default();
    let mut writer = Writer {
        number,
        line,
        config,
        jobs,
        shared,
        recycle,
        effort,
        has_sent: false,
        round_trip: Duration::ZERO,
        commit: Duration::ZERO,
        wire_mark: 0,
    };
    if let Err(error) = writer.connect(is_optional) {
        shared.writers_lost.fetch_add(1, Ordering::SeqCst);
        match is_optional {
            true => tracing::info!(writer = number, %error, "no further writer"),
            false => shared.fail(error, None, None),
        }
        shared.writers_ended.fetch_add(1, Ordering::SeqCst);
        shared.tell();
        return None;
    }
    shared.watch.writer_begins();
    let encoder = thread::scope(|scope| {
        let encoder =
            scope.spawn(move || encode_chunks(number, jobs, chunks, &piece_sender, &recycled, shared));
        writer.write_all(&pieces, chunks);
        // A chunk that was broken off leaves its transaction open.
        writer.roll_back();
        // The encoder stops when its queue is gone.
        drop(pieces);
        encoder.join()
    });
    shared.note_end();
    let is_stopped = shared.stop.load(Ordering::SeqCst);
    let client = writer.line.client().filter(|client| !is_stopped && !client.is_broken());
    shared.watch.writer_ends(client);
    let mut effort = writer.effort;
    match encoder {
        Ok(Effort { busy, cpu: encoder_cpu }) => {
            effort.encode = busy;
            effort.cpu = cpu.elapsed().zip(encoder_cpu).map(|(sender, encoder)| sender + encoder);
        }
        Err(_) => shared.fail(Error::Worker { worker: "encoding" }, None, None),
    }
    shared.writers_ended.fetch_add(1, Ordering::SeqCst);
    shared.tell();
    Some(effort)
}

struct Writer<'a, 'c> {
    number: usize,
    line: Line<'c>,
    config: &'a Config,
    jobs: &'a [Job<'a>],
    shared: &'a Shared<'a>,
    recycle: Sender<Vec<u8>>,
    effort: WriterEffort,
    has_sent: bool,
    /// The time for one answer of the server, when it was measured last.
    round_trip: Duration,
    /// The time for the last commit.
    commit: Duration,
    /// Bytes that the present connection had sent when they were counted last.
    wire_mark: u64,
}

/// Rows of a chunk that are loaded together.
struct Part {
    /// The range of the chunk's good rows.
    held: Range<usize>,
    /// The error of the last attempt; `None` before the first.
    failed: Option<Error>,
}

/// The result of the first attempt to load a chunk.
enum Attempt {
    Done,
    /// The chunk was not completed, and why is known elsewhere.
    Ended,
    /// The attempt failed after rows were sent.
    Failed {
        error: Error,
        rows: u64,
    },
}

impl<'a> Writer<'a, '_> {
    /// Connects, as often as it takes; an optional writer tries once.
    fn connect(&mut self, is_optional: bool) -> Result<(), Error> {
        let mut tries = Tries::default();
        loop {
            match self.ready() {
                Ok(_) => return Ok(()),
                Err(error) if is_optional => return Err(error),
                Err(error) => self.wait_before_retry(&mut tries, error)?,
            }
        }
    }

    /// Returns the connection, opened again if it is useless.
    fn ready(&mut self) -> Result<&mut Client, Error> {
        let may_replace = !self.shared.retry.patience.is_zero();
        let before = self.line.client().is_some_and(|client| !client.is_broken() && self.wire_mark > 0);
        let client = self.line.ready(self.config, may_replace)?;
        if !before {
            self.wire_mark = client.bytes_on_wire().0;
            self.shared.note_line(self.number, client.cancel_handle());
            if self.shared.break_off.load(Ordering::SeqCst) {
                // The load was broken off before it knew this connection.
                return Err(Error::Cancelled);
            }
        }
        Ok(client)
    }

    /// Counts what the connection has sent since it was counted last.
    fn count_wire(&mut self) {
        if let Some(client) = self.line.client() {
            count_wire(client.bytes_on_wire().0, &mut self.wire_mark, self.shared);
        }
    }

    fn write_all(&mut self, pieces: &Receiver<Piece>, chunks: &ChunkQueue<'_>) {
        let mut last_commit: Option<(u64, Instant)> = None;
        let mut cut = None;
        let mut refused_ahead = Vec::new();
        loop {
            let (source, lane, first_row) = match cut.take().map_or_else(|| pieces.recv(), Ok) {
                Ok(Piece::ChunkStart { source, lane, first_row }) => (source, lane, first_row),
                Ok(Piece::Failed { source, error }) => return self.shared.fail(error, Some(source), None),
                Ok(_) => return self.shared.fail(Error::internal("rows outside a chunk"), None, None),
                Err(_) => return,
            };
            if self.shared.stop.load(Ordering::Relaxed) {
                return;
            }
            let Some(job) = self.jobs.get(source) else {
                return self.shared.fail(Error::internal("a chunk without a source"), None, None);
            };
            let started = Instant::now();
            let rows = first_row..first_row;
            let (held, refused) = (Vec::new(), std::mem::take(&mut refused_ahead));
            let mut chunk = Open { source, lane, job, rows, held, refused, bytes: 0, is_cut: false };
            let loaded = match self.first_attempt(&mut chunk, pieces) {
                Attempt::Done => Ok(()),
                Attempt::Ended => return,
                Attempt::Failed { error, rows: _ } if chunk.may_repeat(&error, self.shared) => {
                    self.repeat(&chunk, error)
                }
                Attempt::Failed { error, rows } => {
                    let rows = doubtful(&error, rows);
                    self.shared.counters.rows_in_doubt.fetch_add(rows, Ordering::SeqCst);
                    Err(error)
                }
            };
            if let Some(lane) = lane {
                chunks.done(self.number, lane);
            }
            match loaded {
                Ok(()) => {
                    self.shared.size.adapt(
                        chunk.bytes,
                        started.elapsed(),
                        pause_of_chunk(self.round_trip, self.commit),
                    );
                    if let Some((epoch, since)) = last_commit {
                        self.shared.note_pace(epoch, chunk.bytes, since.elapsed());
                    }
                    last_commit = Some((self.shared.epoch(), Instant::now()));
                    self.shared.tell();
                    let first_row = chunk.rows.end;
                    cut = chunk.is_cut.then_some(Piece::ChunkStart { source, lane, first_row });
                    refused_ahead = chunk.refused.into_iter().filter(|row| *row >= first_row).collect();
                }
                Err(error) => {
                    let doubtful = error.is_in_doubt();
                    let is_of_rows = !matches!(error, Error::Cell(_) | Error::RejectLimit | Error::Cancelled);
                    let index = self.shared.counters.batches.load(Ordering::Relaxed);
                    let batch = (is_of_rows || doubtful)
                        .then(|| Box::new(FailedBatch { index, rows: chunk.rows.clone() }));
                    self.shared.fail(error, Some(source), batch);
                    return;
                }
            }
        }
    }

    /// Sends a chunk while it is encoded.
    fn first_attempt(&mut self, chunk: &mut Open<'a>, pieces: &Receiver<Piece>) -> Attempt {
        let started = Instant::now();
        let may_cut = self.shared.cut == Cut::Writer && !self.shared.size.is_fixed();
        let mut sums = Sums::default();
        let mut held = 0;
        let mut failure = self.ready().err();
        let commit = self.commit;
        let mut bulk: Option<BulkLoad<'_>> = None;
        let Self { line, shared, recycle, effort, has_sent, round_trip, wire_mark, .. } = self;
        let shared = *shared;
        let mut client = line.client();
        loop {
            if let Some(error) = failure.take_if(|error| !chunk.may_repeat(error, shared)) {
                drop(bulk);
                self.roll_back();
                return Attempt::Failed { error, rows: sums.rows };
            }
            match pieces.recv() {
                Ok(Piece::Rows { bytes, rows, end_row, source, refused }) => {
                    chunk.refused.extend(refused);
                    held += source.as_ref().map_or(0, |_| bytes.len() as u64);
                    chunk.held.extend(source);
                    chunk.rows.end = end_row;
                    if failure.is_none() {
                        let open = match (bulk.take(), client.take()) {
                            (Some(bulk), _) => Ok(bulk),
                            (None, Some(client)) => begin(client, chunk.job, effort, round_trip),
                            (None, None) => Err(Error::internal("a chunk without a connection")),
                        };
                        let sent = open.and_then(|open| {
                            let open = bulk.insert(open);
                            sums.add(rows, &bytes, shared);
                            let sent = open.send(&bytes, rows);
                            count_wire(open.bytes_sent(), wire_mark, shared);
                            sent
                        });
                        match sent {
                            Ok(()) => {
                                if !std::mem::replace(has_sent, true) {
                                    shared.writers_running.fetch_add(1, Ordering::SeqCst);
                                }
                                shared.counters.rows_sent.fetch_add(rows, Ordering::Relaxed);
                            }
                            Err(error) => failure = Some(error),
                        }
                    }
                    // A full recycling queue means that there are buffers enough.
                    if let RowBytes::Encoded(bytes) = bytes {
                        let _ = recycle.try_send(bytes);
                    }
                    if shared.break_off.load(Ordering::Relaxed) {
                        return Attempt::Ended;
                    }
                    // A failed chunk is retried without waiting for more rows.
                    let is_over = failure.is_some() || {
                        let pause = pause_of_chunk(*round_trip, commit);
                        shared.size.is_reached(held, started.elapsed(), pause)
                    };
                    if may_cut && is_over {
                        chunk.is_cut = true;
                        break;
                    }
                }
                Ok(Piece::ChunkEnd { end_row, bytes, refused }) => {
                    chunk.rows.end = end_row;
                    chunk.bytes = bytes;
                    chunk.refused.extend(refused);
                    break;
                }
                Ok(Piece::Failed { source, error }) => {
                    shared.fail(error, Some(source), None);
                    return Attempt::Ended;
                }
                Ok(Piece::ChunkStart { .. }) => {
                    let error = Error::internal("a chunk within a chunk");
                    return Attempt::Failed { error, rows: sums.rows };
                }
                Err(_) => return Attempt::Ended,
            }
        }
        let closed = match (failure, bulk) {
            (Some(error), bulk) => {
                drop(bulk);
                Err(error)
            }
            (None, None) => return Attempt::Done,
            (None, Some(bulk)) => {
                close(bulk, chunk.job, sums.rows, shared, effort).map(|ignored| sums.ignored = ignored)
            }
        };
        let rows = chunk.rows.clone();
        let done = closed.and_then(|()| self.commit(chunk, &sums, rows));
        self.count_wire();
        match done {
            Ok(()) => Attempt::Done,
            Err(error) => {
                if chunk.may_repeat(&error, self.shared) {
                    self.shared.counters.rows_sent.fetch_sub(sums.rows, Ordering::Relaxed);
                }
                self.roll_back();
                Attempt::Failed { error, rows: sums.rows }
            }
        }
    }

    /// Tries a chunk again that failed: as long as its errors are transient, and in parts if the server refuses rows of it.
    fn repeat(&mut self, chunk: &Open<'_>, error: Error) -> Result<(), Error> {
        let rows = chunk.held.iter().map(SourceBatch::rows).sum();
        let mut parts = vec![Part { held: 0..rows, failed: Some(error) }];
        let mut tries = Tries::default();
        let repeated = self.repeat_parts(chunk, &mut parts, &mut tries);
        match (repeated, tries.in_doubt) {
            (Err(error), rows) if rows > 0 => {
                // Also if the load is stopped before the ledger could be asked.
                self.shared.counters.rows_in_doubt.fetch_add(rows, Ordering::SeqCst);
                Err(match doubtful(&error, rows) {
                    0 => Error::in_doubt("the rows were committed", error),
                    _ => error,
                })
            }
            (repeated, _) => repeated,
        }
    }

    fn repeat_parts(
        &mut self,
        chunk: &Open<'_>,
        parts: &mut Vec<Part>,
        tries: &mut Tries,
    ) -> Result<(), Error> {
        let whole: usize = parts.iter().map(|part| part.held.len()).sum();
        while let Some(mut part) = parts.pop() {
            let outcome = match part.failed.take() {
                Some(error) => Err(error),
                None => self.attempt(chunk, &part.held, tries.in_doubt),
            };
            let rows = part.held.len() as u64;
            if outcome.as_ref().is_err_and(|error| doubtful(error, rows) > 0) {
                tries.in_doubt = rows;
            }
            match outcome {
                Ok(()) => *tries = Tries::default(),
                // Another cut is tried once: a part in which the server loses its way too ends the load.
                Err(Error::Server(error))
                    if let Some(tolerance) = chunk.bisecting(&error, self.shared)
                        && (part.held.len() == whole || !error.is_about_the_stream()) =>
                {
                    self.split(chunk, tolerance, part.held, error, parts)?;
                    *tries = Tries::default();
                }
                Err(error) => {
                    self.wait_before_retry(tries, error)?;
                    parts.push(part);
                }
            }
            if self.shared.break_off.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    /// Has the halves of refused rows loaded by themselves; a row that stands alone is refused.
    fn split(
        &self,
        chunk: &Open<'_>,
        tolerance: &Tolerance<'_>,
        held: Range<usize>,
        error: ServerError,
        parts: &mut Vec<Part>,
    ) -> Result<(), Error> {
        if held.len() > 1 {
            let middle = held.start + held.len() / 2;
            parts.push(Part { held: middle..held.end, failed: None });
            parts.push(Part { held: held.start..middle, failed: None });
            return Ok(());
        }
        if error.is_about_the_stream() {
            return Err(error.into());
        }
        if let Some((batch, index)) = row_at(&chunk.held, held.start) {
            let origin = batch.origin(index);
            let batch = batch.batch().slice(index, 1);
            if tolerance.reject(RejectedRow { origin, reason: RejectReason::Server(error), batch }) {
                return Err(Error::RejectLimit);
            }
        }
        Ok(())
    }

    /// Waits before the next try, or says that there is none.
    fn wait_before_retry(&mut self, tries: &mut Tries, error: Error) -> Result<(), Error> {
        let reason = transient(&error).or_else(|| transient_connecting(&error).filter(|_| tries.count > 0));
        let Some(reason) = reason else { return Err(error) };
        // Without a ledger nobody can say what became of the rows.
        let is_lost = tries.in_doubt > 0 && self.shared.ledger.is_none();
        let since = *tries.since.get_or_insert_with(Instant::now);
        if is_lost || since.elapsed() >= self.shared.retry.patience {
            return Err(error);
        }
        if error.server_message().is_none() || !matches!(reason, Transient::Server(_)) {
            // The server must hear that the old session is gone, or its locks are in the way.
            if let Some(client) = self.line.client() {
                client.session().close();
            }
        }
        tries.count += 1;
        let left = self.shared.retry.patience.saturating_sub(since.elapsed());
        let wait = self.shared.retry.wait(tries.count).min(left);
        tracing::warn!(writer = self.number, %reason, wait_ms = wait.as_millis() as u64, "trying again");
        self.shared.note_retry(self.number, reason, &error, wait);
        self.pause(wait)
    }

    fn pause(&self, wait: Duration) -> Result<(), Error> {
        let until = Instant::now() + wait;
        loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(STOP_LOOK)),
                _ => return Ok(()),
            }
        }
    }

    /// Sends rows that are held as one transaction.
    fn attempt(&mut self, chunk: &Open<'_>, held: &Range<usize>, in_doubt: u64) -> Result<(), Error> {
        let rows = chunk.numbers(held);
        let shared = self.shared;
        let is_committed = match shared.ledger.filter(|_| in_doubt > 0) {
            Some(ledger) => self.look_up(ledger, chunk.source, rows.start).inspect(|is_committed| {
                shared.commit_ended(in_doubt, *is_committed);
            }),
            None => Ok(false),
        };
        let done = match is_committed {
            Ok(true) => {
                self.roll_back();
                self.note_batch(CommittedBatch { rows: held.len() as u64, sent: None });
                return Ok(());
            }
            Ok(false) => self.send_held(chunk, held).and_then(|sums| self.commit(chunk, &sums, rows)),
            Err(error) => Err(error),
        };
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Returns true if the ledger has a chunk whose commit was not answered. The entry stays locked in the
    /// transaction that this begins, so the chunk cannot come twice.
    fn look_up(&mut self, ledger: &Ledger, source: usize, first_row: u64) -> Result<bool, Error> {
        let client = self.ready()?;
        client.begin(Isolation::Current)?;
        ledger.has(client, source, first_row)
    }

    fn send_held(&mut self, chunk: &Open<'_>, held: &Range<usize>) -> Result<Sums, Error> {
        self.ready()?;
        let Self { line, shared, effort, round_trip, wire_mark, .. } = self;
        let Some(client) = line.client() else { return Err(Error::internal("a chunk without a connection")) };
        let mut bulk = begin(client, chunk.job, effort, round_trip)?;
        let mut sums = Sums::default();
        let mut bytes = Vec::new();
        for batch in parts_of(&chunk.held, held.clone()) {
            let bound = chunk.job.plan.rows.bind(batch.batch(), 0)?;
            let step = rows_of(PIECE_BYTES, &bound);
            let mut next = 0;
            while next < bound.rows() {
                let end = bound.rows().min(next + step);
                bytes.clear();
                bound.encode(next..end, &mut bytes);
                sums.add((end - next) as u64, &bytes, shared);
                bulk.send(&bytes, (end - next) as u64)?;
                count_wire(bulk.bytes_sent(), wire_mark, shared);
                if shared.break_off.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                next = end;
            }
        }
        sums.ignored = close(bulk, chunk.job, sums.rows, shared, effort)?;
        shared.counters.rows_sent.fetch_add(sums.rows, Ordering::Relaxed);
        Ok(sums)
    }

    /// Commits rows that the server has confirmed, and enters them into the ledger.
    fn commit(&mut self, chunk: &Open<'_>, sums: &Sums, rows: Range<u64>) -> Result<(), Error> {
        let Self { line, shared, effort, .. } = self;
        if let Some(tolerance) = chunk.job.tolerance {
            tolerance.keep().map_err(|error| Error::Sink(Box::new(error)))?;
        }
        let Some(client) = line.client() else {
            return Err(Error::internal("a commit without a connection"));
        };
        let Sums { rows: row_count, checksum, bytes, since, ignored } = sums;
        let checksum = checksum.clone().finalize();
        let entry = |ledger: &Ledger| ledger.entry(chunk.source, &chunk.entry(rows, *row_count, checksum));
        let started = Instant::now();
        // The end of the rows has committed them, or the caller will.
        let is_own = !commits_itself(chunk.job, shared) && !shared.is_within;
        let committed = match shared.ledger {
            _ if !is_own => Ok(()),
            ledger => {
                shared.commit_begins(*row_count);
                let committed = match ledger {
                    Some(ledger) => client.commit_after(&entry(ledger)),
                    None => client.commit(),
                };
                // A commit in doubt has not ended before the ledger was asked.
                if !committed.as_ref().is_err_and(Error::is_in_doubt) {
                    shared.commit_ended(*row_count, committed.is_ok());
                }
                committed
            }
        };
        self.commit = started.elapsed();
        effort.wait += self.commit;
        committed?;
        shared.counters.rows_ignored.fetch_add(*ignored, Ordering::SeqCst);
        let sent = since.map(|since| (*bytes, since.elapsed()));
        self.note_batch(CommittedBatch { rows: *row_count, sent });
        Ok(())
    }

    fn note_batch(&self, batch: CommittedBatch) {
        self.shared.counters.rows_committed.fetch_add(batch.rows, Ordering::SeqCst);
        self.shared.counters.batches.fetch_add(1, Ordering::SeqCst);
        self.shared.watch.batch(&batch);
    }

    /// Leaves no transaction behind but the caller's; what cannot be rolled back goes with its connection.
    fn roll_back(&mut self) {
        let is_within = self.shared.is_within;
        if let Some(client) = self.line.client()
            && !is_within
            && !client.is_broken()
            && client.rollback().is_err()
        {
            client.session().close();
        }
    }
}

/// Returns the time of a chunk in which no rows move. The transaction, the statement and the end of the rows take a
/// round trip each.
fn pause_of_chunk(round_trip: Duration, commit: Duration) -> Duration {
    round_trip * 3 + commit
}

/// Tries of one piece of work.
#[derive(Default)]
struct Tries {
    count: u32,
    since: Option<Instant>,
    /// Rows of an attempt whose end was not heard.
    in_doubt: u64,
}
