//! `run --log FILE`: what happens in a run, a JSON object a line.

use std::fs::{File, OpenOptions};
use std::io::Write;
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
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|source| Failure::Log { file: path.display().to_string(), source })?;
        Ok(Self { file: Mutex::new(file) })
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
