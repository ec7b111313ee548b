//! Keys of records that are on their way into a tree.

use std::sync::Arc;

use super::damaged;
use super::index::Tree;
use super::key::{KeyColumn, KeyLayout};
use crate::error::EngineError;
use crate::record::kind::Kind;
use crate::record::layout::{Layout, Position};
use crate::record::stored::StoredRow;
use crate::record::{Keys, Records};

/// Reads the first columns of a tree's key from complete records.
#[derive(Debug)]
pub(crate) struct RecordKeys {
    layout: Arc<Layout>,
    key: KeyLayout,
    /// The columns, if all are numbers at fixed places of uncompressed records.
    integers: Option<Vec<IntegerColumn>>,
}

/// An integer whose bytes order after one change of sign.
#[derive(Debug, Clone, Copy)]
struct IntegerColumn {
    offset: usize,
    width: usize,
    /// Byte and bit of the record that say that the value is null; `None`: it never is.
    null: Option<(usize, u8)>,
    descending: bool,
}

impl RecordKeys {
    /// Makes whole keys, which distinguish all rows.
    pub fn whole(tree: &Tree) -> Self {
        Self::first(tree, tree.key.columns.len())
    }

    /// Makes keys as declared: without the number that distinguishes equal ones, and without the locator of
    /// an index's row.
    pub fn declared(tree: &Tree) -> Self {
        Self::first(tree, tree.definition.key.len())
    }

    fn first(tree: &Tree, columns: usize) -> Self {
        let key = tree.key.first(columns);
        let integers = key.columns.iter().map(|column| IntegerColumn::new(&tree.layout, column));
        let integers = match tree.layout.is_compressed() {
            true => None,
            false => integers.collect(),
        };
        Self { layout: Arc::clone(&tree.layout), key, integers }
    }

    /// Puts the keys of records in the place of those in `keys`.
    pub fn read(&self, tree: &Tree, records: &Records, keys: &mut Keys) -> Result<(), EngineError> {
        keys.clear();
        records.iter().try_for_each(|record| {
            let added = keys.add(|key| self.write(record, key));
            added.ok_or_else(|| damaged(tree.root, "a key cannot be read"))
        })
    }

    #[inline]
    fn write(&self, record: &[u8], key: &mut Vec<u8>) -> Option<()> {
        match &self.integers {
            Some(columns) => columns.iter().try_for_each(|column| column.write(record, key)),
            None => self.key.write_of_row(&self.layout, StoredRow::whole(record), key),
        }
    }
}

impl IntegerColumn {
    /// Returns the column's place. `None`: it has other values than integers with a sign.
    fn new(layout: &Layout, column: &KeyColumn) -> Option<Self> {
        let definition = layout.columns.get(column.column)?;
        let (offset, width) = match (definition.kind, layout.positions.get(column.column)?) {
            (Kind::SmallInt | Kind::Int | Kind::BigInt, Position::Fixed { offset, width }) => {
                (*offset, *width)
            }
            _ => return None,
        };
        let bitmap = layout.fixed_bytes + 2;
        let null = definition.nullable.then_some((bitmap + column.column / 8, 1 << (column.column % 8)));
        Some(Self { offset, width, null, descending: column.descending })
    }

    /// Appends the column's part of a record's key, as [`KeyLayout::write_of_row`] does.
    #[inline]
    fn write(&self, record: &[u8], key: &mut Vec<u8>) -> Option<()> {
        let flip = if self.descending { 0xFF } else { 0 };
        if let Some((byte, mask)) = self.null
            && record.get(byte)? & mask != 0
        {
            key.push(flip);
            return Some(());
        }
        let value = record.get(self.offset..)?;
        // The first byte, 1, says that the value is not null.
        let mut bytes = [1; 9];
        let written = bytes.get_mut(..=self.width)?;
        match self.width {
            8 => {
                let value = u64::from_le_bytes(*value.first_chunk()?) ^ (1 << 63);
                *written.last_chunk_mut()? = value.to_be_bytes();
            }
            4 => {
                let value = u32::from_le_bytes(*value.first_chunk()?) ^ (1 << 31);
                *written.last_chunk_mut()? = value.to_be_bytes();
            }
            2 => {
                let value = u16::from_le_bytes(*value.first_chunk()?) ^ (1 << 15);
                *written.last_chunk_mut()? = value.to_be_bytes();
            }
            _ => return None,
        }
        if self.descending {
            written.iter_mut().for_each(|byte| *byte = !*byte);
        }
        key.extend_from_slice(written);
        Some(())
    }
}

#[cfg(test)]
mod tests;
