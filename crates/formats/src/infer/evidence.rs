//! The value that a column's type is owed to.

use std::fmt;

/// The reading of a column's values, other than SQL Server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// A value.
    pub value: String,
    /// The value as SQL Server spells it.
    pub plain: String,
    /// Number of values that are read so.
    pub values: u64,
}

/// Words that programs write for NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullWords {
    /// The first of them.
    pub word: String,
    /// Their number.
    pub values: u64,
    /// Number of values, they included.
    pub of: u64,
}

/// The last value that made a column's type what it is: without it the type would be narrower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The value; its beginning, if it is long.
    pub value: String,
    /// Number of the file that it stands in, from 0, where several are read together.
    pub file: usize,
    /// Number of its row in the file, from 1, without the header.
    pub row: u64,
    /// The type of the values before it; `None` if it is the first value.
    pub before: Option<String>,
}

const VALUE_CHARS_MAX: usize = 40;

impl Evidence {
    pub(super) fn new(value: &str, file: usize, row: u64, before: Option<String>) -> Self {
        let value = match value.char_indices().nth(VALUE_CHARS_MAX) {
            Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
            None => value.to_owned(),
        };
        Self { value, file, row, before }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, row, before, .. } = self;
        match before {
            Some(before) => write!(f, "{before} until row {row}: {value:?}"),
            None => write!(f, "like row {row}: {value:?}"),
        }
    }
}
