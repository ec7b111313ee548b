//! The server's end of the conversation: the meaning of a client's bytes (MS-TDS 3.3.5).

mod message;

pub use message::{ClientRequest, Message, Reset};

use std::ops::Range;

use super::ConversationError;
use crate::codec::EncodeError;
use crate::fed_auth::FedAuthToken;
use crate::login::{Login7, option_flags2};
use crate::message_reader::{self, MessageReader, Packet};
use crate::packet::{
    PACKET_SIZE_INITIAL_BYTES, PACKET_SIZE_MAX_BYTES, PACKET_SIZE_MIN_BYTES, PacketType, Status,
};
use crate::packet_framer::frame_message;
use crate::prelogin::{
    EncryptionOption, EncryptionOutcome, EncryptionPolicy, NegotiationError, Prelogin, ProgramVersion,
    negotiate_server,
};
use crate::version::TdsVersion;

/// First byte of a TLS ClientHello: a TDS 8.0 client.
const TLS_HANDSHAKE: u8 = 0x16;
/// Largest message before login.
const LOGIN_MESSAGE_MAX_BYTES: usize = 128 << 10;
/// A TLS record holds 16 KB: a TDS packet within it makes one record.
const PACKET_SIZE_ENCRYPTED_MAX_BYTES: u32 = 16_380;
/// The largest multiple of four that the protocol has.
const PACKET_SIZE_CLEAR_MAX_BYTES: u32 = 32_764;

/// Terms that a server offers before login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Encryption that the server offers or demands.
    pub encryption: EncryptionPolicy,
    /// Accept only clients of TDS 8.0, whose TLS comes first.
    pub strict_only: bool,
    /// Access tokens are taken.
    pub access_tokens: bool,
}

/// The state of one connection. The caller passes the head of the received bytes to [`next`](Self::next), drops what was
/// consumed, and sends the answer that is returned. At most one incomplete message is held, and nothing of a bulk load.
#[derive(Debug)]
pub struct Conversation {
    state: State,
    offer: Offer,
    messages: MessageReader,
    message_max_bytes: usize,
    /// Payload of the message under way.
    payload: Vec<u8>,
    /// Status of its first packet.
    status: Status,
    /// The login was one with integrated authentication, and no request has come since.
    signed_in: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    /// No bytes have come.
    Initial,
    /// TLS is being established: before PRELOGIN (`strict`), or after it.
    Tls { strict: bool, outcome: EncryptionOutcome },
    /// PRELOGIN is awaited.
    Prelogin { strict: bool },
    /// PRELOGIN is to be answered.
    PreloginAsked { strict: bool, asked: Box<Prelogin> },
    /// LOGIN7 is awaited.
    Login(EncryptionOutcome),
    /// LOGIN7, or a further step of integrated authentication, is to be answered.
    LoginAsked,
    /// The next step of integrated authentication is awaited.
    SignIn,
    /// The access token is awaited.
    AccessToken,
    /// A request is awaited.
    Ready,
    /// A request is awaited, and INSERT BULK has been answered.
    BulkExpected,
    /// The rows of a bulk load come.
    Bulk,
    /// A request must be answered, and an attention too, if one has arrived.
    Answering { attention: bool },
    /// The conversation is over.
    Closed,
}

/// Result of [`Conversation::next`].
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Bytes to be dropped from the head of the passed ones.
    pub consumed: usize,
    /// Request found in the consumed bytes.
    pub event: Event,
}

