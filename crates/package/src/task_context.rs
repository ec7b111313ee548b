//! The context of a task within its run, and its result.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::loaded::Step;
use crate::model::OnFailure;
use crate::run::context::RunContext;
use crate::run::event::Event;
use crate::scope::{Scope, Secrets};
use crate::server::Server;
use crate::task_error::TaskError;

/// The context of a task within its run.
pub(crate) struct TaskContext<'a> {
    pub run: &'a RunContext<'a>,
    pub step: &'a Step,
    /// The name of the task with those of the groups around it, and its round.
    pub path: &'a str,
    pub scope: &'a Scope,
    pub server: Server<'a>,
    /// True if work of an earlier run within the task counts as done.
    pub restores: bool,
    /// The package's rule for failures.
    pub on_failure: OnFailure,
    /// Tasks side by side on its level.
    pub jobs: usize,
    /// Packages around it.
    pub depth: usize,
}

/// The result of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Rows that it moved or changed.
    pub rows: Option<u64>,
    /// Rows that it refused.
    pub refused: u64,
    /// Remarks of the task.
    pub notes: Vec<String>,
    /// Variables that take values; None is NULL.
    pub variables: BTreeMap<String, Option<String>>,
}

impl TaskContext<'_> {
    /// Returns the action with the values of variables and secrets in it.
    pub fn action<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        let tree = self.scope.tree(&self.step.raw, Secrets::Resolve)?;
        serde_json::from_value(tree).map_err(|error| TaskError::last(error.to_string()))
    }

    /// Says something while the task runs.
    pub fn note(&self, note: &str) {
        self.run.observer.event(&Event::Note { task: self.path, note });
    }

    /// Names this task in this run. It changes when an earlier run's work no longer counts.
    pub fn identity(&self) -> String {
        let generation = self.run.past(self.path).generation;
        let whole = format!("{} {}", self.run.run, self.path);
        if generation == 0 { whole } else { format!("{whole} #{generation}") }
    }
}
