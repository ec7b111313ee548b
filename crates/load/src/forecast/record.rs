//! The lengths of records: those of tables and indexes, uncompressed and compressed, and the entries of upper pages.

use super::{
    sample::Values,
    shrunk::{SHORT_LIMIT_BYTES, cost, shrink},
    stored_kind::{Place, StoredKind},
};

/// The form of a record, which decides the bytes that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordForm {
    /// A row of a table: two status bytes, and where its fixed part ends.
    Row,
    /// A row of an index: a status byte.
    IndexLeaf,
    /// An entry of an upper page: a status byte and the page below.
    IndexUpper,
}

/// A column of records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordColumn<'a> {
    pub kind: StoredKind,
    pub is_nullable: bool,
    pub values: &'a Values,
}

/// Columns of a compressed row are counted in clusters of so many.
const CLUSTER_COLUMNS: usize = 30;
/// The address of a page below.
const CHILD_BYTES: usize = 6;

/// Bytes of each row's uncompressed record.
pub(super) fn plain_lengths(form: RecordForm, columns: &[RecordColumn<'_>], rows: usize) -> Vec<u16> {
    let mut lengths = vec![(plain_fixed_bytes(form, columns), 0_usize); rows];
    let mut variable = 0;
    for column in columns.iter().filter(|column| column.kind.place() == Place::Variable) {
        variable += 1;
        for ((bytes, entries), value) in lengths.iter_mut().zip(column.values.iter()) {
            if let Some(value) = value {
                *bytes += value.len();
                *entries = variable;
            }
        }
    }
    let whole = |(bytes, entries): (usize, usize)| if entries > 0 { bytes + 2 + 2 * entries } else { bytes };
    lengths.into_iter().map(|length| u16::try_from(whole(length)).unwrap_or(u16::MAX)).collect()
}

/// Bytes of an uncompressed record without its variable values.
pub(super) fn plain_fixed_bytes(form: RecordForm, columns: &[RecordColumn<'_>]) -> usize {
    let bits = columns.iter().filter(|column| column.kind.place() == Place::Bit).count();
    let fixed: usize = columns
        .iter()
        .map(|column| match column.kind.place() {
            Place::Fixed(bytes) => bytes,
            Place::Bit | Place::Variable => 0,
        })
        .sum();
    let bitmap = 2 + columns.len().div_ceil(8);
    match form {
        RecordForm::Row => 4 + fixed + bits.div_ceil(8) + bitmap,
        RecordForm::IndexLeaf => 1 + fixed + bits.div_ceil(8) + bitmap,
        RecordForm::IndexUpper => {
            let bitmap = if columns.iter().any(|column| column.is_nullable) { bitmap } else { 0 };
            1 + fixed + bits + CHILD_BYTES + bitmap
        }
    }
}

/// Values of records as ROW compression has them.
pub(super) fn shrunk(columns: &[RecordColumn<'_>]) -> Vec<Values> {
    columns.iter().map(|column| shrink(column.kind, column.values)).collect()
}

/// Bytes of each row's compressed record.
pub(super) fn compressed_lengths(form: RecordForm, shrunk: &[Values], rows: usize) -> Vec<u16> {
    let child = usize::from(form == RecordForm::IndexUpper);
    let count = shrunk.len() + child;
    let mut lengths = vec![(compressed_fixed_bytes(count) + child * CHILD_BYTES, false); rows];
    for values in shrunk {
        for ((bytes, any_long), value) in lengths.iter_mut().zip(values.iter()) {
            let length = value.map_or(0, <[u8]>::len);
            *bytes += cost(length);
            *any_long |= length > SHORT_LIMIT_BYTES;
        }
    }
    let long = long_header_bytes(count);
    let whole = |(bytes, any_long): (usize, bool)| if any_long { bytes + long } else { bytes };
    lengths.into_iter().map(|length| u16::try_from(whole(length)).unwrap_or(u16::MAX)).collect()
}

/// Bytes of a compressed record of so many columns without their values.
pub(super) fn compressed_fixed_bytes(columns: usize) -> usize {
    1 + if columns > 127 { 2 } else { 1 } + columns.div_ceil(2) + clusters(columns)
}

/// Bytes in front of long values.
pub(super) fn long_header_bytes(columns: usize) -> usize {
    3 + clusters(columns)
}

fn clusters(columns: usize) -> usize {
    columns.saturating_sub(1) / CLUSTER_COLUMNS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_long_as_the_published_estimates_say() {
        let texts: Values = [Some(b"x".repeat(209)), None].iter().map(|text| text.as_deref()).collect();
        let numbers: Values =
            [Some([1, 0, 0, 0]); 2].iter().map(|n| n.as_ref().map(<[u8; 4]>::as_slice)).collect();
        let int = RecordColumn { kind: StoredKind::Integer(4), is_nullable: false, values: &numbers };
        let kind = StoredKind::Variable { limit_bytes: Some(400), is_unicode: false };
        let text = RecordColumn { kind, is_nullable: true, values: &texts };
        // Header 4, two int, count and bitmap of 3 columns 3, count and end of a variable one 4, 209 bytes.
        assert_eq!(plain_lengths(RecordForm::Row, &[int, int, text], 2), [228, 15]);
        assert_eq!(plain_lengths(RecordForm::IndexLeaf, &[int, text], 2), [221, 8]);
        assert_eq!(plain_lengths(RecordForm::IndexUpper, &[int], 2), [11, 11]);
        // Header, count and descriptor 4, two numbers of a byte; 3 for long values, an end, 209 bytes.
        let shrunk = shrunk(&[int, int, text]);
        assert_eq!(compressed_lengths(RecordForm::Row, &shrunk, 2), [220, 6]);
    }
}
