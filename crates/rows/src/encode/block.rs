//! A block of rows that is being written: where each row's next cell goes.

use arrow::buffer::NullBuffer;

/// Rows written together. Small enough for a block of ordinary rows and its bookkeeping to stay in the first-level
/// cache while every column passes over it, large enough to amortise the passes' start-up.
pub(crate) const BLOCK_ROWS: usize = 256;

const WORDS: usize = BLOCK_ROWS / u64::BITS as usize;

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

/// The validity bits of a block, unpacked from Arrow's bitmap at any bit offset into aligned words.
pub(crate) struct Validity([u64; WORDS]);

impl Validity {
    /// The bits of `rows` rows (at most [`BLOCK_ROWS`]) from `first` on.
    pub(crate) fn new(nulls: &NullBuffer, first: usize, rows: usize) -> Self {
        let mut words = [0; WORDS];
        let bits = nulls.inner().slice(first, rows);
        for (word, chunk) in words.iter_mut().zip(bits.bit_chunks().iter_padded()) {
            *word = chunk;
        }
        Validity(words)
    }

    /// Whether the block's row `row` has a value.
    #[inline(always)]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.0[(row / 64) % WORDS] >> (row % 64) & 1 == 1
    }
}
