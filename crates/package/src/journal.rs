//! The record of a run, in a file beside the package: a JSON object a line, on disk before and after each task.
//!
//! The file is locked while a run has it, so that a package runs once at a time. A line that a crash has torn counts as not
//! written. The journal of a run that is over is replaced by the next run's.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Larger journals are not read.
const BYTES_MAX: u64 = 1 << 30;

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A run begins.
    Run(RunRecord),
    /// A run goes on after it was killed or had failed.
    Continued {
        /// The time of the continuation.
        at: String,
    },
    /// The items that a loop runs over.
    Items {
        /// The task.
        task: String,
        /// The values of each round, by their names.
        items: Vec<BTreeMap<String, Option<String>>>,
    },
    /// A task begins.
    Begin {
        /// The task.
        task: String,
        /// The time of the beginning.
        at: String,
        /// The number of times that earlier work on it was discarded.
        #[serde(default)]
        generation: u32,
    },
    /// A task has ended.
    End(EndRecord),
    /// The run is over.
    Over {
        /// The time of the end.
        at: String,
        /// True if nothing is left to do.
        succeeded: bool,
    },
}

/// The package, variables and selection of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Names the run.
    pub run: String,
    /// The package's name.
    pub package: String,
    /// The time of the beginning, in local time with its offset.
    pub start: String,
    /// The values that its variables had at the start.
    pub variables: BTreeMap<String, String>,
    /// The words of `--from` and `--only`.
    pub selection: Vec<String>,
}

/// The end of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// The task.
    pub task: String,
    /// The time of the end.
    pub at: String,
    /// True if the task succeeded.
    pub succeeded: bool,
    /// The task as the file had it.
    pub definition: String,
    /// Rows that it moved.
    pub rows: Option<u64>,
    /// Rows that it refused.
    #[serde(default)]
    pub refused: u64,
    /// Variables that it set; None is NULL.
    #[serde(default)]
    pub variables: BTreeMap<String, Option<String>>,
}

/// The journal's record of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastTask {
    /// True if the task began, and no entry says that it ended.
    pub is_interrupted: bool,
    /// The last end of the task.
    pub end: Option<EndRecord>,
    /// The number of times that earlier work on it was discarded.
    pub generation: u32,
    /// True if the task has ever begun.
    pub has_begun: bool,
}

/// A run as the journal has it.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// The record of the run.
    pub run: RunRecord,
    /// The tasks of the run.
    pub tasks: HashMap<String, PastTask>,
    /// The items that the loops run over.
    pub items: HashMap<String, Vec<BTreeMap<String, Option<String>>>>,
    /// True if nothing is left to do.
    pub is_done: bool,
}

/// An error that keeps a run from its journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another run has it.
    #[error("another run of this package is under way (it holds {})", .0.display())]
    Locked(PathBuf),
    /// The file is no journal.
    #[error("{}, line {line}: this is no journal of a run: {reason}", .file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// A description of the mistake.
        reason: String,
    },
    /// The file cannot be read or written.
    #[error("{}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// The journal of the run under way.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    past: Past,
}

impl Past {
    fn apply(&mut self, record: Record) {
        match record {
            Record::Run(run) => *self = Self { run, ..Self::default() },
            Record::Continued { .. } => self.is_done = false,
            Record::Items { task, items } => {
                self.items.insert(task, items);
            }
            Record::Begin { task, generation, .. } => {
                let task = self.tasks.entry(task).or_default();
                (task.is_interrupted, task.has_begun, task.generation) = (true, true, generation);
            }
            Record::End(end) => {
                let task = self.tasks.entry(end.task.clone()).or_default();
                task.is_interrupted = false;
                task.end = Some(end);
            }
            Record::Over { succeeded, .. } => self.is_done = succeeded,
        }
    }
}

impl Journal {
    /// Opens and locks the journal, and says what an earlier run has left.
    ///
    /// # Errors
    /// Another run has it, or it is no journal.
    pub fn open(path: &Path) -> Result<(Self, Option<Past>), JournalError> {
        let failed = |source| JournalError::Io { file: path.to_owned(), source };
        let is_new = !path.exists();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        if is_new {
            sync_folder(path).map_err(failed)?;
        }
        let length = file.metadata().map_err(failed)?.len();
        if length > BYTES_MAX {
            return Err(failed(io::Error::other("too large for a journal")));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        // The text behind the last line break was never whole.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut past: Option<Past> = None;
        for (line, bytes) in (1..).zip(text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n')) {
            if bytes.is_empty() {
                continue;
            }
            let record: Record = serde_json::from_slice(bytes).map_err(|error| JournalError::Foreign {
                file: path.to_owned(),
                line,
                reason: error.to_string(),
            })?;
            past.get_or_insert_default().apply(record);
        }
        if whole < text.len() {
            if past.is_none() && text.first() != Some(&b'{') {
                let reason = "it does not begin as one".to_owned();
                return Err(JournalError::Foreign { file: path.to_owned(), line: 1, reason });
            }
            file.set_len(whole as u64).map_err(failed)?;
        }
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let journal = Self { file, path: path.to_owned(), past: past.clone().unwrap_or_default() };
        Ok((journal, past))
    }

    /// Begins a run: what the file had is gone.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, run: RunRecord) -> Result<(), JournalError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(|source| self.failed(source))?;
        self.write(Record::Run(run))
    }

    /// Adds a line, which is on disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, record: Record) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(&record).map_err(|error| self.failed(error.into()))?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .map_err(|source| self.failed(source))?;
        self.past.apply(record);
        Ok(())
    }

    /// Returns the work that the run has done so far.
    pub fn past(&self) -> &Past {
        &self.past
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io { file: self.path.clone(), source }
    }
}

/// Syncs a folder: a new file exists after a crash only if its folder's entry does.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
