//! The content of a package file, as types. The JSON Schema is derived from them, and the checks compare files with it.

mod action;
mod copy_task;
mod duration;
mod task;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use action::{
    Action, BulkInsertTask, GroupTask, HttpTask, Into, PackageTask, ProgramTask, SqlTask, WaitForFileTask,
};
pub use copy_task::{CopyKeys, CopyTask, Endpoint, EndpointParts};
pub use duration::Span;
pub use task::{ForEach, Interrupted, Join, Retry, Task, TaskSettings};

/// A package of bulkwire: connections, variables and tasks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The name for messages and the records of loads. By default the file's name.
    pub name: Option<String>,
    /// The purpose of the package.
    pub description: Option<String>,
    /// Tasks that run side by side at most. By default 4.
    #[schemars(range(min = 1, max = 256))]
    pub jobs: Option<u32>,
    /// The effect of a failed task on tasks that have not begun.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Servers, databases and folders, by name.
    #[serde(default)]
    pub connections: BTreeMap<String, Connection>,
    /// Values that texts use as `${name}`, and that `--set name=value` overrides.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// The tasks, by name.
    pub tasks: BTreeMap<String, Task>,
}

/// The effect of a failed task on tasks that have not begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// Only those begin that the failed task leads to, such as `after_failure`.
    #[default]
    Stop,
    /// Everything begins whose own conditions are met.
    Continue,
}

/// A source or destination of rows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Connection {
    /// A URL such as `mssql://loader@db.example/sales`, or a keyword string.
    Url(String),
    /// A URL and where its password is.
    Parts(ConnectionParts),
}

/// A connection with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionParts {
    /// A URL such as `mssql://loader@db.example/sales`, or a keyword string. Never with a password.
    pub url: String,
    /// The environment variable that holds the password.
    pub password_env: Option<String>,
    /// The file that holds the password, such as one of /run/secrets. A line break at its end does not count.
    pub password_file: Option<String>,
}

impl Connection {
    /// Returns the URL as the file spells it.
    pub fn url(&self) -> &str {
        match self {
            Self::Url(url) | Self::Parts(ConnectionParts { url, .. }) => url,
        }
    }
}

/// A value that texts and statements use.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Variable {
    /// true or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Type and default.
    Declared(DeclaredVariable),
}

/// A variable with its type.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredVariable {
    /// The type of the variable.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The default value. Without it, `--set` has to give one.
    pub default: Option<Plain>,
    /// The purpose of the variable.
    pub description: Option<String>,
}

/// Types of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// nvarchar
    Text,
    /// bigint
    Integer,
    /// float
    Number,
    /// decimal with the digits that it is written with
    Decimal,
    /// bit
    Boolean,
    /// date, as 2026-11-23
    Date,
    /// datetime2, as 2026-11-23T08:15:00
    Datetime,
}

/// A value as TOML writes it; dates are texts or TOML's own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Plain {
    /// true or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}
