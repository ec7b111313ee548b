//! A task that copies rows. Its keys are the flags of `bulkwire copy`, with `_` for `-`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Plain;

/// Copies rows from any source to any destination, as `bulkwire copy` does; the keys are its flags.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct CopyTask {
    /// Where rows come from.
    pub source: Endpoint,
    /// Where they go.
    pub destination: Endpoint,
    /// Tables that the SELECT of `transform` may join, by name.
    #[serde(default)]
    pub lookups: BTreeMap<String, Endpoint>,
    /// A file with a whole SELECT that reads from `source` and the lookups.
    pub transform: Option<String>,
    /// That SELECT itself.
    pub transform_sql: Option<String>,
    /// A SELECT list over the columns of the source, in T-SQL.
    pub select: Option<String>,
    /// A search condition over the columns of the source, in T-SQL.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// What each row does to a table of SQL Server, in T-SQL over the columns of the source: 'insert', 'update', 'upsert', 'delete', or NULL
    /// or 'skip'. Beside `transform` the name of a column of its result. It needs `key`.
    pub action: Option<String>,
    /// A file that takes the refused rows, a JSON object a line.
    pub rejects: Option<String>,
    /// Rows that may be refused before the task fails. By default none.
    #[schemars(range(min = 0))]
    pub max_errors: Option<i64>,
    /// Several tables: which, and how.
    #[serde(flatten)]
    pub several: TablesKeys,
    /// A variable that takes the number of rows copied.
    pub rows_into: Option<String>,
    /// A variable that takes the number of rows refused.
    pub refused_into: Option<String>,
    /// Records committed rows, so that every row arrives once although a run is killed. By default on for SQL Server, if the
    /// source can be read again in the same order.
    pub resume: Option<bool>,
    /// How the source's file is read.
    #[serde(flatten)]
    pub file: FileKeys,
    /// How rows are written.
    #[serde(flatten)]
    pub target: TargetKeys,
}

impl CopyTask {
    /// Whether rows are transformed.
    pub(crate) fn transforms(&self) -> bool {
        let texts = [&self.select, &self.condition, &self.transform, &self.transform_sql, &self.action];
        texts.iter().any(|text| text.is_some())
    }
}

/// Flags for several tables, which one task copies: what one of them refers to is then there in the end.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct TablesKeys {
    /// Copies the tables whose names fit: "sales.*", "orders". The endpoints then name no table.
    #[schemars(length(min = 1))]
    pub tables: Option<Vec<String>>,
    /// Leaves out the tables whose names fit.
    pub exclude: Option<Vec<String>>,
    /// The schema that takes all tables. By default each goes to the schema of its name.
    pub to_schema: Option<String>,
    /// Tables that are copied at a time, 2 by default.
    #[schemars(range(min = 1, max = 64))]
    pub jobs: Option<i64>,
    /// Begins no further table after one has failed.
    pub fail_fast: Option<bool>,
}

/// Flags for files that are read and written.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct FileKeys {
    /// The format: csv, tsv, parquet, arrow, arrows, char, widechar, native or widenative. By default by the suffix.
    pub format: Option<String>,
    /// none, gzip or zstd. By default by the suffix.
    pub compression: Option<String>,
    /// A format file of bcp.
    pub format_file: Option<String>,
    /// Removes blanks at the end of text fields of fixed width.
    pub trim_blanks: Option<bool>,
    /// What divides fields.
    pub delimiter: Option<String>,
    /// What ends a row.
    pub row_terminator: Option<String>,
    /// Lines before the header or the first row.
    #[schemars(range(min = 0))]
    pub skip_lines: Option<i64>,
    /// The quote character.
    pub quote: Option<String>,
    /// Quotes are data.
    pub no_quote: Option<bool>,
    /// The file has no header.
    pub no_header: Option<bool>,
    /// Names of the file's columns.
    pub columns: Option<Vec<String>>,
    /// What stands for NULL.
    pub null_text: Option<String>,
    /// utf-8, utf-16le, utf-16be or a code page.
    pub encoding: Option<Plain>,
    /// Columns of a file of bcp's formats, as in CREATE TABLE.
    pub declare: Option<String>,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// The format of the file that is written.
    pub to_format: Option<String>,
    /// Its compression.
    pub to_compression: Option<String>,
    /// What divides its fields.
    pub to_delimiter: Option<String>,
    /// What ends its rows.
    pub to_row_terminator: Option<String>,
    /// It has no quotes.
    pub to_no_quote: Option<bool>,
    /// It has no header.
    pub to_no_header: Option<bool>,
    /// What stands for NULL in it.
    pub to_null_text: Option<String>,
    /// Its encoding.
    pub to_encoding: Option<Plain>,
    /// Columns of text files stay text.
    pub keep_text: Option<bool>,
    /// A folder of files of at most this many rows.
    #[schemars(range(min = 1))]
    pub split_rows: Option<i64>,
    /// A folder with a folder for each value of this column.
    pub partition_by: Option<String>,
}

