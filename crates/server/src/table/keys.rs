//! Uniqueness where the store does not see to it: the keys of a table of segments as a set of fingerprints.
//!
//! A fingerprint is 128 bits of two keyed hashes of a row's key columns, compared by collation. Writers of a
//! table with unique keys hold its lock alone, so whoever has the lock has the set: it is taken out of the
//! cache by a writer, and put back by its commit.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, StringBuilder};
use arrow::row::{RowConverter, SortField};
use parking_lot::Mutex;
use tds::SqlType;

use crate::catalogue::{ColumnDefinition, TableDefinition, UniqueKey};
use crate::engine::convert::display;
use crate::engine::{Datum, is_case_sensitive, text_key};
use crate::sql_error::SqlError;
use crate::storage::holds_key;

/// The keys of tables that nobody is writing to.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    tables: Mutex<HashMap<i32, TableKeys>>,
}

/// The keys of one table.
#[derive(Debug)]
pub(crate) struct TableKeys {
    keys: Vec<UniqueKey>,
    sets: Vec<HashSet<u128>>,
    /// Rows counted in; a table of another count has been changed behind the set's back.
    rows: u64,
    hashers: (RandomState, RandomState),
}

/// The keys that a table in pages cannot keep unique by its trees, because those cannot hold them.
pub(crate) fn keys_in_memory(table: &TableDefinition) -> Vec<UniqueKey> {
    let mut keys = table.unique_keys();
    keys.retain(|key| !holds_key(table, key));
    keys
}

impl KeyCache {
    /// Takes a table's keys out, if they are those of the table as it is.
    pub fn take(&self, object_id: i32, keys: &[UniqueKey], rows: u64) -> Option<TableKeys> {
        self.tables.lock().remove(&object_id).filter(|cached| cached.rows == rows && cached.keys == keys)
    }

    /// Whether there are keys of a table.
    pub fn has(&self, object_id: i32) -> bool {
        self.tables.lock().contains_key(&object_id)
    }

    /// Puts them back after a commit.
    pub fn put(&self, object_id: i32, keys: TableKeys) {
        self.tables.lock().insert(object_id, keys);
    }

    /// Whether any of `keys` is missing from a table of `rows` rows; None if that is not known here.
    pub fn missing(
        &self,
        object_id: i32,
        rows: u64,
        columns: &[usize],
        keys: &HashSet<Vec<u8>>,
    ) -> Option<bool> {
        let tables = self.tables.lock();
        tables.get(&object_id).filter(|cached| cached.rows == rows)?.missing(columns, keys)
    }

    /// Forgets a table.
    pub fn forget(&self, object_id: i32) {
        self.tables.lock().remove(&object_id);
    }
}

impl TableKeys {
    /// No rows yet.
    pub fn new(keys: Vec<UniqueKey>) -> TableKeys {
        let sets = keys.iter().map(|_| HashSet::new()).collect();
        TableKeys { keys, sets, rows: 0, hashers: (RandomState::new(), RandomState::new()) }
    }

