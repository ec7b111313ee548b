//! A client and a server in memory: both ends of the conversation, and between them bytes that arrive in pieces.

use std::collections::VecDeque;

use bulkwire_tds::conversation::server::{self, AfterPrelogin, Conversation, Event, Offer, Step};
use bulkwire_tds::conversation::wrapped_tls::{Sender, Unwrapper, wrap_flight};
use bulkwire_tds::conversation::{ConversationError, client};
use bulkwire_tds::done::{Done, DoneStatus};
use bulkwire_tds::*;

/// Stands for TLS: each byte is combined with this one by XOR, after a hello from each side.
const SEAL: u8 = 0xA5;
pub const CLIENT_HELLO: &[u8] = &[0x16, 3, 1, b'c'];
pub const SERVER_HELLO: &[u8] = &[0x16, 3, 1, b's'];

pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ SEAL).collect()
}

pub fn done(status: DoneStatus, row_count: u64) -> Vec<u8> {
    tokens(&[Token::Done(Done { status, command: 0, row_count })])
}

pub fn tokens(tokens: &[Token]) -> Vec<u8> {
    let mut w = Writer::new();
    tokens.iter().for_each(|token| token.encode(&mut w, TdsVersion::V7_4));
    w.finish().unwrap()
}

pub fn answer(payload: &[u8]) -> Vec<u8> {
    frame_message(PacketType::TabularResult, 512, 51, Status::NORMAL, payload)
}

pub fn login_ack() -> Token {
    Token::LoginAck(LoginAck {
        interface: 1,
        version: TdsVersion::V7_4,
        program_name: "test".to_owned(),
        program_version: [16, 0, 0, 0],
    })
}

/// Returns the place that the server names for getting tokens.
pub fn token_place() -> FedAuthInfo {
    FedAuthInfo {
        sts_url: Some("https://sts.example/t".to_owned()),
        service_principal: Some("https://db.example/".to_owned()),
        other: Vec::new(),
    }
}

/// State of TLS at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tls {
    None,
    /// The client's hello comes next, bare.
    First,
    /// The client's hello comes next, inside of packets.
    Wrapped,
    Stands,
}

/// A server that answers at once, but for a batch `wait`, which only an attention ends.
pub struct ServerEnd {
    pub conversation: Conversation,
    tls: Tls,
    received: Vec<u8>,
    sent: Vec<u8>,
    /// Messages received, in words.
    pub log: Vec<String>,
    /// Payload of bulk loads.
    pub rows: Vec<u8>,
    waiting: bool,
}

impl ServerEnd {
    pub fn new(offer: Offer) -> Self {
        Self {
            conversation: Conversation::new(offer, 1 << 16),
            tls: Tls::None,
            received: Vec::new(),
            sent: Vec::new(),
            log: Vec::new(),
            rows: Vec::new(),
            waiting: false,
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        let bytes = if self.tls == Tls::Stands { sealed(bytes) } else { bytes.to_vec() };
        self.sent.extend(bytes);
    }

    /// Ends the request under way.
    fn answered(&mut self, payload: &[u8], bulk_expected: bool) {
        if !payload.is_empty() {
            self.send(&answer(payload));
        }
        if self.conversation.answered(bulk_expected) {
            self.send(&answer(&done(DoneStatus::ATTENTION, 0)));
        }
    }

    /// Takes bytes off the wire.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), ConversationError> {
        match self.tls {
            Tls::Stands => self.received.extend(sealed(bytes)),
            _ => self.received.extend(bytes),
        }
        loop {
            if self.handshake() {
                return Ok(());
            }
            let Step { consumed, event } = self.conversation.next(&self.received)?;
            let shown: Vec<u8> = self.received.drain(..consumed).collect();
            match event {
                Event::NeedBytes(needed) => {
                    assert!(needed > self.received.len(), "asks for bytes that it has");
                    return Ok(());
                }
                Event::Owed => return Ok(()),
                event => self.take(event, &shown)?,
            }
        }
    }

    /// Continues a handshake. Returns true if it needs more bytes.
    fn handshake(&mut self) -> bool {
        let hello = match self.tls {
            Tls::First if self.received.len() < CLIENT_HELLO.len() => return true,
            Tls::First => self.received.drain(..CLIENT_HELLO.len()).collect(),
            Tls::Wrapped => match unwrapped(Sender::Client, &mut self.received) {
                Some(hello) => hello,
                None => return true,
            },
            Tls::None | Tls::Stands => return false,
        };
        assert_eq!(hello, CLIENT_HELLO);
        assert_eq!(self.conversation.next(b"x").unwrap().event, Event::Owed, "TLS is being established");
        let mut reply = SERVER_HELLO.to_vec();
        if self.tls == Tls::Wrapped {
            reply.clear();
            wrap_flight(SERVER_HELLO, &mut reply);
        }
        self.tls = Tls::None;
        self.send(&reply);
        self.tls = Tls::Stands;
        self.conversation.tls_established();
        assert!(self.received.is_empty(), "clients wait for the handshake's end");
        false
    }

