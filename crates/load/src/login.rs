//! Opens a session: TCP, PRELOGIN, TLS, LOGIN7, and redirection to another server.

use std::time::Instant;

use entra::{EntraError, Identity};
use rustls::ClientConnection;
use sign_in::{Dialogue, PasswordError, SignInError};
use tds::{
    EncryptionOutcome, FeatureRequest, FedAuthRequest, FedAuthToken, Login7, NegotiationError, PacketType,
    Prelogin, ProgramVersion, Routing, ServerMessage, Status, TdsVersion,
    conversation::client::{
        Action, Connecting, Credential, LoginOutcome, LoginProblem, LoginStep, Tls, WantedEncryption,
    },
    feature::feature_id,
    login::{option_flags2, type_flags},
};

use tracing::{error_span, info, warn};

use crate::{
    config::{ApplicationIntent, Auth, Config, Encrypt, Secret, VectorSupport},
    error::{Error, ServerError},
    federated::{self, Wish},
    kerberos, platform,
    session::Session,
    tcp::{self, Deadline, TimedSocket},
    tls::TlsSettings,
    transport::Transport,
};

/// Redirections followed before giving up; a gateway sends a client on once, rarely twice.
const REDIRECTS_MAX: usize = 10;
/// The protocol's numbers for the way to a token: from what an application has, or with a person who signs in.
const WORKFLOW_PASSWORD: u8 = 1;
const WORKFLOW_INTERACTIVE: u8 = 3;
/// Packet sizes asked for: the largest multiples of four that fit the protocol, and a TLS record.
const PACKET_SIZE_CLEAR_BYTES: u16 = 32764;
const PACKET_SIZE_ENCRYPTED_BYTES: u16 = 16380;

/// The thread of PRELOGIN, which servers only note: line ends, so that a service that reads lines answers at once, and not when
/// the time is over.
const LINE_ENDS: u32 = u32::from_le_bytes(*b"\r\n\r\n");
/// Bytes of a foreign answer that an error shows.
const ANSWER_SHOWN: usize = 60;

/// An error after the server was reached and before there is a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server said no.
    #[error("login refused: {0}")]
    Refused(ServerError),
    /// Client and server do not agree on encryption.
    #[error("{source}; {hint}")]
    Encryption {
        /// The reason why the two sides do not fit.
        source: NegotiationError,
        /// Advice for the user.
        hint: &'static str,
    },
    /// A password would have to be sent in the clear, which nobody asked for.
    #[error(
        "the server offers no encryption, and a password is not sent in the clear unless that is asked for: Encrypt=Off"
    )]
    ClearPassword,
    /// An access token would have to be sent in the clear.
    #[error("the server offers no encryption, and an access token is never sent in the clear")]
    ClearToken,
    /// The server speaks a TDS version older than 7.2.
    #[error("the server speaks {version:?}; TDS 7.4 (SQL Server 2012) or later is needed")]
    TooOld {
        /// The version that the server granted.
        version: TdsVersion,
    },
    /// The server neither granted nor refused the login.
    #[error("the server ended the login without an acknowledgement")]
    NoAcknowledgement,
    /// A chain of redirections.
    #[error("redirected more than {REDIRECTS_MAX} times, last to {server}:{port}")]
    TooManyRedirects {
        /// The host of the last redirection.
        server: String,
        /// The port of the last redirection.
        port: u16,
    },
    /// The server did not accept the access token as agreed in PRELOGIN.
    #[error("sign-in with an access token failed: {reason}")]
    FederatedSignIn {
        /// A description of the failure.
        reason: &'static str,
    },
    /// There is no sign-in with a Kerberos ticket.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// There is no password.
    #[error("no password: {0}")]
    Password(#[from] PasswordError),
    /// There is no access token.
    #[error("Microsoft Entra: {0}")]
    Entra(#[from] EntraError),
    /// The server took the ticket and did not show that it can read it, and no certificate says who it is either.
    #[error(
        "the server did not prove who it is: neither by its answer to the Kerberos ticket, nor by a certificate"
    )]
    Unproven,
}