    /// Positions of all columns that are part of a key, sorted.
    pub fn columns(keys: &[UniqueKey]) -> Vec<usize> {
        let mut columns: Vec<usize> = keys.iter().flat_map(UniqueKey::uses).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Whether any of `keys` (encoded as [`encode`](super::reference::encode) does) is missing among the keys over
    /// `columns`; None if these columns are no unique key in this order.
    pub fn missing(&self, columns: &[usize], keys: &HashSet<Vec<u8>>) -> Option<bool> {
        let position = self.keys.iter().position(|key| key.columns == columns && key.filter.is_none())?;
        let set = self.sets.get(position)?;
        Some(keys.iter().any(|key| !set.contains(&self.fingerprint(key))))
    }

    fn fingerprint(&self, bytes: &[u8]) -> u128 {
        u128::from(self.hashers.0.hash_one(bytes)) << 64 | u128::from(self.hashers.1.hash_one(bytes))
    }

    /// Counts rows in. `columns` gives the array of a column by its position in the table.
    ///
    /// Errors: 2627 or 2601 for the first duplicate; the set is then spoilt and must be dropped.
    pub fn add(
        &mut self,
        table: &TableDefinition,
        rows: usize,
        columns: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<(), SqlError> {
        for number in 0..self.keys.len() {
            let fingerprints = self.fingerprints(table, number, &columns)?;
            let (Some(key), Some(set)) = (self.keys.get(number), self.sets.get_mut(number)) else { continue };
            set.reserve(rows);
            let mask = masked(key, table, rows, &columns)?;
            for (row, fingerprint) in fingerprints.into_iter().enumerate() {
                if is_in(&mask, row) && !set.insert(fingerprint) {
                    let arrays: Vec<ArrayRef> =
                        key.columns.iter().filter_map(|column| columns(*column)).collect();
                    let columns = key.columns.iter().filter_map(|column| table.columns.get(*column));
                    let value = shown(&arrays, &columns.collect::<Vec<_>>(), row)?;
                    return Err(SqlError::duplicate_key(
                        key.kind,
                        &key.name,
                        &table.qualified_name(),
                        &value,
                    ));
                }
            }
        }
        self.rows += rows as u64;
        Ok(())
    }

    /// The fingerprints of rows by the key of this number. `columns` gives the array of a column by its position in the table.
    pub(super) fn fingerprints(
        &self,
        table: &TableDefinition,
        number: usize,
        columns: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<Vec<u128>, SqlError> {
        let mut arrays = Vec::new();
        for position in self.keys.get(number).iter().flat_map(|key| &key.columns) {
            let (Some(array), Some(column)) = (columns(*position), table.columns.get(*position)) else {
                return Err(SqlError::internal("a key of a column that is not there"));
            };
            arrays.push(comparable(&array, column));
        }
        let fields = arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(SqlError::internal)?;
        let encoded = converter.convert_columns(&arrays).map_err(SqlError::internal)?;
        Ok(encoded.iter().map(|bytes| self.fingerprint(bytes.as_ref())).collect())
    }

    /// Counts in those of the `fresh` rows that have no key that is known; the others are fresh no longer.
    pub(super) fn note_fresh(
        &mut self,
        table: &TableDefinition,
        fresh: &mut [bool],
        columns: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<(), SqlError> {
        let fingerprints: Vec<Vec<u128>> = (0..self.keys.len())
            .map(|number| self.fingerprints(table, number, &columns))
            .collect::<Result<_, _>>()?;
        let masks = self.keys.iter().map(|key| masked(key, table, fresh.len(), &columns));
        let masks = masks.collect::<Result<Vec<_>, _>>()?;
        for (row, fresh) in fresh.iter_mut().enumerate().filter(|(_, fresh)| **fresh) {
            let own = || {
                let keys = fingerprints.iter().filter_map(|keys| keys.get(row).copied());
                keys.zip(masks.iter().map(|mask| is_in(mask, row)))
            };
            *fresh = self.sets.iter().zip(own()).all(|(set, (key, counts))| !(counts && set.contains(&key)));
            if *fresh {
                for (set, (key, counts)) in self.sets.iter_mut().zip(own()) {
                    if counts {
                        set.insert(key);
                    }
                }
                self.rows += 1;
            }
        }
        Ok(())
    }
}

/// Which rows a key is of; None: all.
fn masked(
    key: &UniqueKey,
    table: &TableDefinition,
    rows: usize,
    columns: impl Fn(usize) -> Option<ArrayRef>,
) -> Result<Option<Vec<bool>>, SqlError> {
    key.filter.as_ref().map(|filter| filter.mask(table, rows, columns)).transpose()
}

fn is_in(mask: &Option<Vec<bool>>, row: usize) -> bool {
    mask.as_ref().is_none_or(|mask| mask.get(row).copied().unwrap_or_default())
}

/// What a key column is compared by.
pub(super) fn comparable(array: &ArrayRef, column: &ColumnDefinition) -> ArrayRef {
    match &column.sql_type {
        sql_type if sql_type.is_character() => {
            let fold = !is_case_sensitive(column.collation());
            let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 8);
            for value in array.as_string::<i32>() {
                match value {
                    Some(value) => builder.append_value(text_key(value, fold)),
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        SqlType::DateTimeOffset { .. } => {
            let values = array.as_fixed_size_binary();
            let mut builder = FixedSizeBinaryBuilder::with_capacity(array.len(), 8);
            for row in 0..array.len() {
                let instant = values.value(row).get(..8).filter(|_| !array.is_null(row));
                if instant.is_none_or(|instant| builder.append_value(instant).is_err()) {
                    builder.append_null();
                }
            }
            Arc::new(builder.finish())
        }
        _ => Arc::clone(array),
    }
}

/// A row's values as messages list them.
pub(crate) fn shown(
    arrays: &[ArrayRef],
    columns: &[&ColumnDefinition],
    row: usize,
) -> Result<String, SqlError> {
    let values = arrays
        .iter()
        .zip(columns)
        .map(|(array, column)| {
            let value = Datum::read(array.as_ref(), &column.sql_type, row)?;
            Ok(if value.is_null() { "<NULL>".to_string() } else { display(&value, &column.sql_type) })
        })
        .collect::<Result<Vec<_>, SqlError>>()?;
    Ok(values.join(", "))
}
