//! A session on the wire: one request and one answer after another, until the client leaves.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use databases::instance::counts::RequestKind;
use databases::instance::registry::Killed;
use executor::session::bulk_target::BulkTarget;
use executor::session::early_events::EarlyEvents;
use executor::session::request::Request;
use executor::session::response::{Response, SessionChange};
use executor::session::{Cancellation, Session};
use executor::statements::{
    begin_bulk, execute, execute_early, fire_after_bulk, is_light, notice_of_duplicates, notice_of_load,
};
use tds::codec::DecodeErrorKind;
use tds::conversation::server::{ClientRequest, Event, Message, Reset};
use tds::done::{Done, DoneStatus, command};
use tds::token::Token;
use tds::version::TdsVersion;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, error_span};
use tsql::SqlError;
use tsql::errors;

use crate::connection::ConnectionError;
use crate::connection::batch_writer::WriterContext;
use crate::connection::bulk_receiver;
use crate::connection::bulk_receiver::{BulkOutcome, Load, Received, RowSink};
use crate::connection::discard::DiscardSink;
use crate::connection::execution;
use crate::connection::fault_sink::Faulty;
use crate::connection::faulty::{Course, FaultyLine, Loss};
use crate::connection::handshake::Connection;
use crate::connection::packet_reader::PacketReader;
use crate::connection::request_log;
use crate::connection::response_writer::{Fate, ResponseWriter};
use crate::connection::responses::{Answer, ResponseEncoder, env_change};
use crate::connection::store_sink::StoreSink;
use crate::connection::trace;
use crate::serving::Shared;
use crate::transport::{Broken, Transport};

/// Events between the session and the wire: enough to overlap their work, few enough to bound memory.
const EVENTS_QUEUED: usize = 2;
/// The time for which a connection stays open so that its client can read the reason for its end.
const LINGER_TIME: Duration = Duration::from_secs(10);

/// Serves requests until the client leaves or an error ends the connection.
pub(super) async fn serve(connection: Connection, shared: &Arc<Shared>) -> Result<(), ConnectionError> {
    let Connection {
        transport,
        conversation,
        session,
        version,
        vectors,
        packet_size_bytes,
        spid,
        broken,
        faults,
    } = connection;
    let (read, write) = tokio::io::split(transport);
    let killed = session.killed();
    let mut requests = Requests {
        reader: PacketReader::new(read, conversation),
        writer: ResponseWriter::new(write, packet_size_bytes, spid),
        session: Some(Box::new(session)),
        version,
        vectors,
        spid,
        shared: Arc::clone(shared),
        bulk: None,
        killed,
        secret: false,
        broken,
        faults,
    };
    while requests.exchange().await? {}
    Ok(())
}

struct Requests {
    reader: PacketReader<ReadHalf<Transport>>,
    writer: ResponseWriter<WriteHalf<Transport>>,
    /// Away while a request runs, and for good if its thread panicked.
    session: Option<Box<Session>>,
    version: TdsVersion,
    /// The version of vectors that the client knows.
    vectors: u8,
    spid: u16,
    shared: Arc<Shared>,
    /// The target that INSERT BULK has named, for the data that follow it.
    bulk: Option<Box<BulkTarget>>,
    killed: Killed,
    /// The request that is logged mentions secrets.
    secret: bool,
    broken: Broken,
    /// Injected ones.
    faults: Option<FaultyLine>,
}

impl Requests {
    /// Handles one request and its answer; `false` once the connection is over.
    async fn exchange(&mut self) -> Result<bool, ConnectionError> {
        let target = self.bulk.take();
        let event = tokio::select! {
            biased;
            () = self.killed.wait() => return Ok(self.end_idle()),
            event = self.reader.event() => event,
        };
        let event = match event {
            Ok(Some((event, _))) => event,
            Ok(None) => return Ok(false),
            // The request exceeds the limit: its client gets an error before the connection ends.
            Err(ConnectionError::Decode(error)) if matches!(error.kind, DecodeErrorKind::TooLong { .. }) => {
                self.fail(errors::MALFORMED_STREAM.with([&error.to_string()])).await?;
                self.linger().await;
                return Err(error.into());
            }
            Err(error) => return Err(error),
        };
        match (event, target) {
            (Event::BulkBegins, Some(target)) => {
                self.bulk_load(*target).instrument(error_span!("request", kind = "bulk load")).await
            }
            (Event::Request(message), _) => self.request(message).await,
            (Event::Attention, _) => {
                trace::attention();
                if self.shared.options.log_requests {
                    request_log::attention(self.spid);
                }
                self.reader.conversation().answered(false);
                self.done(DoneStatus::ATTENTION, 0).await
            }
            (event, _) => Err(ConnectionError::Unexpected(format!("{event:?}").into())),
        }
    }

