//! The TLS handshake of TDS 7.x: its records travel as the payload of PRELOGIN packets (MS-TDS 2.2.6.5, 3.2.5.2).
//!
//! Afterwards TDS packets travel inside plain TLS records. A receiver takes whole TDS packets and no byte that follows: if only
//! the login is encrypted, clear bytes follow.

use super::ConversationError;
use crate::packet::{
    HEADER_LEN_BYTES, PACKET_SIZE_INITIAL_BYTES, PACKET_SIZE_MAX_BYTES, PacketHeader, PacketType,
};
use crate::packet_framer::PacketFramer;

/// End of the connection whose handshake packets are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A client's, all of the type of PRELOGIN.
    Client,
    /// A server's. Those before 2005 answered with the type of a result.
    Server,
}

/// Appends one flight of the handshake as one message: some clients expect one answer to each message they send.
pub fn wrap_flight(flight: &[u8], out: &mut Vec<u8>) {
    let mut framer = PacketFramer::new(PacketType::Prelogin, PACKET_SIZE_INITIAL_BYTES, 0);
    framer.frame_into(flight, true, out);
}

/// Takes handshake packets apart, and says how many bytes may be read at a time.
#[derive(Debug)]
pub struct Unwrapper {
    sender: Sender,
    header: [u8; HEADER_LEN_BYTES],
    header_len: usize,
    payload_left: usize,
}

impl Unwrapper {
    /// Creates an unwrapper for the packets of `sender`.
    pub fn new(sender: Sender) -> Self {
        Self { sender, header: [0; HEADER_LEN_BYTES], header_len: 0, payload_left: 0 }
    }

    /// Returns room for the rest of a header, if that is to be read next; `None` during payload.
    pub fn header_room(&mut self) -> Option<&mut [u8]> {
        match self.payload_left {
            0 => self.header.get_mut(self.header_len..),
            _ => None,
        }
    }

    /// Notes that this many bytes of [`header_room`](Self::header_room) were filled.
    pub fn header_read(&mut self, bytes: usize) -> Result<(), ConversationError> {
        self.header_len = (self.header_len + bytes).min(HEADER_LEN_BYTES);
        if self.header_len < HEADER_LEN_BYTES {
            return Ok(());
        }
        self.header_len = 0;
        let header = PacketHeader::parse(&self.header)
            .map_err(ConversationError::decoding("packet of a TLS handshake"))?;
        let wrapped = match self.sender {
            Sender::Client => header.packet_type == PacketType::Prelogin,
            Sender::Server => {
                matches!(header.packet_type, PacketType::Prelogin | PacketType::TabularResult)
            }
        };
        if !wrapped || usize::from(header.length) > PACKET_SIZE_MAX_BYTES {
            return Err(ConversationError::Unexpected {
                packet_type: header.packet_type,
                when: "inside a TLS handshake",
            });
        }
        self.payload_left = header.payload_len();
        Ok(())
    }

    /// Counts the bytes of TLS records that may be read next.
    pub fn payload_left(&self) -> usize {
        self.payload_left
    }

    /// Notes that this many payload bytes were read.
    pub fn payload_read(&mut self, bytes: usize) {
        self.payload_left = self.payload_left.saturating_sub(bytes);
    }

    /// Returns true if a packet is incomplete, so that the stream must not end here.
    pub fn is_inside_packet(&self) -> bool {
        self.header_len > 0 || self.payload_left > 0
    }
}