/// The facts about a server that are known after login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Program name, `Microsoft SQL Server` for the real one.
    pub program: String,
    /// Major, minor and build number.
    pub version: (u8, u8, u16),
    /// Protocol version in use.
    pub tds_version: TdsVersion,
    /// The encrypted part of the session.
    pub encryption: Encryption,
    /// Packet size granted, header included.
    pub packet_size_bytes: usize,
    /// True if varchar columns may be UTF-8.
    pub utf8: bool,
    /// The version of vectors that the server granted: 2 for all, 1 for those of float32, 0 for none.
    pub vectors: u8,
    /// Host and port of the server that holds the session, after routing.
    pub address: (String, u16),
    /// Messages that came with the login.
    pub messages: Vec<ServerMessage>,
}

/// The part of a session that is inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing.
    None,
    /// Only the login.
    LoginOnly,
    /// Everything.
    Full,
    /// Everything, from the first byte (TDS 8.0).
    Strict,
}

/// Connects and logs in.
pub(crate) fn connect(config: &Config) -> Result<(Session, ServerInfo), Error> {
    // A command may wait for a person, so it comes before the clock is started.
    let password = match &config.auth {
        Auth::SqlLogin { user, password } => Some(password.obtain(user).map_err(LoginError::Password)?),
        _ => None,
    };
    let mut deadline = Deadline::after(config.connect_timeout);
    let port = match (&config.instance, config.port) {
        (Some(instance), None) => {
            let patience = deadline.remaining(&config.host)?;
            tcp::instance_port(&config.host, instance, patience).map_err(tcp::ConnectError::from)?
        }
        _ => config.port_or_default(),
    };
    let mut place = Place {
        host: config.host.clone(),
        port,
        server: config.host.clone(),
        spn: config.server_spn.clone(),
        database: config.database.clone(),
    };
    let mut gateway: Option<String> = None;
    for _ in 0..=REDIRECTS_MAX {
        let span =
            error_span!("connection", server = place.host, port = place.port, database = place.database);
        let outcome = span.in_scope(|| Attempt::open(config, &place, password.as_ref(), deadline)?.log_in());
        let outcome = outcome.map_err(|error| match error {
            // The limit that has passed has a name, which the wait does not know.
            Error::TimedOut { .. } => deadline.passed(&place.host).into(),
            error => error,
        });
        let outcome = outcome.map_err(|error| match (error, &gateway) {
            (Error::Connect(error), Some(gateway)) => error.redirected_by(gateway).into(),
            (error, _) => error,
        });
        let _entered = span.enter();
        match outcome.inspect_err(|error| warn!(%error, "no session"))? {
            Outcome::Ready(session, info) => {
                let ServerInfo { encryption, packet_size_bytes, program, .. } = &info;
                info!(?encryption, packet_size_bytes, program, "connected");
                return Ok((*session, info));
            }
            Outcome::PersonAwaited(identity, token_place) => {
                federated::wait_for_person(config, &identity, &token_place).map_err(LoginError::Entra)?;
                deadline = Deadline::after(config.connect_timeout);
            }
            Outcome::Routed(routing) => {
                info!(server = routing.server, port = routing.port, "redirected");
                gateway = Some(format!("{}:{}", place.host, place.port));
                place = place.routed(routing);
            }
        }
    }
    Err(LoginError::TooManyRedirects { server: place.host, port: place.port }.into())
}

/// The server to log in to.
#[derive(Debug)]
struct Place {
    host: String,
    port: u16,
    /// The name for LOGIN7, which may carry an instance.
    server: String,
    /// The service principal name, if it is not that of host and port.
    spn: Option<String>,
    database: Option<String>,
}

impl Place {
    fn routed(self, routing: Routing) -> Self {
        let host = routing.server.split('\\').next().unwrap_or_default().to_owned();
        Self {
            host,
            port: routing.port,
            server: routing.server,
            spn: None,
            database: routing.database.or(self.database),
        }
    }
}

