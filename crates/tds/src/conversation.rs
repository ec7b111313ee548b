//! Who may say what when: the conversation of a client and a server, from the first byte to the last, without I/O.
//!
//! [`server::Conversation`] is shown the bytes that a client sent and says what they ask for; [`client::Connecting`],
//! [`client::Phase`] and [`client::Answer`] are the other end. None of them knows a socket, a thread or a clock: their
//! caller moves bytes, runs TLS, and does what they say is next. A rule of the protocol (MS-TDS 3.2.5 and 3.3.5)
//! stands here once:
//!
//! | Rule | Where |
//! |---|---|
//! | which ENCRYPTION answers which, where TLS begins and ends | [`server::Conversation::answer_prelogin`], [`client::Connecting`] |
//! | TLS records in PRELOGIN packets | [`wrapped_tls`] |
//! | which packets are allowed in which state | [`server::Conversation::next`], [`client::AnswerPackets`] |
//! | what an attention does, and what ends it | [`server::Conversation::answered`], [`client::Phase::cancel`], [`client::Answer`] |
//! | packet sizes | [`server::granted_packet_size`], [`client::PacketSize`] |
//! | reset flags | [`server::Message::reset`] |
//! | the rows after INSERT BULK | [`server::Event::BulkBegins`] and what follows it |
//!
//! States of TLS say what protects the bytes, not which library does it. Bytes inside of TLS are shown decrypted.

pub mod client;
pub mod server;
pub mod wrapped_tls;

use crate::codec::DecodeError;
use crate::packet::PacketType;
use crate::prelogin::NegotiationError;

/// What an end did that the protocol does not allow. The conversation cannot go on after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversationError {
    /// Bytes that are no TDS.
    #[error("malformed {what}: {error}")]
    Decode {
        /// What was being read.
        what: &'static str,
        /// The field, its place, and what is wrong with it.
        error: DecodeError,
    },
    /// A message that is not allowed in this state.
    #[error("{packet_type:?} {when}")]
    Unexpected {
        /// Its type.
        packet_type: PacketType,
        /// The state.
        when: &'static str,
    },
    /// Bytes came where their sender has to wait for an answer.
    #[error("bytes came before the other end had answered")]
    OutOfTurn,
    /// Bytes came after the end.
    #[error("bytes came after the end of the conversation")]
    Closed,
    /// The stream ended inside a message.
    #[error("the connection was cut off inside a message")]
    CutOff,
    /// The two ends do not agree on encryption.
    #[error("encryption: {0}")]
    Encryption(#[from] NegotiationError),
    /// A version that is not spoken here.
    #[error("TDS version 0x{number:08X}")]
    Version {
        /// As LOGIN7 has it.
        number: u32,
    },
    /// A packet size that the protocol does not have.
    #[error("a packet size of {bytes} bytes")]
    PacketSize {
        /// What the server said.
        bytes: u32,
    },
    /// An answer, or a packet, that is not whole where it has to be.
    #[error("{0}")]
    Incomplete(&'static str),
}

impl ConversationError {
    /// A packet was found whole, and then was not: a defect of this crate.
    fn missing() -> Self {
        Self::Incomplete("a packet beyond the bytes that were received")
    }

    /// Names what was being read when bytes turned out not to be TDS.
    fn decoding(what: &'static str) -> impl Fn(DecodeError) -> Self {
        move |error| Self::Decode { what, error }
    }
}
