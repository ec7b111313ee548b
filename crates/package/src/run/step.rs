//! One task of a level: its condition, its loop, its attempts, and its lines in the journal.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::condition::Condition;
use crate::journal::EndRecord;
use crate::loaded::Step;
use crate::model::{Action, ForEach, OnFailure};
use crate::run::attempts::wait_before;
use crate::run::event::{Event, now};
use crate::run::items::{items, of_item};
use crate::run::level::Level;
use crate::run::report::{Outcome, TaskReport};
use crate::scope::Scope;
use crate::task::run_action;
use crate::task_context::{Done, TaskContext};
use crate::task_error::TaskError;

/// The wait before the second attempt, unless the package says otherwise.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Runs a task, and says how it ended.
pub(super) fn run_step(level: &Level<'_>, step: &Step, restores: bool) -> Outcome {
    let path = format!("{}{}", level.prefix, step.name);
    let scope = level.scope.of_task(&step.name);
    let unit = Unit { level, step, path: &path, label: "", scope: &scope, restores };
    if let Some(outcome) = unit.restored() {
        return outcome;
    }
    if step.settings.disabled {
        return unit.not_run("disabled");
    }
    // The loop's item may be part of the condition, which is then evaluated in each round.
    let Some(each) = &step.settings.for_each else {
        return match unit.condition() {
            Ok(true) => unit.run(),
            Ok(false) => unit.not_run("its condition does not hold"),
            Err(error) => unit.failed_early(&error),
        };
    };
    run_loop(&unit, each)
}

/// Runs a task once for each item.
fn run_loop(unit: &Unit<'_>, each: &ForEach) -> Outcome {
    let context = unit.level.context;
    let (path, began) = (unit.path, Instant::now());
    let start = context.started.elapsed();
    // Once a loop has begun, a continued run goes on with the same items, whatever files have come or gone.
    let settled = if unit.restores { context.items(path) } else { None };
    let found = match settled {
        Some(items) => items,
        None => match items(each, unit.scope, &unit.server()) {
            Ok(found) => {
                if !context.note_items(path, &found) {
                    return Outcome::Failed;
                }
                found
            }
            Err(error) => return unit.failed_early(&error),
        },
    };
    if !context.note_begin(path, unit.restores) {
        return Outcome::Failed;
    }
    let next = AtomicUsize::new(0);
    let worst = Mutex::new(Outcome::Succeeded);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = found.get(index) else { break };
            if context.is_interrupted() {
                if let Ok(mut worst) = worst.lock()
                    && worst.is_success()
                {
                    *worst = Outcome::Failed;
                }
                break;
            }
            let is_over = worst.lock().map_or(true, |worst| worst.is_failure());
            if is_over && unit.level.on_failure == OnFailure::Stop {
                break;
            }
            let outcome = run_round(unit, each, index, item);
            if let Ok(mut worst) = worst.lock()
                && outcome.is_failure()
                && *worst != Outcome::InDoubt
            {
                *worst = outcome;
            }
        }
    };
    let jobs = usize::try_from(each.jobs.unwrap_or(1)).unwrap_or(1).min(found.len());
    if jobs <= 1 {
        work();
    } else {
        thread::scope(|threads| {
            for _ in 0..jobs {
                threads.spawn(work);
            }
        });
    }
    let outcome = worst.into_inner().unwrap_or(Outcome::Failed);
    let is_noted = context.note_end(EndRecord {
        task: path.to_owned(),
        at: now(),
        succeeded: outcome.is_success(),
        definition: unit.step.definition(),
        ..EndRecord::default()
    });
    let mut report = unit.report(if is_noted { outcome } else { Outcome::Failed });
    report.kind = "loop";
    report.start = Some(start);
    report.elapsed = began.elapsed();
    report.attempts = 1;
    report.notes.push(match found.len() {
        1 => "1 round".to_owned(),
        count => format!("{count} rounds"),
    });
    let outcome = report.outcome;
    context.report(report);
    outcome
}

fn run_round(
    unit: &Unit<'_>,
    each: &ForEach,
    index: usize,
    item: &BTreeMap<String, Option<String>>,
) -> Outcome {
    let scope = of_item(unit.scope, each, item);
    let path = format!("{}[{index}]", unit.path);
    let label = item.get("name").or_else(|| item.get("")).cloned().flatten().unwrap_or_default();
    let round = Unit { path: &path, label: &label, scope: &scope, ..*unit };
    if let Some(outcome) = round.restored() {
        return outcome;
    }
    match round.condition() {
        Ok(true) => round.run(),
        Ok(false) => round.not_run("its condition does not hold"),
        Err(error) => round.failed_early(&error),
    }
}

/// A task, or one round of its loop.
#[derive(Clone, Copy)]
struct Unit<'a> {
    level: &'a Level<'a>,
    step: &'a Step,
    path: &'a str,
    label: &'a str,
    scope: &'a Scope,
    /// True if work of an earlier run counts as done.
    restores: bool,
}

