//! Errors of the client as ADBC's.

use adbc_core::error::{Error, Status};
use drivers::refusal::refused;
use load::{LoadError, LoginError, Unavailable};

/// Makes the error of something that this driver does not do.
pub(crate) fn unsupported(what: &str) -> Error {
    refused(Status::NotImplemented, format!("{what} is not supported by the bulkwire driver"))
}

/// Makes an error of the client's. The vendor code is the server's error number; number, state, severity and
/// line are its details, since driver managers of ADBC 1.1 keep another thing where the vendor code was.
pub(crate) fn from_load(error: load::Error) -> Error {
    let number = error.server_message().map(|message| message.number);
    let details = error.server_message().map(|message| {
        let details = [
            ("number", message.number.to_string()),
            ("state", message.state.to_string()),
            ("severity", message.class.to_string()),
            ("line", message.line.to_string()),
        ];
        details.map(|(key, value)| (format!("mssql.{key}"), value.into_bytes())).to_vec()
    });
    let status = match &error {
        load::Error::Server(_) => status_of_number(number.unwrap_or_default()),
        load::Error::Login(login) => match **login {
            LoginError::Refused(_) => Status::Unauthenticated,
            _ => Status::IO,
        },
        load::Error::Config(_) | load::Error::Encode(_) | load::Error::TableName { .. } => {
            Status::InvalidArguments
        }
        load::Error::UpsertKey { .. } | load::Error::Stage(_) => Status::InvalidArguments,
        load::Error::DuplicateKey { .. } => Status::InvalidData,
        load::Error::Plan(_) | load::Error::Mapping(_) | load::Error::Identity { .. } => {
            Status::InvalidArguments
        }
        load::Error::NoTable { .. } => Status::NotFound,
        load::Error::Cell(_) | load::Error::Source(_) | load::Error::RowDecode(_) => Status::InvalidData,
        load::Error::Connect(_) | load::Error::Tls(_) | load::Error::Io { .. } | load::Error::Broken => {
            Status::IO
        }
        load::Error::InDoubt { source, .. } if matches!(**source, load::Error::Cancelled) => {
            Status::Cancelled
        }
        load::Error::InDoubt { .. } => Status::IO,
        load::Error::TimedOut { .. } => Status::Timeout,
        load::Error::Cancelled => Status::Cancelled,
        load::Error::SeveralResults | load::Error::TransactionEnded { .. } => Status::InvalidState,
        load::Error::Read(_) => Status::InvalidArguments,
        _ => Status::Internal,
    };
    Error { vendor_code: number.unwrap_or_default(), details, ..refused(status, error.to_string()) }
}

/// Makes an error of a load, with the rows that it had committed before.
pub(crate) fn from_failed_load(error: LoadError) -> Error {
    let text = error.to_string();
    let rows = [("rows_committed", error.rows_committed), ("rows_in_doubt", error.rows_in_doubt)];
    let rows = rows.map(|(key, rows)| (format!("bulkwire.{key}"), rows.to_string().into_bytes()));
    let source = from_load(error.source);
    let details = source.details.into_iter().flatten().chain(rows).collect();
    Error { message: text, details: Some(details), ..source }
}

/// Makes the error of a connection that is busy or closed.
pub(crate) fn from_unavailable(unavailable: Unavailable) -> Error {
    refused(Status::InvalidState, unavailable.to_string())
}

/// Returns the status of a common error number (sys.messages).
fn status_of_number(number: i32) -> Status {
    match number {
        208 | 911 | 2812 | 3701 | 4701 => Status::NotFound,
        1801 | 2714 => Status::AlreadyExists,
        515 | 547 | 2601 | 2627 => Status::Integrity,
        102 | 105 | 156 | 170 | 207 | 209 | 8178 => Status::InvalidArguments,
        220 | 241 | 245 | 248 | 2628 | 8114 | 8115 | 8134 | 8152 => Status::InvalidData,
        229 | 262 | 297 => Status::Unauthorized,
        1222 => Status::Timeout,
        _ => Status::Unknown,
    }
}