    /// Handles a whole request.
    async fn request(&mut self, message: Message) -> Result<bool, ConnectionError> {
        if self.shared.options.log_requests {
            self.secret = request_log::request(self.spid, &message, self.version);
        }
        if message.ignored {
            self.reader.conversation().answered(false);
            return self.done(DoneStatus::FINAL, 0).await;
        }
        let request = match message.request(self.version) {
            Ok(request) => request,
            Err(error) => {
                let error = ConnectionError::from(error);
                if let Some(refusal) = error.refusal() {
                    let changes = self.reset(message.reset())?;
                    return self.answer(Request::Refused(refusal), changes).await;
                }
                self.fail(errors::MALFORMED_STREAM.with([&error.to_string()])).await?;
                return Err(error);
            }
        };
        let span = trace::request(&request, message.reset().is_some());
        let request = match request {
            ClientRequest::Batch(batch) => Request::Batch(batch.text),
            ClientRequest::Rpc(rpc) => Request::Rpc(rpc.requests),
            ClientRequest::Transaction(message) => Request::Transaction(message.request),
            ClientRequest::UnannouncedBulk => Request::Refused(SqlError::new(
                4002,
                16,
                1,
                "The incoming tabular data stream (TDS) protocol stream is incorrect: bulk load data without INSERT BULK.",
            )),
        };
        let changes = self.reset(message.reset())?;
        let Some(faults) = &mut self.faults else {
            return self.answer(request, changes).instrument(span).await;
        };
        match faults.request(&request).await {
            Course::NotDone(loss) => self.lose(loss).await,
            Course::Goes(delay) => {
                self.writer.set_fate(if delay.is_zero() { Fate::Sent } else { Fate::Delayed(delay) });
                self.answer(request, changes).instrument(span).await
            }
            Course::Unanswered(loss) => {
                self.writer.set_fate(Fate::Dropped);
                let open = self.answer(request, changes).instrument(span).await?;
                self.lose_answer(loss, open).await
            }
        }
    }

    /// Loses a request's answer, after all was done.
    async fn lose_answer(&mut self, loss: Loss, open: bool) -> Result<bool, ConnectionError> {
        self.writer.set_fate(Fate::Sent);
        self.bulk = None;
        let stays = self.lose(loss).await?;
        Ok(stays && open)
    }

    /// Sends an injected error, cuts the connection or stays silent, in place of an answer.
    async fn lose(&mut self, loss: Loss) -> Result<bool, ConnectionError> {
        match loss {
            Loss::Error(failure) => {
                let database = self.session.as_deref().map_or("", Session::database);
                let error = failure.error(self.spid, database);
                let fatal = error.class >= 20;
                let change = self.session.as_mut().and_then(|session| session.note_failure(&error));
                self.change(change)?;
                self.fail(error).await?;
                if !fatal {
                    self.acknowledge(false).await?;
                }
                Ok(!fatal)
            }
            Loss::Cut(ending) => {
                if let Some(faults) = &self.faults {
                    faults.cut(ending);
                }
                Ok(false)
            }
            Loss::Silence => {
                tokio::select! {
                    biased;
                    () = self.killed.wait() => return self.end_killed().await,
                    () = async { while self.reader.pass_over().await {} } => {}
                }
                Ok(false)
            }
        }
    }

    /// Ends a session that was killed while it waited for a request. It is undone, and the connection closed at once
    /// without an error. A pool would take a connection with an unread error for one that lives.
    fn end_idle(&mut self) -> bool {
        self.session = None;
        false
    }

    /// Ends a session that was killed while its client sent rows: it is undone at once, and the client finds the reason
    /// behind them.
    async fn end_killed(&mut self) -> Result<bool, ConnectionError> {
        self.session = None;
        self.fail(errors::KILLED.error()).await?;
        self.linger().await;
        Ok(false)
    }

    /// Passes over what the client still sends: a socket that is closed while bytes come in takes back what was sent.
    async fn linger(&mut self) {
        let left = async { while self.reader.pass_over().await {} };
        let _ = tokio::time::timeout(LINGER_TIME, left).await;
    }

