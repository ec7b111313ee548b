//! Transaction manager requests (MS-TDS 2.2.6.9).

use crate::all_headers::AllHeaders;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::version::TdsVersion;

/// The message of type 14.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionMessage {
    /// Present from 7.2 on.
    pub headers: Option<AllHeaders>,
    /// Request to the transaction manager.
    pub request: TransactionRequest,
}

/// Content of a transaction manager request (MS-TDS 2.2.6.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    /// The network address of the server's distributed transaction coordinator.
    GetDtcAddress(Vec<u8>),
    /// Join a distributed transaction: its cookie.
    Propagate(Vec<u8>),
    /// Begin a transaction.
    Begin(BeginTransaction),
    /// Make the transaction a distributed one.
    Promote,
    /// Commit, and perhaps begin the next.
    Commit {
        /// Name of the transaction, may be empty.
        name: String,
        /// The transaction to begin right after.
        begin: Option<BeginTransaction>,
    },
    /// Roll back to a savepoint or entirely, and perhaps begin the next.
    Rollback {
        /// Name of the transaction or savepoint, may be empty.
        name: String,
        /// The transaction to begin right after.
        begin: Option<BeginTransaction>,
    },
    /// Set a savepoint.
    Save {
        /// Name of the savepoint.
        name: String,
    },
}

/// A transaction to begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BeginTransaction {
    /// Isolation level for the session from now on.
    pub isolation: Isolation,
    /// Name of the transaction, may be empty.
    pub name: String,
}

/// Isolation levels of transaction manager requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Isolation {
    /// Keep the session's level.
    #[default]
    Current = 0,
    /// READ UNCOMMITTED.
    ReadUncommitted = 1,
    /// READ COMMITTED.
    ReadCommitted = 2,
    /// REPEATABLE READ.
    RepeatableRead = 3,
    /// SERIALIZABLE.
    Serializable = 4,
    /// SNAPSHOT.
    Snapshot = 5,
}

const GET_DTC_ADDRESS: u16 = 0;
const PROPAGATE: u16 = 1;
const BEGIN: u16 = 5;
const PROMOTE: u16 = 6;
const COMMIT: u16 = 7;
const ROLLBACK: u16 = 8;
const SAVE: u16 = 9;

/// Flag of commit and rollback: another transaction begins.
const BEGIN_NEXT: u8 = 0x01;

impl TransactionMessage {
    /// Creates a request for a connection of this version, in the transaction (0 is none).
    pub fn new(request: TransactionRequest, version: TdsVersion, transaction_descriptor: u64) -> Self {
        let headers = version.has_all_headers().then(|| AllHeaders::in_transaction(transaction_descriptor));
        Self { headers, request }
    }

    /// Encodes the payload of the message.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new();
        if let Some(headers) = &self.headers {
            headers.encode(&mut w);
        }
        self.request.encode(&mut w);
        w.finish()
    }

    /// Decodes the payload of a message on a connection of this version.
    pub fn decode(bytes: &[u8], version: TdsVersion) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(bytes);
        let headers = version.has_all_headers().then(|| AllHeaders::decode(&mut r)).transpose()?;
        let request = TransactionRequest::decode(&mut r)?;
        r.finish("transaction manager request")?;
        Ok(Self { headers, request })
    }
}

impl TransactionRequest {
    /// Returns the name of the request's kind, without the names that it carries.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::GetDtcAddress(_) => "get DTC address",
            Self::Propagate(_) => "propagate",
            Self::Begin(_) => "begin",
            Self::Promote => "promote",
            Self::Commit { .. } => "commit",
            Self::Rollback { .. } => "rollback",
            Self::Save { .. } => "save",
        }
    }

    fn encode(&self, w: &mut Writer) {
        match self {
            Self::GetDtcAddress(payload) => {
                w.u16(GET_DTC_ADDRESS);
                w.us_varbyte(payload, "transaction request payload");
            }
            Self::Propagate(cookie) => {
                w.u16(PROPAGATE);
                w.us_varbyte(cookie, "transaction cookie");
            }
            Self::Begin(begin) => {
                w.u16(BEGIN);
                begin.encode(w);
            }
            Self::Promote => w.u16(PROMOTE),
            Self::Commit { name, begin } => encode_end(COMMIT, name, begin.as_ref(), w),
            Self::Rollback { name, begin } => encode_end(ROLLBACK, name, begin.as_ref(), w),
            Self::Save { name } => {
                w.u16(SAVE);
                encode_name(name, w);
            }
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = r.position();
        Ok(match r.u16("transaction request type")? {
            GET_DTC_ADDRESS => Self::GetDtcAddress(r.us_varbyte("transaction request payload")?.to_vec()),
            PROPAGATE => Self::Propagate(r.us_varbyte("transaction cookie")?.to_vec()),
            BEGIN => Self::Begin(BeginTransaction::decode(r)?),
            PROMOTE => Self::Promote,
            COMMIT => {
                let (name, begin) = decode_end(r)?;
                Self::Commit { name, begin }
            }
            ROLLBACK => {
                let (name, begin) = decode_end(r)?;
                Self::Rollback { name, begin }
            }
            SAVE => Self::Save { name: decode_name(r)? },
            other => {
                let what = format!("{other} is not a transaction manager request");
                return Err(DecodeError::invalid("transaction request type", offset, what));
            }
        })
    }
}

impl BeginTransaction {
    fn encode(&self, w: &mut Writer) {
        w.u8(self.isolation as u8);
        encode_name(&self.name, w);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = r.position();
        let number = r.u8("isolation level")?;
        let isolation = Isolation::from_number(number).ok_or_else(|| {
            DecodeError::invalid("isolation level", offset, format!("{number} is not an isolation level"))
        })?;
        Ok(Self { isolation, name: decode_name(r)? })
    }
}

impl Isolation {
    /// Returns the level with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Current,
            1 => Self::ReadUncommitted,
            2 => Self::ReadCommitted,
            3 => Self::RepeatableRead,
            4 => Self::Serializable,
            5 => Self::Snapshot,
            _ => return None,
        })
    }
}

fn encode_end(request_type: u16, name: &str, begin: Option<&BeginTransaction>, w: &mut Writer) {
    w.u16(request_type);
    encode_name(name, w);
    match begin {
        None => w.u8(0),
        Some(begin) => {
            w.u8(BEGIN_NEXT);
            begin.encode(w);
        }
    }
}

fn decode_end(r: &mut Reader<'_>) -> Result<(String, Option<BeginTransaction>), DecodeError> {
    let name = decode_name(r)?;
    let flags = r.u8("transaction request flags")?;
    let begin = (flags & BEGIN_NEXT != 0).then(|| BeginTransaction::decode(r)).transpose()?;
    Ok((name, begin))
}

/// Writes a name, whose length is counted in bytes here, unlike everywhere else.
fn encode_name(name: &str, w: &mut Writer) {
    let mark = w.begin_u8();
    w.utf16(name);
    w.end_u8(mark, "transaction name");
}

fn decode_name(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let offset = r.position();
    let length = usize::from(r.u8("transaction name")?);
    if length % 2 != 0 {
        return Err(DecodeError::invalid(
            "transaction name",
            offset,
            "UTF-16 text has an odd number of bytes",
        ));
    }
    r.utf16(length / 2, "transaction name")
}
