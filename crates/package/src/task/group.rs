//! Tasks that belong together: a level of their own, or one transaction.

use std::time::Instant;

use load::Client;

use crate::condition::Condition;
use crate::loaded::Step;
use crate::model::{Action, GroupTask, SqlTask};
use crate::order::order;
use crate::run::level::{Level, run_level};
use crate::run::report::{Outcome, TaskReport};
use crate::task::package::ended;
use crate::task::{bulk_insert, sql, step_mark};
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

pub(super) fn run(task: &TaskContext<'_>, group: &GroupTask) -> Result<Done, TaskError> {
    if group.transaction {
        return transaction(task);
    }
    let level = Level {
        context: task.run,
        steps: &task.step.inner,
        scope: task.scope,
        prefix: &format!("{}/", task.path),
        on_failure: task.on_failure,
        may_restore: task.restores,
        jobs: task.jobs,
        depth: task.depth,
    };
    ended(run_level(&level, None))
}

/// Runs all tasks on one connection, one after the other, committed together and marked as done.
fn transaction(task: &TaskContext<'_>) -> Result<Done, TaskError> {
    let steps = &task.step.inner;
    let predecessors: Vec<Vec<usize>> =
        steps.iter().map(|step| step.before.iter().map(|before| before.index).collect()).collect();
    let order = order(&predecessors).map_err(|_| TaskError::last("tasks wait for one another"))?;
    let connection = steps.iter().find_map(|step| match &step.action {
        Action::Sql(sql) => Some(&sql.connection),
        Action::BulkInsert(bulk) => Some(&bulk.connection),
        _ => None,
    });
    let connection = connection.ok_or_else(|| TaskError::last("a transaction needs a task"))?;
    // The longest that any of its tasks allows.
    let timeouts: Vec<_> = steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Sql(SqlTask { timeout, .. }) => *timeout,
            Action::BulkInsert(bulk) => bulk.timeout,
            _ => None,
        })
        .map(|span| span.0)
        .collect();
    let mut client = task.server.connect(connection, task.scope, timeouts.into_iter().max())?;
    let _permit = task.run.permits.take();
    step_mark::once(&mut client, &task.identity(), &mut |client| {
        let mut whole = Done::default();
        let mut rows = 0_u64;
        for index in &order {
            let Some(step) = steps.get(*index) else { continue };
            let done = one(task, step, client)?;
            rows = rows.saturating_add(done.rows.unwrap_or(0));
            whole.variables.extend(done.variables);
        }
        whole.rows = Some(rows);
        Ok(whole)
    })
}

fn one(group: &TaskContext<'_>, step: &Step, client: &mut Client) -> Result<Done, TaskError> {
    let path = format!("{}/{}", group.path, step.name);
    let scope = group.scope.of_task(&step.name);
    let context = group.run;
    let mut report = TaskReport {
        task: path.clone(),
        kind: step.kind(),
        label: String::new(),
        outcome: Outcome::Succeeded,
        start: Some(context.started.elapsed()),
        elapsed: std::time::Duration::ZERO,
        attempts: 1,
        rows: None,
        refused: 0,
        message: None,
        notes: Vec::new(),
    };
    let holds = match &step.settings.condition {
        None => true,
        Some(text) => Condition::parse(text)
            .map_err(|error| TaskError::last(error.to_string()))?
            .holds(&|name| scope.get(name)),
    };
    if step.settings.disabled || !holds {
        report.outcome = Outcome::Skipped;
        report.start = None;
        let reason = if holds { "disabled" } else { "its condition does not hold" };
        report.message = Some(reason.to_owned());
        context.report(report);
        return Ok(Done::default());
    }
    let began = Instant::now();
    let task = TaskContext {
        run: group.run,
        step,
        path: &path,
        scope: &scope,
        server: group.server,
        restores: group.restores,
        on_failure: group.on_failure,
        jobs: group.jobs,
        depth: group.depth,
    };
    let done = match &step.action {
        Action::Sql(raw) => sql::statements(&task, raw, client, true),
        Action::BulkInsert(_) => bulk_insert::insert_here(&task, client),
        _ => Err(TaskError::last("this task cannot be part of a transaction")),
    };
    let done = done.and_then(|done| {
        for (name, text) in &done.variables {
            scope.variables().set(name, text.as_deref())?;
        }
        Ok(done)
    });
    report.elapsed = began.elapsed();
    match &done {
        Ok(done) => {
            report.rows = done.rows;
            report.notes.clone_from(&done.notes);
        }
        Err(error) => {
            report.outcome = Outcome::Failed;
            report.message = Some(error.message.clone());
        }
    }
    context.report(report);
    done.map_err(|error| TaskError { message: format!("`{}`: {}", step.name, error.message), ..error })
}
