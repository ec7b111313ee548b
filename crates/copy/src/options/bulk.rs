//! Options of bulk loads.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::list;
use super::{Choice, parse_order};

/// The options of loading rows into a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BulkOptions {
    /// Nobody else changes the table during the load: rows are counted first, and after a lost answer the count shows whether the
    /// last batch was committed. Implied for a table that --create or --truncate leaves empty
    #[arg(long, help_heading = "Load")]
    pub sole_writer: bool,
    /// Rows of a transaction (default: the plan chooses, and says why)
    #[arg(long, value_name = "ROWS", help_heading = "Load", value_parser = clap::value_parser!(u64).range(1..))]
    #[schemars(range(min = 1))]
    pub batch_rows: Option<u64>,
    /// Take a bulk-update lock on the table (default: the plan chooses)
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "on", require_equals = true, help_heading = "Load")]
    pub table_lock: Option<Choice>,
    /// The files are sorted by these columns, as `id` or `id,day DESC`: the server does not sort by a clustered key that is the
    /// same, and refuses a row out of order
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = parse_order, help_heading = "Load")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    pub order: Vec<(String, bool)>,
    /// Keep NULLs where a column has a default
    #[arg(long, help_heading = "Load")]
    pub keep_nulls: bool,
    /// Keep the source's values of the identity column
    #[arg(long, help_heading = "Load")]
    pub keep_identity: bool,
    /// Enforce CHECK and FOREIGN KEY constraints
    #[arg(long, help_heading = "Load")]
    pub check_constraints: bool,
    /// Fire insert triggers
    #[arg(long, help_heading = "Load")]
    pub fire_triggers: bool,
    /// Load ciphertext into columns of Always Encrypted as it is, for a user with ALLOW_ENCRYPTED_VALUE_MODIFICATIONS
    #[arg(long, help_heading = "Load")]
    pub allow_encrypted_values: bool,
    /// Let the bulk statement of a batch commit by itself. Saves two round trips, and works with servers that lack requests to
    /// begin and commit; but a wrong count is found too late to roll the batch back
    #[arg(long, help_heading = "Load")]
    pub autocommit: bool,
}
