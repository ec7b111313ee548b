//! The handshake: from an accepted socket to a logged-in session.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use databases::instance::Instance;
use databases::instance::counts::LoginRefusal;
use databases::instance::login::{ClientConnection, LoginSettings};
use databases::log;
use executor::session::Session;
use executor::statements::open_session;
use query::Language;
use tds::conversation::server::{
    AfterPrelogin, Conversation, Event, Offer, granted_packet_size, spoken_version,
};
use tds::feature::FeatureRequest;
use tds::fed_auth::FedAuthRequest;
use tds::login::{Login7, option_flags1, option_flags2};
use tds::packet::PACKET_SIZE_INITIAL_BYTES;
use tds::prelogin::EncryptionPolicy as Offered;
use tds::token::Token;
use tds::version::TdsVersion;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tracing::{Span, info, warn};
use tsql::SqlError;

use crate::connection::ConnectionError;
use crate::connection::access_token;
use crate::connection::faulty;
use crate::connection::faulty::{Course, FaultyLine, Loss};
use crate::connection::login_reply;
use crate::connection::packet_reader::PacketReader;
use crate::connection::request_log;
use crate::connection::response_writer::ResponseWriter;
use crate::connection::sign_in;
use crate::options::EncryptionPolicy;
use crate::serving::Front;
use crate::transport::{Broken, Line, Transport};

/// A logged-in connection.
pub(crate) struct Connection {
    pub transport: Transport,
    pub conversation: Conversation,
    pub session: Session,
    pub version: TdsVersion,
    /// The version of vectors that the client knows.
    pub vectors: u8,
    pub packet_size_bytes: usize,
    pub spid: u16,
    pub broken: Broken,
    pub faults: Option<FaultyLine>,
}

/// Opens a connection; `None` if the client left before it asked for anything. Without an instance every login is refused.
pub(super) async fn open(
    socket: TcpStream,
    shared: &Front,
    instance: Option<&Arc<Instance>>,
    spid: u16,
) -> Result<Option<Connection>, ConnectionError> {
    let ends = (socket.peer_addr()?, socket.local_addr()?);
    let mut conversation = Conversation::new(offer(shared), shared.options.limits.message_bytes);
    let mut first = [0];
    // TLS that comes first reads its own bytes: they are looked at, and left where they are.
    let seen = socket.peek(&mut first).await?;
    let first = first.get(..seen).unwrap_or_default();
    let (line, broken, faults) = match &shared.faults {
        None => {
            let (line, broken) = Line::new(socket, &shared.counts, None);
            (line, broken, None)
        }
        Some(faults) => {
            let (line, broken, faults) = FaultyLine::open(socket, &shared.counts, faults, spid);
            (line, broken, Some(faults))
        }
    };
    // Only tickets are bound to a session.
    let binds = shared.options.kerberos.is_some();
    let mut binding = None;
    let transport = match (conversation.next(first)?.event, &shared.identity) {
        (Event::TlsFirst, Some(identity)) => {
            let (transport, bound) = Transport::accept_strict(line, identity, binds).await?;
            binding = bound;
            conversation.tls_established();
            transport
        }
        _ if seen == 0 => return Ok(None),
        _ => Transport::Clear(line),
    };
    let mut reader = PacketReader::new(transport, conversation);
    let Some((Event::Prelogin, _)) = reader.event().await? else { return Ok(None) };
    let (mut transport, mut conversation) = reader.into_parts();
    let answer = conversation.answer_prelogin(login_reply::PROGRAM_VERSION)?;
    transport.write_all(&answer.packets).await?;
    transport.flush().await?;
    let transport = match (answer.next?, transport, &shared.identity) {
        (AfterPrelogin::Tls { login_only }, Transport::Clear(line), Some(identity)) => {
            let (transport, bound) = Transport::accept_wrapped(line, identity, login_only, binds).await?;
            binding = bound;
            conversation.tls_established();
            transport
        }
        (_, transport, _) => transport,
    };
    let mut reader = PacketReader::new(transport, conversation);
    let Some((Event::Login { login, leave_tls }, _)) = reader.event().await? else { return Ok(None) };
    let (mut transport, conversation) = reader.into_parts();
    let login_was_encrypted = transport.is_encrypted();
    if leave_tls {
        transport = transport.into_clear();
    }
    if shared.options.log_requests {
        request_log::login(spid, &login, transport.is_encrypted());
    }
    let peer = Peer { ends, spid, login_was_encrypted, binding, broken, faults };
    log_in(transport, conversation, *login, shared, instance, peer).await
}