enum Outcome {
    Ready(Box<Session>, ServerInfo),
    Routed(Routing),
    /// Connect again when a person has signed in.
    PersonAwaited(Box<Identity>, entra::Place),
}

struct Attempt<'a> {
    config: &'a Config,
    place: &'a Place,
    /// The password of a SQL login.
    password: Option<&'a Secret>,
    deadline: Deadline,
    transport: Transport,
    /// The other side of a sign-in with a ticket.
    sign_in: Option<Dialogue>,
    /// The channel binding, which ties the login to the TLS session.
    binding: Option<Vec<u8>>,
}

impl<'a> Attempt<'a> {
    fn open(
        config: &'a Config,
        place: &'a Place,
        password: Option<&'a Secret>,
        deadline: Deadline,
    ) -> Result<Self, Error> {
        let stream = tcp::connect(&place.host, place.port, config.multi_subnet_failover, deadline)?;
        let left = deadline.remaining(&place.host)?;
        let mut transport = Transport::new(stream);
        transport.set_silence(left).map_err(|source| Error::io("connecting", source))?;
        transport.set_deadline(left.map(|left| Instant::now() + left));
        Ok(Self { config, place, password, deadline, transport, sign_in: None, binding: None })
    }

    /// Logs in on the connected socket, or follows a redirection to another server.
    fn log_in(mut self) -> Result<Outcome, Error> {
        let (wanted, credential) = (wanted(self.config), credential(&self.config.auth));
        let question = Prelogin {
            version: program_version(),
            instance: Some(
                self.config.instance.as_deref().map(str::as_bytes).map_or_else(Vec::new, Vec::from),
            ),
            thread_id: Some(tds::OptionData::Value(LINE_ENDS)),
            ..Prelogin::default()
        };
        let mut connecting = Connecting::new(wanted, credential, question);
        let mut encryption = Encryption::None;
        loop {
            match connecting.next_action()? {
                Action::EstablishTls(tls) => {
                    let settings = TlsSettings::new(self.config, &self.place.host)?;
                    self.limit_handshake()?;
                    let mut socket = TimedSocket::new(self.transport.socket(), self.deadline);
                    let connection = match (&self.config.auth, tls) {
                        (Auth::Integrated { .. }, tls) => {
                            let (connection, binding) = settings.handshake_bound(tls, &mut socket)?;
                            self.binding = binding;
                            connection
                        }
                        (_, Tls::First) => settings.handshake_strict(&mut socket)?,
                        (_, Tls::Wrapped) => settings.handshake_wrapped(&mut socket)?,
                    };
                    self.start_tls(connection)?;
                    connecting.tls_established();
                }
                Action::AskPrelogin(question) => {
                    self.transport.send(PacketType::Prelogin, Status::NORMAL, &question)?;
                    let answer = self.prelogin_answer()?;
                    self.transport.finish_request();
                    let agreed = connecting.prelogin_answered(&answer);
                    agreed.map_err(|error| Error::conversation("PRELOGIN", error))??;
                }
                Action::LogIn(outcome) => {
                    self.deadline.remaining(&self.place.host)?;
                    encryption = match outcome {
                        _ if wanted == WantedEncryption::Strict => Encryption::Strict,
                        EncryptionOutcome::None => Encryption::None,
                        EncryptionOutcome::LoginOnly => Encryption::LoginOnly,
                        EncryptionOutcome::Full => Encryption::Full,
                    };
                    let mut login = self.login_message(encryption, connecting.prelogin_answer());
                    self.begin_sign_in(&mut login)?;
                    let payload = connecting.log_in(&login)?;
                    self.transport.send(PacketType::Login7, Status::NORMAL, &payload)?;
                }
                Action::LeaveTls => self.transport.stop_tls(),
                Action::ReadLoginAnswer => return self.read_answer(connecting, encryption),
            }
        }
    }

