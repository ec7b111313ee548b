//! TDS, the protocol of SQL Server, from both sides: bytes in, events out.
//!
//! Everything here is a pure function of bytes: no sockets, no clock, no async, no Arrow. A client encodes what a
//! server decodes and the other way round, so each message type carries both directions. Versions 7.1 to 8.0 of the
//! published MS-TDS specification are covered.
//!
//! | Layer | Modules |
//! |---|---|
//! | bytes | [`codec`] |
//! | types | [`sql_type`], [`type_info`], [`column`], [`collation`], [`code_page`] |

pub mod codec;

pub use codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Reader, Writer};

// Types: what a column is, how it travels, and its values.
pub mod code_page;
mod code_page_table;
pub mod collation;
mod collation_name;
pub mod column;
pub mod sql_type;
mod sql_type_text;
pub mod type_info;
pub mod type_token;

pub use code_page::{CodePage, CodePageError, Unmappable};
pub use collation::Collation;
pub use column::{Column, ColumnFlags, decode_columns, encode_columns};
pub use sql_type::{Length, SqlType};
pub use sql_type_text::{ParseTypeError, ParseTypeErrorReason};
pub use type_info::{Direction, Form, LengthClass, TypeInfo, XmlSchema};
