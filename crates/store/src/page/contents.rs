//! The bytes of a page, and the rows that a reader has found and checked in them.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// The bytes of a page. A borrow that may change them makes the page forget its rows.
pub(super) struct Contents<const BYTES: usize> {
    bytes: [u8; BYTES],
    rows: OnceLock<Box<FoundRows>>,
}

/// The rows of a page, as a reader of one form of rows has found and checked them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRows {
    /// The form of the rows that was expected.
    pub form: RowForm,
    /// Start of each row in the page.
    pub starts: Box<[u16]>,
    /// Slot of each row.
    pub slots: Box<[u16]>,
    /// NULL bitmaps of all rows together.
    pub nulls: Box<[u8]>,
    /// A value of the rows is stored outside its row.
    pub has_pointers: bool,
}

/// All that decides how a row is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowForm {
    /// True for leaves of indexes, false for rows of tables.
    pub is_index: bool,
    /// Bytes of the fixed part with the row header.
    pub fixed_bytes: usize,
    /// Columns of the table.
    pub columns: usize,
    /// Columns of variable length.
    pub variable_columns: usize,
}

impl<const BYTES: usize> Contents<BYTES> {
    pub fn new(bytes: [u8; BYTES]) -> Self {
        Self { bytes, rows: OnceLock::new() }
    }

    /// Returns the rows that were found last, if they were expected in this form and the bytes have not changed since.
    pub fn rows(&self, form: &RowForm) -> Option<&FoundRows> {
        self.rows.get().map(Box::as_ref).filter(|rows| rows.form == *form)
    }

    /// Remembers the rows, unless others are remembered.
    pub fn remember(&self, rows: FoundRows) {
        self.rows.get_or_init(|| Box::new(rows));
    }
}

impl<const BYTES: usize> Deref for Contents<BYTES> {
    type Target = [u8; BYTES];

    fn deref(&self) -> &[u8; BYTES] {
        &self.bytes
    }
}

impl<const BYTES: usize> DerefMut for Contents<BYTES> {
    fn deref_mut(&mut self) -> &mut [u8; BYTES] {
        self.rows.take();
        &mut self.bytes
    }
}

impl<const BYTES: usize> Clone for Contents<BYTES> {
    fn clone(&self) -> Self {
        Self::new(self.bytes)
    }
}

impl<const BYTES: usize> PartialEq for Contents<BYTES> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<const BYTES: usize> Eq for Contents<BYTES> {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn found(form: RowForm) -> FoundRows {
        let (starts, slots, nulls) = Default::default();
        FoundRows { form, starts, slots, nulls, has_pointers: false }
    }

    #[test]
    fn a_change_makes_the_page_forget_its_rows() {
        let form = RowForm { is_index: false, fixed_bytes: 8, columns: 1, variable_columns: 0 };
        let mut contents = Contents::new([0; 128]);
        assert!(contents.rows(&form).is_none());
        contents.remember(found(form));
        assert_eq!(contents.rows(&form), Some(&found(form)));
        assert!(contents.rows(&RowForm { columns: 2, ..form }).is_none());
        assert!(contents.clone().rows(&form).is_none());
        contents[100] = 1;
        assert!(contents.rows(&form).is_none());
    }
}
