//! What each kind of task does.

mod bulk_insert;
pub(crate) mod copy;
mod group;
mod http;
mod package;
mod program;
mod sql;
mod step_mark;
mod wait_for_file;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::loaded::Step;
use crate::model::Action;
use crate::run::Level;
use crate::run::event::Event;
use crate::scope::{Scope, Secrets};
use crate::server::Server;
use crate::task_error::TaskError;

/// What a task needs of the run around it.
pub(crate) struct TaskContext<'a> {
    pub level: &'a Level<'a>,
    pub step: &'a Step,
    /// Its name with those of the groups around it, and its round.
    pub path: &'a str,
    pub scope: &'a Scope,
    pub server: Server<'a>,
    /// What an earlier run has done within it counts.
    pub restores: bool,
}

/// What a task did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Rows that it moved or changed.
    pub rows: Option<u64>,
    /// Rows that it refused.
    pub refused: u64,
    /// What it says.
    pub notes: Vec<String>,
    /// Variables that take values; None is NULL.
    pub variables: BTreeMap<String, Option<String>>,
}

impl TaskContext<'_> {
    /// The action with the values of variables and secrets in it.
    fn action<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        let tree = self.scope.tree(&self.step.raw, Secrets::Resolve)?;
        serde_json::from_value(tree).map_err(|error| TaskError::last(error.to_string()))
    }

    fn note(&self, note: &str) {
        self.level.context.observer.event(&Event::Note { task: self.path, note });
    }

    /// Names this task in this run. It changes when an earlier run's work no longer counts.
    fn identity(&self) -> String {
        let generation = self.level.context.past(self.path).generation;
        let whole = format!("{} {}", self.level.context.run, self.path);
        if generation == 0 { whole } else { format!("{whole} #{generation}") }
    }
}

/// Runs a task once.
pub(crate) fn run_action(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    match &task.step.action {
        Action::Copy(_) => copy::run(task),
        Action::Sql(sql) => sql::run(task, sql),
        Action::BulkInsert(_) => bulk_insert::run(task),
        Action::WaitForFile(_) => wait_for_file::run(task),
        Action::Program(_) => program::run(task),
        Action::Http(http) => http::run(task, http),
        Action::Package(package) => package::run(task, package),
        Action::Group(group) => group::run(task, group),
    }
}
