//! Errors by which a run does not begin, or stops.

use crate::journal::JournalError;
use crate::scope::ScopeError;

/// An error by which nothing ran, or a run had to stop.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another run of the package is under way, or its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A variable.
    #[error(transparent)]
    Variable(#[from] ScopeError),
    /// `--from` or `--only` names no task.
    #[error("there is no task `{0}`")]
    NoTask(String),
    /// The run that was left is another one.
    #[error("an unfinished run from {start} had {what}; --new begins again, --continue goes on with {whose}")]
    OtherRun {
        /// The time at which the run began.
        start: String,
        /// The setting that differs.
        what: String,
        /// The owner of the values that a continued run keeps.
        whose: &'static str,
    },
    /// A task is done and has changed since.
    #[error(
        "the run from {start} has done {}, and the package has changed there since; --new begins again, --continue takes what is done as done",
        named(tasks)
    )]
    Changed {
        /// The time at which the run began.
        start: String,
        /// The tasks.
        tasks: Vec<String>,
    },
    /// Tasks that want a person's decision.
    #[error(
        "the run from {start} was killed in the middle of {}; --redo TASK runs it again, --done TASK takes it as done",
        named(tasks)
    )]
    Undecided {
        /// The time at which the run began.
        start: String,
        /// The tasks.
        tasks: Vec<String>,
    },
}

fn named(tasks: &[String]) -> String {
    tasks.iter().map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ")
}
