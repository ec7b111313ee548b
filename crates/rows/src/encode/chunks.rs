//! Finds the chunks of partially length-prefixed values in rows that are ready for the wire.

use tds::codec::PlpChunk;

use super::{Cells, Frame, Lane};

/// Goes over encoded rows cell by cell.
pub(super) struct Chunks<'r, 'a> {
    lanes: &'r [Lane<'a>],
    bytes: &'r [u8],
    at: usize,
    /// The cell of the row that begins at `at`.
    lane: usize,
}

impl<'r, 'a> Chunks<'r, 'a> {
    /// Finds the chunks in the rows of `lanes` that begin at `at` of `bytes`.
    pub fn new(lanes: &'r [Lane<'a>], bytes: &'r [u8], at: usize) -> Self {
        Chunks { lanes, bytes, at, lane: 0 }
    }

    fn read<const COUNT: usize>(&self, at: usize) -> Option<[u8; COUNT]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }

    /// Computes the length in bytes of the cell at `at`.
    fn cell_len(&self, lane: &Lane<'_>, at: usize) -> Option<usize> {
        let long = |at: usize| self.read(at).map(|length| u32::from_le_bytes(length) as usize);
        Some(match lane.frame() {
            Frame::Bare => match &lane.cells {
                Cells::Fixed(fixed) => fixed.cell_len(),
                // Shared cells all have the same length.
                Cells::Shared(shared, _) => shared.first_len(),
                // NULL has no cell there.
                Cells::Null(_) | Cells::Variable(_) => 0,
            },
            Frame::Byte => 1 + usize::from(*self.bytes.get(at)?),
            Frame::Short => match u16::from_le_bytes(self.read(at)?) {
                u16::MAX => 2,
                length => 2 + usize::from(length),
            },
            Frame::Chunked => match usize::try_from(u64::from_le_bytes(self.read(at)?)).unwrap_or(usize::MAX)
            {
                usize::MAX => 8,
                0 => 12,
                length => 16 + length,
            },
            Frame::TextPointer | Frame::UnsetTextPointer => match *self.bytes.get(at)? {
                0 => 1,
                _ => 29 + long(at + 25)?,
            },
            Frame::Total => 4 + long(at)?,
        })
    }
}

impl Iterator for Chunks<'_, '_> {
    type Item = PlpChunk;

    fn next(&mut self) -> Option<PlpChunk> {
        while self.at < self.bytes.len() {
            let Some(lane) = self.lanes.get(self.lane) else {
                self.lane = 0;
                continue;
            };
            if self.lane == 0 {
                // A row begins with its token, one byte.
                self.at += 1;
            }
            self.lane += 1;
            let at = self.at;
            let length = self.cell_len(lane, at)?;
            self.at = at.saturating_add(length);
            if lane.frame() == Frame::Chunked && length > 8 {
                let data_len = if length == 12 { 0 } else { length - 16 };
                return Some(PlpChunk::of_value(at, data_len));
            }
        }
        None
    }
}
