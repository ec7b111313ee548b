//! Queries without a server: T-SQL over the caller's batches of rows.
//!
//! ```
//! use arrow::array::{Int32Array, RecordBatch};
//! use bulkwire_query::{Cancellation, Engine, OutputColumn, Tables, exact_schema, memory::MemoryBudget};
//! use std::sync::Arc;
//! use tds::SqlType;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let columns = vec![OutputColumn::expression("n", SqlType::Int, true)];
//! let rows = RecordBatch::try_new(exact_schema(&columns), vec![Arc::new(Int32Array::from(vec![1, 2, 3]))])?;
//! let mut tables = Tables::new();
//! tables.add("source", columns, [Ok(rows)]);
//! let query = tables.bind("SELECT SUM(n) AS total FROM source WHERE n > 1")?;
//! let engine = Engine::new(&MemoryBudget::new(64 << 20), None)?;
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let batches = runtime.block_on(engine.collect(query, &Cancellation::new()))?;
//! assert_eq!(batches[0].num_rows(), 1);
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use arrow::array::RecordBatch;
use tds::SqlType;
use tsql::ast::StatementKind;
use tsql::bulk_file::BulkRowset;
use tsql::errors;
use tsql::hints::TableHints;
use tsql::query::Query;
use tsql::{ObjectName, SqlError, parse_batch, same_name};

use crate::bind::{Binder, BoundQuery, BoundTable, Environment, ScalarFunction, ViewQuery};
use crate::datum::Datum;
use crate::facts::{Facts, now};
use crate::function_table::TableFunction;
use crate::output_column::OutputColumn;
use crate::output_column::exact_schema;
use crate::provider::{FileTable, MemoryTable};
use crate::streaming::{Feed, ROW_COLUMN};
use crate::typed::Typed;

/// Tables by name. The rows of each are read once, as they come.
#[derive(Debug, Default)]
pub struct Tables {
    tables: Vec<(String, BoundTable)>,
    facts: Option<Arc<dyn Facts>>,
}

impl Tables {
    /// Makes an empty set of tables.
    pub fn new() -> Tables {
        Tables::default()
    }

    /// Adds a table. Its batches have the schema [`exact_schema`] of its columns; they are read while a query runs, by one query, once.
    pub fn add<I>(&mut self, name: impl Into<String>, columns: Vec<OutputColumn>, batches: I)
    where
        I: IntoIterator<Item = Result<RecordBatch, SqlError>>,
        I::IntoIter: Send + 'static,
    {
        let provider = FileTable::provider(exact_schema(&columns).as_ref(), batches.into_iter());
        self.add_table(name, BoundTable { columns, provider });
    }

    /// Adds a table of rows in memory, which queries read as often as they like. The batches have the schema [`exact_schema`] of its columns.
    ///
    /// # Errors
    /// None for such batches.
    pub fn add_rows(
        &mut self,
        name: impl Into<String>,
        columns: Vec<OutputColumn>,
        batches: Vec<RecordBatch>,
    ) -> Result<(), SqlError> {
        let provider =
            MemoryTable::provider(exact_schema(&columns).as_ref(), batches).map_err(SqlError::internal)?;
        self.add_table(name, BoundTable { columns, provider });
        Ok(())
    }

    /// Adds the table that a stream fills. Columns flagged as hidden are not among those of `*`; the last one numbers the rows of a
    /// batch from 0, a `bigint`, and is found by no name.
    pub fn add_stream(&mut self, name: impl Into<String>, mut columns: Vec<OutputColumn>) -> Feed {
        let mut number = OutputColumn::expression(ROW_COLUMN, SqlType::BigInt, false);
        number.flags = tds::ColumnFlags(tds::ColumnFlags::HIDDEN);
        columns.push(number);
        let name = name.into();
        let feed = Feed::new(name.clone(), exact_schema(&columns).as_ref());
        self.add_table(name, BoundTable { columns, provider: feed.provider() });
        feed
    }

    /// Says what functions know that are not the language's own, and the time.
    pub fn set_facts(&mut self, facts: Arc<dyn Facts>) {
        self.facts = Some(facts);
    }

