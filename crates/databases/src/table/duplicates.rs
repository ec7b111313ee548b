//! IGNORE_DUP_KEY: rows that INSERT leaves out because their keys exist already.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use query::seek_any;
use tsql::SqlError;

use crate::catalogue::{TableDefinition, UniqueKey};
use crate::store_error::store_error;
use crate::table::keys::SeenKeys;
use crate::transactions::TransactionAccess;

/// Rows that are looked up at once.
const LOOKUP_ROWS: usize = 1024;

/// The unique keys of a table of which duplicates are left out, within one statement.
#[derive(Debug)]
pub(super) struct IgnoredKeys {
    keys: Vec<UniqueKey>,
    /// Keys of the statement's rows; with those of the table, if they cannot be looked up by indexes.
    seen: SeenKeys,
    looked_up: bool,
}

impl IgnoredKeys {
    /// Begins with the keys of a table. `read` gives the keys of its rows, where no index leads to all of
    /// them.
    pub fn new(
        keys: Vec<UniqueKey>,
        read: impl FnOnce(Vec<UniqueKey>) -> Result<SeenKeys, SqlError>,
    ) -> Result<IgnoredKeys, SqlError> {
        // An index with a filter is no way to all rows that have a key.
        let looked_up = keys.iter().all(|key| key.filter.is_none());
        let seen = match looked_up {
            true => SeenKeys::new(keys.clone()),
            false => read(keys.clone())?,
        };
        Ok(IgnoredKeys { keys, seen, looked_up })
    }

    /// Marks the rows that are no duplicates of rows of the table, or of earlier rows of the statement. The
    /// keys of marked rows are remembered.
    pub fn fresh(
        &mut self,
        table: &TableDefinition,
        access: &TransactionAccess,
        id: crate::storage::TableId,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<BooleanArray, SqlError> {
        let mut fresh = vec![true; rows];
        let of_columns = |position: usize| columns.get(position).map(Arc::clone);
        for (number, key) in self.keys.iter().enumerate().filter(|_| self.looked_up) {
            let wanted = self.seen.fingerprints(table, number, of_columns)?;
            let arrays: Vec<ArrayRef> = key.columns.iter().filter_map(|column| of_columns(*column)).collect();
            for start in (0..rows).step_by(LOOKUP_ROWS) {
                let some = start..rows.min(start + LOOKUP_ROWS);
                let values: Vec<Vec<ArrayRef>> = some
                    .clone()
                    .map(|row| arrays.iter().map(|array| array.slice(row, 1)).collect())
                    .collect();
                // All rows are read if there is no range, for a NULL or a number that is not exact.
                let range = seek_any(table, &key.columns, values.iter().map(Vec::as_slice));
                let mut stored = HashSet::new();
                for batch in access.scan_stored(id, Some(key.columns.clone()), range.as_ref())? {
                    let batch = batch.map_err(store_error)?;
                    let place = |position: usize| {
                        let index = key.columns.iter().position(|column| *column == position)?;
                        batch.columns().get(index).cloned()
                    };
                    stored.extend(self.seen.fingerprints(table, number, place)?);
                }
                for (fresh, wanted) in fresh.iter_mut().zip(&wanted).take(some.end).skip(some.start) {
                    *fresh &= !stored.contains(wanted);
                }
            }
        }
        self.seen.note_fresh(table, &mut fresh, of_columns)?;
        Ok(BooleanArray::from(fresh))
    }
}
