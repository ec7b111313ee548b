//! SQL batches (MS-TDS 2.2.6.7): T-SQL text.

use crate::all_headers::AllHeaders;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::version::TdsVersion;

/// The message of type 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlBatch {
    /// Present from 7.2 on.
    pub headers: Option<AllHeaders>,
    /// Text of the statements.
    pub text: String,
}

impl SqlBatch {
    /// Creates a batch for a connection of this version, in the transaction (0 is autocommit).
    pub fn new(text: impl Into<String>, version: TdsVersion, transaction_descriptor: u64) -> Self {
        let headers = version.has_all_headers().then(|| AllHeaders::in_transaction(transaction_descriptor));
        Self { headers, text: text.into() }
    }

    /// Encodes the payload of the message.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new();
        if let Some(headers) = &self.headers {
            headers.encode(&mut w);
        }
        w.utf16(&self.text);
        w.finish()
    }

    /// Decodes the payload of a message on a connection of this version.
    pub fn decode(bytes: &[u8], version: TdsVersion) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(bytes);
        let headers = version.has_all_headers().then(|| AllHeaders::decode(&mut r)).transpose()?;
        let offset = r.position();
        let units = r.remaining() / 2;
        let text = r.utf16(units, "SQL text")?;
        if !r.is_empty() {
            return Err(DecodeError::invalid("SQL text", offset, "UTF-16 text has an odd number of bytes"));
        }
        Ok(Self { headers, text })
    }
}
