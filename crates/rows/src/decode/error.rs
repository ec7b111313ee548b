//! Errors of decoding rows.

use tds::{DecodeError, VectorError};

/// A cell that is not a value of its column's type, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("row {}, column {column}: {reason}", row.saturating_add(1))]
pub struct RowDecodeError {
    /// Row in the stream, from 0; the message counts from 1.
    pub row: u64,
    /// Name of the column.
    pub column: String,
    /// Fault of the cell.
    pub reason: RowDecodeErrorReason,
}

impl RowDecodeErrorReason {
    /// Returns true if the value is sound, but the Arrow form that was asked for cannot hold it.
    pub fn is_of_form(&self) -> bool {
        matches!(self, Self::NanosecondOverflow { .. } | Self::NeedsRounding { .. })
    }
}

/// Fault of a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowDecodeErrorReason {
    /// The length prefix is invalid for the type.
    #[error("a value of {length} bytes is no {expected}")]
    Length {
        /// Bytes announced by the prefix.
        length: usize,
        /// Length that the column's type takes.
        expected: &'static str,
    },
    /// Longer than the column declares.
    #[error("{length} bytes exceed the declared {limit}")]
    TooLong {
        /// Bytes of the value.
        length: usize,
        /// Bytes that the column declares.
        limit: usize,
    },
    /// Text or binary data that no longer fits the 2 GiB of one Arrow array.
    #[error("{length} bytes exceed the 2 GiB that an Arrow array holds")]
    ExceedsArrow {
        /// Number of bytes needed.
        length: usize,
    },
    /// The chunks of a long value do not add up to the announced total (MS-TDS 2.2.5.2.3).
    #[error("the chunks hold {found} bytes, {announced} were announced")]
    ChunkTotal {
        /// Total of the header.
        announced: u64,
        /// Sum of the chunks.
        found: u64,
    },
    /// The cells of the row are more than 4 GiB apart.
    #[error("the row exceeds 4 GiB")]
    RowTooLong,
    /// NULL in a column declared NOT NULL.
    #[error("NULL in a column that is NOT NULL")]
    UnexpectedNull,
    /// UTF-16 text of an odd number of bytes.
    #[error("UTF-16 text of {length} bytes, an odd number")]
    OddUtf16 {
        /// Bytes of the value.
        length: usize,
    },
    /// A surrogate without its partner.
    #[error("invalid UTF-16: an unpaired surrogate at code unit {unit}")]
    InvalidUtf16 {
        /// Index of the code unit in the value.
        unit: usize,
    },
    /// Bytes that are not UTF-8.
    #[error("invalid UTF-8 at byte {offset}")]
    InvalidUtf8 {
        /// Index of the byte in the value.
        offset: usize,
    },
    /// A byte that the collation's code page does not define.
    #[error("byte {offset} is no character of the column's code page ({code_page})")]
    CodePage {
        /// Index of the byte in the value.
        offset: usize,
        /// The code page's number.
        code_page: u16,
    },
    /// A date or time beyond the type's range.
    #[error("out of the range of {sql_type}")]
    OutOfRange {
        /// Name of the SQL type.
        sql_type: &'static str,
    },
    /// More digits than the declared precision.
    #[error("more than the {precision} digits declared")]
    DecimalOverflow {
        /// Precision that the column declares, 1 to 38.
        precision: u8,
    },
    /// A decimal's sign byte other than 0 and 1.
    #[error("the sign byte of a decimal is {sign}, not 0 or 1")]
    DecimalSign {
        /// Value of the sign byte.
        sign: u8,
    },
    /// A time that 64 bits of nanoseconds since 1970 cannot hold (1677-09-21 to 2262-04-11).
    #[error("{text} does not fit a timestamp in nanoseconds; read the column as microseconds or text")]
    NanosecondOverflow {
        /// The value, as SQL Server writes it.
        text: String,
    },
    /// A time finer than the unit that was asked for.
    #[error("{text} has a seventh digit, which microseconds lose; read the column as \"cut\" or text")]
    NeedsRounding {
        /// The value, as SQL Server writes it.
        text: String,
    },
    /// Bytes that are no vector of the column's type.
    #[error("{0}")]
    Vector(VectorError),
    /// A `sql_variant` body that does not follow MS-TDS 2.2.5.5.4.
    #[error("malformed sql_variant: {what}")]
    Variant {
        /// The rule it breaks.
        what: &'static str,
    },
}

/// Reason why no decoder can be made for a stream's columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecoderError {
    /// The mapping asks for an Arrow type that this SQL type cannot be read into.
    #[error("column {column}: {sql_type} cannot be read as {data_type}")]
    Unsupported {
        /// Name of the column.
        column: String,
        /// SQL type of the column.
        sql_type: String,
        /// The Arrow type asked for.
        data_type: String,
    },
    /// A batch of no columns has no rows to count.
    #[error("a stream of rows without columns")]
    NoColumns,
    /// The column's description contradicts itself.
    #[error("column {column}: {source}")]
    Description {
        /// Name of the column.
        column: String,
        /// Contradiction that the protocol layer found.
        source: DecodeError,
    },
}
