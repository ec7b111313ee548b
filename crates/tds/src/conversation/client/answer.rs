//! Reads answers: packets to payload, payload to tokens, up to the end of an answer.

use crate::codec::DecodeError;
use crate::conversation::ConversationError;
use crate::done::DoneStatus;
use crate::message_reader::{Event, MessageReader};
use crate::packet::{PACKET_SIZE_MAX_BYTES, PacketType};
use crate::row_span::{RowLayout, RowSpan};
use crate::token::{TOKEN_SIZE_MAX_BYTES, Token, TokenReader};
use crate::version::TdsVersion;

/// Bytes of the answer already used before they are moved out of the buffer.
const COMPACT_AT_BYTES: usize = 1 << 20;

/// Takes a server's packets apart.
#[derive(Debug)]
pub struct AnswerPackets {
    reader: MessageReader,
    /// Length of the last packet that did not end its message.
    packet_size_bytes: Option<usize>,
    /// The first message, the answer to PRELOGIN, has ended.
    answered: bool,
}

impl Default for AnswerPackets {
    fn default() -> Self {
        let reader = MessageReader::new(PACKET_SIZE_MAX_BYTES, usize::MAX);
        Self { reader, packet_size_bytes: None, answered: false }
    }
}

impl AnswerPackets {
    /// Appends to `payload` what the packets at the head of `bytes` carry, up to the end of the message. Returns the bytes
    /// consumed and, if at least one packet was whole, whether the message is.
    pub fn unpack(
        &mut self,
        bytes: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<(usize, Option<bool>), ConversationError> {
        let (mut consumed, mut progress) = (0, None);
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            let packet = match self.reader.next(rest).map_err(ConversationError::decoding("packet header"))? {
                Event::NeedBytes(_) => return Ok((consumed, progress)),
                Event::Packet(packet) => packet,
            };
            let packet_type = packet.header.packet_type;
            // MS-TDS 2.2.3.1.1 has type 4 for every answer; some servers answer PRELOGIN with its own type.
            let first = !self.answered && packet_type == PacketType::Prelogin;
            if packet_type != PacketType::TabularResult && !first {
                return Err(ConversationError::Unexpected { packet_type, when: "from a server" });
            }
            let carried = rest.get(packet.payload.clone()).ok_or_else(ConversationError::missing)?;
            payload.extend_from_slice(carried);
            consumed += packet.consumed();
            progress = Some(packet.ends_message());
            if packet.ends_message() {
                self.answered = true;
                return Ok((consumed, progress));
            }
            self.packet_size_bytes = Some(packet.consumed());
        }
    }

    /// Returns the size of the server's packets, once a message of several has shown it.
    pub fn packet_size_bytes(&self) -> Option<usize> {
        self.packet_size_bytes
    }
}

/// The answer that is being read. Rows stay in its buffer until their reader consumes them.
#[derive(Debug)]
pub struct Answer {
    tokens: TokenReader,
    /// Payload of the answer; `buffer[used..]` is not yet read.
    buffer: Vec<u8>,
    used: usize,
    /// The last packet is in the buffer.
    complete: bool,
    /// An answer is being read.
    open: bool,
    layout: Option<RowLayout>,
    attention_acknowledged: bool,
    /// The last DONE said that nothing follows it.
    finished: bool,
}

/// Result of [`Answer::next`].
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and nearly all of them are tokens")]
pub enum AnswerStep {
    /// A token. The bytes of a row stay where they are.
    Token(Token),
    /// More packets are needed: [`Answer::room`].
    NeedPackets,
    /// No answer is left.
    End(AnswerEnd),
}

/// End of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The answer was read to its end before.
    Before,
    /// The answer has ended with its last DONE.
    Done,
    /// The answer has ended with the acknowledgement of an attention, so the request may not have been completed.
    Acknowledged,
    /// The answer has ended without a DONE, so the connection cannot be used any more.
    Torn,
}

impl Answer {
    /// Creates a reader for answers in tokens of `version`.
    pub fn new(version: TdsVersion) -> Self {
        Self {
            tokens: TokenReader::new(version),
            buffer: Vec::new(),
            used: 0,
            complete: false,
            open: false,
            layout: None,
            attention_acknowledged: false,
            finished: false,
        }
    }

