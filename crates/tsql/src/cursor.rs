//! The statements of T-SQL cursors, as written.

use super::expression::Expr;
use super::query::Query;

/// A statement about a cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorStatement {
    /// DECLARE name CURSOR FOR query.
    Declare {
        /// The name of the cursor.
        name: String,
        /// The query and the options of the cursor.
        declaration: CursorDeclaration,
    },
    /// DECLARE @v CURSOR.
    Variable(String),
    /// SET @v = CURSOR FOR query.
    Assign {
        /// The variable.
        variable: String,
        /// The cursor that the variable gets.
        declaration: CursorDeclaration,
    },
    /// OPEN.
    Open(CursorName),
    /// FETCH.
    Fetch {
        /// From where.
        cursor: CursorName,
        /// The row to fetch.
        direction: FetchDirection,
        /// Variables that take the columns; None shows the row.
        into: Option<Vec<String>>,
    },
    /// CLOSE.
    Close(CursorName),
    /// DEALLOCATE.
    Deallocate(CursorName),
}

/// A cursor's query and options.
#[derive(Debug, Clone, PartialEq)]
pub struct CursorDeclaration {
    /// LOCAL: the cursor ends with its batch.
    pub local: bool,
    /// SCROLL, or a kind that scrolls: every direction of FETCH.
    pub scroll: bool,
    /// READ_ONLY, or a kind that is: nothing is changed through it.
    pub read_only: bool,
    /// The columns of FOR UPDATE OF; None for all.
    pub updatable: Option<Vec<String>>,
    /// STATIC, INSENSITIVE or KEYSET: its number of rows is known when it is opened.
    pub counted: bool,
    /// TYPE_WARNING of a KEYSET or DYNAMIC cursor, which is another one here.
    pub warns: bool,
    /// The query.
    pub query: Query,
}

/// The name of a cursor in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorName {
    /// GLOBAL was written.
    pub global: bool,
    /// The name; of a variable with its `@`.
    pub name: String,
}

/// The row that FETCH asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchDirection {
    /// NEXT.
    Next,
    /// PRIOR.
    Prior,
    /// FIRST.
    First,
    /// LAST.
    Last,
    /// ABSOLUTE n.
    Absolute(Expr),
    /// RELATIVE n.
    Relative(Expr),
}
