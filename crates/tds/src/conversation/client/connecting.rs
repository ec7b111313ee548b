//! Opens a session over a connected socket: PRELOGIN, TLS, LOGIN7 and its answer.

use crate::codec::EncodeError;
use crate::conversation::ConversationError;
use crate::env_change::EnvChange;
use crate::feature::{FeatureAck, feature_id};
use crate::fed_auth::FedAuthInfo;
use crate::login::Login7;
use crate::prelogin::{EncryptionOption, EncryptionOutcome, NegotiationError, Prelogin, negotiate_client};
use crate::routing::Routing;
use crate::token::{LoginAck, Token};
use crate::version::TdsVersion;

/// Kerberos has one step after the login, SPNEGO around it up to three.
const SIGN_IN_STEPS_MAX: u8 = 10;

/// Encryption that a client demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedEncryption {
    /// No encryption: a password may be sent in the clear.
    None,
    /// The login at least.
    Login,
    /// Encryption of everything.
    Full,
    /// Everything from the first byte (TDS 8.0).
    Strict,
}

/// Credential with which a client logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A password in LOGIN7.
    Password,
    /// An access token in LOGIN7, which is never sent in the clear.
    Token,
    /// An access token from the place that the server names. It goes after the login, and never in the clear.
    Federated,
    /// Tokens of a mechanism (Kerberos), the first of them in LOGIN7.
    Integrated,
}

/// Kind of TLS to be established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS of TDS 8.0: before anything else, with ALPN `tds/8.0`.
    First,
    /// TLS of TDS 7: its handshake inside PRELOGIN packets ([`wrapped_tls`](crate::conversation::wrapped_tls)).
    Wrapped,
}

/// Next action of a client that is opening a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Establish TLS, then call [`tls_established`](Connecting::tls_established).
    EstablishTls(Tls),
    /// Send this payload as a message of the type [`PacketType::Prelogin`](crate::packet::PacketType::Prelogin), receive the
    /// answer, and hand its payload to [`prelogin_answered`](Connecting::prelogin_answered).
    AskPrelogin(Vec<u8>),
    /// Make the login, encode it with [`log_in`](Connecting::log_in), and send that as a message of the type
    /// [`PacketType::Login7`](crate::packet::PacketType::Login7).
    LogIn(EncryptionOutcome),
    /// Leave TLS: what follows is clear, both ways.
    LeaveTls,
    /// Read the answer to the login, hand its tokens to [`login_token`](Connecting::login_token), and then ask for the
    /// [`outcome`](Connecting::outcome).
    ReadLoginAnswer,
}

/// Step after a complete answer to the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginStep {
    /// Give this token to the mechanism, send what it returns, if anything, with
    /// [`PacketType::Sspi`](crate::packet::PacketType::Sspi), and read the next answer. A server sends its last token so, and then
    /// the acknowledgement without being asked.
    Reply(Vec<u8>),
    /// Get an access token as this says, send it as a [`FedAuthToken`](crate::fed_auth::FedAuthToken), and read the next answer.
    AccessToken(FedAuthInfo),
    /// Ask for the [`outcome`](Connecting::outcome). A last token proves to the mechanism who the server is.
    Decided(Option<Vec<u8>>),
}

/// Reason why a client stops, although the server keeps to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginProblem {
    /// The two ends do not agree on encryption.
    #[error(transparent)]
    Encryption(#[from] NegotiationError),
    /// A password would have to be sent in the clear. An attacker could have pretended that the server has no encryption.
    #[error("the server offers no encryption, and a password is not sent in the clear")]
    ClearPassword,
    /// An access token would have to be sent in the clear.
    #[error("the server offers no encryption, and an access token is never sent in the clear")]
    ClearToken,
    /// The server speaks a TDS version older than 7.2.
    #[error("the server speaks {version:?}; TDS 7.4 is needed")]
    TooOld {
        /// Version that the server granted.
        version: TdsVersion,
    },
    /// The server neither granted nor refused the login.
    #[error("the server ended the login without an acknowledgement")]
    NoAcknowledgement,
    /// The server did not accept the access token as agreed in PRELOGIN.
    #[error("{reason}")]
    FederatedSignIn {
        /// Breach of the agreement.
        reason: &'static str,
    },
    /// The server sent rows, or an unexpected step of integrated authentication.
    #[error("{what}")]
    Unexpected {
        /// Description of the unexpected content.
        what: &'static str,
    },
}

