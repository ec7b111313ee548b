//! The report of a run, task by task.

use std::time::Duration;

use serde_json::{Value, json};

/// The outcome of a task or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Succeeded,
    /// Not done.
    Failed,
    /// Not done, and it is not known whether the last statement took effect.
    InDoubt,
    /// The conditions of the task did not hold.
    Skipped,
    /// An earlier run had done it.
    DoneBefore,
}

impl Outcome {
    /// Returns the word for logs and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::InDoubt => "in doubt",
            Self::Skipped => "skipped",
            Self::DoneBefore => "done before",
        }
    }

    /// Returns true if the task is done.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Succeeded | Self::DoneBefore)
    }

    /// Returns true if the task ran and is not done.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::InDoubt)
    }
}

/// The report of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// The name of the task, with those of the groups around it: `publish/swap`; in a loop `load[2]`, counted from 0.
    pub task: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// The item that the task ran for, in a loop.
    pub label: String,
    /// The outcome of the task.
    pub outcome: Outcome,
    /// The time of the beginning, counted from the start of this run; `None` if the task did not begin.
    pub start: Option<Duration>,
    /// The duration of the task.
    pub elapsed: Duration,
    /// The number of attempts.
    pub attempts: u32,
    /// Rows that it moved or changed.
    pub rows: Option<u64>,
    /// Rows that it refused.
    pub refused: u64,
    /// The reason why it failed or did not run.
    pub message: Option<String>,
    /// Further remarks of the task.
    pub notes: Vec<String>,
}

impl TaskReport {
    /// Converts the report to a JSON object.
    pub fn json(&self) -> Value {
        let mut object = json!({
            "task": self.task, "type": self.kind, "outcome": self.outcome.word(), "seconds": self.elapsed.as_secs_f64(),
        });
        if !self.label.is_empty() {
            object["for"] = Value::from(self.label.as_str());
        }
        if let Some(start) = self.start {
            object["start_seconds"] = Value::from(start.as_secs_f64());
            object["attempts"] = Value::from(self.attempts);
        }
        if let Some(rows) = self.rows {
            object["rows"] = Value::from(rows);
        }
        if self.refused > 0 {
            object["refused"] = Value::from(self.refused);
        }
        if let Some(message) = &self.message {
            object["message"] = Value::from(message.as_str());
        }
        if !self.notes.is_empty() {
            object["notes"] = Value::from(self.notes.clone());
        }
        object
    }
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Names the run.
    pub run: String,
    /// The package's name.
    pub package: String,
    /// The time at which the run first began.
    pub start: String,
    /// True if the run continued an earlier one.
    pub is_continued: bool,
    /// The outcome of the run.
    pub outcome: Outcome,
    /// The duration of the present part of the run.
    pub elapsed: Duration,
    /// The tasks, in the order in which they ended.
    pub tasks: Vec<TaskReport>,
}

impl RunReport {
    /// Rows that all tasks refused.
    pub fn refused(&self) -> u64 {
        self.tasks.iter().fold(0, |sum, task| sum.saturating_add(task.refused))
    }

    /// Counts the tasks with an outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.tasks.iter().filter(|task| task.outcome == outcome).count()
    }

    /// Converts the report to a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "run": self.run, "package": self.package, "start": self.start, "continued": self.is_continued,
            "outcome": self.outcome.word(), "seconds": self.elapsed.as_secs_f64(),
            "tasks": self.tasks.iter().map(TaskReport::json).collect::<Vec<_>>(),
        })
    }
}
