//! Rows of a table by ranges of one of its keys.

use arrow::array::ArrayRef;

/// Ranges of a clustered key or of an index. A row may lie in several.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The nonclustered index; None: the clustered key.
    pub index: Option<String>,
    /// The ranges, in any order.
    pub spans: Vec<KeySpan>,
    /// There is at most one row: the bounds are one value of a whole unique key.
    pub single: bool,
}

/// Rows whose first key columns lie between two bounds, both included.
#[derive(Debug, Clone)]
pub struct KeySpan {
    /// The least values of the first key columns; None: from the beginning.
    pub from: Option<Bound>,
    /// The greatest; None: to the end.
    pub to: Option<Bound>,
    /// The last column is text, and values that begin with the bound's lie within.
    pub begins: bool,
}

/// Values of the first columns of a key.
#[derive(Debug, Clone)]
pub struct Bound {
    /// Their positions in the table.
    pub columns: Vec<usize>,
    /// One value each, in the Exact form.
    pub values: Vec<ArrayRef>,
}
