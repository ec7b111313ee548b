//! Options for tables and queries that are read.

use clap::{Args, ValueEnum};
use load::read::{Consistency, Readers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::{self, NumberOrWord};

/// The forms of types that can be read in several ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FormOptions {
    /// How datetime2(7) becomes an Arrow timestamp
    #[arg(long, value_enum, default_value = "ns", value_name = "UNIT", help_heading = "Columns")]
    pub datetime2: Datetime2Form,
    /// Export datetimeoffset as text, with its offset, instead of a UTC timestamp (CSV files always have it so)
    #[arg(long, help_heading = "Columns")]
    pub datetimeoffset_text: bool,
    /// Export uniqueidentifier as text instead of 16 bytes
    #[arg(long, help_heading = "Columns")]
    pub guid_text: bool,
}

/// The number of connections that read, and their restraint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReaderOptions {
    /// Number of connections to read over (1 to 64), or auto for as many as make the export faster. Without --split-by the
    /// clustered key splits the table
    #[arg(long, value_name = "N|auto", default_value = "1", help_heading = "Readers")]
    #[serde(with = "spelled")]
    #[schemars(with = "NumberOrWord")]
    pub readers: Readers,
    /// Split the rows by this column of the table or the query
    #[arg(long, value_name = "COLUMN", help_heading = "Readers")]
    pub split_by: Option<String>,
    /// Ranges to split the rows into (default: from the table's size)
    #[arg(long, value_name = "N", help_heading = "Readers", value_parser = clap::value_parser!(u16).range(1..=16_384))]
    #[schemars(range(min = 1, max = 16_384))]
    pub ranges: Option<u16>,
    /// Read all rows as of one point in time: in snapshots that begin together, or under a shared lock on the table
    #[arg(long, value_name = "snapshot|lock|none", default_value = "none", help_heading = "Readers")]
    #[serde(with = "spelled")]
    #[schemars(with = "String")]
    pub consistent: Consistency,
    /// Disturb other sessions little: short statements, no transaction over two of them, lock waits of five seconds, first victim
    /// of a deadlock
    #[arg(long, help_heading = "Readers")]
    pub gentle: bool,
    /// Milliseconds to wait between two statements
    #[arg(long, value_name = "MILLISECONDS", requires = "gentle", help_heading = "Readers")]
    pub pause: Option<u32>,
}

/// The exported form of `datetime2(7)`, whose range no 64-bit nanosecond count holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Datetime2Form {
    /// Nanoseconds: exact, years 1677 to 2262.
    #[default]
    Ns,
    /// Microseconds: every year, refuses a seventh digit.
    Us,
    /// Microseconds: every year, cuts the seventh digit off.
    Cut,
    /// Text: exact, every year.
    Text,
}
