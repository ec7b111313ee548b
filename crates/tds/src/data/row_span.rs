//! The length of a row without decoding its values: [`RowLayout`]. This is the inner loop of everything that only passes rows on:
//! finding the last complete row in a buffer, counting, discarding. One step covers a run of columns whose lengths have the same
//! form.

use crate::codec::DecodeError;
use crate::column::Column;
use crate::type_info::LengthClass;
use crate::value::{NULL_PLP, NULL_USHORT, UNKNOWN_PLP};

/// The token byte of ROW.
pub const ROW: u8 = 0xD1;
/// The token byte of NBCROW: a bitmap of NULLs, then the columns that are not NULL.
pub const NBCROW: u8 = 0xD2;

/// The precomputed walk over rows of one COLMETADATA.
#[derive(Debug, Clone)]
pub struct RowLayout {
    /// The walk over a ROW.
    runs: Vec<Run>,
    /// Length classes of all columns, for NBCROW, where any column can be missing.
    columns: Vec<LengthClass>,
    bitmap_bytes: usize,
}

/// Consecutive columns that are walked alike.
#[derive(Debug, Clone, Copy)]
enum Run {
    /// Bytes of any number of fixed-length columns together.
    Fixed(usize),
    /// Number of columns with a one-byte length.
    ByteLen(usize),
    /// Number of columns with a two-byte length.
    UShortLen(usize),
    /// A column of any other kind.
    Other(LengthClass),
}

/// The rows at the head of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowSpan {
    /// Number of complete rows.
    pub rows: u64,
    /// Length of the rows in bytes, token bytes included.
    pub bytes: usize,
}

impl RowLayout {
    /// Prepares the walk over rows of these columns.
    pub fn new(columns: &[Column]) -> Self {
        let columns: Vec<LengthClass> =
            columns.iter().map(|column| column.type_info.length_class()).collect();
        let mut runs = Vec::new();
        for class in &columns {
            match (runs.last_mut(), class) {
                (Some(Run::Fixed(bytes)), LengthClass::Fixed(more)) => *bytes += usize::from(*more),
                (Some(Run::ByteLen(count)), LengthClass::ByteLen) => *count += 1,
                (Some(Run::UShortLen(count)), LengthClass::UShortLen) => *count += 1,
                (_, LengthClass::Fixed(bytes)) => runs.push(Run::Fixed(usize::from(*bytes))),
                (_, LengthClass::ByteLen) => runs.push(Run::ByteLen(1)),
                (_, LengthClass::UShortLen) => runs.push(Run::UShortLen(1)),
                (_, other) => runs.push(Run::Other(*other)),
            }
        }
        let bitmap_bytes = columns.len().div_ceil(8);
        Self { runs, columns, bitmap_bytes }
    }

    /// Counts the columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Returns the bytes of the NULL bitmap of an NBCROW.
    pub fn bitmap_bytes(&self) -> usize {
        self.bitmap_bytes
    }

    /// Computes the length in bytes of the ROW or NBCROW at the head of `bytes`, token byte included; `None`
    /// if it is not all there.
    ///
    /// # Errors
    /// Another token, or a chunked value whose chunks do not add up to the announced length.
    pub fn row_len(&self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        match bytes.first() {
            Some(&ROW) => self.walk_row(bytes, 1),
            Some(&NBCROW) => self.walk_nbc_row(bytes),
            Some(other) => {
                let what = format!("{other:02X} where a row should start");
                Err(DecodeError::invalid("row token", 0, what))
            }
            None => Ok(None),
        }
    }

    /// Computes the length in bytes of a row with values of all columns behind any token byte; `None` if it
    /// is not all there.
    ///
    /// # Errors
    /// A chunked value whose chunks do not add up to the announced length.
    pub(crate) fn row_len_behind_token(&self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        self.walk_row(bytes, 1)
    }

