//! `--json`: what a command has done, a JSON object a line on standard output.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::ExitStatus;

/// A report could not be written.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Prints the report of work that is done. One that cannot be written undoes nothing and stops nothing.
pub fn print(line: &Value) {
    let mut out = io::stdout();
    if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush())
        // A reader that has gone away wants no report.
        && error.kind() != io::ErrorKind::BrokenPipe
        && !IS_MISSING.swap(true, Ordering::Relaxed)
    {
        say!(
            "error: the report cannot be written to standard output: {error}; what it tells of has happened"
        );
    }
}

/// Returns the status of a command. Nobody who waits for a report is to take a missing one for success.
pub fn status(of_command: ExitStatus) -> ExitStatus {
    let is_done = matches!(of_command, ExitStatus::SUCCESS | ExitStatus::ROWS_REFUSED);
    match is_done && IS_MISSING.load(Ordering::Relaxed) {
        true => ExitStatus::FAILURE,
        false => of_command,
    }
}
