//! The effect of a single row on a table, where each row names its own action.

use std::fmt;

/// The column of a stage that says what each row does, by [`code`](RowAction::code).
pub const ACTION_COLUMN: &str = "__bulkwire_action";

/// The effect of a row on the table's row with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAction {
    /// The row is new. A row with its key is an error.
    Insert,
    /// The row replaces the values of the row with its key. Without one it does nothing.
    Update,
    /// The row replaces the values of the row with its key, or else is new.
    Upsert,
    /// The row removes the row with its key. Without one it does nothing.
    Delete,
}

impl RowAction {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Insert, Self::Update, Self::Upsert, Self::Delete];

    /// Returns the word of the action.
    pub fn word(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Upsert => "upsert",
            Self::Delete => "delete",
        }
    }

    /// Finds the action with this word, in any case and with blanks at its end, as `char` columns have them.
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.trim_end_matches(' ');
        Self::ALL.into_iter().find(|action| action.word().eq_ignore_ascii_case(word))
    }

    /// Returns the number that stands for the action in a stage.
    pub fn code(self) -> u8 {
        match self {
            Self::Insert => 1,
            Self::Update => 2,
            Self::Upsert => 3,
            Self::Delete => 4,
        }
    }
}

impl fmt::Display for RowAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_case_and_with_blanks_behind() {
        for action in RowAction::ALL {
            assert_eq!(RowAction::of_word(action.word()), Some(action));
        }
        assert_eq!(RowAction::of_word("DELETE  "), Some(RowAction::Delete));
        assert_eq!(RowAction::of_word(" delete"), None);
        assert_eq!(RowAction::of_word(""), None);
    }
}