/// The result of a login that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginOutcome {
    /// The session stands.
    Granted {
        /// Version and name of the server.
        ack: LoginAck,
        /// Features that it granted.
        features: Vec<FeatureAck>,
    },
    /// The server redirects the client to another address. Connect there, from the beginning.
    Routed(Routing),
}

/// A client that is opening a session.
#[derive(Debug)]
pub struct Connecting {
    wanted: WantedEncryption,
    credential: Credential,
    state: State,
    question: Prelogin,
    answer: Prelogin,
    ack: Option<LoginAck>,
    features: Vec<FeatureAck>,
    routing: Option<Routing>,
    /// The server's token in the answer that is being read.
    sign_in: Option<Vec<u8>>,
    /// Answers that asked for a further step.
    sign_in_steps: u8,
    /// Address at which the server says that an access token is got.
    token_place: Option<FedAuthInfo>,
    /// The server has asked for an access token before.
    token_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// TLS comes before everything else.
    TlsFirst,
    /// PRELOGIN is to be sent, and its answer awaited.
    Prelogin,
    /// TLS comes between PRELOGIN and the login.
    TlsWrapped(EncryptionOutcome),
    LogIn(EncryptionOutcome),
    LeaveTls,
    ReadLoginAnswer,
}

impl Connecting {
    /// Begins a new connection. `question` describes the client; the wanted encryption and authentication are
    /// added.
    pub fn new(wanted: WantedEncryption, credential: Credential, question: Prelogin) -> Self {
        let encryption = match wanted {
            // Inside of TLS the option has no meaning.
            WantedEncryption::None | WantedEncryption::Strict => EncryptionOption::NotSupported,
            WantedEncryption::Login => EncryptionOption::Off,
            WantedEncryption::Full => EncryptionOption::On,
        };
        let question = Prelogin {
            encryption: Some(encryption),
            mars: Some(false),
            fed_auth_required: matches!(credential, Credential::Token | Credential::Federated)
                .then_some(true),
            ..question
        };
        Self {
            wanted,
            credential,
            state: if wanted == WantedEncryption::Strict { State::TlsFirst } else { State::Prelogin },
            question,
            answer: Prelogin::default(),
            ack: None,
            features: Vec::new(),
            routing: None,
            sign_in: None,
            sign_in_steps: 0,
            token_place: None,
            token_asked: false,
        }
    }

    /// Returns the next action. It stays the same until it is done.
    pub fn next_action(&mut self) -> Result<Action, EncodeError> {
        Ok(match self.state {
            State::TlsFirst => Action::EstablishTls(Tls::First),
            State::Prelogin => Action::AskPrelogin(self.question.encode()?),
            State::TlsWrapped(_) => Action::EstablishTls(Tls::Wrapped),
            State::LogIn(outcome) => Action::LogIn(outcome),
            State::LeaveTls => {
                self.state = State::ReadLoginAnswer;
                Action::LeaveTls
            }
            State::ReadLoginAnswer => Action::ReadLoginAnswer,
        })
    }

    /// Notes that TLS is established.
    pub fn tls_established(&mut self) {
        match self.state {
            State::TlsFirst => self.state = State::Prelogin,
            State::TlsWrapped(outcome) => self.state = State::LogIn(outcome),
            _ => {}
        }
    }

    /// Takes the payload of the answer to PRELOGIN. It may be an error of the protocol, or a problem of this login.
    pub fn prelogin_answered(
        &mut self,
        payload: &[u8],
    ) -> Result<Result<(), LoginProblem>, ConversationError> {
        self.answer = Prelogin::decode(payload).map_err(ConversationError::decoding("PRELOGIN"))?;
        if self.state != State::Prelogin {
            return Err(ConversationError::OutOfTurn);
        }
        Ok(self.agree().map(|outcome| {
            let clear = outcome == EncryptionOutcome::None || self.wanted == WantedEncryption::Strict;
            self.state = if clear { State::LogIn(outcome) } else { State::TlsWrapped(outcome) };
        }))
    }

    fn agree(&self) -> Result<EncryptionOutcome, LoginProblem> {
        if self.wanted == WantedEncryption::Strict {
            return Ok(EncryptionOutcome::Full);
        }
        let option = |prelogin: &Prelogin| prelogin.encryption.unwrap_or(EncryptionOption::NotSupported);
        let has_token = matches!(self.credential, Credential::Token | Credential::Federated);
        let agreed = match negotiate_client(option(&self.question), option(&self.answer)) {
            // Other credentials may go on without encryption here; a token may not.
            Err(NegotiationError::ServerCannotEncrypt) if has_token => return Err(LoginProblem::ClearToken),
            agreed => agreed?,
        };
        match agreed {
            // A token that the server asks for goes after the login, where encryption of the login alone has ended. A session that
            // a given token has opened is not left in the clear either.
            EncryptionOutcome::None | EncryptionOutcome::LoginOnly if has_token => {
                Err(LoginProblem::ClearToken)
            }
            // A ticket is no secret: who reads it cannot use it.
            EncryptionOutcome::None
                if self.wanted != WantedEncryption::None && self.credential != Credential::Integrated =>
            {
                Err(LoginProblem::ClearPassword)
            }
            outcome => Ok(outcome),
        }
    }

