//! Errors that end a command early, and their exit codes.

use std::io;

use copy::{CopyError, FailedCopy, hints};
use formats::FormatError;
use load::report::{grouped, row_words};

use crate::ExitStatus;

/// An error as the user sees it. The exit code is 2 for a wrong command line, 4 if something is in doubt, and 1 for any other
/// failure.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments contradict each other or name nothing that exists.
    #[error("{0}")]
    Usage(String),
    /// The connection string is unusable.
    #[error("connection: {0}")]
    Config(#[from] load::ConfigError),
    /// The server, the network, or the plan.
    #[error(transparent)]
    Client(#[from] load::Error),
    /// A batch of a script failed at the server.
    #[error("{place}: {error}")]
    Batch {
        /// Script and line.
        place: String,
        /// The server's words.
        error: load::Error,
    },
    /// A statement that belongs to a load.
    #[error("{error}; the statement was {}", copy::shortened(statement))]
    Statement {
        /// The statement.
        statement: String,
        /// The error of the server or the connection.
        error: Box<load::Error>,
    },
    /// The command failed after the table had been emptied, as `--truncate` asks.
    #[error("{failure}")]
    Emptied {
        /// The table.
        table: String,
        /// The failure after that.
        failure: Box<Failure>,
    },
    /// The connection was lost before the first row of a load was sent.
    #[error("{failure}")]
    Unbegun {
        /// The failure before the first row.
        failure: Box<Failure>,
    },
    /// An error while rows were loaded into a stage: the table is unchanged.
    #[error("{failure}")]
    Staged {
        /// The table.
        table: String,
        /// The stage, if it could not be dropped.
        left: Option<String>,
        /// The failure of the load.
        failure: Box<Failure>,
    },
    /// A file does not fit its table; nothing was changed.
    #[error("{file} cannot be loaded into {table}: {error}")]
    Plan {
        /// The file.
        file: String,
        /// The table.
        table: String,
        /// The reason why the columns do not fit.
        error: Box<load::Error>,
    },
    /// A load ended early; says what it had committed.
    #[error("{}: {}", .0.file, said_once(&.0.file, &.0.error))]
    Load(Box<FailedLoad>),
    /// A copy ended early; says what it leaves.
    #[error("{}", .0.error)]
    Copy(Box<FailedCopy>),
    /// Tables of a copy failed.
    #[error("{} of {tables} tables failed: {}", failures.len(), names(failures))]
    Tables {
        /// The number of all tables.
        tables: usize,
        /// The failed tables, with their names.
        failures: Vec<(String, Box<FailedCopy>)>,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Values without a text form.
    #[error(transparent)]
    Text(#[from] rows::column_text::FormatTextError),
    /// Standard output or input failed.
    #[error("standard {stream}: {source}")]
    Stream {
        /// The name of the stream.
        stream: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// A format file cannot be written.
    #[error("{file}: {source}")]
    FormatFile {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// A file cannot be looked at.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// The file for refused rows cannot be written.
    #[error("{file}: {source}{}", committed.map(behind).unwrap_or_default())]
    Rejects {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
        /// Rows that were committed before.
        committed: Option<u64>,
    },
    /// The page of a load cannot be written.
    #[error("the report cannot be written to {file}: {source}")]
    Report {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// The log of a run cannot be written.
    #[error("the log cannot be written to {file}: {source}")]
    Log {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// A file that a command makes cannot be written.
    #[error("{file}: {source}")]
    Output {
        /// The file.
        file: String,
        /// The system's words.
        source: io::Error,
    },
    /// The journal of a run cannot be written.
    #[error(transparent)]
    Journal(package::journal::JournalError),
    /// The program was built without a part.
    #[error("this bulkwire was built without its engine (the feature `engine`), which {what} needs")]
    Missing {
        /// The verb, or what an option asks for.
        what: &'static str,
    },
    /// The wizard could not be started.
    #[error("{reason}")]
    Wizard {
        /// The address that was tried, and the system's words.
        reason: String,
    },
}

/// A load that ended early.
#[derive(Debug)]
pub struct FailedLoad {
    /// The file that was being loaded.
    pub file: String,
    /// The error of the load.
    pub error: load::LoadError,
    /// Line of the file in which the offending row starts, if that is known.
    pub line: Option<u64>,
}

impl Failure {
    /// Prints the error, and a hint where there is one; nothing for a reader that has gone away.
    pub fn report(&self) -> ExitStatus {
        if self.is_broken_pipe() {
            return ExitStatus::SUCCESS;
        }
        say!("error: {self}");
        if let Some(load) = self.load()
            && let Some(line) = load.line
        {
            say!("  at {}, line {line}", load.file);
        }
        if let Failure::Emptied { table, .. } = self {
            say!("note: {table} was emptied before, as --truncate asks");
        }
        if let Failure::Unbegun { .. } = self {
            say!("note: no row was loaded by this run");
        }
        if let Failure::Staged { table, left, .. } = self {
            say!("note: {table} is as it was; the load went into a stage beside it");
            if let Some(stage) = left {
                say!("note: the stage {stage} could not be dropped; DROP TABLE removes it");
            }
        }
        match self {
            Failure::Copy(failed) => failed.left.iter().for_each(|left| say!("note: {left}")),
            Failure::Tables { failures, .. } => {
                for (name, failed) in failures {
                    failed.left.iter().for_each(|left| say!("note: {name}: {left}"));
                }
            }
            _ => {}
        }
        if let Some(hint) = self.hint() {
            say!("hint: {hint}");
        }
        match self {
            _ if self.is_usage() => ExitStatus::USAGE,
            _ if self.is_in_doubt() => ExitStatus::IN_DOUBT,
            _ => ExitStatus::FAILURE,
        }
    }

    /// Marks a failure before the first row of a load: a lost connection does not show that by itself.
    pub fn before_rows(self) -> Self {
        let is_lost = match &self {
            Self::Client(error) => is_lost(error),
            Self::Plan { error, .. } | Self::Statement { error, .. } => is_lost(error),
            _ => false,
        };
        match is_lost {
            true => Self::Unbegun { failure: Box::new(self) },
            false => self,
        }
    }

    /// Adds the rows that were committed before a failure.
    pub fn behind_rows(self, rows: u64) -> Self {
        match self {
            Self::Rejects { file, source, .. } => Self::Rejects { file, source, committed: Some(rows) },
            other => other,
        }
    }

    /// Returns the load that ended early.
    pub fn load(&self) -> Option<&FailedLoad> {
        match self {
            Failure::Load(load) => Some(load),
            Failure::Emptied { failure, .. }
            | Failure::Staged { failure, .. }
            | Failure::Unbegun { failure } => failure.load(),
            _ => None,
        }
    }

    /// Returns true if the command line is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Failure::Usage(_) | Failure::Config(_) => true,
            Failure::Copy(failed) => matches!(failed.error, CopyError::Usage(_) | CopyError::Config { .. }),
            _ => false,
        }
    }

    /// Returns true if the last batch or statement may or may not have taken effect.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            Failure::Load(load) => load.error.rows_in_doubt > 0,
            Failure::Emptied { failure, .. } | Failure::Unbegun { failure } => failure.is_in_doubt(),
            // Whatever became of the stage's rows, none is in the table.
            Failure::Staged { .. } => false,
            Failure::Copy(failed) => failed.error.is_in_doubt(),
            Failure::Tables { failures, .. } => failures.iter().any(|(_, failed)| failed.error.is_in_doubt()),
            Failure::Client(error) | Failure::Batch { error, .. } => error.is_in_doubt(),
            Failure::Plan { error, .. } | Failure::Statement { error, .. } => error.is_in_doubt(),
            _ => false,
        }
    }

    fn is_broken_pipe(&self) -> bool {
        match self {
            Failure::Emptied { failure, .. }
            | Failure::Staged { failure, .. }
            | Failure::Unbegun { failure } => failure.is_broken_pipe(),
            Failure::Stream { source, .. } => source.kind() == io::ErrorKind::BrokenPipe,
            Failure::Format(error) => error.is_broken_pipe(),
            Failure::Copy(failed) => {
                matches!(&failed.error, CopyError::Format(error) if error.is_broken_pipe())
            }
            Failure::Client(load::Error::Sink(source)) => {
                source.downcast_ref::<FormatError>().is_some_and(FormatError::is_broken_pipe)
            }
            _ => false,
        }
    }

    fn hint(&self) -> Option<&'static str> {
        let error = match self {
            Failure::Load(load) => &load.error.source,
            Failure::Emptied { failure, .. }
            | Failure::Staged { failure, .. }
            | Failure::Unbegun { failure } => return failure.hint(),
            Failure::Client(error) => error,
            Failure::Batch { error, .. } => error,
            Failure::Plan { error, .. } | Failure::Statement { error, .. } => error,
            Failure::Copy(failed) => return hints::of_copy(&failed.error),
            Failure::Format(error) => return hints::of_file(error),
            _ => return None,
        };
        let is_plan = matches!(self, Failure::Plan { .. });
        hints::of_load(error, is_plan, matches!(self, Failure::Statement { .. }))
    }
}

/// Returns true if the connection was made and then lost.
fn is_lost(error: &load::Error) -> bool {
    use load::retry::{Transient, transient};
    let is_made = !matches!(error, load::Error::Connect(_) | load::Error::Login(_));
    is_made && matches!(transient(error), Some(Transient::Connection | Transient::Silence))
}

/// Converts an error of a copy's endpoints before it began.
impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Usage(text) => Self::Usage(text),
            CopyError::Config { source, .. } => Self::Config(source),
            CopyError::Format(error) => Self::Format(error),
            CopyError::Unreadable { file, source } => Self::Unreadable { file, source },
            CopyError::Rejects { file, source } => Self::Rejects { file, source, committed: None },
            error => Self::Copy(Box::new(FailedCopy {
                source: String::new(),
                destination: String::new(),
                rows_written: 0,
                error,
                left: Vec::new(),
            })),
        }
    }
}

/// The other way: rules of the command line that a copy's endpoints ask.
impl From<Failure> for CopyError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Format(error) => Self::Format(error),
            Failure::Copy(failed) => failed.error,
            failure => Self::Usage(failure.to_string()),
        }
    }
}

/// Puts the name of its file before an error's words, which may have the name too.
fn said_once(file: &str, error: &load::LoadError) -> String {
    let text = error.to_string();
    ["reading the source: ", ""]
        .iter()
        .find_map(|before| {
            let rest = text.strip_prefix(&format!("{before}{file}"))?;
            rest.strip_prefix(", ").or_else(|| rest.strip_prefix(": ")).map(str::to_owned)
        })
        .unwrap_or(text)
}

/// Says what is there although the file of refused rows is not whole.
fn behind(rows: u64) -> String {
    let (word, verb) = row_words(rows);
    format!("; {} {word} {verb} committed, and the file lacks refused rows", grouped(rows))
}

fn names(failures: &[(String, Box<FailedCopy>)]) -> String {
    failures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}
