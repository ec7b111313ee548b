//! From an accepted socket to a logged-in session.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use tds::login::Login7;
use tds::packet::{PACKET_SIZE_INITIAL_BYTES, PacketType};
use tds::prelogin::{
    EncryptionOption, EncryptionOutcome, EncryptionPolicy as Offered, OptionData, Prelogin, ProgramVersion,
    negotiate_server,
};
use tds::version::TdsVersion;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tsql::SqlError;

use super::login_reply;
use super::packet_reader::PacketReader;
use super::response_writer::ResponseWriter;
use super::{ConnectionError, request_log};
use crate::listener::Front;
use crate::options::EncryptionPolicy;
use crate::session::{Instance, LoginSettings, Session};
use crate::transport::Transport;

/// Version that the server gives itself in PRELOGIN and LOGINACK: drivers derive features from it, and 16 is what
/// SQL Server 2022 sends.
pub(super) const PROGRAM_VERSION: ProgramVersion =
    ProgramVersion { major: 16, minor: 0, build: 1000, sub_build: 0 };

/// First byte of a TLS ClientHello: a TDS 8.0 client.
const TLS_HANDSHAKE: u8 = 0x16;
/// Largest message before login.
const LOGIN_MESSAGE_MAX_BYTES: usize = 128 << 10;
/// A TLS record holds 16 KB: a TDS packet within it makes one record.
const PACKET_SIZE_ENCRYPTED_MAX_BYTES: u32 = 16_380;
const PACKET_SIZE_MAX_BYTES: u32 = 32_764;

/// A logged-in connection.
pub(crate) struct Connection {
    pub transport: Transport,
    pub session: Session,
    pub version: TdsVersion,
    pub packet_size_bytes: usize,
    pub spid: u16,
}

/// Opens a connection; `None` if the client left before it asked for anything. Without an instance every login is refused.
pub(super) async fn open(
    socket: TcpStream,
    shared: &Front,
    instance: Option<&Arc<Instance>>,
    spid: u16,
) -> Result<Option<Connection>, ConnectionError> {
    let peer = socket.peer_addr()?.ip();
    let mut first = [0];
    if socket.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    let strict = first == [TLS_HANDSHAKE];
    let transport = match (&shared.identity, strict) {
        (Some(identity), true) => Transport::accept_strict(socket, identity).await?,
        (None, true) => return Err(tds::prelogin::NegotiationError::ServerCannotEncrypt.into()),
        (_, false) if shared.options.encryption == EncryptionPolicy::Strict => {
            return Err(tds::prelogin::NegotiationError::ServerRequires.into());
        }
        (_, false) => Transport::Clear(socket),
    };
    let Some((transport, outcome)) = prelogin(transport, shared, strict).await? else { return Ok(None) };
    let transport = match (outcome, transport, &shared.identity) {
        (EncryptionOutcome::None, transport, _) => transport,
        (outcome, Transport::Clear(socket), Some(identity)) if !strict => {
            Transport::accept_wrapped(socket, identity, outcome == EncryptionOutcome::LoginOnly).await?
        }
        (_, transport, _) => transport,
    };
    let mut reader = PacketReader::new(transport, LOGIN_MESSAGE_MAX_BYTES);
    let Some(message) = reader.message().await? else { return Ok(None) };
    if message.packet_type != PacketType::Login7 {
        return Err(ConnectionError::Unexpected(format!("{:?} before login", message.packet_type).into()));
    }
    let login = Login7::decode(&message.payload)?;
    let mut transport = reader.into_inner()?;
    if outcome == EncryptionOutcome::LoginOnly {
        transport = transport.into_clear();
    }
    if shared.options.log_requests {
        request_log::login(spid, &login, transport.is_encrypted());
    }
    log_in(transport, login, shared, instance, Peer { address: peer, spid }).await.map(Some)
}

/// Who is at the other end.
struct Peer {
    address: IpAddr,
    spid: u16,
}