    /// Returns the server's answer to PRELOGIN.
    pub fn prelogin_answer(&self) -> &Prelogin {
        &self.answer
    }

    /// Encodes the payload of the login that [`Action::LogIn`] asked for.
    pub fn log_in(&mut self, login: &Login7) -> Result<Vec<u8>, EncodeError> {
        let payload = login.encode()?;
        if let State::LogIn(outcome) = self.state {
            let leaves = outcome == EncryptionOutcome::LoginOnly;
            self.state = if leaves { State::LeaveTls } else { State::ReadLoginAnswer };
        }
        Ok(payload)
    }

    /// Takes a token of the answer to the login.
    pub fn login_token(&mut self, token: Token) -> Result<(), LoginProblem> {
        match token {
            Token::LoginAck(ack) => self.ack = Some(ack),
            Token::FeatureExtAck(features) => self.features = features,
            Token::EnvChange(EnvChange::Routing(routing)) => self.routing = Some(routing),
            Token::FedAuthInfo(info) if self.credential == Credential::Federated && !self.token_asked => {
                self.token_asked = true;
                self.token_place = Some(info);
            }
            Token::FedAuthInfo(_) => {
                return Err(LoginProblem::FederatedSignIn {
                    reason: "the server wants a sign-in of its own, not a given token",
                });
            }
            Token::Sspi(_) if self.credential != Credential::Integrated || self.sign_in.is_some() => {
                return Err(LoginProblem::Unexpected {
                    what: "the server sent a step of integrated authentication that nobody asked for",
                });
            }
            Token::Sspi(data) => self.sign_in = Some(data),
            Token::ColMetaData(_) | Token::Row | Token::NbcRow => {
                return Err(LoginProblem::Unexpected { what: "the server sent rows" });
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes that an answer is complete, without an error in it.
    pub fn login_answered(&mut self) -> Result<LoginStep, LoginProblem> {
        let token = self.sign_in.take();
        if self.ack.is_some() || self.routing.is_some() {
            return Ok(LoginStep::Decided(token));
        }
        if let Some(place) = self.token_place.take() {
            return Ok(LoginStep::AccessToken(place));
        }
        let Some(token) = token else { return Err(LoginProblem::NoAcknowledgement) };
        self.sign_in_steps += 1;
        match self.sign_in_steps > SIGN_IN_STEPS_MAX {
            true => Err(LoginProblem::Unexpected {
                what: "the server asks for more steps of integrated authentication than any mechanism has",
            }),
            false => Ok(LoginStep::Reply(token)),
        }
    }

    /// Returns the result of the login. Call it after a complete answer without an error.
    pub fn outcome(self) -> Result<LoginOutcome, LoginProblem> {
        if let Some(routing) = self.routing {
            return Ok(LoginOutcome::Routed(routing));
        }
        let ack = self.ack.ok_or(LoginProblem::NoAcknowledgement)?;
        if ack.version < TdsVersion::V7_4 {
            return Err(LoginProblem::TooOld { version: ack.version });
        }
        if matches!(self.credential, Credential::Token | Credential::Federated) {
            check_federated(&self.features, self.answer.nonce)?;
        }
        Ok(LoginOutcome::Granted { ack, features: self.features })
    }
}

/// Checks that the acknowledgement of the FEDAUTH feature repeats the nonce, if there was one (MS-TDS
/// 2.2.7.11).
fn check_federated(features: &[FeatureAck], nonce: Option<[u8; 32]>) -> Result<(), LoginProblem> {
    let Some(ack) = features.iter().find(|ack| ack.id == feature_id::FED_AUTH) else {
        return Err(LoginProblem::FederatedSignIn { reason: "the server did not acknowledge the token" });
    };
    match nonce {
        Some(nonce) if !ack.data.is_empty() && !ack.data.starts_with(&nonce) => {
            Err(LoginProblem::FederatedSignIn { reason: "the server's answer carries another nonce" })
        }
        _ => Ok(()),
    }
}
