//! Options for existing rows and for the path of new ones.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::list;

/// The effect of a load on existing rows, and the way in which new ones reach the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModeOptions {
    /// What happens to existing rows (default: append)
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Target")]
    pub mode: Option<ModeName>,
    /// The key's columns, for the modes upsert and insert-new (default: the table's primary key), and for rows that say what they do
    #[arg(long, value_name = "COL[,COL]", value_delimiter = ',', help_heading = "Target")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    pub key: Vec<String>,
    /// How rows reach the table (default: auto)
    #[arg(long, value_enum, value_name = "WAY", help_heading = "Target")]
    pub strategy: Option<StrategyName>,
    /// Empty the table first; the same as --mode truncate
    #[arg(long, conflicts_with = "mode", help_heading = "Target")]
    pub truncate: bool,
}

/// The effect on existing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeName {
    /// Existing rows stay.
    Append,
    /// Existing rows are removed first; readers see an empty table, then a growing one.
    Truncate,
    /// Existing rows are removed once all new rows are loaded; readers see the old rows or the new ones.
    Replace,
    /// Rows with a key of the source are updated if they differ; other rows of the source are inserted.
    Upsert,
    /// Existing rows stay; rows of the source with a new key are inserted.
    InsertNew,
}

/// The way in which rows reach the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// The plan chooses, and says why.
    Auto,
    /// Into the table.
    Direct,
    /// Through a stage whose indexes are built after all rows are loaded, and which then takes the table's place.
    HeapThenKey,
    /// Through a stage that has the table's indexes from the start, and then takes the table's place.
    Swap,
}

impl ModeOptions {
    /// Returns true if the table is emptied before the load.
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
