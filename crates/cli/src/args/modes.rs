//! Options that say what becomes of the rows that a table has.

use clap::{Args, ValueEnum};

/// What a load makes of the table.
#[derive(Debug, Args)]
pub struct ModeArgs {
    /// What becomes of the rows that are there (default: append)
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Target")]
    pub mode: Option<ModeName>,
    /// The key's columns, for the modes upsert and insert-new
    #[arg(long, value_name = "COL[,COL]", value_delimiter = ',', help_heading = "Target")]
    pub key: Vec<String>,
    /// The way of the rows (default: auto)
    #[arg(long, value_enum, value_name = "WAY", help_heading = "Target")]
    pub strategy: Option<StrategyName>,
    /// Empty the table first: another word for --mode truncate
    #[arg(long, conflicts_with = "mode", help_heading = "Target")]
    pub truncate: bool,
}

/// What becomes of the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// They stay.
    Append,
    /// They go first; readers see an empty table, then a growing one.
    Truncate,
    /// They go when all new rows are there; readers see the old ones or the new ones.
    Replace,
    /// Those with a key of the source are updated if they differ; other rows of the source are inserted.
    Upsert,
    /// They stay; rows of the source whose key is new are inserted.
    InsertNew,
}

/// The way of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyName {
    /// As the plan chooses, and says why.
    Auto,
    /// Into the table.
    Direct,
    /// Into a stage whose indexes are built when all rows are there, and which then takes the table's place.
    HeapThenKey,
    /// Into a stage that has the table's indexes from the start, and then takes the table's place.
    Swap,
}

impl ModeArgs {
    /// Whether the table is emptied before the load.
    pub fn truncates(&self) -> bool {
        self.truncate || self.mode == Some(ModeName::Truncate)
    }
}

impl From<ModeName> for &'static str {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Append => "append",
            ModeName::Truncate => "truncate",
            ModeName::Replace => "replace",
            ModeName::Upsert => "upsert",
            ModeName::InsertNew => "insert-new",
        }
    }
}

impl From<StrategyName> for load::Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Auto => Self::Auto,
            StrategyName::Direct => Self::Direct,
            StrategyName::HeapThenKey => Self::HeapThenKey,
            StrategyName::Swap => Self::Swap,
        }
    }
}
