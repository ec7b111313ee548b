//! ROW tokens from borrowed page rows: values are copied, each after its length.

use databases::storage::{CellPrefix, PageCell, PageRows};
use store::LyingValue;

/// The token byte of ROW (MS-TDS 2.2.7.19).
const ROW: u8 = 0xD1;
/// Bytes of a page, which bound what the values of its rows take.
const PAGE_BYTES: usize = 8192;
/// Of a value with its length and a bit's own byte, what it takes beyond its bytes in the page.
const CELL_EXTRA_BYTES: usize = 3;
/// Longest value that is copied with what stands behind it, without a look at its length.
const SHORT_BYTES: usize = 64;

/// Appends the rows to a buffer of tokens.
pub(super) fn append_rows(rows: &PageRows, tokens: &mut Vec<u8>) {
    for records in rows.pages() {
        let mut end = tokens.len();
        let most = PAGE_BYTES + records.len() * (1 + CELL_EXTRA_BYTES * rows.cells().len()) + SHORT_BYTES;
        tokens.resize(end + most, 0);
        for record in records {
            if let Some(token) = tokens.get_mut(end) {
                *token = ROW;
            }
            end += 1;
            for cell in rows.cells() {
                end = append_cell(*cell, record, tokens, end);
            }
        }
        tokens.truncate(end);
    }
}

/// Writes one cell at `at` and returns where it ends.
#[inline]
fn append_cell(cell: PageCell, record: &[u8], out: &mut [u8], at: usize) -> usize {
    let value = cell.place.value(record);
    let length = match value {
        LyingValue::Null => 0,
        LyingValue::Bytes(start, end) => end.saturating_sub(start),
        LyingValue::Bit(_) => 1,
    };
    let at = match cell.prefix {
        CellPrefix::None => at,
        CellPrefix::Byte => {
            if let Some(place) = out.get_mut(at) {
                *place = length as u8;
            }
            at + 1
        }
        CellPrefix::Short => {
            let length = if value == LyingValue::Null { u16::MAX } else { length as u16 };
            if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *place = length.to_le_bytes();
            }
            at + 2
        }
    };
    match value {
        LyingValue::Null => {}
        LyingValue::Bit(bit) => {
            if let Some(place) = out.get_mut(at) {
                *place = u8::from(bit);
            }
        }
        LyingValue::Bytes(start, end) => {
            copy(record, start, end, out, at);
            if cell.swaps_halves
                && let Some(place) = out.get_mut(at..at + length)
            {
                place.rotate_left(length / 2);
            }
        }
    }
    at + length
}

/// Copies `record[start..end]`. Behind a short value more may be written, which the next one overwrites.
#[inline]
fn copy(record: &[u8], start: usize, end: usize, out: &mut [u8], at: usize) {
    let copied = match end.saturating_sub(start) {
        0..=16 => copy_chunk::<16>(record, start, out, at),
        17..=SHORT_BYTES => copy_chunk::<SHORT_BYTES>(record, start, out, at),
        _ => None,
    };
    if copied.is_none()
        && let (Some(value), Some(place)) =
            (record.get(start..end), out.get_mut(at..at + end.saturating_sub(start)))
    {
        place.copy_from_slice(value);
    }
}

#[inline]
fn copy_chunk<const COUNT: usize>(record: &[u8], start: usize, out: &mut [u8], at: usize) -> Option<()> {
    *out.get_mut(at..)?.first_chunk_mut::<COUNT>()? = *record.get(start..)?.first_chunk()?;
    Some(())
}
