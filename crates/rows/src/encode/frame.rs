//! Encoding of a cell's length before its bytes.

use std::fmt;

/// The length framing of a column's cells (the length classes of MS-TDS 2.2.5.2 as the encoder sees them).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// No prefix: the fixed tokens (INT4, FLT8, …). NULL cannot be expressed.
    Bare,
    /// A length byte; 0 is NULL.
    Byte,
    /// A length of two bytes; FFFF is NULL.
    Short,
    /// Partially length-prefixed: eight bytes of total length, one chunk, terminator; eight FF are NULL.
    Chunked,
    /// text, ntext, image in a result: text pointer, timestamp, four bytes of length; a zero pointer length is NULL.
    TextPointer,
    /// text, ntext, image in a load: as in a result, with bytes FF in place of pointer and timestamp.
    UnsetTextPointer,
    /// sql_variant: four bytes of total length; 0 is NULL.
    Total,
}

/// Bytes before the length of text, ntext and image cells: a 16-byte pointer and an 8-byte timestamp. Readers
/// ignore them; SQL Server itself sends these placeholders.
const TEXT_POINTER: &[u8; 25] = b"\x10dummy textptr\0\0\0dummyTS\0";

/// Bytes that Microsoft's ODBC driver sends in place of [`TEXT_POINTER`] (docs/wire-comparison.md).
const UNSET_TEXT_POINTER: &[u8; 25] =
    b"\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";

impl Frame {
    /// Returns pointer and timestamp of text, ntext and image cells in a load.
    pub(crate) fn unset_pointer() -> &'static [u8] {
        UNSET_TEXT_POINTER
    }

    /// Returns the cell of a NULL; empty for [`Frame::Bare`], which has none.
    pub(crate) fn null(self) -> &'static [u8] {
        match self {
            Frame::Bare => &[],
            Frame::Byte => Byte::NULL,
            Frame::Short => Short::NULL,
            Frame::Chunked => Chunked::NULL,
            Frame::TextPointer => TextPointer::NULL,
            Frame::UnsetTextPointer => UnsetTextPointer::NULL,
            Frame::Total => Total::NULL,
        }
    }
}

/// One framing, known at compile time: the inner loops are compiled once for each.
pub(crate) trait Framing: fmt::Debug {
    const NULL: &'static [u8];
    /// Returns the length in bytes of the cell around `data_len` bytes of data.
    fn cell_len(data_len: usize) -> usize;
    /// Writes what precedes the data and returns its length in bytes.
    fn head(data_len: usize, cell: &mut [u8]) -> usize;
    /// Writes what follows the data.
    fn tail(_data_len: usize, _rest: &mut [u8]) {}
    /// True if cells are a prefix, as long as the cell of a NULL, and the data: then they can be written
    /// loosely.
    const LOOSE: bool = false;
    /// Returns the prefix of a cell that is written loosely.
    fn loose_head(_data_len: usize, _valid: bool) -> [u8; 2] {
        [0; 2]
    }
}

#[derive(Debug)]
pub(crate) struct Byte;

impl Framing for Byte {
    const NULL: &'static [u8] = &[0];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        1 + data_len
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        cell[0] = data_len as u8;
        1
    }
}

#[derive(Debug)]
pub(crate) struct Short;

impl Framing for Short {
    const NULL: &'static [u8] = &[0xFF; 2];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        2 + data_len
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        cell[..2].copy_from_slice(&(data_len as u16).to_le_bytes());
        2
    }
    const LOOSE: bool = true;
    #[inline(always)]
    fn loose_head(data_len: usize, valid: bool) -> [u8; 2] {
        if valid { (data_len as u16).to_le_bytes() } else { [0xFF; 2] }
    }
}

#[derive(Debug)]
pub(crate) struct Chunked;

impl Framing for Chunked {
    const NULL: &'static [u8] = &[0xFF; 8];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        // A chunk of no bytes would be the terminator, so an empty value has no chunk.
        12 + if data_len == 0 { 0 } else { 4 + data_len }
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        cell[..8].copy_from_slice(&(data_len as u64).to_le_bytes());
        if data_len == 0 {
            return 8;
        }
        cell[8..12].copy_from_slice(&(data_len as u32).to_le_bytes());
        12
    }
    #[inline(always)]
    fn tail(_data_len: usize, rest: &mut [u8]) {
        rest[..4].fill(0);
    }
}

#[derive(Debug)]
pub(crate) struct TextPointer;

impl Framing for TextPointer {
    const NULL: &'static [u8] = &[0];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        TEXT_POINTER.len() + 4 + data_len
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        pointed_head(TEXT_POINTER, data_len, cell)
    }
}

#[derive(Debug)]
pub(crate) struct UnsetTextPointer;

impl Framing for UnsetTextPointer {
    const NULL: &'static [u8] = &[0];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        UNSET_TEXT_POINTER.len() + 4 + data_len
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        pointed_head(UNSET_TEXT_POINTER, data_len, cell)
    }
}

#[inline(always)]
fn pointed_head(pointer: &[u8; 25], data_len: usize, cell: &mut [u8]) -> usize {
    cell[..25].copy_from_slice(pointer);
    cell[25..29].copy_from_slice(&(data_len as u32).to_le_bytes());
    29
}

#[derive(Debug)]
pub(crate) struct Total;

impl Framing for Total {
    const NULL: &'static [u8] = &[0; 4];
    #[inline(always)]
    fn cell_len(data_len: usize) -> usize {
        4 + data_len
    }
    #[inline(always)]
    fn head(data_len: usize, cell: &mut [u8]) -> usize {
        cell[..4].copy_from_slice(&(data_len as u32).to_le_bytes());
        4
    }
}
