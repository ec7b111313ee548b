//! Queries and expressions of T-SQL to plans of the execution engine.
//!
//! The binder does what the engine's own SQL front end cannot. It resolves names by T-SQL's rules and gives
//! every expression its T-SQL type. It makes every conversion explicit and compares text by collation. Inside
//! a plan every column has a unique name (`c1`, `c2`, …), so no name is ambiguous. A column's T-SQL name and
//! type are kept beside the plan.

mod aggregate;
mod call;
mod clause;
mod condition;
mod exposed;
mod for_clause;
mod from;
mod grouping;
mod recursion;
mod rows;
mod scope;
mod select;
mod sequences;
mod set;
#[cfg(test)]
mod tests;
mod top;
mod turn;
mod value;
mod window;

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::logical_expr::LogicalPlan;
use tds::SqlType;

pub use for_clause::without_empty_text;
pub use from::refuse_order;
pub use scope::{Scope, ScopeColumn};
pub use sequences::{RowAtHand, RowSequences};

use super::facts::Facts;
pub use super::output_column::OutputColumn;
pub(super) use super::scalar::plan_error;
use super::typed::Typed;
use super::{Datum, TableFunction};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::bulk_file::BulkRowset;
use tsql::errors;
use tsql::expression::Expr as Ast;
use tsql::hints::TableHints;
use tsql::query::CommonTable;

/// The session's facts that binding needs.
pub trait Environment {
    /// Finds the table or view of a name. Errors: 208.
    fn table(&self, name: &ObjectName, hints: TableHints) -> Result<BoundTable, SqlError>;
    /// Opens a file as a table. Errors: 486x.
    fn bulk_rowset(&self, rowset: &BulkRowset) -> Result<BoundTable, SqlError>;
    /// Finds a table-valued function. Errors: 208.
    fn table_function(&self, name: &ObjectName) -> Result<TableFunction, SqlError>;
    /// Returns true if a table or view of the name exists in its schema.
    fn stands(&self, _name: &ObjectName) -> Result<bool, SqlError> {
        Ok(false)
    }
    /// Returns the query of a view; `None` if the name is no view's.
    fn view_query(&self, name: &ObjectName) -> Result<Option<ViewQuery>, SqlError>;
    /// Returns the query of a function that is one; `None` if the name is no such function's.
    fn inline_function(&self, _name: &ObjectName) -> Result<Option<InlineFunction>, SqlError> {
        Ok(None)
    }
    /// Finds a function of the user's own that returns a value. Errors: 4121.
    ///
    /// `database` is that of the view or table whose expression calls it; None: the current one.
    fn scalar_function(
        &self,
        database: Option<&str>,
        schema: &str,
        name: &str,
    ) -> Result<ScalarFunction, SqlError>;
    /// Makes NEXT VALUE FOR a sequence. Errors: 208.
    fn next_value(&self, name: &ObjectName) -> Result<ScalarFunction, SqlError>;
    /// Returns the value and type of a variable, or of an `@@` function. Errors: 137.
    fn variable(&self, name: &str) -> Result<(Datum, SqlType), SqlError>;
    /// Returns the facts that functions such as DB_NAME and OBJECT_ID ask for. Errors: 596 if a catalogue cannot be read.
    fn facts(&self) -> Result<Arc<dyn Facts>, SqlError>;
}

/// A view.
#[derive(Debug, Clone)]
pub struct ViewQuery {
    /// The database in which names of the query are looked up.
    pub database: String,
    /// The view's schema.
    pub schema: String,
    /// Column names, if listed.
    pub columns: Option<Vec<String>>,
    /// The columns of its query when it was made or last refreshed; empty if they are not known.
    pub known: Vec<String>,
    /// The query.
    pub query: tsql::query::Query,
}

/// A table-valued function whose body is a query.
#[derive(Debug, Clone)]
pub struct InlineFunction {
    /// The name, for messages.
    pub name: String,
    /// The query, in which parameters are variables.
    pub query: ViewQuery,
    /// Names and types of the parameters.
    pub parameters: Vec<(String, SqlType)>,
    /// The value of DEFAULT for each parameter; NULL if none is declared.
    pub defaults: Vec<Option<tsql::expression::Expr>>,
}

/// Computes a function's value from its arguments.
pub type ValueKernel = Arc<dyn Fn(&[Datum]) -> Result<Datum, SqlError> + Send + Sync>;

/// A function that returns a value.
#[derive(Clone)]
pub struct ScalarFunction {
    /// The name, which identifies the function.
    pub name: String,
    /// Types of its parameters.
    pub parameters: Vec<SqlType>,
    /// Their defaults, which DEFAULT stands for; those that are left out have none.
    pub defaults: Vec<Option<Ast>>,
    /// Type of its value.
    pub returns: SqlType,
    /// The function's body.
    pub kernel: ValueKernel,
}

