//! What a run did, task by task.

use std::time::Duration;

use serde_json::{Value, json};

/// How a task or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Succeeded,
    /// Not done.
    Failed,
    /// Not done, and it is not known whether the last statement took effect.
    InDoubt,
    /// Its conditions did not hold.
    Skipped,
    /// An earlier run had done it.
    DoneBefore,
}

impl Outcome {
    /// Its word in logs and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::InDoubt => "in doubt",
            Self::Skipped => "skipped",
            Self::DoneBefore => "done before",
        }
    }

    /// Whether the task is done.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Succeeded | Self::DoneBefore)
    }

    /// Whether the task ran and is not done.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::InDoubt)
    }
}

/// What one task did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// Its name, with those of the groups around it: `publish/swap`; in a loop `load[2]`, counted from 0.
    pub task: String,
    /// The word of its kind.
    pub kind: &'static str,
    /// What it ran for, in a loop.
    pub label: String,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began, from the start of this run on; None if it did not.
    pub start: Option<Duration>,
    /// How long it took.
    pub elapsed: Duration,
    /// How often it ran.
    pub attempts: u32,
    /// Rows that it moved or changed.
    pub rows: Option<u64>,
    /// Rows that it refused.
    pub refused: u64,
    /// Why it failed or did not run.
    pub message: Option<String>,
    /// What else it says.
    pub notes: Vec<String>,
}

impl TaskReport {
    /// As an object of JSON.
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

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Names the run.
    pub run: String,
    /// The package's name.
    pub package: String,
    /// When it first began.
    pub start: String,
    /// Whether it went on where an earlier one had stopped.
    pub is_continued: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took this time.
    pub elapsed: Duration,
    /// Its tasks, in the order in which they ended.
    pub tasks: Vec<TaskReport>,
}

impl RunReport {
    /// Rows that all tasks refused.
    pub fn refused(&self) -> u64 {
        self.tasks.iter().fold(0, |sum, task| sum.saturating_add(task.refused))
    }

    /// How many tasks ended so.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.tasks.iter().filter(|task| task.outcome == outcome).count()
    }

    /// As an object of JSON.
    pub fn json(&self) -> Value {
        json!({
            "run": self.run, "package": self.package, "start": self.start, "continued": self.is_continued,
            "outcome": self.outcome.word(), "seconds": self.elapsed.as_secs_f64(),
            "tasks": self.tasks.iter().map(TaskReport::json).collect::<Vec<_>>(),
        })
    }
}
