//! The bounds-checked [`Reader`] and the back-patching [`Writer`] that every codec of this crate is built on.
//!
//! Integers are little-endian unless a method ends in `_be`. The counted forms carry the names of MS-TDS section
//! 2.2.5.1: `B_` is a one-byte count, `US_` two bytes, `L_` four; `VARCHAR` counts UTF-16 code units, `VARBYTE` bytes.

use std::borrow::Cow;

mod plp_chunk;
mod reader;
mod writer;

pub use plp_chunk::PlpChunk;
pub use reader::Reader;
pub use writer::{MarkU8, MarkU16, MarkU32, Writer};

/// A fault in received bytes, with its field and position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset}: {kind}")]
pub struct DecodeError {
    /// The protocol field that was being read.
    pub field: &'static str,
    /// Start of the field, in bytes from the start of the outermost [`Reader`].
    pub offset: usize,
    /// Kind of the fault.
    pub kind: DecodeErrorKind,
}

/// The ways in which bytes can fail to be a TDS structure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// The input ends inside the field. An incremental parser takes this as "more bytes are needed".
    #[error("{needed} bytes needed, {available} available")]
    Truncated {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left.
        available: usize,
    },
    /// The field runs past the end of the structure that contains it; no further input can make it right.
    #[error("{needed} bytes needed, but the enclosing structure has {available} left")]
    Overrun {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that were left in the enclosing structure.
        available: usize,
    },
    /// The field has a value that the protocol does not allow.
    #[error("{what}")]
    Invalid {
        /// The offending value and the rule it breaks.
        what: Cow<'static, str>,
    },
    /// The structure ended before its bytes did.
    #[error("{bytes} bytes left over")]
    LeftOver {
        /// Number of bytes that nothing accounts for.
        bytes: usize,
    },
    /// A length exceeds what the protocol or a configured limit allows.
    #[error("length {length} exceeds the limit of {limit}")]
    TooLong {
        /// The length that was asked for.
        length: usize,
        /// The largest length allowed.
        limit: usize,
    },
    /// A parameter of a call is declared as what is no type. The bytes around it are a whole message.
    #[error("parameter {parameter}: {what}")]
    Declaration {
        /// Number of the parameter, from 1.
        parameter: usize,
        /// Name of the parameter; may be empty.
        name: String,
        /// The token of the type.
        token: u8,
        /// Fault of the declaration.
        what: Cow<'static, str>,
    },
}

impl DecodeError {
    /// Makes an [`Invalid`](DecodeErrorKind::Invalid) error for `field` at `offset`.
    pub fn invalid(field: &'static str, offset: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self { field, offset, kind: DecodeErrorKind::Invalid { what: what.into() } }
    }

    /// Makes a [`TooLong`](DecodeErrorKind::TooLong) error for `field` at `offset`.
    pub fn too_long(field: &'static str, offset: usize, length: usize, limit: usize) -> Self {
        Self { field, offset, kind: DecodeErrorKind::TooLong { length, limit } }
    }

    /// Returns true if more input could complete the field: the signal for "need more bytes".
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, DecodeErrorKind::Truncated { .. })
    }
}

/// A structure that cannot be expressed on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {kind}")]
pub struct EncodeError {
    /// The protocol field that was being written.
    pub field: &'static str,
    /// Rule that the field breaks.
    pub kind: EncodeErrorKind,
}

/// The ways in which a structure can fail to be expressible in TDS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeErrorKind {
    /// The content is longer than the field's length prefix, or the protocol, allows.
    #[error("length {length} exceeds the limit of {limit}")]
    TooLong {
        /// Length of the content in the units of the prefix.
        length: usize,
        /// Largest length that can be sent.
        limit: usize,
    },
    /// The value cannot be sent, for example because the negotiated version has no form for it.
    #[error("{what}")]
    Invalid {
        /// The offending value and the rule it breaks.
        what: Cow<'static, str>,
    },
}

/// Decodes UTF-16LE bytes to text; `None` for an odd length or an unpaired surrogate.
pub fn decode_utf16(bytes: &[u8]) -> Option<String> {
    let (units, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let mut text = String::with_capacity(units.len());
    for decoded in char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit))) {
        text.push(decoded.ok()?);
    }
    Some(text)
}

/// Counts the UTF-16 code units that `text` takes.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

#[cfg(test)]
mod tests;