    /// Finds the complete rows at the head of `bytes`, up to another token, an incomplete row or a malformed
    /// one.
    ///
    /// # Errors
    /// The errors of [`row_len`](Self::row_len), once the malformed row is at the head. The rows before it
    /// are returned first, however the bytes arrive.
    pub fn complete_rows(&self, bytes: &[u8]) -> Result<RowSpan, DecodeError> {
        let mut span = RowSpan::default();
        while let Some(rest) = bytes.get(span.bytes..) {
            let len = match rest.first() {
                Some(&ROW) => self.walk_row(rest, 1),
                Some(&NBCROW) => self.walk_nbc_row(rest),
                _ => break,
            };
            match len {
                Ok(Some(len)) => {
                    span.bytes += len;
                    span.rows += 1;
                }
                Ok(None) => break,
                Err(error) if span.rows == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(span)
    }

    /// Computes the length in bytes of the value of `column` at the head of `bytes`, its length prefix
    /// included; `None` if it is not all there.
    ///
    /// # Errors
    /// A column that does not exist, or a chunked value that does not add up.
    pub fn value_len(&self, column: usize, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        let Some(class) = self.columns.get(column) else {
            return Err(DecodeError::invalid("column", 0, format!("there is no column {column}")));
        };
        Ok(skip_value(*class, bytes, 0)?.filter(|end| *end <= bytes.len()))
    }

    fn walk_row(&self, bytes: &[u8], start: usize) -> Result<Option<usize>, DecodeError> {
        let mut at = start;
        for run in &self.runs {
            match *run {
                Run::Fixed(length) => at = at.saturating_add(length),
                Run::ByteLen(count) => {
                    for _ in 0..count {
                        let Some(length) = bytes.get(at) else { return Ok(None) };
                        at += 1 + usize::from(*length);
                    }
                }
                Run::UShortLen(count) => {
                    for _ in 0..count {
                        let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) else {
                            return Ok(None);
                        };
                        at += 2 + ushort_data_len(u16::from_le_bytes(*length));
                    }
                }
                Run::Other(class) => match skip_value(class, bytes, at)? {
                    Some(end) => at = end,
                    None => return Ok(None),
                },
            }
        }
        // Skipping may run past the end; nothing has been read there.
        Ok((at <= bytes.len()).then_some(at))
    }

    fn walk_nbc_row(&self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        let mut at = 1 + self.bitmap_bytes;
        let Some(bitmap) = bytes.get(1..at) else { return Ok(None) };
        for (eight, nulls) in self.columns.chunks(8).zip(bitmap) {
            for (bit, class) in eight.iter().enumerate() {
                if nulls >> bit & 1 != 0 {
                    continue;
                }
                match skip_value(*class, bytes, at)? {
                    Some(end) => at = end,
                    None => return Ok(None),
                }
            }
        }
        Ok((at <= bytes.len()).then_some(at))
    }
}

/// Returns the end of the value that starts at `at`, which may be past the end of `bytes`. `None` if its
/// length is not there yet.
fn skip_value(class: LengthClass, bytes: &[u8], at: usize) -> Result<Option<usize>, DecodeError> {
    Ok(match class {
        LengthClass::Fixed(length) => Some(at.saturating_add(usize::from(length))),
        LengthClass::ByteLen => byte(bytes, at).map(|length| at + 1 + usize::from(length)),
        LengthClass::UShortLen => {
            array(bytes, at).map(|length| at + 2 + ushort_data_len(u16::from_le_bytes(length)))
        }
        LengthClass::Variant => long_end(bytes, at),
        LengthClass::LongLen => match byte(bytes, at) {
            None => None,
            Some(0) => Some(at + 1),
            // Pointer, timestamp, then the length.
            Some(pointer) => long_end(bytes, at + 1 + usize::from(pointer) + 8),
        },
        LengthClass::Plp => return skip_plp(bytes, at),
    })
}

fn skip_plp(bytes: &[u8], at: usize) -> Result<Option<usize>, DecodeError> {
    let Some(total) = array(bytes, at).map(u64::from_le_bytes) else { return Ok(None) };
    let mut end = at + 8;
    if total == NULL_PLP {
        return Ok(Some(end));
    }
    let mut sum = 0_u64;
    loop {
        let Some(length) = array(bytes, end).map(u32::from_le_bytes) else { return Ok(None) };
        end += 4;
        if length == 0 {
            break;
        }
        sum += u64::from(length);
        if total != UNKNOWN_PLP && sum > total {
            break;
        }
        end = end.saturating_add(length as usize);
    }
    if total != UNKNOWN_PLP && sum != total {
        let what = format!("length {total} announced, chunks add up to {sum}");
        return Err(DecodeError::invalid("PLP length", at, what));
    }
    Ok(Some(end))
}

/// Returns the end of a value behind a four-byte length at `at`.
fn long_end(bytes: &[u8], at: usize) -> Option<usize> {
    array(bytes, at).map(|length| (at + 4).saturating_add(u32::from_le_bytes(length) as usize))
}

fn ushort_data_len(length: u16) -> usize {
    if length == NULL_USHORT { 0 } else { usize::from(length) }
}

fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied()
}

#[cfg(test)]
#[path = "row_span_tests.rs"]
mod tests;
