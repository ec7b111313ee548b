//! The copy of a row, cell by cell.

use super::cell::{Cell, MARK};
use super::passage::{Passage, Passed};
use crate::decode::RowDecodeErrorReason as Reason;
use crate::decode::plp;
use crate::decode::walk::{NBCROW, ROW, Resume, Stop, row_end};
use crate::encode::Frame;

/// Stands for the place of a NULL of which a bitmap tells.
const NO_PLACE: usize = usize::MAX;
/// Bytes of the timestamp behind a text pointer.
const TIMESTAMP_BYTES: usize = 8;

/// The place of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    start: usize,
    end: usize,
    is_null: bool,
    passes: bool,
}

/// Finds the cells of the ROW or NBCROW token at `start`, and returns where it ends.
///
/// # Errors
/// A cell is malformed, or the bytes end inside the row.
pub(super) fn locate(
    cells: &[Cell],
    bytes: &[u8],
    start: usize,
    resume: &mut Option<Resume>,
    places: &mut Vec<Place>,
) -> Result<usize, Stop> {
    places.clear();
    let has_bitmap = bytes.get(start) == Some(&NBCROW);
    let mut at = start + 1;
    let mut bitmap: &[u8] = &[];
    if has_bitmap {
        let end = at + cells.len().div_ceil(8);
        bitmap = bytes.get(at..end).ok_or(Stop::Incomplete)?;
        at = end;
    }
    for (index, cell) in cells.iter().enumerate() {
        if bitmap.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1) {
            cell.check_null(index)?;
            places.push(Place { start: NO_PLACE, end: NO_PLACE, is_null: true, passes: false });
            continue;
        }
        let found = cell.check(bytes, start, at, index, resume)?;
        places.push(Place { start: at, end: found.end, is_null: found.is_null, passes: found.passes });
        at = found.end;
    }
    row_end(bytes, at, cells.len())
}

/// Appends the cells of a row that was located, as a ROW token of the load.
///
/// # Errors
/// The source column whose value does not fit, and why.
pub(super) fn write(
    bytes: &[u8],
    cells: &[Cell],
    places: &[Place],
    passed: &[Passed],
    out: &mut Vec<u8>,
) -> Result<(), (usize, Reason)> {
    out.push(ROW);
    for target in passed {
        let (Some(place), Some(cell)) = (places.get(target.source), cells.get(target.source)) else {
            continue;
        };
        if place.is_null {
            out.extend_from_slice(target.frame.null());
            continue;
        }
        let whole = bytes.get(place.start..place.end).unwrap_or_default();
        match target.passage {
            Passage::Same => out.extend_from_slice(whole),
            Passage::Counted(width) => {
                out.push(width);
                out.extend_from_slice(whole);
            }
            Passage::Decimal(_) | Passage::Chunked { .. } if place.passes => out.extend_from_slice(whole),
            Passage::Decimal(width) => {
                decimal(whole, width, out).map_err(|reason| (target.source, reason))?
            }
            Passage::Chunked { has_mark } => {
                let is_odd = chunked(whole, has_mark, cell.is_wide, out);
                is_odd.map_err(|reason| (target.source, reason))?;
            }
            Passage::Pointed => pointed(whole, out),
        }
    }
    Ok(())
}

/// Appends a decimal in `width` bytes, sign included.
fn decimal(cell: &[u8], width: u8, out: &mut Vec<u8>) -> Result<(), Reason> {
    let data = cell.get(1..).unwrap_or_default();
    let width = usize::from(width);
    let (kept, beyond) = data.split_at(width.min(data.len()));
    if beyond.iter().any(|byte| *byte != 0) {
        // The digits of the largest number that so many bytes hold.
        let precision = match width {
            5 => 9,
            9 => 19,
            13 => 28,
            _ => 38,
        };
        return Err(Reason::DecimalOverflow { precision });
    }
    out.push(u8::try_from(width).unwrap_or(u8::MAX));
    out.extend_from_slice(kept);
    out.resize(out.len() + (width - kept.len()), 0);
    Ok(())
}

/// Appends a chunked value as one chunk.
fn chunked(cell: &[u8], has_mark: bool, is_wide: bool, out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut joined = Vec::new();
    let value = plp::value(cell, &mut joined).unwrap_or_default();
    if is_wide && !value.len().is_multiple_of(2) {
        return Err(Reason::OddUtf16 { length: value.len() });
    }
    let value = match value {
        [first, second, rest @ ..] if has_mark && [*first, *second] == MARK => rest,
        value => value,
    };
    out.extend_from_slice(&(value.len() as u64).to_le_bytes());
    if !value.is_empty() {
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&[0; 4]);
    Ok(())
}

/// Appends a value of `text`, `ntext` or `image` behind the pointer of a load.
fn pointed(cell: &[u8], out: &mut Vec<u8>) {
    let pointer = usize::from(cell.first().copied().unwrap_or_default());
    let counted = cell.get(1 + pointer + TIMESTAMP_BYTES..).unwrap_or_default();
    out.extend_from_slice(Frame::unset_pointer());
    out.extend_from_slice(counted);
}
