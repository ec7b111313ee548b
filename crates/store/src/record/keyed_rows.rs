//! Records with the keys that order them, one after the other in memory.

use super::Records;

/// Byte strings, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Keys {
    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the key of a row; empty if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let start = match row.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
            None => 0,
        };
        let end = self.ends.get(row).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Lists the keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let key = self.bytes.get(start..*end as usize).unwrap_or_default();
            start = *end as usize;
            key
        })
    }

    /// Adds a copy of one.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Adds one that is written to the end of the bytes. `None`: it could not be, and nothing is added.
    #[inline]
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let start = self.bytes.len();
        if write(&mut self.bytes).is_none() {
            self.bytes.truncate(start);
            return None;
        }
        self.ends.push(self.bytes.len() as u32);
        Some(())
    }
}

/// Records and the key of each.
#[derive(Debug, Default)]
pub(crate) struct KeyedRows {
    pub records: Records,
    pub keys: Keys,
}

impl KeyedRows {
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.records.clear();
        self.keys.clear();
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.records.lengths.len()
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, key: &[u8], record: &[u8]) {
        self.records.push(record);
        self.keys.push(key);
    }
}
