//! Errors of the bulk stream, with the numbers that SQL Server uses (MS-TDS 2.2.4.9 names none; sys.messages does).

use rows::{DecoderError, RowDecodeError, RowDecodeErrorReason};
use tds::Column;
use tds::bulk::BulkError;
use tsql::SqlError;

/// Makes error 4894, 4804 or 4002: the stream is not what a bulk load must be.
pub fn stream(error: &BulkError) -> SqlError {
    match error {
        BulkError::MetadataMissing => {
            SqlError::new(4894, 16, 1, "COLMETADATA must be present when using bcp.")
        }
        BulkError::EndedInsideRow { .. } => SqlError::new(
            4804,
            16,
            1,
            "Premature end-of-message while reading current row from host. Host program may have terminated.",
        ),
        other => {
            let text =
                format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {other}.");
            SqlError::new(4002, 16, 1, text)
        }
    }
}

/// Makes error 4803: a row longer than the server takes.
pub fn row_too_long(limit_bytes: usize) -> SqlError {
    let text = format!(
        "The bulk copy (bcp) client has sent a row longer than {limit_bytes} bytes, which is this server's limit."
    );
    SqlError::new(4803, 16, 1, text)
}

/// Makes error 4815 or 4896: a value that is longer than its column declares, or invalid for its type.
pub fn value(error: &RowDecodeError, columns: &[Column]) -> SqlError {
    let place = columns.iter().position(|column| column.name == error.column).map_or(0, |index| index + 1);
    let text = match error.reason {
        RowDecodeErrorReason::TooLong { .. } | RowDecodeErrorReason::Length { .. } => {
            return SqlError::new(
                4815,
                16,
                1,
                format!("Received an invalid column length from the bcp client for colid {place}. ({error})"),
            );
        }
        _ => format!("Invalid column value from bcp client for colid {place}. ({error})"),
    };
    SqlError::new(4896, 16, 1, text)
}

/// Makes error 4896: NaN or infinity, which a float column cannot hold.
pub fn no_number(place: usize) -> SqlError {
    let text = format!(
        "Invalid column value from bcp client for colid {place}. (an infinity, or a value that is not a number)"
    );
    SqlError::new(4896, 16, 1, text)
}

/// Makes error 4816: a column whose type cannot be loaded.
pub fn column(error: &DecoderError) -> SqlError {
    SqlError::new(4816, 16, 1, format!("Invalid column type from bcp client. ({error})"))
}
