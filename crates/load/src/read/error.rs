//! Errors of a read by several connections.

/// The failure of a request that led to this one.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// An error in the options or the course of a read by several connections.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The rows cannot be split by this column.
    #[error("\"{column}\" cannot split the rows: {reason}")]
    Split {
        /// The column.
        column: String,
        /// The reason.
        reason: &'static str,
    },
    /// Options that exclude each other, or that this source does not allow.
    #[error("{0}")]
    Option(&'static str),
    /// The connection of a reader broke after rows of the range had been handed on, and no unique key says where to go on.
    #[error(
        "range {range}: {source}; rows of it have been handed on, and without a unique key it cannot be resumed"
    )]
    Unresumable {
        /// The range, from 1.
        range: usize,
        /// The error that ended the reading.
        source: Cause,
    },
    /// A reader lost its transaction, or the lock was lost, and the rows would not be of one point in time.
    #[error("the {consistency} of this read is lost: {source}")]
    Inconsistent {
        /// The requested consistency.
        consistency: &'static str,
        /// The error by which it was lost.
        source: Cause,
    },
    /// The rows of a range have other columns than the ranges before.
    #[error("the columns changed while they were read: {found} instead of {expected}")]
    Columns {
        /// The columns at the beginning.
        expected: String,
        /// The columns now.
        found: String,
    },
}

impl ReadError {
    /// Returns the failure of a request that led to this one.
    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        match self {
            Self::Unresumable { source, .. } | Self::Inconsistent { source, .. } => Some(&**source),
            Self::Split { .. } | Self::Option(_) | Self::Columns { .. } => None,
        }
    }
}
