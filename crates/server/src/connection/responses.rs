//! Response events to tokens.

use databases::log;
use databases::waiting::waiting;
use executor::session::response::{
    DoneKind, OutputValue, Response, ResultColumns, SessionChange, StatementDone,
};
use rows::Plan;
use tds::done::{Done, DoneStatus};
use tds::env_change::{EnvChange, TextChange, TransactionEvent};
use tds::rpc::parameter_status;
use tds::token::{ReturnValue, Token};
use tds::type_info::TypeInfo;
use tds::version::TdsVersion;
use tds::{Length, SqlType, Value};
use tokio::io::AsyncWrite;
use tsql::SqlError;

use crate::connection::ConnectionError;
use crate::connection::clr_names;
use crate::connection::page_rows::RowTokens;
use crate::connection::response_writer::ResponseWriter;

/// Rows encoded between two looks at the write buffer, at most.
const ROWS_PER_STEP: usize = 2048;
/// Bytes of Arrow data encoded between two looks: long values make the steps shorter.
const STEP_BYTES: usize = 1 << 20;
/// Batches and rows from here on take their time.
const LONG_BYTES: usize = 4 << 20;

/// Writes the events of one answer. Every DONE but the last says that more follows, so the newest one is held back until
/// it is known whether it is the last.
pub(super) struct ResponseEncoder {
    version: TdsVersion,
    /// The version of vectors that the client knows.
    vectors: u8,
    /// The session's database.
    database: String,
    held: Option<(DoneKind, Done)>,
    plan: Option<Plan>,
    rows: u64,
    fatal: bool,
    /// Something of the statement could not be encoded.
    broken: bool,
    answer: Answer,
}

/// The summary of an answer, for the log.
#[derive(Default)]
pub(super) struct Answer {
    /// Rows of all results, and rows that statements have affected.
    pub rows: u64,
    /// Rows of results that were sent.
    pub rows_sent: u64,
    /// The first error.
    pub error: Option<tds::ServerMessage>,
    /// The classes of all errors.
    pub error_classes: Vec<u8>,
}

impl Answer {
    fn note_error(&mut self, message: &tds::ServerMessage) {
        self.error_classes.push(message.class);
        self.error.get_or_insert_with(|| message.clone());
    }
}

impl ResponseEncoder {
    pub fn new(version: TdsVersion, vectors: u8, database: &str) -> ResponseEncoder {
        ResponseEncoder {
            version,
            vectors,
            database: database.to_owned(),
            held: None,
            plan: None,
            rows: 0,
            fatal: false,
            broken: false,
            answer: Answer::default(),
        }
    }

    /// Writes one event. An event that cannot be encoded becomes an error of its statement, whose further rows are left out.
    pub async fn event<W: AsyncWrite + Unpin>(
        &mut self,
        event: Response,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        let event = match event {
            Response::Batch(_) | Response::PageRows(_) | Response::Columns(_) | Response::Order(_)
                if self.broken =>
            {
                return Ok(());
            }
            Response::Done(done) => {
                let error = done.error || std::mem::take(&mut self.broken);
                Response::Done(StatementDone { error, ..done })
            }
            event => event,
        };
        match self.encode(event, writer).await {
            Err(error) if error.is_own() => {
                log::line(format!("a statement failed: {error}"));
                self.broken = true;
                let message = SqlError::internal(error);
                let message = tds::ServerMessage {
                    number: message.number,
                    state: message.state,
                    class: message.class,
                    message: message.message,
                    server: String::new(),
                    procedure: String::new(),
                    line: 1,
                };
                self.answer.note_error(&message);
                self.token(&Token::Error(message), writer)
            }
            encoded => encoded,
        }
    }

    async fn encode<W: AsyncWrite + Unpin>(
        &mut self,
        event: Response,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        match event {
            Response::Done(done) => {
                self.release(writer, true)?;
                self.hold(&done);
            }
            Response::Columns(result) => {
                self.release(writer, true)?;
                self.columns(&result, writer)?;
            }
            Response::Order(columns) => self.token(&Token::Order(columns), writer)?,
            Response::Batch(batch) => self.batch(&batch, writer).await?,
            Response::PageRows(rows) => {
                self.rows += rows.rows() as u64;
                self.answer.rows_sent += rows.rows() as u64;
                let tokens = RowTokens::new(rows.cells());
                for page in rows.pages() {
                    tokens.append(page, writer.buffer());
                    writer.write_if_large().await?;
                }
            }
            Response::ReturnStatus(status) => self.token(&Token::ReturnStatus(status), writer)?,
            Response::ReturnValue(value) => {
                let mut value = return_value(value, self.vectors);
                clr_names::complete(&mut value.type_info, &self.database);
                self.token(&Token::ReturnValue(value), writer)?;
            }
            Response::Info(message) => self.token(&Token::Info(message), writer)?,
            Response::Error(message) => {
                self.fatal |= message.is_fatal();
                self.answer.note_error(&message);
                self.token(&Token::Error(message), writer)?;
            }
            Response::Change(change) => {
                if let SessionChange::Database { new, .. } = &change {
                    self.database.clone_from(new);
                }
                self.token(&Token::EnvChange(env_change(change)), writer)?;
            }
            Response::Flush => {
                self.release(writer, true)?;
                return writer.flush().await;
            }
            Response::BulkExpected(_) => {}
        }
        writer.write_if_large().await
    }

    /// Returns the figures of the answer so far.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Ends the answer. Returns whether the connection must be closed.
    pub async fn finish<W: AsyncWrite + Unpin>(
        mut self,
        writer: &mut ResponseWriter<W>,
    ) -> Result<bool, ConnectionError> {
        if self.held.is_none() {
            let status = if self.fatal { DoneStatus::SERVER_ERROR } else { DoneStatus::FINAL };
            self.held = Some((DoneKind::Statement, Done { status, command: 0, row_count: 0 }));
        }
        self.release(writer, false)?;
        writer.finish().await?;
        Ok(self.fatal)
    }

