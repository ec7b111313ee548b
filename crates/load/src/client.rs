//! A session with a server: batches, queries, procedure calls, transactions.

use std::{
    io,
    time::{Duration, Instant},
};

use rows::mapping::Form;
use tds::{
    Collation, FirstWords, Isolation, Reader, ServerMessage, SqlType, TransactionEvent, TransactionRequest,
    TypeInfo, Value, ValuePlace, decode_value,
    rpc::{Parameter, ProcId, Procedure, RpcMessage, RpcRequest},
    token::{ReturnValue, Token},
    transaction_request::{BeginTransaction, TransactionMessage},
    type_info::Direction,
};

use crate::{
    config::Config,
    describe::TableDescription,
    error::Error,
    login::{self, ServerInfo},
    result::ResultStream,
    retry::{passing_connecting, wait},
    session::{Answer, Session},
    table_name::{TableName, literal},
    transport::Canceller,
    value_table::{ValueTable, first_value},
};

/// A connection to a server. One request at a time; a [`CancelHandle`] interrupts it from another thread.
#[derive(Debug)]
pub struct Client {
    session: Session,
    server: ServerInfo,
    config: Config,
    /// The table that was described last.
    recent: Option<Recent>,
}

/// A description that still holds for what this client knows.
#[derive(Debug)]
struct Recent {
    table: TableName,
    description: Box<TableDescription>,
    at: Instant,
}

/// The time for which a cached description is used again. The server does not report changes that other sessions
/// make.
const RECENT: Duration = Duration::from_secs(5);

/// Stops the request that a [`Client`] is working on.
#[derive(Debug, Clone)]
pub struct CancelHandle(Canceller);

impl CancelHandle {
    /// Asks the server to stop; the waiting call returns [`Error::Cancelled`]. Without a request nothing happens.
    pub fn cancel(&self) -> io::Result<()> {
        self.0.cancel()
    }

    /// Bytes that the connection has received since it was made.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.0.bytes_received()
    }
}

/// The result of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExecuteResult {
    /// Total of the rows that statements counted: changed by DML, or returned by SELECT.
    pub rows_affected: u64,
    /// Messages of the server: PRINT, warnings.
    pub messages: Vec<ServerMessage>,
    /// Status of the procedure, for a call.
    pub return_status: Option<i32>,
    /// Output parameters, for a call.
    pub outputs: Vec<ReturnValue>,
}

impl ExecuteResult {
    fn new(answer: Answer, messages: Vec<ServerMessage>) -> Self {
        Self {
            rows_affected: answer.counts.iter().map(|done| done.row_count).sum(),
            messages,
            return_status: answer.return_status,
            outputs: answer.outputs,
        }
    }
}

const COMMITTING: &str = "committing";

/// Rows that a [`ValueTable`] takes before it is refused as too large.
const VALUE_ROWS_MAX: usize = 1_000_000;

impl Client {
    /// Connects and logs in. Transient errors are tried again as often as the configuration says.
    pub fn connect(config: &Config) -> Result<Self, Error> {
        let mut tries = 0;
        let (session, server) = loop {
            match login::connect(config) {
                Err(error) if tries < config.connect_retries && passing_connecting(&error).is_some() => {
                    tries += 1;
                    wait(config.connect_retry_wait, config.interruption.as_ref())?;
                }
                connected => break connected?,
            }
        };
        if let Some(interruption) = &config.interruption {
            interruption.register(session.transport.canceller().interruptible());
        }
        Ok(Self { session, server, config: config.clone(), recent: None })
    }

    /// Makes a load that fails close the connection at once. For callers that do not need the connection any more: the server
    /// then rolls back, and nobody waits for it.
    pub fn close_failed_loads(&mut self) {
        self.session.closes_failed_loads = true;
    }

    /// Works like [`describe`](Self::describe), but uses a description of the last few seconds again, unless this
    /// connection has been used for anything but loads since.
    ///
    /// # Errors
    /// The errors of `describe`.
    pub fn describe_recent(&mut self, table: &TableName) -> Result<TableDescription, Error> {
        if let Some(recent) = &self.recent
            && recent.table == *table
            && recent.at.elapsed() < RECENT
        {
            return Ok((*recent.description).clone());
        }
        let description = self.describe(table)?;
        let kept = Box::new(description.clone());
        self.recent = Some(Recent { table: table.clone(), description: kept, at: Instant::now() });
        Ok(description)
    }

