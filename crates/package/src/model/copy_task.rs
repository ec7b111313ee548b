//! A task that copies rows. Its keys are the options of a copy, [`copy::Options`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Copies rows from any source to any destination, as `bulkwire copy` does; the keys are its options, with `_` for `-`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct CopyTask {
    /// The source of the rows.
    pub source: Endpoint,
    /// The destination of the rows.
    pub destination: Endpoint,
    /// Tables that the SELECT of `transform` may join, by name.
    #[serde(default)]
    pub lookups: BTreeMap<String, Endpoint>,
    /// A variable that takes the number of rows copied.
    pub rows_into: Option<String>,
    /// A variable that takes the number of rows refused.
    pub refused_into: Option<String>,
    /// Records committed rows, so that every row arrives once although a run is killed. By default on for SQL Server, if the
    /// source can be read again in the same order.
    pub resume: Option<bool>,
    /// The other options of the copy.
    #[serde(flatten)]
    #[schemars(with = "copy::Options")]
    pub options: CopyKeys,
}

/// The options of a copy as they stand in the file. Texts in them are expanded before they are read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct CopyKeys(pub Map<String, Value>);

impl CopyKeys {
    /// Returns true if the file says something of an option.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Returns the text of an option, if it has one.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}

impl CopyTask {
    /// Returns true if rows are transformed.
    pub(crate) fn transforms(&self) -> bool {
        ["select", "where", "transform", "transform_sql", "action"].iter().any(|key| self.options.has(key))
    }
}

/// A source or destination.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Endpoint {
    /// As `bulkwire copy` spells it: a file, a glob, a URL.
    Spelled(String),
    /// A table or query of a connection.
    Parts(EndpointParts),
}

/// A table or query of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointParts {
    /// The connection.
    pub connection: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// A query, for sources.
    pub query: Option<String>,
    /// A file with a query, for sources.
    pub query_file: Option<String>,
    /// A file, a glob or a folder.
    pub path: Option<String>,
}
