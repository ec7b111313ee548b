//! Whether the rows of an Arrow file are sorted. Its footer says nothing of it: the columns are read.

use std::io::BufReader;

use arrow::ipc::reader::FileReader;
use rows::RowOrder;

use crate::FormatError;
use crate::at_offset::AtOffset;
use crate::order::{SortColumn, Sorted};

/// Reads the columns as far as they are sorted. Blocks of a file are read whole, so an object, which is far away, is left alone.
pub(super) fn sorted_by(
    source: &AtOffset,
    columns: &[SortColumn],
    strictly: bool,
) -> Result<Sorted, FormatError> {
    if columns.is_empty() || !source.is_file() {
        return Ok(Sorted::Unknown);
    }
    // The columns come in the order of the file.
    let mut places: Vec<usize> = columns.iter().map(|column| column.index).collect();
    places.sort_unstable();
    places.dedup();
    let compared = columns.iter().filter_map(|column| {
        let place = places.iter().position(|place| *place == column.index)?;
        Some((place, column.descending))
    });
    let compared: Vec<(usize, bool)> = compared.collect();
    let file = BufReader::new(source.uncounted().at(0));
    let mut reader = FileReader::try_new(file, Some(places.clone()))?;
    // Most files that are not sorted show it at their ends.
    if let last @ 1.. = reader.num_batches().saturating_sub(1) {
        let mut ends = RowOrder::new(compared.iter().copied(), strictly);
        for index in [0, last] {
            reader.set_index(index)?;
            if let Some(batch) = reader.next()
                && ends.first_unsorted(&batch?)?.is_some()
            {
                return Ok(Sorted::No("its first and last rows are not in that order".to_owned()));
            }
        }
        reader.set_index(0)?;
    }
    let mut order = RowOrder::new(compared, strictly);
    for batch in reader {
        if let Some(row) = order.first_unsorted(&batch?)? {
            return Ok(Sorted::No(format!("its row {row} is not in that order")));
        }
    }
    Ok(Sorted::Yes("the file's key was read"))
}
