//! `run --report FILE.html`: what a run did, as a page with a timeline.

use std::path::Path;

use load::report::{grouped, row_words};
use package::{Outcome, RunReport, TaskReport};

use crate::report_page::chart::{self, Bar, TimelineBar};
use crate::report_page::page::Body;
use crate::report_page::{self, write_page};
use crate::verbs::package::progress::time;

pub use report_page::check;

/// Bars and rows of tables at most: a page of a loop over ten thousand files must still open.
const BARS_SHOWN: usize = 120;
const TASKS_SHOWN: usize = 2000;
/// Colours of the chart by outcome.
const DONE: usize = 2;
const FAILED: usize = 1;

/// Writes the page of a run. What cannot be written is only said: the run is over.
pub fn write(path: &Path, report: &RunReport) {
    if let Err(failure) = write_page(path, &page(report)) {
        say!("warning: the run is over, but {failure}");
    }
}

fn page(report: &RunReport) -> String {
    let mut body = Body::default();
    body.heading(&format!("{}: {}", report.package, report.outcome.word()));
    let rows = report.tasks.iter().fold(0_u64, |sum, task| sum.saturating_add(task.rows.unwrap_or(0)));
    let failed = report.count(Outcome::Failed) + report.count(Outcome::InDoubt);
    let done = report.count(Outcome::Succeeded) + report.count(Outcome::DoneBefore);
    body.tiles(&[
        (time(report.elapsed), "time"),
        (done.to_string(), "done"),
        (failed.to_string(), "failed"),
        (report.count(Outcome::Skipped).to_string(), "skipped"),
        (grouped(rows), row_words(rows).0),
        (grouped(report.refused()), "refused"),
    ]);
    let continued = if report.is_continued { "; continued where an earlier run had stopped" } else { "" };
    body.paragraph(&format!("Run {}, begun at {}{continued}.", report.run, report.start));
    errors(&mut body, report);
    timeline(&mut body, report);
    tasks(&mut body, report);
    Body::page(&format!("Run of {}", report.package), &[body])
}

fn errors(body: &mut Body, report: &RunReport) {
    let failed: Vec<Vec<String>> = report
        .tasks
        .iter()
        .filter(|task| task.outcome.is_failure())
        .take(TASKS_SHOWN)
        .map(|task| {
            vec![named(task), task.outcome.word().to_owned(), task.message.clone().unwrap_or_default()]
        })
        .collect();
    if !failed.is_empty() {
        body.section("Errors");
        body.table(&["task", "outcome", "error"], 3, &failed);
    }
}

fn timeline(body: &mut Body, report: &RunReport) {
    let mut ran: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.start.is_some()).collect();
    ran.sort_by_key(|task| task.start);
    if ran.is_empty() {
        return;
    }
    body.section("Timeline");
    let bars: Vec<TimelineBar> = ran
        .iter()
        .take(BARS_SHOWN)
        .map(|task| TimelineBar {
            start: task.start.unwrap_or_default().as_secs_f64(),
            colour: if task.outcome.is_success() { DONE } else { FAILED },
            bar: Bar { name: shortened(&named(task)), value: task.elapsed.as_secs_f64(), label: label(task) },
        })
        .collect();
    let said: Vec<String> = ran
        .iter()
        .take(BARS_SHOWN)
        .map(|task| format!("{} {} after {}", named(task), label(task), time(task.start.unwrap_or_default())))
        .collect();
    body.figure(&said.join("; "), &chart::timeline(&bars));
    let mut note = "Seconds since the run began. Green tasks are done, orange ones failed.".to_owned();
    if ran.len() > BARS_SHOWN {
        note.push_str(&format!(" The first {BARS_SHOWN} of {} tasks are drawn.", ran.len()));
    }
    body.paragraph(&note);
}

fn tasks(body: &mut Body, report: &RunReport) {
    body.section("Tasks");
    let rows: Vec<Vec<String>> = report
        .tasks
        .iter()
        .take(TASKS_SHOWN)
        .map(|task| {
            let said: Vec<&str> = match &task.message {
                Some(message) if !task.outcome.is_failure() => vec![message],
                _ => task.notes.iter().map(String::as_str).collect(),
            };
            vec![
                named(task),
                task.kind.to_owned(),
                task.outcome.word().to_owned(),
                said.join("; "),
                task.rows.map(grouped).unwrap_or_default(),
                if task.refused > 0 { grouped(task.refused) } else { String::new() },
                task.start.map(|_| time(task.elapsed)).unwrap_or_default(),
            ]
        })
        .collect();
    body.table(&["task", "type", "outcome", "notes", "rows", "refused", "time"], 4, &rows);
    if report.tasks.len() > TASKS_SHOWN {
        body.paragraph(&format!("The first {TASKS_SHOWN} of {}.", report.tasks.len()));
    }
}

fn named(task: &TaskReport) -> String {
    if task.label.is_empty() { task.task.clone() } else { format!("{} ({})", task.task, task.label) }
}

fn label(task: &TaskReport) -> String {
    let mut label = time(task.elapsed);
    if let Some(rows) = task.rows.filter(|rows| *rows > 0) {
        label.push_str(&format!(", {} {}", grouped(rows), row_words(rows).0));
    }
    if !task.outcome.is_success() {
        label.push_str(&format!(", {}", task.outcome.word()));
    }
    label
}

/// Shortens a name to the room beside the chart.
fn shortened(name: &str) -> String {
    const ROOM: usize = 36;
    if name.chars().count() <= ROOM {
        return name.to_owned();
    }
    let tail: Vec<char> = name.chars().rev().take(ROOM - 1).collect();
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