/// Returns the encryption and sign-in that clients are offered before they log in.
fn offer(shared: &Front) -> Offer {
    let strict_only = shared.options.encryption == EncryptionPolicy::Strict;
    let encryption = match (&shared.identity, shared.options.encryption) {
        (None, _) => Offered::Unavailable,
        (Some(_), EncryptionPolicy::Optional) => Offered::Available,
        (Some(_), EncryptionPolicy::Required | EncryptionPolicy::Strict) => Offered::Required,
    };
    Offer { encryption, strict_only, access_tokens: shared.verifier.is_some() }
}

/// The client at the other end.
struct Peer {
    /// The client's end and the server's.
    ends: (SocketAddr, SocketAddr),
    spid: u16,
    /// True if LOGIN7 was encrypted; the packets after it may be in the clear.
    login_was_encrypted: bool,
    /// The channel binding, which ties a ticket to the TLS session.
    binding: Option<Vec<u8>>,
    broken: Broken,
    faults: Option<FaultyLine>,
}

/// The proof of identity that a client offers.
#[derive(Clone, Copy)]
enum Proof<'a> {
    Password,
    Ticket,
    Token(&'a FedAuthRequest),
}

impl<'a> Proof<'a> {
    fn of(login: &'a Login7) -> Self {
        let token = login.features.iter().find_map(|feature| match feature {
            FeatureRequest::FedAuth(request) => Some(request),
            _ => None,
        });
        match token {
            _ if login.option_flags2 & option_flags2::INTEGRATED_SECURITY != 0 => Self::Ticket,
            Some(request) => Self::Token(request),
            None => Self::Password,
        }
    }

    /// Returns the name of the proof in `sys.dm_exec_connections.auth_scheme`.
    fn scheme(self) -> &'static str {
        match self {
            Self::Password => "SQL",
            Self::Ticket => "KERBEROS",
            Self::Token(_) => "AAD",
        }
    }
}

/// The identity that a client claims, after its check.
enum Claim {
    /// The client is this user. The token goes before the answer to the login.
    Proven { user: String, token: Vec<u8> },
    /// The client is not who it claims to be, or may not log in.
    Wrong { user: String, error: SqlError },
    /// The client left before it was known.
    Withdrawn,
}

impl Claim {
    fn wrong(user: String, proof: Proof<'_>) -> Self {
        // Only the token says whose it is.
        let user = match proof {
            Proof::Token(_) => "<token-identified principal>".to_owned(),
            Proof::Ticket | Proof::Password => user,
        };
        let error = match proof {
            Proof::Ticket => SqlError::new(
                18452,
                14,
                1,
                "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.",
            ),
            Proof::Token(_) | Proof::Password => login_reply::login_failed(&user),
        };
        Self::Wrong { user, error }
    }
}

/// Compares name and password.
fn password(login: &Login7, shared: &Front) -> Claim {
    let known = login.user_name.eq_ignore_ascii_case(&shared.options.user);
    match shared.options.password.matches(login.password.expose()) && known {
        true => Claim::Proven { user: shared.options.user.clone(), token: Vec::new() },
        false => Claim::wrong(login.user_name.clone(), Proof::Password),
    }
}