/// Request of a client, or a stage of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// No request yet: at least this many bytes are needed, counted from the remaining head.
    NeedBytes(usize),
    /// Nothing is consumed before the server has answered: [`Conversation::answer_prelogin`],
    /// [`tls_established`](Conversation::tls_established), [`logged_in`](Conversation::logged_in),
    /// [`sign_in_continues`](Conversation::sign_in_continues),
    /// [`access_token_asked`](Conversation::access_token_asked) or [`answered`](Conversation::answered).
    Owed,
    /// TLS from the first byte (TDS 8.0). No byte is consumed: TLS reads them.
    TlsFirst,
    /// PRELOGIN, to be answered with [`Conversation::answer_prelogin`].
    Prelogin,
    /// LOGIN7, to be answered with [`Conversation::logged_in`], [`Conversation::sign_in_continues`],
    /// [`Conversation::access_token_asked`] or [`Conversation::close`].
    Login {
        /// Content of the login message.
        login: Box<Login7>,
        /// TLS ends here: all that follows, the answer too, is clear.
        leave_tls: bool,
    },
    /// The client's next token of integrated authentication, to be answered as LOGIN7 is.
    SignIn(Vec<u8>),
    /// The client's access token, to be answered as LOGIN7 is.
    AccessToken(FedAuthToken),
    /// A whole request, to be answered before [`Conversation::answered`].
    Request(Message),
    /// The message that INSERT BULK announced begins. No byte is consumed.
    BulkBegins,
    /// Bytes of rows of the bulk load, which stay where they were received.
    BulkRows {
        /// Range of the rows in the bytes that were passed.
        payload: Range<usize>,
        /// The message is whole: now it is to be answered.
        last: bool,
    },
    /// The client has ended the message and asks to ignore it; an answer is still due.
    BulkIgnored,
    /// The client cancels the current request. [`Conversation::answered`] says what is due.
    Attention,
}

/// The answer to PRELOGIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreloginAnswer {
    /// Packets of the answer. They are sent even if the two ends do not agree, so that the client can report why.
    pub packets: Vec<u8>,
    /// Step that follows the answer.
    pub next: Result<AfterPrelogin, NegotiationError>,
}

/// Step of the connection after PRELOGIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterPrelogin {
    /// LOGIN7, on the connection as it is.
    Login,
    /// TLS, its handshake inside of PRELOGIN packets ([`wrapped_tls`](super::wrapped_tls)).
    Tls {
        /// TLS ends again with LOGIN7.
        login_only: bool,
    },
}

impl Conversation {
    /// Begins a new connection. Requests longer than `message_max_bytes` are refused, except bulk loads.
    pub fn new(offer: Offer, message_max_bytes: usize) -> Self {
        Self {
            state: State::Initial,
            offer,
            // Clients send packets larger than was agreed; what a packet may be at most bounds memory well enough.
            messages: MessageReader::new(PACKET_SIZE_MAX_BYTES, LOGIN_MESSAGE_MAX_BYTES),
            message_max_bytes,
            payload: Vec::new(),
            status: Status::NORMAL,
            signed_in: false,
        }
    }