    /// Adds rows to the table that was described last.
    pub(crate) fn note_loaded(&mut self, rows: u64) {
        if let Some(recent) = &mut self.recent {
            recent.description.rows = recent.description.rows.saturating_add(rows);
        }
    }

    /// Makes the next load describe its table again.
    pub(crate) fn forget_description(&mut self) {
        self.recent = None;
    }

    /// Returns the facts that the server reported about itself at login.
    pub fn server_info(&self) -> &ServerInfo {
        &self.server
    }

    /// Returns the current database.
    pub fn database(&self) -> &str {
        &self.session.state.database
    }

    /// Returns the collation of the current database, if the server has reported one.
    pub fn collation(&self) -> Option<Collation> {
        self.session.state.collation.map(Collation::from_bytes)
    }

    /// Returns true if a transaction is open, or if one that this client began still has to be ended here: see
    /// [`check_transaction`](Self::check_transaction).
    pub fn in_transaction(&self) -> bool {
        self.transaction_stands() || self.session.owns_transaction()
    }

    /// Returns true if the server has a transaction open.
    pub fn transaction_stands(&self) -> bool {
        self.session.state.transaction != 0
    }

    /// Returns an error if the transaction that this client began has ended before [`commit`](Self::commit) or
    /// [`rollback`](Self::rollback). Every request is refused then until one of them was called, since it would be committed by itself.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`].
    pub fn check_transaction(&self) -> Result<(), Error> {
        self.session.check_transaction()
    }

    /// Returns true if an earlier failure has made the connection useless.
    pub fn is_broken(&self) -> bool {
        self.session.is_broken()
    }

    /// Bytes sent to and received from the socket since connecting.
    pub fn bytes_on_wire(&self) -> (u64, u64) {
        self.session.transport.bytes_on_wire()
    }