/// Flags for tables that are written and read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct TargetKeys {
    /// Whether the table is made: if-missing (the default), always or never.
    pub create: Option<String>,
    /// append, truncate, replace, upsert and so on, as `bulkwire copy --mode`.
    pub mode: Option<String>,
    /// The columns by which rows are the same, for upsert.
    pub key: Option<Vec<String>>,
    /// How new rows reach the table.
    pub strategy: Option<String>,
    /// Between SQL Servers: the keys, indexes, defaults and checks as well.
    pub with_keys: Option<bool>,
    /// Connections that write at once, or "auto".
    pub writers: Option<Plain>,
    /// Seconds for which transient errors are tried again.
    #[schemars(range(min = 0))]
    pub retry_for: Option<i64>,
    /// The schema of the tables that record loads.
    pub ledger_schema: Option<String>,
    /// Seconds for the whole copy.
    #[schemars(range(min = 1))]
    pub time_limit: Option<i64>,
    /// Nobody else changes the table.
    pub sole_writer: Option<bool>,
    /// Rows of a transaction.
    #[schemars(range(min = 1))]
    pub batch_rows: Option<i64>,
    /// on or off.
    pub table_lock: Option<String>,
    /// The rows are sorted by these columns.
    pub order: Option<Vec<String>>,
    /// NULLs stay where a column has a default.
    pub keep_nulls: Option<bool>,
    /// The source's values of the identity column stay.
    pub keep_identity: Option<bool>,
    /// CHECK and FOREIGN KEY constraints are enforced.
    pub check_constraints: Option<bool>,
    /// Triggers fire.
    pub fire_triggers: Option<bool>,
    /// Source columns and target columns, as "a=b".
    pub map: Option<Vec<String>>,
    /// Columns are mapped by position.
    pub by_position: Option<bool>,
    /// Values that are too long are cut.
    pub allow_truncate: Option<bool>,
    /// Numbers and times are rounded.
    pub allow_rounding: Option<bool>,
    /// Time zones are dropped.
    pub drop_time_zone: Option<bool>,
    /// Stands for characters that the code page lacks.
    pub replacement: Option<String>,
    /// Lists, structs and maps become JSON text.
    pub nested_as_json: Option<bool>,
    /// mdy or dmy.
    pub date_order: Option<String>,
    /// A refused batch is divided until the bad rows stand alone.
    pub bisect: Option<bool>,
    /// Connections that read at once, or "auto".
    pub readers: Option<Plain>,
    /// The column that divides the rows among readers.
    pub split_by: Option<String>,
    /// How several readers see one state: as `bulkwire copy --consistent`.
    pub consistent: Option<String>,
    /// Reads in many short transactions.
    pub gentle: Option<bool>,
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

/// Keys that are no flags of `bulkwire copy`, or that are given to it in another way.
pub(crate) const NO_FLAGS: [&str; 23] = [
    "type",
    "description",
    "after",
    "after_failure",
    "after_completion",
    "join",
    "if",
    "for_each",
    "retry",
    "may_fail",
    "disabled",
    "if_interrupted",
    "source",
    "destination",
    "lookups",
    "transform",
    "transform_sql",
    "select",
    "where",
    "rows_into",
    "refused_into",
    "resume",
    "rejects",
];