    /// Examines the head of `bytes`, which were received and not yet consumed.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Step, ConversationError> {
        let step = self.look(bytes);
        if step.is_err() {
            self.state = State::Closed;
        }
        step
    }

    fn look(&mut self, bytes: &[u8]) -> Result<Step, ConversationError> {
        match &self.state {
            State::Initial => match bytes.first() {
                None => Ok(Step::need(0, 1)),
                Some(&TLS_HANDSHAKE) if self.offer.encryption == EncryptionPolicy::Unavailable => {
                    Err(NegotiationError::ServerCannotEncrypt.into())
                }
                Some(&TLS_HANDSHAKE) => {
                    self.state = State::Tls { strict: true, outcome: EncryptionOutcome::Full };
                    Ok(Step { consumed: 0, event: Event::TlsFirst })
                }
                Some(_) if self.offer.strict_only => Err(NegotiationError::ServerRequires.into()),
                Some(_) => {
                    self.state = State::Prelogin { strict: false };
                    self.look(bytes)
                }
            },
            State::Prelogin { strict } => {
                let strict = *strict;
                let consumed = match self.gather(bytes, Some((PacketType::Prelogin, "before PRELOGIN")))? {
                    Gathered::Whole { consumed, .. } => consumed,
                    Gathered::Partly(step) => return Ok(step),
                };
                let asked = Prelogin::decode(&std::mem::take(&mut self.payload))
                    .map_err(ConversationError::decoding("PRELOGIN"))?;
                self.state = State::PreloginAsked { strict, asked: Box::new(asked) };
                Self::alone(bytes, consumed, Event::Prelogin)
            }
            State::Login(outcome) => {
                let leave_tls = *outcome == EncryptionOutcome::LoginOnly;
                let consumed = match self.gather(bytes, Some((PacketType::Login7, "before login")))? {
                    Gathered::Whole { consumed, .. } => consumed,
                    Gathered::Partly(step) => return Ok(step),
                };
                let login = Login7::decode(&std::mem::take(&mut self.payload))
                    .map_err(ConversationError::decoding("LOGIN7"))?;
                self.signed_in = login.option_flags2 & option_flags2::INTEGRATED_SECURITY != 0;
                self.state = State::LoginAsked;
                Self::alone(bytes, consumed, Event::Login { login: Box::new(login), leave_tls })
            }
            State::SignIn => {
                let only = (PacketType::Sspi, "in place of a step of integrated authentication");
                let consumed = match self.gather(bytes, Some(only))? {
                    Gathered::Whole { consumed, .. } => consumed,
                    Gathered::Partly(step) => return Ok(step),
                };
                self.state = State::LoginAsked;
                let token = std::mem::take(&mut self.payload);
                Self::alone(bytes, consumed, Event::SignIn(token))
            }
            State::AccessToken => {
                let consumed = match self
                    .gather(bytes, Some((PacketType::FedAuthToken, "in place of an access token")))?
                {
                    Gathered::Whole { consumed, .. } => consumed,
                    Gathered::Partly(step) => return Ok(step),
                };
                self.state = State::LoginAsked;
                let token = FedAuthToken::decode(&std::mem::take(&mut self.payload))
                    .map_err(ConversationError::decoding("the access token"))?;
                Self::alone(bytes, consumed, Event::AccessToken(token))
            }
            State::Tls { .. } | State::Answering { attention: true } => {
                Ok(Step { consumed: 0, event: Event::Owed })
            }
            State::PreloginAsked { .. } | State::LoginAsked => match bytes.is_empty() {
                true => Ok(Step { consumed: 0, event: Event::Owed }),
                false => Err(ConversationError::OutOfTurn),
            },
            State::Ready => self.request(bytes),
            State::BulkExpected => match bytes.first() {
                None => Ok(Step::need(0, 1)),
                Some(&first) if first == PacketType::BulkLoad as u8 => {
                    self.state = State::Bulk;
                    Ok(Step { consumed: 0, event: Event::BulkBegins })
                }
                // Something else than rows: the load is given up.
                Some(_) => {
                    self.state = State::Ready;
                    self.request(bytes)
                }
            },
            State::Bulk => self.bulk(bytes),
            State::Answering { attention: false } => match self.packet(bytes)? {
                message_reader::Event::NeedBytes(needed) => Ok(Step::need(0, needed)),
                message_reader::Event::Packet(packet) => match packet.header.packet_type {
                    PacketType::Attention => Ok(self.attention(packet.consumed())),
                    packet_type => Err(ConversationError::Unexpected {
                        packet_type,
                        when: "before the answer to the last request",
                    }),
                },
            },
            State::Closed => match bytes.is_empty() {
                true => Ok(Step { consumed: 0, event: Event::Owed }),
                false => Err(ConversationError::Closed),
            },
        }
    }

    /// Reads a request, or an attention that finds nothing to stop.
    fn request(&mut self, bytes: &[u8]) -> Result<Step, ConversationError> {
        let (consumed, packet) = match self.gather(bytes, None)? {
            Gathered::Whole { consumed, packet } => (consumed, packet),
            Gathered::Partly(step) => return Ok(step),
        };
        if packet.header.packet_type == PacketType::Attention {
            self.payload.clear();
            return Ok(self.attention(consumed));
        }
        // tiberius answers the last token too, with nothing.
        if std::mem::take(&mut self.signed_in)
            && packet.header.packet_type == PacketType::Sspi
            && self.payload.is_empty()
        {
            let rest = bytes.get(consumed..).unwrap_or_default();
            let Step { consumed: further, event } = self.request(rest)?;
            return Ok(Step { consumed: consumed + further, event });
        }
        self.state = State::Answering { attention: false };
        let message = Message {
            packet_type: packet.header.packet_type,
            status: self.status,
            ignored: packet.is_ignored(),
            payload: std::mem::take(&mut self.payload),
        };
        Ok(Step { consumed, event: Event::Request(message) })
    }

    /// Reads one packet of a bulk load, whose payload stays where it is.
    fn bulk(&mut self, bytes: &[u8]) -> Result<Step, ConversationError> {
        let packet = match self.packet(bytes)? {
            message_reader::Event::NeedBytes(needed) => return Ok(Step::need(0, needed)),
            message_reader::Event::Packet(packet) => packet,
        };
        match packet.header.packet_type {
            PacketType::BulkLoad => {}
            PacketType::Attention => return Ok(self.attention(packet.consumed())),
            packet_type => {
                return Err(ConversationError::Unexpected { packet_type, when: "inside a bulk load" });
            }
        }
        let last = packet.ends_message();
        if last {
            self.state = State::Answering { attention: false };
        }
        let event = match packet.is_ignored() {
            true => Event::BulkIgnored,
            false => Event::BulkRows { payload: packet.payload.clone(), last },
        };
        Ok(Step { consumed: packet.consumed(), event })
    }

    fn attention(&mut self, consumed: usize) -> Step {
        self.state = State::Answering { attention: true };
        Step { consumed, event: Event::Attention }
    }

    fn packet(&mut self, bytes: &[u8]) -> Result<message_reader::Event, ConversationError> {
        self.messages.next(bytes).map_err(ConversationError::decoding("packet"))
    }

    /// Gathers the packets of one message, of the one type that is allowed if there is one.
    fn gather(
        &mut self,
        bytes: &[u8],
        only: Option<(PacketType, &'static str)>,
    ) -> Result<Gathered, ConversationError> {
        let mut consumed = 0;
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            let packet = match self.packet(rest)? {
                message_reader::Event::NeedBytes(needed) => {
                    return Ok(Gathered::Partly(Step::need(consumed, needed)));
                }
                message_reader::Event::Packet(packet) => packet,
            };
            let packet_type = packet.header.packet_type;
            if let Some((allowed, when)) = only
                && packet_type != allowed
            {
                return Err(ConversationError::Unexpected { packet_type, when });
            }
            if packet.starts_message {
                self.payload.clear();
                self.status = packet.header.status;
            }
            let carried = rest.get(packet.payload.clone()).ok_or_else(ConversationError::missing)?;
            self.payload.extend_from_slice(carried);
            consumed += packet.consumed();
            if packet.ends_message() {
                return Ok(Gathered::Whole { consumed, packet });
            }
        }
    }

    /// Makes a step of an event after which the client has to wait: nothing may follow it.
    fn alone(bytes: &[u8], consumed: usize, event: Event) -> Result<Step, ConversationError> {
        match bytes.len() == consumed {
            true => Ok(Step { consumed, event }),
            false => Err(ConversationError::OutOfTurn),
        }
    }

    /// Notes the end of the stream, with `pending` bytes that were not consumed. An error if that was inside a message.
    pub fn end_of_stream(&self, pending: usize) -> Result<(), ConversationError> {
        match pending > 0 || self.messages.is_inside_message() {
            true => Err(ConversationError::CutOff),
            false => Ok(()),
        }
    }

    /// Answers [`Event::Prelogin`].
    pub fn answer_prelogin(&mut self, version: ProgramVersion) -> Result<PreloginAnswer, EncodeError> {
        let state = std::mem::replace(&mut self.state, State::Closed);
        let State::PreloginAsked { strict, asked } = state else {
            let error = crate::codec::EncodeErrorKind::Invalid { what: "nobody has asked".into() };
            return Err(EncodeError { field: "PRELOGIN", kind: error });
        };
        // Inside TLS the option has no meaning; it is answered because clients want to see it.
        let agreed = match strict {
            true => Ok((EncryptionOption::NotSupported, EncryptionOutcome::Full)),
            false => {
                let option = asked.encryption.unwrap_or(EncryptionOption::NotSupported);
                negotiate_server(self.offer.encryption, option)
            }
        };
        let option = agreed.map_or_else(|error| error.server_reply(), |(option, _)| option);
        let mut reply = Prelogin::reply_to(&asked, version, option);
        reply.fed_auth_required = asked.fed_auth_required.map(|asked| asked && self.offer.access_tokens);
        let reply = reply.encode()?;
        let packets =
            frame_message(PacketType::TabularResult, PACKET_SIZE_INITIAL_BYTES, 0, Status::NORMAL, &reply);
        let next = agreed.map(|(_, outcome)| match (strict, outcome) {
            (true, outcome) | (false, outcome @ EncryptionOutcome::None) => {
                self.state = State::Login(outcome);
                AfterPrelogin::Login
            }
            (false, outcome) => {
                self.state = State::Tls { strict: false, outcome };
                AfterPrelogin::Tls { login_only: outcome == EncryptionOutcome::LoginOnly }
            }
        });
        Ok(PreloginAnswer { packets, next })
    }

    /// Notes that TLS is established: bytes from here on are decrypted.
    pub fn tls_established(&mut self) {
        if let State::Tls { strict, outcome } = self.state {
            self.state = if strict { State::Prelogin { strict } } else { State::Login(outcome) };
        }
    }

    /// Notes that the login was accepted and answered.
    pub fn logged_in(&mut self) {
        if self.state == State::LoginAsked {
            self.messages.set_message_size_max_bytes(self.message_max_bytes);
            self.state = State::Ready;
        }
    }

    /// Notes that the login was answered with a token of integrated authentication alone, so that the client's next token
    /// follows.
    pub fn sign_in_continues(&mut self) {
        if self.state == State::LoginAsked && self.signed_in {
            self.state = State::SignIn;
        }
    }

    /// Notes that the login was answered with the place where an access token is got, so that the token follows.
    pub fn access_token_asked(&mut self) {
        if self.state == State::LoginAsked {
            self.state = State::AccessToken;
        }
    }

    /// Notes that the request, bulk load or attention was answered; `bulk_expected` if it was INSERT BULK. Returns whether an
    /// attention has arrived. Its acknowledgement, a DONE with that bit, then follows as a message of its own.
    pub fn answered(&mut self, bulk_expected: bool) -> bool {
        let State::Answering { attention } = self.state else { return false };
        self.state = match bulk_expected && !attention {
            true => State::BulkExpected,
            false => State::Ready,
        };
        attention
    }

    /// Ends the conversation: no more bytes are taken.
    pub fn close(&mut self) {
        self.state = State::Closed;
    }
}

