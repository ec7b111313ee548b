//! Rows that do not load. They are data, not failures, so that the caller decides when there are too many.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tds::SqlType;

use crate::Encoding;
use crate::deviation::Deviation;

/// Rejected rows that wait to be collected. The handle stays valid while the reader runs elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Rejects(Arc<Mutex<Vec<RejectedRow>>>);

impl Rejects {
    /// Takes the rows that were rejected since the last call.
    pub fn take(&self) -> Vec<RejectedRow> {
        std::mem::take(&mut *self.locked())
    }

    pub(crate) fn push(&self, row: RejectedRow) {
        self.locked().push(row);
    }

    pub(crate) fn locked(&self) -> MutexGuard<'_, Vec<RejectedRow>> {
        // The list is whole between any two calls, also after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row of a host file that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    /// Number of the row in the file, from 1.
    pub row: u64,
    /// Offset of the row's first byte in the (decompressed) file.
    pub byte_offset: u64,
    /// Number of the host field at fault, from 1.
    pub field: usize,
    /// Name of the column it fills; empty if it fills none.
    pub column: String,
    /// The value at fault as text (bytes as hex), shortened to [`RejectedRow::VALUE_CHARS_MAX`] characters.
    pub value: String,
    /// Reason for the refusal.
    pub reason: RejectReason,
    /// The row's bytes in the file, with terminators and prefixes.
    pub raw: Vec<u8>,
    /// The encoding of the file, if `raw` is text decoded from it rather than the file's own bytes.
    pub raw_encoding: Option<Encoding>,
    /// Fields, for error files that print rows.
    pub fields: Vec<RejectedField>,
    /// Columns of the table that no field fills. The vendor's error file has an empty field for each.
    pub columns_missing: usize,
}

/// A field of a rejected row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectedField {
    /// NULL.
    Null,
    /// A value as text: native values spelled out, bytes as hex.
    Text(String),
}

/// Reason why a row is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The text is not a value of the column's type.
    #[error("not a value of type {target}")]
    Syntax {
        /// SQL type of the column.
        target: SqlType,
    },
    /// Longer than the column, or more digits behind the point than it keeps.
    #[error("too long for {target}")]
    TooLong {
        /// SQL type of the column.
        target: SqlType,
    },
    /// The value is beyond the type's range.
    #[error("out of the range of {target}")]
    OutOfRange {
        /// SQL type of the column.
        target: SqlType,
    },
    /// Text that is not a valid date or time.
    #[error("not a date or time of type {target}")]
    Date {
        /// SQL type of the column.
        target: SqlType,
    },
    /// A time of day of 24 hours or more.
    #[error("not a time of day of type {target}")]
    Time {
        /// SQL type of the column.
        target: SqlType,
    },
    /// A date beyond the column's range.
    #[error("a date out of the range of {target}")]
    DateOutOfRange {
        /// SQL type of the column.
        target: SqlType,
    },
    /// A fraction of a second finer than the column keeps.
    #[error("finer than {target} keeps")]
    DateOverflow {
        /// SQL type of the column.
        target: SqlType,
    },
    /// A date whose order of day and month nothing says.
    #[error("the order of day and month is not known: --date-order says it")]
    AmbiguousDate,
    /// A native value whose length is wrong for its type.
    #[error("{found} bytes where {target} has another length")]
    Length {
        /// SQL type of the column.
        target: SqlType,
        /// Number of bytes found.
        found: usize,
    },
    /// A native value that contradicts itself.
    #[error("{problem}")]
    Malformed {
        /// Contradiction in the value.
        problem: &'static str,
    },
    /// A malformed row of delimited text with quotes: too few or too many fields, or a misplaced quote. `raw` is then the row's
    /// text in UTF-8.
    #[error("{problem}")]
    Row {
        /// Fault of the row.
        problem: String,
    },
    /// A value that does not fit the column that it is converted to.
    #[error("{problem}")]
    Cell {
        /// Reason why the value does not fit.
        problem: String,
    },
    /// A deviation that the [`Tolerance`](crate::bcp::Tolerance) does not accept; the original would have loaded the row wrongly.
    #[error("{0}")]
    Refused(Deviation),
}

impl RejectedRow {
    /// Longest value kept, in characters.
    pub const VALUE_CHARS_MAX: usize = 80;

    /// Writes the row as the vendor's error file (`-e`) has it: a line with place and reason, and the fields
    /// separated by tabs, NULL as `<NULL>`.
    pub fn vendor_text(&self) -> String {
        let mut text =
            format!("#@ Row {}, Column {}: {} @#\n", self.row, self.field, self.reason.vendor_words().1);
        let mut separator = "";
        for field in &self.fields {
            let _ = match field {
                RejectedField::Null => write!(text, "{separator}<NULL>"),
                RejectedField::Text(value) => write!(text, "{separator}{value}"),
            };
            separator = "\t";
        }
        text.extend(std::iter::repeat_n('\t', self.columns_missing));
        text.push('\n');
        text
    }
}

impl RejectReason {
    /// Returns SQLSTATE and text of Microsoft's library for such a value.
    pub fn vendor_words(&self) -> (&'static str, &'static str) {
        const CAST: (&str, &str) = ("22018", "Invalid character value for cast specification");
        match self {
            Self::Syntax { .. } | Self::Malformed { .. } => CAST,
            Self::TooLong { .. } | Self::Length { .. } => ("22001", "String data, right truncation"),
            Self::OutOfRange { .. } => ("22003", "Numeric value out of range"),
            Self::Date { .. } | Self::AmbiguousDate => ("22007", "Invalid date format"),
            Self::Time { .. } => ("22007", "Invalid time format"),
            Self::DateOutOfRange { .. } => ("22008", "Datetime field overflow"),
            Self::DateOverflow { .. } => (
                "22008",
                "Datetime field overflow. Fractional second precision exceeds the scale specified in the parameter binding.",
            ),
            Self::Refused(_) | Self::Row { .. } | Self::Cell { .. } => CAST,
        }
    }
}
