//! Packets from the socket, in large reads.

use std::io;

use tds::message_reader::{Event, MessageReader, Packet};
use tds::packet::{PACKET_SIZE_MAX_BYTES, PacketHeader, PacketType, Status};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::ConnectionError;

/// Read buffer of an idle connection.
const BUFFER_MIN_BYTES: usize = 8 << 10;
/// Read buffer during a bulk load.
const BUFFER_MAX_BYTES: usize = 512 << 10;

/// Reads packets. A read may be dropped between any two polls without losing a byte.
pub(crate) struct PacketReader<R> {
    io: R,
    messages: MessageReader,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// A whole request.
pub(crate) struct Message {
    pub packet_type: PacketType,
    /// Status of the first packet, where the reset bits are.
    pub status: Status,
    /// The client took it back.
    pub ignored: bool,
    pub payload: Vec<u8>,
}

impl<R: AsyncRead + Unpin> PacketReader<R> {
    /// A reader that takes messages of at most `message_size_max_bytes`.
    pub fn new(io: R, message_size_max_bytes: usize) -> Self {
        PacketReader {
            io,
            messages: MessageReader::new(PACKET_SIZE_MAX_BYTES, message_size_max_bytes),
            buffer: vec![0; BUFFER_MIN_BYTES],
            start: 0,
            end: 0,
        }
    }

    /// The next packet and its payload; `None` at a clean end of the stream.
    pub async fn packet(&mut self) -> Result<Option<(Packet, &[u8])>, ConnectionError> {
        let packet = loop {
            let pending = self.buffer.get(self.start..self.end).unwrap_or_default();
            match self.messages.next(pending)? {
                Event::Packet(packet) => break packet,
                Event::NeedBytes(wanted) => {
                    if !self.fill(wanted).await? {
                        return Ok(None);
                    }
                }
            }
        };
        let payload = self.start + packet.payload.start..self.start + packet.payload.end;
        self.start = payload.end;
        Ok(Some((packet, self.buffer.get(payload).unwrap_or_default())))
    }

    /// A whole message; `None` at a clean end of the stream.
    pub async fn message(&mut self) -> Result<Option<Message>, ConnectionError> {
        let mut payload = Vec::new();
        let mut first = None;
        while let Some((packet, bytes)) = self.packet().await? {
            if packet.starts_message {
                payload.clear();
                first = Some(packet.header);
            }
            payload.extend_from_slice(bytes);
            if packet.ends_message() {
                let PacketHeader { packet_type, status, .. } = first.unwrap_or(packet.header);
                return Ok(Some(Message { packet_type, status, ignored: packet.is_ignored(), payload }));
            }
        }
        if first.is_some() { Err(ConnectionError::CutOff) } else { Ok(None) }
    }

    /// The type of the next packet, without taking it; `None` at the end of the stream.
    pub async fn next_packet_type(&mut self) -> Result<Option<PacketType>, ConnectionError> {
        loop {
            let pending = self.buffer.get(self.start..self.end).and_then(<[u8]>::first).copied();
            if let Some(number) = pending {
                let unknown = || ConnectionError::Unexpected(format!("packet type 0x{number:02X}").into());
                return PacketType::from_number(number).ok_or_else(unknown).map(Some);
            }
            if !self.fill(1).await? {
                return Ok(None);
            }
        }
    }

    /// Reads and forgets; false at the end of the stream.
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

    /// The stream beneath. Before login clients wait for their answer, so nothing more can have been read.
    pub fn into_inner(self) -> Result<R, ConnectionError> {
        if self.start == self.end { Ok(self.io) } else { Err(ConnectionError::OutOfTurn) }
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
        let space = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = match self.io.read(space).await {
            // A client that closes its socket without a TLS farewell; between messages nothing is lost by it.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            other => other?,
        };
        match read {
            0 if self.start == self.end => Ok(false),
            0 => Err(ConnectionError::CutOff),
            read => {
                self.end += read;
                Ok(true)
            }
        }
    }

    fn compact(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }
}
