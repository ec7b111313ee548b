//! A complete message of a client after login.

use crate::conversation::ConversationError;
use crate::packet::{PacketType, Status};
use crate::rpc::RpcMessage;
use crate::sql_batch::SqlBatch;
use crate::transaction_request::TransactionMessage;
use crate::version::TdsVersion;

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Type of the message's packets.
    pub packet_type: PacketType,
    /// Status of the first packet, where the reset bits are.
    pub status: Status,
    /// The client asks to ignore it: the answer is only a DONE.
    pub ignored: bool,
    /// The bytes that it carries.
    pub payload: Vec<u8>,
}

/// Request that a client may send after login.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientRequest {
    /// T-SQL text.
    Batch(SqlBatch),
    /// Calls of procedures.
    Rpc(RpcMessage),
    /// A request to the transaction manager.
    Transaction(TransactionMessage),
    /// Rows that no INSERT BULK has announced: an error of the request, not of the connection.
    UnannouncedBulk,
}

/// State that a session forgets before a request runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// An open transaction stays.
    pub keeps_transaction: bool,
}

impl Message {
    /// Decodes the request. An error for messages that are not allowed after login.
    pub fn request(&self, version: TdsVersion) -> Result<ClientRequest, ConversationError> {
        match self.packet_type {
            PacketType::SqlBatch => SqlBatch::decode(&self.payload, version)
                .map(ClientRequest::Batch)
                .map_err(ConversationError::decoding("SQL batch")),
            PacketType::Rpc => RpcMessage::decode(&self.payload, version)
                .map(ClientRequest::Rpc)
                .map_err(ConversationError::decoding("RPC")),
            PacketType::TransactionManager => TransactionMessage::decode(&self.payload, version)
                .map(ClientRequest::Transaction)
                .map_err(ConversationError::decoding("transaction request")),
            PacketType::BulkLoad => Ok(ClientRequest::UnannouncedBulk),
            packet_type => Err(ConversationError::Unexpected { packet_type, when: "after login" }),
        }
    }

    /// Returns the reset before the request, if there is one. Its acknowledgement, an ENVCHANGE, begins the
    /// answer.
    pub fn reset(&self) -> Option<Reset> {
        let keeps_transaction = self.status.contains(Status::RESET_CONNECTION_SKIP_TRAN);
        self.status.resets().then_some(Reset { keeps_transaction })
    }
}
