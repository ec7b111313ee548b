//! The receive buffer: bytes from the wire, cut into packets.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Duration,
};

use tds::conversation::{ConversationError, client::AnswerPackets};

use super::{
    Link, Shared,
    ahead::{Ahead, Buffer, HEAD_BYTES},
    read_socket,
};

/// Bytes asked of the socket at a time: several of the largest packets.
pub(super) const READ_LEN_BYTES: usize = 256 * 1024;
/// An answer of so many bytes is long: the rest is received by a thread of its own.
const LONG_ANSWER_BYTES: usize = 1024 * 1024;

/// Received bytes that are not yet unpacked, and where the current message stands.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    packets: AnswerPackets,
    /// `bytes[start..end]` is received and not yet consumed; the rest is room.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    socket: Socket,
    /// The thread that receives the rest of the message, with the bytes received before it.
    ahead: Option<Ahead>,
    message_bytes: usize,
}

/// Reads from the socket.
#[derive(Debug, Default)]
pub(super) struct Socket {
    /// Records before decryption.
    sealed: Vec<u8>,
}

impl Incoming {
    /// Returns true if no byte is waiting to be unpacked.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the bytes that wait to be unpacked.
    pub(super) fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the size of the server's packets, once a message of several has shown it.
    pub(super) fn packet_size_bytes(&self) -> Option<usize> {
        self.packets.packet_size_bytes()
    }

    /// Appends the payloads of the packets at hand, up to the end of the message. `None`: not one whole packet is here;
    /// otherwise whether the message is complete.
    pub(super) fn unpack(&mut self, payload: &mut Vec<u8>) -> Result<Option<bool>, ConversationError> {
        let pending = self.bytes.get(self.start..self.end).unwrap_or_default();
        let (consumed, progress) = self.packets.unpack(pending, payload)?;
        self.start += consumed;
        if progress == Some(true) {
            self.ahead = None;
            self.message_bytes = 0;
        }
        Ok(progress)
    }

    /// Takes what was received next, waiting at most `patience` where another thread receives. Returns the bytes read off
    /// the wire; 0 when the peer closed.
    pub(super) fn fill(&mut self, shared: &Arc<Shared>, patience: Duration) -> io::Result<usize> {
        if self.ahead.is_none() && self.message_bytes >= LONG_ANSWER_BYTES {
            let pending = self.bytes.get(self.start..self.end).unwrap_or_default();
            self.ahead = Ahead::start(shared, pending);
            self.message_bytes = 0;
        }
        if let Some(ahead) = &self.ahead {
            match ahead.next(patience)? {
                Some(buffer) => return Ok(self.take(buffer)),
                // The bytes that follow belong to another message.
                None => self.ahead = None,
            }
        }
        self.make_room();
        let read = self.socket.read(shared, &mut self.bytes, &mut self.end)?;
        self.message_bytes += read;
        Ok(read)
    }

    /// Puts what is left of the bytes in front of those of a buffer, which take their place.
    fn take(&mut self, buffer: Buffer) -> usize {
        let Buffer { mut bytes, end, read } = buffer;
        let pending = self.bytes.get(self.start..self.end).unwrap_or_default();
        match HEAD_BYTES.checked_sub(pending.len()) {
            Some(start) => {
                if let Some(place) = bytes.get_mut(start..HEAD_BYTES) {
                    place.copy_from_slice(pending);
                }
                (self.start, self.end) = (start, end);
            }
            // Longer than a packet can be.
            None => {
                let joined = [pending, bytes.get(HEAD_BYTES..end).unwrap_or_default()].concat();
                (self.start, self.end) = (0, joined.len());
                bytes = joined;
            }
        }
        let spent = std::mem::replace(&mut self.bytes, bytes);
        if let Some(ahead) = &self.ahead {
            ahead.give_back(spent);
        }
        read
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

impl Socket {
    /// Reads once from the socket, and decrypts, behind `end`, which moves. Without TLS no more is read than there is room for.
    /// Returns the bytes read off the wire; 0 when the peer closed.
    pub(super) fn read(
        &mut self,
        shared: &Shared,
        bytes: &mut Vec<u8>,
        end: &mut usize,
    ) -> io::Result<usize> {
        let sealed = matches!(*shared.lock(), Link::Tls(_));
        if !sealed {
            let read = read_socket(shared, bytes.get_mut(*end..).unwrap_or_default())?;
            *end += read;
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
            if bytes.len() < *end + decrypted {
                bytes.resize(*end + decrypted, 0);
            }
            let room = bytes.get_mut(*end..*end + decrypted).ok_or(io::ErrorKind::InvalidData)?;
            connection.reader().read_exact(room)?;
            *end += decrypted;
        }
        // Renegotiation or key updates may want an answer.
        super::flush_tls(connection, shared)?;
        Ok(read)
    }
}
