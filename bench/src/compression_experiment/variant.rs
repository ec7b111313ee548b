//! Variants of the experiment: the table's shape and its compression.

use std::fmt;

use clap::ValueEnum;
use load::TableName;
use serde::Serialize;

use super::orders;

/// Table that the rows go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// An empty table with a clustered index, in the order of which the rows come; without a table lock, as in the original.
    Clustered,
    /// An empty table with a clustered index, WITH (TABLOCK).
    ClusteredTablock,
    /// An empty heap, WITH (TABLOCK): without it a heap's pages are not compressed on the way in.
    HeapTablock,
}

/// DATA_COMPRESSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Rows as they are.
    None,
    /// Values of fixed length without their leading zeros and trailing blanks.
    Row,
    /// ROW compression, and in each page prefixes and a dictionary.
    Page,
}

/// A combination of table and compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Kind of table that the rows go into.
    pub shape: Shape,
    /// Compression of the table.
    pub compression: Compression,
}

impl Variant {
    /// Lists every combination, in this order.
    pub fn combinations(shapes: &[Shape], compressions: &[Compression]) -> Vec<Variant> {
        shapes
            .iter()
            .flat_map(|&shape| compressions.iter().map(move |&compression| Variant { shape, compression }))
            .collect()
    }

    /// Writes the statement that makes the empty table.
    pub(super) fn create_table(&self, table: &TableName) -> String {
        let (columns, compression) = (orders::COLUMNS, self.compression);
        match self.shape {
            Shape::HeapTablock => {
                format!("CREATE TABLE {table} ({columns}) WITH (DATA_COMPRESSION = {compression})")
            }
            Shape::Clustered | Shape::ClusteredTablock => format!(
                "CREATE TABLE {table} ({columns}); CREATE UNIQUE CLUSTERED INDEX cx_id ON {table} (id) WITH (DATA_COMPRESSION = {compression})"
            ),
        }
    }

    /// Returns the statement that is measured.
    pub(super) fn insert(&self, table: &TableName, source: &TableName, max_dop: Option<u16>) -> String {
        let lock = if self.shape == Shape::Clustered { "" } else { " WITH (TABLOCK)" };
        let option = max_dop.map_or(String::new(), |dop| format!(" OPTION (MAXDOP {dop})"));
        format!("INSERT INTO {table}{lock} SELECT * FROM {source}{option}")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shape::Clustered => "clustered",
            Shape::ClusteredTablock => "clustered, TABLOCK",
            Shape::HeapTablock => "heap, TABLOCK",
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "NONE",
            Compression::Row => "ROW",
            Compression::Page => "PAGE",
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.shape, self.compression)
    }
}
