//! Keys that may be wider than an index entry, so that the key of each row is measured.

use arrow::array::{Array, ArrayRef, AsArray};
use tsql::SqlError;

use crate::catalogue::TableDefinition;
use crate::storage::{KeyWidth, stored_bytes};

/// The keys and indexes of a table whose entries may be too long.
#[derive(Debug, Clone)]
pub(super) struct WideKeys(Vec<KeyWidth>);

impl WideKeys {
    /// Collects the wide keys of a table.
    pub fn of(table: &TableDefinition) -> WideKeys {
        WideKeys(KeyWidth::of_table(table).into_iter().filter(KeyWidth::is_wide).collect())
    }

    /// Returns true if rows need not be measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Measures the entries of rows.
    ///
    /// # Errors
    /// Error 1946 for a row whose entry is too long.
    pub fn check(&self, table: &TableDefinition, columns: &[ArrayRef], rows: usize) -> Result<(), SqlError> {
        for key in &self.0 {
            let measured = key.columns.iter().filter_map(|position| {
                let (array, column) = (columns.get(*position)?, table.columns.get(*position)?);
                Some((array, stored_bytes(column)?))
            });
            let measured: Vec<_> = measured.collect();
            for row in 0..rows {
                let variable = measured.iter().map(|(array, width)| match array.is_null(row) {
                    true => 0,
                    false => match array.as_string_opt::<i32>() {
                        Some(text) => width.of_text(text.value(row)),
                        None => array.as_binary_opt::<i32>().map_or(0, |bytes| bytes.value(row).len()),
                    },
                });
                let bytes = key.fixed_bytes + variable.sum::<usize>();
                if bytes > key.limit_bytes {
                    return Err(too_long(key, bytes));
                }
            }
        }
        Ok(())
    }
}

fn too_long(key: &KeyWidth, bytes: usize) -> SqlError {
    let kind = if key.clustered { "clustered" } else { "nonclustered" };
    let text = format!(
        "Operation failed. The index entry of length {bytes} bytes for the index '{}' exceeds the maximum length of {} bytes for {kind} indexes.",
        key.name, key.limit_bytes
    );
    SqlError::new(1946, 16, 3, text)
}