    /// Ends this part of an answer, of which more follows.
    pub fn release_all<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        self.release(writer, true)
    }

    fn token<W: AsyncWrite + Unpin>(
        &mut self,
        token: &Token,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        self.release(writer, true)?;
        writer.tokens(|w| token.encode(w, self.version))
    }

    fn hold(&mut self, done: &StatementDone) {
        self.answer.rows += done.count.unwrap_or(0);
        self.fatal |= done.fatal;
        let mut status = DoneStatus::FINAL;
        if self.fatal {
            status = status | DoneStatus::SERVER_ERROR;
        } else if done.error {
            status = status | DoneStatus::ERROR;
        }
        if done.count.is_some() {
            status = status | DoneStatus::COUNT;
        }
        let row_count = done.count.unwrap_or(0);
        self.held = Some((done.kind, Done { status, command: done.command, row_count }));
        self.plan = None;
    }

    /// Writes the DONE that was held back.
    fn release<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut ResponseWriter<W>,
        more: bool,
    ) -> Result<(), ConnectionError> {
        let Some((kind, mut done)) = self.held.take() else { return Ok(()) };
        if more {
            done.status = done.status | DoneStatus::MORE;
        }
        let token = match kind {
            DoneKind::Statement => Token::Done(done),
            DoneKind::InProcedure => Token::DoneInProc(done),
            DoneKind::Procedure => Token::DoneProc(done),
        };
        writer.tokens(|w| token.encode(w, self.version))
    }

    fn columns<W: AsyncWrite + Unpin>(
        &mut self,
        result: &ResultColumns,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        let mut columns = result.columns.clone();
        for column in &mut columns {
            if is_unknown_vector(&column.type_info.sql_type, self.vectors) {
                column.type_info = vector_text();
            }
            clr_names::complete(&mut column.type_info, &self.database);
        }
        let plan = Plan::for_result(&result.schema, &columns)
            .map_err(|error| ConnectionError::Row(error.to_string()))?;
        let metadata = Token::ColMetaData(Some(columns));
        writer.tokens(|w| metadata.encode(w, self.version))?;
        self.plan = Some(plan);
        self.rows = 0;
        Ok(())
    }

    async fn batch<W: AsyncWrite + Unpin>(
        &mut self,
        batch: &arrow::record_batch::RecordBatch,
        writer: &mut ResponseWriter<W>,
    ) -> Result<(), ConnectionError> {
        let Some(plan) = &self.plan else {
            return Err(ConnectionError::Row("rows without columns".to_owned()));
        };
        // Long values are copied without holding up the other connections of the thread.
        let bytes = batch.get_array_memory_size();
        let bind = || plan.bind(batch, self.rows);
        let bound = if bytes > LONG_BYTES { waiting(bind) } else { bind() };
        let bound = bound.map_err(|error| ConnectionError::Row(error.to_string()))?;
        self.rows += batch.num_rows() as u64;
        self.answer.rows_sent += batch.num_rows() as u64;
        let row_bytes = (batch.get_array_memory_size() / batch.num_rows().max(1)).max(1);
        let step = (STEP_BYTES / row_bytes).clamp(1, ROWS_PER_STEP);
        let mut first = 0;
        while first < bound.rows() {
            let last = bound.rows().min(first + step);
            if row_bytes > LONG_BYTES {
                waiting(|| writer.rows(&bound, first..last));
            } else {
                writer.rows(&bound, first..last);
            }
            writer.write_if_large().await?;
            first = last;
        }
        Ok(())
    }
}

/// Returns true if the client does not know vectors of this type, so that it gets their JSON text.
fn is_unknown_vector(sql_type: &SqlType, version: u8) -> bool {
    matches!(sql_type, SqlType::Vector { base, .. } if base.feature_version() > version)
}

/// Returns the type in which the text of vectors is sent.
fn vector_text() -> TypeInfo {
    let text = SqlType::VarChar { length: Length::Max };
    TypeInfo::new(text, true, Some(tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
}

fn return_value(mut output: OutputValue, vectors: u8) -> ReturnValue {
    if is_unknown_vector(&output.sql_type, vectors) {
        output.sql_type = vector_text().sql_type;
        if let Value::Vector(vector) = output.value {
            output.value = Value::String(vector.to_string());
        }
    }
    ReturnValue {
        ordinal: output.ordinal,
        name: output.name,
        status: parameter_status::BY_REFERENCE,
        user_type: 0,
        flags: tds::ColumnFlags(tds::ColumnFlags::NULLABLE),
        type_info: TypeInfo::new(output.sql_type, true, Some(tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS)),
        value: output.value,
    }
}

pub(super) fn env_change(change: SessionChange) -> EnvChange {
    match change {
        SessionChange::Database { new, old } => EnvChange::Database(TextChange { new, old }),
        SessionChange::Language { new, old } => EnvChange::Language(TextChange { new, old }),
        SessionChange::TransactionBegun(descriptor) => {
            EnvChange::Transaction { event: TransactionEvent::Begin, new: Some(descriptor), old: None }
        }
        SessionChange::TransactionCommitted(descriptor) => {
            EnvChange::Transaction { event: TransactionEvent::Commit, new: None, old: Some(descriptor) }
        }
        SessionChange::TransactionRolledBack(descriptor) => {
            EnvChange::Transaction { event: TransactionEvent::Rollback, new: None, old: Some(descriptor) }
        }
    }
}
