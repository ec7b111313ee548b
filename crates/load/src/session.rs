//! One logged-in connection: sends requests, receives tokens, and keeps the session state that the server reports.

use std::{
    fmt,
    time::{Duration, Instant},
};

use tds::{
    FirstWords, PacketType, ServerMessage, SqlBatch, Status, TdsVersion, TransactionEvent,
    conversation::client::{self as protocol, AnswerEnd, AnswerStep, Environment},
    done::{Done, DoneStatus},
    token::{ReturnValue, Token},
};

use crate::{
    error::{Error, ServerError},
    trace::Trace,
    transport::Transport,
};

/// The number of an error that the server did not send.
const NO_NUMBER: i32 = 0;
/// The error text for a statement that failed without an error message.
const SEVERE_ERROR: &str =
    "A severe error occurred on the current command. The results, if any, should be discarded.";
/// Messages kept of one answer; a procedure may PRINT without end.
const MESSAGES_MAX: usize = 1000;
/// A connection with its answer buffer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) transport: Transport,
    pub(crate) state: Environment,
    answer: protocol::Answer,
    errors: Vec<ServerMessage>,
    /// An error of this answer was seen, and may have been taken.
    has_failed: bool,
    messages: Vec<ServerMessage>,
    timed_out: bool,
    /// A load that fails closes the connection instead of asking the server to stop.
    pub(crate) closes_failed_loads: bool,
    own_transaction: Option<OwnTransaction>,
    broken: bool,
    /// The time limit of the login, until it has ended.
    login: Option<LoginTime>,
    command_timeout: Option<Duration>,
    waited: Duration,
    trace: Trace,
}

/// The time of a login that is under way.
#[derive(Debug, Clone, Copy)]
struct LoginTime {
    ends: Option<Instant>,
}

/// Everything of an answer but its rows.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Every counted DONE, in order.
    pub(crate) counts: Vec<Done>,
    pub(crate) return_status: Option<i32>,
    pub(crate) outputs: Vec<ReturnValue>,
}

/// A transaction that this client has begun and not ended yet. It is one until then: what follows an end that nobody has asked for
/// here would otherwise be committed by itself.
#[derive(Debug)]
pub(crate) struct OwnTransaction {
    /// As the server names it.
    descriptor: u64,
    early: Option<EarlyEnd>,
}

/// The end of a transaction that came before its client ended it.
#[derive(Debug)]
struct EarlyEnd {
    committed: bool,
    cause: Option<ServerError>,
}

impl OwnTransaction {
    fn new(descriptor: u64) -> Self {
        Self { descriptor, early: None }
    }

    /// Compares with what the server says at the end of an answer. `cause` are the errors of that answer.
    fn look(
        &mut self,
        open: u64,
        end: Option<TransactionEvent>,
        cause: impl FnOnce() -> Option<ServerError>,
    ) {
        if open == self.descriptor || self.early.is_some() {
            return;
        }
        let committed = end == Some(TransactionEvent::Commit);
        self.early = Some(EarlyEnd { committed, cause: if committed { None } else { cause() } });
    }

    /// Returns an error if the transaction has ended early.
    fn check(&self) -> Result<(), Error> {
        let Some(EarlyEnd { committed, cause }) = &self.early else { return Ok(()) };
        Err(Error::TransactionEnded { committed: *committed, cause: cause.clone().map(Box::new) })
    }
}

impl Session {
    pub(crate) fn new(transport: Transport, version: TdsVersion) -> Self {
        Self {
            transport,
            state: Environment::new(version),
            answer: protocol::Answer::new(version),
            errors: Vec::new(),
            has_failed: false,
            messages: Vec::new(),
            timed_out: false,
            closes_failed_loads: false,
            own_transaction: None,
            broken: false,
            login: None,
            command_timeout: None,
            waited: Duration::ZERO,
            trace: Trace::new(),
        }
    }

    /// Limits the time for every answer of the login; without an end, they are waited for for ever.
    pub(crate) fn logs_in_until(&mut self, ends: Option<Instant>) {
        self.login = Some(LoginTime { ends });
        self.transport.set_deadline(ends);
    }

    /// Ends the login: its time limits end and those of commands begin.
    pub(crate) fn logged_in(
        &mut self,
        version: TdsVersion,
        command_timeout: Option<Duration>,
        packet_size_asked_bytes: u16,
    ) -> Result<(), Error> {
        self.state.version = version;
        self.answer.set_version(version);
        self.command_timeout = command_timeout;
        self.login = None;
        self.transport.set_deadline(None);
        self.transport.packet_size().logged_in(packet_size_asked_bytes.into());
        self.transport.set_silence(command_timeout).map_err(|source| Error::io("after login", source))
    }

