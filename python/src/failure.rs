//! Errors of the Rust crates as exceptions of `bulkwire._exceptions`.

use load::read::ReadError;
use load::{Error, LoadError, ServerError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tds::ServerMessage;

const EXCEPTIONS: &str = "bulkwire._exceptions";

/// Makes the exception of a kind with a message alone.
pub(crate) fn named(py: Python<'_>, class: &str, text: impl Into<String>) -> PyErr {
    let text = text.into();
    made(py, class, |_| (text,).into_pyobject(py))
}

/// Makes the exception of a wrong call.
pub(crate) fn usage(py: Python<'_>, text: impl Into<String>) -> PyErr {
    named(py, "UsageError", text)
}

/// Makes the exception for an error of the client.
pub(crate) fn from_error(py: Python<'_>, error: Error) -> PyErr {
    let text = error.to_string();
    let class = match error {
        Error::Server(server) => return server_error(py, "ServerError", text, &server),
        Error::Login(login) => match *login {
            load::LoginError::Refused(server) => return server_error(py, "LoginError", text, &server),
            _ => "LoginRefusedError",
        },
        Error::Cell(cell) => {
            let reason = cell.reason.to_string();
            let (row, column, value) = (cell.row, cell.column, cell.value);
            return made(py, "CellError", |_| (text, row, column, value, reason).into_pyobject(py));
        }
        Error::Source(source) => match source.downcast::<PyErr>() {
            Ok(raised) => return *raised,
            Err(_) => "SourceError",
        },
        Error::Config(_) => "ConfigError",
        Error::Connect(_) | Error::Io { .. } => "ConnectError",
        Error::Tls(_) => "TlsError",
        Error::RowDecode(error) if error.reason.is_of_form() => {
            let text = format!("{text} (datetime2_7 says how)");
            return made(py, "FormError", |_| (text, error.row, error.column).into_pyobject(py));
        }
        Error::Protocol { .. } | Error::Unexpected { .. } | Error::RowDecode(_) => "ProtocolError",
        Error::Plan(_) | Error::Mapping(_) | Error::Decoder(_) | Error::Identity { .. } => "PlanError",
        Error::NoTable { .. } => "NoTableError",
        Error::UpsertKey { .. } | Error::DuplicateKey { .. } | Error::KnownKey { .. } => "PlanError",
        Error::Stage(stage) => match *stage {
            load::StageError::Word { .. }
            | load::StageError::KeyMissing { .. }
            | load::StageError::KeyUnused { .. }
            | load::StageError::Combination { .. } => "UsageError",
            _ => "PlanError",
        },
        Error::Encode(_) | Error::TableName { .. } | Error::SeveralResults => "UsageError",
        Error::Read(error) => match *error {
            ReadError::Option(_) => "UsageError",
            ReadError::Split { .. } => "PlanError",
            _ => "ConnectError",
        },
        Error::CountMismatch { .. } | Error::TaskRows { .. } => "CountMismatchError",
        Error::TimedOut { .. } => "TimedOutError",
        Error::Cancelled => "CancelledError",
        Error::Broken => "BrokenConnectionError",
        // The end was asked for, so it is raised as such; the text says what is not known.
        Error::InDoubt { ref source, .. } if matches!(**source, Error::Cancelled) => "CancelledError",
        Error::InDoubt { .. } => "InDoubtError",
        Error::TransactionEnded { .. } => "TransactionEndedError",
        _ => "Error",
    };
    named(py, class, text)
}

/// Makes the exception for a load that failed, with the rows that were committed before and those that were rolled
/// back.
pub(crate) fn from_load(py: Python<'_>, error: LoadError) -> PyErr {
    let told = Told::of(&error);
    let whole = error.to_string();
    let LoadError { batch, source, .. } = error;
    let raised = match source {
        // The source's text lacks the numbers of the rows.
        Error::InDoubt { source, .. } if matches!(*source, Error::Cancelled) => {
            named(py, "CancelledError", whole)
        }
        Error::InDoubt { .. } => named(py, "InDoubtError", whole),
        source => from_error(py, source),
    };
    told.note_on(py, &raised);
    let value = raised.value(py);
    let note = || {
        let Some(batch) = batch else { return Ok(()) };
        let range = py.import("builtins")?.getattr("range")?.call1((batch.rows.start, batch.rows.end))?;
        value.setattr("failed_rows", range)
    };
    // An exception of the source's own, of a type that takes no attributes, goes without them.
    let _: PyResult<()> = note();
    raised
}

/// The rows of a failed load that were committed or are in doubt.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    rows_committed: u64,
    rows_in_doubt: u64,
}

impl Told {
    /// Returns the counts of a load under way.
    pub(crate) fn committed(rows_committed: u64) -> Self {
        Self { rows_committed, rows_in_doubt: 0 }
    }

    /// Returns the counts of an error.
    pub(crate) fn of(error: &LoadError) -> Self {
        Self { rows_committed: error.rows_committed, rows_in_doubt: error.rows_in_doubt }
    }

    /// Sets the attributes of an exception that says it.
    pub(crate) fn note_on(self, py: Python<'_>, raised: &PyErr) {
        let value = raised.value(py);
        // An exception of a type that takes no attributes goes without them.
        let _: PyResult<()> = value
            .setattr("rows_committed", self.rows_committed)
            .and_then(|()| value.setattr("rows_in_doubt", self.rows_in_doubt));
    }
}

/// Makes the Python form of a message of the server.
pub(crate) fn message<'py>(py: Python<'py>, message: &ServerMessage) -> PyResult<Bound<'py, PyAny>> {
    let fields = (
        message.number,
        message.state,
        message.class,
        message.line,
        message.message.trim_end(),
        &message.procedure,
        &message.server,
    );
    py.import(EXCEPTIONS)?.getattr("ServerMessage")?.call1(fields)
}

fn server_error(py: Python<'_>, class: &str, text: String, error: &ServerError) -> PyErr {
    made(py, class, |_| {
        let messages = error.messages().map(|one| message(py, one)).collect::<PyResult<Vec<_>>>()?;
        (text, PyList::new(py, messages)?).into_pyobject(py)
    })
}

fn made<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
) -> PyErr {
    let make = || py.import(EXCEPTIONS)?.getattr(class)?.call1(arguments(py)?);
    make().map_or_else(|error| error, PyErr::from_value)
}
