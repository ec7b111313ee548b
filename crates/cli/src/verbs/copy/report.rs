//! The output of a copy: its plan, a line a table, a summary, JSON, and a page.

use std::path::Path;
use std::time::Duration;

use copy::{CopyError, CopyReport, FailedCopy, TableOutcome};
use load::report::{bytes, grouped, row_words};
use serde_json::{Value, json};

use crate::event_log;
use crate::json_report;
use crate::report_page::{self, page::Body};

/// Writes the plan of a copy.
pub fn plan(report: &CopyReport) -> String {
    let mut lines = Vec::new();
    lines.extend(report.created_by.clone());
    let width = report.plan.iter().map(|choice| choice.setting.len()).max().unwrap_or_default();
    for choice in &report.plan {
        let reason = if choice.reason.is_empty() { String::new() } else { format!("  {}", choice.reason) };
        lines.push(format!("{:width$}  {}{reason}", choice.setting, choice.value));
    }
    if report.rows_skipped > 0 && !report.was_done {
        lines.push(format!(
            "the copy continues behind {} rows that are committed",
            grouped(report.rows_skipped)
        ));
    }
    if lines.is_empty() { format!("{} -> {}", report.source, report.destination) } else { lines.join("\n") }
}

/// Words the result of a table in one line.
pub fn line(name: &str, report: &CopyReport) -> String {
    if report.was_done {
        return format!(
            "{name}: an earlier run has copied everything; --load-id gives another name to a new copy"
        );
    }
    let rows = report.rows_written;
    let mut text = format!("{name} -> {}: {} {}", report.destination, grouped(rows), row_words(rows).0);
    text += &format!(
        " in {:.2} s ({}/s)",
        report.elapsed.as_secs_f64(),
        grouped(report.rows_per_second() as u64)
    );
    if report.rows_skipped > 0 {
        text += &format!(", {} were there before", grouped(report.rows_skipped));
    }
    if report.rows_refused > 0 {
        text += &format!(", {} refused", grouped(report.rows_refused));
    }
    if report.rows_refused_before > 0 {
        text += &format!(", {} were refused before", grouped(report.rows_refused_before));
    }
    if let Some(written) = report.bytes_written {
        text += &format!(", {}", bytes(written as f64));
    }
    if report.writers > 1 {
        text += &format!(", {} writers", report.writers);
    }
    for note in &report.notes {
        text += &format!("; {note}");
    }
    text
}

/// Writes a failed table on a line.
pub fn failed_line(name: &str, failed: &FailedCopy) -> String {
    format!("{name}: FAILED: {}", failed.error)
}

/// Sums up all tables.
pub fn summary(outcomes: &[TableOutcome]) -> String {
    let figures = Figures::of(outcomes);
    let mut text = format!(
        "{} of {} tables, {} {}",
        grouped(figures.copied),
        grouped(outcomes.len() as u64),
        grouped(figures.rows),
        row_words(figures.rows).0
    );
    if figures.refused > 0 {
        text += &format!(", {} refused", grouped(figures.refused));
    }
    if figures.failed > 0 {
        text += &format!("; {} failed", grouped(figures.failed));
    }
    if figures.not_begun > 0 {
        text += &format!("; {} not begun", grouped(figures.not_begun));
    }
    text
}

#[derive(Default)]
struct Figures {
    copied: u64,
    failed: u64,
    not_begun: u64,
    rows: u64,
    refused: u64,
    elapsed: Duration,
}

impl Figures {
    fn of(outcomes: &[TableOutcome]) -> Self {
        let mut figures = Self::default();
        for outcome in outcomes {
            match &outcome.result {
                Some(Ok(report)) => {
                    match outcome.is_whole() {
                        true => figures.copied += 1,
                        false => figures.failed += 1,
                    }
                    figures.rows += report.rows_written;
                    figures.refused += report.rows_refused;
                    figures.elapsed = figures.elapsed.max(report.elapsed);
                }
                Some(Err(failed)) => {
                    figures.failed += 1;
                    figures.rows += failed.rows_written;
                }
                None => figures.not_begun += 1,
            }
        }
        figures
    }
}

/// Prints one object for all tables, on standard output.
pub fn print_json(outcomes: &[TableOutcome]) {
    let figures = Figures::of(outcomes);
    let tables: Vec<Value> = outcomes.iter().map(table).collect();
    let whole = json!({
        "copied": figures.copied,
        "failed": figures.failed,
        "not_begun": figures.not_begun,
        "rows": figures.rows,
        "rejected": figures.refused,
        "tables": tables,
    });
    json_report::print(&whole);
}

