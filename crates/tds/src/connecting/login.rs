//! LOGIN7 (MS-TDS 2.2.6.4): who the client is and what it wants of the session.

use crate::codec::{DecodeError, EncodeError, EncodeErrorKind, Reader, Writer};
use crate::feature::{FeatureRequest, decode_feature_requests, encode_feature_requests};
use crate::secret::Secret;
use crate::version::TdsVersion;

/// Bytes of the fixed part.
const FIXED_LEN_BYTES: usize = 94;

/// Bytes of the fixed part before 7.2, which ends with the attached database file.
const FIXED_LEN_BYTES_7_1: usize = 86;

/// The protocol's limit for the whole message, 128 KiB less one byte.
pub const LOGIN_MAX_BYTES: usize = (128 << 10) - 1;

/// The length of integrated authentication data that says "see the long length".
const SSPI_LEN_SEE_LONG: u16 = 0xFFFF;

/// Bits of [`Login7::option_flags1`].
pub mod option_flags1 {
    /// The client does not bulk load (the bit is set when it does *not*). No known server enforces it.
    pub const DUMP_LOAD_OFF: u8 = 0x10;
    /// Tell the client when USE changes the database.
    pub const USE_DB: u8 = 0x20;
    /// Login fails if the database cannot be opened.
    pub const INIT_DB_FATAL: u8 = 0x40;
    /// Tell the client when SET LANGUAGE changes the language.
    pub const SET_LANG: u8 = 0x80;
}

/// Bits of [`Login7::option_flags2`].
pub mod option_flags2 {
    /// Login fails if the language cannot be set.
    pub const INIT_LANG_FATAL: u8 = 0x01;
    /// Session defaults of ODBC: ANSI settings on, unlimited TEXTSIZE.
    pub const ODBC: u8 = 0x02;
    /// Integrated security: [`sspi`](super::Login7::sspi) is used instead of user and password.
    pub const INTEGRATED_SECURITY: u8 = 0x80;
}

/// Bits of [`Login7::type_flags`].
pub mod type_flags {
    /// The session only reads (`ApplicationIntent=ReadOnly`); a gateway may route it to a replica.
    pub const READ_ONLY_INTENT: u8 = 0x20;
}

/// Bits of [`Login7::option_flags3`].
pub mod option_flags3 {
    /// The login changes the password.
    pub const CHANGE_PASSWORD: u8 = 0x01;
    /// XML values may be sent in binary form.
    pub const SEND_YUKON_BINARY_XML: u8 = 0x02;
    /// A user instance is requested.
    pub const USER_INSTANCE: u8 = 0x04;
    /// Collations that SQL Server 2005 does not know may be sent.
    pub const UNKNOWN_COLLATION_HANDLING: u8 = 0x08;
    /// The feature extension is present; follows from [`features`](super::Login7::features) when encoding.
    pub const EXTENSION: u8 = 0x10;
}

/// A LOGIN7 message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login7 {
    /// Number of the version asked for; see [`Login7::version`].
    pub tds_version_number: u32,
    /// Packet size asked for, header included; 0 is "the server's default".
    pub packet_size_bytes: u32,
    /// Version of the client library, in the library's own scheme.
    pub client_program_version: u32,
    /// Process id of the client.
    pub client_pid: u32,
    /// Connection id of the primary server, for clients that log in again; 0 otherwise.
    pub connection_id: u32,
    /// Flags of the first option byte, see [`option_flags1`].
    pub option_flags1: u8,
    /// Flags of the second option byte, see [`option_flags2`].
    pub option_flags2: u8,
    /// Flags of the type byte, see [`type_flags`].
    pub type_flags: u8,
    /// Flags of the third option byte, see [`option_flags3`]. The extension bit is set by
    /// [`encode`](Self::encode) from `features`.
    pub option_flags3: u8,
    /// Minutes from UTC; ignored by servers.
    pub client_time_zone: i32,
    /// Locale of the client; ignored unless no language is named.
    pub client_lcid: u32,
    /// Name of the client's machine.
    pub host_name: String,
    /// SQL login name.
    pub user_name: String,
    /// SQL login password.
    pub password: Secret<String>,
    /// Name of the application.
    pub app_name: String,
    /// Name of the server as the client knows it.
    pub server_name: String,
    /// Name of the client library.
    pub client_interface_name: String,
    /// Language of messages and dates; empty is the login's default.
    pub language: String,
    /// Initial database; empty is the login's default.
    pub database: String,
    /// Hardware address of the client.
    pub client_id: [u8; 6],
    /// Integrated authentication data.
    pub sspi: Vec<u8>,
    /// Database file to attach.
    pub attach_db_file: String,
    /// New password, with [`option_flags3::CHANGE_PASSWORD`].
    pub change_password: Secret<String>,
    /// Feature extensions asked for (7.4 and later).
    pub features: Vec<FeatureRequest>,
}