    /// Adds a table provider, such as a [`StoredTable`](crate::StoredTable).
    pub fn add_table(&mut self, name: impl Into<String>, table: BoundTable) {
        self.tables.push((name.into(), table));
    }

    /// Binds a SELECT over these tables.
    ///
    /// # Errors
    /// The text has wrong syntax or names, with their lines; 102 if it is anything but one SELECT.
    pub fn bind(&self, text: &str) -> Result<BoundQuery, SqlError> {
        let (query, line) = parsed_query(text)?;
        self.bind_query(&query).map_err(|error| error.at_line(line))
    }

    /// Binds a parsed query over these tables.
    ///
    /// # Errors
    /// The query has wrong names or types.
    pub fn bind_query(&self, query: &Query) -> Result<BoundQuery, SqlError> {
        Binder::new(self).query(query, None)
    }
}

/// Parses the one SELECT of a text, and its line.
///
/// # Errors
/// The text has wrong syntax; 102 if it is anything but one SELECT.
pub(crate) fn parsed_query(text: &str) -> Result<(Query, u32), SqlError> {
    let mut statements = parse_batch(text, true)?;
    let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
        return Err(SqlError::new(102, 15, 1, "One SELECT is wanted here."));
    };
    let line = statement.line;
    match statement.kind {
        StatementKind::Query(query) => Ok((*query, line)),
        StatementKind::Unsupported(error) => Err(*error),
        _ => Err(SqlError::new(102, 15, 1, "A SELECT is wanted here.").at_line(line)),
    }
}

impl Environment for Tables {
    fn table(&self, name: &ObjectName, _: TableHints) -> Result<BoundTable, SqlError> {
        let found = self.tables.iter().find(|(own, _)| same_name(own, &name.name));
        let unqualified = name.database.is_none() && name.schema.is_none();
        match found.filter(|_| unqualified) {
            Some((_, table)) => Ok(table.clone()),
            None => Err(errors::INVALID_OBJECT.with([&name.to_string()])),
        }
    }

    fn bulk_rowset(&self, _: &BulkRowset) -> Result<BoundTable, SqlError> {
        Err(SqlError::new(40515, 16, 1, "OPENROWSET(BULK ...) needs a server."))
    }

    fn table_function(&self, name: &ObjectName) -> Result<TableFunction, SqlError> {
        Err(errors::INVALID_OBJECT.with([&name.to_string()]))
    }

    fn view_query(&self, _: &ObjectName) -> Result<Option<ViewQuery>, SqlError> {
        Ok(None)
    }

    fn scalar_function(&self, _: Option<&str>, schema: &str, name: &str) -> Result<ScalarFunction, SqlError> {
        let text = format!(
            "Cannot find either column \"{schema}\" or the user-defined function or aggregate \"{schema}.{name}\", or the name is ambiguous."
        );
        Err(SqlError::new(4121, 16, 1, text))
    }

    fn next_value(&self, name: &ObjectName) -> Result<ScalarFunction, SqlError> {
        Err(errors::INVALID_OBJECT.with([&name.to_string()]))
    }

    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError> {
        Err(errors::UNDECLARED_VARIABLE.with([name]))
    }

    fn facts(&self) -> Result<Arc<dyn Facts>, SqlError> {
        Ok(self.facts.clone().unwrap_or_else(|| Arc::new(Moment(now()))))
    }
}

/// The only fact that is known without a session: the time.
#[derive(Debug)]
struct Moment(i64);

/// ANSI_WARNINGS, ANSI_PADDING, ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_NULL_DFLT_ON and CONCAT_NULL_YIELDS_NULL, as drivers set them.
const OPTIONS: i64 = 5432;

impl Facts for Moment {
    fn now(&self) -> i64 {
        self.0
    }

    fn date_first(&self) -> u8 {
        7
    }

    fn options(&self) -> i64 {
        OPTIONS
    }

    fn row_version(&self) -> u64 {
        0
    }

    fn function(self: Arc<Self>, _: &str, _: &[Typed]) -> Result<Option<Typed>, SqlError> {
        Ok(None)
    }
}
