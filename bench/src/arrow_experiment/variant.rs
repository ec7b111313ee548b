//! The variants of the experiment.

use std::fmt;

use clap::ValueEnum;
use load::TableName;
use load::report::grouped;
use serde::Serialize;

use crate::eleven_columns;

/// Table that the rows go into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// A heap.
    Heap,
    /// A table with a clustered primary key.
    Clustered,
    /// A heap that gets its clustered primary key after the load.
    HeapThenKey,
}

/// Method by which the rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// INSERT BULK and ROW tokens.
    Bulk,
    /// An INSERT with parameters for each row.
    RowByRow,
}

/// A combination of table, method and batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Table that the rows go into.
    pub storage: Storage,
    /// Method by which the rows are sent.
    pub method: Method,
    /// Rows of a transaction.
    pub batch_rows: u64,
    /// True if the load has TABLOCK.
    pub table_lock: bool,
}

impl Variant {
    /// Lists every combination of the arguments, in their order. `row_by_row` adds that method once, into the
    /// first storage, with the first batch size and without a table lock, which a single INSERT does not use.
    pub fn combinations(
        storages: &[Storage],
        batch_rows: &[u64],
        table_locks: &[bool],
        row_by_row: bool,
    ) -> Vec<Variant> {
        let bulk = storages.iter().flat_map(|&storage| {
            batch_rows.iter().flat_map(move |&batch_rows| {
                table_locks.iter().map(move |&table_lock| Variant {
                    storage,
                    method: Method::Bulk,
                    batch_rows,
                    table_lock,
                })
            })
        });
        let mut variants: Vec<Variant> = bulk.collect();
        if row_by_row && let Some(&first) = variants.first() {
            variants.push(Variant { method: Method::RowByRow, table_lock: false, ..first });
        }
        variants
    }

    /// Writes the statement that makes the table before the load.
    pub(crate) fn create_table(&self, table: &TableName) -> String {
        let heap = eleven_columns::create_table(&table.to_string());
        match self.storage {
            Storage::Clustered => {
                heap.replacen("id INT NOT NULL", "id INT NOT NULL PRIMARY KEY CLUSTERED", 1)
            }
            Storage::Heap | Storage::HeapThenKey => heap,
        }
    }

    /// Returns the statement that adds a key after the load, as part of it.
    pub(crate) fn add_key(&self, table: &TableName) -> Option<String> {
        (self.storage == Storage::HeapThenKey)
            .then(|| format!("ALTER TABLE {table} ADD PRIMARY KEY CLUSTERED (id)"))
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Storage::Heap => "heap",
            Storage::Clustered => "clustered",
            Storage::HeapThenKey => "heap, then key",
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} a batch", self.storage, grouped(self.batch_rows))?;
        match (self.method, self.table_lock) {
            (Method::RowByRow, _) => f.write_str(", row by row"),
            (Method::Bulk, true) => f.write_str(", TABLOCK"),
            (Method::Bulk, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn combinations_begin_with_the_first_of_each() {
        let storages = [Storage::Heap, Storage::HeapThenKey];
        let variants = Variant::combinations(&storages, &[50_000, 100], &[true, false], true);
        let names: Vec<String> = variants.iter().map(Variant::to_string).collect();
        assert_eq!(
            names,
            [
                "heap, 50,000 a batch, TABLOCK",
                "heap, 50,000 a batch",
                "heap, 100 a batch, TABLOCK",
                "heap, 100 a batch",
                "heap, then key, 50,000 a batch, TABLOCK",
                "heap, then key, 50,000 a batch",
                "heap, then key, 100 a batch, TABLOCK",
                "heap, then key, 100 a batch",
                "heap, 50,000 a batch, row by row",
            ]
        );
        assert!(Variant::combinations(&[], &[1], &[true], true).is_empty());
    }

    #[test]
    fn the_key_comes_with_the_table_or_after_it() {
        let table: TableName = "dbo.t".parse().unwrap();
        let variant = |storage| Variant { storage, method: Method::Bulk, batch_rows: 1, table_lock: true };
        assert!(
            variant(Storage::Clustered)
                .create_table(&table)
                .contains("(id INT NOT NULL PRIMARY KEY CLUSTERED, ")
        );
        assert!(!variant(Storage::Heap).create_table(&table).contains("KEY"));
        assert_eq!(variant(Storage::Heap).add_key(&table), None);
        assert_eq!(
            variant(Storage::HeapThenKey).add_key(&table).unwrap(),
            "ALTER TABLE [dbo].[t] ADD PRIMARY KEY CLUSTERED (id)"
        );
    }
}
