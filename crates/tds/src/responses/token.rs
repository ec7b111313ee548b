//! The tokens of a server's response (MS-TDS 2.2.7).

use crate::codec::{DecodeError, EncodeErrorKind, Reader, Writer};
use crate::column::{Column, ColumnFlags, decode_columns_of, encode_columns_of};
use crate::done::Done;
use crate::env_change::EnvChange;
use crate::feature::{FeatureAck, decode_feature_acks, encode_feature_acks};
use crate::fed_auth::FedAuthInfo;
use crate::server_message::ServerMessage;
use crate::session_state::SessionState;
use crate::type_info::{Direction, TypeInfo};
use crate::value::{Value, ValuePlace, decode_value, encode_value};
use crate::version::TdsVersion;

/// Token bytes.
pub mod token_byte {
    /// Status of a procedure.
    pub const RETURN_STATUS: u8 = 0x79;
    /// Columns of a result set.
    pub const COL_METADATA: u8 = 0x81;
    /// Tables of a browse-mode result.
    pub const TAB_NAME: u8 = 0xA4;
    /// Columns of a browse-mode result.
    pub const COL_INFO: u8 = 0xA5;
    /// Columns that the result is ordered by.
    pub const ORDER: u8 = 0xA9;
    /// Error message.
    pub const ERROR: u8 = 0xAA;
    /// Informational message.
    pub const INFO: u8 = 0xAB;
    /// Output parameter.
    pub const RETURN_VALUE: u8 = 0xAC;
    /// Login granted.
    pub const LOGIN_ACK: u8 = 0xAD;
    /// Features granted.
    pub const FEATURE_EXT_ACK: u8 = 0xAE;
    /// ROW: a row with all its columns.
    pub const ROW: u8 = 0xD1;
    /// Row with a bitmap of nulls.
    pub const NBC_ROW: u8 = 0xD2;
    /// Change of the session's environment.
    pub const ENV_CHANGE: u8 = 0xE3;
    /// State for resuming the session.
    pub const SESSION_STATE: u8 = 0xE4;
    /// Integrated authentication data.
    pub const SSPI: u8 = 0xED;
    /// FEDAUTHINFO: the place that issues a federated authentication token.
    pub const FED_AUTH_INFO: u8 = 0xEE;
    /// End of a statement.
    pub const DONE: u8 = 0xFD;
    /// End of a procedure.
    pub const DONE_PROC: u8 = 0xFE;
    /// End of a statement in a procedure.
    pub const DONE_IN_PROC: u8 = 0xFF;
}

/// Maximum length of a token with a four-byte length, more than any has. It guards a reader that waits for
/// the rest.
pub const TOKEN_SIZE_MAX_BYTES: usize = 16 << 20;

/// Token of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// An error; a DONE with the error bit follows.
    Error(ServerMessage),
    /// A warning, notice or PRINT.
    Info(ServerMessage),
    /// A change of the session's environment.
    EnvChange(EnvChange),
    /// The login is granted.
    LoginAck(LoginAck),
    /// A statement of a batch, or the response, ended.
    Done(Done),
    /// A procedure ended.
    DoneProc(Done),
    /// A statement in a procedure ended.
    DoneInProc(Done),
    /// A result set starts; `None` says that the columns are those of before.
    ColMetaData(Option<Vec<Column>>),
    /// A row starts here. The reader leaves its bytes, the token byte included, to a row decoder.
    Row,
    /// A row with a null bitmap starts here; left to a row decoder like [`Token::Row`].
    NbcRow,
    /// The result is ordered by these columns, counted from 1.
    Order(Vec<u16>),
    /// A procedure's status.
    ReturnStatus(i32),
    /// An output parameter of a procedure, or the value of a function.
    ReturnValue(ReturnValue),
    /// Features granted.
    FeatureExtAck(Vec<FeatureAck>),
    /// State for resuming the session.
    SessionState(SessionState),
    /// Place that issues a federated authentication token.
    FedAuthInfo(FedAuthInfo),
    /// Integrated authentication data.
    Sspi(Vec<u8>),
    /// Tables of a browse-mode result, as sent.
    TabName(Vec<u8>),
    /// Columns of a browse-mode result, as sent.
    ColInfo(Vec<u8>),
}

/// LOGINACK (MS-TDS 2.2.7.14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginAck {
    /// 1: T-SQL. 0 is allowed too, and means the same.
    pub interface: u8,
    /// The version granted.
    pub version: TdsVersion,
    /// Name of the server program. Real servers pad `Microsoft SQL Server` with two zero characters.
    pub program_name: String,
    /// Major and minor version of the server and the build number's high and low byte.
    pub program_version: [u8; 4],
}

/// RETURNVALUE (MS-TDS 2.2.7.19).
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnValue {
    /// Position of the parameter in the call.
    pub ordinal: u16,
    /// Name of the parameter with its `@`, or empty.
    pub name: String,
    /// 1: output parameter; 2: value of a function.
    pub status: u8,
    /// User type, as for a column.
    pub user_type: u32,
    /// Flags, as for a column.
    pub flags: ColumnFlags,
    /// Type of the value.
    pub type_info: TypeInfo,
    /// Value of the parameter or function.
    pub value: Value,
}

