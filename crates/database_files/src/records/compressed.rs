//! The record format of compressed rows: four bits for each column, then short values, then long ones.
//!
//! A column takes its place by the order of the rowset's columns, NULL has no bytes, and a value has the bytes that its type needs
//! ([`crate::compressed_value`] restores the rest).

use super::RecordKind;
use crate::little_endian::{u8_at, u16_at};

/// A value of a record, not yet restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    /// NULL.
    Null,
    /// The bit 1; the bit 0 has no bytes.
    One,
    /// Bytes in the record.
    Bytes(&'a [u8]),
    /// The number of an entry of the page's dictionary.
    Symbol(usize),
    /// A pointer in place of a value.
    Pointer(&'a [u8]),
}

/// The bit of the first byte of a compressed record.
const IS_COMPRESSED: u8 = 1;
/// The bit of the first byte of a record that has long values.
const HAS_LONG_VALUES: u8 = 0x20;
/// The bit of a number of columns that takes two bytes.
const TWO_BYTES: u8 = 0x80;
/// The bit of the header of long values that says their ends take two bytes.
const LONG_ENDS: u8 = 1;
/// The bit of a long value's end that marks a pointer.
const IS_POINTER: u16 = 0x8000;
/// Columns that share a byte in the arrays of clusters.
const CLUSTER_COLUMNS: usize = 30;

/// Codes of columns: below ten the number of bytes and one.
mod code {
    pub const NULL: u8 = 0;
    pub const SHORT_MAX: u8 = 9;
    pub const LONG: u8 = 10;
    pub const ONE: u8 = 11;
    pub const SYMBOL: u8 = 12;
    /// The number of the entry takes two bytes. No published file shows it.
    pub const LONG_SYMBOL: u8 = 13;
}

/// Returns the kind of a compressed record; None if it is not compressed.
pub(crate) fn kind(first: u8) -> Option<RecordKind> {
    (first & IS_COMPRESSED != 0).then_some(match first >> 2 & 7 {
        0 => RecordKind::Row,
        2 => RecordKind::Stub,
        4 => RecordKind::Forwarded,
        6 => RecordKind::Index,
        _ => RecordKind::Ghost,
    })
}

/// Reads the values of a record, by their order in the record. `bytes` may reach beyond it. None if its lengths do not fit.
pub(crate) fn cells<'a>(bytes: &'a [u8], cells: &mut Vec<Cell<'a>>) -> Option<()> {
    cells.clear();
    let first = u8_at(bytes, 0).filter(|first| first & IS_COMPRESSED != 0)?;
    let (columns, codes_at) = match u8_at(bytes, 1)? {
        high if high & TWO_BYTES != 0 => {
            (usize::from(high & !TWO_BYTES) << 8 | usize::from(u8_at(bytes, 2)?), 3)
        }
        columns => (usize::from(columns), 2),
    };
    let clusters = columns.saturating_sub(1) / CLUSTER_COLUMNS;
    let codes = bytes.get(codes_at..codes_at + columns.div_ceil(2))?;
    let code = |column: usize| codes.get(column / 2).map(|pair| pair >> (4 * (column % 2)) & 15);
    let mut at = codes_at + codes.len() + clusters;
    let mut long_values = 0;
    for column in 0..columns {
        let code = code(column)?;
        let length = match code {
            code::NULL | code::LONG | code::ONE => 0,
            1..=code::SHORT_MAX => usize::from(code - 1),
            code::SYMBOL => 1,
            code::LONG_SYMBOL => 2,
            _ => return None,
        };
        let short = bytes.get(at..at + length)?;
        at += length;
        long_values += usize::from(code == code::LONG);
        cells.push(match code {
            code::NULL => Cell::Null,
            code::ONE => Cell::One,
            code::SYMBOL | code::LONG_SYMBOL => {
                Cell::Symbol(short.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
            }
            _ => Cell::Bytes(short),
        });
    }
    if long_values == 0 {
        return Some(());
    }
    let header = u8_at(bytes, at).filter(|header| header & LONG_ENDS != 0 && first & HAS_LONG_VALUES != 0)?;
    if usize::from(u16_at(bytes, at + 1)?) != long_values || header & !3 != 0 {
        return None;
    }
    let ends_at = at + 3;
    let values = bytes.get(ends_at + 2 * long_values + clusters..)?;
    let of_long = cells.iter_mut().enumerate().filter(|(column, _)| code(*column) == Some(code::LONG));
    let mut start = 0;
    for (index, (_, cell)) in of_long.enumerate() {
        let entry = u16_at(bytes, ends_at + 2 * index)?;
        let end = usize::from(entry & !IS_POINTER);
        let value = values.get(start..end)?;
        *cell = if entry & IS_POINTER == 0 { Cell::Bytes(value) } else { Cell::Pointer(value) };
        start = end;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn short_values_are_read() {
        // int 300, char 'ab', bit 1, NULL.
        let bytes = [0x01, 0x04, 0x33, 0x0b, 0x81, 0x2c, 0x61, 0x62, 0xee];
        let mut found = Vec::new();
        cells(&bytes, &mut found).unwrap();
        assert_eq!(found, [Cell::Bytes(&[0x81, 0x2c]), Cell::Bytes(b"ab"), Cell::One, Cell::Null]);
    }

    #[test]
    fn long_values_symbols_and_pointers_are_read() {
        // Nine bytes, the entry 3 of the dictionary, a pointer of two bytes, an empty value.
        let mut bytes = vec![0x21, 0x04, 0xca, 0x1a, 0x03];
        bytes.extend([0x03, 2, 0, 9, 0, 11, 0x80]);
        bytes.extend(b"123456789");
        bytes.extend([7, 8]);
        let mut found = Vec::new();
        cells(&bytes, &mut found).unwrap();
        assert_eq!(
            found,
            [Cell::Bytes(b"123456789"), Cell::Symbol(3), Cell::Pointer(&[7, 8]), Cell::Bytes(&[])]
        );
        for end in 0..bytes.len() {
            assert_eq!(cells(&bytes[..end], &mut Vec::new()), None, "{end}");
        }
    }

    #[test]
    fn more_than_thirty_columns_have_clusters() {
        // 129 columns, all NULL but the first and the last: a number of columns in two bytes, four bytes of clusters.
        let mut bytes = vec![0x01, 0x80, 129];
        bytes.extend([2]);
        bytes.extend([0; 63]);
        bytes.extend([2]);
        bytes.extend([1, 0, 0, 0]);
        bytes.extend([5, 6]);
        let mut found = Vec::new();
        cells(&bytes, &mut found).unwrap();
        assert_eq!(found.len(), 129);
        assert_eq!((found[0], found[1], found[128]), (Cell::Bytes(&[5]), Cell::Null, Cell::Bytes(&[6])));
    }

    #[test]
    fn kinds_are_told() {
        let kinds = [0x01, 0x21, 0x09, 0x0d, 0x11, 0x19, 0x30].map(kind);
        let wanted = [
            Some(RecordKind::Row),
            Some(RecordKind::Row),
            Some(RecordKind::Stub),
            Some(RecordKind::Ghost),
            Some(RecordKind::Forwarded),
            Some(RecordKind::Index),
            None,
        ];
        assert_eq!(kinds, wanted);
    }
}
