//! A value that cannot be sent.

use std::fmt;

use arrow::datatypes::DataType;
use tds::{CodePage, SqlType, VectorError};

use crate::text::TextError;

/// A value that does not fit its target column, found before anything was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("row {}, column {column:?}: {reason} (value: {value})", row.saturating_add(1))]
pub struct CellError {
    /// Row of the source, counted from 0: the `first_row` given to [`Plan::bind`](crate::Plan::bind) plus the row's index in
    /// the batch. The message counts from 1, as people and the readers of files do.
    pub row: u64,
    /// Name of the target column.
    pub column: String,
    /// The value as text, cut after 100 characters.
    pub value: String,
    /// Reason for the refusal.
    pub reason: CellErrorReason,
}

/// Reason why a value is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellErrorReason {
    /// NULL where the target does not allow it.
    Null,
    /// Outside the target type's range, or more digits than its precision.
    OutOfRange(Box<SqlType>),
    /// Longer than the target column.
    TooLong {
        /// Length of the value.
        length: u64,
        /// Length the target allows.
        limit: u64,
        /// Unit of both lengths.
        unit: LengthUnit,
    },
    /// A character that the target's code page does not have.
    Unmappable {
        /// Character that the code page lacks.
        character: char,
        /// Position of the character in the value, in bytes of UTF-8.
        index: usize,
        /// The code page of the target's collation.
        code_page: CodePage,
    },
    /// The target would keep only a rounded value, and rounding was not allowed.
    Inexact(Box<SqlType>),
    /// The target would lose the time of day, and cutting was not allowed.
    TimeOfDay,
    /// NaN or an infinity: SQL Server has neither.
    NotFinite,
    /// A value that is no vector of the target type.
    Vector(VectorError),
    /// NULL among the elements of a vector.
    NullElement {
        /// Index of the element, from 0.
        index: usize,
    },
    /// A value without a text form.
    Text(String),
    /// Text that is not a value of the target type.
    Parse(TextError),
    /// Stored bytes that are not a value of the target type.
    Malformed(Box<SqlType>),
    /// A nested value that could not be written as JSON.
    Json(String),
    /// The batch's column is not of the type that the load was planned for; the row is the batch's first.
    SourceType {
        /// The type in the plan.
        planned: DataType,
    },
}

/// Unit of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes, of the code page if the target is text.
    Bytes,
    /// UTF-16 code units.
    Utf16Units,
}

impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LengthUnit::Bytes => "bytes",
            LengthUnit::Utf16Units => "UTF-16 code units",
        })
    }
}

impl fmt::Display for CellErrorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellErrorReason::Null => f.write_str("NULL in a column that does not allow it"),
            CellErrorReason::OutOfRange(sql_type) => write!(f, "outside the range of {sql_type}"),
            CellErrorReason::TooLong { length, limit, unit } => {
                write!(f, "{length} {unit} long, the column holds {limit}")
            }
            CellErrorReason::Unmappable { character, index, code_page } => write!(
                f,
                "character {character:?} at byte {index} is not in code page {} of the column",
                code_page.number()
            ),
            CellErrorReason::Inexact(sql_type) => {
                write!(f, "{sql_type} would hold a rounded value, and rounding is not allowed")
            }
            CellErrorReason::TimeOfDay => {
                f.write_str("the time of day would be lost, and truncation is not allowed")
            }
            CellErrorReason::NotFinite => f.write_str("SQL Server has neither NaN nor infinities"),
            CellErrorReason::Vector(error) => error.fmt(f),
            CellErrorReason::NullElement { index } => {
                write!(f, "element {index} is NULL, and a vector has numbers only")
            }
            CellErrorReason::Text(reason) => f.write_str(reason),
            CellErrorReason::Parse(error) => error.fmt(f),
            CellErrorReason::Malformed(sql_type) => write!(f, "the bytes are not a stored {sql_type}"),
            CellErrorReason::SourceType { planned } => {
                write!(f, "the batch's column is not {planned}, as the load was planned for")
            }
            CellErrorReason::Json(reason) => write!(f, "cannot be written as JSON: {reason}"),
        }
    }
}