/// Outcome of gathering the packets of one message.
enum Gathered {
    /// The whole message, with its last packet.
    Whole { consumed: usize, packet: Packet },
    /// The message is not complete yet.
    Partly(Step),
}

impl Step {
    fn need(consumed: usize, bytes: usize) -> Self {
        Self { consumed, event: Event::NeedBytes(bytes) }
    }
}

/// Returns the version that a login asks for. Before 7.2 the layout of several tokens differs: such clients
/// are refused rather than misread.
pub fn spoken_version(login: &Login7) -> Result<TdsVersion, ConversationError> {
    let spoken = login.version().filter(|version| version.has_wide_fields());
    spoken.ok_or(ConversationError::Version { number: login.tds_version_number })
}

/// Returns the packet size that a server grants to a client that asks for `asked` bytes; 0 asks for the
/// server's own. It applies from the first packet after the answer to the login.
pub fn granted_packet_size(asked: u32, is_encrypted: bool) -> u32 {
    let largest = if is_encrypted { PACKET_SIZE_ENCRYPTED_MAX_BYTES } else { PACKET_SIZE_CLEAR_MAX_BYTES };
    let asked = if asked == 0 { PACKET_SIZE_INITIAL_BYTES as u32 } else { asked };
    asked.clamp(PACKET_SIZE_MIN_BYTES as u32, largest) & !3
}
