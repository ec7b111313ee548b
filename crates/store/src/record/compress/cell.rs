//! One value of a CD record: the four bits of its descriptor, and its bytes.

/// Code of NULL.
pub const NULL: u8 = 0;
/// A value of no bytes: zero, an empty text, a bit that is 0.
pub const EMPTY: u8 = 1;
/// The bytes are in the long data region.
pub const LONG: u8 = 10;
/// A bit that is 1.
pub const TRUE: u8 = 11;
/// One byte: the number of an entry of the page's dictionary.
pub const SYMBOL: u8 = 12;
/// Bytes of the longest value in the short data region.
pub const SHORT_LIMIT_BYTES: usize = 8;

/// Bytes that a code takes in the short data region.
const SHORT_BYTES: [u8; 16] = [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 0, 0, 0];

/// A long cell's word: the value is a pointer to where it really is.
const COMPLEX: u64 = 1 << 63;

/// A value: its code, and in `word` either up to eight bytes, the first lowest and zeros behind the last, or where a long value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Code of the cell's descriptor, four bits.
    pub code: u8,
    /// The bytes, or where they are.
    pub word: u64,
}

impl Cell {
    /// The cell of NULL.
    pub const NULL: Self = Self { code: NULL, word: 0 };
    /// A value of no bytes.
    pub const EMPTY: Self = Self { code: EMPTY, word: 0 };

    /// Makes the cell of a value of up to eight bytes; longer ones are cut.
    pub fn short(bytes: &[u8]) -> Self {
        let length = bytes.len().min(SHORT_LIMIT_BYTES);
        Self { code: EMPTY + length as u8, word: pack(bytes) }
    }

    /// Makes the cell of a value that begins at `start` of a buffer.
    pub fn long(start: usize, length: usize) -> Self {
        Self { code: LONG, word: start as u64 | ((length as u64) << 32) }
    }

    /// Makes the cell of a pointer to a large value, which begins at `start` of a buffer.
    pub fn complex(start: usize, length: usize) -> Self {
        Self { code: LONG, word: Self::long(start, length).word | COMPLEX }
    }

    /// Makes the cell of an integer: big-endian, biased, without the leading bytes that it does not need.
    /// Zero takes none.
    #[inline]
    pub fn integer(value: i64) -> Self {
        // The sign takes one bit more than the number, rounded up to whole bytes.
        let bytes = (((value ^ (value >> 63)) as u64 | 1).ilog2() + 9) / 8;
        let unused = 64 - 8 * bytes;
        let word = (((value as u64) << unused) ^ (1 << 63)).swap_bytes();
        match value {
            0 => Self::EMPTY,
            _ => Self { code: EMPTY + bytes as u8, word },
        }
    }

    /// Makes the cell of a floating-point number of `width` bytes: little-endian without the leading zeros,
    /// which are the least significant.
    #[inline]
    pub fn float(bits: u64, width: u32) -> Self {
        if bits == 0 {
            return Self::EMPTY;
        }
        let dropped = bits.trailing_zeros() / 8;
        Self { code: EMPTY + (width - dropped.min(width)) as u8, word: bits >> (8 * dropped) }
    }

    /// Counts the bytes in the short data region.
    #[inline]
    pub fn short_bytes(self) -> usize {
        short_bytes(self.code)
    }

    /// Returns true if the value's bytes are in the long data region.
    #[inline]
    pub fn is_long(self) -> bool {
        self.code == LONG
    }

    /// Returns true if the cell is a pointer to a value outside its record.
    #[inline]
    pub fn is_complex(self) -> bool {
        self.code == LONG && self.word & COMPLEX != 0
    }

    /// Returns the start and length of a long value.
    #[inline]
    pub fn place(self) -> (usize, usize) {
        place(self.word)
    }

    /// Counts the bytes of the value wherever they are; a symbol counts as the byte that it takes.
    pub fn length(self) -> usize {
        if self.is_long() { self.place().1 } else { self.short_bytes() }
    }

    /// Returns the bytes that the value adds to a record besides its descriptor: a long one has an end
    /// offset, too.
    pub fn cost(self) -> usize {
        if self.is_long() { self.place().1 + 2 } else { self.short_bytes() }
    }

    /// Returns the integer; None if [`integer`](Self::integer) does not make such a cell.
    #[inline]
    pub fn to_integer(self) -> Option<i64> {
        match self.code {
            EMPTY => Some(0),
            2..=9 => {
                let unused = 64 - 8 * (u32::from(self.code) - 1);
                Some(((self.word.swap_bytes() ^ (1 << 63)) as i64) >> unused)
            }
            _ => None,
        }
    }

    /// Returns the bits of a number of `width` bytes.
    #[inline]
    pub fn to_float(self, width: u32) -> Option<u64> {
        match (self.code, width.checked_sub(self.short_bytes() as u32)) {
            (EMPTY, _) => Some(0),
            (2..=9, Some(dropped)) => Some(self.word << (8 * dropped)),
            _ => None,
        }
    }
}

/// Counts the bytes in the short data region of a code, as [`Cell::short_bytes`] does.
#[inline]
pub fn short_bytes(code: u8) -> usize {
    usize::from(SHORT_BYTES[usize::from(code & 15)])
}

/// Computes [`Cell::short_bytes`] of a code, without a table, for many codes at once.
#[inline(always)]
pub fn few_bytes(code: u8) -> u8 {
    if code < LONG { code.saturating_sub(1) } else { u8::from(code == SYMBOL) }
}

/// Reads start and length from a long cell's word.
#[inline]
pub fn place(word: u64) -> (usize, usize) {
    ((word & 0xFFFF_FFFF) as usize, ((word & !COMPLEX) >> 32) as usize)
}

/// Packs up to eight bytes into a word, the first lowest.
#[inline]
pub fn pack(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte)),
    }
}