    /// Answers with an error after which the connection is closed.
    async fn fail(&mut self, error: SqlError) -> Result<(), ConnectionError> {
        self.shared.counts.note_error(error.class);
        let message = self.shared.instance.server_message(error);
        let status = if message.is_fatal() { DoneStatus::SERVER_ERROR } else { DoneStatus::ERROR };
        self.writer.tokens(|w| Token::Error(message).encode(w, self.version))?;
        self.done(status, 0).await.map(drop)
    }

    /// Takes the session, for work that may move it to another thread.
    fn session(&mut self) -> Result<Box<Session>, ConnectionError> {
        self.session.take().ok_or_else(|| ConnectionError::Lost("no session".to_owned()))
    }

    /// Reports that the session's thread panicked: a defect, which must not look like a network failure to the client.
    async fn lost(&mut self, reason: impl std::fmt::Display) -> ConnectionError {
        let told = self.fail(SqlError::internal("the request ended abnormally").fatal()).await;
        told.err().unwrap_or_else(|| ConnectionError::Lost(reason.to_string()))
    }

    /// Resets the session if the request's first packet asks for it; the acknowledgement leads the answer.
    fn reset(&mut self, reset: Option<Reset>) -> Result<Vec<SessionChange>, ConnectionError> {
        let Some(Reset { keeps_transaction }) = reset else { return Ok(Vec::new()) };
        let Some(session) = &mut self.session else {
            return Err(ConnectionError::Lost("no session".to_owned()));
        };
        let changes = session.reset(keeps_transaction);
        self.writer.tokens(|w| {
            Token::EnvChange(tds::env_change::EnvChange::ResetConnectionAck).encode(w, self.version);
        })?;
        Ok(changes)
    }

    /// Runs a request and writes its events as they come, with an ear for the client's cancellation. A cancelled request
    /// has two answers, as SQL Server gives them: its own, cut short, and after it the acknowledgement of the attention.
    async fn answer(
        &mut self,
        request: Request,
        changes: Vec<SessionChange>,
    ) -> Result<bool, ConnectionError> {
        let began = Instant::now();
        let kind = kind_of(&request);
        let database = self.session.as_deref().map_or("", Session::database);
        let mut encoder = ResponseEncoder::new(self.version, self.vectors, database);
        for change in changes {
            encoder.event(Response::Change(change), &mut self.writer).await?;
        }
        let cancellation = Cancellation::new();
        let (events, mut queue) = mpsc::channel(EVENTS_QUEUED);
        let mut session = self.session()?;
        let watched = cancellation.clone();
        let mut execution: Pin<Box<dyn Future<Output = Box<Session>> + Send>>;
        if is_light(&session, &request) {
            let early = EarlyEvents::new();
            let kept = early.clone();
            execution = Box::pin(async move {
                execute_early(&mut session, request, events, kept, watched).await;
                session
            });
            // Here and now, unless it turns out to need more.
            let first = poll_fn(|context| {
                let poll = AssertUnwindSafe(|| execution.as_mut().poll(context));
                Poll::Ready(catch_unwind(poll))
            });
            let Ok(done) = first.await else { return Err(self.lost("it panicked").await) };
            for event in early.take() {
                encoder.event(event, &mut self.writer).await?;
            }
            if let Poll::Ready(session) = done {
                self.session = Some(session);
                self.note_answer(kind, encoder.answer(), false, began);
                let fatal = encoder.finish(&mut self.writer).await?;
                self.reader.conversation().answered(false);
                return Ok(!fatal);
            }
        } else {
            execution = Box::pin(async move {
                execute(&mut session, request, events, watched).await;
                session
            });
        }
        // On the threads for work: a query that computes, and a wait for a lock or the disk, hold up no connection.
        let (mut execution, stop) = execution::spawn(execution, &self.shared.work, &cancellation);
        let (mut attention, mut killed) = (false, false);
        let mut bulk = None;
        loop {
            tokio::select! {
                // The client's cancellation first: a result that flows fast must not drown it.
                biased;
                () = self.killed.wait(), if !killed => {
                    killed = true;
                    cancellation.cancel();
                }
                // Nothing but an attention comes here: the conversation refuses the rest.
                event = self.reader.event(), if !attention => match event? {
                    Some(_) => {
                        attention = true;
                        cancellation.cancel();
                    }
                    None => {
                        // The session is over when its request has noticed, and only then is the connection's place free.
                        drop(stop);
                        let _ = execution.await;
                        return Ok(false);
                    }
                },
                event = queue.recv() => match event {
                    Some(Response::BulkExpected(target)) => bulk = Some(target),
                    Some(event) => encoder.event(event, &mut self.writer).await?,
                    None => break,
                },
            }
        }
        match (&mut execution).await {
            Ok(Ok(session)) => self.session = Some(session),
            Ok(Err(error)) => return Err(self.lost(error).await),
            Err(error) => return Err(self.lost(error).await),
        }
        drop(stop);
        if killed {
            let message = self.shared.instance.server_message(errors::KILLED.error());
            encoder.event(Response::Error(message), &mut self.writer).await?;
        }
        self.bulk = bulk.filter(|_| !attention);
        self.note_answer(kind, encoder.answer(), attention, began);
        let fatal = encoder.finish(&mut self.writer).await?;
        self.acknowledge(self.bulk.is_some()).await?;
        Ok(!fatal)
    }