/// Answers PRELOGIN.
async fn prelogin(
    transport: Transport,
    shared: &Front,
    strict: bool,
) -> Result<Option<(Transport, EncryptionOutcome)>, ConnectionError> {
    let mut reader = PacketReader::new(transport, LOGIN_MESSAGE_MAX_BYTES);
    let Some(message) = reader.message().await? else { return Ok(None) };
    if message.packet_type != PacketType::Prelogin {
        return Err(ConnectionError::Unexpected(format!("{:?} before PRELOGIN", message.packet_type).into()));
    }
    let asked = Prelogin::decode(&message.payload)?;
    let mut transport = reader.into_inner()?;
    let offered = match (&shared.identity, shared.options.encryption) {
        (None, _) => Offered::Unavailable,
        (Some(_), EncryptionPolicy::Optional) => Offered::Available,
        (Some(_), EncryptionPolicy::Required | EncryptionPolicy::Strict) => Offered::Required,
    };
    // Inside TLS the option has no meaning; it is answered because clients want to see it.
    let agreed = match strict {
        true => Ok((EncryptionOption::NotSupported, EncryptionOutcome::Full)),
        false => negotiate_server(offered, asked.encryption.unwrap_or(EncryptionOption::NotSupported)),
    };
    let encryption = agreed.map_or_else(|error| error.server_reply(), |(option, _)| option);
    let reply = Prelogin {
        version: PROGRAM_VERSION,
        encryption: Some(encryption),
        instance: Some(Vec::new()),
        thread_id: Some(OptionData::Empty),
        // FreeTDS falls back to TDS 7.1 if the option is missing.
        mars: Some(false),
        trace_id: asked.trace_id.map(|_| OptionData::Empty),
        fed_auth_required: asked.fed_auth_required.map(|_| false),
        ..Prelogin::default()
    };
    let mut packets = Vec::new();
    tds::packet_framer::PacketFramer::new(PacketType::TabularResult, PACKET_SIZE_INITIAL_BYTES, 0)
        .frame_into(&reply.encode()?, true, &mut packets);
    transport.write_all(&packets).await?;
    transport.flush().await?;
    let (_, outcome) = agreed?;
    Ok(Some((transport, outcome)))
}

/// Checks who it is, and answers LOGIN7.
async fn log_in(
    mut transport: Transport,
    login: Login7,
    shared: &Front,
    instance: Option<&Arc<Instance>>,
    Peer { address, spid }: Peer,
) -> Result<Connection, ConnectionError> {
    let is_encrypted = transport.is_encrypted();
    let packet_size = agreed_packet_size(login.packet_size_bytes, is_encrypted);
    // Before 7.2 the layout of several tokens differs; such clients are refused rather than misread.
    let Some(version) = login.version().filter(|version| version.has_wide_fields()) else {
        return Err(ConnectionError::Unexpected(
            format!("TDS version 0x{:08X}", login.tds_version_number).into(),
        ));
    };
    let mut writer = ResponseWriter::new(&mut transport, PACKET_SIZE_INITIAL_BYTES, spid);
    let right = match shared.guesses.turn(address, Instant::now()) {
        Some(wait) => {
            if !wait.is_zero() {
                sleep(wait).await;
            }
            let known = login.user_name.eq_ignore_ascii_case(&shared.options.user);
            shared.options.password.matches(login.password.expose()) && known
        }
        None => false,
    };
    if right {
        shared.guesses.succeeded(address);
    } else {
        shared.guesses.failed(address, Instant::now());
        sleep(shared.options.limits.failed_login_delay).await;
        login_reply::refused(&mut writer, version, &login.user_name, None)?;
        writer.finish().await?;
        transport.shutdown().await?;
        return Err(ConnectionError::LoginRefused(login.user_name));
    }
    let settings = LoginSettings {
        database: login.database.clone(),
        user: shared.options.user.clone(),
        application: login.app_name.clone(),
        host: login.host_name.clone(),
        spid,
        ansi_defaults: login_reply::asks_for_odbc(&login),
        is_encrypted,
    };
    let opened = match instance {
        Some(instance) => Session::open(Arc::clone(instance), settings),
        None => Err(SqlError::being_recovered(&login.database)),
    };
    let session = match opened {
        Ok(mut session) => {
            session.take_page_rows();
            session
        }
        Err(error) => {
            login_reply::refused(&mut writer, version, &login.user_name, Some(error))?;
            writer.finish().await?;
            transport.shutdown().await?;
            return Err(ConnectionError::LoginRefused(format!("database {:?}", login.database)));
        }
    };
    login_reply::accepted(&mut writer, &login, version, &session, packet_size)?;
    writer.finish().await?;
    Ok(Connection { transport, session, version, packet_size_bytes: packet_size as usize, spid })
}

/// The packet size that the server grants. 0 asks for the server's own.
fn agreed_packet_size(asked: u32, encrypted: bool) -> u32 {
    let largest = if encrypted { PACKET_SIZE_ENCRYPTED_MAX_BYTES } else { PACKET_SIZE_MAX_BYTES };
    let asked = if asked == 0 { PACKET_SIZE_INITIAL_BYTES as u32 } else { asked };
    asked.clamp(tds::packet::PACKET_SIZE_MIN_BYTES as u32, largest) & !3
}
