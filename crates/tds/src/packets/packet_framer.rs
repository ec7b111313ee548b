//! Splits messages into packets.

use std::collections::VecDeque;
use std::ops::Range;

use crate::codec::PlpChunk;
use crate::packet::{
    HEADER_LEN_BYTES, PACKET_SIZE_MAX_BYTES, PACKET_SIZE_MIN_BYTES, PacketHeader, PacketType, Status,
};

/// The length in front of a chunk, and the zero behind the last one.
const CHUNK_LENGTH_BYTES: usize = 4;

/// Splits one message into packets of the negotiated size.
///
/// A full packet is held back until it is known whether more follows. So the last packet of a message has the end-of-message bit,
/// and only an empty message, such as an attention, has an empty packet.
///
/// Three ways to use it, the first not to be mixed with the others within one message:
/// * [`frame_into`](Self::frame_into) copies payload and headers into a buffer.
/// * [`plan`](Self::plan) only produces headers and payload ranges, for vectored writes straight from the buffer that the payload
///   was encoded into.
/// * [`frame_next`](Self::frame_next) copies one packet, and begins a new chunk of a partially length-prefixed value in it.
#[derive(Debug)]
pub struct PacketFramer {
    packet_type: PacketType,
    payload_max: usize,
    spid: u16,
    packet_id: u8,
    /// Status bits that only the first packet carries.
    first_status: Status,
    /// Payload of the packet that is not yet complete; never more than `payload_max`.
    held: Vec<u8>,
}

/// One packet of a plan: a header and the part of the payload that follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPacket {
    /// The encoded header.
    pub header: [u8; HEADER_LEN_BYTES],
    /// Bytes of the payload given to [`PacketFramer::plan`].
    pub payload: Range<usize>,
}

impl PacketFramer {
    /// Creates a framer for one message. `packet_size_bytes` counts the header and is brought into the
    /// protocol's limits, 512 to 32767. A client's `spid` is 0.
    pub fn new(packet_type: PacketType, packet_size_bytes: usize, spid: u16) -> Self {
        let packet_size_bytes = packet_size_bytes.clamp(PACKET_SIZE_MIN_BYTES, PACKET_SIZE_MAX_BYTES);
        Self {
            packet_type,
            payload_max: packet_size_bytes - HEADER_LEN_BYTES,
            spid,
            packet_id: 1,
            first_status: Status::NORMAL,
            held: Vec::new(),
        }
    }

    /// Puts `status` (a reset bit) on the first packet of the message.
    pub fn with_first_status(mut self, status: Status) -> Self {
        self.first_status = status;
        self
    }

    /// Returns the payload bytes of a full packet.
    pub fn payload_max(&self) -> usize {
        self.payload_max
    }

    /// Computes the bytes that `payload_len` bytes take as a whole message, headers included.
    pub fn framed_len(&self, payload_len: usize) -> usize {
        payload_len + payload_len.div_ceil(self.payload_max).max(1) * HEADER_LEN_BYTES
    }

    /// Appends whole packets of the message to `out` and keeps the rest; with `last`, ends the message. The framer is
    /// then ready for another message of the same type.
    pub fn frame_into(&mut self, payload: &[u8], last: bool, out: &mut Vec<u8>) {
        let mut rest = payload;
        if !self.held.is_empty() {
            let room = self.payload_max - self.held.len();
            let (head, tail) = rest.split_at(room.min(rest.len()));
            self.held.extend_from_slice(head);
            if tail.is_empty() && !last {
                return;
            }
            let held = std::mem::take(&mut self.held);
            self.packet_into(&held, tail.is_empty() && last, out);
            self.held = held;
            self.held.clear();
            if tail.is_empty() {
                return;
            }
            rest = tail;
        }
        if last {
            out.reserve(self.framed_len(rest.len()));
        }
        while let Some((full, tail)) = rest.split_at_checked(self.payload_max)
            && !tail.is_empty()
        {
            self.packet_into(full, false, out);
            rest = tail;
        }
        if last {
            self.packet_into(rest, true, out);
        } else {
            self.held.extend_from_slice(rest);
        }
    }

    /// Plans the packets of the next `payload_len` bytes of the message without touching them: appends them to
    /// `packets` and returns how many bytes they cover.
    ///
    /// With `last`, everything is covered and the final packet ends the message. Otherwise up to one packet's worth of
    /// bytes at the end stays uncovered; the caller gives those bytes again, at the head of its next payload.
    pub fn plan(&mut self, payload_len: usize, last: bool, packets: &mut Vec<PlannedPacket>) -> usize {
        let mut start = 0;
        while payload_len - start > self.payload_max {
            let payload = start..start + self.payload_max;
            start = payload.end;
            packets.push(PlannedPacket { header: self.header(self.payload_max, false), payload });
        }
        if last {
            let header = self.header(payload_len - start, true);
            packets.push(PlannedPacket { header, payload: start..payload_len });
            start = payload_len;
        }
        start
    }

