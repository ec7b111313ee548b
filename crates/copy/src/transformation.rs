//! Transformations of rows between source and destination. The engine is another crate's: programs without it stay small.

use std::path::PathBuf;

use arrow::datatypes::SchemaRef;
use rows::Form;
use rows::text::spelling::TextSpelling;

use crate::row_stream::{BoxError, RowStream};

/// The transformation that `--select`, `--where` or `--transform` and the options beside them describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transformation {
    /// A SELECT list over the columns of the source.
    pub select: Option<String>,
    /// A search condition over the columns of the source.
    pub condition: Option<String>,
    /// A whole SELECT that reads from `source` and the lookups. None of the others stands beside it.
    pub query: Option<String>,
    /// The effect of each row on the destination's table, as an expression over the columns of the source. It
    /// becomes the last column of the result, [`ACTION_COLUMN`](load::ACTION_COLUMN).
    pub action: Option<String>,
    /// The collation of text columns that name none; None: `SQL_Latin1_General_CP1_CI_AS`.
    pub collation: Option<String>,
    /// The spelling of numbers and dates in texts that become such. Without an order of day and month `03/04/2026` is refused.
    pub spelling: TextSpelling,
    /// The folder in which READ_FILE and WRITE_FILE find their files; None: neither may be called.
    pub files: Option<PathBuf>,
    /// Bytes that lookups, sorts and groups may hold together. Sorts and groups spill to files beyond it.
    pub memory_limit: usize,
    /// The form in which rows come out for everything but SQL Server, which has [`Form::Exact`].
    pub form: Form,
}

/// Bytes that a transformation may hold if no limit is given.
pub const TRANSFORM_MEMORY: usize = 1 << 30;

impl Default for Transformation {
    fn default() -> Self {
        Self {
            select: None,
            condition: None,
            query: None,
            action: None,
            collation: None,
            spelling: TextSpelling::default(),
            files: None,
            memory_limit: TRANSFORM_MEMORY,
            form: Form::default(),
        }
    }
}

impl Transformation {
    /// Returns true if rows pass unchanged.
    pub fn is_none(&self) -> bool {
        self.select.is_none() && self.condition.is_none() && self.query.is_none() && self.action.is_none()
    }
}

/// A table that the query may join: all of its rows, under a name.
pub struct Lookup {
    /// The name by which the query knows it.
    pub name: String,
    /// The rows of the table, read once.
    pub rows: RowStream,
}

/// A row that could not be transformed: the error of an [`UnreadRow`](load::UnreadRow).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}{}", .column.as_ref().map(|name| format!("column {name:?}: ")).unwrap_or_default(),
    .value.as_ref().map(|value| format!(" (value: {value})")).unwrap_or_default())]
pub struct UntransformedRow {
    /// The column of the result that has no value, if it is one column's fault.
    pub column: Option<String>,
    /// The source's value that it is made from, as text.
    pub value: Option<String>,
    /// Number of SQL Server's error; None for a value that no SQL type holds.
    pub number: Option<i32>,
    /// The reason, in SQL Server's words.
    pub reason: String,
}

/// Makes transformations ready to run.
pub trait TransformEngine: Send + Sync {
    /// Binds a transformation to the columns of a source and reads its lookups.
    ///
    /// # Errors
    /// The text is wrong, with its line; a column or a lookup is not there; a lookup cannot be read.
    fn prepare(
        &self,
        transformation: &Transformation,
        source: SchemaRef,
        lookups: Vec<Lookup>,
    ) -> Result<Box<dyn PreparedTransformation>, BoxError>;
}

/// A transformation that is bound to its source's columns.
pub trait PreparedTransformation: Send {
    /// Returns the schema of the result.
    fn schema(&self) -> SchemaRef;

    /// Returns true if each row of the result belongs to one row of the source, in the same order. Rows then have the
    /// numbers of their source rows, and failed rows are left out one by one. Sorting and grouping need all rows first.
    fn is_row_wise(&self) -> bool;

    /// Transforms rows as they come. A row that fails, as in CAST, becomes an [`UnreadRow`](load::UnreadRow) of its batch, whose error
    /// is an [`UntransformedRow`].
    fn apply(self: Box<Self>, source: RowStream) -> RowStream;
}
