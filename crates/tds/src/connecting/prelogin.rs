//! PRELOGIN (MS-TDS 2.2.6.5): the first message in each direction. It settles encryption before anything secret is sent.

use crate::codec::{DecodeError, Reader, Writer};

mod encryption;

pub use encryption::{EncryptionOption, EncryptionOutcome, EncryptionPolicy, NegotiationError};
pub use encryption::{negotiate_client, negotiate_server};

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const INSTANCE: u8 = 0x02;
const THREAD_ID: u8 = 0x03;
const MARS: u8 = 0x04;
const TRACE_ID: u8 = 0x05;
const FED_AUTH_REQUIRED: u8 = 0x06;
const NONCE: u8 = 0x07;
const TERMINATOR: u8 = 0xFF;

/// Bytes of one entry of the option table: token, offset, length.
const ENTRY_LEN_BYTES: usize = 5;

/// A PRELOGIN message. An option that is `None` is not in the message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prelogin {
    /// Version of the sender's program. Mandatory in the protocol; absent ones decode to zeros.
    pub version: ProgramVersion,
    /// Encryption that the sender asks for (client) or settles on (server).
    pub encryption: Option<EncryptionOption>,
    /// True if the client offers a certificate (bit 0x80 of the encryption byte).
    pub client_certificate: bool,
    /// Instance name without its terminating zero; empty from a server that has no complaint.
    pub instance: Option<Vec<u8>>,
    /// Thread of the client; a server sends the option without data.
    pub thread_id: Option<OptionData<u32>>,
    /// Multiple active result sets.
    pub mars: Option<bool>,
    /// Identity of the connection in the client's traces; a server sends the option without data.
    pub trace_id: Option<OptionData<TraceId>>,
    /// Client: federated authentication is offered. Server: it is the only way in.
    pub fed_auth_required: Option<bool>,
    /// Random bytes that a federated login signs.
    pub nonce: Option<[u8; 32]>,
    /// Options that this crate does not know, in order.
    pub unknown: Vec<(u8, Vec<u8>)>,
}

/// An option that a server mirrors without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionData<T> {
    /// The option with length 0.
    Empty,
    /// The option with its data.
    Value(T),
}

/// Version of a client or server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramVersion {
    /// Major version; 16 is SQL Server 2022.
    pub major: u8,
    /// Minor version of the program.
    pub minor: u8,
    /// Build number of the program.
    pub build: u16,
    /// Build within the build; the only little-endian field of PRELOGIN.
    pub sub_build: u16,
}

/// The TRACEID option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId {
    /// GUID of the connection.
    pub connection_id: [u8; 16],
    /// GUID of the activity.
    pub activity_id: [u8; 16],
    /// Number of the request in the activity.
    pub activity_sequence: u32,
}

impl Prelogin {
    /// Makes a server's answer to `asked`: the same options, THREADID and TRACEID without data, no MARS, and
    /// federated authentication not demanded. `encryption` is the result of [`negotiate_server`]. MARS is
    /// always answered, because FreeTDS falls back to 7.1 without it.
    pub fn reply_to(asked: &Self, version: ProgramVersion, encryption: EncryptionOption) -> Self {
        Self {
            version,
            encryption: Some(encryption),
            instance: Some(Vec::new()),
            thread_id: Some(OptionData::Empty),
            mars: Some(false),
            trace_id: asked.trace_id.map(|_| OptionData::Empty),
            fed_auth_required: asked.fed_auth_required.map(|_| false),
            ..Self::default()
        }
    }

    /// Encodes the payload of the message: the option table, then the data in the same order without gaps, as
    /// the strictest readers demand.
    pub fn encode(&self) -> Result<Vec<u8>, crate::codec::EncodeError> {
        let options = self.options();
        let mut w = Writer::new();
        let mut offset = options.len() * ENTRY_LEN_BYTES + 1;
        for (token, data) in &options {
            w.u8(*token);
            let at = w.length_u16(offset, "PRELOGIN option offset");
            w.u16_be(at);
            let length = w.length_u16(data.len(), "PRELOGIN option length");
            w.u16_be(length);
            offset += data.len();
        }
        w.u8(TERMINATOR);
        for (_, data) in &options {
            w.bytes(data);
        }
        w.finish()
    }

