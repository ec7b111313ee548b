//! The unique keys of the rows of one statement, as a set of fingerprints.
//!
//! A fingerprint is 128 bits of two keyed hashes of a row's key columns, compared by collation.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryBuilder, StringBuilder};
use arrow::row::{RowConverter, SortField};
use query::{binary_keys, is_case_sensitive, text_key};
use tds::SqlType;
use tsql::SqlError;

use crate::catalogue::{ColumnDefinition, TableDefinition, UniqueKey};
use crate::storage::shown_row;

/// Keys that rows have.
#[derive(Debug)]
pub(crate) struct SeenKeys {
    keys: Vec<UniqueKey>,
    sets: Vec<HashSet<u128>>,
    hashers: (RandomState, RandomState),
}

impl SeenKeys {
    /// Begins with the keys of no rows.
    pub fn new(keys: Vec<UniqueKey>) -> SeenKeys {
        let sets = keys.iter().map(|_| HashSet::new()).collect();
        SeenKeys { keys, sets, hashers: (RandomState::new(), RandomState::new()) }
    }

    /// Returns the positions of all columns that are part of a key, sorted.
    pub fn columns(keys: &[UniqueKey]) -> Vec<usize> {
        let mut columns: Vec<usize> = keys.iter().flat_map(UniqueKey::uses).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn fingerprint(&self, bytes: &[u8]) -> u128 {
        u128::from(self.hashers.0.hash_one(bytes)) << 64 | u128::from(self.hashers.1.hash_one(bytes))
    }

    /// Counts rows in. `columns` gives the array of a column by its position in the table.
    ///
    /// # Errors
    /// Error 2627 or 2601 for the first duplicate. The set can no longer be used then, and must be dropped.
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
                    let value = shown_row(&arrays, &columns.collect::<Vec<_>>(), row)?;
                    return Err(SqlError::duplicate_key(
                        key.kind,
                        &key.name,
                        &table.qualified_name(),
                        &value,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Computes the fingerprints of rows by the key of this number. `columns` gives the array of a column by
    /// its position in the table.
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
        let converter = RowConverter::new(fields).map_err(|error| SqlError::internal(error))?;
        let encoded = converter.convert_columns(&arrays).map_err(|error| SqlError::internal(error))?;
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
            }
        }
        Ok(())
    }
}

/// Marks the rows that a key covers; None: all.
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

/// Converts a key column to a form in which equal values compare equal.
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
        SqlType::VarBinary { .. } => binary_keys(array),
        _ => Arc::clone(array),
    }
}
