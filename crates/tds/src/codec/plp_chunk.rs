//! Positions of the chunks of partially length-prefixed values in encoded bytes.

use std::ops::Range;

/// A chunk of a partially length-prefixed value within encoded bytes, or what is left of one.
///
/// The cutting of bytes into packets needs it: SQL Server begins a new chunk in each packet, and Microsoft.Data.SqlClient takes
/// the length of a chunk for bytes that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlpChunk {
    /// Offset of the four bytes of the chunk's length. It is the offset of the data if the length has been
    /// sent before.
    pub head_at: usize,
    /// Range of the chunk's data, behind which four bytes of zero end the value. Empty: only those four are
    /// left.
    pub data: Range<usize>,
}

impl PlpChunk {
    /// Returns the single chunk of a value whose total length is at `at`.
    pub fn of_value(at: usize, data_len: usize) -> PlpChunk {
        let head_at = at.saturating_add(8);
        let data_at = if data_len == 0 { head_at } else { head_at.saturating_add(4) };
        PlpChunk { head_at, data: data_at..data_at.saturating_add(data_len) }
    }

    /// Moves the chunk towards the head of the bytes, of which `dropped` are removed.
    pub fn move_back(&mut self, dropped: usize) {
        self.head_at = self.head_at.saturating_sub(dropped);
        self.data = self.data.start.saturating_sub(dropped)..self.data.end.saturating_sub(dropped);
    }
}