    /// Sets the version of the following tokens.
    pub fn set_version(&mut self, version: TdsVersion) {
        self.tokens.set_version(version);
    }

    /// Notes that a request has been sent, whose answer follows.
    pub fn expect(&mut self) {
        self.buffer.clear();
        self.used = 0;
        self.complete = false;
        self.open = true;
        self.layout = None;
        self.attention_acknowledged = false;
        self.finished = false;
    }

    /// Returns true while an answer is being read.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if the last packet has arrived, so that an attention cannot stop anything any more.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns true if the acknowledgement of an attention was read.
    pub fn is_acknowledged(&self) -> bool {
        self.attention_acknowledged
    }

    /// Reads the next token. With an attention out (`attention`) the answer ends with its acknowledgement,
    /// which may be a message of its own.
    pub fn next(&mut self, attention: bool) -> Result<AnswerStep, ConversationError> {
        if self.unread().is_empty() && self.complete {
            // The answer was complete before the attention came; the acknowledgement is a message of its own.
            if attention && !self.attention_acknowledged {
                self.complete = false;
                return Ok(AnswerStep::NeedPackets);
            }
            return Ok(AnswerStep::End(self.end()));
        }
        let rest = self.buffer.get(self.used..).unwrap_or_default();
        match self.tokens.next(rest).map_err(ConversationError::decoding("the answer"))? {
            Some((token, length)) => {
                self.used += length;
                self.note(&token);
                Ok(AnswerStep::Token(token))
            }
            None if rest.len() > TOKEN_SIZE_MAX_BYTES => {
                Err(ConversationError::Incomplete("a token longer than 16 MiB"))
            }
            None => Ok(AnswerStep::NeedPackets),
        }
    }

    /// Returns the buffer to which the payload of more packets is appended. An error if the answer is
    /// complete.
    pub fn room(&mut self) -> Result<&mut Vec<u8>, ConversationError> {
        if self.complete {
            return Err(ConversationError::Incomplete("the answer ends inside a token"));
        }
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.used = 0;
        } else if self.used >= COMPACT_AT_BYTES || self.used >= self.buffer.len() / 2 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        Ok(&mut self.buffer)
    }

    /// Notes that packets were appended; `complete` says whether the last one of the message was among them.
    pub fn received(&mut self, complete: bool) {
        self.complete = complete;
    }

    /// Returns the bytes that are not yet read; after a row's token they begin with the row.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    /// Notes that this many unread bytes were read.
    pub fn consume(&mut self, length: usize) {
        self.used = (self.used + length).min(self.buffer.len());
    }

    /// Skips the complete rows in the buffer; none if more packets are needed. `None` if no columns came before them.
    pub fn skip_rows(&mut self) -> Option<Result<RowSpan, DecodeError>> {
        let layout = self.layout.as_ref()?;
        let span = layout.complete_rows(self.buffer.get(self.used..).unwrap_or_default());
        if let Ok(span) = &span {
            self.consume(span.bytes);
        }
        Some(span)
    }

    fn note(&mut self, token: &Token) {
        match token {
            Token::ColMetaData(Some(columns)) => self.layout = Some(RowLayout::new(columns)),
            Token::Done(done) | Token::DoneProc(done) => {
                self.finished = !done.status.contains(DoneStatus::MORE);
                self.attention_acknowledged |= done.status.contains(DoneStatus::ATTENTION);
            }
            // A step of a sign-in is a whole answer, without a DONE; LOGINACK has one behind it.
            Token::Sspi(_) | Token::FedAuthInfo(_) => self.finished = true,
            Token::LoginAck(_) => self.finished = false,
            _ => {}
        }
    }

    fn end(&mut self) -> AnswerEnd {
        if !std::mem::take(&mut self.open) {
            return AnswerEnd::Before;
        }
        match (self.finished, self.attention_acknowledged) {
            (false, _) => AnswerEnd::Torn,
            (true, true) => AnswerEnd::Acknowledged,
            (true, false) => AnswerEnd::Done,
        }
    }
}