/// A table as queries see it.
#[derive(Debug, Clone)]
pub struct BoundTable {
    /// The columns of the table, in the order of the provider's schema.
    pub columns: Vec<OutputColumn>,
    /// The source of its rows. The schema has the Exact types and no metadata.
    pub provider: Arc<dyn TableProvider>,
}

/// Rows of several tables side by side: `inserted` and `deleted` for OUTPUT, source and target for MERGE.
#[derive(Debug, Clone)]
pub struct JoinedRows {
    /// Each column with the name of its table.
    pub columns: Vec<(String, OutputColumn)>,
    /// The values of the rows in the Exact form; the names of its fields only need to be unique.
    pub batch: arrow::array::RecordBatch,
}

/// A bound query.
#[derive(Debug, Clone)]
pub struct BoundQuery {
    /// The plan to run; its output columns are those of `columns`, by position.
    pub plan: LogicalPlan,
    /// The result's columns.
    pub columns: Vec<OutputColumn>,
}

/// Binds the queries of one statement.
pub struct Binder<'e> {
    pub(super) environment: &'e dyn Environment,
    /// Found when they are first asked for.
    facts: OnceCell<Arc<dyn Facts>>,
    next: Cell<usize>,
    depth: Cell<usize>,
    /// SELECTs that have been bound.
    selects: Cell<usize>,
    /// The part of a SELECT that is being bound.
    clause: Cell<clause::Clause>,
    common_tables: RefCell<Vec<CommonTable>>,
    /// Hints of the view or common table that is being bound: they are those of its tables.
    hints: Cell<TableHints>,
    /// Recursive common tables whose step is being bound.
    recursions: RefCell<Vec<Recursion>>,
    /// OPTION (MAXRECURSION).
    max_recursion: Cell<Option<u64>>,
    /// The arguments of the inline function whose query is being bound, by the names of its parameters.
    arguments: RefCell<Option<Vec<(String, Typed)>>>,
    /// The database of the view whose query is being bound.
    database: RefCell<Option<String>>,
    /// The schema of the view whose query is being bound, if it is not the usual one.
    schema: RefCell<Option<String>>,
    /// The expression that is being bound is never computed: its columns need not be grouped.
    pub(super) is_uncomputed: Cell<bool>,
    /// The row of the list of values that is being bound.
    pub row: RowAtHand,
}

/// Name and columns of a recursive common table, and the rows of the turn before.
type Recursion = (String, Vec<OutputColumn>, Arc<super::recursive::WorkTable>);

/// Queries inside queries beyond which binding stops (views of common tables multiply).
const DEPTH_MAX: usize = 32;
/// SELECTs in a query, those of views and common tables counted each time, beyond which it is not planned.
const SELECTS_MAX: usize = 20_000;

impl<'e> Binder<'e> {
    /// Makes a binder for one statement.
    pub fn new(environment: &'e dyn Environment) -> Self {
        Binder {
            environment,
            facts: OnceCell::new(),
            next: Cell::new(0),
            depth: Cell::new(0),
            selects: Cell::new(0),
            clause: Cell::default(),
            common_tables: RefCell::new(Vec::new()),
            hints: Cell::default(),
            recursions: RefCell::new(Vec::new()),
            max_recursion: Cell::new(None),
            arguments: RefCell::new(None),
            database: RefCell::new(None),
            schema: RefCell::new(None),
            is_uncomputed: Cell::new(false),
            row: RowAtHand::default(),
        }
    }

    /// Returns the facts that functions ask for, the same ones for the whole statement.
    pub(super) fn facts(&self) -> Result<&Arc<dyn Facts>, SqlError> {
        match self.facts.get() {
            Some(facts) => Ok(facts),
            None => {
                let facts = self.environment.facts()?;
                Ok(self.facts.get_or_init(|| facts))
            }
        }
    }

    /// Binds expressions that belong to an object of a database: names in them are looked up there.
    pub fn of_database<T>(&self, database: &str, bind: impl FnOnce() -> T) -> T {
        let before = self.database.replace(Some(database.to_owned()));
        let result = bind();
        self.database.replace(before);
        result
    }

    /// Makes a column name that the plan does not have yet.
    pub(super) fn fresh(&self) -> String {
        self.next.set(self.next.get() + 1);
        format!("c{}", self.next.get())
    }

    /// Ends binding if the statement is to stop. Errors: 3617.
    pub(super) fn look(&self) -> Result<(), SqlError> {
        crate::running::check()
    }

    /// Counts one more SELECT: views and common tables multiply. Errors: 3617, 8623.
    pub(super) fn count_select(&self) -> Result<(), SqlError> {
        self.look()?;
        self.selects.set(self.selects.get() + 1);
        if self.selects.get() > SELECTS_MAX { Err(errors::TOO_COMPLEX.error()) } else { Ok(()) }
    }

    pub(super) fn deeper<T>(&self, bind: impl FnOnce() -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.depth.get() >= DEPTH_MAX {
            return Err(errors::TOO_DEEP.error());
        }
        self.depth.set(self.depth.get() + 1);
        let result = bind();
        self.depth.set(self.depth.get() - 1);
        result
    }
}
