//! Remote procedure calls (MS-TDS 2.2.6.6).

use crate::all_headers::AllHeaders;
use crate::codec::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind, Reader, Writer};
use crate::sql_type::SqlType;
use crate::table_parameter::TableParameter;
use crate::type_info::{Direction, TypeInfo};
use crate::type_token;
use crate::value::{Value, ValuePlace, decode_value, encode_value};
use crate::version::TdsVersion;

/// The message of type 3: one or more calls, answered one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcMessage {
    /// Present from 7.2 on.
    pub headers: Option<AllHeaders>,
    /// The calls, at least one.
    pub requests: Vec<RpcRequest>,
}

/// A call of a procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Procedure that is called.
    pub procedure: Procedure,
    /// Flags of the call, see [`rpc_flags`].
    pub flags: u16,
    /// The arguments, in order.
    pub parameters: Vec<Parameter>,
    /// True if the call shall not be executed (it was behind a call that failed; 7.2 and later).
    pub no_execute: bool,
}

/// Procedure that an RPC calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Procedure {
    /// A procedure by its name, in one to four parts.
    Name(String),
    /// One of the system procedures that have a number.
    Id(ProcId),
}

/// Bits of [`RpcRequest::flags`].
pub mod rpc_flags {
    /// Recompile the procedure.
    pub const WITH_RECOMPILE: u16 = 0x0001;
    /// The client needs no COLMETADATA.
    pub const NO_METADATA: u16 = 0x0002;
    /// The client has the COLMETADATA already.
    pub const REUSE_METADATA: u16 = 0x0004;
}

/// System procedures that are called by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
#[allow(missing_docs, reason = "the names are those of the procedures")]
pub enum ProcId {
    Cursor = 1,
    CursorOpen = 2,
    CursorPrepare = 3,
    CursorExecute = 4,
    CursorPrepExec = 5,
    CursorUnprepare = 6,
    CursorFetch = 7,
    CursorOption = 8,
    CursorClose = 9,
    ExecuteSql = 10,
    Prepare = 11,
    Execute = 12,
    PrepExec = 13,
    PrepExecRpc = 14,
    Unprepare = 15,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name with its `@`, or empty for an argument by position.
    pub name: String,
    /// Status bits of the argument, see [`parameter_status`].
    pub status: u8,
    /// The type; for a table an `int`, which has no meaning.
    pub type_info: TypeInfo,
    /// The value; for a table NULL.
    pub value: Value,
    /// The rows of a table-valued parameter.
    pub table: Option<Box<TableParameter>>,
}

/// Bits of [`Parameter::status`].
pub mod parameter_status {
    /// The argument is an output parameter.
    pub const BY_REFERENCE: u8 = 0x01;
    /// The parameter's default is used, and the value ignored.
    pub const DEFAULT_VALUE: u8 = 0x02;
    /// The value is encrypted; not supported by this crate.
    pub const ENCRYPTED: u8 = 0x08;
}

/// The name length that says that a procedure number follows.
const BY_ID: u16 = 0xFFFF;

/// Separates calls; the second one says that the call before it shall not be executed.
const BATCH_FLAG: u8 = 0xFF;
const BATCH_FLAG_7_1: u8 = 0x80;
const NO_EXEC_FLAG: u8 = 0xFE;

impl RpcMessage {
    /// Creates a message with one call, for a connection of this version, in the transaction (0 is
    /// autocommit).
    pub fn new(request: RpcRequest, version: TdsVersion, transaction_descriptor: u64) -> Self {
        let headers = version.has_all_headers().then(|| AllHeaders::in_transaction(transaction_descriptor));
        Self { headers, requests: vec![request] }
    }

    /// Encodes the payload of the message for a connection of this version.
    pub fn encode(&self, version: TdsVersion) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new();
        if let Some(headers) = &self.headers {
            headers.encode(&mut w);
        }
        for (index, request) in self.requests.iter().enumerate() {
            let last = index + 1 == self.requests.len();
            request.encode(&mut w);
            match (version.has_all_headers(), request.no_execute) {
                (true, true) => w.u8(NO_EXEC_FLAG),
                (true, false) if !last => w.u8(BATCH_FLAG),
                (false, false) if !last => w.u8(BATCH_FLAG_7_1),
                (false, true) => w.invalid("RPC no-execute flag", "needs TDS 7.2"),
                _ => {}
            }
        }
        w.finish()
    }

    /// Decodes the payload of a message on a connection of this version.
    pub fn decode(bytes: &[u8], version: TdsVersion) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(bytes);
        let headers = version.has_all_headers().then(|| AllHeaders::decode(&mut r)).transpose()?;
        let mut requests = vec![RpcRequest::decode(&mut r, version)?];
        // A flag may also close the last call.
        while !r.is_empty() {
            requests.push(RpcRequest::decode(&mut r, version)?);
        }
        Ok(Self { headers, requests })
    }
}

impl RpcRequest {
    /// Creates a call that is executed, without flags.
    pub fn new(procedure: Procedure, parameters: Vec<Parameter>) -> Self {
        Self { procedure, flags: 0, parameters, no_execute: false }
    }

    fn encode(&self, w: &mut Writer) {
        match &self.procedure {
            Procedure::Id(id) => {
                w.u16(BY_ID);
                w.u16(*id as u16);
            }
            Procedure::Name(name) => {
                let units = crate::codec::utf16_len(name);
                if units >= usize::from(BY_ID) {
                    let kind = EncodeErrorKind::TooLong { length: units, limit: usize::from(BY_ID) - 1 };
                    w.fail("RPC procedure name", kind);
                }
                w.us_varchar(name, "RPC procedure name");
            }
        }
        w.u16(self.flags);
        for parameter in &self.parameters {
            parameter.encode(w);
        }
    }

