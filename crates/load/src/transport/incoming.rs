//! The receive buffer: bytes from the wire, cut into packets.

use std::io::{self, Read};

use tds::conversation::{ConversationError, client::AnswerPackets};

use super::{Link, Shared, read_socket};

/// Bytes asked of the socket at a time: several of the largest packets.
const READ_LEN_BYTES: usize = 256 * 1024;

/// Received bytes that are not yet unpacked, and where the current message stands.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    packets: AnswerPackets,
    /// `bytes[start..end]` is received and not yet consumed; the rest is room.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Records before decryption.
    sealed: Vec<u8>,
}

impl Incoming {
    /// Whether no byte is waiting to be unpacked.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The size of the server's packets, once a message of several has shown it.
    pub(super) fn packet_size_bytes(&self) -> Option<usize> {
        self.packets.packet_size_bytes()
    }

    /// Appends the payloads of the packets at hand, up to the end of the message. `None`: not one whole packet is here;
    /// otherwise whether the message is complete.
    pub(super) fn unpack(&mut self, payload: &mut Vec<u8>) -> Result<Option<bool>, ConversationError> {
        let pending = self.bytes.get(self.start..self.end).unwrap_or_default();
        let (consumed, progress) = self.packets.unpack(pending, payload)?;
        self.start += consumed;
        Ok(progress)
    }

    /// Reads once from the socket, and decrypts. Returns the bytes read off the wire; 0 when the peer closed.
    pub(super) fn fill(&mut self, shared: &Shared) -> io::Result<usize> {
        self.make_room();
        let sealed = matches!(*shared.lock(), Link::Tls(_));
        if !sealed {
            let read = read_socket(shared, self.bytes.get_mut(self.end..).unwrap_or_default())?;
            self.end += read;
            return Ok(read);
        }
        // The wait is outside of the lock, so that an attention can be written meanwhile.
        self.sealed.resize(READ_LEN_BYTES, 0);
        let read = read_socket(shared, &mut self.sealed)?;
        let mut records = self.sealed.get(..read).unwrap_or_default();
        let mut link = shared.lock();
        let Link::Tls(connection) = &mut *link else { return Ok(read) };
        while !records.is_empty() {
            connection.read_tls(&mut records)?;
            let state = connection
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let decrypted = state.plaintext_bytes_to_read();
            if self.bytes.len() < self.end + decrypted {
                self.bytes.resize(self.end + decrypted, 0);
            }
            let room =
                self.bytes.get_mut(self.end..self.end + decrypted).ok_or(io::ErrorKind::InvalidData)?;
            connection.reader().read_exact(room)?;
            self.end += decrypted;
        }
        // Renegotiation or key updates may want an answer.
        super::flush_tls(connection, shared)?;
        Ok(read)
    }

    /// Moves a partial packet to the front and makes sure that a read has room.
    fn make_room(&mut self) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() < self.end + READ_LEN_BYTES {
            self.bytes.resize(self.end + READ_LEN_BYTES, 0);
        }
    }
}
