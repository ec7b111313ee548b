//! Errors that no database is behind.

use adbc_core::error::{Error, Status};

/// Makes an error with this text.
pub fn refused(status: Status, text: impl Into<String>) -> Error {
    Error::with_message_and_status(text, status)
}

/// Makes the error of a wrong argument.
pub fn invalid(text: impl Into<String>) -> Error {
    refused(Status::InvalidArguments, text)
}

/// Makes the error of an option that the driver does not know.
pub fn unknown(key: &str) -> Error {
    refused(Status::NotImplemented, format!("there is no option \"{key}\""))
}

/// Makes the error of an option that has no value to be read (secrets have none).
pub fn not_set(key: &str) -> Error {
    refused(Status::NotFound, format!("option \"{key}\" has no value that can be read"))
}

/// Makes the error of an option whose value the driver does not know.
pub fn unknown_value(key: &str, value: &str) -> Error {
    invalid(format!("option \"{key}\" cannot be \"{value}\""))
}

/// Makes the error of a schema of ADBC itself that has another type than it is known to have.
pub fn wrong_schema() -> Error {
    refused(Status::Internal, "a schema of ADBC is not what it should be")
}
