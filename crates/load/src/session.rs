//! One logged-in connection: requests out, tokens in, and the state that the server keeps telling.

use std::time::{Duration, Instant};

use tds::{
    Column, EnvChange, PacketType, RowLayout, ServerMessage, SqlBatch, Status, TdsVersion, TransactionEvent,
    done::{Done, DoneStatus},
    token::{ReturnValue, TOKEN_SIZE_MAX_BYTES, Token, TokenReader},
};

use crate::{
    error::{Error, ServerError},
    transport::Transport,
};

/// Messages kept of one answer; a procedure may PRINT without end.
const MESSAGES_MAX: usize = 1000;
/// Packets for a server that has not said which it takes. 4092 bytes have been met where 4096 were refused.
const PACKET_SIZE_UNTOLD_BYTES: usize = 4092;
/// Bytes of the answer already used before they are moved out of the buffer.
const COMPACT_AT_BYTES: usize = 1 << 20;

/// What the server said about the session.
#[derive(Debug, Clone)]
pub(crate) struct SessionState {
    pub(crate) version: TdsVersion,
    pub(crate) database: String,
    pub(crate) collation: Option<[u8; 5]>,
    /// Descriptor of the open transaction; 0 in autocommit.
    pub(crate) transaction: u64,
}

impl SessionState {
    pub(crate) fn new(version: TdsVersion) -> Self {
        Self { version, database: String::new(), collation: None, transaction: 0 }
    }
}

/// A connection with its answer buffer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) transport: Transport,
    pub(crate) state: SessionState,
    tokens: TokenReader,
    /// Unpacked bytes of the answer; `buffer[used..]` is not yet read.
    buffer: Vec<u8>,
    used: usize,
    /// Whether the last packet of the answer is in the buffer.
    complete: bool,
    /// Whether an answer is being read.
    answering: bool,
    layout: Option<RowLayout>,
    errors: Vec<ServerMessage>,
    messages: Vec<ServerMessage>,
    attention_acknowledged: bool,
    /// The last DONE said that nothing follows it.
    finished: bool,
    timed_out: bool,
    /// How the answer says that a transaction ended.
    transaction_end: Option<TransactionEvent>,
    /// A load that fails closes the connection instead of asking the server to stop.
    pub(crate) closes_failed_loads: bool,
    broken: bool,
    command_timeout: Option<Duration>,
    waited: Duration,
}

/// Everything of an answer but its rows.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Every counted DONE, in order.
    pub(crate) counts: Vec<Done>,
    pub(crate) return_status: Option<i32>,
    pub(crate) outputs: Vec<ReturnValue>,
}

impl Session {
    pub(crate) fn new(transport: Transport, state: SessionState) -> Self {
        Self {
            transport,
            tokens: TokenReader::new(state.version),
            state,
            buffer: Vec::new(),
            used: 0,
            complete: false,
            answering: false,
            layout: None,
            errors: Vec::new(),
            messages: Vec::new(),
            attention_acknowledged: false,
            finished: false,
            timed_out: false,
            transaction_end: None,
            closes_failed_loads: false,
            broken: false,
            command_timeout: None,
            waited: Duration::ZERO,
        }
    }

    /// The login is over: its time limits end and those of commands begin.
    pub(crate) fn logged_in(
        &mut self,
        version: TdsVersion,
        command_timeout: Option<Duration>,
        packet_size_asked_bytes: u16,
    ) -> Result<(), Error> {
        self.state.version = version;
        self.tokens.set_version(version);
        self.command_timeout = command_timeout;
        self.transport.set_deadline(None);
        self.transport
            .limit_packet_size_bytes(usize::from(packet_size_asked_bytes).min(PACKET_SIZE_UNTOLD_BYTES));
        self.transport.set_silence(command_timeout).map_err(|source| Error::io("after login", source))
    }

    /// How the last answer says that a transaction ended.
    pub(crate) fn transaction_end(&self) -> Option<TransactionEvent> {
        self.transaction_end
    }

    /// Gives the connection up without another word to the server, which rolls back what is open.
    pub(crate) fn close(&mut self) {
        self.broken = true;
        self.transport.shut_down();
    }

    pub(crate) fn packet_size_bytes(&self) -> usize {
        self.transport.packet_size_bytes()
    }