    /// Returns a handle that stops the current request from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.session.transport.canceller())
    }

    /// Runs a batch; rows that it returns are skipped. A lost answer is [`Error::InDoubt`].
    pub fn execute(&mut self, sql: &str) -> Result<ExecuteResult, Error> {
        self.forget_description();
        self.session.ready()?;
        let done = self.run(sql);
        self.doubted(done)
    }

    /// Runs a batch that changes nothing that outlives the connection.
    pub(crate) fn run(&mut self, sql: &str) -> Result<ExecuteResult, Error> {
        self.session.send_batch(sql)?;
        self.finish("waiting for the end of a batch")
    }

    /// Converts the result of a request that was sent: if it broke the connection, the effect of the statements is in
    /// doubt.
    pub fn doubted<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        match done {
            // A server that says what went wrong has answered, also if it closes the connection then.
            Err(error @ (Error::Server(_) | Error::InDoubt { .. } | Error::Broken)) => Err(error),
            Err(error) if self.is_broken() => Err(Error::in_doubt("the statements took effect", error)),
            done => done,
        }
    }

    /// Runs a batch and streams its result sets.
    pub fn query(&mut self, sql: &str, form: Form) -> Result<ResultStream<'_>, Error> {
        self.forget_description();
        self.session.send_batch(sql)?;
        ResultStream::start(&mut self.session, form)
    }

    /// Runs one statement with parameters (`sp_executesql`), and streams its result sets. Names carry their `@`.
    pub fn query_with(
        &mut self,
        sql: &str,
        parameters: &[(&str, SqlType, Value)],
        form: Form,
    ) -> Result<ResultStream<'_>, Error> {
        self.send_call(self.execute_sql(sql, parameters))?;
        ResultStream::start(&mut self.session, form)
    }

    /// Runs one statement with parameters (`sp_executesql`); rows that it returns are skipped.
    pub fn execute_with(
        &mut self,
        sql: &str,
        parameters: &[(&str, SqlType, Value)],
    ) -> Result<ExecuteResult, Error> {
        self.session.ready()?;
        let sent = self.send_call(self.execute_sql(sql, parameters));
        let done = sent.and_then(|()| self.finish("waiting for the end of a statement"));
        self.doubted(done)
    }

    /// Calls a procedure; rows that it returns are skipped.
    pub fn rpc(&mut self, procedure: &str, parameters: Vec<Parameter>) -> Result<ExecuteResult, Error> {
        self.session.ready()?;
        let sent = self.send_call(RpcRequest::new(Procedure::Name(procedure.to_owned()), parameters));
        let done = sent.and_then(|()| self.finish("waiting for the end of a procedure"));
        self.doubted(done)
    }

    /// Runs a batch and holds its result sets as values.
    pub fn query_values(&mut self, sql: &str) -> Result<Vec<ValueTable>, Error> {
        Ok(self.query_values_and_columns(sql)?.0)
    }

    /// Runs a batch and holds its result sets as values, and the columns of the last as the server describes them.
    pub(crate) fn query_values_and_columns(
        &mut self,
        sql: &str,
    ) -> Result<(Vec<ValueTable>, Vec<tds::Column>), Error> {
        self.forget_description();
        self.session.send_batch(sql)?;
        read_values(&mut self.session)
    }

    /// Runs one statement with parameters (`sp_executesql`), and holds its result sets as values.
    pub fn query_values_with(
        &mut self,
        sql: &str,
        parameters: &[(&str, SqlType, Value)],
    ) -> Result<Vec<ValueTable>, Error> {
        self.send_call(self.execute_sql(sql, parameters))?;
        Ok(read_values(&mut self.session)?.0)
    }

    /// Returns the columns of the first result of a batch; its rows are skipped. For `SELECT TOP 0 …` and `SET FMTONLY
    /// ON …`.
    pub fn columns_of(&mut self, sql: &str) -> Result<Vec<tds::Column>, Error> {
        const DOING: &str = "reading columns";
        self.forget_description();
        self.session.send_batch(sql)?;
        let mut found = None;
        while let Some(token) = self.session.next_token(DOING)? {
            match token {
                Token::ColMetaData(Some(columns)) => found = found.or(Some(columns)),
                Token::Row | Token::NbcRow => self.session.skip_rows(DOING)?,
                _ => {}
            }
        }
        match self.session.take_errors() {
            Some(error) => Err(error.into()),
            None => found.ok_or_else(|| Error::unexpected(DOING, "the query has none")),
        }
    }

    /// Begins a transaction.
    pub fn begin(&mut self, isolation: Isolation) -> Result<(), Error> {
        let name = String::new();
        let stood = self.transaction_stands();
        let request = TransactionRequest::Begin(BeginTransaction { isolation, name });
        if let Err(error) = self.transact(request, "beginning a transaction") {
            if !stood && self.transaction_stands() && !self.is_broken() {
                // Cancelled too late: it would hold what is to follow, and nobody would commit that.
                let _ = self.rollback();
            }
            return Err(error);
        }
        match self.transaction_stands() {
            true => self.session.own_transaction(),
            false => {
                return Err(Error::unexpected("beginning a transaction", "the server named no transaction"));
            }
        }
        Ok(())
    }

    /// Commits the open transaction. The error is [`Error::InDoubt`] if it is not known whether the server committed, and
    /// [`Error::TransactionEnded`] if there is no such transaction any more; then it is over here too.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.session.ready()?;
        end_what_has_ended(self)?;
        let answered =
            self.transact(TransactionRequest::Commit { name: String::new(), begin: None }, COMMITTING);
        committed(self, answered)
    }

    /// Runs statements and commits the open transaction, in one request. If a statement fails, everything is rolled back. The
    /// error is [`Error::InDoubt`] if it is not known what the server did.
    pub fn commit_after(&mut self, statements: &str) -> Result<(), Error> {
        self.session.ready()?;
        end_what_has_ended(self)?;
        let batch = format!(
            "BEGIN TRY {statements}; COMMIT TRANSACTION; END TRY \
             BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK TRANSACTION; THROW; END CATCH"
        );
        let answered = self.session.send_batch(&batch);
        let answered = answered.and_then(|()| self.session.finish_answer(COMMITTING).map(drop));
        if answered.is_ok() && self.session.transaction_end().is_none() {
            return ended_silently(self);
        }
        let done = committed(self, answered);
        // CATCH sees no error of names in its own batch (207, 208): such a batch ends with the transaction open.
        if done.is_err() && !self.is_broken() && self.transaction_stands() && self.rollback().is_err() {
            self.session.close();
        }
        done
    }

    /// Returns a table's name with database and schema, as the server resolves it: the place of the table, or else the
    /// place where it would be created.
    ///
    /// # Errors
    /// The query fails.
    pub fn full_name(&mut self, table: &TableName) -> Result<TableName, Error> {
        let database = table.database.clone().unwrap_or_else(|| self.database().to_owned());
        if table.schema.is_some() {
            return Ok(TableName { database: Some(database), ..table.clone() });
        }
        let found = self.query_values(&format!(
            "SELECT COALESCE(OBJECT_SCHEMA_NAME(OBJECT_ID({}), DB_ID({})), SCHEMA_NAME())",
            table.object_literal(),
            literal(&database)
        ))?;
        let schema = match first_value(&found) {
            Some(Value::String(schema)) => Some(schema.clone()),
            _ => None,
        };
        Ok(TableName { database: Some(database), schema, name: table.name.clone() })
    }

    /// Opens another connection of the same kind, to the same database.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect).
    pub fn sibling(&self) -> Result<Self, Error> {
        Self::connect(&self.sibling_config())
    }

    /// Returns the configuration for another connection to the same database.
    pub(crate) fn sibling_config(&self) -> Config {
        let mut config = self.config.clone();
        config.database = Some(self.database().to_owned()).filter(|name| !name.is_empty());
        config
    }

    /// Rolls the open transaction back. Nothing is sent if the server has done so already.
    pub fn rollback(&mut self) -> Result<(), Error> {
        let own = self.session.disown_transaction();
        if own.is_none() && !self.transaction_stands() {
            return Ok(());
        }
        // The table may be what it was before the transaction.
        self.forget_description();
        if !self.transaction_stands() {
            return Ok(());
        }
        let request = TransactionRequest::Rollback { name: String::new(), begin: None };
        let done = self.transact(request, "rolling back");
        if done.is_err() && self.transaction_stands() {
            self.session.keep_transaction(own);
        }
        done
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn transact(&mut self, request: TransactionRequest, doing: &'static str) -> Result<(), Error> {
        let state = &self.session.state;
        let words = request.kind();
        let message = TransactionMessage::new(request, state.version, state.transaction).encode()?;
        self.session.send(tds::PacketType::TransactionManager, &message, words)?;
        self.session.finish_answer(doing).map(|_| ())
    }

    fn finish(&mut self, doing: &'static str) -> Result<ExecuteResult, Error> {
        let answer = self.session.finish_answer(doing)?;
        Ok(ExecuteResult::new(answer, self.session.take_messages()))
    }

    fn send_call(&mut self, request: RpcRequest) -> Result<(), Error> {
        self.forget_description();
        let state = &self.session.state;
        let message = RpcMessage::new(request, state.version, state.transaction);
        let payload = message.encode(state.version)?;
        let name = message.requests.first().map_or("", |call| match &call.procedure {
            Procedure::Name(name) => name,
            Procedure::Id(id) => id.name(),
        });
        self.session.send(tds::PacketType::Rpc, &payload, FirstWords(name))
    }

    fn execute_sql(&self, sql: &str, parameters: &[(&str, SqlType, Value)]) -> RpcRequest {
        let text = |text: String| {
            let info = TypeInfo::new(
                SqlType::NVarChar { length: tds::Length::Max },
                true,
                self.parameter_collation(),
            );
            Parameter::input("", info, Value::String(text))
        };
        let mut all = vec![text(sql.to_owned())];
        if !parameters.is_empty() {
            let declared: Vec<String> =
                parameters.iter().map(|(name, sql_type, _)| format!("{name} {sql_type}")).collect();
            all.push(text(declared.join(", ")));
        }
        all.extend(parameters.iter().map(|(name, sql_type, value)| {
            let collation = sql_type.is_character().then(|| self.parameter_collation()).flatten();
            Parameter::input(*name, TypeInfo::new(sql_type.clone(), true, collation), value.clone())
        }));
        RpcRequest::new(Procedure::Id(ProcId::ExecuteSql), all)
    }

    fn parameter_collation(&self) -> Option<Collation> {
        Some(self.collation().unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS))
    }
}

