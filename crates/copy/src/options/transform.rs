//! Options of transformations.

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spelled::NumberOrWord;

/// The transformation of rows on their way, in T-SQL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransformOptions {
    /// The columns of the result, over those of the source: "id, UPPER(TRIM(name)) AS name"
    #[arg(long, value_name = "LIST", conflicts_with = "transform", help_heading = "Transformation")]
    pub select: Option<String>,
    /// Which rows are copied: "amount > 0 AND $row > 10"
    #[arg(
        long = "where",
        value_name = "CONDITION",
        conflicts_with = "transform",
        help_heading = "Transformation"
    )]
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// A file with one SELECT over `source` and the lookups
    #[arg(long, value_name = "FILE.sql", help_heading = "Transformation")]
    pub transform: Option<PathBuf>,
    /// The same SELECT as text, in place of a file
    #[arg(long, value_name = "SQL", conflicts_with_all = ["select", "condition", "transform"], help_heading = "Transformation")]
    #[serde(rename = "transform_sql")]
    pub transform_query: Option<String>,
    /// What each row does to a table of SQL Server: an expression over the source that gives 'insert', 'update', 'upsert', 'delete', or
    /// NULL or 'skip' for nothing; beside --transform the name of a column of its result. It needs --key
    #[arg(
        long,
        value_name = "EXPR",
        requires = "key",
        conflicts_with_all = ["mode", "truncate", "strategy", "by_position"],
        help_heading = "Transformation"
    )]
    pub action: Option<String>,
    /// A table that the query may join, read into memory: any source of this command
    #[arg(long = "lookup", value_name = "NAME=ENDPOINT", value_parser = parse_lookup, help_heading = "Transformation")]
    #[serde(skip)]
    pub lookups: Vec<(String, String)>,
    /// The collation of text columns that have none (default: SQL_Latin1_General_CP1_CI_AS)
    #[arg(long, value_name = "NAME", help_heading = "Transformation")]
    pub collation: Option<String>,
    /// The only folder whose files READ_FILE and WRITE_FILE may see
    #[arg(long, value_name = "DIR", help_heading = "Transformation")]
    pub files: Option<PathBuf>,
    /// What lookups, sorts and groups may hold: 500MB, 2GB (default: 1GB)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Transformation")]
    #[serde(with = "size")]
    #[schemars(with = "Option<NumberOrWord>")]
    pub memory_limit: Option<usize>,
}

impl TransformOptions {
    /// Returns true if rows are transformed.
    pub fn is_given(&self) -> bool {
        self.select.is_some()
            || self.condition.is_some()
            || self.action.is_some()
            || self.transform.is_some()
            || self.transform_query.is_some()
    }

    /// Returns true if a whole query yields the rows.
    pub fn has_query(&self) -> bool {
        self.transform.is_some() || self.transform_query.is_some()
    }
}

fn parse_lookup(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, endpoint)) if !name.is_empty() && !endpoint.is_empty() => {
            Ok((name.to_owned(), endpoint.to_owned()))
        }
        _ => Err("write NAME=ENDPOINT, as in cities=cities.csv".to_owned()),
    }
}

/// Parses a number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<usize, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        _ => return Err("write a number of bytes, or one with KB, MB or GB".to_owned()),
    };
    let number: usize = digits.parse().map_err(|_| "write a number, such as 500MB".to_owned())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| "out of range".to_owned())
}

/// Sizes, which are numbers or texts with a unit.
mod size {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::parse_size;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(usize),
        Text(String),
    }

    /// Writes the bytes.
    pub(super) fn serialize<S: Serializer>(bytes: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.serialize(serializer)
    }

    /// Reads bytes, or a text such as `500MB`.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        let text = match Option::<Size>::deserialize(deserializer)? {
            None => return Ok(None),
            Some(Size::Bytes(bytes)) => bytes.to_string(),
            Some(Size::Text(text)) => text,
        };
        parse_size(&text).map(Some).map_err(serde::de::Error::custom)
    }
}
