//! The conversation of a client and a server as a state machine, from the first byte to the last, without I/O.
//! [`server::Conversation`] takes the bytes of a client and returns what they ask for; [`client::Connecting`], [`client::Phase`]
//! and [`client::Answer`] are the client's end. None of them knows a socket, a thread or a clock: their caller moves bytes, runs
//! TLS, and does the next action. Each rule of the protocol (MS-TDS 3.2.5 and 3.3.5) is implemented here once:
//!
//! | Rule | Where |
//! |---|---|
//! | which ENCRYPTION answers which, where TLS begins and ends | [`server::Conversation::answer_prelogin`], [`client::Connecting`] |
//! | TLS records in PRELOGIN packets | [`wrapped_tls`] |
//! | which packets are allowed in which state | [`server::Conversation::next`], [`client::AnswerPackets`] |
//! | what an attention does, and what ends it | [`server::Conversation::answered`], [`client::Phase::cancel`], [`client::Answer`] |
//! | packet sizes | [`server::granted_packet_size`], [`client::PacketSize`] |
//! | reset flags | [`server::Message::reset`] |
//! | the steps of integrated authentication | [`server::Event::SignIn`], [`client::Connecting::login_answered`] |
//! | the rows after INSERT BULK | [`server::Event::BulkBegins`] and what follows it |
//!
//! States of TLS say what protects the bytes, not which library does it. The caller passes bytes inside TLS decrypted.

pub mod client;
pub mod server;
pub mod wrapped_tls;

use crate::codec::DecodeError;
use crate::packet::PacketType;
use crate::prelogin::NegotiationError;

/// A breach of the protocol by one end. The conversation cannot continue after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversationError {
    /// Bytes that are not TDS.
    #[error("malformed {what}: {error}")]
    Decode {
        /// Structure that was being read.
        what: &'static str,
        /// The field, its place, and what is wrong with it.
        error: DecodeError,
    },
    /// A message that is not allowed in this state.
    #[error("{packet_type:?} {when}")]
    Unexpected {
        /// Type of the message.
        packet_type: PacketType,
        /// State in which the message is not allowed.
        when: &'static str,
    },
    /// Bytes arrived although their sender had to wait for an answer.
    #[error("bytes came before the other end had answered")]
    OutOfTurn,
    /// Bytes arrived after the end.
    #[error("bytes came after the end of the conversation")]
    Closed,
    /// The stream ended inside a message.
    #[error("the connection was cut off inside a message")]
    CutOff,
    /// The two ends do not agree on encryption.
    #[error("encryption: {0}")]
    Encryption(#[from] NegotiationError),
    /// A version that is not supported.
    #[error("TDS version 0x{number:08X}")]
    Version {
        /// Number of the version in LOGIN7.
        number: u32,
    },
    /// A packet size that the protocol does not allow.
    #[error("a packet size of {bytes} bytes")]
    PacketSize {
        /// Size that the server announced.
        bytes: u32,
    },
    /// An answer or a packet that must be complete and is not.
    #[error("{0}")]
    Incomplete(&'static str),
}

impl ConversationError {
    /// Makes the error of a packet that was found whole, and then was not: a defect of this crate.
    fn missing() -> Self {
        Self::Incomplete("a packet beyond the bytes that were received")
    }

    /// Adds to an error the name of the structure that was being read.
    fn decoding(what: &'static str) -> impl Fn(DecodeError) -> Self {
        move |error| Self::Decode { what, error }
    }
}
