//! Columns whose values all have the same width.

use std::borrow::Cow;

use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::block::{BLOCK_ROWS, Block, Validity};
use super::frame::Frame;

/// Values of one width, each already little-endian, or one cheap step from it.
#[derive(Debug)]
pub(crate) enum Fixed<'a> {
    /// Bits: a byte of 0 or 1 each.
    Bits(BooleanBuffer),
    /// Groups of one byte, as the variants below have groups of 2 to 16: a value is the first `width` bytes
    /// of its group.
    One(Cow<'a, [[u8; 1]]>),
    Two(Cow<'a, [[u8; 2]]>),
    Four(Cow<'a, [[u8; 4]]>),
    Eight(Cow<'a, [[u8; 8]]>),
    Sixteen(Cow<'a, [[u8; 16]]>),
    /// Decimals: a sign byte (1 = not negative) and the magnitude.
    Decimal(Cow<'a, [i128]>),
}

/// A fixed-width column: `width` bytes of data a value, behind `frame`.
#[derive(Debug)]
pub(crate) struct FixedLane<'a> {
    pub(crate) values: Fixed<'a>,
    pub(crate) width: usize,
    pub(crate) frame: Frame,
}

impl FixedLane<'_> {
    /// Returns the length in bytes of the cell of a value.
    pub(crate) fn cell_len(&self) -> usize {
        let prefix = match self.frame {
            Frame::Bare => 0,
            Frame::Byte => 1,
            _ => 2,
        };
        prefix + self.width
    }

    /// Adds the length of this column's cell to each of `lengths`, rows from `first` on.
    pub(crate) fn add_lengths(
        &self,
        lengths: &mut [u32; BLOCK_ROWS],
        nulls: &NullBuffer,
        first: usize,
        rows: usize,
    ) {
        let null = self.frame.null().len() as u32;
        let data = self.cell_len() as u32 - null;
        let validity = Validity::new(Some(nulls), first, rows);
        for (length, &valid) in lengths.iter_mut().zip(validity.flags()) {
            *length += null + (data & 0_u32.wrapping_sub(u32::from(valid)));
        }
    }

    /// Writes this column's cell of every row of the block. If the block is `LOOSE`, cells may write beyond their ends.
    pub(crate) fn scatter<const LOOSE: bool>(&self, block: &mut Block<'_>, nulls: Option<&NullBuffer>) {
        let width = self.width;
        match self.frame {
            Frame::Bare => self.dispatch::<LOOSE, 0>(block, nulls, [], []),
            Frame::Byte => self.dispatch::<LOOSE, 1>(block, nulls, [width as u8], [0]),
            _ => self.dispatch::<LOOSE, 2>(block, nulls, (width as u16).to_le_bytes(), [0xFF; 2]),
        }
    }

    fn dispatch<const LOOSE: bool, const P: usize>(
        &self,
        block: &mut Block<'_>,
        nulls: Option<&NullBuffer>,
        value: [u8; P],
        null: [u8; P],
    ) {
        let rows = block.first..block.first + block.rows();
        let pass = Pass::<LOOSE, P> { nulls, value, null };
        macro_rules! widths {
            ($values:expr; $($width:literal),+) => {
                match self.width {
                    $($width => pass.run(block, $values[rows].iter().map(head::<_, $width>)),)+
                    width => unreachable!("a lane of {width} bytes"),
                }
            };
        }
        match &self.values {
            Fixed::Bits(bits) => pass.run(block, rows.map(|row| [u8::from(bits.value(row))])),
            Fixed::One(values) => pass.run(block, values[rows].iter().copied()),
            Fixed::Two(values) => pass.run(block, values[rows].iter().copied()),
            Fixed::Four(values) => widths!(values; 3, 4),
            Fixed::Eight(values) => widths!(values; 3, 4, 5, 6, 7, 8),
            Fixed::Sixteen(values) => widths!(values; 8, 9, 10, 16),
            Fixed::Decimal(values) => {
                let values = values[rows].iter();
                match self.width {
                    5 => pass.run(block, values.map(sign_magnitude::<5>)),
                    9 => pass.run(block, values.map(sign_magnitude::<9>)),
                    13 => pass.run(block, values.map(sign_magnitude::<13>)),
                    _ => pass.run(block, values.map(sign_magnitude::<17>)),
                }
            }
        }
    }
}

/// One pass over the block's rows: the prefix `value` and a cell for a value, the prefix `null` alone for none.
struct Pass<'n, const LOOSE: bool, const P: usize> {
    nulls: Option<&'n NullBuffer>,
    value: [u8; P],
    null: [u8; P],
}

impl<const LOOSE: bool, const P: usize> Pass<'_, LOOSE, P> {
    fn run<const W: usize>(&self, block: &mut Block<'_>, cells: impl Iterator<Item = [u8; W]>) {
        let shift = block.shift;
        if self.nulls.is_none() {
            for (&mut cursor, cell) in block.cursors.iter_mut().zip(cells) {
                write(block.out, cursor + shift, self.value, cell);
            }
            block.shift += P + W;
            return;
        }
        let validity = Validity::new(self.nulls, block.first, block.rows());
        for ((cursor, cell), &valid) in block.cursors.iter_mut().zip(cells).zip(validity.flags()) {
            let at = *cursor + shift;
            if LOOSE {
                // Whatever is written behind the prefix of a NULL is overwritten by the next column.
                write(block.out, at, if valid == 1 { self.value } else { self.null }, cell);
            } else if valid == 1 {
                write(block.out, at, self.value, cell);
            } else {
                write(block.out, at, self.null, []);
            }
            *cursor = at + P + W * usize::from(valid);
        }
        block.shift = 0;
    }
}

/// Writes a prefix and a cell at a position. The lengths pass over the same values made the positions, so they
/// are in bounds. A bug there stops here instead of corrupting the stream.
#[inline(always)]
fn write<const P: usize, const W: usize>(out: &mut [u8], at: usize, prefix: [u8; P], cell: [u8; W]) {
    let target = &mut out[at..at + P + W];
    target[..P].copy_from_slice(&prefix);
    target[P..].copy_from_slice(&cell);
}

#[inline(always)]
fn head<const S: usize, const W: usize>(group: &[u8; S]) -> [u8; W] {
    let mut cell = [0; W];
    cell.copy_from_slice(&group[..W]);
    cell
}

#[inline(always)]
fn sign_magnitude<const W: usize>(value: &i128) -> [u8; W] {
    let mut cell = [0; W];
    cell[0] = u8::from(*value >= 0);
    cell[1..].copy_from_slice(&value.unsigned_abs().to_le_bytes()[..W - 1]);
    cell
}