    fn take(&mut self, event: Event, shown: &[u8]) -> Result<(), ConversationError> {
        match event {
            Event::NeedBytes(_) | Event::Owed => unreachable!(),
            Event::TlsFirst => self.tls = Tls::First,
            Event::Prelogin => {
                let version = ProgramVersion { major: 16, minor: 0, build: 1000, sub_build: 0 };
                let reply = self.conversation.answer_prelogin(version).unwrap();
                self.send(&reply.packets);
                self.log.push(format!("prelogin {:?}", reply.next));
                match reply.next? {
                    AfterPrelogin::Login => {}
                    AfterPrelogin::Tls { .. } => self.tls = Tls::Wrapped,
                }
            }
            Event::Login { login, leave_tls } => {
                self.log.push(format!("login {} {:?}", login.user_name, self.tls));
                server::spoken_version(&login)?;
                if leave_tls {
                    self.tls = Tls::None;
                }
                let size = server::granted_packet_size(login.packet_size_bytes, self.tls == Tls::Stands);
                match login.features.first() {
                    Some(FeatureRequest::FedAuth(FedAuthRequest::Adal { echo, .. })) => {
                        self.log.push(format!("asks for a token, echo {echo}"));
                        self.send(&answer(&tokens(&[Token::FedAuthInfo(token_place())])));
                        self.conversation.access_token_asked();
                    }
                    _ => self.sign_in(&login.sspi, size),
                }
            }
            Event::SignIn(token) => self.sign_in(&token, 600),
            Event::AccessToken(message) => {
                let token = String::from_utf8_lossy(message.token.expose()).replace('\0', "");
                self.log.push(format!("access token {token} {:?}", self.tls));
                match token.as_str() {
                    "again" => {
                        self.send(&answer(&tokens(&[Token::FedAuthInfo(token_place())])));
                        self.conversation.access_token_asked();
                    }
                    "unheard" => self.grant(600, Vec::new()),
                    _ => self
                        .grant(600, vec![FeatureAck { id: feature::feature_id::FED_AUTH, data: Vec::new() }]),
                }
            }
            Event::Request(message) => self.request(&message)?,
            Event::BulkBegins => {
                self.log.push("bulk".to_owned());
                self.rows.clear();
            }
            Event::BulkRows { payload, last } => {
                self.rows.extend_from_slice(&shown[payload]);
                if last {
                    self.log.push(format!("rows {}", self.rows.len()));
                    self.answered(&done(DoneStatus::COUNT, self.rows.len() as u64), false);
                }
            }
            Event::BulkIgnored => {
                self.log.push("ignored rows".to_owned());
                self.answered(&done(DoneStatus::FINAL, 0), false);
            }
            Event::Attention => {
                self.log.push("attention".to_owned());
                let own =
                    if std::mem::take(&mut self.waiting) { done(DoneStatus::ERROR, 0) } else { Vec::new() };
                self.answered(&own, false);
            }
        }
        Ok(())
    }

    /// A mechanism that does what the client's token says: `more` asks for another, `proof` is answered with a last one,
    /// before the acknowledgement or together with it.
    fn sign_in(&mut self, token: &[u8], packet_size_bytes: u32) {
        if !token.is_empty() {
            self.log.push(format!("token {}", String::from_utf8_lossy(token)));
        }
        if token == b"more" {
            self.send(&answer(&tokens(&[Token::Sspi(b"go on".to_vec())])));
            self.conversation.sign_in_continues();
            return;
        }
        let proof = Token::Sspi(b"I am the server".to_vec());
        match token {
            b"proof" => self.send(&answer(&tokens(&[proof]))),
            b"proof at once" => return self.grant_with(vec![proof], packet_size_bytes),
            _ => {}
        }
        self.grant_with(Vec::new(), packet_size_bytes);
    }

    fn grant(&mut self, packet_size_bytes: u32, features: Vec<FeatureAck>) {
        self.grant_with(vec![Token::FeatureExtAck(features)], packet_size_bytes);
    }

    fn grant_with(&mut self, mut granted: Vec<Token>, packet_size_bytes: u32) {
        granted.push(login_ack());
        granted.push(Token::EnvChange(EnvChange::PacketSize { new: packet_size_bytes, old: 4096 }));
        self.send(&answer(&[tokens(&granted), done(DoneStatus::FINAL, 0)].concat()));
        self.conversation.logged_in();
    }

