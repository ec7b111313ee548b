//! The failure of a task.

use crate::scope::ScopeError;

/// A failure of a task, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TaskError {
    /// A description of the failure.
    pub message: String,
    /// True if the last statement or request may or may not have taken effect.
    pub is_in_doubt: bool,
    /// Another attempt cannot help.
    pub is_final: bool,
}

impl TaskError {
    /// Makes the error of a run that was to end.
    pub fn interrupted() -> Self {
        Self::last("interrupted")
    }

    /// Makes a failure.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_in_doubt: false, is_final: false }
    }

    /// Makes a failure that every attempt would meet.
    pub fn last(message: impl Into<String>) -> Self {
        Self { is_final: true, ..Self::new(message) }
    }

    /// Makes a failure of SQL Server, or of the way to it.
    pub fn of_client(error: load::Error) -> Self {
        // A statement that ends its task's transaction would be repeated by another attempt.
        let by_statement = matches!(error, load::Error::TransactionEnded { cause: None, .. });
        Self {
            is_in_doubt: by_statement || error.is_in_doubt(),
            is_final: by_statement,
            message: error.to_string(),
        }
    }
}

impl From<ScopeError> for TaskError {
    fn from(error: ScopeError) -> Self {
        Self::last(error.to_string())
    }
}
