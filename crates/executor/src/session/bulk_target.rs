//! The load that an INSERT BULK has announced.

use tds::SqlType;
use tsql::ObjectName;
use tsql::ast::BulkHints;

/// An accepted INSERT BULK.
#[derive(Debug, Clone)]
pub struct BulkTarget {
    /// The table as named.
    pub table: ObjectName,
    /// For each declared column, in order: its name and its position in the table.
    pub columns: Vec<(String, usize)>,
    /// The types of the columns as the statement declares them; none for loads from elsewhere.
    pub types: Vec<SqlType>,
    /// The statement's options.
    pub hints: BulkHints,
}
