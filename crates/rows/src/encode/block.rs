//! A block of rows that is being written: where each row's next cell goes.

use arrow::buffer::NullBuffer;

/// Rows written together. Small enough for a block of ordinary rows and its bookkeeping to stay in the first-level
/// cache while every column passes over it, large enough to amortise the passes' start-up.
pub(crate) const BLOCK_ROWS: usize = 128;

/// Bytes that a cell may write beyond its end when rows are laid out loosely. They fall on the cells that follow, whose
/// columns are written later, or on the gap behind the row.
pub(crate) const SLACK_BYTES: usize = 64;

/// The output of one block and the write position of each of its rows.
pub(crate) struct Block<'b> {
    /// Row-major bytes of the block.
    pub(crate) out: &'b mut [u8],
    /// Per row: start of the row's unwritten part in `out`, less `shift`.
    pub(crate) cursors: &'b mut [usize],
    /// Bytes written in every row since the cursors were last moved.
    pub(crate) shift: usize,
    /// Index of the block's first row within the batch.
    pub(crate) first: usize,
}

impl Block<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.cursors.len()
    }
}

/// Marks of the rows of a block that have a value: 1 or 0 for each, unpacked from Arrow's bitmap.
///
/// Bytes, because they can be multiplied with where a branch on a bit would be mispredicted.
pub(crate) struct Validity([u8; BLOCK_ROWS]);

impl Validity {
    /// Reads the flags of `rows` rows (at most [`BLOCK_ROWS`]) from `first` on; every row is valid without
    /// `nulls`.
    pub(crate) fn new(nulls: Option<&NullBuffer>, first: usize, rows: usize) -> Self {
        let mut flags = [1; BLOCK_ROWS];
        if let Some(nulls) = nulls {
            let bits = nulls.validity();
            let start = nulls.offset() + first;
            let (byte, shift) = (start / 8, start % 8);
            let bytes = &bits[byte..(start + rows).div_ceil(8)];
            for (index, group) in flags.as_chunks_mut::<8>().0.iter_mut().enumerate().take(rows.div_ceil(8)) {
                let low = u16::from(bytes.get(index).copied().unwrap_or(0));
                let high = u16::from(bytes.get(index + 1).copied().unwrap_or(0));
                *group = EXPANDED[usize::from(((high << 8 | low) >> shift) as u8)];
            }
        }
        Validity(flags)
    }

    /// Returns a flag, 1 or 0, for each row.
    #[inline(always)]
    pub(crate) fn flags(&self) -> &[u8; BLOCK_ROWS] {
        &self.0
    }
}

/// The bits of every byte as bytes.
static EXPANDED: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[byte][bit] = (byte >> bit & 1) as u8;
            bit += 1;
        }
        byte += 1;
    }
    table
};
