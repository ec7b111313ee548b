//! The ends of a connection before its client leaves.

use std::borrow::Cow;
use std::io;

use tds::codec::DecodeErrorKind;
use tds::conversation::ConversationError;
use tsql::SqlError;

/// The end of a connection other than by the client's leaving. Where possible, the client has received the error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// The socket failed, or TLS did.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Bytes that are not TDS.
    #[error("malformed bytes from the client: {0}")]
    Decode(#[from] tds::codec::DecodeError),
    /// The server tried to send something that the protocol cannot express.
    #[error("cannot encode the response: {0}")]
    Encode(#[from] tds::codec::EncodeError),
    /// The stream ended inside a message.
    #[error("the connection was cut off inside a message")]
    CutOff,
    /// A message of the wrong kind, or at the wrong time.
    #[error("unexpected message: {0}")]
    Unexpected(Cow<'static, str>),
    /// Bytes arrived although the client must wait for an answer.
    #[error("the client went on before the server had answered")]
    OutOfTurn,
    /// The two ends do not agree on encryption.
    #[error("encryption: {0}")]
    Encryption(#[from] tds::prelogin::NegotiationError),
    /// Any other breach of the protocol.
    #[error("{0}")]
    Conversation(ConversationError),
    /// Login took too long.
    #[error("no login within the time limit")]
    LoginTimeout,
    /// Wrong user, password or database.
    #[error("login refused: {0}")]
    LoginRefused(String),
    /// A request's thread panicked: a defect of the server. The client has received an error.
    #[error("a request failed: {0}")]
    Lost(String),
    /// A row does not fit its column's description: a defect of the server.
    #[error("cannot encode a row: {0}")]
    Row(String),
}

impl From<ConversationError> for ConnectionError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::Decode { error, .. } => ConnectionError::Decode(error),
            ConversationError::OutOfTurn => ConnectionError::OutOfTurn,
            ConversationError::CutOff => ConnectionError::CutOff,
            ConversationError::Encryption(error) => ConnectionError::Encryption(error),
            error @ (ConversationError::Unexpected { .. } | ConversationError::Version { .. }) => {
                ConnectionError::Unexpected(error.to_string().into())
            }
            error => ConnectionError::Conversation(error),
        }
    }
}

impl ConnectionError {
    /// Returns the answer to a call that has declared a parameter with an unknown type. `None` for any other error,
    /// which ends the connection.
    pub fn refusal(&self) -> Option<SqlError> {
        let ConnectionError::Decode(error) = self else { return None };
        let DecodeErrorKind::Declaration { parameter, name, token, .. } = &error.kind else { return None };
        let text = format!(
            "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter \
             {parameter} (\"{name}\"): Data type 0x{token:02X} has an invalid data length or metadata length."
        );
        Some(SqlError::new(8016, 16, 1, text))
    }

    /// Returns true if the log has the error already.
    pub fn is_told(&self) -> bool {
        matches!(self, ConnectionError::LoginRefused(_))
    }

    /// Returns true if the server is at fault.
    pub fn is_own(&self) -> bool {
        matches!(self, ConnectionError::Encode(_) | ConnectionError::Lost(_) | ConnectionError::Row(_))
    }
}
