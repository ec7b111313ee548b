//! The life of a session on the wire: one request, one answer, until the client leaves.

use std::sync::Arc;

use tds::done::{Done, DoneStatus, command};
use tds::packet::{PacketType, Status};
use tds::rpc::RpcMessage;
use tds::sql_batch::SqlBatch;
use tds::token::Token;
use tds::transaction_request::TransactionMessage;
use tds::version::TdsVersion;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::bulk_receiver::{self, BulkOutcome, RowSink};
use super::discard::DiscardSink;
use super::handshake::Connection;
use super::packet_reader::{Message, PacketReader};
use super::response_writer::ResponseWriter;
use super::responses::ResponseEncoder;
use super::store_sink::StoreSink;
use super::{ConnectionError, request_log};
use crate::listener::Shared;
use crate::session::response::{Response, SessionChange};
use crate::session::{BulkTarget, Cancellation, Request, Session};
use crate::sql_error::SqlError;
use crate::transport::Transport;

/// Events between the session and the wire: enough to overlap their work, few enough to bound memory.
const EVENTS_QUEUED: usize = 2;

/// Serves requests until the client leaves or an error ends the connection.
pub(super) async fn serve(connection: Connection, shared: &Arc<Shared>) -> Result<(), ConnectionError> {
    let Connection { transport, session, version, packet_size_bytes, spid } = connection;
    let (read, write) = tokio::io::split(transport);
    let mut conversation = Conversation {
        reader: PacketReader::new(read, shared.options.limits.message_bytes),
        writer: ResponseWriter::new(write, packet_size_bytes, spid),
        session,
        version,
        spid,
        shared: Arc::clone(shared),
        bulk: None,
    };
    while conversation.exchange().await? {}
    Ok(())
}

struct Conversation {
    reader: PacketReader<ReadHalf<Transport>>,
    writer: ResponseWriter<WriteHalf<Transport>>,
    session: Session,
    version: TdsVersion,
    spid: u16,
    shared: Arc<Shared>,
    /// Set between INSERT BULK and its data.
    bulk: Option<Box<BulkTarget>>,
}

impl Conversation {
    /// One request and its answer; `false` once the connection is over.
    async fn exchange(&mut self) -> Result<bool, ConnectionError> {
        if let Some(target) = self.bulk.take()
            && self.reader.next_packet_type().await? == Some(PacketType::BulkLoad)
        {
            return self.bulk_load(*target).await;
        }
        let Some(message) = self.reader.message().await? else { return Ok(false) };
        if self.shared.options.log_requests {
            request_log::request(self.spid, &message, self.version);
        }
        if message.packet_type == PacketType::Attention {
            return self.done(DoneStatus::ATTENTION, 0).await;
        }
        if message.ignored {
            return self.done(DoneStatus::FINAL, 0).await;
        }
        let request = self.request(&message)?;
        let reset = self.reset(message.status)?;
        self.answer(request, reset).await
    }

    fn request(&self, message: &Message) -> Result<Request, ConnectionError> {
        match message.packet_type {
            PacketType::SqlBatch => {
                Ok(Request::Batch(SqlBatch::decode(&message.payload, self.version)?.text))
            }
            PacketType::Rpc => Ok(Request::Rpc(RpcMessage::decode(&message.payload, self.version)?.requests)),
            PacketType::TransactionManager => {
                Ok(Request::Transaction(TransactionMessage::decode(&message.payload, self.version)?.request))
            }
            PacketType::BulkLoad => Ok(Request::Refused(SqlError::new(
                4002,
                16,
                1,
                "The incoming tabular data stream (TDS) protocol stream is incorrect: bulk load data without INSERT BULK.",
            ))),
            other => Err(ConnectionError::Unexpected(format!("{other:?} after login").into())),
        }
    }