/// Checks a batch with COMMIT that ended without an error and without a report of the transaction's end, as some
/// servers do. If no transaction is open, it is committed.
fn ended_silently(client: &mut Client) -> Result<(), Error> {
    client.session.state.transaction = 0;
    client.session.disown_transaction();
    let asked = client.session.send_batch("SELECT @@TRANCOUNT AS [open]");
    let open = asked.and_then(|()| read_values(&mut client.session));
    let is_over = open.is_ok_and(|(tables, _)| {
        let value = first_value(&tables);
        matches!(value, Some(Value::Int(0)))
    });
    match is_over {
        true => Ok(()),
        false => committed(client, Ok(())),
    }
}

/// Holds the result sets of the answer, and the columns of the last.
fn read_values(session: &mut Session) -> Result<(Vec<ValueTable>, Vec<tds::Column>), Error> {
    const DOING: &str = "reading a result";
    let mut described: Vec<tds::Column> = Vec::new();
    let mut tables: Vec<ValueTable> = Vec::new();
    while let Some(token) = session.next_token(DOING)? {
        match token {
            Token::ColMetaData(Some(columns)) => {
                let names = columns.iter().map(|column| column.name.clone()).collect();
                tables.push(ValueTable { columns: names, rows: Vec::new() });
                described = columns;
            }
            Token::Row | Token::NbcRow => {
                let Some(table) = tables.last_mut() else {
                    return session.check(Err(Error::unexpected(DOING, "a row without columns")));
                };
                if table.rows.len() >= VALUE_ROWS_MAX {
                    session.cancel_answer()?;
                    return Err(Error::unexpected(DOING, "more rows than a small result may have"));
                }
                match read_row(session.rows(), &described) {
                    Ok((row, length)) => {
                        session.consume(length);
                        table.rows.push(row);
                    }
                    Err(error) if error.is_truncated() => session.fill(DOING)?,
                    Err(error) => return session.check(Err(Error::protocol("a row", error))),
                }
            }
            _ => {}
        }
    }
    match session.take_errors() {
        Some(error) => Err(error.into()),
        None => Ok((tables, described)),
    }
}