    fn request(&mut self, message: &server::Message) -> Result<(), ConversationError> {
        let reset = message
            .reset()
            .map(|reset| if reset.keeps_transaction { "reset but transaction, " } else { "reset, " });
        let reset = reset.unwrap_or_default();
        if message.ignored {
            self.log.push("ignored".to_owned());
            self.answered(&done(DoneStatus::FINAL, 0), false);
            return Ok(());
        }
        let text = match message.request(TdsVersion::V7_4)? {
            server::ClientRequest::Batch(batch) => batch.text,
            other => format!("{other:?}"),
        };
        self.log.push(format!("{reset}{text}"));
        match text.as_str() {
            "wait" => self.waiting = true,
            "insert bulk" => self.answered(&done(DoneStatus::FINAL, 0), true),
            "long" => self.answered(
                &[done(DoneStatus::MORE, 1).repeat(1000), done(DoneStatus::FINAL, 0)].concat(),
                false,
            ),
            _ => self.answered(&done(DoneStatus::COUNT, 7), false),
        }
        Ok(())
    }
}

/// The payload of one handshake packet, and not one byte behind it.
fn unwrapped(sender: Sender, bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut rest = bytes.as_slice();
    let mut unwrapper = Unwrapper::new(sender);
    while let Some(room) = unwrapper.header_room() {
        let length = room.len();
        room.copy_from_slice(rest.split_off(..length)?);
        unwrapper.header_read(length).unwrap();
    }
    let payload = rest.split_off(..unwrapper.payload_left())?.to_vec();
    *bytes = rest.to_vec();
    Some(payload)
}

/// A client that waits for its answers, over a wire that delivers `piece` bytes at a time.
pub struct ClientEnd {
    pub server: ServerEnd,
    piece: usize,
    to_server: VecDeque<u8>,
    received: Vec<u8>,
    tls: bool,
    packets: client::AnswerPackets,
    pub answer: client::Answer,
    pub environment: client::Environment,
    pub packet_size: client::PacketSize,
    pub phase: client::Phase,
    /// Error that the server's end found.
    pub refused: Option<ConversationError>,
    /// Answers of the client's mechanism to the server's tokens, in turn.
    pub sign_in: VecDeque<&'static [u8]>,
    /// The server's last token.
    pub proof: Option<Vec<u8>>,
    /// The access token that is sent when the server asks for one.
    pub access_token: &'static str,
}

