//! Rows of a table by ranges of one of its keys.

use std::fmt;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use tds::{Collation, SqlType};

/// A table with the keys by which rows can be found.
pub trait KeyedTable: fmt::Debug + Send + Sync {
    /// Returns the name for shown plans: `[database].[schema].[name]`; empty if the table has none.
    fn shown_name(&self) -> String {
        String::new()
    }
    /// Returns the position of the column of exactly that name.
    fn position(&self, name: &str) -> Option<usize>;
    /// Returns the column at a position.
    fn column(&self, position: usize) -> Option<KeyedColumn<'_>>;
    /// Returns true if the table may have keys to find rows by.
    fn has_keys(&self) -> bool;
    /// Returns the keys by which rows can be found, the clustered one first.
    fn keys(&self) -> Vec<KeyTree>;
}

/// A column of a [`KeyedTable`].
#[derive(Debug, Clone, Copy)]
pub struct KeyedColumn<'t> {
    /// The type of the column.
    pub sql_type: &'t SqlType,
    /// The collation of a text column.
    pub collation: Option<Collation>,
    /// Values lose their blanks or zeros at the end (ANSI_PADDING OFF).
    pub trims_padding: bool,
}

/// A key by which rows can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTree {
    /// The nonclustered index; None: the clustered key.
    pub index: Option<String>,
    /// Positions of its columns in the table, and whether they descend.
    pub columns: Vec<(usize, bool)>,
    /// True if the key is unique.
    pub unique: bool,
}

/// Ranges of a clustered key or of an index. They may overlap.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The nonclustered index; None: the clustered key.
    pub index: Option<String>,
    /// The ranges, in any order.
    pub spans: Vec<KeySpan>,
    /// At most one row is found: the bounds are one value of a whole unique key.
    pub single: bool,
    /// The rows are wanted from the last to the first.
    pub backward: bool,
}

impl KeyRange {
    /// Returns the range of all rows, in the order of the clustered key or in the opposite one.
    pub fn all(backward: bool) -> KeyRange {
        KeyRange { index: None, spans: vec![KeySpan::ALL], single: false, backward }
    }
}

/// Rows whose first key columns are between two bounds.
#[derive(Debug, Clone)]
pub struct KeySpan {
    /// The least values of the first key columns; None: from the beginning.
    pub from: Option<Bound>,
    /// The greatest; None: to the end.
    pub to: Option<Bound>,
    /// The last column is text, and values that begin with the bound's value are included.
    pub begins: bool,
    /// The last column descends: the greater values come first.
    pub descends: bool,
}

impl KeySpan {
    /// All rows.
    const ALL: KeySpan = KeySpan { from: None, to: None, begins: false, descends: false };
}

/// Values of the first columns of a key.
#[derive(Debug, Clone)]
pub struct Bound {
    /// True if rows with these values are within the bounds.
    pub included: bool,
    /// The positions of the columns in the table.
    pub columns: Vec<usize>,
    /// The values of the columns, one each, in the Exact form.
    pub values: Vec<ArrayRef>,
}

/// Returns true if the engine compares values of a type as keys do, which is not so for text.
pub(crate) fn orders_as_stored(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(..) | DataType::Date32)
}