    /// Resets the session if the request's first packet asks for it; the acknowledgement leads the answer.
    fn reset(&mut self, status: Status) -> Result<Vec<SessionChange>, ConnectionError> {
        let keep_transaction = status.contains(Status::RESET_CONNECTION_SKIP_TRAN);
        if !keep_transaction && !status.contains(Status::RESET_CONNECTION) {
            return Ok(Vec::new());
        }
        let changes = self.session.reset(keep_transaction);
        self.writer.tokens(|w| {
            Token::EnvChange(tds::env_change::EnvChange::ResetConnectionAck).encode(w, self.version);
        })?;
        Ok(changes)
    }

    /// Runs a request and writes its events as they come, with an ear for the client's cancellation.
    async fn answer(
        &mut self,
        request: Request,
        changes: Vec<SessionChange>,
    ) -> Result<bool, ConnectionError> {
        let mut encoder = ResponseEncoder::new(self.version);
        for change in changes {
            encoder.event(Response::Change(change), &mut self.writer).await?;
        }
        let cancellation = Cancellation::new();
        let (events, mut queue) = mpsc::channel(EVENTS_QUEUED);
        let mut execution = std::pin::pin!(self.session.execute(request, events, cancellation.clone()));
        let mut attention = false;
        let mut finished = false;
        let mut bulk = None;
        loop {
            tokio::select! {
                biased;
                event = queue.recv() => match event {
                    Some(Response::BulkExpected(target)) => bulk = Some(target),
                    Some(event) => encoder.event(event, &mut self.writer).await?,
                    None if finished => break,
                    None => {
                        execution.as_mut().await;
                        break;
                    }
                },
                () = execution.as_mut(), if !finished => finished = true,
                packet = self.reader.packet(), if !attention => match packet? {
                    Some((packet, _)) if packet.header.packet_type == PacketType::Attention => {
                        attention = true;
                        cancellation.cancel();
                    }
                    Some((packet, _)) => {
                        let what = format!("{:?} before the answer to the last request", packet.header.packet_type);
                        return Err(ConnectionError::Unexpected(what.into()));
                    }
                    None => {
                        cancellation.cancel();
                        return Ok(false);
                    }
                },
            }
        }
        self.bulk = bulk.filter(|_| !attention);
        let fatal = encoder.finish(attention, &mut self.writer).await?;
        Ok(!fatal)
    }

    async fn bulk_load(&mut self, target: BulkTarget) -> Result<bool, ConnectionError> {
        let row_max_bytes = self.shared.options.limits.row_bytes;
        let sink: Box<dyn RowSink> = match self.shared.options.discard {
            true => Box::new(DiscardSink::default()),
            false => Box::new(StoreSink::new(self.session.begin_bulk(target))),
        };
        let outcome = bulk_receiver::receive(&mut self.reader, sink, row_max_bytes).await?;
        let logs = self.shared.options.log_requests;
        match outcome {
            BulkOutcome::Loaded { rows } => {
                if logs {
                    request_log::bulk(self.spid, &format!("{rows} rows"));
                }
                self.done(DoneStatus::COUNT, rows).await
            }
            BulkOutcome::Failed(error) => {
                if logs {
                    request_log::bulk(self.spid, &error.to_string());
                }
                let message = self.session.server_message(error);
                let fatal = message.is_fatal();
                self.writer.tokens(|w| Token::Error(message).encode(w, self.version))?;
                self.done(DoneStatus::ERROR, 0).await.map(|open| open && !fatal)
            }
            BulkOutcome::Cancelled { attention } => {
                if logs {
                    request_log::bulk(self.spid, "cancelled");
                }
                let status = if attention { DoneStatus::ATTENTION } else { DoneStatus::FINAL };
                self.done(status, 0).await
            }
        }
    }

    /// Ends an answer with a DONE of its own.
    async fn done(&mut self, status: DoneStatus, rows: u64) -> Result<bool, ConnectionError> {
        let command = if status == DoneStatus::COUNT { command::BULK_INSERT } else { 0 };
        let done = Token::Done(Done { status, command, row_count: rows });
        self.writer.tokens(|w| done.encode(w, self.version))?;
        self.writer.finish().await?;
        Ok(true)
    }
}
