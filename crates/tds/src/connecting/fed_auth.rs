//! Federated authentication: the login feature (MS-TDS 2.2.6.4), the token message (2.2.6.3) and FEDAUTHINFO
//! (2.2.7.12).

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::secret::Secret;

/// The library numbers of the options byte, above the echo bit.
const LIBRARY_SECURITY_TOKEN: u8 = 0x01;
const LIBRARY_ADAL: u8 = 0x02;

/// Data of the FEDAUTH feature in LOGIN7.
///
/// `echo` says whether the server's PRELOGIN answered FEDAUTHREQUIRED with 1; a server compares it with what it sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FedAuthRequest {
    /// The client has a token already and sends it with the login.
    SecurityToken {
        /// Echo of FEDAUTHREQUIRED.
        echo: bool,
        /// The access token in UTF-16LE, as Azure SQL expects it.
        token: Secret<Vec<u8>>,
        /// The server's nonce, if PRELOGIN carried one.
        nonce: Option<[u8; 32]>,
    },
    /// The client asks where to get a token; the server answers with FEDAUTHINFO.
    Adal {
        /// Echo of FEDAUTHREQUIRED.
        echo: bool,
        /// 1 user and password, 2 integrated, 3 interactive.
        workflow: u8,
    },
    /// Any other library.
    Other {
        /// Echo of FEDAUTHREQUIRED.
        echo: bool,
        /// Number of the library, 7 bits.
        library: u8,
        /// The rest of the data.
        data: Secret<Vec<u8>>,
    },
}

impl FedAuthRequest {
    /// Creates a request that carries an access token (a JWT).
    pub fn with_access_token(access_token: &str, echo: bool) -> Self {
        Self::SecurityToken { echo, token: Secret::new(utf16(access_token)), nonce: None }
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let options = r.u8("FEDAUTH options")?;
        let (echo, library) = (options & 1 != 0, options >> 1);
        match library {
            LIBRARY_SECURITY_TOKEN => {
                let token = Secret::new(r.l_varbyte("FEDAUTH token")?.to_vec());
                let nonce = optional_nonce(r)?;
                Ok(Self::SecurityToken { echo, token, nonce })
            }
            LIBRARY_ADAL => {
                let workflow = r.u8("FEDAUTH workflow")?;
                r.clone().finish("FEDAUTH data")?;
                Ok(Self::Adal { echo, workflow })
            }
            library => Ok(Self::Other { echo, library, data: Secret::new(r.rest().to_vec()) }),
        }
    }

    pub(crate) fn encode(&self, w: &mut Writer) {
        match self {
            Self::SecurityToken { echo, token, nonce } => {
                w.u8(LIBRARY_SECURITY_TOKEN << 1 | u8::from(*echo));
                w.l_varbyte(token.expose(), "FEDAUTH token");
                w.bytes(nonce.as_ref().map_or(&[], |nonce| nonce.as_slice()));
            }
            Self::Adal { echo, workflow } => {
                w.u8(LIBRARY_ADAL << 1 | u8::from(*echo));
                w.u8(*workflow);
            }
            Self::Other { echo, library, data } => {
                if *library > 0x7F {
                    w.invalid("FEDAUTH library", format!("{library} does not fit 7 bits"));
                }
                w.u8(library << 1 | u8::from(*echo));
                w.bytes(data.expose());
            }
        }
    }
}

/// The message of type 8: a token obtained after FEDAUTHINFO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FedAuthToken {
    /// The access token in UTF-16LE.
    pub token: Secret<Vec<u8>>,
    /// The server's nonce, if PRELOGIN carried one.
    pub nonce: Option<[u8; 32]>,
}

impl FedAuthToken {
    /// Creates a message with an access token (a JWT).
    pub fn new(access_token: &str, nonce: Option<[u8; 32]>) -> Self {
        Self { token: Secret::new(utf16(access_token)), nonce }
    }