    /// Writes the next packet of the payload from `at` on over `packet`, and returns where the packet behind
    /// it begins. `None`: the payload does not fill one, and it is not the `last` of the message. `chunks`
    /// are those of the payload from `at` on. Neither a chunk nor its length reaches over the end of a
    /// packet, so a packet is shorter where only the length would fit.
    pub fn frame_next(
        &mut self,
        payload: &[u8],
        at: usize,
        chunks: &mut VecDeque<PlpChunk>,
        last: bool,
        packet: &mut Vec<u8>,
    ) -> Option<usize> {
        // Chunks only make packets hold less of it.
        if !last && payload.len().saturating_sub(at) <= self.payload_max {
            return None;
        }
        Some(self.frame_from(payload, at, chunks, last, packet))
    }

    /// Writes the next packet of a payload that goes on: its last packet may be shorter than the others.
    /// `None`: nothing is left.
    pub fn frame_short(
        &mut self,
        payload: &[u8],
        at: usize,
        chunks: &mut VecDeque<PlpChunk>,
        packet: &mut Vec<u8>,
    ) -> Option<usize> {
        (at < payload.len()).then(|| self.frame_from(payload, at, chunks, false, packet))
    }

    fn frame_from(
        &mut self,
        payload: &[u8],
        at: usize,
        chunks: &mut VecDeque<PlpChunk>,
        last: bool,
        packet: &mut Vec<u8>,
    ) -> usize {
        packet.clear();
        packet.resize(HEADER_LEN_BYTES, 0);
        let end = fill(payload, at, chunks, HEADER_LEN_BYTES + self.payload_max, packet);
        let header = self.header(packet.len() - HEADER_LEN_BYTES, last && end >= payload.len());
        if let Some(place) = packet.first_chunk_mut() {
            *place = header;
        }
        end
    }

    /// Ends a half-sent message so that the receiver ignores all of it (end-of-message and ignore bits).
    pub fn cancel_into(&mut self, out: &mut Vec<u8>) {
        self.held.clear();
        out.extend_from_slice(&self.header_with(0, Status::END_OF_MESSAGE | Status::IGNORE));
        self.restart();
    }

    fn packet_into(&mut self, payload: &[u8], last: bool, out: &mut Vec<u8>) {
        let header = self.header(payload.len(), last);
        out.extend_from_slice(&header);
        out.extend_from_slice(payload);
    }

    fn header(&mut self, payload_len: usize, last: bool) -> [u8; HEADER_LEN_BYTES] {
        let status = if last { Status::END_OF_MESSAGE } else { Status::NORMAL };
        let header = self.header_with(payload_len, status);
        if last {
            self.restart();
        }
        header
    }

    fn header_with(&mut self, payload_len: usize, status: Status) -> [u8; HEADER_LEN_BYTES] {
        // The payload never exceeds `payload_max`, which fits.
        let length = u16::try_from(payload_len + HEADER_LEN_BYTES).unwrap_or(u16::MAX);
        let header = PacketHeader {
            packet_type: self.packet_type,
            status: status | std::mem::take(&mut self.first_status),
            length,
            spid: self.spid,
            packet_id: self.packet_id,
            window: 0,
        };
        self.packet_id = self.packet_id.wrapping_add(1);
        header.encode()
    }

    fn restart(&mut self) {
        self.packet_id = 1;
    }
}

/// Appends payload from `at` on until `packet` has `packet_len` bytes, or would cut a chunk's length. Returns where it ends.
fn fill(
    payload: &[u8],
    mut at: usize,
    chunks: &mut VecDeque<PlpChunk>,
    packet_len: usize,
    packet: &mut Vec<u8>,
) -> usize {
    while at < payload.len() {
        let room = packet_len.saturating_sub(packet.len());
        let plain_end = chunks.front().map_or(payload.len(), |chunk| chunk.head_at);
        if at < plain_end {
            let end = plain_end.min(at + room);
            packet.extend_from_slice(payload.get(at..end).unwrap_or_default());
            at = end;
            if at < plain_end {
                break;
            }
            continue;
        }
        let Some(chunk) = chunks.front_mut() else { break };
        if !chunk.data.is_empty() {
            let taken = chunk.data.len().min(room.saturating_sub(CHUNK_LENGTH_BYTES));
            if taken == 0 {
                break;
            }
            let end = chunk.data.start + taken;
            packet.extend_from_slice(&u32::try_from(taken).unwrap_or(u32::MAX).to_le_bytes());
            packet.extend_from_slice(payload.get(chunk.data.start..end).unwrap_or_default());
            *chunk = PlpChunk { head_at: end, data: end..chunk.data.end };
            at = end;
        } else if room < CHUNK_LENGTH_BYTES {
            break;
        } else {
            packet.extend_from_slice(&[0; CHUNK_LENGTH_BYTES]);
            at += CHUNK_LENGTH_BYTES;
            chunks.pop_front();
        }
    }
    at
}

/// Frames a whole message as packets.
pub fn frame_message(
    packet_type: PacketType,
    packet_size_bytes: usize,
    spid: u16,
    status: Status,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    PacketFramer::new(packet_type, packet_size_bytes, spid)
        .with_first_status(status)
        .frame_into(payload, true, &mut out);
    out
}
