//! Receives one type-07 message: packets in on the connection's task, rows out on a thread of their own.
//!
//! After an error the rest of the message is read and dropped: if the server closed early, the client would only see a broken
//! pipe.

use std::sync::Arc;

use executor::bulk_error;
use executor::session::{Cancellation, StopOnDrop};
use store::SessionWaits;
use tds::bulk::{BulkEvent, BulkStream};
use tds::conversation::server::Event;
use tds::{Column, RowSpan};
use tokio::io::AsyncRead;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::Span;
use tsql::SqlError;
use tsql::errors;

use crate::connection::ConnectionError;
use crate::connection::packet_reader::PacketReader;
use crate::transport::Broken;

/// Bytes gathered before they go to the rows' thread.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks under way: one is filled, one waits, one is decoded.
const CHUNKS_QUEUED: usize = 1;
/// Bytes of a chunk first tried when a row straddles two chunks.
const STRADDLE_BYTES: usize = 16 << 10;

/// What becomes of the rows.
pub(crate) trait RowSink: Send + 'static {
    /// The stream's columns, before any row.
    fn columns(&mut self, columns: &[Column]) -> Result<(), SqlError>;
    /// Takes rows from the head of `bytes`, which it finds by itself, as many as it can; none if it would rather have them
    /// [found](Self::rows). What follows them may be anything.
    fn find_rows(&mut self, _bytes: &[u8]) -> Result<RowSpan, SqlError> {
        Ok(RowSpan::default())
    }
    /// Takes `count` whole rows.
    fn rows(&mut self, rows: &[u8], count: u64) -> Result<(), SqlError>;
    /// Ends the load and returns its row count. Not called after an error or a cancellation: then the sink is dropped.
    fn finish(self: Box<Self>) -> Result<u64, SqlError>;
}

/// How a bulk message ended.
pub(crate) struct Received {
    /// The result of the load.
    pub outcome: BulkOutcome,
    /// The client expects the acknowledgement of an attention.
    pub attention: bool,
    /// The whole message has arrived, so that it gets an answer of its own before that acknowledgement.
    pub complete: bool,
}

/// What became of the rows of a bulk message.
pub(crate) enum BulkOutcome {
    /// All rows were taken.
    Loaded {
        /// Row count.
        rows: u64,
    },
    /// The load failed; no row stays.
    Failed(SqlError),
    /// The client cancelled the load; no row stays.
    Cancelled,
}

/// What a load needs besides its bytes.
pub(crate) struct Load<F> {
    /// Makes the sink, on the rows' thread: it may have to wait for a lock.
    pub sink: F,
    /// The runtime for the rows' thread.
    pub threads: Handle,
    /// Ends the load, and waits within it, from outside.
    pub cancellation: Cancellation,
    /// Largest row in bytes.
    pub row_max_bytes: usize,
    /// What the session waits for.
    pub waits: Arc<SessionWaits>,
}

/// Receives the message.
pub(crate) async fn receive<R, F>(
    reader: &mut PacketReader<R>,
    load: Load<F>,
    broken: &Broken,
) -> Result<Received, ConnectionError>
where
    R: AsyncRead + Unpin,
    F: FnOnce() -> Box<dyn RowSink> + Send + 'static,
{
    reader.expect_bulk(true);
    let outcome = receive_rows(reader, load, broken).await;
    reader.expect_bulk(false);
    outcome
}

async fn receive_rows<R, F>(
    reader: &mut PacketReader<R>,
    load: Load<F>,
    broken: &Broken,
) -> Result<Received, ConnectionError>
where
    R: AsyncRead + Unpin,
    F: FnOnce() -> Box<dyn RowSink> + Send + 'static,
{
    let Load { sink, threads, cancellation, row_max_bytes, waits } = load;
    let (chunks, queue) = mpsc::channel::<Vec<u8>>(CHUNKS_QUEUED);
    let (spent, spare) = mpsc::unbounded_channel();
    let stop = cancellation.clone();
    let span = Span::current();
    let rows = move || span.in_scope(|| waits.during(|| decode(sink(), queue, &spent, &stop, row_max_bytes)));
    let mut worker = threads.spawn_blocking(rows);
    // However this ends, also by being dropped, the thread must not go on to a commit.
    let stop = StopOnDrop { cancellation: cancellation.clone(), task: None };
    let mut complete = false;
    let mut attention = match receive_packets(reader, &chunks, spare, broken).await {
        Ok(End::Complete) => {
            complete = true;
            false
        }
        Ok(End::Cancelled { attention }) => {
            cancellation.cancel();
            attention
        }
        Err(error) => {
            cancellation.cancel();
            drop(chunks);
            let _ = worker.await;
            return Err(error);
        }
    };
    // An empty chunk says that the message is complete; a closed channel, that it is not.
    let mut end = std::pin::pin!(async move {
        if complete {
            let _ = chunks.send(Vec::new()).await;
        }
    });
    let mut ended = false;
    let rows = loop {
        tokio::select! {
            () = &mut end, if !ended => ended = true,
            rows = &mut worker => break rows.map_err(|error| ConnectionError::Lost(error.to_string()))?,
            // Nothing but an attention comes here: the conversation refuses the rest.
            event = reader.event(), if !attention => match event? {
                Some(_) => {
                    attention = true;
                    cancellation.cancel();
                }
                None => return Err(ConnectionError::CutOff),
            },
        }
    };
    drop(stop);
    let outcome = match rows {
        Ok(rows) => BulkOutcome::Loaded { rows },
        Err(error) if error.is_cancelled() => BulkOutcome::Cancelled,
        Err(error) => BulkOutcome::Failed(error),
    };
    Ok(Received { outcome, attention, complete })
}

