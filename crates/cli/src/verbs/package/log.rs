//! `run --log FILE`: what happens in a run, a JSON object a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use package::{Event, Observer};

use crate::failure::Failure;

/// A log that grows by a line for each event.
pub struct RunLog {
    file: Mutex<File>,
}

impl RunLog {
    /// Opens a log; what it has stays.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |source| Failure::Log { file: path.display().to_string(), source };
        if !Self::may_grow(path) {
            return Err(failed(io::Error::other("it has something else than a log, and stays as it is")));
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Returns true if a file is empty, begins with an object as logs do, or is none that could be damaged.
    fn may_grow(path: &Path) -> bool {
        let Ok(mut file) = File::open(path) else { return true };
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let mut first = [0];
        !is_file || matches!(file.read(&mut first), Ok(0)) || first == *b"{"
    }
}

impl Observer for RunLog {
    fn event(&self, event: &Event<'_>) {
        let mut line = event.json().to_string();
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end a run whose own journal can still be written.
        if let Err(error) = file.write_all(line.as_bytes()) {
            say!("warning: the log cannot be written: {error}");
        }
    }
}