    /// Encodes the payload of the message.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut w = Writer::new();
        let mark = w.begin_u32();
        w.l_varbyte(self.token.expose(), "federated authentication token");
        w.bytes(self.nonce.as_ref().map_or(&[], |nonce| nonce.as_slice()));
        w.end_u32(mark, "federated authentication message");
        w.finish()
    }

    /// Decodes the payload of the message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(bytes);
        let length = r.u32("federated authentication message")? as usize;
        let mut inner = r.sub(length, "federated authentication message")?;
        r.finish("federated authentication message")?;
        let token = Secret::new(inner.l_varbyte("federated authentication token")?.to_vec());
        let nonce = optional_nonce(&mut inner)?;
        Ok(Self { token, nonce })
    }
}

/// The FEDAUTHINFO token: where to get an access token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FedAuthInfo {
    /// Address of the token service.
    pub sts_url: Option<String>,
    /// Name of the service that the token is for.
    pub service_principal: Option<String>,
    /// Entries with other numbers.
    pub other: Vec<(u8, Vec<u8>)>,
}

impl FedAuthInfo {
    const STS_URL: u8 = 0x01;
    const SERVICE_PRINCIPAL: u8 = 0x02;
    const ENTRY_LEN_BYTES: usize = 9;

    /// Decodes what follows the token's length. Data offsets count from the entry count.
    pub(crate) fn decode(content: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(content);
        let count = r.u32("FEDAUTHINFO count")? as usize;
        r.check_count(count, Self::ENTRY_LEN_BYTES, "FEDAUTHINFO count")?;
        let mut info = Self::default();
        for _ in 0..count {
            let id = r.u8("FEDAUTHINFO id")?;
            let place = r.position();
            let length = r.u32("FEDAUTHINFO length")? as usize;
            let offset = r.u32("FEDAUTHINFO offset")? as usize;
            let data = content.get(offset..offset.saturating_add(length)).ok_or_else(|| {
                DecodeError::invalid("FEDAUTHINFO offset", place, "the data exceeds the token")
            })?;
            let mut data_reader = Reader::new_complete(data);
            match id {
                Self::STS_URL => info.sts_url = Some(data_reader.utf16(length / 2, "FEDAUTHINFO STSURL")?),
                Self::SERVICE_PRINCIPAL => {
                    info.service_principal = Some(data_reader.utf16(length / 2, "FEDAUTHINFO SPN")?);
                }
                id => info.other.push((id, data_reader.rest().to_vec())),
            }
            data_reader.finish("FEDAUTHINFO data")?;
        }
        Ok(info)
    }

    /// Writes what follows the token byte, its length included.
    pub(crate) fn encode(&self, w: &mut Writer) {
        let mut entries = Vec::new();
        entries.extend(self.sts_url.as_ref().map(|url| (Self::STS_URL, utf16(url))));
        entries.extend(self.service_principal.as_ref().map(|name| (Self::SERVICE_PRINCIPAL, utf16(name))));
        entries.extend(self.other.iter().cloned());
        let mark = w.begin_u32();
        let count = w.length_u32(entries.len(), "FEDAUTHINFO count");
        w.u32(count);
        let mut offset = 4 + entries.len() * Self::ENTRY_LEN_BYTES;
        for (id, data) in &entries {
            w.u8(*id);
            let length = w.length_u32(data.len(), "FEDAUTHINFO length");
            w.u32(length);
            let at = w.length_u32(offset, "FEDAUTHINFO offset");
            w.u32(at);
            offset += data.len();
        }
        for (_, data) in &entries {
            w.bytes(data);
        }
        w.end_u32(mark, "FEDAUTHINFO");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn optional_nonce(r: &mut Reader<'_>) -> Result<Option<[u8; 32]>, DecodeError> {
    let nonce = if r.is_empty() { None } else { Some(r.array("federated authentication nonce")?) };
    r.clone().finish("federated authentication data")?;
    Ok(nonce)
}