    /// Counts an answer, and logs it.
    fn note_answer(&self, kind: RequestKind, answer: &Answer, is_cancelled: bool, began: Instant) {
        self.shared.counts.requests(kind).add(began.elapsed());
        self.count(answer);
        trace::answered(answer, is_cancelled, began);
        if self.shared.options.log_requests {
            request_log::answered(self.spid, answer, self.secret, is_cancelled, began.elapsed());
        }
    }

    /// Counts what an answer has, and nothing where it has nothing.
    fn count(&self, answer: &Answer) {
        if answer.rows_sent > 0 {
            self.shared.counts.rows_sent.add(answer.rows_sent);
        }
        answer.error_classes.iter().for_each(|class| self.shared.counts.note_error(*class));
    }

    async fn bulk_load(&mut self, target: BulkTarget) -> Result<bool, ConnectionError> {
        let began = Instant::now();
        let mut session = self.session()?;
        let cancellation = Cancellation::new();
        session.watch(&cancellation);
        let waits = session.seat.waits();
        session.seat.note_request(true);
        let (course, fault_sink) = match &mut self.faults {
            Some(faults) => faults.bulk().await,
            None => (Course::Goes(Duration::ZERO), None),
        };
        let (refusal, loss) = match course {
            Course::Goes(delay) => {
                self.writer.set_fate(if delay.is_zero() { Fate::Sent } else { Fate::Delayed(delay) });
                (None, None)
            }
            Course::NotDone(Loss::Error(failure)) => {
                (Some(failure.error(self.spid, session.database())), None)
            }
            Course::NotDone(loss) => {
                self.session = Some(session);
                return self.lose(loss).await;
            }
            Course::Unanswered(loss) => {
                self.writer.set_fate(Fate::Dropped);
                (None, Some(loss))
            }
        };
        let faulty = fault_sink.map(|faults| {
            let (instance, database) = (Arc::clone(&self.shared.instance), session.database().to_owned());
            (faults, cancellation.clone(), instance, self.spid, database)
        });
        let (give_back, returned) = oneshot::channel();
        let discard = self.shared.options.discard;
        let context = WriterContext { threads: self.shared.work.clone(), waits: Arc::clone(&waits) };
        let sink = move || -> Box<dyn RowSink> {
            let mut sink: Box<dyn RowSink> = match (refusal, discard) {
                (Some(error), _) => Box::new(StoreSink::new(Err(error), context)),
                (None, true) => Box::new(DiscardSink::default()),
                (None, false) => Box::new(StoreSink::new(begin_bulk(&mut session, target), context)),
            };
            if let Some((faults, cancellation, instance, spid, database)) = faulty {
                sink = Box::new(Faulty { faults, inner: sink, cancellation, instance, spid, database });
            }
            // Nobody takes it back if the connection has ended meanwhile.
            let _ = give_back.send(session);
            sink
        };
        let load = Load {
            sink,
            threads: self.shared.work.clone(),
            cancellation,
            row_max_bytes: self.shared.options.limits.row_bytes,
            waits,
        };
        let received = tokio::select! {
            biased;
            () = self.killed.wait() => return self.end_killed().await,
            received = bulk_receiver::receive(&mut self.reader, load, &self.broken) => received,
        };
        let received = match received {
            Ok(received) => received,
            Err(ConnectionError::Lost(reason)) => return Err(self.lost(reason).await),
            Err(error) => return Err(error),
        };
        let Ok(mut session) = returned.await else { return Err(self.lost("no session").await) };
        self.shared.counts.requests(RequestKind::BulkLoad).add(began.elapsed());
        let open = self.bulk_done(received, &mut session).await;
        session.seat.note_request(false);
        self.session = Some(session);
        match loss {
            Some(loss) => self.lose_answer(loss, open?).await,
            None => open,
        }
    }

