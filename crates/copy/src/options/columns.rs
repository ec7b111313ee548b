//! Options for columns: which goes where, and which conversions may lose something.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parse_mapping;
use super::spelled::list;

/// The assignment of source columns to those of the target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ColumnOptions {
    /// Map a source column to a target column; repeat for each (others are then left out)
    #[arg(long = "map", value_name = "SRC=DST", value_parser = parse_mapping, help_heading = "Columns")]
    #[serde(with = "list")]
    #[schemars(with = "Vec<String>")]
    pub map: Vec<(String, String)>,
    /// Map columns by position, even when the source has names
    #[arg(long, conflicts_with = "map", help_heading = "Columns")]
    pub by_position: bool,
}

/// The conversions that are allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConversionOptions {
    /// Cut text and binary values that are too long
    #[arg(long, help_heading = "Conversions (each loses something, so each must be asked for)")]
    pub allow_truncate: bool,
    /// Round numbers and times with more digits than the column holds
    #[arg(long, help_heading = "Conversions (each loses something, so each must be asked for)")]
    pub allow_rounding: bool,
    /// Drop the time zone of timestamps that go into columns without one
    #[arg(long, help_heading = "Conversions (each loses something, so each must be asked for)")]
    pub drop_time_zone: bool,
    /// Replace characters that the column's code page lacks
    #[arg(
        long,
        value_name = "CHAR",
        help_heading = "Conversions (each loses something, so each must be asked for)"
    )]
    pub replacement: Option<char>,
    /// Load lists, structs and maps as JSON text
    #[arg(long, help_heading = "Conversions (each loses something, so each must be asked for)")]
    pub nested_as_json: bool,
}
