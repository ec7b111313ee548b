//! The effect on a table's existing rows, and the way in which new rows reach it.

use std::{fmt, str::FromStr};

use super::error::StageError;

/// The effect of a load on existing rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    /// Existing rows stay; the rows of the source are added.
    #[default]
    Append,
    /// Existing rows are removed first. Readers see an empty table, then a growing one.
    Truncate,
    /// The transaction that adds the new rows removes the existing ones. Readers see the old rows or the new.
    Replace,
    /// Rows whose key is in the source are updated, and the other rows of the source are inserted.
    Upsert {
        /// The key's columns; none: those of the table's primary key.
        keys: Vec<String>,
    },
    /// Rows of the source whose key is not there yet are inserted; the others change nothing.
    InsertNew {
        /// The key's columns; none: those of the table's primary key.
        keys: Vec<String>,
    },
    /// Each row says what it does, by a [`RowAction`](super::RowAction) in the column [`ACTION_COLUMN`](super::ACTION_COLUMN).
    ByAction {
        /// The key's columns; none: those of the table's primary key.
        keys: Vec<String>,
    },
}

impl Mode {
    /// The names of the modes that a name alone can choose, in the order of the variants.
    pub const WORDS: [&'static str; 5] = ["append", "truncate", "replace", "upsert", "insert-new"];

    /// Parses the mode with this name and key. Modes by key go by the table's primary key if none is given, and the others take
    /// none.
    pub fn parse(word: &str, keys: Vec<String>) -> Result<Self, StageError> {
        let mode = match word {
            "append" => Self::Append,
            "truncate" => Self::Truncate,
            "replace" => Self::Replace,
            "upsert" => Self::Upsert { keys: keys.clone() },
            "insert-new" => Self::InsertNew { keys: keys.clone() },
            other => return Err(StageError::Word { kind: "mode", word: other.to_owned() }),
        };
        match mode.keys().is_none() && !keys.is_empty() {
            true => Err(StageError::KeyUnused { mode: mode.word() }),
            false => Ok(mode),
        }
    }

    /// Returns the word of the mode.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Truncate => "truncate",
            Self::Replace => "replace",
            Self::Upsert { .. } => "upsert",
            Self::InsertNew { .. } => "insert-new",
            Self::ByAction { .. } => "by-action",
        }
    }

    /// Returns the key, for a mode that has one.
    pub fn keys(&self) -> Option<&[String]> {
        match self {
            Self::Upsert { keys } | Self::InsertNew { keys } | Self::ByAction { keys } => Some(keys),
            Self::Append | Self::Truncate | Self::Replace => None,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The way in which rows reach the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The plan chooses by mode and table.
    #[default]
    Auto,
    /// Into the table itself.
    Direct,
    /// Into a stage that takes the table's place. Its indexes are built after all rows are loaded.
    HeapThenKey,
    /// Into a stage that takes the table's place. It has the table's indexes from the start.
    Swap,
}

impl Strategy {
    /// The names of the strategies, in the order of the variants.
    pub const WORDS: [&'static str; 4] = ["auto", "direct", "heap-then-key", "swap"];

    /// Returns the word of the strategy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Direct => "direct",
            Self::HeapThenKey => "heap-then-key",
            Self::Swap => "swap",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Strategy {
    type Err = StageError;

    fn from_str(word: &str) -> Result<Self, StageError> {
        [Self::Auto, Self::Direct, Self::HeapThenKey, Self::Swap]
            .into_iter()
            .find(|strategy| strategy.word() == word)
            .ok_or_else(|| StageError::Word { kind: "strategy", word: word.to_owned() })
    }
}