impl Default for Login7 {
    /// Returns a login of TDS 7.4 with the session defaults of ODBC and no names.
    fn default() -> Self {
        Self {
            tds_version_number: TdsVersion::V7_4.to_login(),
            packet_size_bytes: 4096,
            client_program_version: 0,
            client_pid: 0,
            connection_id: 0,
            option_flags1: option_flags1::USE_DB | option_flags1::INIT_DB_FATAL | option_flags1::SET_LANG,
            option_flags2: option_flags2::INIT_LANG_FATAL | option_flags2::ODBC,
            type_flags: 0,
            option_flags3: option_flags3::UNKNOWN_COLLATION_HANDLING,
            client_time_zone: 0,
            client_lcid: 0x0409,
            host_name: String::new(),
            user_name: String::new(),
            password: Secret::default(),
            app_name: String::new(),
            server_name: String::new(),
            client_interface_name: String::new(),
            language: String::new(),
            database: String::new(),
            client_id: [0; 6],
            sspi: Vec::new(),
            attach_db_file: String::new(),
            change_password: Secret::default(),
            features: Vec::new(),
        }
    }
}

impl Login7 {
    /// Returns the version asked for, if it is a published one.
    pub fn version(&self) -> Option<TdsVersion> {
        TdsVersion::from_login(self.tds_version_number)
    }

