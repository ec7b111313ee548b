//! ENVCHANGE (MS-TDS 2.2.7.9): the server reports a change of the session's state.

use crate::codec::{DecodeError, Reader, Writer};
use crate::routing::Routing;

const DATABASE: u8 = 1;
const LANGUAGE: u8 = 2;
const CHARSET: u8 = 3;
const PACKET_SIZE: u8 = 4;
const UNICODE_SORT_ID: u8 = 5;
const UNICODE_COMPARISON: u8 = 6;
const COLLATION: u8 = 7;
const BEGIN_TRANSACTION: u8 = 8;
const COMMIT_TRANSACTION: u8 = 9;
const ROLLBACK_TRANSACTION: u8 = 10;
const ENLIST_DTC: u8 = 11;
const DEFECT_TRANSACTION: u8 = 12;
const MIRRORING_PARTNER: u8 = 13;
const PROMOTE_TRANSACTION: u8 = 15;
const TRANSACTION_MANAGER_ADDRESS: u8 = 16;
const TRANSACTION_ENDED: u8 = 17;
const RESET_CONNECTION_ACK: u8 = 18;
const USER_INSTANCE: u8 = 19;
const ROUTING: u8 = 20;
const ENHANCED_ROUTING: u8 = 21;

/// A change of the session's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvChange {
    /// The current database.
    Database(TextChange),
    /// The language of messages and dates.
    Language(TextChange),
    /// The character set; before 7.1.
    Charset(TextChange),
    /// The packet size, header included.
    PacketSize {
        /// Packet size from now on, in bytes.
        new: u32,
        /// Packet size until now, in bytes.
        old: u32,
    },
    /// The locale of Unicode sorting; before 7.1.
    UnicodeSortId(TextChange),
    /// The flags of Unicode comparison; before 7.1.
    UnicodeComparison(TextChange),
    /// The collation of the database, which character parameters use.
    Collation {
        /// Five bytes, or none if it is unknown.
        new: Option<[u8; 5]>,
        /// Five bytes, or none.
        old: Option<[u8; 5]>,
    },
    /// A transaction began or ended.
    Transaction {
        /// Event of the transaction.
        event: TransactionEvent,
        /// Descriptor of the transaction that is open now; 8 bytes as a number, as in
        /// [`AllHeaders`](crate::all_headers::AllHeaders).
        new: Option<u64>,
        /// Descriptor of the transaction that was open before. ODBC insists on it when a transaction ends.
        old: Option<u64>,
    },
    /// The mirroring partner of the database.
    MirroringPartner(String),
    /// The transaction is a distributed one now: its token.
    PromoteTransaction(Vec<u8>),
    /// Address of the distributed transaction coordinator.
    TransactionManagerAddress(Vec<u8>),
    /// The session was reset, as a request's status asked.
    ResetConnectionAck,
    /// Name of the user instance.
    UserInstance(String),
    /// The client shall log in elsewhere.
    Routing(Routing),
    /// A change that this crate does not know; `data` is everything behind the number.
    Unknown {
        /// Number of the change.
        kind: u8,
        /// New and old value in an unknown form.
        data: Vec<u8>,
    },
}

/// A text before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextChange {
    /// The value from now on.
    pub new: String,
    /// The value until now; may be empty.
    pub old: String,
}

/// Event in the life of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionEvent {
    /// The transaction began.
    Begin,
    /// The transaction was committed.
    Commit,
    /// The transaction was rolled back.
    Rollback,
    /// The session joined a distributed transaction.
    EnlistDtc,
    /// The session left a distributed transaction.
    Defect,
    /// The transaction ended outside of a request that names it.
    Ended,
}

impl EnvChange {
    /// Reads a text change, for the kinds that are one.
    fn text(r: &mut Reader<'_>) -> Result<TextChange, DecodeError> {
        Ok(TextChange { new: r.b_varchar("ENVCHANGE new value")?, old: r.b_varchar("ENVCHANGE old value")? })
    }

