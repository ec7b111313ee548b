//! From a configuration to a session: TCP, PRELOGIN, TLS, LOGIN7, and routing to another server.

use std::time::Instant;

use rustls::ClientConnection;
use tds::{
    EncryptionOption, EncryptionOutcome, EnvChange, FeatureAck, FeatureRequest, FedAuthRequest, Login7,
    NegotiationError, PacketType, Prelogin, ProgramVersion, Routing, ServerMessage, Status, TdsVersion,
    feature::feature_id,
    login::type_flags,
    negotiate_client,
    token::{LoginAck, Token},
};

use crate::{
    config::{ApplicationIntent, Auth, Config, Encrypt},
    error::{Error, ServerError},
    platform,
    session::{Session, SessionState},
    tcp::{self, Deadline},
    tls::TlsSettings,
    transport::Transport,
};

/// Redirections followed before giving up; a gateway sends a client on once, rarely twice.
const REDIRECTS_MAX: usize = 10;
/// Packet sizes asked for: the largest multiples of four that fit the protocol, and a TLS record.
const PACKET_SIZE_CLEAR_BYTES: u16 = 32764;
const PACKET_SIZE_ENCRYPTED_BYTES: u16 = 16380;

/// Why there is no session although the server was reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server said no.
    #[error("login refused: {0}")]
    Refused(ServerError),
    /// Client and server do not agree on encryption.
    #[error("{source}; {hint}")]
    Encryption {
        /// What does not fit.
        source: NegotiationError,
        /// What the user can do.
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
    /// The server speaks an old TDS.
    #[error("the server speaks {version:?}; TDS 7.4 (SQL Server 2012) or later is needed")]
    TooOld {
        /// What it granted.
        version: TdsVersion,
    },
    /// The server neither granted nor refused.
    #[error("the server ended the login without an acknowledgement")]
    NoAcknowledgement,
    /// A chain of redirections.
    #[error("redirected more than {REDIRECTS_MAX} times, last to {server}:{port}")]
    TooManyRedirects {
        /// Where the last one led.
        server: String,
        /// Its port.
        port: u16,
    },
    /// The access token was not taken as agreed.
    #[error("sign-in with an access token failed: {reason}")]
    FederatedSignIn {
        /// What happened.
        reason: &'static str,
    },
}

/// What is known of a server after login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Program name, `Microsoft SQL Server` for the real one.
    pub program: String,
    /// Major, minor and build number.
    pub version: (u8, u8, u16),
    /// Protocol version in use.
    pub tds_version: TdsVersion,
    /// What is encrypted.
    pub encryption: Encryption,
    /// Packet size granted, header included.
    pub packet_size_bytes: usize,
    /// Whether varchar columns may be UTF-8.
    pub utf8: bool,
    /// Host and port of the server that holds the session, after routing.
    pub address: (String, u16),
    /// Messages that came with the login.
    pub messages: Vec<ServerMessage>,
}

/// What of a session is inside TLS.
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
    let deadline = Deadline::after(config.connect_timeout);
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
        database: config.database.clone(),
    };
    for _ in 0..=REDIRECTS_MAX {
        let mut attempt = Attempt::open(config, &place, deadline)?;
        let encryption = attempt.negotiate()?;
        match attempt.log_in(encryption)? {
            Outcome::Ready(session, info) => return Ok((*session, info)),
            Outcome::Routed(routing) => place = place.routed(routing),
        }
    }
    Err(LoginError::TooManyRedirects { server: place.host, port: place.port }.into())
}

/// Where to log in.
#[derive(Debug)]
struct Place {
    host: String,
    port: u16,
    /// The name for LOGIN7, which may carry an instance.
    server: String,
    database: Option<String>,
}

impl Place {
    fn routed(self, routing: Routing) -> Self {
        let host = routing.server.split('\\').next().unwrap_or_default().to_owned();
        Self {
            host,
            port: routing.port,
            server: routing.server,
            database: routing.database.or(self.database),
        }
    }
}

enum Outcome {
    Ready(Box<Session>, ServerInfo),
    Routed(Routing),
}

struct Attempt<'a> {
    config: &'a Config,
    place: &'a Place,
    deadline: Deadline,
    transport: Transport,
    /// The server's PRELOGIN.
    answer: Prelogin,
}

impl<'a> Attempt<'a> {
    fn open(config: &'a Config, place: &'a Place, deadline: Deadline) -> Result<Self, Error> {
        let stream = tcp::connect(&place.host, place.port, config.multi_subnet_failover, deadline)?;
        let left = deadline.remaining(&place.host)?;
        let mut transport = Transport::new(stream);
        transport.set_silence(left).map_err(|source| Error::io("connecting", source))?;
        transport.set_deadline(left.map(|left| Instant::now() + left));
        Ok(Self { config, place, deadline, transport, answer: Prelogin::default() })
    }