    /// Encodes the payload of the message.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let with_extension = !self.features.is_empty();
        let old = is_old(self.tds_version_number);
        let fixed_len = if old { FIXED_LEN_BYTES_7_1 } else { FIXED_LEN_BYTES };
        let mut fields = Fields { w: Writer::new(), data: Vec::new(), fixed_len };
        if old && (with_extension || !self.change_password.expose().is_empty()) {
            fields.w.invalid("LOGIN7 TDSVersion", "features and a new password need TDS 7.2");
        }
        let total = fields.w.begin_u32();
        fields.w.u32(self.tds_version_number);
        fields.w.u32(self.packet_size_bytes);
        fields.w.u32(self.client_program_version);
        fields.w.u32(self.client_pid);
        fields.w.u32(self.connection_id);
        fields.w.u8(self.option_flags1);
        fields.w.u8(self.option_flags2);
        fields.w.u8(self.type_flags);
        let without_extension = self.option_flags3 & !option_flags3::EXTENSION;
        fields.w.u8(without_extension | if with_extension { option_flags3::EXTENSION } else { 0 });
        fields.w.i32(self.client_time_zone);
        fields.w.u32(self.client_lcid);
        fields.text(&self.host_name, "LOGIN7 HostName");
        fields.text(&self.user_name, "LOGIN7 UserName");
        fields.password(&self.password, "LOGIN7 Password");
        fields.text(&self.app_name, "LOGIN7 AppName");
        fields.text(&self.server_name, "LOGIN7 ServerName");
        let extension_at = fields.data.len();
        let extension_placeholder: &[u8] = if with_extension { &[0; 4] } else { &[] };
        fields.place(extension_placeholder.len(), "LOGIN7 Extension");
        fields.data.extend_from_slice(extension_placeholder);
        fields.text(&self.client_interface_name, "LOGIN7 CltIntName");
        fields.text(&self.language, "LOGIN7 Language");
        fields.text(&self.database, "LOGIN7 Database");
        fields.w.bytes(&self.client_id);
        // The authentication data is the only part that can be long: it goes behind everything that a 16-bit offset
        // has to reach, although its entry comes before the last two.
        let tail_at = fields.data.len();
        let mut tail = Fields { w: Writer::new(), data: std::mem::take(&mut fields.data), fixed_len };
        tail.text(&self.attach_db_file, "LOGIN7 AtchDBFile");
        if !old {
            tail.password(&self.change_password, "LOGIN7 ChangePassword");
        }
        let Fields { w: tail_entries, data, .. } = tail;
        let sspi_at = if self.sspi.is_empty() { tail_at } else { data.len() };
        fields.data = data;
        let offset = fields.w.length_u16(fixed_len + sspi_at, "LOGIN7 SSPI");
        fields.w.u16(offset);
        let short_length = u16::try_from(self.sspi.len()).ok().filter(|length| *length != SSPI_LEN_SEE_LONG);
        fields.w.u16(short_length.unwrap_or(SSPI_LEN_SEE_LONG));
        fields.w.bytes(&tail_entries.finish()?);
        let long_length = match short_length {
            Some(_) => 0,
            None => fields.w.length_u32(self.sspi.len(), "LOGIN7 SSPI"),
        };
        if !old {
            fields.w.u32(long_length);
        } else if long_length > 0 {
            let kind = EncodeErrorKind::TooLong { length: self.sspi.len(), limit: usize::from(u16::MAX) - 1 };
            fields.w.fail("LOGIN7 SSPI", kind);
        }
        fields.data.extend_from_slice(&self.sspi);
        if with_extension {
            let offset = fields.w.length_u32(fixed_len + fields.data.len(), "LOGIN7 FeatureExt");
            if let Some(slot) = fields.data.get_mut(extension_at..extension_at + 4) {
                slot.copy_from_slice(&offset.to_le_bytes());
            }
        }
        let Fields { mut w, data, .. } = fields;
        w.bytes(&data);
        if with_extension {
            encode_feature_requests(&self.features, &mut w);
        }
        w.end_u32_inclusive(total, "LOGIN7 Length");
        if w.len() > LOGIN_MAX_BYTES {
            let kind = EncodeErrorKind::TooLong { length: w.len(), limit: LOGIN_MAX_BYTES };
            w.fail("LOGIN7 Length", kind);
        }
        w.finish()
    }

    /// Decodes the payload of a message. Offsets of empty fields are not looked at, as clients put anything there.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new_complete(bytes);
        let length = r.u32("LOGIN7 Length")? as usize;
        if length > LOGIN_MAX_BYTES {
            return Err(DecodeError::too_long("LOGIN7 Length", 0, length, LOGIN_MAX_BYTES));
        }
        if length != bytes.len() {
            let what = format!("says {length} bytes, the message has {}", bytes.len());
            return Err(DecodeError::invalid("LOGIN7 Length", 0, what));
        }
        let tds_version_number = r.u32("LOGIN7 TDSVersion")?;
        let old = is_old(tds_version_number);
        let fixed_len = if old { FIXED_LEN_BYTES_7_1 } else { FIXED_LEN_BYTES };
        let packet_size_bytes = r.u32("LOGIN7 PacketSize")?;
        let client_program_version = r.u32("LOGIN7 ClientProgVer")?;
        let client_pid = r.u32("LOGIN7 ClientPID")?;
        let connection_id = r.u32("LOGIN7 ConnectionID")?;
        let option_flags1 = r.u8("LOGIN7 OptionFlags1")?;
        let option_flags2 = r.u8("LOGIN7 OptionFlags2")?;
        let type_flags = r.u8("LOGIN7 TypeFlags")?;
        let option_flags3 = r.u8("LOGIN7 OptionFlags3")?;
        let client_time_zone = r.i32("LOGIN7 ClientTimeZone")?;
        let client_lcid = r.u32("LOGIN7 ClientLCID")?;
        let variable = VariablePart { bytes, fixed_len };
        let host_name = variable.text(&mut r, "LOGIN7 HostName")?;
        let user_name = variable.text(&mut r, "LOGIN7 UserName")?;
        let password = variable.password(&mut r, "LOGIN7 Password")?;
        let app_name = variable.text(&mut r, "LOGIN7 AppName")?;
        let server_name = variable.text(&mut r, "LOGIN7 ServerName")?;
        let (extension_offset, extension_len) =
            (r.u16("LOGIN7 Extension")?, usize::from(r.u16("LOGIN7 Extension")?));
        let client_interface_name = variable.text(&mut r, "LOGIN7 CltIntName")?;
        let language = variable.text(&mut r, "LOGIN7 Language")?;
        let database = variable.text(&mut r, "LOGIN7 Database")?;
        let client_id = r.array("LOGIN7 ClientID")?;
        let (sspi_offset, sspi_len) = (r.u16("LOGIN7 SSPI")?, r.u16("LOGIN7 SSPI")?);
        let attach_db_file = variable.text(&mut r, "LOGIN7 AtchDBFile")?;
        let (change_password, sspi_long) = if old {
            (Secret::default(), 0)
        } else {
            (variable.password(&mut r, "LOGIN7 ChangePassword")?, r.u32("LOGIN7 SSPILong")?)
        };
        let sspi_len = match sspi_len {
            SSPI_LEN_SEE_LONG if sspi_long > 0 => sspi_long as usize,
            short => usize::from(short),
        };
        let sspi = variable.slice(usize::from(sspi_offset), sspi_len, "LOGIN7 SSPI")?.to_vec();
        let features = if option_flags3 & option_flags3::EXTENSION != 0 && extension_len > 0 {
            let pointer = variable.slice(usize::from(extension_offset), extension_len, "LOGIN7 Extension")?;
            let offset = Reader::new_complete(pointer).u32("LOGIN7 FeatureExt offset")? as usize;
            let block = variable.slice(offset, bytes.len().saturating_sub(offset), "LOGIN7 FeatureExt")?;
            decode_feature_requests(&mut Reader::new_complete(block))?
        } else {
            Vec::new()
        };
        Ok(Self {
            tds_version_number,
            packet_size_bytes,
            client_program_version,
            client_pid,
            connection_id,
            option_flags1,
            option_flags2,
            type_flags,
            option_flags3,
            client_time_zone,
            client_lcid,
            host_name,
            user_name,
            password,
            app_name,
            server_name,
            client_interface_name,
            language,
            database,
            client_id,
            sspi,
            attach_db_file,
            change_password,
            features,
        })
    }
}

