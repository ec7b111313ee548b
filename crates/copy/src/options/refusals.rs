//! Options for refused rows.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The treatment of rows that cannot be loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RefusalOptions {
    /// Write refused rows to this file, a JSON object a line, and load the others
    #[arg(long, value_name = "FILE", help_heading = "Refused rows")]
    pub rejects: Option<PathBuf>,
    /// Rows that may be refused before the load fails (default: none, or any number with --rejects)
    #[arg(long, value_name = "ROWS", help_heading = "Refused rows")]
    pub max_errors: Option<u64>,
    /// When the server refuses a batch (a constraint, a duplicate key), load its good rows and refuse the others; every part
    /// of the batch is then a transaction of its own
    #[arg(long, help_heading = "Refused rows")]
    pub bisect: bool,
}