impl Unit<'_> {
    fn server(&self) -> crate::server::Server<'_> {
        crate::server::Server::new(self.scope.connections(), Some(&self.level.context.interruption))
    }

    /// Counts work of an earlier run as done, with the variables that it set.
    fn restored(&self) -> Option<Outcome> {
        let past = self.level.context.past(self.path);
        let end = past.end.filter(|end| self.restores && end.succeeded && !past.is_interrupted)?;
        for (name, text) in &end.variables {
            // A variable that the package has no longer is left out.
            let _ = self.scope.variables().set(name, text.as_deref());
        }
        let mut report = self.report(Outcome::DoneBefore);
        report.rows = end.rows;
        // The tasks within are not reported again.
        report.refused = end.refused.saturating_add(self.level.context.refused_within(self.path));
        self.level.context.report(report);
        Some(Outcome::DoneBefore)
    }

    fn condition(&self) -> Result<bool, TaskError> {
        let Some(text) = &self.step.settings.condition else { return Ok(true) };
        let condition = Condition::parse(text).map_err(|error| TaskError::last(error.to_string()))?;
        Ok(condition.holds(&|name| self.scope.get(name)))
    }

    /// Runs it, with its attempts.
    fn run(&self) -> Outcome {
        let context = self.level.context;
        let kind = self.step.kind();
        if !context.note_begin(self.path, self.restores) {
            return Outcome::Failed;
        }
        let is_leaf = !matches!(self.step.action, Action::Group(_) | Action::Package(_));
        let permit = is_leaf.then(|| context.permits.take());
        let (start, began) = (context.started.elapsed(), Instant::now());
        context.observer.event(&Event::Begin { task: self.path, kind, label: self.label });
        let retry = self.step.settings.retry;
        let most = retry.map_or(1, |retry| retry.attempts);
        let first_wait = retry.and_then(|retry| retry.wait).map_or(FIRST_WAIT, |wait| wait.0);
        let mut attempts = 1;
        let done = loop {
            let task = TaskContext {
                run: context,
                step: self.step,
                path: self.path,
                scope: self.scope,
                server: self.server(),
                // Work that this run has done of a group counts when the group is tried again.
                restores: self.restores || attempts > 1,
                on_failure: self.level.on_failure,
                jobs: self.level.jobs,
                depth: self.level.depth,
            };
            match run_action(&task) {
                Err(error) if attempts < most && !error.is_final && !context.is_interrupted() => {
                    attempts += 1;
                    let wait = wait_before(first_wait, attempts);
                    let reason = &error.message;
                    context.observer.event(&Event::Retry {
                        task: self.path,
                        attempt: attempts,
                        wait,
                        reason,
                    });
                    if context.pause(wait) {
                        break Err(error);
                    }
                }
                done => break done,
            }
        };
        drop(permit);
        let mut report = self.report(Outcome::Succeeded);
        report.start = Some(start);
        report.elapsed = began.elapsed();
        report.attempts = attempts;
        let done = done.and_then(|done| {
            for (name, text) in &done.variables {
                self.scope.variables().set(name, text.as_deref())?;
            }
            Ok(done)
        });
        let mut end = EndRecord {
            task: self.path.to_owned(),
            at: now(),
            definition: self.step.definition(),
            ..EndRecord::default()
        };
        match done {
            Ok(Done { rows, refused, notes, variables }) => {
                end.succeeded = true;
                (end.rows, end.refused, end.variables) = (rows, refused, variables);
                (report.rows, report.refused, report.notes) = (rows, refused, notes);
            }
            Err(error) => {
                report.outcome = if error.is_in_doubt { Outcome::InDoubt } else { Outcome::Failed };
                report.message = Some(error.message);
            }
        }
        if !context.note_end(end) {
            report.outcome = Outcome::Failed;
            report.message.get_or_insert_with(|| "its end could not be written to the journal".to_owned());
        }
        let outcome = report.outcome;
        context.report(report);
        outcome
    }

    fn not_run(&self, reason: &str) -> Outcome {
        let mut report = self.report(Outcome::Skipped);
        report.message = Some(reason.to_owned());
        self.level.context.report(report);
        Outcome::Skipped
    }

    /// Reports a failure before the first attempt.
    fn failed_early(&self, error: &TaskError) -> Outcome {
        let mut report = self.report(Outcome::Failed);
        report.message = Some(error.message.clone());
        self.level.context.report(report);
        Outcome::Failed
    }

    fn report(&self, outcome: Outcome) -> TaskReport {
        TaskReport {
            task: self.path.to_owned(),
            kind: self.step.kind(),
            label: self.label.to_owned(),
            outcome,
            start: None,
            elapsed: Duration::ZERO,
            attempts: 0,
            rows: None,
            refused: 0,
            message: None,
            notes: Vec::new(),
        }
    }
}
