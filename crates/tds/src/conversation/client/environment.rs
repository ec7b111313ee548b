//! The session's state as the server has reported it.

use crate::conversation::ConversationError;
use crate::env_change::{EnvChange, TransactionEvent};
use crate::packet::{PACKET_SIZE_INITIAL_BYTES, PACKET_SIZE_MAX_BYTES, PACKET_SIZE_MIN_BYTES};
use crate::version::TdsVersion;

/// Packets for a server that has not said which it takes. 4092 bytes have been met where 4096 were refused.
const PACKET_SIZE_UNTOLD_BYTES: usize = 4092;

/// The session's environment, kept up by ENVCHANGE tokens (MS-TDS 2.2.7.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The version that both ends speak.
    pub version: TdsVersion,
    /// The current database.
    pub database: String,
    /// Collation of the database, in its wire bytes.
    pub collation: Option<[u8; 5]>,
    /// Descriptor of the open transaction, which requests carry; 0 in autocommit.
    pub transaction: u64,
    /// The end of a transaction that the current answer has reported.
    pub transaction_end: Option<TransactionEvent>,
}

impl Environment {
    /// Creates the environment before the server has reported anything.
    pub fn new(version: TdsVersion) -> Self {
        Self { version, database: String::new(), collation: None, transaction: 0, transaction_end: None }
    }

    /// Takes a change. Packet sizes go to `packet_size`.
    pub fn apply(
        &mut self,
        change: &EnvChange,
        packet_size: impl FnOnce(usize),
    ) -> Result<(), ConversationError> {
        match change {
            EnvChange::Database(change) => self.database.clone_from(&change.new),
            EnvChange::Collation { new, .. } => self.collation = *new,
            EnvChange::PacketSize { new, .. } => match usize::try_from(*new) {
                Ok(size) if (PACKET_SIZE_MIN_BYTES..=PACKET_SIZE_MAX_BYTES).contains(&size) => {
                    packet_size(size);
                }
                _ => return Err(ConversationError::PacketSize { bytes: *new }),
            },
            EnvChange::Transaction { event, new, .. } => match event {
                // A server that begins one without naming it has begun none that requests could carry.
                TransactionEvent::Begin | TransactionEvent::EnlistDtc => {
                    self.transaction = new.unwrap_or_default();
                }
                TransactionEvent::Commit
                | TransactionEvent::Rollback
                | TransactionEvent::Defect
                | TransactionEvent::Ended => {
                    self.transaction = 0;
                    self.transaction_end = Some(*event);
                }
            },
            _ => {}
        }
        Ok(())
    }
}

/// The size of the packets that a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSize {
    bytes: usize,
    /// The server has said which packets it takes.
    granted: bool,
}

impl Default for PacketSize {
    fn default() -> Self {
        Self { bytes: PACKET_SIZE_INITIAL_BYTES, granted: false }
    }
}

impl PacketSize {
    /// Returns the bytes of a packet, header included.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Takes the size that the server granted.
    pub fn grant(&mut self, bytes: usize) {
        *self = Self { bytes, granted: true };
    }

    /// Limits packets to a server that has not granted a size.
    pub fn limit(&mut self, bytes: usize) {
        if !self.granted {
            self.bytes = self.bytes.min(bytes).max(PACKET_SIZE_MIN_BYTES);
        }
    }

    /// Notes the end of a login that asked for packets of `asked` bytes.
    pub fn logged_in(&mut self, asked: usize) {
        self.limit(asked.min(PACKET_SIZE_UNTOLD_BYTES));
    }
}