fn table(outcome: &TableOutcome) -> Value {
    let state = match &outcome.result {
        Some(Ok(_)) if outcome.is_whole() => "copied",
        Some(_) => "failed",
        None => "not begun",
    };
    let mut object = json!({ "name": outcome.name, "state": state, "afterwards": outcome.afterwards });
    let more = match &outcome.result {
        Some(Ok(report)) => report_json(report),
        Some(Err(failed)) => failure_json(failed),
        None => json!({}),
    };
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    if let (Some(object), Some(error)) = (object.as_object_mut(), &outcome.failed_afterwards) {
        object.insert("error".to_owned(), error.to_string().into());
    }
    object
}

/// Makes the report of one copy.
fn report_json(report: &CopyReport) -> Value {
    json!({
        "source": report.source,
        "destination": report.destination,
        "rows_read": report.rows_read,
        "rows": report.rows_written,
        "rejected": report.rows_refused,
        "rejected_before": report.rows_refused_before,
        "rows_committed_before": report.rows_skipped,
        "bytes_read": report.bytes_read,
        "bytes_written": report.bytes_written,
        "writers": report.writers,
        "actions": report.actions.map(|actions| json!({
            "inserted": actions.inserted,
            "updated": actions.updated,
            "deleted": actions.deleted,
            "unchanged": actions.unchanged,
            "missing": actions.missing,
            "skipped": actions.skipped,
        })),
        "seconds": report.elapsed.as_secs_f64(),
        "created_by": report.created_by,
        "done_before": report.was_done,
        "notes": report.notes,
        "plan": report
            .plan
            .iter()
            .map(|choice| json!({"setting": choice.setting, "value": choice.value, "reason": choice.reason}))
            .collect::<Vec<_>>(),
    })
}

fn failure_json(failed: &FailedCopy) -> Value {
    json!({
        "source": failed.source,
        "destination": failed.destination,
        "error": failed.error.to_string(),
        "left": failed.left,
    })
}

/// Writes the plan as an event.
pub fn write_plan(report: &CopyReport) {
    if event_log::is_on() {
        let choices = event_log::choices(&report.plan);
        let (source, destination) = (&report.source, &report.destination);
        let statement = &report.created_by;
        event_log::write(
            "plan",
            json!({ "source": source, "destination": destination, "created_by": statement, "choices": choices }),
        );
    }
}

/// Writes the end of a copy as an event.
pub fn write_event(name: &str, done: &Result<CopyReport, Box<FailedCopy>>) {
    if event_log::is_on() {
        let (event, mut fields) = match done {
            Ok(report) => ("copied", report_json(report)),
            Err(failed) => ("copy_failed", failure_json(failed)),
        };
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("name".to_owned(), name.into());
        }
        event_log::write(event, fields);
    }
}

/// Refuses a page that is there already.
///
/// # Errors
/// It is, or its folder is missing.
pub fn check_page(path: &Path) -> Result<(), CopyError> {
    Ok(report_page::check(path)?)
}

/// Writes the page of `--report`.
pub fn write_page(path: &Path, outcomes: &[TableOutcome]) {
    let figures = Figures::of(outcomes);
    let seconds = |elapsed: Duration| format!("{:.2} s", elapsed.as_secs_f64());
    let tiles = [
        (format!("{} of {}", grouped(figures.copied), grouped(outcomes.len() as u64)), "copied"),
        (grouped(figures.rows), "rows"),
        (grouped(figures.refused), "refused"),
        (grouped(figures.failed + figures.not_begun), "failed or not begun"),
    ];
    let rows: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| match &outcome.result {
            Some(Ok(report)) => vec![
                outcome.name.clone(),
                report.destination.clone(),
                outcome
                    .failed_afterwards
                    .as_ref()
                    .map_or_else(|| report.notes.join("; "), ToString::to_string),
                grouped(report.rows_written),
                grouped(report.rows_refused),
                seconds(report.elapsed),
                grouped(report.rows_per_second() as u64),
            ],
            Some(Err(failed)) => {
                let said = format!("failed: {} {}", failed.error, failed.left.join("; "));
                let mut row = vec![outcome.name.clone(), failed.destination.clone(), said];
                row.resize(7, String::new());
                row
            }
            None => {
                let mut row = vec![outcome.name.clone(), String::new(), "not begun".to_owned()];
                row.resize(7, String::new());
                row
            }
        })
        .collect();
    let mut body = Body::default();
    body.heading("Copy report");
    body.tiles(&tiles);
    body.table(&["source", "destination", "notes", "rows", "refused", "time", "rows/s"], 3, &rows);
    for outcome in outcomes {
        if let Some(Ok(report)) = &outcome.result {
            body.section(&format!("Plan of {}", outcome.name));
            report.created_by.iter().for_each(|statement| body.lines(statement));
            report_page::plan(&mut body, report.plan.iter());
        }
    }
    report_page::write_body(path, "Copy report", body);
}
