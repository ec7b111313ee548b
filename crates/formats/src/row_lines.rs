//! Map from rows to the lines of the file on which they begin.

use std::sync::{Arc, Mutex, PoisonError};

/// Shared map from row numbers to line numbers. Rows that take one line each cost nothing. A line break inside
/// quotes or a blank line costs one entry. Beyond [`RowLines::ENTRIES_MAX`] entries the oldest are forgotten.
#[derive(Debug, Clone, Default)]
pub struct RowLines {
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// Entry of the map: from row `row` on, the line is `line + (row number - row)`.
#[derive(Debug, Clone, Copy)]
struct Entry {
    row: u64,
    line: u64,
}

impl RowLines {
    /// Greatest number of entries that are remembered.
    pub const ENTRIES_MAX: usize = 1 << 20;

    /// Returns the line on which a data row begins. Both count from 1; a header is a line but not a row.
    /// None for row 0 and for rows whose entry has been forgotten. A row that was not read yet gets the line
    /// that it has if all further rows take one line.
    pub fn line_of_row(&self, row: u64) -> Option<u64> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let after = entries.partition_point(|entry| entry.row <= row);
        let entry = entries.get(after.checked_sub(1)?)?;
        Some(entry.line + (row - entry.row))
    }

    /// Notes that `row` begins on `line`; rows arrive in rising order.
    pub(crate) fn record(&self, row: u64, line: u64) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= Self::ENTRIES_MAX {
            entries.drain(..Self::ENTRIES_MAX / 2);
        }
        entries.push(Entry { row, line });
    }
}

#[cfg(test)]
mod tests {
    use super::RowLines;

    #[test]
    fn the_oldest_entries_are_forgotten_first() {
        let lines = RowLines::default();
        let rows = RowLines::ENTRIES_MAX as u64 + 1;
        for row in 1..=rows {
            lines.record(row, row * 3);
        }
        assert_eq!(lines.line_of_row(1), None);
        assert_eq!(lines.line_of_row(rows / 2 + 1), Some((rows / 2 + 1) * 3));
        assert_eq!(lines.line_of_row(rows + 5), Some(rows * 3 + 5));
    }
}