/// Has a Kerberos ticket checked.
async fn ticket(
    transport: &mut Transport,
    conversation: Conversation,
    login: &Login7,
    binding: Option<Vec<u8>>,
    shared: &Front,
    claimed: (TdsVersion, u16),
) -> Result<(Conversation, Claim), ConnectionError> {
    let Some(kerberos) = &shared.options.kerberos else {
        return Ok((conversation, Claim::wrong(String::new(), Proof::Ticket)));
    };
    let limit = shared.options.limits.login_timeout;
    let token = login.sspi.clone();
    let (conversation, outcome) =
        sign_in::accept(transport, conversation, token, kerberos, binding, limit, claimed).await?;
    let claim = match outcome {
        sign_in::Outcome::Known { principal, token } if kerberos.trusts(&principal) => {
            Claim::Proven { user: principal, token }
        }
        sign_in::Outcome::Known { principal, .. } => {
            Claim::Wrong { error: login_reply::login_failed(&principal), user: principal }
        }
        sign_in::Outcome::Unknown(error) => {
            // The client learns no more than that it is not known here.
            warn!(%error, "no sign-in");
            log::line(format!("[{}] {error}", claimed.1));
            Claim::wrong(String::new(), Proof::Ticket)
        }
        sign_in::Outcome::Left => Claim::Withdrawn,
    };
    Ok((conversation, claim))
}

/// Has an access token checked.
async fn token(
    transport: &mut Transport,
    conversation: Conversation,
    request: &FedAuthRequest,
    login_was_encrypted: bool,
    shared: &Front,
    claimed: (TdsVersion, u16),
) -> Result<(Conversation, Claim), ConnectionError> {
    let refused = || Claim::wrong(String::new(), Proof::Token(request));
    let (Some(settings), Some(verifier)) = (&shared.options.entra, &shared.verifier) else {
        return Ok((conversation, refused()));
    };
    let keys = (settings, verifier);
    let (conversation, outcome) =
        access_token::accept(transport, conversation, request, login_was_encrypted, keys, claimed).await?;
    let claim = match outcome {
        access_token::Outcome::Known(user) if settings.trusts(&user) => {
            Claim::Proven { user, token: Vec::new() }
        }
        access_token::Outcome::Known(user) => Claim::Wrong { error: login_reply::login_failed(&user), user },
        access_token::Outcome::Unknown(reason) => {
            // The client learns no more than that it is not known here.
            warn!(reason, "no sign-in");
            log::line(format!("[{}] {reason}", claimed.1));
            refused()
        }
        access_token::Outcome::Left => Claim::Withdrawn,
    };
    Ok((conversation, claim))
}

/// Returns a client's connection as the management views show it.
fn client_connection(
    login: &Login7,
    auth_scheme: &'static str,
    packet_size_bytes: u32,
    ends: (SocketAddr, SocketAddr),
) -> ClientConnection {
    let library = &login.client_interface_name;
    ClientConnection {
        process_id: Some(login.client_pid),
        tds_major: Some(7),
        protocol_version: login.tds_version_number,
        library: (!library.is_empty()).then(|| library.clone()),
        auth_scheme,
        packet_size_bytes,
        language: login_reply::language(&login.language).unwrap_or(Language::ENGLISH),
        ends: Some(ends),
    }
}

