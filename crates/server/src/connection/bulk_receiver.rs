//! Receives one type-07 message: packets in on the connection's task, rows out on a thread of their own.
//!
//! After an error the rest of the message is read and thrown away: closing early would give the client a broken pipe
//! for a reason.

use tds::Column;
use tds::bulk::{BulkEvent, BulkStream};
use tds::packet::PacketType;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use super::ConnectionError;
use super::packet_reader::PacketReader;
use crate::sql_error::SqlError;

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
    /// Takes `count` whole rows.
    fn rows(&mut self, rows: &[u8], count: u64) -> Result<(), SqlError>;
    /// Ends the load and returns its row count. Not called after an error or a cancellation: then the sink is dropped.
    fn finish(self: Box<Self>) -> Result<u64, SqlError>;
}

/// How a bulk message ended.
pub(crate) enum BulkOutcome {
    /// All rows were taken.
    Loaded {
        /// Row count.
        rows: u64,
    },
    /// The load failed; nothing of it stays.
    Failed(SqlError),
    /// The client took it back.
    Cancelled {
        /// The client waits for the acknowledgement of an attention.
        attention: bool,
    },
}

/// Receives the message; `None` if the client sent something else instead and the load is abandoned.
pub(crate) async fn receive<R: AsyncRead + Unpin>(
    reader: &mut PacketReader<R>,
    sink: Box<dyn RowSink>,
    row_max_bytes: usize,
) -> Result<BulkOutcome, ConnectionError> {
    reader.expect_bulk(true);
    let outcome = receive_rows(reader, sink, row_max_bytes).await;
    reader.expect_bulk(false);
    outcome
}

async fn receive_rows<R: AsyncRead + Unpin>(
    reader: &mut PacketReader<R>,
    sink: Box<dyn RowSink>,
    row_max_bytes: usize,
) -> Result<BulkOutcome, ConnectionError> {
    let (chunks, queue) = mpsc::channel::<Vec<u8>>(CHUNKS_QUEUED);
    let (spent, spare) = mpsc::unbounded_channel();
    let worker = tokio::task::spawn_blocking(move || decode(sink, queue, &spent, row_max_bytes));
    let received = receive_packets(reader, &chunks, spare).await;
    match received {
        Ok(End::Complete) => {
            // An empty chunk says that the message is complete; a closed channel, that it is not.
            let _ = chunks.send(Vec::new()).await;
            drop(chunks);
            let rows = worker.await.map_err(|error| ConnectionError::Row(error.to_string()))?;
            Ok(rows.map_or_else(BulkOutcome::Failed, |rows| BulkOutcome::Loaded { rows }))
        }
        Ok(End::Cancelled { attention }) => {
            drop(chunks);
            let _ = worker.await;
            Ok(BulkOutcome::Cancelled { attention })
        }
        Err(error) => {
            drop(chunks);
            let _ = worker.await;
            Err(error)
        }
    }
}

enum End {
    Complete,
    Cancelled { attention: bool },
}

async fn receive_packets<R: AsyncRead + Unpin>(
    reader: &mut PacketReader<R>,
    chunks: &mpsc::Sender<Vec<u8>>,
    mut spare: mpsc::UnboundedReceiver<Vec<u8>>,
) -> Result<End, ConnectionError> {
    let mut chunk = Vec::new();
    loop {
        let Some((packet, payload)) = reader.packet().await? else { return Err(ConnectionError::CutOff) };
        match packet.header.packet_type {
            PacketType::BulkLoad => {}
            PacketType::Attention => return Ok(End::Cancelled { attention: true }),
            other => {
                return Err(ConnectionError::Unexpected(format!("{other:?} inside a bulk load").into()));
            }
        }
        if packet.is_ignored() {
            return Ok(End::Cancelled { attention: false });
        }
        chunk.extend_from_slice(payload);
        if packet.ends_message() || chunk.len() >= CHUNK_BYTES {
            let mut next = spare.try_recv().unwrap_or_default();
            next.clear();
            let full = std::mem::replace(&mut chunk, next);
            // The worker has gone if the load has failed: the rest is read and dropped.
            if !full.is_empty() {
                let _ = chunks.send(full).await;
            }
        }
        if packet.ends_message() {
            return Ok(End::Complete);
        }
    }
}

/// The rows' thread.
fn decode(
    mut sink: Box<dyn RowSink>,
    mut queue: mpsc::Receiver<Vec<u8>>,
    spent: &mpsc::UnboundedSender<Vec<u8>>,
    row_max_bytes: usize,
) -> Result<u64, SqlError> {
    let mut stream = ChunkedStream::new(row_max_bytes);
    while let Some(chunk) = queue.blocking_recv() {
        if chunk.is_empty() {
            stream.finish(sink.as_mut())?;
            return sink.finish();
        }
        stream.feed(&chunk, sink.as_mut())?;
        // Nobody wants the buffer back once the message has been received.
        let _ = spent.send(chunk);
    }
    Err(SqlError::bulk_cancelled())
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
                chunk = chunk.get(consumed - carried..).unwrap_or_default();
                break;
            }
            joined.drain(..consumed);
            self.carry = joined;
            if self.carry.len() > self.row_max_bytes {
                return Err(SqlError::bulk_row_too_long(self.row_max_bytes));
            }
            if tail.is_empty() {
                return Ok(());
            }
            chunk = tail;
            step = step.saturating_mul(2);
        }
        let consumed = self.consume(chunk, false, sink)?;
        self.carry.extend_from_slice(chunk.get(consumed..).unwrap_or_default());
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
            let rest = bytes.get(position..).unwrap_or_default();
            match self.stream.next(rest, last).map_err(|error| SqlError::bulk_stream(&error))? {
                BulkEvent::Columns { bytes } => {
                    position += bytes;
                    sink.columns(self.stream.columns())?;
                }
                BulkEvent::Rows(span) => {
                    position += span.bytes;
                    sink.rows(rest.get(..span.bytes).unwrap_or_default(), span.rows)?;
                }
                BulkEvent::MoreNeeded => return Ok(position),
                BulkEvent::End => return Ok(bytes.len()),
            }
        }
    }
}
