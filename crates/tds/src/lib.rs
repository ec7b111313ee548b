//! TDS, the protocol of SQL Server, from both sides: bytes in, events out.
//!
//! Everything here is a pure function of bytes: no sockets, no clock, no async, no Arrow. A client encodes what a server decodes
//! and the other way round, so each message type has both directions. The crate covers versions 7.1 to 8.0 of the published
//! MS-TDS specification.
//!
//! | Layer | Modules |
//! |---|---|
//! | bytes | [`codec`] |
//! | packets | [`packet`], [`packet_framer`] (message to packets), [`message_reader`] (bytes to packets and messages) |
//! | connecting | [`prelogin`], [`login`], [`feature`], [`fed_auth`], [`version`] |
//! | types | [`sql_type`], [`type_info`], [`mod@column`], [`collation`], [`code_page`] |
//! | data | [`value`], [`row_span`] (lengths of rows, undecoded), [`bulk`] |
//! | requests | [`all_headers`], [`sql_batch`], [`first_words`], [`rpc`], [`transaction_request`] |
//! | order | [`conversation`]: which messages are allowed when, for both ends |
//! | responses | [`token`], [`env_change`], [`routing`], [`server_message`], [`done`], [`session_state`] |
//!
//! A server that receives a batch:
//!
//! ```
//! use bulkwire_tds::{Event, MessageReader, PacketType, SqlBatch, Status, TdsVersion, frame_message};
//!
//! let batch = SqlBatch::new("SELECT 1", TdsVersion::V7_4, 0).encode()?;
//! let wire = frame_message(PacketType::SqlBatch, 4096, 0, Status::NORMAL, &batch);
//!
//! let mut reader = MessageReader::new(4096, 1 << 20);
//! let Event::Packet(packet) = reader.next(&wire)? else { unreachable!("the whole packet is there") };
//! assert!(packet.ends_message());
//! let batch = SqlBatch::decode(&wire[packet.payload], TdsVersion::V7_4)?;
//! assert_eq!(batch.text, "SELECT 1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod codec;
mod connecting;
pub mod conversation;
mod data;
mod packets;
mod requests;
mod responses;
mod types;

// Modules are named without their folder.
pub use connecting::{feature, fed_auth, login, prelogin, secret, version};
pub use data::{bulk, row_span, value};
pub use packets::{message_reader, packet, packet_framer};
pub use requests::{all_headers, first_words, rpc, sql_batch, table_parameter, transaction_request};
pub use responses::{done, env_change, routing, server_message, session_state, token};
pub use types::{code_page, collation, column, currency, sql_type, type_info, type_token, vector};

pub use all_headers::{AllHeaders, TraceActivity};
pub use bulk::{BulkError, BulkEvent, BulkStream};
pub use code_page::{CodePage, CodePageError, Unmappable};
pub use codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Reader, Writer};
pub use collation::Collation;
pub use column::{Column, ColumnFlags, decode_columns, decode_columns_of, encode_columns, encode_columns_of};
pub use data::value_text::BcpText;
pub use done::{Done, DoneStatus};
pub use env_change::{EnvChange, TextChange, TransactionEvent};
pub use feature::{FeatureAck, FeatureRequest};
pub use fed_auth::{FedAuthInfo, FedAuthRequest, FedAuthToken};
pub use first_words::FirstWords;
pub use login::Login7;
pub use message_reader::{Event, MessageHead, MessageReader, Packet};
pub use packet::{HEADER_LEN_BYTES, PacketHeader, PacketType, Status};
pub use packet_framer::{PacketFramer, PlannedPacket, frame_message};
pub use prelogin::{
    EncryptionOption, EncryptionOutcome, EncryptionPolicy, NegotiationError, OptionData, Prelogin,
    ProgramVersion, TraceId, negotiate_client, negotiate_server,
};
pub use routing::Routing;
pub use row_span::{RowLayout, RowSpan};
pub use rpc::{Parameter, ProcId, Procedure, RpcMessage, RpcRequest};
pub use secret::Secret;
pub use server_message::ServerMessage;
pub use session_state::SessionState;
pub use sql_batch::SqlBatch;
pub use sql_type::{Length, SqlType};
pub use table_parameter::TableParameter;
pub use token::{LoginAck, ReturnValue, Token, TokenReader};
pub use transaction_request::{BeginTransaction, Isolation, TransactionMessage, TransactionRequest};
pub use type_info::{Direction, Form, LengthClass, TypeInfo, XmlSchema};
pub use types::collation_name::collations;
pub use types::sql_type_text::{ParseTypeError, ParseTypeErrorReason};
pub use value::{Value, ValuePlace, VariantValue, decode_value, encode_value};
pub use vector::{Vector, VectorBase, VectorError};
pub use version::TdsVersion;