/// Returns true for the versions whose fixed part is the short one.
fn is_old(tds_version_number: u32) -> bool {
    TdsVersion::from_login(tds_version_number).is_some_and(|version| version < TdsVersion::V7_2)
}

/// Offset and length entries in the fixed part, and the data that they point to.
struct Fields {
    w: Writer,
    data: Vec<u8>,
    fixed_len: usize,
}

impl Fields {
    fn place(&mut self, length: usize, field: &'static str) {
        let offset = self.w.length_u16(self.fixed_len + self.data.len(), field);
        self.w.u16(offset);
        let length = self.w.length_u16(length, field);
        self.w.u16(length);
    }

    fn text(&mut self, text: &str, field: &'static str) {
        let utf16 = utf16_bytes(text);
        self.place(utf16.len() / 2, field);
        self.data.extend_from_slice(&utf16);
    }

    fn password(&mut self, password: &Secret<String>, field: &'static str) {
        let mut utf16 = utf16_bytes(password.expose());
        if utf16.len() > usize::from(u16::MAX) {
            let kind = EncodeErrorKind::TooLong { length: utf16.len(), limit: usize::from(u16::MAX) };
            self.w.fail(field, kind);
        }
        obfuscate(&mut utf16);
        self.place(utf16.len() / 2, field);
        self.data.extend_from_slice(&utf16);
    }
}

/// The part of the message that offsets point into.
struct VariablePart<'a> {
    bytes: &'a [u8],
    fixed_len: usize,
}

impl<'a> VariablePart<'a> {
    fn text(&self, r: &mut Reader<'_>, field: &'static str) -> Result<String, DecodeError> {
        let (offset, units) = (usize::from(r.u16(field)?), usize::from(r.u16(field)?));
        let data = self.slice(offset, units * 2, field)?;
        Reader::new_complete(data).utf16(units, field).map_err(|error| at(error, offset))
    }

    fn password(&self, r: &mut Reader<'_>, field: &'static str) -> Result<Secret<String>, DecodeError> {
        let (offset, units) = (usize::from(r.u16(field)?), usize::from(r.u16(field)?));
        let mut data = self.slice(offset, units * 2, field)?.to_vec();
        reveal(&mut data);
        let text = Reader::new_complete(&data).utf16(units, field).map_err(|error| at(error, offset))?;
        Ok(Secret::new(text))
    }

    fn slice(&self, offset: usize, length: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        if length == 0 {
            return Ok(&[]);
        }
        let end = offset.saturating_add(length);
        match self.bytes.get(offset..end) {
            Some(data) if offset >= self.fixed_len => Ok(data),
            _ => {
                let what = format!("{length} bytes at {offset} are not inside the variable part");
                Err(DecodeError::invalid(field, offset, what))
            }
        }
    }
}

fn at(mut error: DecodeError, offset: usize) -> DecodeError {
    error.offset += offset;
    error
}

fn utf16_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Swaps the nibbles of every byte and flips it with A5, as MS-TDS 2.2.6.4 asks. It hides nothing from anyone.
fn obfuscate(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = byte.rotate_left(4) ^ 0xA5;
    }
}

/// Undoes [`obfuscate`].
fn reveal(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = (*byte ^ 0xA5).rotate_left(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_obfuscated_as_published() {
        let mut bytes = utf16_bytes("a");
        obfuscate(&mut bytes);
        assert_eq!(bytes, [0xB3, 0xA5]);
        reveal(&mut bytes);
        assert_eq!(bytes, utf16_bytes("a"));
    }

    #[test]
    fn debug_does_not_show_passwords() {
        let login =
            Login7 { password: "hunter2".into(), change_password: "hunter3".into(), ..Login7::default() };
        let debug = format!("{login:?}");
        assert!(!debug.contains("hunter"), "{debug}");
    }
}
