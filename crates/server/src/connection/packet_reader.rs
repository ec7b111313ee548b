//! Reads the requests of a client, with large reads of its socket.

use std::io;
use std::ops::Range;

use tds::conversation::server::{Conversation, Event, Step};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::connection::ConnectionError;

/// Read buffer of an idle connection.
const BUFFER_MIN_BYTES: usize = 8 << 10;
/// Read buffer during a bulk load: as much as stays in a processor's cache together with the pages that are made of it.
const BUFFER_MAX_BYTES: usize = 256 << 10;
/// The part of the buffer that is received before rows are handed on. Behind it there is room for the largest packet.
const ROWS_BYTES: usize = 192 << 10;

/// Shows received bytes to the conversation. A read may be dropped between any two polls without losing a byte.
pub(crate) struct PacketReader<R> {
    io: R,
    conversation: Conversation,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// Packets of a bulk load, as they were received.
#[derive(Debug, Default)]
pub(crate) struct ReceivedRows {
    bytes: Vec<u8>,
    /// The ranges of rows in the bytes, between the headers of packets.
    payloads: Vec<Range<usize>>,
}

impl ReceivedRows {
    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.payloads.iter().all(Range::is_empty)
    }

    /// Makes one of neighbouring payloads until each has so many bytes, if there are so many.
    pub fn join(&mut self, least_bytes: usize) {
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(self.payloads.len());
        for payload in self.payloads.drain(..) {
            match joined.last_mut() {
                Some(last) if last.len() < least_bytes => {
                    self.bytes.copy_within(payload.clone(), last.end);
                    last.end += payload.len();
                }
                _ => joined.push(payload),
            }
        }
        self.payloads = joined;
    }

    /// Returns the rows, in pieces that break anywhere.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.payloads.iter().filter_map(|payload| self.bytes.get(payload.clone()))
    }
}

fn beyond() -> ConnectionError {
    ConnectionError::Lost("bytes beyond what was read".to_owned())
}

impl<R: AsyncRead + Unpin> PacketReader<R> {
    /// Makes a reader that continues a conversation.
    pub fn new(io: R, conversation: Conversation) -> Self {
        PacketReader { io, conversation, buffer: vec![0; BUFFER_MIN_BYTES], start: 0, end: 0 }
    }

    /// Returns the next event, with the rows of a bulk load; `None` at a clean end of the stream.
    pub async fn event(&mut self) -> Result<Option<(Event, &[u8])>, ConnectionError> {
        let (event, shown_at) = loop {
            let shown_at = self.start;
            let pending = self.buffer.get(self.start..self.end).ok_or_else(beyond)?;
            let Step { consumed, event } = self.conversation.next(pending)?;
            self.start += consumed;
            match event {
                Event::NeedBytes(wanted) => {
                    if !self.fill(wanted).await? {
                        return Ok(None);
                    }
                }
                event => break (event, shown_at),
            }
        };
        let rows = match &event {
            Event::BulkRows { payload, .. } => shown_at + payload.start..shown_at + payload.end,
            _ => 0..0,
        };
        Ok(Some((event, self.buffer.get(rows).ok_or_else(beyond)?)))
    }

    /// Receives rows of a bulk load into `rows`, whose memory is used again. Returns the event that ended this: the end of the
    /// message, what comes instead of rows, or that more bytes are needed, because these are enough to be handed on. `None`
    /// at a clean end of the stream.
    pub async fn receive_rows(&mut self, rows: &mut ReceivedRows) -> Result<Option<Event>, ConnectionError> {
        rows.payloads.clear();
        let ended = loop {
            let shown_at = self.start;
            let pending = self.buffer.get(self.start..self.end).ok_or_else(beyond)?;
            let Step { consumed, event } = self.conversation.next(pending)?;
            self.start += consumed;
            match event {
                Event::NeedBytes(wanted) => {
                    if self.start >= ROWS_BYTES {
                        break event;
                    }
                    if !self.fill_behind(wanted).await? {
                        return Ok(None);
                    }
                }
                Event::BulkRows { ref payload, last } => {
                    rows.payloads.push(shown_at + payload.start..shown_at + payload.end);
                    if last {
                        break event;
                    }
                }
                event => break event,
            }
        };
        // Bytes that were received behind the rows go to the other buffer.
        let rest = self.start..self.end;
        std::mem::swap(&mut self.buffer, &mut rows.bytes);
        let wanted = BUFFER_MAX_BYTES.max(rest.len());
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        (self.start, self.end) = (0, rest.len());
        let place = self.buffer.get_mut(..rest.len()).ok_or_else(beyond)?;
        place.copy_from_slice(rows.bytes.get(rest).ok_or_else(beyond)?);
        Ok(Some(ended))
    }

    /// Returns the state of the conversation.
    pub fn conversation(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Reads and drops bytes; false at the end of the stream.
    pub async fn pass_over(&mut self) -> bool {
        (self.start, self.end) = (0, 0);
        matches!(self.io.read(&mut self.buffer).await, Ok(1..))
    }

    /// Sizes the read buffer for a bulk load (`true`) or for requests.
    pub fn expect_bulk(&mut self, bulk: bool) {
        let wanted = if bulk { BUFFER_MAX_BYTES } else { BUFFER_MIN_BYTES };
        self.compact();
        if wanted >= self.end {
            self.buffer.resize(wanted, 0);
            self.buffer.shrink_to_fit();
        }
    }

    /// Returns the stream and the conversation. Before login the conversation guarantees that no byte is left here.
    pub fn into_parts(self) -> (R, Conversation) {
        (self.io, self.conversation)
    }

    /// Reads once, and leaves everything where it is.
    async fn fill_behind(&mut self, wanted: usize) -> Result<bool, ConnectionError> {
        let least = (self.start + wanted).max(self.end + 1);
        if least > self.buffer.len() {
            self.buffer.resize(least, 0);
        }
        self.read().await
    }

    /// Reads once, with room for `wanted` bytes from the head; `false` at the end of the stream.
    async fn fill(&mut self, wanted: usize) -> Result<bool, ConnectionError> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.end == self.buffer.len() || self.start + wanted > self.buffer.len() {
            self.compact();
        }
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted, 0);
        }
        self.read().await
    }

    async fn read(&mut self) -> Result<bool, ConnectionError> {
        let space = self.buffer.get_mut(self.end..).ok_or_else(beyond)?;
        let read = match self.io.read(space).await {
            // A client that closes its socket without a TLS farewell; between messages nothing is lost by it.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            other => other?,
        };
        if read == 0 {
            self.conversation.end_of_stream(self.end - self.start)?;
        }
        self.end += read;
        Ok(read > 0)
    }

    fn compact(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }
}