    /// Answers a bulk message.
    async fn bulk_done(
        &mut self,
        received: Received,
        session: &mut Session,
    ) -> Result<bool, ConnectionError> {
        let Received { outcome, attention, complete } = received;
        let logs = self.shared.options.log_requests;
        let mut open = true;
        trace::loaded(&outcome);
        match outcome {
            BulkOutcome::Loaded { rows } => {
                if logs {
                    request_log::bulk(self.spid, &format!("{rows} rows"));
                }
                if session.fires_after_bulk() && !self.fire_after_bulk(session).await? {
                    self.acknowledge(false).await?;
                    return Ok(true);
                }
                session.note_bulk(rows);
                self.shared.counts.rows_loaded.add(rows);
                let load = notice_of_load(session).filter(|_| !self.shared.options.discard);
                for notice in notice_of_duplicates(session).into_iter().chain(load) {
                    let notice = self.shared.instance.server_message(notice);
                    self.writer.tokens(|w| Token::Info(notice).encode(w, self.version))?;
                }
                self.done_token(DoneStatus::COUNT, rows)?;
            }
            BulkOutcome::Failed(error) => {
                if logs {
                    request_log::bulk(self.spid, &error.to_string());
                }
                let change = session.note_failure(&error);
                self.shared.counts.note_error(error.class);
                let message = self.shared.instance.server_message(error);
                open = !message.is_fatal();
                self.change(change)?;
                self.writer.tokens(|w| Token::Error(message).encode(w, self.version))?;
                self.done_token(DoneStatus::ERROR, 0)?;
            }
            BulkOutcome::Cancelled => {
                if logs {
                    request_log::bulk(self.spid, "cancelled");
                }
                let change = session.note_failure(&errors::CANCELLED.error());
                self.change(change)?;
                if complete || !attention {
                    self.done_token(DoneStatus::FINAL, 0)?;
                }
            }
        }
        if !self.writer.is_empty() {
            self.writer.finish().await?;
        }
        self.acknowledge(false).await?;
        Ok(open)
    }

    /// Writes what the triggers of a bulk load answer. Whether the load stays; if not, the answer is whole.
    async fn fire_after_bulk(&mut self, session: &mut Session) -> Result<bool, ConnectionError> {
        let (events, mut queue) = mpsc::channel(EVENTS_QUEUED);
        let mut encoder = ResponseEncoder::new(self.version, self.vectors, session.database());
        let writer = &mut self.writer;
        let written = async {
            while let Some(event) = queue.recv().await {
                encoder.event(event, writer).await?;
            }
            Ok::<_, ConnectionError>(encoder)
        };
        let (stays, encoder) = tokio::join!(fire_after_bulk(session, events, Cancellation::new()), written);
        let mut encoder = encoder?;
        self.count(encoder.answer());
        match stays {
            true => encoder.release_all(&mut self.writer)?,
            false => {
                encoder.finish(&mut self.writer).await?;
            }
        }
        Ok(stays)
    }

    fn change(&mut self, change: Option<SessionChange>) -> Result<(), ConnectionError> {
        let Some(change) = change else { return Ok(()) };
        self.writer.tokens(|w| Token::EnvChange(env_change(change)).encode(w, self.version))
    }

    /// Ends the answer. If the client has sent an attention meanwhile, acknowledges it in a separate answer.
    async fn acknowledge(&mut self, bulk_expected: bool) -> Result<(), ConnectionError> {
        match self.reader.conversation().answered(bulk_expected) {
            true => self.done(DoneStatus::ATTENTION, 0).await.map(drop),
            false => Ok(()),
        }
    }

    /// Ends an answer with a DONE of its own.
    async fn done(&mut self, status: DoneStatus, rows: u64) -> Result<bool, ConnectionError> {
        self.done_token(status, rows)?;
        self.writer.finish().await?;
        Ok(true)
    }

    fn done_token(&mut self, status: DoneStatus, rows: u64) -> Result<(), ConnectionError> {
        let command = if status.contains(DoneStatus::COUNT) { command::BULK_INSERT } else { 0 };
        let done = Token::Done(Done { status, command, row_count: rows });
        self.writer.tokens(|w| done.encode(w, self.version))
    }
}

fn kind_of(request: &Request) -> RequestKind {
    match request {
        Request::Batch(_) => RequestKind::Batch,
        Request::Rpc(_) => RequestKind::Call,
        Request::Transaction(_) => RequestKind::Transaction,
        // Rows that nothing has announced.
        Request::Refused(_) => RequestKind::BulkLoad,
    }
}
