//! The faults of a file, in SQL Server's words (sys.messages).

use formats::bcp::{RejectReason, RejectedRow};
use formats::{FormatError, Reason};
use rows::CellErrorReason;
use rows::text::TextError;
use tsql::SqlError;

/// A row that does not load.
#[derive(Debug)]
pub(crate) struct BadRow {
    /// Number in the file, from 1.
    pub row: u64,
    /// Number of the field at fault, from 1.
    pub field: usize,
    /// Name of its column.
    pub column: String,
    /// The fault of the row.
    pub fault: Fault,
    /// Offset of the row in the file; unknown for CSV.
    pub byte_offset: Option<u64>,
    /// The row for the error file: its bytes from the file, or its fields quoted again.
    pub raw: Vec<u8>,
}

/// The fault of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 4863.
    Truncation,
    /// 4864.
    Conversion,
    /// 4867.
    Overflow,
    /// 4869.
    Null,
}

impl BadRow {
    /// Makes the message that names the row.
    pub fn message(&self) -> SqlError {
        let Self { row, field, column, .. } = self;
        let place = format!("row {row}, column {field} ({column}).");
        let (number, text) = match self.fault {
            Fault::Truncation => (4863, format!("Bulk load data conversion error (truncation) for {place}")),
            Fault::Conversion => (
                4864,
                format!(
                    "Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for {place}"
                ),
            ),
            Fault::Overflow => (4867, format!("Bulk load data conversion error (overflow) for {place}")),
            Fault::Null => (
                4869,
                format!(
                    "The bulk load failed. Unexpected NULL value in data file row {row}, column {field}. The destination column ({column}) is defined as NOT NULL."
                ),
            ),
        };
        SqlError::new(number, 16, 1, text)
    }

    /// Converts a row that the file's reader refuses.
    pub(crate) fn from_rejected(rejected: RejectedRow) -> Self {
        let fault = match rejected.reason {
            RejectReason::TooLong { .. } => Fault::Truncation,
            RejectReason::OutOfRange { .. } | RejectReason::DateOutOfRange { .. } => Fault::Overflow,
            _ => Fault::Conversion,
        };
        Self {
            row: rejected.row,
            field: rejected.field,
            column: rejected.column,
            fault,
            byte_offset: Some(rejected.byte_offset),
            raw: rejected.raw,
        }
    }
}

impl Fault {
    /// Returns the fault of a value that the target column does not accept.
    pub fn of(reason: &CellErrorReason) -> Self {
        match reason {
            CellErrorReason::Null => Self::Null,
            CellErrorReason::TooLong { .. } => Self::Truncation,
            CellErrorReason::OutOfRange(_) => Self::Overflow,
            CellErrorReason::Parse(
                TextError::OutOfRange { .. } | TextError::NoSuchDay | TextError::PrecisionExceeded { .. },
            ) => Self::Overflow,
            _ => Self::Conversion,
        }
    }
}

/// The error that ends a load.
#[derive(Debug)]
pub struct Broken {
    /// The first message.
    pub error: SqlError,
    /// True if the provider's own messages (7399, 7330) follow.
    pub in_provider: bool,
}

impl From<SqlError> for Broken {
    fn from(error: SqlError) -> Self {
        Self { error, in_provider: false }
    }
}

/// Converts an error of the file's reader.
pub fn broken(name: &str, error: &FormatError) -> Broken {
    let row = error.place.row.unwrap_or(1);
    let sql_error = match &*error.reason {
        Reason::Io(source) => databases::file_access::cannot_open(name, source),
        Reason::UnexpectedEnd => SqlError::new(
            4832,
            16,
            1,
            "Bulk load: An unexpected end of file was encountered in the data file.",
        ),
        Reason::Ragged { .. } | Reason::UnterminatedQuote | Reason::TextAfterQuote => {
            let column = match &*error.reason {
                Reason::Ragged { expected, found } => (*expected).min(*found) + 1,
                _ => 1,
            };
            SqlError::new(
                4879,
                16,
                1,
                format!(
                    "Bulk load failed due to invalid column value in CSV data file {name} in row {row}, column {column}."
                ),
            )
        }
        Reason::RowTooLong { .. } => SqlError::new(
            4866,
            16,
            1,
            format!(
                "The bulk load failed. The column is too long in the data file for row {row}, column 1. Verify that the field terminator and row terminator are specified correctly."
            ),
        ),
        _ => SqlError::new(
            4862,
            16,
            1,
            format!("Cannot bulk load because the file \"{name}\" could not be read. {error}"),
        ),
    };
    Broken { error: sql_error, in_provider: true }
}

/// Makes error 4865.
pub(crate) fn too_many_errors(limit: u64) -> Broken {
    let text = format!("Cannot bulk load because the maximum number of errors ({limit}) was exceeded.");
    Broken { error: SqlError::new(4865, 16, 1, text), in_provider: true }
}

/// Makes the messages 7399 and 7330, which follow any error that ends a load inside the provider.
pub(crate) fn provider_messages() -> [SqlError; 2] {
    [
        SqlError::new(
            7399,
            16,
            1,
            "The OLE DB provider \"BULK\" for linked server \"(null)\" reported an error. The provider did not give any information about the error.",
        ),
        SqlError::new(
            7330,
            16,
            2,
            "Cannot fetch a row from OLE DB provider \"BULK\" for linked server \"(null)\".",
        ),
    ]
}