/// Takes tokens off the head of a response, as far as it has arrived.
#[derive(Debug, Clone, Copy)]
pub struct TokenReader {
    version: TdsVersion,
}

impl TokenReader {
    /// Creates a reader for a connection of this version. Before LOGINACK that is the version asked for.
    pub fn new(version: TdsVersion) -> Self {
        Self { version }
    }

    /// Sets the version that LOGINACK granted.
    pub fn set_version(&mut self, version: TdsVersion) {
        self.version = version;
    }

    /// Reads the token at the head of `bytes`. Returns it with the bytes that it takes; `None` if it is not
    /// complete yet.
    ///
    /// [`Token::Row`] and [`Token::NbcRow`] take 0 bytes: the row decoder takes the token byte too.
    pub fn next(&self, bytes: &[u8]) -> Result<Option<(Token, usize)>, DecodeError> {
        let mut r = Reader::new(bytes);
        match self.decode(&mut r) {
            Ok(token @ (Token::Row | Token::NbcRow)) => Ok(Some((token, 0))),
            Ok(token) => Ok(Some((token, r.position()))),
            Err(error) if error.is_truncated() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn decode(&self, r: &mut Reader<'_>) -> Result<Token, DecodeError> {
        let offset = r.position();
        let version = self.version;
        Ok(match r.u8("token")? {
            token_byte::ROW => Token::Row,
            token_byte::NBC_ROW => Token::NbcRow,
            token_byte::DONE => Token::Done(Done::decode(r, version)?),
            token_byte::DONE_PROC => Token::DoneProc(Done::decode(r, version)?),
            token_byte::DONE_IN_PROC => Token::DoneInProc(Done::decode(r, version)?),
            token_byte::COL_METADATA => {
                Token::ColMetaData(decode_columns_of(r, Direction::ServerToClient, version)?)
            }
            token_byte::ERROR => {
                Token::Error(short(r, "ERROR", |inner| ServerMessage::decode(inner, version))?)
            }
            token_byte::INFO => Token::Info(short(r, "INFO", |inner| ServerMessage::decode(inner, version))?),
            token_byte::ENV_CHANGE => Token::EnvChange(short(r, "ENVCHANGE", EnvChange::decode)?),
            token_byte::LOGIN_ACK => Token::LoginAck(short(r, "LOGINACK", LoginAck::decode)?),
            token_byte::ORDER => Token::Order(short(r, "ORDER", decode_order)?),
            token_byte::RETURN_STATUS => Token::ReturnStatus(r.i32("RETURNSTATUS")?),
            token_byte::RETURN_VALUE => Token::ReturnValue(ReturnValue::decode(r, version)?),
            token_byte::FEATURE_EXT_ACK => Token::FeatureExtAck(decode_feature_acks(r)?),
            token_byte::SESSION_STATE => {
                let length = long_length(r, "SESSIONSTATE")?;
                Token::SessionState(SessionState::decode(r.sub(length, "SESSIONSTATE")?)?)
            }
            token_byte::FED_AUTH_INFO => {
                let length = long_length(r, "FEDAUTHINFO")?;
                let place = r.position();
                let info = FedAuthInfo::decode(r.take(length, "FEDAUTHINFO")?);
                Token::FedAuthInfo(info.map_err(|mut error| {
                    error.offset += place;
                    error
                })?)
            }
            token_byte::SSPI => Token::Sspi(r.us_varbyte("SSPI")?.to_vec()),
            token_byte::TAB_NAME => Token::TabName(r.us_varbyte("TABNAME")?.to_vec()),
            token_byte::COL_INFO => Token::ColInfo(r.us_varbyte("COLINFO")?.to_vec()),
            other => {
                return Err(DecodeError::invalid("token", offset, format!("{other:#04x} is not a token")));
            }
        })
    }
}

impl Token {
    /// Appends the token as a server of this version sends it.
    ///
    /// [`Token::Row`] and [`Token::NbcRow`] are refused: rows are written by a row encoder.
    pub fn encode(&self, w: &mut Writer, version: TdsVersion) {
        match self {
            Self::Error(message) => {
                w.u8(token_byte::ERROR);
                message.encode(w, version);
            }
            Self::Info(message) => {
                w.u8(token_byte::INFO);
                message.encode(w, version);
            }
            Self::EnvChange(change) => {
                w.u8(token_byte::ENV_CHANGE);
                change.encode(w);
            }
            Self::LoginAck(ack) => {
                w.u8(token_byte::LOGIN_ACK);
                ack.encode(w);
            }
            Self::Done(done) => {
                w.u8(token_byte::DONE);
                done.encode(w, version);
            }
            Self::DoneProc(done) => {
                w.u8(token_byte::DONE_PROC);
                done.encode(w, version);
            }
            Self::DoneInProc(done) => {
                w.u8(token_byte::DONE_IN_PROC);
                done.encode(w, version);
            }
            Self::ColMetaData(columns) => {
                w.u8(token_byte::COL_METADATA);
                encode_columns_of(columns.as_deref(), w, Direction::ServerToClient, version);
            }
            Self::Row | Self::NbcRow => {
                w.fail("token", EncodeErrorKind::Invalid { what: "rows are written by a row encoder".into() })
            }
            Self::Order(columns) => {
                w.u8(token_byte::ORDER);
                let mark = w.begin_u16();
                for ordinal in columns {
                    w.u16(*ordinal);
                }
                w.end_u16(mark, "ORDER");
            }
            Self::ReturnStatus(status) => {
                w.u8(token_byte::RETURN_STATUS);
                w.i32(*status);
            }
            Self::ReturnValue(value) => {
                w.u8(token_byte::RETURN_VALUE);
                value.encode(w, version);
            }
            Self::FeatureExtAck(acks) => {
                w.u8(token_byte::FEATURE_EXT_ACK);
                encode_feature_acks(acks, w);
            }
            Self::SessionState(state) => {
                w.u8(token_byte::SESSION_STATE);
                state.encode(w);
            }
            Self::FedAuthInfo(info) => {
                w.u8(token_byte::FED_AUTH_INFO);
                info.encode(w);
            }
            Self::Sspi(data) => {
                w.u8(token_byte::SSPI);
                w.us_varbyte(data, "SSPI");
            }
            Self::TabName(data) => {
                w.u8(token_byte::TAB_NAME);
                w.us_varbyte(data, "TABNAME");
            }
            Self::ColInfo(data) => {
                w.u8(token_byte::COL_INFO);
                w.us_varbyte(data, "COLINFO");
            }
        }
    }
}

impl LoginAck {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let interface = r.u8("LOGINACK interface")?;
        let offset = r.position();
        let number: [u8; 4] = r.array("LOGINACK version")?;
        let version = TdsVersion::from_login_ack(number).ok_or_else(|| {
            DecodeError::invalid("LOGINACK version", offset, format!("{number:02x?} is not a TDS version"))
        })?;
        let program_name = r.b_varchar("LOGINACK program name")?;
        let program_version = r.array("LOGINACK program version")?;
        Ok(Self { interface, version, program_name, program_version })
    }

    fn encode(&self, w: &mut Writer) {
        let mark = w.begin_u16();
        w.u8(self.interface);
        w.bytes(&self.version.to_login_ack());
        w.b_varchar(&self.program_name, "LOGINACK program name");
        w.bytes(&self.program_version);
        w.end_u16(mark, "LOGINACK");
    }
}

impl ReturnValue {
    fn decode(r: &mut Reader<'_>, version: TdsVersion) -> Result<Self, DecodeError> {
        let ordinal = r.u16("RETURNVALUE ordinal")?;
        let name = r.b_varchar("RETURNVALUE name")?;
        let status = r.u8("RETURNVALUE status")?;
        let user_type = match version.has_wide_fields() {
            true => r.u32("RETURNVALUE user type")?,
            false => u32::from(r.u16("RETURNVALUE user type")?),
        };
        let flags = ColumnFlags(r.u16("RETURNVALUE flags")?);
        let type_info = TypeInfo::decode(r, Direction::ServerToClient)?;
        let value = decode_value(r, &type_info, ValuePlace::Parameter)?;
        Ok(Self { ordinal, name, status, user_type, flags, type_info, value })
    }

