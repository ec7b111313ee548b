//! Queries of T-SQL, as written.

use tds::SqlType;

use super::bulk_file::BulkRowset;
use super::errors;
use super::expression::{Expr, FunctionCall};
use super::file_group::WrittenGroup;
use super::for_clause::ForClause;
use super::hints::TableHints;
use super::names::ObjectName;
use super::sql_error::SqlError;

/// A whole query: WITH, body, ORDER BY, OFFSET.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Common table expressions in order.
    pub with: Vec<CommonTable>,
    /// The body.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// OFFSET n ROWS.
    pub offset: Option<Expr>,
    /// FETCH NEXT n ROWS ONLY.
    pub fetch: Option<Expr>,
    /// FOR JSON or FOR XML.
    pub for_clause: Option<Box<ForClause>>,
    /// OPTION (MAXRECURSION n).
    pub max_recursion: Option<u64>,
    /// OPTION (MAXDOP n).
    pub max_dop: Option<u16>,
    /// The schema of the view whose query this is: names without a schema are looked for there first.
    pub schema: Option<String>,
}

impl Query {
    /// Makes a query of one body and nothing else.
    pub fn of(body: QueryBody) -> Query {
        Query {
            with: Vec::new(),
            body,
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            for_clause: None,
            max_recursion: None,
            max_dop: None,
            schema: None,
        }
    }

    /// Makes a query of one SELECT.
    pub fn select(select: Select) -> Query {
        Query::of(QueryBody::Select(Box::new(select)))
    }
}

/// A common table of WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// Name.
    pub name: String,
    /// Column names, if listed.
    pub columns: Option<Vec<String>>,
    /// The query of the table.
    pub query: Query,
}

/// SELECT, or several joined by set operators.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// A SELECT.
    Select(Box<Select>),
    /// A query in parentheses.
    Nested(Box<Query>),
    /// UNION, EXCEPT, INTERSECT.
    Set {
        /// UNION, EXCEPT or INTERSECT.
        operator: SetOperator,
        /// UNION ALL.
        all: bool,
        /// Left side.
        left: Box<QueryBody>,
        /// Right side.
        right: Box<QueryBody>,
    },
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// EXCEPT.
    Except,
    /// INTERSECT.
    Intersect,
}

/// A single SELECT, without ORDER BY.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    /// DISTINCT.
    pub distinct: bool,
    /// TOP.
    pub top: Option<Top>,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// INTO.
    pub into: Option<ObjectName>,
    /// ON behind it: the new table's file group.
    pub into_group: Option<WrittenGroup>,
    /// FROM; several sources are cross-joined.
    pub from: Vec<TableSource>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY: every expression that is grouped by.
    pub group_by: Vec<Expr>,
    /// The sets of ROLLUP, CUBE and GROUPING SETS, as positions in `group_by`.
    pub grouping_sets: Option<Vec<Vec<usize>>>,
    /// HAVING.
    pub having: Option<Expr>,
}

/// TOP.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// The number of rows.
    pub count: Expr,
    /// PERCENT.
    pub percent: bool,
    /// WITH TIES.
    pub with_ties: bool,
}

/// Columns of a SELECT list beyond which it is refused ("Maximum capacity specifications for SQL Server").
const SELECT_COLUMNS_MAX: usize = 4096;

/// An item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*` (the qualifier's parts).
    Wildcard(Vec<String>),
    /// An expression and its alias.
    Value {
        /// The expression.
        expr: Expr,
        /// The alias, if any.
        alias: Option<String>,
    },
    /// `@v = expr`.
    Assign {
        /// Variable with its `@`.
        variable: String,
        /// The value, compound operators already spelled out.
        expr: Expr,
    },
}

impl SelectItem {
    /// Refuses a list of more columns than a SELECT may have.
    ///
    /// # Errors
    /// 1056.
    pub fn check_count(items: usize) -> Result<(), SqlError> {
        match items > SELECT_COLUMNS_MAX {
            true => Err(errors::SELECT_LIST_TOO_LONG.with([&SELECT_COLUMNS_MAX.to_string()])),
            false => Ok(()),
        }
    }
}

/// An item of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The expression to order by; an integer literal is a position in the select list.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// A table in FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableSource {
    /// A named table, view or common table.
    Table {
        /// The name of the table.
        name: ObjectName,
        /// Alias.
        alias: Option<String>,
        /// Hints.
        hints: TableHints,
    },
    /// OPENROWSET(BULK …): a file.
    BulkRowset {
        /// The file and its options.
        rowset: Box<BulkRowset>,
        /// Alias.
        alias: String,
        /// Names for its columns.
        columns: Option<Vec<String>>,
    },
    /// A derived table.
    Derived {
        /// The query of the derived table.
        query: Box<Query>,
        /// Alias.
        alias: String,
        /// Column names, if listed.
        columns: Option<Vec<String>>,
    },
    /// (VALUES …) AS alias (columns).
    Values {
        /// Rows.
        rows: Vec<Vec<Expr>>,
        /// Alias.
        alias: String,
        /// Column names.
        columns: Vec<String>,
    },
    /// A table-valued function.
    Function {
        /// The name of the function.
        name: ObjectName,
        /// Arguments.
        arguments: Vec<Expr>,
        /// The columns of OPENJSON … WITH; empty without it.
        shape: Vec<JsonColumn>,
        /// Alias.
        alias: Option<String>,
        /// Column names, if listed.
        columns: Option<Vec<String>>,
    },
    /// PIVOT.
    Pivot {
        /// The table whose rows are turned into columns.
        source: Box<TableSource>,
        /// The aggregate.
        aggregate: FunctionCall,
        /// FOR: the column whose values become columns.
        column: String,
        /// IN: those values, and the names of the new columns.
        values: Vec<String>,
        /// Alias.
        alias: String,
    },
    /// UNPIVOT.
    Unpivot {
        /// The table whose columns are turned into rows.
        source: Box<TableSource>,
        /// The new column of values.
        value: String,
        /// FOR: the new column of names.
        name: String,
        /// IN: the columns that become rows.
        columns: Vec<String>,
        /// Alias.
        alias: String,
    },
    /// A join.
    Join {
        /// The kind of the join.
        kind: JoinKind,
        /// Left side.
        left: Box<TableSource>,
        /// Right side.
        right: Box<TableSource>,
        /// ON; None for CROSS JOIN and APPLY.
        on: Option<Expr>,
    },
}

/// A column of OPENJSON … WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// The path of the value; `None` takes the column's own name.
    pub path: Option<String>,
    /// AS JSON: an object or array as it is written.
    pub as_json: bool,
}

/// Kinds of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// INNER JOIN.
    Inner,
    /// LEFT JOIN.
    Left,
    /// RIGHT JOIN.
    Right,
    /// FULL JOIN.
    Full,
    /// CROSS JOIN.
    Cross,
    /// CROSS APPLY.
    CrossApply,
    /// OUTER APPLY.
    OuterApply,
}
