//! `bulkwire bcp`, and this program under the name `bcp`: the command line, messages and exit codes of the bcp utility.
//!
//! Everything is printed to standard output, as the original does. Warnings of what the original silently does wrong go to
//! standard error. Exit code 0: done, also if rows were refused below the limit of `-m`; 1: failed; 4: failed, and it is not
//! known whether the last batch was committed. `docs/bcp-compatibility.md` lists every difference.

mod arguments;
mod console;
mod copy_in;
mod copy_out;
mod data_source;
mod diagnostic;
mod dialogue;
mod layout;
mod locale;
mod refusals;
mod session;
mod switch;

use std::ffi::OsString;
use std::fmt;

use arguments::{Direction, Job, Request};
use console::Console;
use diagnostic::Diagnostic;
use formats::FormatError;

use load::report::row_words;

use crate::ExitStatus;

/// Runs a command line without the program's name.
pub fn run(program: &str, words: impl Iterator<Item = OsString>) -> ExitStatus {
    let words: Result<Vec<String>, OsString> = words.map(OsString::into_string).collect();
    let request = match words {
        Ok(words) => Request::parse(&words),
        Err(word) => {
            println!("The argument {} is not text.", word.display());
            return ExitStatus::FAILURE;
        }
    };
    match request {
        Ok(Request::Version) => {
            println!(
                "BCP of bulkwire - bulk copy for SQL Server.\nMIT OR Apache-2.0.\nVersion: {}",
                env!("CARGO_PKG_VERSION")
            );
            ExitStatus::SUCCESS
        }
        Ok(Request::Usage) => {
            print!("{}", switch::usage(program));
            ExitStatus::FAILURE
        }
        Ok(Request::Copy(job)) => copy(&job),
        Err(error) => {
            print!("{error}\n{}", switch::usage(program));
            ExitStatus::FAILURE
        }
    }
}

fn copy(job: &Job) -> ExitStatus {
    let console = match Console::open(job) {
        Ok(console) => console,
        Err(error) => {
            println!(
                "Unable to open output file {}: {error}",
                job.output_file.as_deref().unwrap_or_default()
            );
            return ExitStatus::FAILURE;
        }
    };
    job.warnings.iter().for_each(|warning| console.line(warning));
    if job.regional && job.direction != Direction::In {
        console.warn("-R is for in: currency, dates and times are written without regard to the locale");
    }
    let done = match job.direction {
        Direction::In => copy_in::run(job, &console),
        Direction::Out | Direction::QueryOut => copy_out::run(job, &console),
        Direction::Format => copy_out::run_format(job, &console),
    };
    match done {
        Ok(()) => ExitStatus::SUCCESS,
        Err(end) => {
            end.diagnostics.iter().for_each(|diagnostic| console.diagnostic(diagnostic));
            if let Some(left) = &end.left {
                console.warn(left);
            }
            if end.copy_failed {
                console.failed(job.direction);
            }
            if end.in_doubt { ExitStatus::IN_DOUBT } else { ExitStatus::FAILURE }
        }
    }
}

/// The end of a failed copy.
#[derive(Debug, Default)]
pub struct End {
    diagnostics: Vec<Diagnostic>,
    /// Rows may have moved: say that the copy failed.
    copy_failed: bool,
    /// The rows that are in the table nevertheless, in words.
    left: Option<String>,
    /// True if the last batch may or may not be in the table.
    in_doubt: bool,
}

impl End {
    /// Makes the end by an error of this side.
    fn client(state: &str, error: impl fmt::Display) -> Self {
        Self { diagnostics: vec![Diagnostic::client(state, error.to_string())], ..Self::default() }
    }

    /// Makes the end by an error of this side, in the original's words.
    fn words(state: &str, text: &str) -> Self {
        Self::client(state, text)
    }

    /// Makes the end by an error of the data file.
    fn reading(error: &FormatError) -> Self {
        Self::client("HY000", error)
    }

    /// Makes an end without a message: everything is said already.
    fn silent() -> Self {
        Self { copy_failed: true, ..Self::default() }
    }

    /// Makes an end that only sets the exit code: everything is said, and rows are where they should be.
    fn quiet() -> Self {
        Self::default()
    }

    /// Marks an end after the copy had started. An end without a message stays as it is.
    fn of_copy(self) -> Self {
        let copy_failed = self.copy_failed || !self.diagnostics.is_empty();
        Self { copy_failed, ..self }
    }
}

impl From<Diagnostic> for End {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], ..Self::default() }
    }
}

impl From<load::Error> for End {
    fn from(error: load::Error) -> Self {
        // Refused rows are shown one by one.
        let diagnostics = match &error {
            load::Error::RejectLimit => return Self::silent(),
            error => Diagnostic::all_of(error),
        };
        Self { diagnostics, ..Self::default() }
    }
}

impl From<load::LoadError> for End {
    fn from(error: load::LoadError) -> Self {
        let (committed, doubtful) = (error.rows_committed, error.rows_in_doubt);
        let seen = error.look.as_ref().map(|look| format!(" ({})", look.seen)).unwrap_or_default();
        let (noun, verb) = row_words(committed);
        let more = row_words(doubtful).1;
        let left = match doubtful {
            0 => format!("{committed} {noun} {verb} committed{seen}"),
            _ => format!(
                "{committed} {noun} {verb} committed; it is not known whether {doubtful} more {more} committed{seen}"
            ),
        };
        Self { left: Some(left), in_doubt: doubtful > 0, ..Self::from(error.source) }
    }
}

impl From<session::SessionError> for End {
    fn from(error: session::SessionError) -> Self {
        Self { diagnostics: error.diagnostics(), ..Self::default() }
    }
}

impl From<dialogue::DialogueError> for End {
    fn from(error: dialogue::DialogueError) -> Self {
        Self::client("HY000", error)
    }
}

impl From<layout::LayoutError> for End {
    fn from(error: layout::LayoutError) -> Self {
        match &error {
            layout::LayoutError::FormatFile(file) => {
                let (state, text) = file.vendor_words();
                // The original's words first; ours say where and what.
                Self {
                    diagnostics: vec![
                        Diagnostic::client(state, text),
                        Diagnostic::client("HY000", file.to_string()),
                    ],
                    ..Self::default()
                }
            }
            other => Self::client("HY000", other),
        }
    }
}