impl ClientEnd {
    pub fn new(offer: Offer, piece: usize) -> Self {
        Self {
            server: ServerEnd::new(offer),
            piece,
            to_server: VecDeque::new(),
            received: Vec::new(),
            tls: false,
            packets: client::AnswerPackets::default(),
            answer: client::Answer::new(TdsVersion::V7_4),
            environment: client::Environment::new(TdsVersion::V7_4),
            packet_size: client::PacketSize::default(),
            phase: client::Phase::Idle,
            refused: None,
            sign_in: VecDeque::new(),
            proof: None,
            access_token: "good",
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.to_server.extend(if self.tls { sealed(bytes) } else { bytes.to_vec() });
    }

    /// Lets one piece travel each way. False if nothing is under way any more.
    pub fn travel(&mut self) -> bool {
        let piece: Vec<u8> = self.to_server.drain(..self.piece.min(self.to_server.len())).collect();
        if !piece.is_empty()
            && self.refused.is_none()
            && let Err(error) = self.server.receive(&piece)
        {
            self.refused = Some(error);
        }
        let back: Vec<u8> = self.server.sent.drain(..self.piece.min(self.server.sent.len())).collect();
        self.received.extend(if self.tls { sealed(&back) } else { back.clone() });
        !piece.is_empty() || !back.is_empty()
    }

    /// The payload of one whole message.
    fn receive(&mut self, payload: &mut Vec<u8>) -> Option<bool> {
        loop {
            let (consumed, progress) = self.packets.unpack(&self.received, payload).unwrap();
            self.received.drain(..consumed);
            match progress {
                Some(complete) => return Some(complete),
                None if self.travel() => {}
                None => return None,
            }
        }
    }

    /// Logs in. `None` if the server ended the conversation.
    pub fn connect(
        &mut self,
        wanted: client::WantedEncryption,
        credential: client::Credential,
        login: &Login7,
    ) -> Option<Result<client::LoginOutcome, client::LoginProblem>> {
        let mut connecting = client::Connecting::new(wanted, credential, Prelogin::default());
        loop {
            match connecting.next_action().unwrap() {
                client::Action::EstablishTls(tls) => {
                    let mut hello = CLIENT_HELLO.to_vec();
                    if tls == client::Tls::Wrapped {
                        hello.clear();
                        wrap_flight(CLIENT_HELLO, &mut hello);
                    }
                    self.send(&hello);
                    while self.travel() {}
                    let reply = match tls {
                        client::Tls::First => std::mem::take(&mut self.received),
                        client::Tls::Wrapped => unwrapped(Sender::Server, &mut self.received)?,
                    };
                    if reply.is_empty() {
                        return None;
                    }
                    assert_eq!(reply, SERVER_HELLO);
                    assert!(self.received.is_empty());
                    self.tls = true;
                    connecting.tls_established();
                }
                client::Action::AskPrelogin(question) => {
                    self.send(&frame_message(PacketType::Prelogin, 4096, 0, Status::NORMAL, &question));
                    let mut payload = Vec::new();
                    while !self.receive(&mut payload)? {}
                    if let Err(problem) = connecting.prelogin_answered(&payload).unwrap() {
                        return Some(Err(problem));
                    }
                }
                client::Action::LogIn(_) => {
                    let payload = connecting.log_in(login).unwrap();
                    self.send(&frame_message(PacketType::Login7, 4096, 0, Status::NORMAL, &payload));
                    // It leaves under the TLS that stands now.
                    while self.travel_out() {}
                }
                client::Action::LeaveTls => self.tls = false,
                client::Action::ReadLoginAnswer => {
                    self.answer.expect();
                    self.phase = client::Phase::Receiving;
                    let (tokens, _) = self.read_answer()?;
                    for token in tokens {
                        if let Err(problem) = connecting.login_token(token) {
                            return Some(Err(problem));
                        }
                    }
                    match connecting.login_answered() {
                        Err(problem) => return Some(Err(problem)),
                        Ok(client::LoginStep::Reply(token)) => match self.sign_in.pop_front() {
                            Some(reply) => {
                                self.send(&frame_message(PacketType::Sspi, 4096, 0, Status::NORMAL, reply));
                            }
                            None => self.proof = Some(token),
                        },
                        Ok(client::LoginStep::AccessToken(place)) => {
                            assert_eq!(place, token_place());
                            let message = FedAuthToken::new(self.access_token, None).encode().unwrap();
                            let packets =
                                frame_message(PacketType::FedAuthToken, 512, 0, Status::NORMAL, &message);
                            self.send(&packets);
                        }
                        Ok(client::LoginStep::Decided(proof)) => {
                            self.proof = self.proof.take().or(proof);
                            self.packet_size.logged_in(login.packet_size_bytes as usize);
                            return Some(connecting.outcome());
                        }
                    }
                }
            }
        }
    }

    /// Lets what was sent arrive, and takes nothing back yet.
    fn travel_out(&mut self) -> bool {
        let piece: Vec<u8> = self.to_server.drain(..self.piece.min(self.to_server.len())).collect();
        if !piece.is_empty()
            && self.refused.is_none()
            && let Err(error) = self.server.receive(&piece)
        {
            self.refused = Some(error);
        }
        !piece.is_empty()
    }

    /// Reads to the end of the answer. `None` if the server ended the conversation.
    pub fn read_answer(&mut self) -> Option<(Vec<Token>, client::AnswerEnd)> {
        let mut tokens = Vec::new();
        loop {
            match self.answer.next(self.phase == client::Phase::Attention).unwrap() {
                client::AnswerStep::Token(token) => {
                    if let Token::EnvChange(change) = &token {
                        let size = &mut self.packet_size;
                        self.environment.apply(change, |bytes| size.grant(bytes)).unwrap();
                    }
                    tokens.push(token);
                }
                client::AnswerStep::NeedPackets => {
                    let mut payload = Vec::new();
                    let complete = self.receive(&mut payload)?;
                    self.answer.room().unwrap().extend(payload);
                    self.answer.received(complete);
                }
                client::AnswerStep::End(end) => {
                    self.phase = client::Phase::Idle;
                    return Some((tokens, end));
                }
            }
        }
    }

    /// Sends a batch.
    pub fn ask(&mut self, text: &str, status: Status) {
        let payload = SqlBatch::new(text, TdsVersion::V7_4, self.environment.transaction).encode().unwrap();
        self.send(&frame_message(PacketType::SqlBatch, self.packet_size.bytes(), 0, status, &payload));
        self.answer.expect();
        self.phase = client::Phase::Receiving;
    }

    /// Does what a cancellation does in this phase.
    pub fn cancel(&mut self) -> client::Cancel {
        let cancel = self.phase.cancel();
        if cancel == client::Cancel::SendAttention {
            self.send(&client::Phase::attention_packet());
            self.phase = client::Phase::Attention;
        }
        cancel
    }
}
