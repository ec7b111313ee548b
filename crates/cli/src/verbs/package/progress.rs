//! A run on the terminal: a line for each task that begins or ends.

use std::time::Duration;

use load::report::{grouped, row_words};
use package::{Event, Observer, Outcome, TaskReport};

/// Prints progress on standard error.
pub struct RunProgress;

impl Observer for RunProgress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Run { run, is_continued, .. } => {
                say!("run {run}{}", if *is_continued { ", continued" } else { "" });
            }
            Event::Begin { task, kind, label } => {
                let label = if label.is_empty() { String::new() } else { format!(" for {label}") };
                say!("{task}: begins ({kind}{label})");
            }
            Event::Rows { .. } => {}
            Event::Note { task, note } => say!("{task}: {note}"),
            Event::Retry { task, attempt, wait, reason } => {
                say!("{task}: {reason}; attempt {attempt} comes in {}", time(*wait));
            }
            Event::End(report) => say!("{}", line(report)),
            Event::Over { .. } => {}
        }
    }
}

/// Writes a task that has ended, in a line.
fn line(report: &TaskReport) -> String {
    let mut line = format!("{}: {}", report.task, report.outcome.word());
    if let Some(message) = &report.message {
        line.push_str(&format!(": {message}"));
    }
    let mut parts = Vec::new();
    if let Some(rows) = report.rows {
        parts.push(format!("{} {}", grouped(rows), row_words(rows).0));
    }
    if report.refused > 0 {
        parts.push(format!("{} refused", grouped(report.refused)));
    }
    if report.start.is_some() {
        parts.push(time(report.elapsed));
    }
    if report.attempts > 1 {
        parts.push(format!("{} attempts", report.attempts));
    }
    if !parts.is_empty() {
        line.push_str(&format!(" ({})", parts.join(", ")));
    }
    line
}

/// Writes the last line of a run.
pub fn summary(report: &package::RunReport) -> String {
    let words =
        [Outcome::Succeeded, Outcome::DoneBefore, Outcome::Failed, Outcome::InDoubt, Outcome::Skipped];
    let counts: Vec<String> = words
        .into_iter()
        .map(|outcome| (report.count(outcome), outcome.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let refused = match report.refused() {
        0 => String::new(),
        1 => ", 1 row refused".to_owned(),
        rows => format!(", {} rows refused", grouped(rows)),
    };
    let (word, elapsed) = (report.outcome.word(), time(report.elapsed));
    format!("{} {word} in {elapsed}: {}{refused}", report.package, counts.join(", "))
}

/// Writes a length of time for people.
pub fn time(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{:.2} s", length.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