/// Decides the result of a request to commit from its answer and the session's state.
fn committed(client: &mut Client, answered: Result<(), Error>) -> Result<(), Error> {
    const DONE: &str = "the transaction was committed";
    let end = client.session.transaction_end();
    if !client.transaction_stands() {
        client.session.disown_transaction();
    }
    let is_committed = matches!(end, Some(TransactionEvent::Commit | TransactionEvent::Ended));
    match answered {
        Err(error) if client.is_broken() => Err(Error::in_doubt(DONE, error)),
        Ok(()) if is_committed => Ok(()),
        // The cancellation came too late to stop the commit.
        Err(Error::Cancelled | Error::TimedOut { .. }) if is_committed => Ok(()),
        Err(error) if is_committed => Err(Error::in_doubt(DONE, error)),
        Ok(()) => {
            client.session.close();
            let error =
                Error::unexpected(COMMITTING, "the server did not say that the transaction is committed");
            Err(Error::in_doubt(DONE, error))
        }
        Err(error) => Err(error),
    }
}

/// Ends a transaction on this side that ended early on the server, since it cannot be committed.
fn end_what_has_ended(client: &mut Client) -> Result<(), Error> {
    let ended = client.session.check_transaction();
    if ended.is_err() {
        // Statements may have begun another one in its place, which nobody has asked for.
        client.rollback()?;
    }
    ended
}

/// Reads one ROW or NBCROW (MS-TDS 2.2.7.19, 2.2.7.15).
fn read_row(bytes: &[u8], columns: &[tds::Column]) -> Result<(Vec<Value>, usize), tds::DecodeError> {
    let mut r = Reader::new(bytes);
    let nulls = match r.u8("row token")? {
        tds::row_span::NBCROW => r.take(columns.len().div_ceil(8), "NBCROW bitmap")?,
        _ => &[],
    };
    let mut row = Vec::with_capacity(columns.len());
    for (index, tds::Column { type_info, .. }) in columns.iter().enumerate() {
        let is_null = nulls.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
        row.push(if is_null { Value::Null } else { decode_value(&mut r, type_info, ValuePlace::Row)? });
    }
    Ok((row, r.position()))
}

/// Encodes COLMETADATA of a bulk load.
pub(crate) fn bulk_metadata(columns: &[tds::Column]) -> Result<Vec<u8>, Error> {
    let mut w = tds::Writer::new();
    w.u8(tds::column::COLMETADATA);
    tds::encode_columns(Some(columns), &mut w, Direction::ClientToServer);
    Ok(w.finish()?)
}
