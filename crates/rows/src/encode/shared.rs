//! Dictionary and run-end encoded columns: each distinct value is encoded once, rows copy finished cells.

use super::block::{BLOCK_ROWS, Block};
use super::{Lane, scatter_block};

/// Finished cells, and which of them each row shows.
#[derive(Debug)]
pub(crate) struct SharedLane {
    cells: Vec<u8>,
    /// Cell `i` is `ends[i]..ends[i + 1]`.
    ends: Vec<usize>,
    /// Row to cell.
    index: Vec<u32>,
}

impl SharedLane {
    /// Encodes the `distinct` values of `lane`. `index` names the value of each row; `distinct` stands for NULL.
    pub(crate) fn new(lane: &Lane<'_>, distinct: usize, index: Vec<u32>) -> Self {
        let (mut cells, mut ends) = cells_of(lane, distinct);
        cells.extend_from_slice(lane.frame().null());
        ends.push(cells.len());
        SharedLane { cells, ends, index }
    }

    /// Returns the length in bytes of the cell of the first value.
    pub(crate) fn first_len(&self) -> usize {
        self.ends.get(1).copied().unwrap_or(0)
    }

    pub(crate) fn add_lengths(&self, lengths: &mut [usize], first: usize) {
        for (length, &cell) in lengths.iter_mut().zip(&self.index[first..]) {
            *length += self.ends[cell as usize + 1] - self.ends[cell as usize];
        }
    }

    pub(crate) fn scatter(&self, block: &mut Block<'_>) {
        let shift = std::mem::take(&mut block.shift);
        for (cursor, &cell) in block.cursors.iter_mut().zip(&self.index[block.first..]) {
            let cell = &self.cells[self.ends[cell as usize]..self.ends[cell as usize + 1]];
            let at = *cursor + shift;
            block.out[at..at + cell.len()].copy_from_slice(cell);
            *cursor = at + cell.len();
        }
    }
}

/// Encodes the cells of one column alone: their bytes, and the offsets: cell `i` is `ends[i]..ends[i + 1]`.
pub(crate) fn cells_of(lane: &Lane<'_>, rows: usize) -> (Vec<u8>, Vec<usize>) {
    let mut cells = Vec::new();
    let mut ends = Vec::with_capacity(rows + 2);
    ends.push(0);
    for first in (0..rows).step_by(BLOCK_ROWS) {
        let mut lengths = [0; BLOCK_ROWS];
        let lengths = &mut lengths[..BLOCK_ROWS.min(rows - first)];
        match lane.constant_len() {
            Some(len) => lengths.fill(len),
            None => lane.add_lengths(lengths, first),
        }
        let base = cells.len();
        scatter_block(std::slice::from_ref(lane), &[], first, lengths, &mut cells);
        ends.extend(lengths.iter().map(|end| base + end));
    }
    (cells, ends)
}
