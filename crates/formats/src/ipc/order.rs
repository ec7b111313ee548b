//! Checks of the order of rows of an Arrow file. Its footer says nothing of it: the columns are read.

use std::io::BufReader;

use arrow::ipc::reader::FileReader;

use crate::FormatError;
use crate::at_offset::AtOffset;
use crate::order::{KeyColumns, SortColumn, Sorted};

/// Reads the columns as far as they are sorted. Blocks of a file are read whole, so an object, which is far away, is left alone.
pub(super) fn sorted_by(
    source: &AtOffset,
    columns: &[SortColumn],
    strictly: bool,
) -> Result<Sorted, FormatError> {
    if columns.is_empty() || !source.is_file() {
        return Ok(Sorted::Unknown);
    }
    let key = KeyColumns::new(columns, strictly);
    let file = BufReader::new(source.uncounted().at(0));
    let mut reader = FileReader::try_new(file, Some(key.places.clone()))?;
    // Most files that are not sorted show it at their ends.
    if let last @ 1.. = reader.num_batches().saturating_sub(1) {
        let mut ends = Vec::new();
        for index in [0, last] {
            reader.set_index(index)?;
            ends.extend(reader.next());
        }
        if key.first_unsorted(ends)?.is_some() {
            return Ok(Sorted::No("its first and last rows are not in that order".to_owned()));
        }
        reader.set_index(0)?;
    }
    Ok(match key.first_unsorted(reader)? {
        Some(row) => Sorted::No(format!("its row {row} is not in that order")),
        None => Sorted::Yes("the file's key was read"),
    })
}
