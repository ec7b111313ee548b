//! Runs another package.

use std::sync::Arc;

use crate::check::check;
use crate::diagnostic::Severity;
use crate::model::{PackageTask, Plain};
use crate::run::level::{Level, run_level};
use crate::run::report::Outcome;
use crate::scalar::Scalar;
use crate::scope::{Scope, Variables};
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

/// Packages within one another.
const DEPTH_MAX: usize = 16;

pub(super) fn run(task: &TaskContext<'_>, _: &PackageTask) -> Result<Done, TaskError> {
    let inner: PackageTask = task.action()?;
    if task.depth >= DEPTH_MAX {
        return Err(TaskError::last("packages run one another too deeply"));
    }
    let path = task.scope.folder().join(&inner.file);
    let checked = check(&path).map_err(|error| TaskError::new(format!("{}: {error}", inner.file)))?;
    let Some(package) = checked.package else {
        let first = checked.findings.iter().find(|finding| finding.severity == Severity::Error);
        let first = first.map(ToString::to_string).unwrap_or_default();
        return Err(TaskError::last(format!("{}:{first}", inner.file)));
    };
    let set: Vec<(String, String)> = inner
        .variables
        .iter()
        .map(|(name, plain)| {
            let text = match plain {
                Plain::Text(text) => text.clone(),
                other => Scalar::of_plain(other).to_string(),
            };
            (name.clone(), text)
        })
        .collect();
    let variables = Variables::new(&package, &set)?;
    let run: Vec<(&'static str, String)> = ["run.id", "run.start", "run.date", "run.time"]
        .into_iter()
        .filter_map(|name| Some((name, task.scope.get(name)?.to_string())))
        .collect();
    let scope = Scope::new(&package, Arc::new(variables), &run);
    let level = Level {
        context: task.run,
        steps: &package.steps,
        scope: &scope,
        prefix: &format!("{}/", task.path),
        on_failure: package.model.on_failure,
        may_restore: task.restores,
        jobs: package.model.jobs.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(task.jobs),
        depth: task.depth + 1,
    };
    ended(run_level(&level, None))
}

/// Turns the outcome of a level into the result of its group or package.
pub(super) fn ended(outcome: Outcome) -> Result<Done, TaskError> {
    match outcome {
        Outcome::Failed => Err(TaskError::new("a task of it has failed")),
        Outcome::InDoubt => Err(TaskError {
            is_in_doubt: true,
            ..TaskError::new("it is not known whether a task of it took effect")
        }),
        _ => Ok(Done::default()),
    }
}