/// Checks who it is, and answers LOGIN7.
async fn log_in(
    mut transport: Transport,
    mut conversation: Conversation,
    login: Login7,
    shared: &Front,
    instance: Option<&Arc<Instance>>,
    Peer { ends, spid, login_was_encrypted, binding, broken, mut faults }: Peer,
) -> Result<Option<Connection>, ConnectionError> {
    let address = ends.0.ip();
    let is_encrypted = transport.is_encrypted();
    let packet_size = granted_packet_size(login.packet_size_bytes, is_encrypted);
    let version = spoken_version(&login)?;
    if let Some(faults) = &mut faults
        && let Course::NotDone(loss) | Course::Unanswered(loss) =
            faults.login(&login.app_name, &login.user_name).await
    {
        match loss {
            Loss::Cut(ending) => faults.cut(ending),
            Loss::Silence => faulty::pass_over(&mut transport).await,
            Loss::Error(failure) => {
                let error = failure.error(spid, &login.database);
                let mut writer = ResponseWriter::new(&mut transport, PACKET_SIZE_INITIAL_BYTES, spid);
                login_reply::failed(&mut writer, version, &login.user_name, error)?;
                writer.finish().await?;
                transport.shutdown().await?;
            }
        }
        return Ok(None);
    }
    let proof = Proof::of(&login);
    let proof_scheme = proof.scheme();
    let claimed = (version, spid);
    let claim = match shared.guesses.turn(address, Instant::now()) {
        Some(wait) => {
            if !wait.is_zero() {
                sleep(wait).await;
            }
            match proof {
                Proof::Ticket => {
                    let (same, claim) =
                        ticket(&mut transport, conversation, &login, binding, shared, claimed).await?;
                    conversation = same;
                    claim
                }
                Proof::Token(request) => {
                    let (same, claim) =
                        token(&mut transport, conversation, request, login_was_encrypted, shared, claimed)
                            .await?;
                    conversation = same;
                    claim
                }
                Proof::Password => password(&login, shared),
            }
        }
        None => Claim::wrong(login.user_name.clone(), proof),
    };
    let mut writer = ResponseWriter::new(&mut transport, PACKET_SIZE_INITIAL_BYTES, spid);
    let user = match claim {
        Claim::Proven { user, token } => {
            shared.guesses.succeeded(address);
            // A message of its own: Microsoft's ODBC driver passes over what follows the token in the same one.
            if !token.is_empty() {
                writer.tokens(|w| Token::Sspi(token).encode(w, version))?;
                writer.finish().await?;
            }
            user
        }
        Claim::Wrong { user, error } => {
            shared.guesses.failed(address, Instant::now());
            shared.counts.logins_refused(LoginRefusal::Credentials).add(1);
            shared.counts.note_error(error.class);
            sleep(shared.options.limits.failed_login_delay).await;
            login_reply::failed(&mut writer, version, &user, error)?;
            writer.finish().await?;
            transport.shutdown().await?;
            warn!(user, "login refused");
            request_log::refused(spid, address, &user, "");
            return Err(ConnectionError::LoginRefused(user));
        }
        Claim::Withdrawn => return Ok(None),
    };
    let settings = LoginSettings {
        database: login.database.clone(),
        user: user.clone(),
        application: login.app_name.clone(),
        host: login.host_name.clone(),
        spid,
        ansi_defaults: login_reply::asks_for_odbc(&login),
        is_encrypted,
        client: client_connection(&login, proof_scheme, packet_size, ends),
    };
    let mut warning = None;
    let is_fatal = login.option_flags2 & option_flags2::INIT_LANG_FATAL != 0;
    let opened = match instance {
        Some(_) if is_fatal && login_reply::language(&login.language).is_none() => {
            Err(SqlError::unsupported(&format!("The language '{}'", login.language)))
        }
        Some(instance) => match open_session(Arc::clone(instance), settings.clone()) {
            // The client would rather be in another database than not at all. One that asks to hear of USE is refused: Go's driver
            // sets that bit alone, and its users know 4060 as the end of a login.
            Err(error)
                if error.number == login_reply::NO_DATABASE
                    && login.option_flags1 & (option_flags1::INIT_DB_FATAL | option_flags1::USE_DB) == 0 =>
            {
                warning = Some(error);
                open_session(Arc::clone(instance), LoginSettings { database: String::new(), ..settings })
            }
            opened => opened,
        },
        None => Err(SqlError::being_recovered(&login.database)),
    };
    let session = match opened {
        Ok(mut session) => {
            session.take_page_rows();
            session
        }
        Err(error) => {
            let refusal = instance.map_or(LoginRefusal::Recovering, |_| LoginRefusal::Database);
            shared.counts.logins_refused(refusal).add(1);
            shared.counts.note_error(error.class);
            let why = format!(": {}", error.message);
            login_reply::refused(&mut writer, version, &user, Some(error))?;
            writer.finish().await?;
            transport.shutdown().await?;
            warn!(user, database = login.database, "login refused");
            request_log::refused(spid, address, &user, &why);
            return Err(ConnectionError::LoginRefused(format!("database {:?}", login.database)));
        }
    };
    login_reply::accepted(&mut writer, &login, version, &session, packet_size, warning)?;
    writer.finish().await?;
    conversation.logged_in();
    shared.counts.logins.add(1);
    let span = Span::current();
    span.record("user", user.as_str());
    span.record("database", session.database());
    span.record("application", login.app_name.as_str());
    info!(library = login.client_interface_name, is_encrypted, packet_size, "login");
    let packet_size_bytes = packet_size as usize;
    Ok(Some(Connection {
        transport,
        conversation,
        session,
        version,
        vectors: login_reply::vector_version(&login),
        packet_size_bytes,
        spid,
        broken,
        faults,
    }))
}
