//! Values that leave their rows: pieces of them fill pages of their own.

use super::{
    page::{CAPACITY_BYTES, SLOT_BYTES},
    record::{RecordColumn, RecordForm, plain_lengths},
    sample::Values,
    stored_kind::{Place, StoredKind},
};

/// Bytes of a row, and of a value in it, at most.
const ROW_LIMIT_BYTES: usize = 8060;
const VALUE_LIMIT_BYTES: usize = 8000;
/// The bytes of the pointer that replaces an overflowing value in its row.
const POINTER_BYTES: usize = 24;
/// A pointer: its root, and up to five links.
const ROOT_BYTES: usize = 12;
const LINK_BYTES: usize = 12;
const ROOT_LINKS: usize = 5;
/// Bytes of a value in a piece, what is in front of them, and links of a piece that leads to others.
const PIECE_BYTES: usize = 8040;
const PIECE_HEADER_BYTES: usize = 14;
const NODE_LINKS: usize = 500;

/// Pages of pieces of one kind, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pieces {
    pub pages: f64,
    pub bytes: f64,
    free: usize,
}

impl Pieces {
    fn put(&mut self, body: usize) {
        let needed = PIECE_HEADER_BYTES + body + SLOT_BYTES;
        if needed > self.free {
            self.pages += 1.0;
            self.free = CAPACITY_BYTES;
        }
        self.free = self.free.saturating_sub(needed);
        self.bytes += needed as f64;
    }
}

/// The values that are stored outside of their rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Moved {
    /// Values of columns with a length, of rows that are too long.
    pub overflow: Pieces,
    /// Values of columns without one, and the pieces that lead to theirs.
    pub large: Pieces,
    pub nodes: Pieces,
}

/// Moves values out of rows that are too long; `columns` keep pointers in their places. Those of the key stay.
pub(super) fn move_out(
    columns: &mut [(StoredKind, bool, std::borrow::Cow<'_, Values>)],
    key: &[(usize, bool)],
    rows: usize,
) -> Moved {
    let mut moved = Moved::default();
    let records: Vec<RecordColumn<'_>> = columns
        .iter()
        .map(|(kind, is_nullable, values)| RecordColumn { kind: *kind, is_nullable: *is_nullable, values })
        .collect();
    let lengths = plain_lengths(RecordForm::Row, &records, rows);
    drop(records);
    let mut pointers: Vec<(usize, usize, Vec<u8>)> = Vec::new();
    for (row, length) in
        lengths.iter().enumerate().filter(|(_, length)| usize::from(**length) > VALUE_LIMIT_BYTES)
    {
        let mut length = whole_length(columns, row, usize::from(*length));
        let mut candidates: Vec<(bool, usize, usize, bool)> = columns
            .iter()
            .enumerate()
            .filter(|(column, _)| !key.iter().any(|(of_key, _)| of_key == column))
            .filter_map(|(column, (kind, _, values))| {
                let bytes = values.get(row)?.len();
                let is_variable = kind.place() == Place::Variable && bytes > POINTER_BYTES;
                let has_limit = matches!(kind, StoredKind::Variable { limit_bytes: Some(_), .. });
                is_variable.then_some((bytes > VALUE_LIMIT_BYTES, bytes, column, has_limit))
            })
            .collect();
        candidates.sort_by(|one, other| other.cmp(one));
        for (must_move, bytes, column, has_limit) in candidates {
            if length <= ROW_LIMIT_BYTES && !must_move {
                break;
            }
            let pointer = moved.put(bytes, has_limit);
            length = length.saturating_sub(bytes) + pointer;
            // Pointers differ, as addresses do.
            let mut stored = vec![0xA5; pointer];
            stored.iter_mut().zip((row as u64).to_le_bytes()).for_each(|(place, byte)| *place = byte);
            pointers.push((column, row, stored));
        }
    }
    for (column, (_, _, values)) in columns.iter_mut().enumerate() {
        let mut own = pointers.iter().filter(|(of, ..)| *of == column).peekable();
        if own.peek().is_none() {
            continue;
        }
        let mut replaced = Values::default();
        for row in 0..values.len() {
            match own.next_if(|(_, of, _)| *of == row) {
                Some((_, _, pointer)) => replaced.push(Some(pointer)),
                None => replaced.push(values.get(row)),
            }
        }
        *values = std::borrow::Cow::Owned(replaced);
    }
    moved
}

/// Returns the length of a row that may be longer than a record can say.
fn whole_length(
    columns: &[(StoredKind, bool, std::borrow::Cow<'_, Values>)],
    row: usize,
    length: usize,
) -> usize {
    if length < usize::from(u16::MAX) {
        return length;
    }
    columns.iter().map(|(_, _, values)| values.get(row).map_or(0, <[u8]>::len)).sum()
}

impl Moved {
    /// Puts a value into pieces; the bytes of its pointer.
    fn put(&mut self, bytes: usize, overflows: bool) -> usize {
        let mut links = bytes.div_ceil(PIECE_BYTES).max(1);
        let pieces = if overflows { &mut self.overflow } else { &mut self.large };
        for piece in 0..links {
            pieces.put(PIECE_BYTES.min(bytes - piece * PIECE_BYTES));
        }
        while links > ROOT_LINKS {
            for node in 0..links.div_ceil(NODE_LINKS) {
                self.nodes.put(LINK_BYTES * NODE_LINKS.min(links - node * NODE_LINKS));
            }
            links = links.div_ceil(NODE_LINKS);
        }
        ROOT_BYTES + links * LINK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn the_longest_values_leave_a_row_that_is_too_long() {
        let limited = StoredKind::Variable { limit_bytes: Some(8000), is_unicode: false };
        let large = StoredKind::Variable { limit_bytes: None, is_unicode: false };
        let values = |bytes: usize| {
            let value = vec![1; bytes];
            let values: Values = [Some(value.as_slice())].into_iter().collect();
            Cow::Owned(values)
        };
        let mut columns =
            [(limited, true, values(5000)), (limited, true, values(4000)), (large, true, values(100_000))];
        let moved = move_out(&mut columns, &[], 1);
        assert_eq!((moved.overflow.pages, moved.large.pages, moved.nodes.pages), (1.0, 13.0, 1.0));
        let lengths: Vec<usize> =
            columns.iter().map(|(_, _, values)| values.get(0).unwrap_or_default().len()).collect();
        assert_eq!(lengths, [24, 4000, 24]);
    }
}