    /// Waits for the answer to PRELOGIN, the first that shows which protocol is spoken here.
    fn prelogin_answer(&mut self) -> Result<Vec<u8>, Error> {
        let (host, port) = (self.place.host.clone(), self.place.port);
        let mut answer = Vec::new();
        loop {
            let error = match self.transport.receive(&mut answer, "waiting for the PRELOGIN answer") {
                Ok(true) => return Ok(answer),
                Ok(false) => continue,
                Err(error) => error,
            };
            let foreign = self.transport.unread();
            let is_foreign = matches!(error, Error::Protocol { .. } | Error::Unexpected { .. });
            return Err(match error {
                Error::TimedOut { .. } if foreign.is_empty() => {
                    self.deadline.passed_in_silence(&host, port).into()
                }
                _ if is_foreign && !foreign.is_empty() => {
                    tcp::ConnectError::OtherProtocol { host, port, answer: shown(foreign) }.into()
                }
                error => error,
            });
        }
    }

    /// Limits the handshake on the bare socket to the time that is left.
    fn limit_handshake(&mut self) -> Result<(), Error> {
        let left = self.deadline.remaining(&self.place.host)?;
        self.transport.limit_socket(left).map_err(|source| Error::io("connecting", source))
    }

    fn start_tls(&mut self, connection: ClientConnection) -> Result<(), Error> {
        self.transport.start_tls(connection);
        let left = self.deadline.remaining(&self.place.host)?;
        self.transport.set_silence(left).map_err(|source| Error::io("connecting", source))
    }

    /// Reads the answer to LOGIN7.
    fn read_answer(self, mut connecting: Connecting, encryption: Encryption) -> Result<Outcome, Error> {
        let packet_size_asked_bytes = self.packet_size_asked_bytes(encryption);
        let (config, place, deadline, mut sign_in) = (self.config, self.place, self.deadline, self.sign_in);
        let nonce = connecting.prelogin_answer().nonce;
        let mut token_place = None;
        let is_verified = encryption != Encryption::None && !self.config.trust_server_certificate;
        let mut session = Session::new(self.transport, login_version(encryption));
        session.logs_in_until(deadline.remaining(&place.host)?.map(|left| Instant::now() + left));
        loop {
            session.expect_answer();
            while let Some(token) = session.next_token("waiting for the login answer")? {
                connecting.login_token(token)?;
            }
            if let Some(refusal) = session.take_errors() {
                if let (Auth::Entra(identity), Some(place)) = (&config.auth, &token_place) {
                    entra::forget(identity, place);
                }
                return Err(LoginError::Refused(refusal).into());
            }
            let step = connecting.login_answered()?;
            if let (LoginStep::AccessToken(info), Auth::Entra(identity)) = (&step, &config.auth) {
                let end = deadline.remaining(&place.host)?.map(|left| Instant::now() + left);
                match federated::answer(config, identity, info, end).map_err(LoginError::Entra)? {
                    Wish::Granted(place, token) => {
                        let message = FedAuthToken::new(token.expose(), nonce).encode()?;
                        session.transport.send(PacketType::FedAuthToken, Status::NORMAL, &message)?;
                        token_place = Some(place);
                    }
                    Wish::Postponed(place) => {
                        return Ok(Outcome::PersonAwaited(Box::new(identity.clone()), place));
                    }
                }
                continue;
            }
            let (LoginStep::Reply(token) | LoginStep::Decided(Some(token))) = &step else { break };
            let Some(sign_in) = &mut sign_in else { break };
            let reply = sign_in.step(token, deadline.remaining(&place.host)?).map_err(LoginError::SignIn)?;
            match step {
                LoginStep::Reply(_) if reply.token.is_empty() => {}
                LoginStep::Reply(_) => {
                    session.transport.send(PacketType::Sspi, Status::NORMAL, &reply.token)?;
                }
                LoginStep::Decided(_) | LoginStep::AccessToken(_) => break,
            }
        }
        let (ack, features) = match connecting.outcome()? {
            LoginOutcome::Routed(routing) => return Ok(Outcome::Routed(routing)),
            LoginOutcome::Granted { ack, features } => (ack, features),
        };
        if sign_in.is_some_and(|sign_in| !sign_in.is_done()) && !is_verified {
            return Err(LoginError::Unproven.into());
        }
        session.logged_in(ack.version, self.config.command_timeout, packet_size_asked_bytes)?;
        let [major, minor, build_high, build_low] = ack.program_version;
        let info = ServerInfo {
            program: ack.program_name.trim_end_matches('\0').to_owned(),
            version: (major, minor, u16::from_be_bytes([build_high, build_low])),
            tds_version: ack.version,
            encryption,
            packet_size_bytes: session.transport.packet_size().bytes(),
            utf8: features.iter().any(|f| f.id == feature_id::UTF8_SUPPORT && f.data.first() == Some(&1)),
            vectors: features
                .iter()
                .find(|feature| feature.id == feature_id::VECTOR_SUPPORT)
                .and_then(|feature| feature.data.first().copied())
                .unwrap_or(0)
                .min(self.config.vectors.version()),
            address: (place.host.clone(), place.port),
            messages: session.take_messages(),
        };
        Ok(Outcome::Ready(Box::new(session), info))
    }

