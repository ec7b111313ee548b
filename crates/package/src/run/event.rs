//! The events of a run.

use std::time::Duration;

use chrono::Local;
use serde_json::{Value, json};

use crate::run::report::{Outcome, TaskReport};

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// The run begins or goes on.
    Run {
        /// The id of the run.
        run: &'a str,
        /// The package.
        package: &'a str,
        /// True if the run continues an earlier one.
        is_continued: bool,
    },
    /// A task begins.
    Begin {
        /// The task.
        task: &'a str,
        /// The word of its kind.
        kind: &'static str,
        /// The item that the task runs for, in a loop.
        label: &'a str,
    },
    /// Rows of a task are on their way.
    Rows {
        /// The task.
        task: &'a str,
        /// Rows so far.
        rows: u64,
    },
    /// A task says something.
    Note {
        /// The task.
        task: &'a str,
        /// The text of the note.
        note: &'a str,
    },
    /// A task is tried again.
    Retry {
        /// The task.
        task: &'a str,
        /// The number of the next attempt.
        attempt: u32,
        /// The wait before it.
        wait: Duration,
        /// The reason of the failure.
        reason: &'a str,
    },
    /// A task has ended, or does not run.
    End(&'a TaskReport),
    /// The run is over.
    Over {
        /// The outcome of the run.
        outcome: Outcome,
        /// The duration of the run.
        elapsed: Duration,
    },
}

/// Hears what happens, from several threads.
pub trait Observer: Send + Sync {
    /// Hears of an event.
    fn event(&self, event: &Event<'_>);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn event(&self, _: &Event<'_>) {}
}

/// Writes the present time as journals, logs and reports do: local time with its offset.
pub fn now() -> String {
    Local::now().format("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

impl Event<'_> {
    /// Writes the event as a line of the log, with the time.
    pub fn json(&self) -> Value {
        let mut line = match self {
            Self::Run { run, package, is_continued } => {
                json!({"event": "run", "run": run, "package": package, "continued": is_continued})
            }
            Self::Begin { task, kind, label } => {
                let mut line = json!({"event": "begin", "task": task, "type": kind});
                if !label.is_empty() {
                    line["for"] = Value::from(*label);
                }
                line
            }
            Self::Rows { task, rows } => json!({"event": "rows", "task": task, "rows": rows}),
            Self::Note { task, note } => json!({"event": "note", "task": task, "note": note}),
            Self::Retry { task, attempt, wait, reason } => json!({
                "event": "retry", "task": task, "attempt": attempt, "wait_seconds": wait.as_secs_f64(), "reason": reason
            }),
            Self::End(report) => {
                let mut line = report.json();
                line["event"] = Value::from("end");
                line
            }
            Self::Over { outcome, elapsed } => {
                json!({"event": "over", "outcome": outcome.word(), "seconds": elapsed.as_secs_f64()})
            }
        };
        line["at"] = Value::from(now());
        line
    }
}
