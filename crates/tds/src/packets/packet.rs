//! The packet header (MS-TDS 2.2.3.1): eight bytes in front of every piece of a message.

use std::fmt;
use std::ops::BitOr;

use crate::codec::DecodeError;

/// Bytes of a packet header.
pub const HEADER_LEN_BYTES: usize = 8;

/// The smallest packet size that can be negotiated, header included.
pub const PACKET_SIZE_MIN_BYTES: usize = 512;

/// The largest packet size that can be negotiated, header included.
pub const PACKET_SIZE_MAX_BYTES: usize = 32767;

/// The packet size of every connection until the packet-size ENVCHANGE, header included.
pub const PACKET_SIZE_INITIAL_BYTES: usize = 4096;

/// The type of a message, which all of its packets carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// T-SQL text.
    SqlBatch = 0x01,
    /// The login of versions before 7.0; recognised so that it can be refused.
    PreTds7Login = 0x02,
    /// Remote procedure calls.
    Rpc = 0x03,
    /// Everything that a server sends after the PRELOGIN request, its PRELOGIN reply included.
    TabularResult = 0x04,
    /// A request to stop; a header without payload.
    Attention = 0x06,
    /// The rows of a bulk load.
    BulkLoad = 0x07,
    /// A federated authentication token, when login did not carry it.
    FedAuthToken = 0x08,
    /// Transaction manager requests.
    TransactionManager = 0x0E,
    /// The login of 7.0 and later.
    Login7 = 0x10,
    /// A further step of integrated authentication.
    Sspi = 0x11,
    /// PRELOGIN, and the wrapper of TLS handshake records in 7.x.
    Prelogin = 0x12,
}

impl PacketType {
    /// Returns the type with this number, if it is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0x01 => Self::SqlBatch,
            0x02 => Self::PreTds7Login,
            0x03 => Self::Rpc,
            0x04 => Self::TabularResult,
            0x06 => Self::Attention,
            0x07 => Self::BulkLoad,
            0x08 => Self::FedAuthToken,
            0x0E => Self::TransactionManager,
            0x10 => Self::Login7,
            0x11 => Self::Sspi,
            0x12 => Self::Prelogin,
            _ => return None,
        })
    }

    /// Returns true for messages that are processed while they arrive and may be of any length.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::TabularResult | Self::BulkLoad)
    }
}

/// Status bits of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u8);

impl Status {
    /// Status of a packet that more packets of its message follow.
    pub const NORMAL: Self = Self(0x00);
    /// The last packet of the message.
    pub const END_OF_MESSAGE: Self = Self(0x01);
    /// The receiver shall ignore the whole message; only together with `END_OF_MESSAGE`.
    pub const IGNORE: Self = Self(0x02);
    /// Reset the session before the request. On the first packet of a SQL batch, RPC or transaction request.
    pub const RESET_CONNECTION: Self = Self(0x08);
    /// Like `RESET_CONNECTION`, but an open transaction stays.
    pub const RESET_CONNECTION_SKIP_TRAN: Self = Self(0x10);

    /// Returns true if all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the session is to be reset, with or without its transaction.
    pub fn resets(self) -> bool {
        self.contains(Self::RESET_CONNECTION) || self.contains(Self::RESET_CONNECTION_SKIP_TRAN)
    }
}

impl BitOr for Status {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({:#04x})", self.0)
    }
}

/// The header of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// Type of the message.
    pub packet_type: PacketType,
    /// Status bits of the packet (MS-TDS 2.2.3.1.2).
    pub status: Status,
    /// Bytes of the packet, header included; at least [`HEADER_LEN_BYTES`].
    pub length: u16,
    /// Session id; 0 from a client.
    pub spid: u16,
    /// Number of the packet in its message, modulo 256. Not checked by receivers.
    pub packet_id: u8,
    /// Unused; 0.
    pub window: u8,
}

impl PacketHeader {
    /// Decodes a header. Refuses unknown types and a length that does not cover the header.
    pub fn parse(bytes: &[u8; HEADER_LEN_BYTES]) -> Result<Self, DecodeError> {
        let [packet_type, status, length_high, length_low, spid_high, spid_low, packet_id, window] = *bytes;
        let packet_type = PacketType::from_number(packet_type).ok_or_else(|| {
            DecodeError::invalid("packet type", 0, format!("{packet_type:#04x} is not a packet type"))
        })?;
        let length = u16::from_be_bytes([length_high, length_low]);
        if usize::from(length) < HEADER_LEN_BYTES {
            return Err(DecodeError::invalid(
                "packet length",
                2,
                format!("{length} is shorter than the header"),
            ));
        }
        let spid = u16::from_be_bytes([spid_high, spid_low]);
        Ok(Self { packet_type, status: Status(status), length, spid, packet_id, window })
    }

    /// Encodes the eight bytes of the header.
    pub fn encode(&self) -> [u8; HEADER_LEN_BYTES] {
        let [length_high, length_low] = self.length.to_be_bytes();
        let [spid_high, spid_low] = self.spid.to_be_bytes();
        [
            self.packet_type as u8,
            self.status.0,
            length_high,
            length_low,
            spid_high,
            spid_low,
            self.packet_id,
            self.window,
        ]
    }

    /// Counts the bytes that follow the header.
    pub fn payload_len(&self) -> usize {
        usize::from(self.length).saturating_sub(HEADER_LEN_BYTES)
    }

    /// Returns true if the packet is the last of its message.
    pub fn ends_message(&self) -> bool {
        self.status.contains(Status::END_OF_MESSAGE)
    }
}
