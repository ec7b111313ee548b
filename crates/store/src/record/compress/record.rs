//! Reads CD records, forwarded ones among them.

use super::cell::{self, Cell, LONG, NULL, SYMBOL};
use super::grid::Grid;
use super::row::{clusters, fixed_bytes, long_header_bytes};
use super::value;
use crate::page::RowId;
use crate::record::COMPLEX;
use crate::record::layout::Layout;

/// First byte of a CD record that is a row.
pub const HEADER: u8 = 0x01;
/// First byte: there is a long data region.
pub const HAS_LONG: u8 = 0x20;
/// First byte, bits 2 to 4: the row moved here from where its address says.
pub const FORWARDED: u8 = 4 << 2;
/// First byte, bits 2 to 4: a row of a nonclustered index, or an entry of an upper level of a tree.
pub const INDEX: u8 = 6 << 2;
/// First byte of the long data region: its end offsets have two bytes.
pub const LONG_TWO_BYTES: u8 = 1;
/// First byte of the long data region: some of its values are pointers.
pub const LONG_COMPLEX: u8 = 2;
/// Address at the end of a forwarded row.
const HOME_BYTES: usize = 8;

/// Returns true for a CD record.
pub fn is_compressed(record: &[u8]) -> bool {
    record.first().is_some_and(|header| header & 1 != 0)
}

/// A record whose parts lie within its bytes.
#[derive(Debug, Clone, Copy)]
pub struct CdRecord<'a> {
    /// Number of columns.
    pub columns: usize,
    descriptor: &'a [u8],
    /// The short data region, and everything up to the end of what was given, so that whole words can be read.
    short: &'a [u8],
    ends: &'a [u8],
    long: &'a [u8],
    /// Bytes of the record.
    pub bytes: &'a [u8],
}

impl<'a> CdRecord<'a> {
    /// Finds the parts of the record at the beginning of `bytes`. None if it is not a CD record, or runs over the end.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first()?;
        let is_row = matches!(header & !HAS_LONG, HEADER | 0x11 | 0x19);
        let (columns, rest) = match rest {
            [high, low, rest @ ..] if *high >= 0x80 => {
                (usize::from(u16::from_be_bytes([high & 0x7F, *low])), rest)
            }
            [columns, rest @ ..] => (usize::from(*columns), rest),
            [] => return None,
        };
        if !is_row || columns == 0 {
            return None;
        }
        let (descriptor, rest) = rest.split_at_checked(columns.div_ceil(2))?;
        let rest = rest.get(clusters(columns)..)?;
        let (mut short_bytes, mut long_count) = (0, 0);
        for column in 0..columns {
            let code = code_at(descriptor, column);
            if code > SYMBOL {
                return None;
            }
            short_bytes += cell::short_bytes(code);
            long_count += usize::from(code == LONG);
        }
        let short = rest;
        let mut rest = rest.get(short_bytes..)?;
        let (mut ends, mut long): (&[u8], &[u8]) = (&[], &[]);
        if header & HAS_LONG != 0 {
            let (head, tail) = rest.split_at_checked(3)?;
            let [flags, low, high] = head else { return None };
            if flags & LONG_TWO_BYTES == 0 || usize::from(u16::from_le_bytes([*low, *high])) != long_count {
                return None;
            }
            (ends, rest) = tail.split_at_checked(2 * long_count)?;
            rest = rest.get(clusters(columns)..)?;
            let mut previous = 0;
            for end in ends.as_chunks::<2>().0 {
                let end = u16::from_le_bytes(*end) & !COMPLEX;
                if end < previous {
                    return None;
                }
                previous = end;
            }
            (long, rest) = rest.split_at_checked(usize::from(previous))?;
        } else if long_count > 0 {
            return None;
        }
        if header & 0x1C == FORWARDED {
            rest = rest.get(HOME_BYTES..)?;
        }
        let bytes = bytes.get(..bytes.len() - rest.len())?;
        Some(Self { columns, descriptor, short, ends, long, bytes })
    }

    /// Calls `each` with the number of every column, its cell, and the bytes of a long cell.
    #[inline]
    pub fn for_each(&self, mut each: impl FnMut(usize, Cell, &'a [u8])) {
        let (mut at, mut long) = (0, LongCells { ends: self.ends, data: self.long, next: 0, start: 0 });
        for column in 0..self.columns {
            let code = code_at(self.descriptor, column);
            if code == LONG {
                let (cell, bytes) = long.take();
                each(column, cell, bytes);
                continue;
            }
            let length = cell::short_bytes(code);
            each(column, Cell { code, word: word_at(self.short, at, length) }, &[]);
            at += length;
        }
    }

    /// Reads the cell of a column, and the bytes of a long one. None if there is no such column.
    pub fn cell(&self, column: usize) -> Option<(Cell, &'a [u8])> {
        let (mut at, mut long) = (0, LongCells { ends: self.ends, data: self.long, next: 0, start: 0 });
        for before in 0..column.min(self.columns) {
            let code = code_at(self.descriptor, before);
            at += cell::short_bytes(code);
            if code == LONG {
                long.take();
            }
        }
        let code = code_at(self.descriptor, column);
        let found = match code {
            LONG => long.take(),
            _ => (Cell { code, word: word_at(self.short, at, cell::short_bytes(code)) }, [].as_slice()),
        };
        (column < self.columns).then_some(found)
    }

    /// Adds the row to a grid of as many columns.
    pub fn push_to(&self, grid: &mut Grid) {
        let Grid { columns, data, .. } = grid;
        let mut columns = columns.iter_mut();
        self.for_each(|_, cell, bytes| {
            if let Some(column) = columns.next() {
                column.push(owned(cell, bytes, data));
            }
        });
    }
}