    /// Gets a ticket for the server and puts the first token into the login.
    fn begin_sign_in(&mut self, login: &mut Login7) -> Result<(), Error> {
        let Auth::Integrated { principal } = &self.config.auth else { return Ok(()) };
        let Place { host, port, spn, .. } = self.place;
        let left = self.deadline.remaining(host)?;
        let names = (spn.as_deref(), principal.as_deref());
        let (dialogue, token) = kerberos::begin((host, *port), names, self.binding.as_deref(), left)
            .map_err(LoginError::SignIn)?;
        login.option_flags2 |= option_flags2::INTEGRATED_SECURITY;
        login.sspi = token;
        self.sign_in = Some(dialogue);
        Ok(())
    }

    fn packet_size_asked_bytes(&self, encryption: Encryption) -> u16 {
        let full = matches!(encryption, Encryption::Full | Encryption::Strict);
        let limit = if full { PACKET_SIZE_ENCRYPTED_BYTES } else { PACKET_SIZE_CLEAR_BYTES };
        self.config.packet_size_bytes.unwrap_or(limit).min(if full { limit } else { u16::MAX })
    }

    fn login_message(&self, encryption: Encryption, prelogin: &Prelogin) -> Login7 {
        let config = self.config;
        let packet_size = self.packet_size_asked_bytes(encryption);
        let version = login_version(encryption);
        let ProgramVersion { major, minor, build, .. } = program_version();
        let [build_high, build_low] = build.to_be_bytes();
        let mut login = Login7 {
            tds_version_number: version.to_login(),
            packet_size_bytes: packet_size.into(),
            client_program_version: u32::from_be_bytes([major, minor, build_high, build_low]),
            client_pid: std::process::id(),
            host_name: limited(config.workstation_id.clone().unwrap_or_else(platform::machine_name)),
            app_name: limited(config.application_name.clone()),
            server_name: limited(self.place.server.clone()),
            client_interface_name: "bulkwire".to_owned(),
            language: config.language.clone().unwrap_or_default(),
            database: self.place.database.clone().unwrap_or_default(),
            features: vec![FeatureRequest::Utf8Support],
            ..Login7::default()
        };
        if config.vectors != VectorSupport::Off {
            login.features.push(FeatureRequest::VectorSupport(config.vectors.version()));
        }
        if config.application_intent == ApplicationIntent::ReadOnly {
            login.type_flags |= type_flags::READ_ONLY_INTENT;
        }
        match &config.auth {
            Auth::SqlLogin { user, .. } => {
                login.user_name.clone_from(user);
                login.password = self.password.map_or("", Secret::expose).into();
            }
            Auth::Entra(identity) => {
                let echo = prelogin.fed_auth_required == Some(true);
                let workflow = if identity.needs_person() { WORKFLOW_INTERACTIVE } else { WORKFLOW_PASSWORD };
                login.features.insert(0, FeatureRequest::FedAuth(FedAuthRequest::Adal { echo, workflow }));
            }
            Auth::AccessToken(token) => {
                let echo = prelogin.fed_auth_required == Some(true);
                let mut request = FedAuthRequest::with_access_token(token.expose(), echo);
                if let FedAuthRequest::SecurityToken { nonce, .. } = &mut request {
                    *nonce = prelogin.nonce;
                }
                login.features.insert(0, FeatureRequest::FedAuth(request));
            }
            // Its token comes when the server is known: `begin_sign_in`.
            Auth::Integrated { .. } => {}
        }
        login
    }
}

