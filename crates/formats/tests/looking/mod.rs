//! Asks a file for the order of its rows.

use std::path::Path;

use formats::{BatchReader, Compression, Format, Location, SortColumn, Sorted, open};

/// What a file says of columns, each with "descending", and its reader, which has read nothing for it.
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
