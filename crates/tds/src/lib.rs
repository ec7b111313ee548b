//! TDS, the protocol of SQL Server, from both sides: bytes in, events out.
//!
//! Everything here is a pure function of bytes: no sockets, no clock, no async, no Arrow. A client encodes what a
//! server decodes and the other way round, so each message type carries both directions. Versions 7.1 to 8.0 of the
//! published MS-TDS specification are covered.
//!
//! | Layer | Modules |
//! |---|---|
//! | bytes | [`codec`] |

pub mod codec;

pub use codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Reader, Writer};
