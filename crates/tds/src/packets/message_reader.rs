//! Finds packets and messages in a stream of bytes.

use std::ops::Range;

use crate::codec::DecodeError;
use crate::packet::{HEADER_LEN_BYTES, PacketHeader, PacketType, Status};

/// Splits received bytes into packets and finds where messages start and end. It holds no bytes. The caller passes the head of
/// its receive buffer and gets the range of the next packet's payload, so payloads are used where they were received. Oversized
/// packets and messages, and a change of type within a message, are errors; the connection cannot go on after one.
#[derive(Debug)]
pub struct MessageReader {
    packet_size_max_bytes: usize,
    message_size_max_bytes: usize,
    /// The message under way: its first header and the payload bytes seen so far.
    message: Option<(PacketHeader, usize)>,
}

/// Result of [`MessageReader::next`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// No whole packet yet: at least this many bytes are needed from the head.
    NeedBytes(usize),
    /// A whole packet at the head of the bytes.
    Packet(Packet),
}

/// One packet at the head of the bytes; `payload.end` bytes are consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Header of the packet (MS-TDS 2.2.3.1).
    pub header: PacketHeader,
    /// Range of the payload.
    pub payload: Range<usize>,
    /// True for the first packet of a message.
    pub starts_message: bool,
}

impl Packet {
    /// Counts the bytes of header and payload, to be dropped from the head.
    pub fn consumed(&self) -> usize {
        self.payload.end
    }

    /// Returns true for the last packet of a message.
    pub fn ends_message(&self) -> bool {
        self.header.ends_message()
    }

    /// Returns true if the sender asks to ignore the whole message.
    pub fn is_ignored(&self) -> bool {
        self.ends_message() && self.header.status.contains(Status::IGNORE)
    }
}

/// The head of a complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHead {
    /// Type of the message's packets.
    pub packet_type: PacketType,
    /// Status bits of its first packet (the reset bits are there).
    pub status: Status,
    /// True if the sender asks to ignore the message.
    pub ignored: bool,
}

impl MessageReader {
    /// Creates a reader that refuses packets longer than `packet_size_max_bytes` (header included) and
    /// messages whose payload exceeds `message_size_max_bytes`. The latter does not apply to bulk loads and
    /// results, which are streams.
    pub fn new(packet_size_max_bytes: usize, message_size_max_bytes: usize) -> Self {
        Self { packet_size_max_bytes, message_size_max_bytes, message: None }
    }

    /// Sets the largest packet, when login has negotiated another size.
    pub fn set_packet_size_max_bytes(&mut self, packet_size_max_bytes: usize) {
        self.packet_size_max_bytes = packet_size_max_bytes;
    }

    /// Sets the largest message, when login has established trust.
    pub fn set_message_size_max_bytes(&mut self, message_size_max_bytes: usize) {
        self.message_size_max_bytes = message_size_max_bytes;
    }

    /// Returns true between the first and the last packet of a message.
    pub fn is_inside_message(&self) -> bool {
        self.message.is_some()
    }

    /// Looks for a packet at the head of `bytes`.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Event, DecodeError> {
        let Some(header) = bytes.first_chunk::<HEADER_LEN_BYTES>() else {
            return Ok(Event::NeedBytes(HEADER_LEN_BYTES));
        };
        let header = PacketHeader::parse(header)?;
        let length = usize::from(header.length);
        if length > self.packet_size_max_bytes {
            return Err(DecodeError::too_long("packet length", 2, length, self.packet_size_max_bytes));
        }
        // An attention may cut into an unfinished message, which is then abandoned.
        let under_way = self.message.filter(|_| header.packet_type != PacketType::Attention);
        let seen = match under_way {
            Some((first, _)) if first.packet_type != header.packet_type => {
                let what =
                    format!("{:?} packet inside a {:?} message", header.packet_type, first.packet_type);
                return Err(DecodeError::invalid("packet type", 0, what));
            }
            Some((_, seen)) => seen,
            None => 0,
        };
        let message_bytes = seen.saturating_add(header.payload_len());
        if message_bytes > self.message_size_max_bytes && !header.packet_type.is_stream() {
            return Err(DecodeError::too_long(
                "message length",
                2,
                message_bytes,
                self.message_size_max_bytes,
            ));
        }
        if bytes.len() < length {
            return Ok(Event::NeedBytes(length));
        }
        let first = under_way.map_or(header, |(first, _)| first);
        self.message = (!header.ends_message()).then_some((first, message_bytes));
        Ok(Event::Packet(Packet {
            header,
            payload: HEADER_LEN_BYTES..length,
            starts_message: under_way.is_none(),
        }))
    }

    /// Appends packets from the head of `bytes` to `payload` until a message is complete or the bytes run out. Returns
    /// how many bytes were consumed and, if the message is complete, its head.
    ///
    /// `payload` is cleared when a message starts. For messages that are held whole; streams take [`next`](Self::next).
    pub fn collect(
        &mut self,
        bytes: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<(usize, Option<MessageHead>), DecodeError> {
        let mut consumed = 0;
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            let first = self.message.map(|(first, _)| first);
            let packet = match self.next(rest)? {
                Event::NeedBytes(_) => return Ok((consumed, None)),
                Event::Packet(packet) => packet,
            };
            if packet.starts_message {
                payload.clear();
            }
            payload.extend_from_slice(rest.get(packet.payload.clone()).unwrap_or_default());
            consumed += packet.consumed();
            if packet.ends_message() {
                let first = first.filter(|_| !packet.starts_message).unwrap_or(packet.header);
                let head = MessageHead {
                    packet_type: first.packet_type,
                    status: first.status,
                    ignored: packet.is_ignored(),
                };
                return Ok((consumed, Some(head)));
            }
        }
    }
}
