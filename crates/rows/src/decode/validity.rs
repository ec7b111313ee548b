//! Marks of rows that are not null, 64 at a time; no bitmap is made before the first null.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;

/// Rows whose flags travel together in one word.
pub(super) const GROUP: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Validity {
    rows: usize,
    first_null: Option<usize>,
    /// Present from the first null on.
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    /// Appends `count` (at most 64) rows; bit i of `valid` is set if row i is not null.
    #[inline]
    pub fn append(&mut self, valid: u64, count: usize) {
        let full = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
        match &mut self.bits {
            None if valid == full => {}
            bits => {
                let bits = bits.get_or_insert_with(|| {
                    self.first_null = Some(self.rows + (!valid).trailing_zeros() as usize);
                    let mut bits = BooleanBufferBuilder::new(self.rows.next_power_of_two().max(1024));
                    bits.append_n(self.rows, true);
                    bits
                });
                bits.append_packed_range(0..count, &valid.to_le_bytes());
            }
        }
        self.rows += count;
    }

    /// Appends the `count` rows of a group that come before a bad one, so that a null among them is found.
    #[cold]
    pub fn append_before_bad(&mut self, valid: u64, count: usize) {
        let before = 1u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1);
        self.append(valid & before, count);
    }

    /// Takes back the rows after the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        match self.first_null {
            Some(first_null) if first_null >= rows => (self.first_null, self.bits) = (None, None),
            _ => {}
        }
        if let Some(bits) = &mut self.bits {
            bits.truncate(rows);
        }
        self.rows = rows;
    }

    /// Finds the first row that is null.
    pub fn first_null(&self) -> Option<usize> {
        self.first_null
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns the flags as Arrow holds them, and begins again; `None` if nothing is null.
    pub fn finish(&mut self) -> Option<NullBuffer> {
        self.rows = 0;
        self.first_null = None;
        Some(NullBuffer::new(self.bits.take()?.finish()))
    }
}
