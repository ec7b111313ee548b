//! The places of a source's rows, for messages and for the file of refused rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use formats::{Encoding, RowLines};

/// The place of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or whatever holds the row.
    pub name: String,
    /// The number of the row in its file, from 0.
    pub row: u64,
    /// The line in which it starts, from 1.
    pub line: Option<u64>,
    /// The encoding of the file, if its rows are text that was decoded.
    pub encoding: Option<Encoding>,
}

/// Knows where rows stand: a source notes each of its parts when it begins to read it.
#[derive(Debug, Clone, Default)]
pub struct Places(Arc<Mutex<Vec<Part>>>);

/// A file among several.
#[derive(Debug, Clone)]
pub struct Part {
    /// The name for messages.
    pub name: String,
    /// The number of its first row among those of the source, from 0.
    pub first_row: u64,
    /// The lines of the rows.
    pub lines: Option<RowLines>,
    /// The encoding of the file.
    pub encoding: Option<Encoding>,
}

impl Places {
    /// Notes that rows come from another part from now on.
    pub fn note(&self, part: Part) {
        self.parts().push(part);
    }

    /// Forgets all parts: the source is read again.
    pub fn clear(&self) {
        self.parts().clear();
    }

    /// Returns the place of a row of the source.
    pub fn of(&self, row: u64, source: &str) -> Place {
        let parts = self.parts();
        match parts.iter().rev().find(|part| part.first_row <= row) {
            Some(part) => {
                let row = row - part.first_row;
                let line = part.lines.as_ref().and_then(|lines| lines.line_of_row(row.saturating_add(1)));
                Place { name: part.name.clone(), row, line, encoding: part.encoding }
            }
            None => Place { name: source.to_owned(), row, line: None, encoding: None },
        }
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