    /// Reads one call and the flag behind it.
    fn decode(r: &mut Reader<'_>, version: TdsVersion) -> Result<Self, DecodeError> {
        let procedure = Procedure::decode(r)?;
        let flags = r.u16("RPC flags")?;
        let mut parameters = Vec::new();
        let mut no_execute = false;
        while !r.is_empty() {
            match (r.peek_u8("RPC parameter")?, version.has_all_headers()) {
                (BATCH_FLAG, true) | (BATCH_FLAG_7_1, false) => {
                    r.u8("RPC batch flag")?;
                    break;
                }
                (NO_EXEC_FLAG, true) => {
                    r.u8("RPC no-execute flag")?;
                    no_execute = true;
                    break;
                }
                _ => parameters.push(Parameter::decode(r, parameters.len() + 1)?),
            }
        }
        Ok(Self { procedure, flags, parameters, no_execute })
    }
}

impl Procedure {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = r.position();
        match r.u16("RPC procedure name")? {
            BY_ID => {
                let number = r.u16("RPC procedure id")?;
                ProcId::from_number(number).map(Self::Id).ok_or_else(|| {
                    DecodeError::invalid(
                        "RPC procedure id",
                        offset,
                        format!("{number} is not a procedure with a number"),
                    )
                })
            }
            units => Ok(Self::Name(r.utf16(usize::from(units), "RPC procedure name")?)),
        }
    }
}

impl ProcId {
    /// Returns the procedure with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Cursor,
            2 => Self::CursorOpen,
            3 => Self::CursorPrepare,
            4 => Self::CursorExecute,
            5 => Self::CursorPrepExec,
            6 => Self::CursorUnprepare,
            7 => Self::CursorFetch,
            8 => Self::CursorOption,
            9 => Self::CursorClose,
            10 => Self::ExecuteSql,
            11 => Self::Prepare,
            12 => Self::Execute,
            13 => Self::PrepExec,
            14 => Self::PrepExecRpc,
            15 => Self::Unprepare,
            _ => return None,
        })
    }

    /// Returns the procedure's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cursor => "sp_cursor",
            Self::CursorOpen => "sp_cursoropen",
            Self::CursorPrepare => "sp_cursorprepare",
            Self::CursorExecute => "sp_cursorexecute",
            Self::CursorPrepExec => "sp_cursorprepexec",
            Self::CursorUnprepare => "sp_cursorunprepare",
            Self::CursorFetch => "sp_cursorfetch",
            Self::CursorOption => "sp_cursoroption",
            Self::CursorClose => "sp_cursorclose",
            Self::ExecuteSql => "sp_executesql",
            Self::Prepare => "sp_prepare",
            Self::Execute => "sp_execute",
            Self::PrepExec => "sp_prepexec",
            Self::PrepExecRpc => "sp_prepexecrpc",
            Self::Unprepare => "sp_unprepare",
        }
    }
}

impl Parameter {
    /// Creates an input parameter.
    pub fn input(name: impl Into<String>, type_info: TypeInfo, value: Value) -> Self {
        Self { name: name.into(), status: 0, type_info, value, table: None }
    }

    /// Creates a table-valued parameter.
    pub fn table(name: impl Into<String>, status: u8, table: TableParameter) -> Self {
        let type_info = TypeInfo::new(SqlType::Int, true, None);
        Self { name: name.into(), status, type_info, value: Value::Null, table: Some(Box::new(table)) }
    }

    /// Returns true if the argument is an output parameter.
    pub fn is_output(&self) -> bool {
        self.status & parameter_status::BY_REFERENCE != 0
    }

    /// Returns true if the parameter's default is meant.
    pub fn is_default(&self) -> bool {
        self.status & parameter_status::DEFAULT_VALUE != 0
    }

    fn encode(&self, w: &mut Writer) {
        w.b_varchar(&self.name, "RPC parameter name");
        w.u8(self.status);
        if let Some(table) = &self.table {
            return table.encode(w);
        }
        self.type_info.encode(w, Direction::ClientToServer);
        encode_value(&self.value, &self.type_info, w, ValuePlace::Parameter);
    }

    /// Reads the parameter of this number, from 1.
    fn decode(r: &mut Reader<'_>, number: usize) -> Result<Self, DecodeError> {
        let name = r.b_varchar("RPC parameter name")?;
        let offset = r.position();
        let status = r.u8("RPC parameter status")?;
        if status & parameter_status::ENCRYPTED != 0 {
            let what = "encrypted parameters are not supported";
            return Err(DecodeError::invalid("RPC parameter status", offset, what));
        }
        let token = r.peek_u8("RPC parameter type")?;
        if token == type_token::TVP {
            return Ok(Self::table(name, status, TableParameter::decode(r)?));
        }
        let type_info = TypeInfo::decode(r, Direction::ClientToServer)
            .map_err(|error| misdeclared(error, number, &name, token))?;
        let value = decode_value(r, &type_info, ValuePlace::Parameter)?;
        Ok(Self { name, status, type_info, value, table: None })
    }
}

/// Makes the error of a declaration, with the parameter that it belongs to. A truncated message stays
/// truncated.
fn misdeclared(error: DecodeError, parameter: usize, name: &str, token: u8) -> DecodeError {
    let DecodeErrorKind::Invalid { what } = error.kind else { return error };
    let kind = DecodeErrorKind::Declaration { parameter, name: name.to_owned(), token, what };
    DecodeError { kind, ..error }
}
