//! Rows of a table by a range of one of its keys.

use arrow::array::ArrayRef;

/// A range of a clustered key or of an index: rows whose first key columns lie between two bounds, both included.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The nonclustered index; None: the clustered key.
    pub index: Option<String>,
    /// The least values of the first key columns; None: from the beginning.
    pub from: Option<Bound>,
    /// The greatest; None: to the end.
    pub to: Option<Bound>,
    /// There is at most one row: the bounds are one value of a whole unique key.
    pub single: bool,
}

/// Values of the first columns of a key.
#[derive(Debug, Clone)]
pub struct Bound {
    /// Their positions in the table.
    pub columns: Vec<usize>,
    /// One value each, in the Exact form.
    pub values: Vec<ArrayRef>,
}