enum End {
    Complete,
    Cancelled { attention: bool },
}

async fn receive_packets<R: AsyncRead + Unpin>(
    reader: &mut PacketReader<R>,
    chunks: &mpsc::Sender<Vec<u8>>,
    mut spare: mpsc::UnboundedReceiver<Vec<u8>>,
    broken: &Broken,
) -> Result<End, ConnectionError> {
    let mut chunk = Vec::new();
    loop {
        let Some((event, payload)) = reader.event().await? else { return Err(ConnectionError::CutOff) };
        let ends = match event {
            Event::BulkRows { last, .. } => last,
            Event::Attention => return Ok(End::Cancelled { attention: true }),
            Event::BulkIgnored => return Ok(End::Cancelled { attention: false }),
            event => return Err(ConnectionError::Unexpected(format!("{event:?}").into())),
        };
        chunk.extend_from_slice(payload);
        if ends || chunk.len() >= CHUNK_BYTES {
            let mut next = spare.try_recv().unwrap_or_default();
            next.clear();
            let full = std::mem::replace(&mut chunk, next);
            // The worker has gone if the load has failed: the rest is read and dropped.
            if !full.is_empty() {
                // The rows' thread may wait for a lock, and nothing is read meanwhile.
                tokio::select! {
                    biased;
                    _ = chunks.send(full) => {}
                    () = broken.wait() => return Err(ConnectionError::CutOff),
                }
            }
        }
        if ends {
            return Ok(End::Complete);
        }
    }
}

/// The rows' thread.
fn decode(
    mut sink: Box<dyn RowSink>,
    mut queue: mpsc::Receiver<Vec<u8>>,
    spent: &mpsc::UnboundedSender<Vec<u8>>,
    cancellation: &Cancellation,
    row_max_bytes: usize,
) -> Result<u64, SqlError> {
    let mut stream = ChunkedStream::new(row_max_bytes);
    while let Some(chunk) = queue.blocking_recv() {
        if cancellation.is_cancelled() {
            break;
        }
        if chunk.is_empty() {
            stream.finish(sink.as_mut())?;
            if cancellation.is_cancelled() {
                break;
            }
            return sink.finish();
        }
        stream.feed(&chunk, sink.as_mut())?;
        // Nobody wants the buffer back once the message has been received.
        let _ = spent.send(chunk);
    }
    Err(errors::CANCELLED.error())
}

/// The message, fed in chunks that break anywhere.
struct ChunkedStream {
    stream: BulkStream,
    row_max_bytes: usize,
    /// The unfinished token that the last chunk ended in.
    carry: Vec<u8>,
}

impl ChunkedStream {
    fn new(row_max_bytes: usize) -> ChunkedStream {
        ChunkedStream { stream: BulkStream::new(), row_max_bytes, carry: Vec::new() }
    }

    fn feed(&mut self, chunk: &[u8], sink: &mut dyn RowSink) -> Result<(), SqlError> {
        let mut chunk = chunk;
        let mut step = STRADDLE_BYTES;
        // A row that straddles two chunks is completed with as little copying as its length allows.
        while !self.carry.is_empty() {
            let (head, tail) = chunk.split_at(step.min(chunk.len()));
            let carried = self.carry.len();
            let mut joined = std::mem::take(&mut self.carry);
            joined.extend_from_slice(head);
            let consumed = self.consume(&joined, false, sink)?;
            if consumed >= carried {
                chunk = after(chunk, consumed - carried)?;
                break;
            }
            joined.drain(..consumed);
            self.carry = joined;
            if self.carry.len() > self.row_max_bytes {
                return Err(bulk_error::row_too_long(self.row_max_bytes));
            }
            if tail.is_empty() {
                return Ok(());
            }
            chunk = tail;
            step = step.saturating_mul(2);
        }
        let consumed = self.consume(chunk, false, sink)?;
        self.carry.extend_from_slice(after(chunk, consumed)?);
        Ok(())
    }

    /// Checks that the message did not end inside something.
    fn finish(&mut self, sink: &mut dyn RowSink) -> Result<(), SqlError> {
        let carry = std::mem::take(&mut self.carry);
        self.consume(&carry, true, sink).map(drop)
    }

    /// Takes what is whole at the head of `bytes` and returns how many bytes that was.
    fn consume(&mut self, bytes: &[u8], last: bool, sink: &mut dyn RowSink) -> Result<usize, SqlError> {
        let mut position = 0;
        loop {
            let rest = after(bytes, position)?;
            if !self.stream.columns().is_empty() {
                let found = sink.find_rows(rest)?;
                if found.rows > 0 {
                    self.stream.pass(found);
                    position += found.bytes;
                    continue;
                }
            }
            match self.stream.next(rest, last).map_err(|error| bulk_error::stream(&error))? {
                BulkEvent::Columns { bytes } => {
                    position += bytes;
                    sink.columns(self.stream.columns())?;
                }
                BulkEvent::Rows(span) => {
                    position += span.bytes;
                    let rows = rest.get(..span.bytes).ok_or_else(beyond)?;
                    sink.rows(rows, span.rows)?;
                }
                BulkEvent::MoreNeeded => return Ok(position),
                BulkEvent::End => return Ok(bytes.len()),
            }
        }
    }
}

/// What follows the first `consumed` bytes. A row that is lost here must not be counted as loaded.
pub(super) fn after(bytes: &[u8], consumed: usize) -> Result<&[u8], SqlError> {
    bytes.get(consumed..).ok_or_else(beyond)
}

fn beyond() -> SqlError {
    SqlError::internal("rows beyond what was received")
}