    fn encode(&self, w: &mut Writer, version: TdsVersion) {
        w.u16(self.ordinal);
        w.b_varchar(&self.name, "RETURNVALUE name");
        w.u8(self.status);
        if version.has_wide_fields() {
            w.u32(self.user_type);
        } else {
            let user_type = w.length_u16(self.user_type as usize, "RETURNVALUE user type");
            w.u16(user_type);
        }
        w.u16(self.flags.0);
        self.type_info.encode(w, Direction::ServerToClient);
        encode_value(&self.value, &self.type_info, w, ValuePlace::Parameter);
    }
}

/// Reads the content of a token with a two-byte length, which must account for all of it.
fn short<'a, T>(
    r: &mut Reader<'a>,
    field: &'static str,
    decode: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let length = usize::from(r.u16(field)?);
    let mut inner = r.sub(length, field)?;
    let content = decode(&mut inner)?;
    inner.finish(field)?;
    Ok(content)
}

fn long_length(r: &mut Reader<'_>, field: &'static str) -> Result<usize, DecodeError> {
    let offset = r.position();
    let length = r.u32(field)? as usize;
    if length > TOKEN_SIZE_MAX_BYTES {
        return Err(DecodeError::too_long(field, offset, length, TOKEN_SIZE_MAX_BYTES));
    }
    Ok(length)
}

fn decode_order(r: &mut Reader<'_>) -> Result<Vec<u16>, DecodeError> {
    let mut columns = Vec::with_capacity(r.remaining() / 2);
    while !r.is_empty() {
        columns.push(r.u16("ORDER column")?);
    }
    Ok(columns)
}
