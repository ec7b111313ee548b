//! Places of a rowset's columns in its records. The layout comes from the rowset's own table, never from the declared order.

use super::system_tables::ColumnLayout;

/// The bit of a number of a dropped column.
const DROPPED: u32 = 0x0400_0000;
/// The bit of a number of a column that users do not see.
const INTERNAL: u32 = 0x0800_0000;
/// The bit of the status of a dropped column.
const STATUS_DROPPED: u32 = 2;

/// The place of a column's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes at an offset; `bit` is that of a bit column.
    Fixed { offset: usize, bit: u8 },
    /// A variable column, counted from 0.
    Variable { ordinal: u16 },
}

impl Place {
    /// Returns the position in a compressed record. Such a rowset numbers all of its columns as variable ones.
    pub(crate) fn position(self) -> usize {
        match self {
            Self::Variable { ordinal } => ordinal.into(),
            Self::Fixed { .. } => usize::MAX,
        }
    }
}

/// A column of a rowset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowColumn {
    pub place: Place,
    /// The bit of the column among the NULLs, from 1.
    pub null_bit: u16,
}

/// Finds a column by its number, among those that are there.
pub(crate) fn find(layouts: &[ColumnLayout], column: u32) -> Option<RowColumn> {
    let layout = layouts.iter().find(|layout| {
        layout.column == column && column & (DROPPED | INTERNAL) == 0 && layout.status & STATUS_DROPPED == 0
    })?;
    let place = match u16::try_from(layout.offset) {
        Ok(offset) => Place::Fixed { offset: usize::from(offset), bit: layout.bit & 7 },
        Err(_) => Place::Variable { ordinal: (-1 - layout.offset).unsigned_abs() },
    };
    Some(RowColumn { place, null_bit: layout.null_bit })
}