/// Returns the version that LOGIN7 asks for.
fn login_version(encryption: Encryption) -> TdsVersion {
    if encryption == Encryption::Strict { TdsVersion::V8_0 } else { TdsVersion::V7_4 }
}

fn wanted(config: &Config) -> WantedEncryption {
    match config.encrypt {
        Encrypt::Off => WantedEncryption::None,
        // A token that is asked for goes after the login, so that the encryption must not end there. A session of a token that was
        // given is encrypted as well: the way of the token decides nothing.
        Encrypt::Login if matches!(config.auth, Auth::Entra(_) | Auth::AccessToken(_)) => {
            WantedEncryption::Full
        }
        Encrypt::Login => WantedEncryption::Login,
        Encrypt::Required => WantedEncryption::Full,
        Encrypt::Strict => WantedEncryption::Strict,
    }
}

fn credential(auth: &Auth) -> Credential {
    match auth {
        Auth::SqlLogin { .. } => Credential::Password,
        Auth::AccessToken(_) => Credential::Token,
        Auth::Entra(_) => Credential::Federated,
        Auth::Integrated { .. } => Credential::Integrated,
    }
}

impl From<LoginProblem> for Error {
    fn from(problem: LoginProblem) -> Self {
        Self::from(match problem {
            LoginProblem::Encryption(source) => LoginError::Encryption {
                source,
                hint: match source {
                    NegotiationError::ServerCannotEncrypt => "to go without, ask for it: Encrypt=Off",
                    NegotiationError::ServerRequires => "use Encrypt=Mandatory",
                    _ => "is this a SQL Server?",
                },
            },
            LoginProblem::ClearPassword => LoginError::ClearPassword,
            LoginProblem::ClearToken => LoginError::ClearToken,
            LoginProblem::TooOld { version } => LoginError::TooOld { version },
            LoginProblem::NoAcknowledgement => LoginError::NoAcknowledgement,
            LoginProblem::FederatedSignIn { reason } => LoginError::FederatedSignIn { reason },
            LoginProblem::Unexpected { what } => return Self::unexpected("logging in", what),
        })
    }
}

/// Shows the beginning of a foreign answer: its first line if it is text, else its bytes.
fn shown(answer: &[u8]) -> String {
    let line = answer.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let line = line.get(..ANSWER_SHOWN.min(line.len())).unwrap_or_default();
    let is_text = !line.is_empty() && line.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    match is_text {
        true => format!("it answers \"{}\"", String::from_utf8_lossy(line)),
        false => {
            let bytes = answer.iter().take(8).map(|byte| format!("{byte:02X}")).collect::<Vec<_>>();
            format!("its answer begins with the bytes {}", bytes.join(" "))
        }
    }
}

/// Cuts a name to the 128 characters that LOGIN7 holds; these three only inform.
fn limited(name: String) -> String {
    name.chars().take(128).collect()
}

fn program_version() -> ProgramVersion {
    let part = |text: &str| text.parse::<u8>().unwrap_or_default();
    let (major, minor) = (part(env!("CARGO_PKG_VERSION_MAJOR")), part(env!("CARGO_PKG_VERSION_MINOR")));
    ProgramVersion { major, minor, build: part(env!("CARGO_PKG_VERSION_PATCH")).into(), sub_build: 0 }
}
