//! A position in the log.

use std::fmt;

/// Log sequence number: virtual log file, block (in units of 512 bytes from its start), record in the block. Later records have
/// greater numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Lsn {
    /// Sequence number of the virtual log file, from 1.
    pub file: u32,
    /// Offset of the block in units of 512 bytes.
    pub block: u32,
    /// Number of the record in the block, from 1.
    pub record: u16,
}

impl Lsn {
    /// Position before every record.
    pub const ZERO: Self = Self { file: 0, block: 0, record: 0 };

    /// Returns ten bytes as a page header holds them.
    pub fn to_bytes(self) -> [u8; 10] {
        let ([a, b, c, d], [e, f, g, h]) = (self.file.to_le_bytes(), self.block.to_le_bytes());
        let [i, j] = self.record.to_le_bytes();
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// Reads a position from the ten bytes of a page header.
    pub fn from_bytes(bytes: [u8; 10]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j] = bytes;
        Self {
            file: u32::from_le_bytes([a, b, c, d]),
            block: u32::from_le_bytes([e, f, g, h]),
            record: u16::from_le_bytes([i, j]),
        }
    }
}

/// Prints the position as `fn_dblog` does: `00000020:000001a8:0001`.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.file, self.block, self.record)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
