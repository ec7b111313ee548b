//! Errors of the store as T-SQL knows them.

use arrow::array::RecordBatch;
use store::EngineError;
use store::LockError;
use tsql::SqlError;
use tsql::errors;

use crate::catalogue::TableDefinition;
use crate::storage::{StoreError, shown_row, shown_value};

/// Converts the store's error to T-SQL's.
pub fn store_error(error: StoreError) -> SqlError {
    if let StoreError::Engine(EngineError::FileGroupFull { group, table, index, reason }) = &error {
        let index = index.as_ref().map(|index| format!(".'{index}'")).unwrap_or_default();
        let text = format!(
            "Could not allocate space for object '{table}'{index} because the '{group}' filegroup is full: {reason}. The statement was rolled back; nothing that was committed is lost."
        );
        return SqlError::new(1105, 17, 2, text);
    }
    if error.is_disk_full() {
        return SqlError::new(
            1105,
            17,
            2,
            "Could not allocate space because the disk is full. The statement was rolled back; nothing that was committed is lost.",
        );
    }
    match error {
        StoreError::Engine(error) => engine_error(&error),
        StoreError::Lock(LockError::Timeout { .. }) => errors::LOCK_TIMEOUT.error(),
        StoreError::Lock(LockError::Interrupted { .. }) => errors::CANCELLED.error(),
        StoreError::Lock(LockError::Deadlock { .. }) => errors::DEADLOCK.with([&0.to_string()]),
        other => SqlError::internal(other),
    }
}

/// Makes the SQL error of a failed change to a table: duplicates (2627, 2601) and rows out of order (4819) in
/// SQL Server's words.
pub(crate) fn keyed_error(definition: &TableDefinition, error: StoreError) -> SqlError {
    match &error {
        StoreError::Engine(EngineError::DuplicateKey { index, values, .. }) => {
            let Some(key) = definition.unique_key(index) else { return store_error(error) };
            match shown_key(definition, &key.columns, values) {
                Ok(value) => {
                    SqlError::duplicate_key(key.kind, &key.name, &definition.qualified_name(), &value)
                }
                Err(error) => error,
            }
        }
        StoreError::Engine(EngineError::NotSorted { row, keys }) => {
            let columns = definition.clustered_key();
            let shown = keys.as_deref().map(|(first, second)| {
                let shown = |key| shown_key(definition, &columns, key);
                Ok((shown(first)?, shown(second)?))
            });
            match shown.transpose() {
                Ok(Some((first, second))) => out_of_order(&first, &second),
                Ok(None) => SqlError::internal(format!("row {row} is not in order")),
                Err(error) => error,
            }
        }
        _ => store_error(error),
    }
}

/// Formats one row of the columns at these positions, as messages show a key.
fn shown_key(
    definition: &TableDefinition,
    positions: &[usize],
    key: &RecordBatch,
) -> Result<String, SqlError> {
    let columns = positions.iter().filter_map(|position| definition.columns.get(*position));
    let columns: Vec<_> = columns.collect();
    let values = key.columns().iter().zip(&columns).map(|(array, column)| shown_value(array, column));
    let values = values.collect::<Result<Vec<_>, _>>().map_err(store_error)?;
    shown_row(&values, &columns, 0)
}

/// Makes the error of two rows that follow each other although the key of the second, as messages show it, is
/// less.
pub(crate) fn out_of_order(first: &str, second: &str) -> SqlError {
    let text = format!(
        "Cannot bulk load. The bulk data stream was incorrectly specified as sorted or the data violates a uniqueness constraint imposed by the target table. Sort order incorrect for the following two rows: primary key of first row: ({first}), primary key of second row: ({second})."
    );
    SqlError::new(4819, 16, 1, text)
}

/// Converts the paged engine's error to SQL Server's number.
fn engine_error(error: &EngineError) -> SqlError {
    if let EngineError::RowTooLarge { bytes, limit_bytes } = error {
        let text = format!(
            "Cannot create a row of size {bytes} which is greater than the allowable maximum row size of {limit_bytes}."
        );
        return SqlError::new(511, 16, 1, text);
    }
    if let EngineError::RowsChanged { .. } = error {
        return errors::ROWS_CHANGED.error();
    }
    if let EngineError::UpdateConflict { table } = error {
        return SqlError::update_conflict(table);
    }
    if let EngineError::DefinitionChanged { table } = error {
        return SqlError::definition_changed(table);
    }
    if let EngineError::Internal { origin, .. } = error {
        return SqlError { origin: Some(origin), ..SqlError::internal(error) };
    }
    let (number, class) = match error.sql_error() {
        Some(number @ (823 | 824)) => (number, 24),
        Some(number @ 9001) => (number, 21),
        Some(number @ 9002) => (number, 17),
        Some(number) => (number, 16),
        None => return SqlError::internal(error),
    };
    SqlError::new(number, class, 1, error.to_string())
}

/// Makes the error for a name that another session took between its check and its use: the same as that of
/// the check.
pub fn name_taken(error: SqlError, checked: impl FnOnce() -> SqlError) -> SqlError {
    if error.number == errors::OBJECT_EXISTS.number { checked() } else { error }
}

/// Makes error 3930: an uncommittable transaction cannot do this.
pub fn uncommittable() -> SqlError {
    let text = "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.";
    SqlError::new(3930, 16, 1, text)
}
