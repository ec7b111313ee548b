//! The part of a file that is in memory.

use std::io::{self, Read};

/// A stretch of a file: what is split is forgotten, what is needed is read.
pub(super) struct Window {
    input: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    /// Index of the first byte that is still needed.
    start: usize,
    /// Offset in the file of the first byte in memory.
    offset: u64,
    ended: bool,
    block_bytes: usize,
    /// Length of the longest row that is accepted, in bytes.
    row_bytes_max: usize,
}

impl Window {
    pub(super) fn new(input: Box<dyn Read + Send>, block_bytes: usize, row_bytes_max: usize) -> Self {
        let block_bytes = block_bytes.max(1);
        Self { input, bytes: Vec::new(), start: 0, offset: 0, ended: false, block_bytes, row_bytes_max }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the index of the first byte that is still needed.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Returns the offset in the file of byte `index` of the window.
    pub(super) fn offset_of(&self, index: usize) -> u64 {
        self.offset + index as u64
    }

    /// Returns true if nothing follows the bytes in memory.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Forgets the bytes before `start`.
    pub(super) fn advance(&mut self, start: usize) {
        self.start = start.min(self.bytes.len());
    }

    /// Reads on: a block, or as much again as is held already, so that long rows cost no more than their length.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        self.bytes.drain(..self.start);
        self.offset += self.start as u64;
        self.start = 0;
        let held = self.bytes.len();
        // Never much more than the longest row: what is longer is refused.
        let room = self.row_bytes_max.saturating_sub(held).saturating_add(1);
        let wanted = self.block_bytes.max(held.min(room));
        let taken = self.input.by_ref().take(wanted as u64).read_to_end(&mut self.bytes)?;
        self.ended = taken < wanted;
        Ok(())
    }
}
