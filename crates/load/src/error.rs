//! Errors between this program and the server.

use std::{fmt, io, panic::Location};

use tds::{DecodeError, EncodeError, ServerMessage, conversation::ConversationError};

use crate::{
    config::ConfigError, login::LoginError, read::ReadError, stage::StageError, tcp::ConnectError,
    tls::TlsError,
};

/// Every error of this crate that is not bound to a batch of a load (those are [`LoadError`](crate::LoadError)s).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection string cannot be used.
    #[error("connection string: {0}")]
    Config(Box<ConfigError>),
    /// No TCP connection.
    #[error(transparent)]
    Connect(Box<ConnectError>),
    /// No TLS session.
    #[error(transparent)]
    Tls(Box<TlsError>),
    /// The server, or this client, refused the login.
    #[error(transparent)]
    Login(Box<LoginError>),
    /// The server answered a request with an error.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server sent something that is not TDS as published.
    #[error("protocol error in {place}: {source}")]
    Protocol {
        /// The structure that was being read.
        place: &'static str,
        /// Field, offset and reason.
        source: Box<DecodeError>,
    },
    /// Well-formed tokens that are not allowed at this point of the conversation.
    #[error("unexpected answer while {doing}: {what}")]
    Unexpected {
        /// The activity of the client.
        doing: &'static str,
        /// A description of the answer.
        what: String,
    },
    /// A defect of this crate.
    #[error("{what}; this is a defect of bulkwire ({origin})")]
    Internal {
        /// A description of the impossible state.
        what: &'static str,
        /// The place in the code that noticed it.
        origin: &'static Location<'static>,
    },
    /// A request that TDS cannot express (a name of more than 128 characters, for instance).
    #[error("cannot be sent: {0}")]
    Encode(#[from] EncodeError),
    /// A value of the source does not fit its column.
    #[error(transparent)]
    Cell(Box<rows::CellError>),
    /// Source and target cannot be brought together.
    #[error(transparent)]
    Plan(Box<rows::PlanError>),
    /// A column that cannot be mapped.
    #[error(transparent)]
    Mapping(Box<rows::mapping::MappingError>),
    /// Columns of the answer cannot be represented.
    #[error(transparent)]
    Decoder(Box<rows::DecoderError>),
    /// Rows of the answer cannot be decoded.
    #[error(transparent)]
    RowDecode(Box<rows::RowDecodeError>),
    /// The target table does not exist, or may not be seen.
    #[error(
        "table {table} does not exist in database {database}, or this login may not see it{}",
        nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    )]
    NoTable {
        /// The name as given.
        table: String,
        /// The database that was searched.
        database: String,
        /// The table that is called nearly so, where that was asked for.
        nearest: Option<Box<str>>,
    },
    /// The source is to fill a column whose values the server makes.
    #[error("column \"{column}\" is {kind}: the server makes its values, so leave it out of the source")]
    Made {
        /// The column.
        column: String,
        /// The kind of the existing object.
        kind: &'static str,
    },
    /// The catalogue shows a table and none of its columns.
    #[error("the catalogue shows no columns of {table}: this login needs VIEW DEFINITION on it")]
    HiddenColumns {
        /// The table.
        table: String,
    },
    /// The source has values for an identity column, but they are not to be kept.
    #[error(
        "column \"{column}\" is an identity: keep the source's values (keep_identity, on the command line --keep-identity), or leave it out of the source"
    )]
    Identity {
        /// The column.
        column: String,
    },
    /// Rows that are to be routed by partition cannot be.
    #[error("rows cannot go by partition: {reason}")]
    NoRouting {
        /// The reason.
        reason: String,
    },
    /// A key of an upsert that cannot be one.
    #[error("\"{column}\" cannot be a key: {reason}")]
    UpsertKey {
        /// The key as given.
        column: String,
        /// The reason.
        reason: &'static str,
    },
    /// Rows of an upsert's source have the same key, so it is not clear which of them to take.
    #[error("{count} rows of the source have the key ({key}); only one row can win")]
    DuplicateKey {
        /// The first such key, its columns joined by commas.
        key: String,
        /// The number of rows with this key.
        count: String,
    },
    /// The transaction that this client began has ended without being asked to, and has not been ended here yet.
    #[error("{}", ended_early(*committed, cause.as_deref()))]
    TransactionEnded {
        /// A statement has committed it; otherwise it is rolled back.
        committed: bool,
        /// The error with which the server ended it.
        cause: Option<Box<ServerError>>,
    },
    /// A row is to be new, and the table has one with its key.
    #[error(
        "the table has a row with the key ({key}), and a row of the source is to be new with that key: \"upsert\" would take its place"
    )]
    KnownKey {
        /// The first such key, its columns joined by commas.
        key: String,
    },
    /// A mode or a strategy that is not possible.
    #[error(transparent)]
    Stage(Box<StageError>),
    /// A name that is no table name.
    #[error("\"{name}\" is not a table name: {reason}")]
    TableName {
        /// The name as given.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// The ledger has an unfinished load of the same name that is another load.
    #[error(
        "load \"{load_id}\" is not finished and is another load: {difference}; continue it with what it began with, or forget it"
    )]
    LedgerMismatch {
        /// The load's name.
        load_id: String,
        /// The first difference between the two loads.
        difference: String,
    },
    /// An unfinished load of another name has committed rows of the same data into the same table.
    #[error(
        "load \"{load_id}\" has committed rows of the same data and is not finished; continue it (--load-id with that name), forget it (bulkwire loads forget), or give this one a name (--load-id)"
    )]
    UnfinishedTwin {
        /// The other load's name.
        load_id: String,
    },
    /// The table of a load that is to be continued, or is done, is not the one that it began with.
    #[error(
        "{table} is not the table that load \"{load_id}\" began with: {what}; forget the load (bulkwire loads forget), or give this one another name (--load-id)"
    )]
    TargetChanged {
        /// The load's name.
        load_id: String,
        /// The table.
        table: String,
        /// The difference from the table at the beginning.
        what: String,
    },
    /// The ledger's tables contradict each other.
    #[error(
        "the ledger of load \"{load_id}\" is damaged: {what}, so that it is not known which rows are in the table; compare the table with the source, forget the load and begin again"
    )]
    LedgerDamaged {
        /// The load's name.
        load_id: String,
        /// The table of the ledger, and what it lacks.
        what: String,
    },
    /// The source has changed: rows that were committed before differ from its rows now.
    #[error("rows {} to {} of the source are not those that were committed before: {what}; the load cannot be continued", rows.start + 1, rows.end)]
    SourceChanged {
        /// The numbers of the rows, counted from 0.
        rows: std::ops::Range<u64>,
        /// A description of the difference.
        what: String,
    },
    /// The stage of a load that is to be continued is gone.
    #[error(
        "the stage {stage} is gone, and with it {rows} rows that were committed; forget the load and begin again"
    )]
    StageGone {
        /// The name of the stage.
        stage: String,
        /// Rows that were committed into it.
        rows: u64,
    },
    /// All rows are committed, and the ledger does not say that the load is done.
    #[error(
        "all rows are committed, but the ledger could not note that load \"{load_id}\" is done: {source}"
    )]
    Unnoted {
        /// The name of the load.
        load_id: String,
        /// The error of the note.
        source: Box<Error>,
    },
    /// A task stage lacks rows that a task has brought.
    #[error("{stage} has {found} rows of a task that brought {expected}; nothing was published")]
    TaskRows {
        /// The task stage.
        stage: String,
        /// Rows that the task brought.
        expected: u64,
        /// Rows that are there.
        found: u64,
    },
    /// The load needs several connections but must stay on one.
    #[error("{wish} cannot be had {place}")]
    NotAlone {
        /// The option that needs a connection of its own.
        wish: &'static str,
        /// The reason why the load has one connection only.
        place: &'static str,
    },
    /// A load's cost cannot be forecast.
    #[error("no forecast: {reason}")]
    NoForecast {
        /// The reason.
        reason: String,
    },
    /// The time for the whole load is over.
    #[error("the load took longer than {} s", limit.as_secs())]
    LoadTimedOut {
        /// The limit.
        limit: std::time::Duration,
    },
    /// The server's row count differs from the rows that were sent; the batch was rolled back unless `committed`.
    #[error("the server reports {acknowledged} {} for a batch of {sent}{}", crate::report::row_words(*acknowledged).0, if *committed { "; the batch is committed" } else { "; the batch was rolled back" })]
    CountMismatch {
        /// Rows sent.
        sent: u64,
        /// Rows of the server's DONE.
        acknowledged: u64,
        /// True if the batch was committed nevertheless (autocommit).
        committed: bool,
    },
    /// The source of a load failed.
    #[error("reading the source: {0}")]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The sink of an export failed.
    #[error("writing the result: {0}")]
    Sink(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection broke.
    #[error("{doing}: {source}")]
    Io {
        /// The activity of the client.
        doing: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The server took longer than the command time-out.
    #[error("time-out while {doing}")]
    TimedOut {
        /// The activity of the client.
        doing: &'static str,
    },
    /// The answer was lost after the request had been sent, so it is not known whether the request took effect.
    #[error("it is not known whether {what}: {source}")]
    InDoubt {
        /// The effect that may or may not have happened.
        what: &'static str,
        /// The error by which the answer was lost.
        source: Box<Error>,
    },
    /// A read by several connections cannot be done, or failed.
    #[error(transparent)]
    Read(Box<ReadError>),
    /// An exported query goes on to another result set.
    #[error("the query returns more than one result, and a file holds one")]
    SeveralResults,
    /// Stopped by a [`CancelHandle`](crate::CancelHandle).
    #[error("cancelled")]
    Cancelled,
    /// An earlier failure left the connection in the middle of a message.
    #[error("the connection broke during an earlier request; open a new one")]
    Broken,
    /// More rows were refused than may be.
    #[error("too many rows were refused")]
    RejectLimit,
    /// A worker thread ended without a result.
    #[error("the {worker} thread stopped unexpectedly")]
    Worker {
        /// The kind of the thread.
        worker: &'static str,
    },
}

/// Returns the words of [`Error::TransactionEnded`].
fn ended_early(committed: bool, cause: Option<&ServerError>) -> String {
    let what = match (committed, cause) {
        (true, _) => "a statement has committed the open transaction already".to_owned(),
        (false, None) => "a statement has rolled the open transaction back already".to_owned(),
        (false, Some(cause)) => {
            format!("the server has rolled the open transaction back already, after {cause}")
        }
    };
    format!(
        "{what}; nothing more is done until the transaction is ended here too, by a rollback or the end of its block"
    )
}

/// The larger errors are boxed, so that a `Result` stays small on the paths that carry rows.
macro_rules! boxed {
    ($($variant:ident($source:ty)),* $(,)?) => {
        $(impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::$variant(Box::new(source))
            }
        })*
    };
}