    /// Returns the end of the transaction that the last answer reported.
    pub(crate) fn transaction_end(&self) -> Option<TransactionEvent> {
        self.state.transaction_end
    }

    /// Declares the open transaction as one that this client ends, and nothing else may.
    pub(crate) fn own_transaction(&mut self) {
        self.own_transaction = Some(OwnTransaction::new(self.state.transaction));
    }

    /// Gives up the ownership of the transaction, so that requests are allowed again, even if it has ended.
    pub(crate) fn disown_transaction(&mut self) -> Option<OwnTransaction> {
        self.own_transaction.take()
    }

    /// Takes the transaction back, since it was not ended here after all.
    pub(crate) fn keep_transaction(&mut self, own: Option<OwnTransaction>) {
        self.own_transaction = own;
    }

    /// Returns true if a transaction that this client began still has to be ended here.
    pub(crate) fn owns_transaction(&self) -> bool {
        self.own_transaction.is_some()
    }

    /// Returns an error if the transaction that this client began has ended without it.
    pub(crate) fn check_transaction(&self) -> Result<(), Error> {
        self.own_transaction.as_ref().map_or(Ok(()), OwnTransaction::check)
    }

    /// Gives the connection up without another word to the server, which rolls back what is open.
    pub(crate) fn close(&mut self) {
        self.broken = true;
        self.transport.shut_down();
    }

