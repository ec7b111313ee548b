//! The actions of tasks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CopyTask, Plain, Span, Task};

/// The action of a task, by its `type`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Action {
    /// Copies rows from any source to any destination, as `bulkwire copy` does.
    Copy(Box<CopyTask>),
    /// Runs SQL on a server.
    Sql(SqlTask),
    /// Has the server itself read a file that it sees (BULK INSERT).
    BulkInsert(BulkInsertTask),
    /// Waits until files are there and do not grow any more.
    WaitForFile(WaitForFileTask),
    /// Runs a program, without a shell.
    Program(ProgramTask),
    /// Sends a request over HTTP.
    Http(HttpTask),
    /// Runs another package.
    Package(PackageTask),
    /// Tasks that belong together: run for each of several items, or within one transaction.
    Group(GroupTask),
}

/// Runs SQL on a server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct SqlTask {
    /// The connection.
    pub connection: String,
    /// The SQL; lines with GO divide it. Variables stand in it as `${name:literal}` or `${name:identifier}`.
    pub statement: Option<String>,
    /// A script, taken as it is.
    pub file: Option<String>,
    /// Parameters: `@name` in the SQL. A text that is nothing but `${variable}` has the variable's type.
    #[serde(default)]
    pub parameters: BTreeMap<String, Plain>,
    /// Variables that take values of the first row of the first result.
    pub into: Option<Into>,
    /// A variable that takes the number of rows that were changed.
    pub rows_into: Option<String>,
    /// Everything in one transaction, recorded in the database: done exactly once, also if the run is killed.
    pub transaction: Option<bool>,
    /// The longest silence of the server.
    pub timeout: Option<Span>,
}

/// Variables that take values of a row.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Into {
    /// The variable that takes the first column.
    First(String),
    /// Variables and the columns that they take.
    Columns(BTreeMap<String, String>),
}

/// Has the server itself read a file that it sees.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct BulkInsertTask {
    /// The connection.
    pub connection: String,
    /// The table.
    pub table: String,
    /// The file, as the server sees it.
    pub file: String,
    /// A format file, as the server sees it.
    pub format_file: Option<String>,
    /// `CSV` reads quotes as RFC 4180 has them.
    pub format: Option<String>,
    /// The text that ends a field; by default a tab.
    pub field_terminator: Option<String>,
    /// The text that ends a row; by default a line break.
    pub row_terminator: Option<String>,
    /// The first row to read, from 1.
    #[schemars(range(min = 1))]
    pub first_row: Option<i64>,
    /// The last row to read.
    #[schemars(range(min = 1))]
    pub last_row: Option<i64>,
    /// The code page of the text.
    pub code_page: Option<String>,
    /// `char`, `native`, `widechar` or `widenative`.
    pub data_file_type: Option<String>,
    /// Rows that the server may leave out before it gives up; its own default is 10.
    #[schemars(range(min = 0))]
    pub max_errors: Option<i64>,
    /// A bulk-update lock on the table.
    #[serde(default)]
    pub table_lock: bool,
    /// NULLs stay where a column has a default.
    #[serde(default)]
    pub keep_nulls: bool,
    /// The file's values of the identity column stay.
    #[serde(default)]
    pub keep_identity: bool,
    /// CHECK and FOREIGN KEY constraints are enforced.
    #[serde(default)]
    pub check_constraints: bool,
    /// Triggers fire.
    #[serde(default)]
    pub fire_triggers: bool,
    /// A variable that takes the number of rows.
    pub rows_into: Option<String>,
    /// Everything in one transaction, recorded in the database: done exactly once, also if the run is killed. On by default.
    pub transaction: Option<bool>,
    /// The longest silence of the server.
    pub timeout: Option<Span>,
}

/// Waits until files are there and do not grow any more.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct WaitForFileTask {
    /// A path with `*`, `?`, `[…]` and `**`.
    pub files: String,
    /// The number of files that must exist. By default 1.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// For how long size and time of the files have to stay the same. By default two seconds.
    pub stable: Option<Span>,
    /// The interval of the checks. By default every second.
    pub every: Option<Span>,
    /// The time after which the task gives up. By default an hour.
    pub timeout: Option<Span>,
    /// A variable that takes the path of the first file.
    pub into: Option<String>,
}

/// Runs a program, without a shell.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct ProgramTask {
    /// The program and its arguments, one by one.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// The folder that it starts in. By default the package's.
    pub folder: Option<String>,
    /// Further environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Exit codes that are success. By default 0 alone.
    pub exit_codes: Option<Vec<i32>>,
    /// The time after which the program is ended. By default never.
    pub timeout: Option<Span>,
    /// A variable that takes what it writes to standard output, without the last line break.
    pub into: Option<String>,
    /// A variable that takes the exit code.
    pub exit_code_into: Option<String>,
}

/// Sends a request over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct HttpTask {
    /// The address of the request.
    pub url: String,
    /// GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS. By default GET, and POST if there is a body.
    pub method: Option<String>,
    /// Headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<String>,
    /// A file that is the body.
    pub body_file: Option<String>,
    /// Status codes that are success. By default 200 to 299.
    pub status: Option<Vec<u16>>,
    /// The time after which the request is given up. By default a minute.
    pub timeout: Option<Span>,
    /// A variable that takes the body of the answer, up to 1 MiB.
    pub into: Option<String>,
    /// A file that takes the body of the answer.
    pub save: Option<String>,
    /// A file of certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<String>,
}

/// Runs another package.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct PackageTask {
    /// The file of the package, relative to this package's folder.
    pub file: String,
    /// Values for its variables.
    #[serde(default)]
    pub variables: BTreeMap<String, Plain>,
}

/// Tasks that belong together.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct GroupTask {
    /// The tasks, by name. Their conditions name one another.
    pub tasks: BTreeMap<String, Task>,
    /// All in one transaction on one connection: then they are `sql` tasks of one connection, run one after the other.
    #[serde(default)]
    pub transaction: bool,
}
