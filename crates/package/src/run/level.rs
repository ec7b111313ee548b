//! Tasks of one level: each begins when those before it have ended as it asks.

use std::sync::mpsc::channel;
use std::thread;

use crate::loaded::{On, Step};
use crate::model::{Join, OnFailure};
use crate::run::context::RunContext;
use crate::run::report::{Outcome, TaskReport};
use crate::run::selection::Selection;
use crate::run::step::run_step;
use crate::scope::Scope;

/// The reason why a task does not begin.
const INTERRUPTED: &str = "the run was interrupted";

/// The tasks of a package or a group, and what surrounds them.
pub(crate) struct Level<'a> {
    pub context: &'a RunContext<'a>,
    pub steps: &'a [Step],
    pub scope: &'a Scope,
    /// Stands before the names of its tasks.
    pub prefix: &'a str,
    pub on_failure: OnFailure,
    /// True if work of an earlier run may be counted as done.
    pub may_restore: bool,
    /// Tasks side by side.
    pub jobs: usize,
    /// Packages around it.
    pub depth: usize,
}

/// The state of a task while its level runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    Runs,
    Ended(Outcome),
}

/// The decision about a waiting task.
enum Decision {
    Wait,
    Skip(String),
    /// The run is to end.
    Leave,
    Begin,
}

/// Runs the tasks, and says how the level ended.
pub(crate) fn run_level(level: &Level<'_>, selection: Option<&Selection>) -> Outcome {
    let steps = level.steps;
    let mut states = vec![State::Waits; steps.len()];
    let mut worst = Outcome::Succeeded;
    let is_selected = |index: usize| selection.is_none_or(|selection| selection.has(index));
    for (index, state) in states.iter_mut().enumerate() {
        if !is_selected(index) {
            *state = State::Ended(Outcome::DoneBefore);
        }
    }
    thread::scope(|threads| {
        let (ended, endings) = channel();
        let mut running = 0_usize;
        loop {
            let mut has_moved = true;
            while has_moved {
                has_moved = false;
                for (index, step) in steps.iter().enumerate() {
                    if states.get(index) != Some(&State::Waits) {
                        continue;
                    }
                    let decision = decide(level, &states, index, step, worst);
                    let next = match decision {
                        Decision::Wait => continue,
                        Decision::Skip(reason) => {
                            level.context.report(skipped(level, step, reason));
                            State::Ended(Outcome::Skipped)
                        }
                        Decision::Leave => {
                            level.context.report(skipped(level, step, INTERRUPTED.to_owned()));
                            if worst.is_success() {
                                worst = Outcome::Failed;
                            }
                            State::Ended(Outcome::Skipped)
                        }
                        Decision::Begin if running >= level.jobs => continue,
                        Decision::Begin => {
                            let restores = level.may_restore
                                && step.before.iter().all(|before| is_restored(&states, before.index));
                            let ended = ended.clone();
                            running += 1;
                            threads.spawn(move || {
                                let outcome = run_step(level, step, restores);
                                // The level waits for all of its tasks.
                                let _ = ended.send((index, outcome));
                            });
                            State::Runs
                        }
                    };
                    if let Some(state) = states.get_mut(index) {
                        *state = next;
                    }
                    has_moved = true;
                }
            }
            if running == 0 {
                break;
            }
            let Ok((index, outcome)) = endings.recv() else { break };
            running -= 1;
            if let Some(state) = states.get_mut(index) {
                *state = State::Ended(outcome);
            }
            let forgiven = steps.get(index).is_some_and(|step| step.settings.may_fail);
            if outcome == Outcome::InDoubt || (outcome == Outcome::Failed && !forgiven && worst.is_success())
            {
                worst = outcome;
            }
        }
    });
    worst
}

fn skipped(level: &Level<'_>, step: &Step, reason: String) -> TaskReport {
    TaskReport {
        task: format!("{}{}", level.prefix, step.name),
        kind: step.kind(),
        label: String::new(),
        outcome: Outcome::Skipped,
        start: None,
        elapsed: std::time::Duration::ZERO,
        attempts: 0,
        rows: None,
        refused: 0,
        message: Some(reason),
        notes: Vec::new(),
    }
}

fn is_restored(states: &[State], index: usize) -> bool {
    matches!(states.get(index), Some(State::Ended(Outcome::DoneBefore | Outcome::Skipped)))
}

fn decide(level: &Level<'_>, states: &[State], index: usize, step: &Step, worst: Outcome) -> Decision {
    let outcome_of = |index: usize| match states.get(index) {
        Some(State::Ended(outcome)) => Some(*outcome),
        _ => None,
    };
    let mut unmet = None;
    let mut met = 0_usize;
    for before in &step.before {
        let Some(outcome) = outcome_of(before.index) else { return Decision::Wait };
        let holds = match before.on {
            On::Success => outcome.is_success(),
            On::Failure => outcome.is_failure(),
            On::Completion => outcome.is_success() || outcome.is_failure(),
        };
        if holds {
            met += 1;
        } else {
            unmet.get_or_insert((before, outcome));
        }
    }
    if step.settings.after_any_failure && met == 0 {
        return Decision::Skip("no task has failed".to_owned());
    }
    let is_enough = match step.settings.join {
        Join::All if step.settings.after_any_failure => true,
        Join::All => unmet.is_none(),
        Join::Any => step.before.is_empty() || met > 0,
    };
    if !is_enough && let Some((before, outcome)) = unmet {
        let name = level.steps.get(before.index).map_or("", |step| step.name.as_str());
        return Decision::Skip(format!("{name}: {}", outcome.word()));
    }
    if level.context.is_interrupted() {
        return Decision::Leave;
    }
    let has_failed = worst.is_failure();
    if has_failed && level.on_failure == OnFailure::Stop && !follows_failure(level, states, index, 0) {
        return Decision::Skip("a task has failed".to_owned());
    }
    Decision::Begin
}

/// Returns true if a failed task leads to this one.
fn follows_failure(level: &Level<'_>, states: &[State], index: usize, depth: usize) -> bool {
    let Some(step) = level.steps.get(index) else { return false };
    // No way through a level is longer than it has tasks.
    depth <= level.steps.len()
        && step.before.iter().any(|before| {
            matches!(states.get(before.index), Some(State::Ended(outcome)) if outcome.is_failure())
                || follows_failure(level, states, before.index, depth + 1)
        })
}
