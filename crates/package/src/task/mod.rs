//! The work of each kind of task.

mod bulk_insert;
pub(crate) mod copy;
mod group;
mod http;
mod package;
mod program;
mod sql;
mod step_mark;
mod wait_for_file;

use crate::model::Action;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

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
