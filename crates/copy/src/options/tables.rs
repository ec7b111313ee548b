//! Options that choose what is copied of a database.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::list;

/// A query, or several tables and how they are copied.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TableOptions {
    /// Copy the result of this query, in place of a table
    #[arg(long, value_name = "SQL", conflicts_with = "tables", help_heading = "Source")]
    #[schemars(skip)]
    pub query: Option<String>,
    /// Copy the tables whose names fit: 'sales.*', orders, 'log_????'. Views must be named
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', help_heading = "Several tables")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub tables: Vec<String>,
    /// Leave out the tables whose names fit
    #[arg(
        long,
        value_name = "PATTERN",
        value_delimiter = ',',
        requires = "tables",
        help_heading = "Several tables"
    )]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    pub exclude: Vec<String>,
    /// Tables that are copied at a time
    #[arg(long, value_name = "N", default_value = "2", help_heading = "Several tables", value_parser = clap::value_parser!(u16).range(1..=64))]
    #[schemars(range(min = 1, max = 64))]
    pub jobs: u16,
    /// Begin no further table after one has failed
    #[arg(long, requires = "tables", help_heading = "Several tables")]
    pub fail_fast: bool,
    /// The schema that takes all tables (default: each goes to the schema of its name)
    #[arg(long, value_name = "SCHEMA", requires = "tables", help_heading = "Several tables")]
    pub to_schema: Option<String>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            query: None,
            tables: Vec::new(),
            exclude: Vec::new(),
            jobs: 2,
            fail_fast: false,
            to_schema: None,
        }
    }
}
