//! The state of a connection with respect to a request and its cancellation.

use crate::packet::{PACKET_SIZE_INITIAL_BYTES, PacketType, Status};
use crate::packet_framer::frame_message;

/// The phase of request and answer. It is one byte, so that threads can share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// No request is under way.
    Idle = 0,
    /// A request is being written.
    Sending = 1,
    /// The answer is awaited or being read.
    Receiving = 2,
    /// An attention has been sent; its acknowledgement ends the answer.
    Attention = 3,
}

/// Effect of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// No effect: there is nothing to stop, or an attention has been sent.
    Nothing,
    /// An attention may not go between the packets of a message, so the writer of the message sends it.
    LeaveToWriter,
    /// An attention is sent at once.
    SendAttention,
}

impl Phase {
    /// Returns the phase with this number; `Idle` for one that has none.
    pub fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Sending,
            2 => Self::Receiving,
            3 => Self::Attention,
            _ => Self::Idle,
        }
    }

    /// Returns the effect of a cancellation in this phase (MS-TDS 2.2.1.7).
    pub fn cancel(self) -> Cancel {
        match self {
            Self::Idle | Self::Attention => Cancel::Nothing,
            Self::Sending => Cancel::LeaveToWriter,
            Self::Receiving => Cancel::SendAttention,
        }
    }

    /// Makes the packet of an attention, after which the phase is [`Attention`](Self::Attention).
    pub fn attention_packet() -> Vec<u8> {
        frame_message(PacketType::Attention, PACKET_SIZE_INITIAL_BYTES, 0, Status::NORMAL, &[])
    }
}