    /// PRELOGIN and TLS.
    fn negotiate(&mut self) -> Result<Encryption, Error> {
        if self.config.encrypt == Encrypt::Strict {
            let settings = TlsSettings::new(self.config, &self.place.host)?;
            self.limit_handshake()?;
            let connection = settings.handshake_strict(&mut self.transport.socket())?;
            self.start_tls(connection)?;
        }
        let asked = match self.config.encrypt {
            Encrypt::Off => EncryptionOption::NotSupported,
            Encrypt::Login => EncryptionOption::Off,
            Encrypt::Required => EncryptionOption::On,
            // TLS stands already; the option has no meaning.
            Encrypt::Strict => EncryptionOption::NotSupported,
        };
        let question = Prelogin {
            version: program_version(),
            encryption: Some(asked),
            instance: Some(self.config.instance.clone().unwrap_or_default().into_bytes()),
            thread_id: Some(tds::OptionData::Value(std::process::id())),
            mars: Some(false),
            fed_auth_required: matches!(self.config.auth, Auth::AccessToken(_)).then_some(true),
            ..Prelogin::default()
        };
        self.transport.send(PacketType::Prelogin, Status::NORMAL, &question.encode()?)?;
        let mut bytes = Vec::new();
        while !self.transport.receive(&mut bytes, "waiting for the PRELOGIN answer")? {}
        self.transport.finish_request();
        self.answer = Prelogin::decode(&bytes).map_err(|error| Error::protocol("PRELOGIN", error))?;
        if self.config.encrypt == Encrypt::Strict {
            return Ok(Encryption::Strict);
        }
        let answered = self.answer.encryption.unwrap_or(EncryptionOption::NotSupported);
        let outcome = negotiate_client(asked, answered).map_err(|source| LoginError::Encryption {
            source,
            hint: match source {
                NegotiationError::ServerCannotEncrypt => "to go without, ask for it: Encrypt=Off",
                NegotiationError::ServerRequires => "use Encrypt=Mandatory",
                _ => "is this a SQL Server?",
            },
        })?;
        let encryption = match outcome {
            EncryptionOutcome::None => Encryption::None,
            EncryptionOutcome::LoginOnly => Encryption::LoginOnly,
            EncryptionOutcome::Full => Encryption::Full,
        };
        if encryption == Encryption::None {
            if matches!(self.config.auth, Auth::AccessToken(_)) {
                return Err(LoginError::ClearToken.into());
            }
            // Whoever sits in between could have said that the server has no encryption.
            if self.config.encrypt != Encrypt::Off {
                return Err(LoginError::ClearPassword.into());
            }
            return Ok(encryption);
        }
        let settings = TlsSettings::new(self.config, &self.place.host)?;
        self.limit_handshake()?;
        let connection = settings.handshake_wrapped(&mut self.transport.socket())?;
        self.start_tls(connection)?;
        Ok(encryption)
    }

    /// The handshake works on the bare socket, which gets the time that is left.
    fn limit_handshake(&mut self) -> Result<(), Error> {
        let left = self.deadline.remaining(&self.place.host)?;
        self.transport.limit_socket(left).map_err(|source| Error::io("connecting", source))
    }

    fn start_tls(&mut self, connection: ClientConnection) -> Result<(), Error> {
        self.transport.start_tls(connection);
        let left = self.deadline.remaining(&self.place.host)?;
        self.transport.set_silence(left).map_err(|source| Error::io("connecting", source))
    }

