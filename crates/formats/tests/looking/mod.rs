//! Asks a file for the order of its rows.

use std::path::Path;

use formats::{BatchReader, Compression, Format, Location, SortColumn, Sorted, open};

/// Asks a file for the order of columns, each with "descending". Returns the answer and a reader that begins
/// at the first row.
pub fn look(
    path: &Path,
    format: &Format,
    columns: &[(usize, bool)],
    strictly: bool,
) -> (Sorted, Box<dyn BatchReader>) {
    let reader = open(&Location::Path(path.to_owned()), format, Compression::None, 1000).unwrap();
    let columns: Vec<SortColumn> = columns
        .iter()
        .map(|(index, descending)| SortColumn { index: *index, descending: *descending })
        .collect();
    let before = reader.bytes_read();
    let sorted = reader.sorted_by(&columns, strictly).unwrap();
    assert_eq!(reader.bytes_read(), before, "what is looked at is not what is loaded");
    (sorted, reader)
}
