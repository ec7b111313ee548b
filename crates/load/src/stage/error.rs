//! Errors of modes and strategies that are not possible for a table.

use super::{
    mode::{Mode, Strategy},
    obstacle::Obstacle,
};

/// A mode or a strategy that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// An unknown word for a mode or a strategy.
    #[error("\"{word}\" is no {kind}: {}", words(kind))]
    Word {
        /// "mode" or "strategy".
        kind: &'static str,
        /// The word as given.
        word: String,
    },
    /// A mode that needs a key got none, and the table has none.
    #[error("mode {mode} needs the key's columns, and {table} has no primary key to take them from")]
    KeyMissing {
        /// The mode.
        mode: &'static str,
        /// The table.
        table: String,
    },
    /// A mode that has no use for a key got one.
    #[error("mode {mode} takes no key; upsert and insert-new do")]
    KeyUnused {
        /// The mode.
        mode: &'static str,
    },
    /// A mode and a strategy, or another setting, that exclude each other.
    #[error("mode {mode} cannot go with {setting}: {reason}")]
    Combination {
        /// The mode.
        mode: &'static str,
        /// The strategy, or the setting.
        setting: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A strategy for an empty table, and the table is not.
    #[error(
        "strategy {strategy} needs an empty table, or mode replace: {table} has {rows} rows, and a stage that takes its place would have to copy them"
    )]
    Filled {
        /// The table.
        table: String,
        /// The number of rows in the table.
        rows: u64,
        /// The strategy.
        strategy: &'static str,
    },
    /// The table has something that a stage cannot have, or that would be lost when the stage replaces it.
    #[error("a stage cannot take the place of {table}: {}", list(obstacles))]
    Obstacles {
        /// The table.
        table: String,
        /// The obstacles of the table.
        obstacles: Vec<Obstacle>,
    },
    /// Somebody else has filled the table since the load began.
    #[error("{table} was empty when the load began and has rows now; nothing of the load was put into it")]
    NoLongerEmpty {
        /// The table.
        table: String,
    },
    /// The partitions of the table to which rows of the stage belong have rows.
    #[error(
        "partition {} of {table} has rows, and a stage's rows come into empty partitions only; nothing of the load was put into it",
        numbers(partitions)
    )]
    FilledPartitions {
        /// The table.
        table: String,
        /// The partitions' numbers, from 1.
        partitions: Vec<i64>,
    },
    /// The server switches no tables, and the table has something that a rename would lose.
    #[error(
        "the server refused ALTER TABLE ... SWITCH for {table} ({switch}), and a rename would lose: {}",
        list(obstacles)
    )]
    NoWayToPublish {
        /// The table.
        table: String,
        /// The server's words.
        switch: String,
        /// The objects that would be lost.
        obstacles: Vec<Obstacle>,
    },
    /// A later source lacks a column that an earlier one has.
    #[error(
        "column \"{column}\" is in the first source and not in this one: its rows would be taken for NULLs there"
    )]
    ColumnsDiffer {
        /// The column.
        column: String,
    },
    /// Another publication holds the table longer than the session waits for a lock.
    #[error("another load puts its rows into {table}, and it took longer than this session waits for a lock")]
    Busy {
        /// The table.
        table: String,
    },
}

fn words(kind: &str) -> String {
    match kind {
        "mode" => Mode::WORDS.join(", "),
        _ => Strategy::WORDS.join(", "),
    }
}

fn numbers(partitions: &[i64]) -> String {
    partitions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn list(obstacles: &[Obstacle]) -> String {
    obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