    /// LOGIN7 and its answer.
    fn log_in(mut self, encryption: Encryption) -> Result<Outcome, Error> {
        self.deadline.remaining(&self.place.host)?;
        let login = self.login_message(encryption);
        let version = login.version().unwrap_or(TdsVersion::V7_4);
        let packet_size_asked_bytes = self.packet_size_asked_bytes(encryption);
        self.transport.send(PacketType::Login7, Status::NORMAL, &login.encode()?)?;
        if encryption == Encryption::LoginOnly {
            self.transport.stop_tls();
        }
        let place = self.place;
        let (nonce, with_token) = (self.answer.nonce, matches!(self.config.auth, Auth::AccessToken(_)));
        let mut session = Session::new(self.transport, SessionState::new(version));
        session.expect_answer();
        let mut answer = LoginAnswer::default();
        while let Some(token) = session.next_token("waiting for the login answer")? {
            answer.take(token)?;
        }
        if let Some(refusal) = session.take_errors() {
            return Err(LoginError::Refused(refusal).into());
        }
        if let Some(routing) = answer.routing {
            return Ok(Outcome::Routed(routing));
        }
        let ack = answer.ack.ok_or(LoginError::NoAcknowledgement)?;
        if ack.version < TdsVersion::V7_4 {
            return Err(LoginError::TooOld { version: ack.version }.into());
        }
        if with_token {
            check_federated(&answer.features, nonce)?;
        }
        session.logged_in(ack.version, self.config.command_timeout, packet_size_asked_bytes)?;
        let [major, minor, build_high, build_low] = ack.program_version;
        let info = ServerInfo {
            program: ack.program_name.trim_end_matches('\0').to_owned(),
            version: (major, minor, u16::from_be_bytes([build_high, build_low])),
            tds_version: ack.version,
            encryption,
            packet_size_bytes: session.packet_size_bytes(),
            utf8: answer
                .features
                .iter()
                .any(|f| f.id == feature_id::UTF8_SUPPORT && f.data.first() == Some(&1)),
            address: (place.host.clone(), place.port),
            messages: session.take_messages(),
        };
        Ok(Outcome::Ready(Box::new(session), info))
    }

    fn packet_size_asked_bytes(&self, encryption: Encryption) -> u16 {
        let full = matches!(encryption, Encryption::Full | Encryption::Strict);
        let limit = if full { PACKET_SIZE_ENCRYPTED_BYTES } else { PACKET_SIZE_CLEAR_BYTES };
        self.config.packet_size_bytes.unwrap_or(limit).min(if full { limit } else { u16::MAX })
    }

    fn login_message(&self, encryption: Encryption) -> Login7 {
        let config = self.config;
        let packet_size = self.packet_size_asked_bytes(encryption);
        let version = if encryption == Encryption::Strict { TdsVersion::V8_0 } else { TdsVersion::V7_4 };
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
        if config.application_intent == ApplicationIntent::ReadOnly {
            login.type_flags |= type_flags::READ_ONLY_INTENT;
        }
        match &config.auth {
            Auth::SqlLogin { user, password } => {
                login.user_name.clone_from(user);
                login.password = password.expose().into();
            }
            Auth::AccessToken(token) => {
                let echo = self.answer.fed_auth_required == Some(true);
                let mut request = FedAuthRequest::with_access_token(token.expose(), echo);
                if let FedAuthRequest::SecurityToken { nonce, .. } = &mut request {
                    *nonce = self.answer.nonce;
                }
                login.features.insert(0, FeatureRequest::FedAuth(request));
            }
        }
        login
    }
}

#[derive(Default)]
struct LoginAnswer {
    ack: Option<LoginAck>,
    features: Vec<FeatureAck>,
    routing: Option<Routing>,
}

impl LoginAnswer {
    fn take(&mut self, token: Token) -> Result<(), Error> {
        match token {
            Token::LoginAck(ack) => self.ack = Some(ack),
            Token::FeatureExtAck(features) => self.features = features,
            Token::EnvChange(EnvChange::Routing(routing)) => self.routing = Some(routing),
            Token::FedAuthInfo(_) => {
                return Err(LoginError::FederatedSignIn {
                    reason: "the server wants a sign-in of its own, not a given token",
                }
                .into());
            }
            Token::ColMetaData(_) | Token::Row | Token::NbcRow => {
                return Err(Error::unexpected("logging in", "the server sent rows"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The acknowledgement of the FEDAUTH feature repeats the nonce, if there was one (MS-TDS 2.2.7.11).
fn check_federated(features: &[FeatureAck], nonce: Option<[u8; 32]>) -> Result<(), LoginError> {
    let Some(ack) = features.iter().find(|ack| ack.id == feature_id::FED_AUTH) else {
        return Err(LoginError::FederatedSignIn { reason: "the server did not acknowledge the token" });
    };
    match nonce {
        Some(nonce) if !ack.data.is_empty() && !ack.data.starts_with(&nonce) => {
            Err(LoginError::FederatedSignIn { reason: "the server's answer carries another nonce" })
        }
        _ => Ok(()),
    }
}

/// LOGIN7 holds names of 128 characters at most; these three only inform.
fn limited(name: String) -> String {
    name.chars().take(128).collect()
}

fn program_version() -> ProgramVersion {
    let part = |text: &str| text.parse::<u8>().unwrap_or_default();
    let (major, minor) = (part(env!("CARGO_PKG_VERSION_MAJOR")), part(env!("CARGO_PKG_VERSION_MINOR")));
    ProgramVersion { major, minor, build: part(env!("CARGO_PKG_VERSION_PATCH")).into(), sub_build: 0 }
}
