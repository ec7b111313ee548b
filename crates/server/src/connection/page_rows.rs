//! ROW tokens from borrowed page rows: values are copied, each after its length.

use databases::storage::{CellPrefix, PageCell};
use store::record::VariableEnds;
use store::{FixedPlace, LyingValue};

/// The token byte of ROW (MS-TDS 2.2.7.19).
const ROW: u8 = 0xD1;
/// Bytes of a page, which bound what the values of its rows take.
const PAGE_BYTES: usize = 8192;
/// The bytes of a value's length and of a bit's own byte, beyond its bytes in the page.
const CELL_EXTRA_BYTES: usize = 3;
/// Longest value that is copied with what stands behind it, without a look at its length.
const SHORT_BYTES: usize = 64;
/// Longest value of fixed width that is copied so.
const FIXED_BYTES: usize = 16;

/// Turns the rows of a result into tokens.
pub(super) struct RowTokens<'r> {
    cells: &'r [PageCell],
    /// The first cells, if they have fixed places both in a record and, without nulls, in a token.
    head: Vec<HeadCell>,
    /// Bytes of a record, and bits in them, that say that a value of the head is null.
    nulls: Vec<(usize, u8)>,
    /// Bytes of the head in a token.
    head_bytes: usize,
    /// The cells behind them that are of variable length, and where a record has their ends.
    variable: Vec<VariableCell>,
    part: usize,
}

/// A value of variable length.
struct VariableCell {
    /// The number of the value among those of variable length.
    index: usize,
    /// Byte of a record, and bit in it, that say that it is null.
    null: Option<(usize, u8)>,
}

/// A value of one to sixteen bytes.
struct HeadCell {
    /// The byte of a record at which the value begins.
    from: usize,
    /// The number of the bit, for a bit.
    bit: Option<u8>,
    /// The place in a token, and the length that is written before the value; no length is written if it is 0.
    to: usize,
    length: u8,
}

impl<'r> RowTokens<'r> {
    /// Makes the tokens' layout for rows of these columns.
    pub fn new(cells: &'r [PageCell]) -> Self {
        let (head, nulls, variable) = Default::default();
        let mut tokens = RowTokens { cells, head, nulls, head_bytes: 1, variable, part: 0 };
        for cell in cells {
            let (from, bit, width) = match cell.place.fixed() {
                Some(FixedPlace::Bytes { offset, width: width @ 1..=FIXED_BYTES }) => (offset, None, width),
                Some(FixedPlace::Bit { offset, mask }) => (offset, Some(mask), 1),
                _ => break,
            };
            let prefix_bytes = match cell.prefix {
                CellPrefix::None => 0,
                CellPrefix::Byte => 1,
                CellPrefix::Short => break,
            };
            if cell.swaps_halves {
                break;
            }
            let to = tokens.head_bytes + prefix_bytes;
            let length = if prefix_bytes > 0 { width as u8 } else { 0 };
            tokens.head.push(HeadCell { from, bit, to, length });
            tokens.head_bytes = to + width;
            if let Some((place, mask)) = cell.place.null() {
                match tokens.nulls.iter_mut().find(|(other, _)| *other == place) {
                    Some((_, all)) => *all |= mask,
                    None => tokens.nulls.push((place, mask)),
                }
            }
        }
        for cell in cells.iter().skip(tokens.head.len()) {
            let (Some((index, part)), CellPrefix::Short, false) =
                (cell.place.variable(), cell.prefix, cell.swaps_halves)
            else {
                break;
            };
            tokens.part = part;
            tokens.variable.push(VariableCell { index, null: cell.place.null() });
        }
        tokens
    }

    /// Appends the rows of a page to a buffer of tokens.
    pub fn append<'p>(&self, records: impl ExactSizeIterator<Item = &'p [u8]>, tokens: &mut Vec<u8>) {
        let mut end = tokens.len();
        let most = PAGE_BYTES + records.len() * (1 + CELL_EXTRA_BYTES * self.cells.len()) + SHORT_BYTES;
        tokens.resize(end + most, 0);
        let (head, rest) = self.cells.split_at(self.head.len());
        let rest = rest.get(self.variable.len()..).unwrap_or_default();
        for record in records {
            if let Some(token) = tokens.get_mut(end) {
                *token = ROW;
            }
            end = match tokens.get_mut(end..).and_then(|out| self.put_head(record, out)) {
                Some(()) => end + self.head_bytes,
                None => head.iter().fold(end + 1, |end, cell| append_cell(*cell, record, tokens, end)),
            };
            end = self.append_variable(record, tokens, end);
            end = rest.iter().fold(end, |end, cell| append_cell(*cell, record, tokens, end));
        }
        tokens.truncate(end);
    }

    /// Writes the cells of variable length at `at` and returns where they end.
    #[inline]
    fn append_variable(&self, record: &[u8], out: &mut [u8], mut at: usize) -> usize {
        if self.variable.is_empty() {
            return at;
        }
        let ends = VariableEnds::of(record, self.part);
        for VariableCell { index, null } in &self.variable {
            let is_null =
                null.is_some_and(|(place, mask)| record.get(place).is_some_and(|byte| byte & mask != 0));
            let (start, end) = ends.bounds(*index);
            let length = if is_null { 0 } else { end.saturating_sub(start) };
            let prefix = if is_null { u16::MAX } else { length as u16 };
            if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *place = prefix.to_le_bytes();
            }
            at += 2;
            copy(record, start, start + length, true, out, at);
            at += length;
        }
        at
    }

    /// Writes the head of a token. `None`: it has nulls, or the ends of page or buffer are near.
    #[inline]
    fn put_head(&self, record: &[u8], out: &mut [u8]) -> Option<()> {
        for (place, mask) in &self.nulls {
            if record.get(*place)? & mask != 0 {
                return None;
            }
        }
        for cell in &self.head {
            match cell.bit {
                None => {
                    let value = record.get(cell.from..)?.first_chunk::<FIXED_BYTES>()?;
                    *out.get_mut(cell.to..)?.first_chunk_mut()? = *value;
                }
                Some(mask) => *out.get_mut(cell.to)? = u8::from(record.get(cell.from)? & mask != 0),
            }
            if cell.length > 0 {
                *out.get_mut(cell.to - 1)? = cell.length;
            }
        }
        Some(())
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
            copy(record, start, end, cell.prefix == CellPrefix::Short, out, at);
            if cell.swaps_halves
                && let Some(place) = out.get_mut(at..at + length)
            {
                place.rotate_left(length / 2);
            }
        }
    }
    at + length
}

/// Copies `record[start..end]`. Behind a short value more may be written, which the next one overwrites. Values of variable length
/// are copied by one length, so that no branch depends on theirs.
#[inline]
fn copy(record: &[u8], start: usize, end: usize, is_variable: bool, out: &mut [u8], at: usize) {
    let copied = match end.saturating_sub(start) {
        0..=FIXED_BYTES if !is_variable => copy_chunk::<FIXED_BYTES>(record, start, out, at),
        0..=SHORT_BYTES => copy_chunk::<SHORT_BYTES>(record, start, out, at),
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
