//! Columns whose values all have the same width.

use std::borrow::Cow;

use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::block::{Block, Validity};
use super::frame::Frame;

/// Values of one width, each already little-endian, or one cheap step from it.
#[derive(Debug)]
pub(crate) enum Fixed<'a> {
    /// bit: a byte of 0 or 1 each.
    Bits(BooleanBuffer),
    /// The first `width` bytes of every one-byte group; likewise below.
    One(Cow<'a, [[u8; 1]]>),
    Two(Cow<'a, [[u8; 2]]>),
    Four(Cow<'a, [[u8; 4]]>),
    Eight(Cow<'a, [[u8; 8]]>),
    Sixteen(Cow<'a, [[u8; 16]]>),
    /// decimal: a sign byte (1 = not negative) and the magnitude.
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
    /// Length in bytes of the cell of a value.
    pub(crate) fn cell_len(&self) -> usize {
        let prefix = match self.frame {
            Frame::Bare => 0,
            Frame::Byte => 1,
            _ => 2,
        };
        prefix + self.width
    }

    /// Writes this column's cell of every row of the block.
    pub(crate) fn scatter(&self, block: &mut Block<'_>, nulls: Option<&NullBuffer>) {
        let width = self.width;
        match self.frame {
            Frame::Bare => self.dispatch(block, nulls, []),
            Frame::Byte => self.dispatch(block, nulls, [width as u8]),
            _ => self.dispatch(block, nulls, (width as u16).to_le_bytes()),
        }
    }

    fn dispatch<const P: usize>(&self, block: &mut Block<'_>, nulls: Option<&NullBuffer>, prefix: [u8; P]) {
        let null = self.frame.null();
        let rows = block.first..block.first + block.rows();
        macro_rules! widths {
            ($values:expr; $($width:literal),+) => {
                match self.width {
                    $($width => scatter::<P, $width, _>(block, nulls, null, prefix, $values[rows].iter().map(head)),)+
                    width => unreachable!("a lane of {width} bytes"),
                }
            };
        }
        match &self.values {
            Fixed::Bits(bits) => {
                scatter(block, nulls, null, prefix, rows.map(|row| [u8::from(bits.value(row))]))
            }
            Fixed::One(values) => scatter(block, nulls, null, prefix, values[rows].iter().copied()),
            Fixed::Two(values) => scatter(block, nulls, null, prefix, values[rows].iter().copied()),
            Fixed::Four(values) => widths!(values; 3, 4),
            Fixed::Eight(values) => widths!(values; 3, 4, 5, 6, 7, 8),
            Fixed::Sixteen(values) => widths!(values; 8, 9, 10, 16),
            Fixed::Decimal(values) => {
                let values = values[rows].iter();
                match self.width {
                    5 => scatter(block, nulls, null, prefix, values.map(sign_magnitude::<5>)),
                    9 => scatter(block, nulls, null, prefix, values.map(sign_magnitude::<9>)),
                    13 => scatter(block, nulls, null, prefix, values.map(sign_magnitude::<13>)),
                    _ => scatter(block, nulls, null, prefix, values.map(sign_magnitude::<17>)),
                }
            }
        }
    }
}

/// One pass over the block's rows: `prefix` and a cell for a value, `null` for none.
fn scatter<const P: usize, const W: usize, I: Iterator<Item = [u8; W]>>(
    block: &mut Block<'_>,
    nulls: Option<&NullBuffer>,
    null: &[u8],
    prefix: [u8; P],
    cells: I,
) {
    let shift = block.shift;
    let Some(nulls) = nulls else {
        for (&mut cursor, cell) in block.cursors.iter_mut().zip(cells) {
            write(block.out, cursor + shift, prefix, cell);
        }
        block.shift += P + W;
        return;
    };
    let validity = Validity::new(nulls, block.first, block.rows());
    for ((row, cursor), cell) in block.cursors.iter_mut().enumerate().zip(cells) {
        let at = *cursor + shift;
        *cursor = at
            + if validity.is_valid(row) {
                write(block.out, at, prefix, cell);
                P + W
            } else {
                block.out[at..at + null.len()].copy_from_slice(null);
                null.len()
            };
    }
    block.shift = 0;
}

/// The positions come from the lengths pass over the same values, so they are in bounds; a slip there would be a
/// bug of this module and stops here instead of spoiling the stream.
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
