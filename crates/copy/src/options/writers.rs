//! Options of a load over several connections, of repeated tries, and of continued loads.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Choice;
use super::spelled::{NumberOrWord, option};

/// The number of connections that load, the errors that are retried, and the record by which a load is continued.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WriterOptions {
    /// Connections that load at the same time: a number, or `auto` for as many as make the load faster
    #[arg(long, value_name = "N|auto", help_heading = "Writers")]
    #[serde(with = "option")]
    #[schemars(with = "Option<NumberOrWord>")]
    pub writers: Option<WriterCount>,
    /// Give the rows of each partition of a partitioned table to one writer at a time (default: the plan chooses)
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "on", require_equals = true, help_heading = "Writers")]
    pub by_partition: Option<Choice>,
    /// Seconds for which transient errors are tried again: broken connections, deadlocks, a busy service. 0: never
    #[arg(long, value_name = "SECONDS", help_heading = "Writers")]
    pub retry_for: Option<u32>,
    /// Record in the database which rows are committed, and continue an unfinished load of the same files into the same table:
    /// every row is then loaded once, whatever breaks. A finished load is not repeated
    #[arg(long, help_heading = "Writers")]
    #[schemars(skip)]
    pub resume: bool,
    /// Name of the recorded load; implies --resume (default: made from table and files)
    #[arg(long, value_name = "NAME", help_heading = "Writers", value_parser = parse_load_id)]
    #[schemars(skip)]
    pub load_id: Option<String>,
    /// Schema of the tables that record loads
    #[arg(long, value_name = "SCHEMA", default_value = "dbo", help_heading = "Writers")]
    pub ledger_schema: String,
    /// Seconds for the whole load; what is not committed by then is rolled back
    #[arg(long, value_name = "SECONDS", help_heading = "Writers", value_parser = clap::value_parser!(u32).range(1..))]
    #[schemars(range(min = 1))]
    pub time_limit: Option<u32>,
}

/// A number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterCount {
    /// A fixed number of connections.
    Fixed(u16),
    /// As many as pay.
    Auto,
}

impl WriterOptions {
    /// Returns true if rows are held until they are committed, and more than one connection may load.
    pub fn is_asked(&self) -> bool {
        self.writers.is_some() || self.retry_for.is_some() || self.is_resumable() || self.time_limit.is_some()
    }

    /// Returns true if committed rows are recorded.
    pub fn is_resumable(&self) -> bool {
        self.resume || self.load_id.is_some()
    }
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            writers: None,
            by_partition: None,
            retry_for: None,
            resume: false,
            load_id: None,
            ledger_schema: "dbo".to_owned(),
            time_limit: None,
        }
    }
}

impl FromStr for WriterCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => match text.parse() {
                Ok(writers @ 1..=256) => Ok(Self::Fixed(writers)),
                _ => Err("a number from 1 to 256, or auto".to_owned()),
            },
        }
    }
}

impl fmt::Display for WriterCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(writers) => write!(f, "{writers}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

fn parse_load_id(text: &str) -> Result<String, String> {
    match text.encode_utf16().count() {
        1..=128 => Ok(text.to_owned()),
        _ => Err("1 to 128 characters".to_owned()),
    }
}
