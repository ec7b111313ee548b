//! `--log-json`: what a command does, a JSON object a line on standard error. docs/events.md describes the events.
//!
//! Everything else that goes to standard error goes through [`say`], so that each line is an object then.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use chrono::{SecondsFormat, Utc};
use load::{CommitWatch, CommittedBatch, LoadPlan, RetryNote};
use package::{Event, Observer};
use serde_json::{Map, Value, json};

use crate::ExitStatus;
use crate::interrupt::Commits;

/// The beginning of the command, if its events are written.
static BEGAN: OnceLock<Instant> = OnceLock::new();

/// The prefixes of lines for people, each of which is the name of a level.
const LEVELS: [&str; 4] = ["error", "warning", "note", "hint"];

/// Prints a line for people on standard error; with `--log-json`, the event `message`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::event_log::say(&format!($($words)*))
    };
}

/// Has events written from now on, and writes the first.
pub fn begin(verb: &str) {
    if BEGAN.set(Instant::now()).is_ok() {
        write(
            "began",
            json!({ "command": verb, "version": env!("CARGO_PKG_VERSION"), "process": std::process::id() }),
        );
    }
}

/// Returns true if events are written.
pub fn is_on() -> bool {
    BEGAN.get().is_some()
}

/// Writes the last event.
pub fn finish(status: ExitStatus) {
    finish_with(i32::from(status.0));
}

/// Writes the last event of a process that ends with this code.
pub fn finish_with(code: i32) {
    if let Some(began) = BEGAN.get() {
        write("finished", json!({ "exit_code": code, "seconds": began.elapsed().as_secs_f64() }));
    }
}

/// Writes an event, if events are written. Its fields are an object.
pub fn write(event: &str, fields: Value) {
    if !is_on() {
        return;
    }
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true);
    let mut line: Map<String, Value> =
        [("timestamp".to_owned(), json!(now)), ("event".to_owned(), json!(event))].into_iter().collect();
    if let Value::Object(mut fields) = fields {
        line.append(&mut fields);
    }
    put(&Value::Object(line).to_string());
}

/// Writes a message; see the macro of this name.
pub fn say(text: &str) {
    if !is_on() {
        return put(text);
    }
    let found = LEVELS.iter().find_map(|level| Some((*level, text.strip_prefix(level)?.strip_prefix(": ")?)));
    let (level, text) = found.unwrap_or(("info", text));
    write("message", json!({ "level": level, "text": text }));
}

/// Warns people.
pub fn warns(text: &str) {
    say(&format!("warning: {text}"));
}

/// Writes a line of `--log-level`.
pub fn trace(text: &str) {
    match is_on() {
        true => write("trace", json!({ "text": text })),
        false => put(text),
    }
}

/// Writes a line as a whole, since events come from several threads. If the reader has gone away, the line is lost
/// without an error.
fn put(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", printable(line)).as_bytes());
}

/// Escapes characters that a terminal would obey: texts of servers and of files are shown, and not done. Line feeds and
/// tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // The line ends of Windows are those of many servers.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_obeyed(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Writes the plan of a load.
pub fn plan(source: &str, plan: &LoadPlan) {
    if is_on() {
        write(
            "plan",
            json!({ "source": source, "destination": plan.table.to_string(), "choices": choices(&plan.choices) }),
        );
    }
}

/// Choices of a plan.
pub fn choices(choices: &[load::Choice]) -> Value {
    let shown = choices
        .iter()
        .map(|choice| json!({ "setting": choice.setting, "value": choice.value, "reason": choice.reason }));
    shown.collect()
}

/// Writes a refused row. Its values are left out: they are data.
pub fn refused(row: &copy::rejects::Rejected<'_>) {
    if is_on() {
        write(
            "row_refused",
            json!({ "file": row.file, "row": row.row, "line": row.line, "column": row.column, "reason": row.reason }),
        );
    }
}

/// Writes what happens to the batches and writers of a load, and notes commits for the message of an interruption.
#[derive(Debug, Default)]
pub struct Batches {
    writers: AtomicUsize,
}

impl CommitWatch for Batches {
    fn begins(&self, rows: u64) {
        Commits.begins(rows);
    }

    fn ended(&self, rows: u64, committed: bool) {
        Commits.ended(rows, committed);
    }

    fn batch(&self, batch: &CommittedBatch) {
        if is_on() {
            let (bytes, elapsed) = batch.sent.unzip();
            let seconds = elapsed.map(|elapsed| elapsed.as_secs_f64());
            write("batch_committed", json!({ "rows": batch.rows, "bytes": bytes, "seconds": seconds }));
        }
    }

    fn tries_again(&self, number: u64, note: &RetryNote) {
        if is_on() {
            let RetryNote { writer, reason, error, waited, .. } = note;
            let wait = waited.as_secs_f64();
            write(
                "retry",
                json!({ "number": number, "writer": writer, "reason": reason, "error": error, "wait_seconds": wait }),
            );
        }
    }

    fn writer_begins(&self) {
        let writers = self.writers.fetch_add(1, Ordering::SeqCst) + 1;
        write("writer_added", json!({ "writers": writers }));
    }

    fn writer_ends(&self, _client: Option<&mut load::Client>) {
        let writers = self.writers.fetch_sub(1, Ordering::SeqCst).saturating_sub(1);
        write("writer_removed", json!({ "writers": writers }));
    }
}

/// Writes what happens in a run of a package.
pub struct RunEvents;

impl Observer for RunEvents {
    fn event(&self, event: &Event<'_>) {
        let mut fields = event.json();
        let name = match event {
            Event::Run { .. } => "run",
            Event::Begin { .. } => "task_began",
            Event::Rows { .. } => "task_rows",
            Event::Note { .. } => "task_note",
            Event::Retry { .. } => "task_retry",
            Event::End(_) => "task_ended",
            Event::Over { .. } => "run_ended",
        };
        if let Some(fields) = fields.as_object_mut() {
            // Those of the line have these names.
            fields.remove("event");
            fields.remove("at");
        }
        write(name, fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(printable("one\ttwo\r\nthree"), "one\ttwo\nthree");
        assert_eq!(printable("\u{1b}]0;own\u{7}\r\u{9b}2J"), "\\u{1b}]0;own\\u{7}\\u{d}\\u{9b}2J");
        assert!(matches!(printable("größe"), Cow::Borrowed(_)));
    }
}