boxed! {
    Config(ConfigError),
    Connect(ConnectError),
    Tls(TlsError),
    Login(LoginError),
    Cell(rows::CellError),
    Plan(rows::PlanError),
    Mapping(rows::mapping::MappingError),
    Decoder(rows::DecoderError),
    RowDecode(rows::RowDecodeError),
    Stage(StageError),
    Read(ReadError),
}

impl Error {
    pub(crate) fn io(doing: &'static str, source: io::Error) -> Self {
        Self::Io { doing, source }
    }

    /// Makes the error of a failed write.
    pub(crate) fn sending(doing: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut { doing },
            _ => Self::io(doing, source),
        }
    }

    pub(crate) fn in_doubt(what: &'static str, source: Self) -> Self {
        Self::InDoubt { what, source: Box::new(source) }
    }

    /// Returns the error by which the answer was lost, for an error that leaves something in doubt; any other error
    /// unchanged.
    pub(crate) fn without_doubt(self) -> Self {
        match self {
            Self::InDoubt { source, .. } => *source,
            other => other,
        }
    }

    /// Returns the error to report once it is known that the request had no effect.
    pub fn settled(self) -> Self {
        self.without_doubt()
    }

    /// Returns true if the request may or may not have taken effect.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Self::InDoubt { .. })
    }

    pub(crate) fn closed(doing: &'static str) -> Self {
        Self::io(doing, io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"))
    }

    #[track_caller]
    pub(crate) fn internal(what: &'static str) -> Self {
        let origin = Location::caller();
        tracing::error!(%origin, what, "internal error");
        Self::Internal { what, origin }
    }

    /// Reports an answer of the server that the protocol does not allow here.
    #[track_caller]
    pub(crate) fn conversation(doing: &'static str, error: ConversationError) -> Self {
        match error {
            ConversationError::Decode { what, error } => Self::protocol(what, error),
            error => Self::unexpected(doing, error.to_string()),
        }
    }

    #[track_caller]
    pub(crate) fn protocol(place: &'static str, source: DecodeError) -> Self {
        tracing::error!(origin = %Location::caller(), place, %source, "protocol error");
        Self::Protocol { place, source: Box::new(source) }
    }

    /// Reports an unexpected answer. The answer may hold a value, so the trace does not show it.
    #[track_caller]
    pub(crate) fn unexpected(doing: &'static str, what: impl Into<String>) -> Self {
        tracing::error!(origin = %Location::caller(), doing, "unexpected answer");
        Self::Unexpected { doing, what: what.into() }
    }

    /// Returns the server's own error, if this is one.
    pub fn server_message(&self) -> Option<&ServerMessage> {
        match self {
            Self::Server(error) => Some(error.first()),
            Self::InDoubt { source, .. } => source.server_message(),
            Self::Read(error) => error.cause()?.downcast_ref::<Self>()?.server_message(),
            Self::Login(error) => match &**error {
                LoginError::Refused(error) => Some(error.first()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The error messages of one answer: the first is what went wrong, the others are its consequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    first: Box<ServerMessage>,
    rest: Vec<ServerMessage>,
}

impl ServerError {
    /// Collects the error messages of an answer; `None` without any.
    pub(crate) fn from_messages(messages: Vec<ServerMessage>) -> Option<Self> {
        let mut messages = messages.into_iter();
        messages.next().map(|first| Self { first: Box::new(first), rest: messages.collect() })
    }

    /// Returns the message that came first.
    pub fn first(&self) -> &ServerMessage {
        &self.first
    }

    /// Returns all messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = &ServerMessage> {
        std::iter::once(&*self.first).chain(&self.rest)
    }

    /// Returns true if the error is about the stream of a batch rather than about a row, so that the same rows may
    /// pass in smaller batches. SQL Server's errors are recognised by number, those of other servers by text.
    pub fn is_about_the_stream(&self) -> bool {
        !self.is_fatal()
            && self.messages().any(|message| {
                matches!(message.number, 4002 | 4004 | 4022 | 4804 | 4816)
                    || message.message.to_ascii_lowercase().contains("protocol")
            })
    }

    /// Returns true for severity 20 and above: the server closes the connection.
    pub fn is_fatal(&self) -> bool {
        self.messages().any(|message| message.class >= 20)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, message) in self.messages().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "Msg {}, Level {}, State {}", message.number, message.class, message.state)?;
            if !message.procedure.is_empty() {
                write!(f, ", Procedure {}", message.procedure)?;
            }
            write!(f, ", Line {}: {}", message.line, message.message.trim_end())?;
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}
