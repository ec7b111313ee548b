//! Lines on standard error, and errors in traces.
//!
//! Requests and errors are events of `tracing` inside the spans of their session and request (the program subscribes to them).
//! Lines inform the person who watches a server. Their reader may be slow, or gone, so a thread of its own writes them, and
//! requests never wait for it. A program may read them too: then each line is a JSON object.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use serde_json::{Map, Value};
use tsql::SqlError;

use crate::secrets;

/// Lines that wait for their reader; what comes on top of them is left out.
const LINES_QUEUED: usize = 4096;
/// Longest wait for the last lines when the server ends.
const END_TIME_MAX: Duration = Duration::from_millis(500);

enum Entry {
    Line(String),
    /// Asks to write everything before it; dropping the sender is the answer.
    Flush(Sender<()>),
}

static QUEUE: OnceLock<Option<SyncSender<Entry>>> = OnceLock::new();
static IS_JSON: AtomicBool = AtomicBool::new(false);
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

fn queue() -> Option<&'static SyncSender<Entry>> {
    let start = || {
        let (sender, receiver) = sync_channel(LINES_QUEUED);
        let thread = thread::Builder::new().name("bulkwire-log".to_owned());
        thread.spawn(move || write(&receiver)).ok().map(|_| sender)
    };
    QUEUE.get_or_init(start).as_ref()
}

fn write(entries: &Receiver<Entry>) {
    for entry in entries {
        // Standard error may be closed or full: the log is then cut short, and nothing else.
        match entry {
            Entry::Line(text) => {
                let left_out = LEFT_OUT.swap(0, Ordering::Relaxed);
                if left_out > 0 {
                    let gap = shown("WARN", format!("({left_out} lines of the log were left out here)"));
                    let _ = writeln!(io::stderr().lock(), "{gap}");
                }
                let _ = writeln!(io::stderr().lock(), "{text}");
            }
            Entry::Flush(done) => drop(done),
        }
    }
}

/// Decides if lines are written as JSON from now on.
pub fn set_json(is_json: bool) {
    IS_JSON.store(is_json, Ordering::Relaxed);
}

/// Makes the beginning of a line in JSON: its time and severity.
pub fn json_head(level: &str) -> Map<String, Value> {
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true);
    [("timestamp", now.as_str()), ("level", level)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect()
}

/// Returns a text as it is written to the log.
fn shown(level: &str, text: String) -> String {
    if !IS_JSON.load(Ordering::Relaxed) {
        return one_line(text);
    }
    let mut line = json_head(level);
    line.insert("message".to_owned(), Value::from(text));
    Value::Object(line).to_string()
}

/// Start of the further lines of a text.
const INDENT: &str = "      ";

/// Returns true if a character could begin a line, move the cursor, or turn the text around.
fn is_forging(character: char) -> bool {
    let turns =
        matches!(character, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns a text without characters by which a client could write lines of its own into the log.
fn one_line(text: String) -> String {
    if !text.contains(is_forging) {
        return text;
    }
    let mut line = String::with_capacity(text.len() + INDENT.len());
    for character in text.chars() {
        match is_forging(character) {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}

/// Writes a line, asynchronously. What would break it is escaped.
pub fn line(text: String) {
    written_line(shown("INFO", text));
}

/// Writes a text that may have several lines, asynchronously: all but the first are indented, and so none looks like another entry.
pub fn paragraph(text: String) {
    if IS_JSON.load(Ordering::Relaxed) {
        return line(text);
    }
    let lines = text.lines().map(|line| one_line(line.replace('\t', "    ")));
    written_line(lines.collect::<Vec<_>>().join(&format!("\n{INDENT}")));
}

/// Writes a line of text from elsewhere, asynchronously. What would break it is escaped.
pub fn foreign_line(text: &str) {
    written_line(one_line(text.to_owned()));
}

/// Writes the last line, which says why the program ends, before it returns.
pub fn last_line(text: String) {
    flush();
    let shown = match IS_JSON.load(Ordering::Relaxed) {
        true => shown("ERROR", text),
        // Several lines are the reader's own: of a script, or of a file.
        false => text.lines().map(|line| one_line(line.to_owned())).collect::<Vec<_>>().join("\n"),
    };
    let _ = writeln!(io::stderr(), "{shown}");
}

/// Writes a line that has its form already, asynchronously.
pub fn written_line(line: String) {
    let sent = queue().map(|queue| queue.try_send(Entry::Line(line)));
    if let Some(Err(TrySendError::Full(_))) | None = sent {
        LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits a moment for the lines so far.
pub fn flush() {
    let Some(Some(queue)) = QUEUE.get() else { return };
    let (done, waited) = channel();
    if queue.try_send(Entry::Flush(done)).is_ok() {
        let _ = waited.recv_timeout(END_TIME_MAX);
    }
}

/// Traces where a defect of the server was noticed. Texts in quotes may be a client's data.
pub(crate) fn origin(error: &SqlError) {
    if let Some(origin) = error.origin {
        tracing::error!(%origin, error = secrets::without_literals(&error.message), "internal error");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_line_of_its_own() {
        let forged = "x\n[99] LOGIN ok\r\u{1b}[2K\u{85}\u{2028}\u{202e}y";
        let line = one_line(forged.to_owned());
        assert!(!line.contains(is_forging), "{line:?}");
        assert_eq!(line, r"x\n[99] LOGIN ok\r\u{1b}[2K\u{85}\u{2028}\u{202e}y");
        assert_eq!(one_line("Åsa 'ß' \\ \"".to_owned()), "Åsa 'ß' \\ \"");
    }
}
