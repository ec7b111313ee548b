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
use crate::connection::packet_reader::{PacketReader, ReceivedRows};
use crate::transport::Broken;

/// Chunks under way: one is filled, one waits, one is decoded.
const CHUNKS_QUEUED: usize = 1;
/// Packets with fewer rows than this are joined: what is done for each of them would cost more than that.
const PIECE_BYTES: usize = 16 << 10;
/// Bytes of a piece first tried when a row straddles two pieces.
const STRADDLE_BYTES: usize = 512;
/// The length of an incomplete row from which it is decoded only once all of a piece is here. Trying after each
/// packet would look at it too often.
const LONG_ROW_BYTES: usize = 16 << 10;

/// Takes the rows of a load.
pub(crate) trait RowSink: Send + 'static {
    /// Takes the stream's columns, before any row.
    fn columns(&mut self, columns: &[Column]) -> Result<(), SqlError>;
    /// Takes rows from the head of `bytes`, which it finds by itself, as many as it can; none if it would rather have them
    /// [found](Self::rows). What follows them may be anything.
    fn find_rows(&mut self, _bytes: &[u8]) -> Result<RowSpan, SqlError> {
        Ok(RowSpan::default())
    }
    /// Takes `count` whole rows.
    fn rows(&mut self, rows: &[u8], count: u64) -> Result<(), SqlError>;
    /// Says why rows that it has taken are refused, if it has not said so yet: they came before any other error.
    fn failure(&mut self) -> Option<SqlError> {
        None
    }
    /// Ends the load and returns its row count. Not called after an error or a cancellation: then the sink is dropped.
    fn finish(self: Box<Self>) -> Result<u64, SqlError>;
}

/// The end of a bulk message.
pub(crate) struct Received {
    /// The result of the load.
    pub outcome: BulkOutcome,
    /// The client expects the acknowledgement of an attention.
    pub attention: bool,
    /// The whole message has arrived, so that it gets an answer of its own before that acknowledgement.
    pub complete: bool,
}

/// The outcome of a bulk message's rows.
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

/// The settings of a load besides its bytes.
pub(crate) struct Load<F> {
    /// Makes the sink, on the rows' thread: it may have to wait for a lock.
    pub sink: F,
    /// The runtime for the rows' thread.
    pub threads: Handle,
    /// Ends the load, and waits within it, from outside.
    pub cancellation: Cancellation,
    /// Largest row in bytes.
    pub row_max_bytes: usize,
    /// The wait counters of the session.
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
    let (chunks, queue) = mpsc::channel::<ReceivedRows>(CHUNKS_QUEUED);
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
            let _ = chunks.send(ReceivedRows::default()).await;
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
    chunks: &mpsc::Sender<ReceivedRows>,
    mut spare: mpsc::UnboundedReceiver<ReceivedRows>,
    broken: &Broken,
) -> Result<End, ConnectionError> {
    loop {
        let mut chunk = spare.try_recv().unwrap_or_default();
        let event = reader.receive_rows(&mut chunk).await?.ok_or(ConnectionError::CutOff)?;
        let ends = match event {
            Event::BulkRows { last, .. } => last,
            Event::NeedBytes(_) => false,
            Event::Attention => return Ok(End::Cancelled { attention: true }),
            Event::BulkIgnored => return Ok(End::Cancelled { attention: false }),
            event => return Err(ConnectionError::Unexpected(format!("{event:?}").into())),
        };
        // The worker has gone if the load has failed: the rest is read and dropped.
        if !chunk.is_empty() {
            // The rows' thread may wait for a lock, and nothing is read meanwhile.
            tokio::select! {
                biased;
                _ = chunks.send(chunk) => {}
                () = broken.wait() => return Err(ConnectionError::CutOff),
            }
        }
        if ends {
            return Ok(End::Complete);
        }
    }
}

/// Decodes rows on their own thread.
fn decode(
    mut sink: Box<dyn RowSink>,
    mut queue: mpsc::Receiver<ReceivedRows>,
    spent: &mpsc::UnboundedSender<ReceivedRows>,
    cancellation: &Cancellation,
    row_max_bytes: usize,
) -> Result<u64, SqlError> {
    let mut stream = ChunkedStream::new(row_max_bytes);
    while let Some(mut chunk) = queue.blocking_recv() {
        if cancellation.is_cancelled() {
            break;
        }
        if chunk.is_empty() {
            stream.finish(sink.as_mut()).map_err(|error| first(error, sink.as_mut(), cancellation))?;
            if cancellation.is_cancelled() {
                break;
            }
            return sink.finish();
        }
        // Packets are pieces, unless they are small.
        chunk.join(stream.piece_bytes());
        for piece in chunk.pieces() {
            stream.feed(piece, sink.as_mut()).map_err(|error| first(error, sink.as_mut(), cancellation))?;
        }
        // Nobody wants the buffer back once the message has been received.
        let _ = spent.send(chunk);
    }
    Err(errors::CANCELLED.error())
}

/// Returns the error of rows that came before the present error.
fn first(error: SqlError, sink: &mut dyn RowSink, cancellation: &Cancellation) -> SqlError {
    match cancellation.is_cancelled() {
        true => error,
        false => sink.failure().unwrap_or(error),
    }
}

/// The message, fed in chunks that break anywhere.
struct ChunkedStream {
    stream: BulkStream,
    row_max_bytes: usize,
    /// The unfinished token that the last chunk ended in.
    carry: Vec<u8>,
    /// Nothing was fed yet.
    is_first: bool,
}

impl ChunkedStream {
    fn new(row_max_bytes: usize) -> ChunkedStream {
        ChunkedStream { stream: BulkStream::new(), row_max_bytes, carry: Vec::new(), is_first: true }
    }

    /// Bytes that are worth to be fed at once. At first they are all that came: a table decides by the first rows whether they
    /// are many.
    fn piece_bytes(&mut self) -> usize {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first || self.carry.len() >= LONG_ROW_BYTES { usize::MAX } else { PIECE_BYTES }
    }

    fn feed(&mut self, chunk: &[u8], sink: &mut dyn RowSink) -> Result<(), SqlError> {
        let mut chunk = chunk;
        let mut step = if self.carry.len() < LONG_ROW_BYTES { STRADDLE_BYTES } else { usize::MAX };
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

/// Returns the bytes after the first `consumed`. A row that is lost here must not be counted as loaded.
pub(super) fn after(bytes: &[u8], consumed: usize) -> Result<&[u8], SqlError> {
    bytes.get(consumed..).ok_or_else(beyond)
}

fn beyond() -> SqlError {
    SqlError::internal("rows beyond what was received")
}
