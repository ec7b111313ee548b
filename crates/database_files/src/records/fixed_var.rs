//! The record format without compression: fixed columns, a bitmap of NULLs, then variable columns by their ends.

use crate::little_endian::{u8_at, u16_at};

/// A record in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedVar<'a> {
    bytes: &'a [u8],
    fixed_end: usize,
    columns: u16,
    bitmap: &'a [u8],
    ends_at: usize,
    variables: u16,
}

/// The kind of a record, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A row.
    Row,
    /// A row that has moved here.
    Forwarded,
    /// A forwarding stub, which stands where a row has moved from.
    Stub,
    /// An index entry.
    Index,
    /// A piece of a large value.
    LargeValue,
    /// A deleted row.
    Ghost,
}

impl RecordKind {
    /// Returns the kind of a record.
    pub(crate) fn of(status: u8) -> Self {
        match status >> 1 & 7 {
            0 => Self::Row,
            1 => Self::Forwarded,
            2 => Self::Stub,
            3 => Self::Index,
            4 => Self::LargeValue,
            _ => Self::Ghost,
        }
    }
}

/// The bit of a variable column's end that marks a pointer in place of a value.
const IS_POINTER: u16 = 0x8000;
/// Bytes of the pointer from a moved row to its first place.
const BACK_POINTER_BYTES: usize = 10;

impl<'a> FixedVar<'a> {
    /// Finds the parts of a record; `bytes` may reach beyond it. None if they do not fit.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let status = u8_at(bytes, 0)?;
        let fixed_end = usize::from(u16_at(bytes, 2)?);
        let mut at = fixed_end;
        let (mut columns, mut bitmap) = (0, &bytes[..0]);
        if fixed_end < 4 || fixed_end > bytes.len() {
            return None;
        }
        if status & 0x10 != 0 {
            columns = u16_at(bytes, at)?;
            let length = usize::from(columns).div_ceil(8);
            bitmap = bytes.get(at + 2..at + 2 + length)?;
            at += 2 + length;
        }
        let mut variables = 0;
        if status & 0x20 != 0 {
            variables = u16_at(bytes, at)?;
            at += 2;
        }
        let mut record = Self { bytes, fixed_end, columns, bitmap, ends_at: at, variables };
        if RecordKind::of(status) == RecordKind::Forwarded {
            // Behind the columns stands the pointer back, which is none.
            let last = variables.checked_sub(1)?;
            let (pointer, _) = record.variable(last)?;
            if pointer.len() != BACK_POINTER_BYTES {
                return None;
            }
            record.variables = last;
        }
        bytes.get(..at + 2 * usize::from(variables))?;
        Some(record)
    }

    /// Returns the bytes of a fixed column; None if the record is from before the column was added.
    pub(crate) fn fixed(&self, offset: usize, length: usize) -> Option<&'a [u8]> {
        let end = offset.checked_add(length).filter(|end| *end <= self.fixed_end)?;
        self.bytes.get(offset..end)
    }

    /// Returns true if the column of a null bit (from 1) is NULL. A column that was added after the record is, too.
    pub(crate) fn is_null(&self, null_bit: u16) -> bool {
        let Some(index) = null_bit.checked_sub(1) else { return false };
        if index >= self.columns {
            return true;
        }
        self.bitmap.get(usize::from(index / 8)).is_none_or(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Returns true if the record has a place for the column of a null bit.
    pub(crate) fn has_column(&self, null_bit: u16) -> bool {
        null_bit <= self.columns
    }

    /// Returns the bytes of a variable column (from 0), and whether they are a pointer. A column behind the last one is empty; None if
    /// the ends are out of order.
    pub(crate) fn variable(&self, ordinal: u16) -> Option<(&'a [u8], bool)> {
        if ordinal >= self.variables {
            return Some((&[], false));
        }
        let entry = self.ends_at + 2 * usize::from(ordinal);
        let end = u16_at(self.bytes, entry)?;
        // The true number of entries is needed for the first start, also without the pointer back.
        let start = match ordinal {
            0 => self.data_at()?,
            _ => usize::from(u16_at(self.bytes, entry - 2)? & !IS_POINTER),
        };
        let bytes = self.bytes.get(start..usize::from(end & !IS_POINTER))?;
        Some((bytes, end & IS_POINTER != 0))
    }

    /// Returns where the first variable column begins: behind the ends of all.
    fn data_at(&self) -> Option<usize> {
        let count = u16_at(self.bytes, self.ends_at.checked_sub(2)?)?;
        Some(self.ends_at + 2 * usize::from(count))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_row_of_fixed_columns_is_read() {
        // Order Details 10248/11 of Northwind: five columns, none of them variable.
        let bytes = [
            0x10, 0x00, 0x1a, 0x00, 0x08, 0x28, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0xe0, 0x22, 0x02, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00,
        ];
        let record = FixedVar::parse(&bytes).unwrap();
        assert_eq!(record.fixed(4, 4), Some(&[0x08, 0x28, 0, 0][..]));
        assert!(!record.is_null(5) && record.is_null(6));
        assert_eq!(record.fixed(24, 4), None);
        assert_eq!(record.variable(0), Some((&[][..], false)));
    }

    #[test]
    fn a_variable_column_is_read() {
        // A row of EmployeeTerritories: an int and nvarchar(20) '01906'.
        let bytes = [
            0x30, 0x00, 0x08, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x01, 0x00, 0x19, 0x00, 0x30,
            0x00, 0x36, 0x00, 0x38, 0x00, 0x39, 0x00, 0x37, 0x00,
        ];
        let record = FixedVar::parse(&bytes).unwrap();
        assert_eq!(record.variable(0).unwrap().0, [0x30, 0, 0x36, 0, 0x38, 0, 0x39, 0, 0x37, 0]);
    }

    #[test]
    fn lengths_that_lead_beyond_the_record_are_refused() {
        assert!(FixedVar::parse(&[0x30, 0, 0xff, 0x7f, 1, 2]).is_none());
        assert!(FixedVar::parse(&[0x30, 0, 4, 0, 0xff, 0xff]).is_none());
        assert!(FixedVar::parse(&[]).is_none());
    }
}