    /// Prepares the connection for a new request. Cancels an answer that was left half-read.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        if self.answer.is_open() && !self.broken {
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
        self.send(PacketType::SqlBatch, &batch, FirstWords(text))
    }

    /// Sends a whole request; the answer is to be read next.
    pub(crate) fn send(
        &mut self,
        packet_type: PacketType,
        payload: &[u8],
        words: impl fmt::Display,
    ) -> Result<(), Error> {
        self.ready()?;
        self.check_transaction()?;
        let kind = match packet_type {
            PacketType::Rpc => "call",
            PacketType::TransactionManager => "transaction",
            _ => "batch",
        };
        self.trace.request(kind, words);
        let sent = self.transport.send(packet_type, Status::NORMAL, payload);
        let sent = sent.map_err(|error| self.stopped(error, "sending"));
        self.check(sent)?;
        self.expect_answer();
        Ok(())
    }

    /// Prepares for an answer.
    pub(crate) fn expect_answer(&mut self) {
        self.answer.expect();
        self.errors.clear();
        self.has_failed = false;
        self.messages.clear();
        self.timed_out = false;
        self.state.transaction_end = None;
        self.waited = Duration::ZERO;
        if self.command_timeout.is_some() {
            self.restart_clock();
        }
    }

    /// Restarts the time-out at the last sign of life.
    fn restart_clock(&mut self) {
        self.transport.set_deadline(self.command_timeout.map(|limit| Instant::now() + limit));
    }

    /// Returns the next token of the answer, `None` at its end. Errors, messages and changes of the session are kept
    /// here; rows stay in the buffer for [`Session::rows`] and [`Session::consume`], or [`Session::skip_rows`].
    pub(crate) fn next_token(&mut self, doing: &'static str) -> Result<Option<Token>, Error> {
        loop {
            let step = self.answer.next(self.transport.attention_sent());
            let step = step.map_err(|error| Error::conversation(doing, error));
            match self.check(step)? {
                AnswerStep::Token(token) => {
                    self.note(&token)?;
                    return Ok(Some(token));
                }
                AnswerStep::NeedPackets => self.fill(doing)?,
                AnswerStep::End(end) => return self.end_of_answer(end, doing),
            }
        }
    }

    /// Returns the unread bytes of the answer, starting with a row.
    pub(crate) fn rows(&self) -> &[u8] {
        self.answer.unread()
    }

    /// Bytes of [`Session::rows`] that were used.
    pub(crate) fn consume(&mut self, length: usize) {
        self.answer.consume(length);
    }

    /// Receives more of the answer. An error if it is over.
    pub(crate) fn fill(&mut self, doing: &'static str) -> Result<(), Error> {
        loop {
            let started = Instant::now();
            let (received, brought) = match self.answer.room() {
                Ok(room) => {
                    let before = room.len();
                    let received = self.transport.receive(room, doing);
                    (received, room.len() > before)
                }
                Err(error) => return self.check(Err(Error::conversation(doing, error))),
            };
            self.waited += started.elapsed();
            match received {
                Ok(complete) => {
                    self.answer.received(complete);
                    // Packets without content are no sign of work.
                    if brought && self.command_timeout.is_some() && !self.transport.attention_sent() {
                        self.restart_clock();
                    }
                    return Ok(());
                }
                // A login is not called off by an attention.
                Err(error @ Error::TimedOut { .. }) if self.login.is_some() => {
                    return self.check(Err(error));
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
                    let error = match self.take_errors() {
                        Some(said) => said.into(),
                        None => self.stopped(error, doing),
                    };
                    return self.check(Err(error));
                }
            }
        }
    }

    /// Servers exist that close the connection where they are asked to stop: the caller hears of the stop then.
    fn stopped(&self, error: Error, doing: &'static str) -> Error {
        match error {
            Error::Io { .. } | Error::TimedOut { .. } if self.transport.cancel_requested() => {
                Error::Cancelled
            }
            Error::Io { .. } if self.timed_out => Error::TimedOut { doing },
            error => error,
        }
    }

    /// Skips the rows at the head of the buffer.
    pub(crate) fn skip_rows(&mut self, doing: &'static str) -> Result<(), Error> {
        let Some(span) = self.answer.skip_rows() else {
            return self.check(Err(Error::unexpected(doing, "a row without columns")));
        };
        let span = self.check(span.map_err(|error| Error::protocol("a row", error)))?;
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
        if !self.answer.is_open() || self.broken {
            return Ok(());
        }
        if !self.answer.is_complete() {
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
        if result.is_err() && !std::mem::replace(&mut self.broken, true) {
            self.trace.broken();
        }
        result
    }

    /// Returns the time spent waiting for the server in the current answer.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns true if the connection can send no more requests.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    fn note(&mut self, token: &Token) -> Result<(), Error> {
        match token {
            Token::Error(message) => {
                self.has_failed = true;
                self.broken |= message.is_fatal();
                if self.errors.len() < MESSAGES_MAX {
                    self.errors.push(message.clone());
                }
            }
            // A statement that failed without a word has failed all the same; SqlClient says so in these words.
            Token::Done(done) | Token::DoneInProc(done) | Token::DoneProc(done)
                if done.status.has_failed() && !std::mem::replace(&mut self.has_failed, true) =>
            {
                self.errors.push(ServerMessage {
                    number: NO_NUMBER,
                    state: 0,
                    class: 11,
                    message: SEVERE_ERROR.to_owned(),
                    server: String::new(),
                    procedure: String::new(),
                    line: 0,
                });
            }
            Token::Info(message) if self.messages.len() < MESSAGES_MAX => self.messages.push(message.clone()),
            Token::EnvChange(change) => {
                let transport = &mut self.transport;
                let applied = self.state.apply(change, |bytes| transport.packet_size().grant(bytes));
                self.check(applied.map_err(|error| Error::conversation("logging in", error)))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn end_of_answer(&mut self, end: AnswerEnd, doing: &'static str) -> Result<Option<Token>, Error> {
        if end == AnswerEnd::Before {
            return Ok(None);
        }
        self.transport.finish_request();
        self.trace.answered(&self.errors, end == AnswerEnd::Acknowledged);
        if let Some(own) = &mut self.own_transaction {
            let errors = &self.errors;
            let cause = || ServerError::from_messages(errors.clone());
            own.look(self.state.transaction, self.state.transaction_end, cause);
        }
        if end == AnswerEnd::Torn {
            let error = self
                .take_errors()
                .map_or_else(|| Error::unexpected(doing, "the answer ends without DONE"), Error::from);
            return self.check(Err(error));
        }
        if end == AnswerEnd::Acknowledged {
            // Drops the error without a number: the request failed only because it was interrupted.
            self.errors.retain(|error| error.number != NO_NUMBER);
        }
        // The remaining answers of a login have the time that is left.
        self.transport.set_deadline(self.login.and_then(|login| login.ends));
        match (self.timed_out, end) {
            (true, _) => Err(Error::TimedOut { doing }),
            // An earlier message of the server is the better explanation.
            (false, AnswerEnd::Acknowledged) if self.errors.is_empty() => Err(Error::Cancelled),
            _ => Ok(None),
        }
    }
}