    /// Decodes the payload of a message. Options may come in any order, and their data may be anywhere in the
    /// message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut prelogin = Self::default();
        let mut table = Reader::new_complete(bytes);
        loop {
            let token = table.u8("PRELOGIN option token")?;
            if token == TERMINATOR {
                return Ok(prelogin);
            }
            let place = table.position();
            let offset = usize::from(table.u16_be("PRELOGIN option offset")?);
            let length = usize::from(table.u16_be("PRELOGIN option length")?);
            // Adding two 16-bit numbers cannot overflow.
            let data = bytes.get(offset..offset + length).ok_or_else(|| {
                let what = format!("option {token:#04x} at {offset}, {length} bytes, exceeds the message");
                DecodeError::invalid("PRELOGIN option offset", place, what)
            })?;
            prelogin.set(token, data).map_err(|mut error| {
                error.offset += offset;
                error
            })?;
        }
    }

    fn set(&mut self, token: u8, data: &[u8]) -> Result<(), DecodeError> {
        let mut r = Reader::new_complete(data);
        match token {
            VERSION => {
                self.version = ProgramVersion {
                    major: r.u8("PRELOGIN VERSION")?,
                    minor: r.u8("PRELOGIN VERSION")?,
                    build: r.u16_be("PRELOGIN VERSION")?,
                    sub_build: r.u16("PRELOGIN VERSION")?,
                };
            }
            ENCRYPTION => {
                let byte = r.u8("PRELOGIN ENCRYPTION")?;
                let option = EncryptionOption::from_number(byte & !EncryptionOption::CLIENT_CERTIFICATE_BIT);
                self.encryption = Some(option.ok_or_else(|| {
                    let what = format!("{byte:#04x} is not an encryption option");
                    DecodeError::invalid("PRELOGIN ENCRYPTION", 0, what)
                })?);
                self.client_certificate = byte & EncryptionOption::CLIENT_CERTIFICATE_BIT != 0;
            }
            INSTANCE => {
                let name = r.rest();
                self.instance = Some(name.strip_suffix(&[0]).unwrap_or(name).to_vec());
            }
            THREAD_ID => {
                self.thread_id = Some(match r.is_empty() {
                    true => OptionData::Empty,
                    false => OptionData::Value(r.u32("PRELOGIN THREADID")?),
                });
            }
            MARS => self.mars = Some(flag(&mut r, "PRELOGIN MARS")?),
            TRACE_ID => {
                self.trace_id = Some(match r.is_empty() {
                    true => OptionData::Empty,
                    false => OptionData::Value(TraceId {
                        connection_id: r.array("PRELOGIN TRACEID")?,
                        activity_id: r.array("PRELOGIN TRACEID")?,
                        activity_sequence: r.u32("PRELOGIN TRACEID")?,
                    }),
                });
            }
            FED_AUTH_REQUIRED => self.fed_auth_required = Some(flag(&mut r, "PRELOGIN FEDAUTHREQUIRED")?),
            NONCE => self.nonce = Some(r.array("PRELOGIN NONCEOPT")?),
            unknown => self.unknown.push((unknown, r.rest().to_vec())),
        }
        r.finish("PRELOGIN option data")
    }

    fn options(&self) -> Vec<(u8, Vec<u8>)> {
        let ProgramVersion { major, minor, build, sub_build } = self.version;
        let mut version = vec![major, minor];
        version.extend_from_slice(&build.to_be_bytes());
        version.extend_from_slice(&sub_build.to_le_bytes());
        let mut options = vec![(VERSION, version)];
        if let Some(encryption) = self.encryption {
            let certificate =
                if self.client_certificate { EncryptionOption::CLIENT_CERTIFICATE_BIT } else { 0 };
            options.push((ENCRYPTION, vec![encryption as u8 | certificate]));
        }
        if let Some(instance) = &self.instance {
            options.push((INSTANCE, [instance.as_slice(), &[0]].concat()));
        }
        match self.thread_id {
            Some(OptionData::Value(id)) => options.push((THREAD_ID, id.to_le_bytes().to_vec())),
            Some(OptionData::Empty) => options.push((THREAD_ID, Vec::new())),
            None => {}
        }
        if let Some(mars) = self.mars {
            options.push((MARS, vec![u8::from(mars)]));
        }
        match self.trace_id {
            Some(OptionData::Value(id)) => {
                let mut data = [id.connection_id, id.activity_id].concat();
                data.extend_from_slice(&id.activity_sequence.to_le_bytes());
                options.push((TRACE_ID, data));
            }
            Some(OptionData::Empty) => options.push((TRACE_ID, Vec::new())),
            None => {}
        }
        if let Some(required) = self.fed_auth_required {
            options.push((FED_AUTH_REQUIRED, vec![u8::from(required)]));
        }
        if let Some(nonce) = self.nonce {
            options.push((NONCE, nonce.to_vec()));
        }
        options.extend(self.unknown.iter().cloned());
        options
    }
}

fn flag(r: &mut Reader<'_>, field: &'static str) -> Result<bool, DecodeError> {
    let offset = r.position();
    match r.u8(field)? {
        0 => Ok(false),
        1 => Ok(true),
        byte => Err(DecodeError::invalid(field, offset, format!("{byte:#04x} is neither 0 nor 1"))),
    }
}