    /// Decodes what follows the token's length.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = r.u8("ENVCHANGE type")?;
        Ok(match kind {
            DATABASE => Self::Database(Self::text(r)?),
            LANGUAGE => Self::Language(Self::text(r)?),
            CHARSET => Self::Charset(Self::text(r)?),
            UNICODE_SORT_ID => Self::UnicodeSortId(Self::text(r)?),
            UNICODE_COMPARISON => Self::UnicodeComparison(Self::text(r)?),
            PACKET_SIZE => Self::PacketSize { new: decimal(r)?, old: decimal(r)? },
            COLLATION => Self::Collation { new: collation(r)?, old: collation(r)? },
            MIRRORING_PARTNER => {
                let partner = r.b_varchar("ENVCHANGE mirroring partner")?;
                empty(r)?;
                Self::MirroringPartner(partner)
            }
            USER_INSTANCE => {
                let instance = r.b_varchar("ENVCHANGE user instance")?;
                empty(r)?;
                Self::UserInstance(instance)
            }
            PROMOTE_TRANSACTION => {
                let token = r.l_varbyte("ENVCHANGE transaction token")?.to_vec();
                empty(r)?;
                Self::PromoteTransaction(token)
            }
            TRANSACTION_MANAGER_ADDRESS => {
                let address = r.b_varbyte("ENVCHANGE transaction manager address")?.to_vec();
                empty(r)?;
                Self::TransactionManagerAddress(address)
            }
            RESET_CONNECTION_ACK => {
                empty(r)?;
                empty(r)?;
                Self::ResetConnectionAck
            }
            ROUTING => Self::Routing(Routing::decode(r, false)?),
            ENHANCED_ROUTING => Self::Routing(Routing::decode(r, true)?),
            kind => match TransactionEvent::from_kind(kind) {
                Some(event) => Self::Transaction { event, new: descriptor(r)?, old: descriptor(r)? },
                None => Self::Unknown { kind, data: r.rest().to_vec() },
            },
        })
    }

    /// Writes what follows the token byte, its length included.
    pub(crate) fn encode(&self, w: &mut Writer) {
        let mark = w.begin_u16();
        match self {
            Self::Database(change) => encode_text(DATABASE, change, w),
            Self::Language(change) => encode_text(LANGUAGE, change, w),
            Self::Charset(change) => encode_text(CHARSET, change, w),
            Self::UnicodeSortId(change) => encode_text(UNICODE_SORT_ID, change, w),
            Self::UnicodeComparison(change) => encode_text(UNICODE_COMPARISON, change, w),
            Self::PacketSize { new, old } => {
                let change = TextChange { new: new.to_string(), old: old.to_string() };
                encode_text(PACKET_SIZE, &change, w);
            }
            Self::Collation { new, old } => {
                w.u8(COLLATION);
                for collation in [new, old] {
                    let bytes = collation.as_ref().map_or(&[][..], |bytes| bytes);
                    w.b_varbyte(bytes, "ENVCHANGE collation");
                }
            }
            Self::Transaction { event, new, old } => {
                w.u8(event.kind());
                for descriptor in [new, old] {
                    let bytes = descriptor.map(u64::to_le_bytes);
                    let bytes = bytes.as_ref().map_or(&[][..], |bytes| bytes);
                    w.b_varbyte(bytes, "ENVCHANGE transaction descriptor");
                }
            }
            Self::MirroringPartner(name) => {
                w.u8(MIRRORING_PARTNER);
                w.b_varchar(name, "ENVCHANGE mirroring partner");
                w.u8(0);
            }
            Self::UserInstance(name) => {
                w.u8(USER_INSTANCE);
                w.b_varchar(name, "ENVCHANGE user instance");
                w.u8(0);
            }
            Self::PromoteTransaction(token) => {
                w.u8(PROMOTE_TRANSACTION);
                w.l_varbyte(token, "ENVCHANGE transaction token");
                w.u8(0);
            }
            Self::TransactionManagerAddress(address) => {
                w.u8(TRANSACTION_MANAGER_ADDRESS);
                w.b_varbyte(address, "ENVCHANGE transaction manager address");
                w.u8(0);
            }
            Self::ResetConnectionAck => w.bytes(&[RESET_CONNECTION_ACK, 0, 0]),
            Self::Routing(routing) => {
                w.u8(if routing.database.is_some() { ENHANCED_ROUTING } else { ROUTING });
                routing.encode(w);
            }
            Self::Unknown { kind, data } => {
                w.u8(*kind);
                w.bytes(data);
            }
        }
        w.end_u16(mark, "ENVCHANGE");
    }
}

impl TransactionEvent {
    fn from_kind(kind: u8) -> Option<Self> {
        Some(match kind {
            BEGIN_TRANSACTION => Self::Begin,
            COMMIT_TRANSACTION => Self::Commit,
            ROLLBACK_TRANSACTION => Self::Rollback,
            ENLIST_DTC => Self::EnlistDtc,
            DEFECT_TRANSACTION => Self::Defect,
            TRANSACTION_ENDED => Self::Ended,
            _ => return None,
        })
    }

    fn kind(self) -> u8 {
        match self {
            Self::Begin => BEGIN_TRANSACTION,
            Self::Commit => COMMIT_TRANSACTION,
            Self::Rollback => ROLLBACK_TRANSACTION,
            Self::EnlistDtc => ENLIST_DTC,
            Self::Defect => DEFECT_TRANSACTION,
            Self::Ended => TRANSACTION_ENDED,
        }
    }
}

fn encode_text(kind: u8, change: &TextChange, w: &mut Writer) {
    w.u8(kind);
    w.b_varchar(&change.new, "ENVCHANGE new value");
    w.b_varchar(&change.old, "ENVCHANGE old value");
}

fn decimal(r: &mut Reader<'_>) -> Result<u32, DecodeError> {
    let offset = r.position();
    let text = r.b_varchar("ENVCHANGE packet size")?;
    text.parse().map_err(|_| {
        DecodeError::invalid("ENVCHANGE packet size", offset, format!("{text:?} is not a packet size"))
    })
}

fn collation(r: &mut Reader<'_>) -> Result<Option<[u8; 5]>, DecodeError> {
    sized(r, "ENVCHANGE collation")
}

fn descriptor(r: &mut Reader<'_>) -> Result<Option<u64>, DecodeError> {
    Ok(sized(r, "ENVCHANGE transaction descriptor")?.map(u64::from_le_bytes))
}

/// Reads a counted value of `N` bytes or none.
fn sized<const N: usize>(r: &mut Reader<'_>, field: &'static str) -> Result<Option<[u8; N]>, DecodeError> {
    let offset = r.position();
    match r.b_varbyte(field)? {
        [] => Ok(None),
        bytes => <[u8; N]>::try_from(bytes).map(Some).map_err(|_| {
            DecodeError::invalid(field, offset, format!("{} bytes instead of {N}", bytes.len()))
        }),
    }
}

/// Reads a value that is always empty.
fn empty(r: &mut Reader<'_>) -> Result<(), DecodeError> {
    let offset = r.position();
    match r.b_varbyte("ENVCHANGE empty value")? {
        [] => Ok(()),
        bytes => {
            let what = format!("{} bytes instead of none", bytes.len());
            Err(DecodeError::invalid("ENVCHANGE empty value", offset, what))
        }
    }
}
