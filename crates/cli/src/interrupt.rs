//! Handles Ctrl-C and SIGTERM: partial files are removed, and the server rolls the open batch back when the connection ends.
//!
//! SIGHUP keeps its default, so that `nohup` works. On Windows, Ctrl-C, Ctrl-Break and a closed console count as interrupts.

#[cfg(windows)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{io, process};

use load::report::{grouped, row_words};

use crate::event_log;

/// Exit codes of an interrupted process are this plus the signal's number, as shells have it.
const SIGNAL_EXIT_BASE: i32 = 128;

/// The effects that an interruption leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Batches that the server has committed.
    Batches,
    /// The effect on the server is unknown.
    Unknown,
    /// A run of a package that can go on.
    Run,
    /// Nothing.
    Nothing,
}

/// The progress of the loads of this process.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    committed: u64,
    committing: u64,
    /// A statement is under way that changes the table by itself.
    statement: bool,
}

static ROWS: Mutex<Rows> = Mutex::new(Rows { committed: 0, committing: 0, statement: false });

fn rows() -> MutexGuard<'static, Rows> {
    ROWS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes commits as they happen.
pub struct Commits;

impl load::CommitWatch for Commits {
    fn begins(&self, committing: u64) {
        let mut rows = rows();
        rows.committing = rows.committing.saturating_add(committing);
    }

    fn ended(&self, ended: u64, committed: bool) {
        let mut rows = rows();
        rows.committing = rows.committing.saturating_sub(ended);
        if committed {
            rows.committed = rows.committed.saturating_add(ended);
        }
    }
}

/// Notes rows that a statement has loaded.
pub fn note_rows(loaded: u64) {
    let mut rows = rows();
    rows.committed = rows.committed.saturating_add(loaded);
}

/// Notes that a statement is under way that changes something by itself, or that it has ended.
pub fn note_statement(is_under_way: bool) {
    rows().statement = is_under_way;
}

/// Runs a statement that changes something by itself.
pub fn during_statement<T>(run: impl FnOnce() -> T) -> T {
    rows().statement = true;
    let done = run();
    rows().statement = false;
    done
}

/// The stage that takes the rows: until it is published, none of them is in the table.
static STAGE: Mutex<Option<String>> = Mutex::new(None);

/// Notes that rows go into a stage from now on.
pub fn note_stage(stage: String) {
    *STAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
}

/// Notes that the rows of the stage are in the table.
pub fn note_published() {
    *STAGE.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Writes the sentence about batches for the user.
fn told(rows: Rows) -> String {
    if let (Some(stage), false) = (&*STAGE.lock().unwrap_or_else(PoisonError::into_inner), rows.statement) {
        return format!(
            "the table is as it was; the stage {stage} may be left behind, and DROP TABLE removes it"
        );
    }
    let (noun, verb) = row_words(rows.committed);
    let committed = format!("{} {noun} {verb} committed", grouped(rows.committed));
    match (rows.committing, rows.statement) {
        (_, true) => "it is not known whether the statement under way takes effect".to_owned(),
        (0, false) => format!("{committed}, nothing else is"),
        (committing, false) => {
            let (noun, verb) = row_words(committing);
            format!(
                "{committed}; it is not known whether the {} {noun} of the batch under way {verb}",
                grouped(committing)
            )
        }
    }
}

/// The effects that an interruption would leave behind now.
static LEFT: Mutex<Left> = Mutex::new(Left::Nothing);

/// Notes what an interruption leaves behind from now on.
pub fn leaves(left: Left) {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = left;
}

/// Cleans up when a signal ends the process.
#[cfg(unix)]
pub fn watch() -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(signal);
        }
    })?;
    Ok(())
}

/// Cleans up when an interrupt ends the process.
#[cfg(windows)]
pub fn watch() -> io::Result<()> {
    const SIGINT: i32 = 2;
    let watched = ctrlc::set_handler(move || end(SIGINT));
    watched.map_err(|error| match error {
        ctrlc::Error::System(error) => error,
        other => io::Error::other(other),
    })
}

fn end(signal: i32) -> ! {
    let left = *LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    formats::remove_unfinished();
    // Held until the end of the process, so that no commit begins after the message.
    let rows = rows();
    match left {
        Left::Batches => say!("error: interrupted; {}", told(*rows)),
        Left::Unknown => say!("error: interrupted; statements that had ended stay in effect"),
        Left::Run => say!("error: interrupted; the same command goes on where the run stopped"),
        Left::Nothing => say!("error: interrupted"),
    }
    event_log::finish_with(SIGNAL_EXIT_BASE + signal);
    process::exit(SIGNAL_EXIT_BASE + signal);
}
