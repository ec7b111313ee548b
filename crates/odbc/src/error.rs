//! Errors of ODBC as ADBC's.

use std::ffi::c_char;

use adbc_core::error::{Error, Status};
use arrow_odbc::ColumnFailure;
use arrow_odbc::odbc_api::{self, handles::Record};
use drivers::refusal::{invalid, refused};

/// Makes the error of something that this driver does not do.
pub(crate) fn unsupported(what: &str) -> Error {
    refused(Status::NotImplemented, format!("{what} is not supported by the ODBC driver of bulkwire"))
}

/// Makes the error of a lock that a panicking thread has left.
pub(crate) fn poisoned() -> Error {
    refused(Status::Internal, "the connection was left behind by a thread that failed")
}

/// Makes an error of the driver manager's or a driver's, with its SQLSTATE and native code.
pub(crate) fn from_odbc(error: &odbc_api::Error) -> Error {
    let Some(record) = record_of(error) else {
        return refused(Status::Internal, error.to_string());
    };
    let state = record.state.as_str().to_owned();
    let text = error.to_string();
    let mut sqlstate: [c_char; 5] = [0; 5];
    for (place, byte) in sqlstate.iter_mut().zip(state.bytes()) {
        *place = c_char::try_from(byte).unwrap_or_default();
    }
    Error { sqlstate, vendor_code: record.native_error, ..refused(status_of(&state), text) }
}

fn record_of(error: &odbc_api::Error) -> Option<&Record> {
    match error {
        odbc_api::Error::Diagnostics { record, .. }
        | odbc_api::Error::InvalidRowArraySize { record, .. }
        | odbc_api::Error::UnsupportedOdbcApiVersion(record) => Some(record),
        _ => None,
    }
}

/// Returns the status of a SQLSTATE, by its class.
fn status_of(state: &str) -> Status {
    match state {
        "42S01" => Status::AlreadyExists,
        "42S02" | "42S12" | "42S22" => Status::NotFound,
        "HYT00" | "HYT01" => Status::Timeout,
        "HY008" => Status::Cancelled,
        "IM002" | "IM003" => Status::NotFound,
        _ => match state.get(..2) {
            Some("08") => Status::IO,
            Some("22") => Status::InvalidData,
            Some("23") => Status::Integrity,
            Some("28") => Status::Unauthenticated,
            Some("42" | "07") => Status::InvalidArguments,
            _ => Status::Unknown,
        },
    }
}

/// Makes an error of the preparation of reading a result.
pub(crate) fn from_reader(error: &arrow_odbc::Error) -> Error {
    match error {
        arrow_odbc::Error::UnableToRetrieveNumCols(source) => from_odbc(source),
        arrow_odbc::Error::ColumnFailure { name, source: ColumnFailure::TooLarge { .. }, .. } => {
            invalid(format!("column {name}: {error}; lower bulkwire.odbc.max_text_size or .max_binary_size"))
        }
        arrow_odbc::Error::OdbcBufferTooSmall { max_bytes_per_batch, bytes_per_row } => invalid(format!(
            "a row may need {bytes_per_row} bytes of buffers, but {max_bytes_per_batch} are allowed: \
             raise bulkwire.odbc.max_bytes_per_batch, or lower .max_text_size or .max_binary_size"
        )),
        other => refused(Status::Internal, other.to_string()),
    }
}
