//! Errors that no database is behind.

use adbc_core::error::{Error, Status};

/// An error with this text.
pub fn refused(status: Status, text: impl Into<String>) -> Error {
    Error::with_message_and_status(text, status)
}

/// A wrong argument.
pub fn invalid(text: impl Into<String>) -> Error {
    refused(Status::InvalidArguments, text)
}

/// An option that the driver does not know.
pub fn unknown(key: &str) -> Error {
    refused(Status::NotImplemented, format!("there is no option \"{key}\""))
}

/// An option that has no value to be read (secrets have none).
pub fn not_set(key: &str) -> Error {
    refused(Status::NotFound, format!("option \"{key}\" has no value that can be read"))
}

/// An option whose value the driver does not know.
pub fn unknown_value(key: &str, value: &str) -> Error {
    invalid(format!("option \"{key}\" cannot be \"{value}\""))
}

/// A schema of ADBC itself that has another type than it is known to have.
pub fn wrong_schema() -> Error {
    refused(Status::Internal, "a schema of ADBC is not what it should be")
}