    /// Whether a new request may be sent. An answer that was left half-read is cancelled first.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        if self.answering && !self.broken {
            self.cancel_answer()?;
        }
        match self.broken {
            true => Err(Error::Broken),
            false => Ok(()),
        }
    }

    /// Sends a T-SQL batch in the current transaction.
    pub(crate) fn send_batch(&mut self, text: &str) -> Result<(), Error> {
        let batch = SqlBatch::new(text, self.state.version, self.state.transaction).encode()?;
        self.send(PacketType::SqlBatch, &batch)
    }

    /// Sends a whole request; the answer is to be read next.
    pub(crate) fn send(&mut self, packet_type: PacketType, payload: &[u8]) -> Result<(), Error> {
        self.ready()?;
        let sent = self.transport.send(packet_type, Status::NORMAL, payload);
        self.check(sent)?;
        self.expect_answer();
        Ok(())
    }

    /// Prepares for an answer.
    pub(crate) fn expect_answer(&mut self) {
        self.buffer.clear();
        self.used = 0;
        self.complete = false;
        self.answering = true;
        self.layout = None;
        self.errors.clear();
        self.messages.clear();
        self.attention_acknowledged = false;
        self.finished = false;
        self.timed_out = false;
        self.transaction_end = None;
        self.waited = Duration::ZERO;
        if self.command_timeout.is_some() {
            self.restart_clock();
        }
    }

    /// The time-out counts from the last sign of life.
    fn restart_clock(&mut self) {
        self.transport.set_deadline(self.command_timeout.map(|limit| Instant::now() + limit));
    }

    /// The next token of the answer, `None` at its end. Errors, messages and changes of the session are kept here; rows
    /// stay in the buffer for [`Session::rows`] and [`Session::consume`], or [`Session::skip_rows`].
    pub(crate) fn next_token(&mut self, doing: &'static str) -> Result<Option<Token>, Error> {
        loop {
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            if rest.is_empty() && self.complete {
                if self.transport.attention_sent() && !self.attention_acknowledged {
                    // The answer was complete before the attention came; the acknowledgement is a message of its own.
                    self.complete = false;
                    continue;
                }
                return self.end_of_answer(doing);
            }
            let next = self.tokens.next(rest).map_err(|error| Error::protocol("the answer", error));
            match self.check(next)? {
                Some((token, length)) => {
                    self.used += length;
                    self.note(&token)?;
                    return Ok(Some(token));
                }
                None => {
                    if self.buffer.len() - self.used > TOKEN_SIZE_MAX_BYTES {
                        return self.check(Err(Error::unexpected(doing, "a token longer than 16 MiB")));
                    }
                    self.fill(doing)?;
                }
            }
        }
    }

    /// The unread bytes of the answer, starting with a row.
    pub(crate) fn rows(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    /// Bytes of [`Session::rows`] that were used.
    pub(crate) fn consume(&mut self, length: usize) {
        self.used = (self.used + length).min(self.buffer.len());
    }

    /// Receives more of the answer. An error if it is over.
    pub(crate) fn fill(&mut self, doing: &'static str) -> Result<(), Error> {
        if self.complete {
            return self.check(Err(Error::unexpected(doing, "the answer ends inside a token")));
        }
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.used = 0;
        } else if self.used >= COMPACT_AT_BYTES || self.used >= self.buffer.len() / 2 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        loop {
            let started = Instant::now();
            let received = self.transport.receive(&mut self.buffer, doing);
            self.waited += started.elapsed();
            match received {
                Ok(complete) => {
                    self.complete = complete;
                    if self.command_timeout.is_some() && !self.transport.attention_sent() {
                        self.restart_clock();
                    }
                    return Ok(());
                }
                Err(Error::TimedOut { .. }) if !self.timed_out && !self.transport.attention_sent() => {
                    self.timed_out = true;
                    self.transport.set_deadline(None);
                    let sent = self.transport.send_attention();
                    self.check(sent)?;
                }
                // The attention was not acknowledged in time.
                Err(Error::TimedOut { doing }) if self.transport.attention_sent() => {
                    let error = if self.timed_out { Error::TimedOut { doing } } else { Error::Cancelled };
                    return self.check(Err(error));
                }
                // The server's own words explain more than the connection that it then closed.
                Err(error) => {
                    let error = self.take_errors().map_or(error, Error::from);
                    return self.check(Err(error));
                }
            }
        }
    }

    /// Skips the rows at the head of the buffer.
    pub(crate) fn skip_rows(&mut self, doing: &'static str) -> Result<(), Error> {
        let Some(layout) = &self.layout else {
            return self.check(Err(Error::unexpected(doing, "a row without columns")));
        };
        let span = layout.complete_rows(self.buffer.get(self.used..).unwrap_or_default());
        let span = span.map_err(|error| Error::protocol("a row", error));
        let span = self.check(span)?;
        self.consume(span.bytes);
        if span.rows == 0 { self.fill(doing) } else { Ok(()) }
    }

    /// Reads the answer to its end, without its rows. The server's errors make it an error.
    pub(crate) fn finish_answer(&mut self, doing: &'static str) -> Result<Answer, Error> {
        let mut answer = Answer::default();
        while let Some(token) = self.next_token(doing)? {
            match token {
                Token::Row | Token::NbcRow => self.skip_rows(doing)?,
                Token::Done(done) | Token::DoneInProc(done) | Token::DoneProc(done)
                    if done.status.contains(DoneStatus::COUNT) =>
                {
                    answer.counts.push(done);
                }
                Token::ReturnStatus(status) => answer.return_status = Some(status),
                Token::ReturnValue(value) => answer.outputs.push(value),
                _ => {}
            }
        }
        match self.take_errors() {
            Some(error) => Err(error.into()),
            None => Ok(answer),
        }
    }

    /// Stops the answer that is being read, and reads what is left of it.
    pub(crate) fn cancel_answer(&mut self) -> Result<(), Error> {
        if !self.answering || self.broken {
            return Ok(());
        }
        if !self.complete {
            let sent = self.transport.send_attention();
            self.check(sent)?;
        }
        match self.finish_answer("waiting for the end of a cancelled request") {
            Ok(_) | Err(Error::Cancelled | Error::Server(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Errors of the answer so far, and forgets them.
    pub(crate) fn take_errors(&mut self) -> Option<ServerError> {
        ServerError::from_messages(std::mem::take(&mut self.errors))
    }

    /// Messages of the answer so far, and forgets them.
    pub(crate) fn take_messages(&mut self) -> Vec<ServerMessage> {
        std::mem::take(&mut self.messages)
    }

    /// Passes a result on; after an error of transport or protocol the connection is not used again.
    pub(crate) fn check<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.broken = true;
        }
        result
    }

    /// Time spent waiting for the server in the current answer.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// Whether a request could still be sent.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Columns of the current result, for skipping its rows.
    fn set_columns(&mut self, columns: &[Column]) {
        self.layout = Some(RowLayout::new(columns));
    }

    fn note(&mut self, token: &Token) -> Result<(), Error> {
        match token {
            Token::Error(message) => {
                self.broken |= message.is_fatal();
                if self.errors.len() < MESSAGES_MAX {
                    self.errors.push(message.clone());
                }
            }
            Token::Info(message) if self.messages.len() < MESSAGES_MAX => self.messages.push(message.clone()),
            Token::ColMetaData(Some(columns)) => self.set_columns(columns),
            Token::EnvChange(change) => self.note_change(change)?,
            Token::Done(done) | Token::DoneProc(done) => {
                self.finished = !done.status.contains(DoneStatus::MORE);
                self.attention_acknowledged |= done.status.contains(DoneStatus::ATTENTION);
            }
            _ => {}
        }
        Ok(())
    }

    fn note_change(&mut self, change: &EnvChange) -> Result<(), Error> {
        match change {
            EnvChange::Database(change) => self.state.database.clone_from(&change.new),
            EnvChange::Collation { new, .. } => self.state.collation = *new,
            EnvChange::PacketSize { new, .. } => match usize::try_from(*new) {
                Ok(size) if (512..=32767).contains(&size) => self.transport.set_packet_size_bytes(size),
                _ => {
                    return self.check(Err(Error::unexpected(
                        "logging in",
                        format!("a packet size of {new} bytes"),
                    )));
                }
            },
            EnvChange::Transaction { event, new, .. } => match event {
                TransactionEvent::Begin | TransactionEvent::EnlistDtc => {
                    self.state.transaction = new.unwrap_or_default()
                }
                TransactionEvent::Commit
                | TransactionEvent::Rollback
                | TransactionEvent::Defect
                | TransactionEvent::Ended => {
                    self.state.transaction = 0;
                    self.transaction_end = Some(*event);
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn end_of_answer(&mut self, doing: &'static str) -> Result<Option<Token>, Error> {
        if !self.answering {
            return Ok(None);
        }
        self.answering = false;
        self.transport.finish_request();
        if !self.finished {
            let error = self
                .take_errors()
                .map_or_else(|| Error::unexpected(doing, "the answer ends without DONE"), Error::from);
            return self.check(Err(error));
        }
        self.transport.set_deadline(None);
        match (self.timed_out, self.attention_acknowledged) {
            (true, _) => Err(Error::TimedOut { doing }),
            // What the server complained about before is the better explanation.
            (false, true) if self.errors.is_empty() => Err(Error::Cancelled),
            _ => Ok(None),
        }
    }
}
