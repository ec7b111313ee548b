//! FOREIGN KEYs of referring rows: every referenced key must exist.

use std::collections::HashSet;

use arrow::array::{Array, ArrayRef};
use arrow::row::{RowConverter, SortField};
use query::seek_values;
use tsql::SqlError;

use crate::catalogue::{ForeignKey, TableDefinition};
use crate::store_error::store_error;
use crate::table::keys::comparable;
use crate::transactions::{OpenTable, TransactionAccess};

/// A FOREIGN KEY and the table that it refers to.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Definition of the constraint.
    pub key: ForeignKey,
    /// Positions of the referring columns in their own table.
    pub columns: Vec<usize>,
    /// The referenced table.
    pub parent: OpenTable,
    /// Positions of the referenced columns there.
    pub referenced: Vec<usize>,
    /// The table refers to itself.
    pub same_table: bool,
}

/// The keys that new rows name, until it is known that all of them exist.
#[derive(Debug)]
pub(crate) struct PendingKeys {
    reference: Reference,
    keys: HashSet<Vec<u8>>,
    /// The values of each key, as long as they are few.
    values: Vec<Vec<ArrayRef>>,
}

/// Keys up to which they are looked up one by one; of more, the referenced table is read.
const LOOKUPS_MAX: usize = 4096;

impl PendingKeys {
    /// Begins a look-up of no key yet.
    pub fn new(reference: Reference) -> PendingKeys {
        PendingKeys { reference, keys: HashSet::new(), values: Vec::new() }
    }

    /// Notes the keys of rows. A key with a NULL refers to nothing.
    pub fn note(
        &mut self,
        table: &TableDefinition,
        columns: impl Fn(usize) -> Option<ArrayRef>,
    ) -> Result<(), SqlError> {
        let encoded = encode(table, &self.reference.columns, &columns)?;
        for (row, key) in encoded.into_iter().enumerate() {
            let Some(key) = key else { continue };
            if self.keys.insert(key) && self.values.len() < LOOKUPS_MAX {
                let arrays = self.reference.columns.iter().filter_map(|position| columns(*position));
                self.values.push(arrays.map(|array| array.slice(row, 1)).collect());
            }
        }
        Ok(())
    }

    /// Looks keys up in the table's trees. Returns true if one is missing. None: the keys are too many, or no
    /// tree has them all.
    fn missing_in_trees(&self, access: &TransactionAccess) -> Result<Option<bool>, SqlError> {
        let Reference { parent, referenced, .. } = &self.reference;
        let few = self.keys.len() == self.values.len() && self.keys.len() as u64 <= parent.rows / 8 + 64;
        if !few {
            return Ok(None);
        }
        for values in &self.values {
            let Some(range) =
                seek_values(parent.definition.as_ref(), referenced, values).filter(|range| range.single)
            else {
                return Ok(None);
            };
            if !access.has_row(parent.id, &range)? {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// Looks up all keys.
    ///
    /// # Errors
    /// Error 547 for a missing key.
    pub fn settle(mut self, statement: &str, access: &TransactionAccess) -> Result<(), SqlError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let Reference { parent, referenced, .. } = &self.reference;
        let missing = match self.missing_in_trees(access)? {
            Some(missing) => missing,
            None => {
                for batch in access.scan(parent.id, Some(referenced.clone()))? {
                    let batch = batch.map_err(store_error)?;
                    let place = |position: usize| {
                        let index = referenced.iter().position(|column| *column == position)?;
                        batch.columns().get(index).cloned()
                    };
                    for key in encode(&parent.definition, referenced, place)?.into_iter().flatten() {
                        self.keys.remove(&key);
                    }
                    if self.keys.is_empty() {
                        break;
                    }
                }
                !self.keys.is_empty()
            }
        };
        if missing { Err(self.reference.conflict(statement)) } else { Ok(()) }
    }
}

impl Reference {
    /// Makes error 547: rows refer to a missing key.
    pub fn conflict(&self, statement: &str) -> SqlError {
        let kind = if self.same_table { "FOREIGN KEY SAME TABLE" } else { "FOREIGN KEY" };
        let parent = &self.parent.definition;
        SqlError::constraint_conflict(
            statement,
            kind,
            &self.key.name,
            &parent.database,
            &parent.qualified_name(),
            single(&self.key.referenced),
        )
    }
}

/// Returns the one column of a key, which messages name.
pub fn single(columns: &[String]) -> Option<&str> {
    match columns {
        [column] => Some(column),
        _ => None,
    }
}

/// Encodes the keys of rows as bytes that are equal where the collation says so; None where a part is NULL.
pub fn encode(
    table: &TableDefinition,
    positions: &[usize],
    columns: impl Fn(usize) -> Option<ArrayRef>,
) -> Result<Vec<Option<Vec<u8>>>, SqlError> {
    let mut arrays = Vec::with_capacity(positions.len());
    for position in positions {
        let (Some(array), Some(column)) = (columns(*position), table.columns.get(*position)) else {
            return Err(SqlError::internal("a key of a column that is not there"));
        };
        arrays.push(comparable(&array, column));
    }
    let fields = arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect();
    let converter = RowConverter::new(fields).map_err(|error| SqlError::internal(error))?;
    let rows = converter.convert_columns(&arrays).map_err(|error| SqlError::internal(error))?;
    Ok(rows
        .iter()
        .enumerate()
        .map(|(row, bytes)| {
            let null = arrays.iter().any(|array| array.is_null(row));
            (!null).then(|| bytes.as_ref().to_vec())
        })
        .collect())
}
