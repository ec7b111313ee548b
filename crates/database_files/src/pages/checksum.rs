//! The one checksum of pages, log blocks and backup streams: rotate left by one, then XOR with the XOR of the next sector.

use super::SECTOR_BYTES;

/// The checksum of bytes that come in pieces of whole sectors; a rest of the last one is filled with zeros.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunningChecksum(u32);

impl RunningChecksum {
    /// Adds sectors.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.chunks(SECTOR_BYTES).fold(self.0, |sum, sector| sum.rotate_left(1) ^ words(sector));
    }

    /// Returns the checksum so far.
    pub(crate) fn value(self) -> u32 {
        self.0
    }
}

/// Returns the checksum of whole sectors in which the four bytes at `hole` count as zeros.
pub(crate) fn sector_checksum_without(bytes: &[u8], hole: usize) -> u32 {
    let word = bytes.get(hole..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes);
    let turns = bytes.len().div_ceil(SECTOR_BYTES) - 1 - hole / SECTOR_BYTES;
    // What a word adds to its sector is turned once for each sector that follows.
    let mut whole = RunningChecksum::default();
    whole.add(bytes);
    whole.value() ^ word.unwrap_or_default().rotate_left(turns as u32)
}

/// Returns the XOR of the little-endian words of a sector.
fn words(sector: &[u8]) -> u32 {
    let (words, rest) = sector.as_chunks::<4>();
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    words.iter().fold(u32::from_le_bytes(last), |sum, word| sum ^ u32::from_le_bytes(*word))
}