/// Copies the bytes of a long cell to `data` and returns the cell for them.
pub(crate) fn owned(cell: Cell, bytes: &[u8], data: &mut Vec<u8>) -> Cell {
    if !cell.is_long() {
        return cell;
    }
    data.extend_from_slice(bytes);
    let start = data.len() - bytes.len();
    if cell.is_complex() { Cell::complex(start, bytes.len()) } else { Cell::long(start, bytes.len()) }
}

struct LongCells<'a> {
    ends: &'a [u8],
    data: &'a [u8],
    next: usize,
    start: usize,
}

impl<'a> LongCells<'a> {
    fn take(&mut self) -> (Cell, &'a [u8]) {
        let entry = self.ends.get(2 * self.next..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; 2]);
        let entry = u16::from_le_bytes(entry);
        let end = usize::from(entry & !COMPLEX);
        let bytes = self.data.get(self.start..end).unwrap_or_default();
        let cell = match entry & COMPLEX {
            0 => Cell::long(0, bytes.len()),
            _ => Cell::complex(0, bytes.len()),
        };
        self.next += 1;
        self.start = end;
        (cell, bytes)
    }
}

#[inline]
fn code_at(descriptor: &[u8], column: usize) -> u8 {
    descriptor
        .get(column / 2)
        .map_or(NULL, |pair| if column.is_multiple_of(2) { pair & 15 } else { pair >> 4 })
}

/// Reads `length` bytes, up to eight, as a word.
#[inline]
pub(crate) fn word_at(bytes: &[u8], at: usize, length: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        Some(word) => u64::from_le_bytes(*word) & mask(length),
        None => cell::pack(bytes.get(at..at + length).unwrap_or_default()),
    }
}

/// Returns a mask of the lowest `bytes` bytes of a word.
#[inline]
pub(super) fn mask(bytes: usize) -> u64 {
    const MASKS: [u64; 9] = [
        0,
        0xFF,
        0xFFFF,
        0xFF_FFFF,
        0xFFFF_FFFF,
        0xFF_FFFF_FFFF,
        0xFFFF_FFFF_FFFF,
        0xFF_FFFF_FFFF_FFFF,
        u64::MAX,
    ];
    MASKS.get(bytes).copied().unwrap_or(u64::MAX)
}

/// Computes the length of the record at the beginning of `bytes`.
pub fn length(bytes: &[u8]) -> Option<usize> {
    CdRecord::parse(bytes).map(|record| record.bytes.len())
}

/// Makes a row's record one of an index.
pub fn mark_index(record: &mut [u8]) {
    if let Some(header) = record.first_mut() {
        *header |= INDEX;
    }
}

/// Returns true for a record of an index.
pub fn is_index(record: &[u8]) -> bool {
    record.first().is_some_and(|header| header & 0x1D == HEADER | INDEX)
}

/// Lists the pointers of values that are stored outside the record.
pub fn pointers(record: &[u8]) -> Vec<&[u8]> {
    let mut pointers = Vec::new();
    if let Some(record) = CdRecord::parse(record) {
        record.for_each(|_, cell, bytes| {
            if cell.is_complex() {
                pointers.push(bytes);
            }
        });
    }
    pointers
}

/// Makes the record of a row that moves away from `home`: the address is its last eight bytes.
pub fn forwarded(record: &[u8], home: RowId) -> Option<Vec<u8>> {
    let length = length(record)?;
    let mut out = match forwarded_from(record) {
        Some(_) => record.get(..length - HOME_BYTES)?.to_vec(),
        None => record.get(..length)?.to_vec(),
    };
    *out.first_mut()? |= FORWARDED;
    out.extend_from_slice(&home.to_bytes());
    Some(out)
}

/// Computes the most bytes of a record of this form without its variable values.
pub fn most_fixed_bytes(layout: &Layout) -> usize {
    let columns = layout.columns.len();
    let fixed: usize = layout.columns.iter().map(|column| value::most_bytes(column.kind)).sum();
    fixed_bytes(columns) + long_header_bytes(columns) + fixed
}

/// Returns the address under which a forwarded row is known; None if the record was not forwarded.
pub fn forwarded_from(record: &[u8]) -> Option<RowId> {
    if record.first()? & 0x1D != HEADER | FORWARDED {
        return None;
    }
    let end = length(record)?;
    record.get(end.checked_sub(HOME_BYTES)?..end)?.first_chunk().map(|bytes| RowId::from_bytes(*bytes))
}
