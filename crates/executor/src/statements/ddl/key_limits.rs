//! Limits of keys, and errors of rows that break them.

use databases::catalogue::{ColumnDefinition, TableDefinition};
use databases::storage::KeyWidth;
use tsql::SqlError;

/// Columns of a key, at most.
pub(crate) const KEY_COLUMNS_MAX: usize = 32;

/// Makes error 1904: a key of more columns than one can have.
pub(crate) fn too_many_columns(index: &str, table: &str, count: usize) -> SqlError {
    let text = format!(
        "The index '{index}' on table '{table}' has {count} columns in the key list. The maximum limit for index key column list is {KEY_COLUMNS_MAX}."
    );
    refused(1904, 1, text)
}

/// Makes error 1919: a column of a type that no key can have.
pub(crate) fn no_key_column(column: &ColumnDefinition, table: &TableDefinition) -> SqlError {
    let text = format!(
        "Column '{}' in table '{}' is of a type that is invalid for use as a key column in an index.",
        column.name, table.name
    );
    refused(1919, 1, text)
}

/// Errors: 1944 for a key whose columns of fixed length are longer than an entry may be.
pub(crate) fn refuse_long_key(table: &TableDefinition, name: &str) -> Result<(), SqlError> {
    let keys = KeyWidth::of_table(table);
    match keys.into_iter().find(|key| key.name == name && !key.fits()) {
        Some(key) => {
            let text = format!(
                "Index '{name}' was not created. This index has a key length of at least {} bytes. The maximum permissible key length is {} bytes.",
                key.fixed_bytes, key.limit_bytes
            );
            Err(refused(1944, 1, text))
        }
        None => Ok(()),
    }
}

/// Converts the error of a duplicate that is found while an index is made: 1505 instead of 2601 or 2627.
pub(crate) fn duplicates_found(definition: &TableDefinition, name: &str, error: SqlError) -> SqlError {
    if !matches!(error.number, 2601 | 2627) {
        return error;
    }
    let value = error.message.rsplit("value is ").next().unwrap_or_default();
    refused(
        1505,
        1,
        format!(
            "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '{}' and the index name '{name}'. The duplicate key value is {value}",
            definition.qualified_name()
        ),
    )
}

pub fn refused(number: i32, state: u8, text: String) -> SqlError {
    SqlError::new(number, 16, state, text)
}
