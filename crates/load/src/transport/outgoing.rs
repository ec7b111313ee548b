//! A message that is written piece by piece, with the bytes sent from where they were encoded.

use std::io::IoSlice;

use tds::{
    conversation::client::Phase,
    packet::{PacketType, Status},
    packet_framer::{PacketFramer, PlannedPacket},
};

use super::Transport;
use crate::error::Error;

/// Slices in one vectored write; the limit of common systems is 1024, and a packet needs two or three.
const SLICES_MAX: usize = 1000;

/// One message under way. Dropping it unfinished leaves the connection unusable; end it with [`Outgoing::finish`] or
/// [`Outgoing::abandon`].
#[derive(Debug)]
pub(crate) struct Outgoing {
    framer: PacketFramer,
    /// The head of a packet that is not full yet; less than a packet.
    carry: Vec<u8>,
    packets: Vec<PlannedPacket>,
}

impl Outgoing {
    pub(super) fn new(packet_type: PacketType, packet_size_bytes: usize, status: Status) -> Self {
        Self {
            framer: PacketFramer::new(packet_type, packet_size_bytes, 0).with_first_status(status),
            carry: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Sends all full packets of what was given so far.
    pub(crate) fn write(&mut self, transport: &mut Transport, payload: &[u8]) -> Result<(), Error> {
        self.send(transport, payload, false)
    }

    /// Sends the rest and ends the message; the answer is awaited from here on.
    pub(crate) fn finish(&mut self, transport: &mut Transport, payload: &[u8]) -> Result<(), Error> {
        self.send(transport, payload, true)?;
        transport.shared.set_phase(Phase::Receiving);
        // A canceller that came while the message was being written left the attention to the writer.
        match transport.cancel_requested() {
            true => transport.send_attention(),
            false => Ok(()),
        }
    }

    /// Leaves the message unfinished and asks with an attention for an answer that cannot be mistaken. Servers exist that
    /// never come back from a message that is ended with the bit IGNORE (MS-TDS 2.2.3.1.2) and followed by an attention.
    pub(crate) fn abandon(self, transport: &mut Transport) -> Result<(), Error> {
        transport.shared.set_phase(Phase::Receiving);
        transport.send_attention()
    }

    fn send(&mut self, transport: &mut Transport, payload: &[u8], last: bool) -> Result<(), Error> {
        let carried = self.carry.len();
        let total = carried + payload.len();
        self.packets.clear();
        let covered = self.framer.plan(total, last, &mut self.packets);
        if covered == 0 && self.packets.is_empty() {
            self.carry.extend_from_slice(payload);
            return Ok(());
        }
        let mut slices = Vec::with_capacity((3 * self.packets.len()).min(SLICES_MAX + 2));
        let one_packet_a_write = transport.is_tls();
        for packet in &self.packets {
            slices.push(IoSlice::new(&packet.header));
            let range = packet.payload.clone();
            let (from_carry, from_payload) = (
                range.start.min(carried)..range.end.min(carried),
                range.start.max(carried)..range.end.max(carried),
            );
            if !from_carry.is_empty() {
                slices.push(IoSlice::new(self.carry.get(from_carry).ok_or_else(beyond)?));
            }
            if !from_payload.is_empty() {
                let range = from_payload.start - carried..from_payload.end - carried;
                slices.push(IoSlice::new(payload.get(range).ok_or_else(beyond)?));
            }
            if one_packet_a_write || slices.len() >= SLICES_MAX {
                transport.write(&mut slices).map_err(|source| Error::sending("sending", source))?;
                slices.clear();
            }
        }
        if !slices.is_empty() {
            transport.write(&mut slices).map_err(|source| Error::sending("sending", source))?;
        }
        drop(slices);
        // At least one packet went out, and the first of them took all that was carried.
        self.carry.clear();
        let rest = payload.get(covered.saturating_sub(carried)..).ok_or_else(beyond)?;
        self.carry.extend_from_slice(rest);
        Ok(())
    }
}

/// Makes the error of a header that announces bytes which do not follow: the server would read the next packet wrongly.
fn beyond() -> Error {
    Error::internal("a packet was planned beyond its payload")
}
