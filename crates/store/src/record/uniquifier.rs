//! The hidden column that distinguishes rows with equal keys, put into records that were made without it.

use super::compress::cell::Cell;
use super::compress::grid::Grid;
use super::compress::record::{CdRecord, is_compressed};
use super::compress::row::ROW_BUFFER_BYTES;
use super::compress::writer::write_row;
use super::layout::Layout;
use super::{COMPLEX, HAS_VARIABLE, u16_at};

/// Bytes of the number.
const NUMBER_BYTES: usize = 4;

/// Returns the bytes by which a record may grow; 0 if the layout has no such column.
pub(super) fn growth_bytes(layout: &Layout) -> usize {
    match layout.hidden {
        0 => 0,
        _ => NUMBER_BYTES + 2 + 2 * layout.variable_count,
    }
}

/// Makes a record with this number in its last column, which is null so far. `None`: it is not a record of
/// the layout.
pub(crate) fn with_uniquifier(layout: &Layout, record: &[u8], number: u32) -> Option<Vec<u8>> {
    let number = number.to_be_bytes();
    let column = layout.columns.len().checked_sub(1)?;
    if is_compressed(record) {
        let parsed = CdRecord::parse(record).filter(|parsed| parsed.columns == column + 1)?;
        let mut grid = Grid::new(parsed.columns);
        parsed.push_to(&mut grid);
        let hidden = grid.columns.last_mut()?;
        hidden.codes.clear();
        hidden.words.clear();
        hidden.push(Cell::short(&number));
        let mut out = vec![0; ROW_BUFFER_BYTES];
        let length = write_row(&grid.views(), 0, &mut out);
        out.truncate(length);
        return Some(out);
    }
    let (array, entries) = (layout.bitmap_end(), layout.variable_count);
    let present = match record.first()? & HAS_VARIABLE {
        0 => 0,
        _ => usize::from(u16_at(record, array)?),
    };
    let data = if present > 0 { array + 2 + 2 * present } else { array };
    let shift = (array + 2 + 2 * entries).checked_sub(data)?;
    let end = u16::try_from(record.len() + shift).ok()?;
    let mut out = Vec::with_capacity(usize::from(end) + NUMBER_BYTES);
    out.extend_from_slice(record.get(..array)?);
    *out.first_mut()? |= HAS_VARIABLE;
    *out.get_mut(layout.fixed_bytes + 2 + column / 8)? &= !(1 << (column % 8));
    out.extend_from_slice(&(entries as u16).to_le_bytes());
    for index in 0..entries.checked_sub(1)? {
        let entry = match index < present {
            true => {
                let before = u16_at(record, array + 2 + 2 * index)?;
                ((before & !COMPLEX) + shift as u16) | (before & COMPLEX)
            }
            false => end,
        };
        out.extend_from_slice(&entry.to_le_bytes());
    }
    out.extend_from_slice(&(end + NUMBER_BYTES as u16).to_le_bytes());
    out.extend_from_slice(record.get(data..)?);
    out.extend_from_slice(&number);
    Some(out)
}

#[cfg(test)]
mod tests;
