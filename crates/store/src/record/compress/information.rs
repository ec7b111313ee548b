//! The information record of a compressed page, which has what its rows leave out.
//!
//! At byte 96: flags u8 (2 anchors, 4 dictionary), changes since the page was compressed u16, end of the anchors u16, with a dictionary
//! the end of all u16, then the anchors, a CD record, and the dictionary: number of its entries u16, their ends u16 from its start, their
//! bytes. Ends are counted from byte 96.

use std::borrow::Cow;

use super::anchor::{Anchor, from_end};
use super::cell::{Cell, LONG, NULL, SYMBOL, TRUE};
use super::grid::{Grid, GridColumn};
use super::record::{CdRecord, is_compressed, owned};
use super::row::{ROW_BUFFER_BYTES, room_bytes};
use super::writer::write_row;
use crate::page::{HAS_DICTIONARY, HEADER_BYTES, PAGE_BYTES, Page, information_bytes};
use crate::record::u16_at;

const HAS_ANCHORS: u8 = 2;
/// Entries of a dictionary at most: a symbol is a byte.
pub const DICTIONARY_LIMIT: usize = 256;

/// Anchors and dictionary of a page.
#[derive(Debug, Clone, Default)]
pub struct PageInformation<'p> {
    /// Anchors by column; None: nothing is left out of the column's values.
    anchors: Vec<Option<Anchor<'p>>>,
    entries: Vec<&'p [u8]>,
    bytes: usize,
}

impl<'p> PageInformation<'p> {
    /// Reads the record from a page. None if the page has none, or an invalid one.
    pub fn read(page: &'p [u8; PAGE_BYTES]) -> Option<Self> {
        let bytes = information_bytes(page)?;
        let all = page.get(HEADER_BYTES..HEADER_BYTES + bytes)?;
        let flags = *all.first()?;
        let anchors_end = usize::from(u16_at(all, 3)?);
        let mut information = Self { bytes, ..Self::default() };
        if flags & HAS_ANCHORS != 0 {
            let start = if flags & HAS_DICTIONARY != 0 { 7 } else { 5 };
            let record = CdRecord::parse(all.get(start..anchors_end)?)?;
            record.for_each(|_, cell, long| {
                let bytes = match cell.code {
                    NULL => None,
                    LONG => Some(Cow::Borrowed(long)),
                    _ => Some(Cow::Owned(
                        cell.word.to_le_bytes().iter().copied().take(cell.short_bytes()).collect(),
                    )),
                };
                information.anchors.push(bytes.map(Anchor::new));
            });
        }
        if flags & HAS_DICTIONARY != 0 {
            let dictionary = all.get(anchors_end..)?;
            let count = usize::from(u16_at(dictionary, 0)?);
            let mut start = 2 + 2 * count;
            for index in 0..count {
                let end = usize::from(u16_at(dictionary, 2 + 2 * index)?);
                information.entries.push(dictionary.get(start..end)?);
                start = end;
            }
        }
        Some(information)
    }

    /// Counts the bytes of the record.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts the entries of the dictionary.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Counts the columns with an anchor.
    pub fn anchors(&self) -> usize {
        self.anchors.iter().flatten().count()
    }

    /// Restores the whole value of a cell of a row of the page; bytes of a long one are appended to `data`.
    /// None if the cell refers to something that does not exist.
    #[inline]
    pub fn expand(&self, column: usize, cell: Cell, long: &[u8], data: &mut Vec<u8>) -> Option<Cell> {
        let anchor = self.anchors.get(column).and_then(Option::as_ref);
        if cell.code != SYMBOL && (anchor.is_none() || cell.code == NULL || cell.is_complex()) {
            return Some(owned(cell, long, data));
        }
        let word = cell.word.to_le_bytes();
        let stored = match cell.code {
            SYMBOL => *self.entries.get(cell.word as usize)?,
            LONG => long,
            TRUE => return None,
            _ => word.get(..cell.short_bytes())?,
        };
        match anchor {
            Some(anchor) => anchor.lengthen(stored, data),
            None => {
                let start = data.len();
                data.extend_from_slice(stored);
                Some(from_end(data, start))
            }
        }
    }

    /// Restores the whole record of a row of the page.
    pub fn expand_record(&self, record: &[u8]) -> Option<Vec<u8>> {
        self.rewrite(record, |column, cell, long, data| self.expand(column, cell, long, data))
    }

    /// Makes the record that a row has in the page.
    pub fn shorten_record(&self, record: &[u8]) -> Option<Vec<u8>> {
        self.rewrite(record, |column, cell, long, data| {
            let before = data.len();
            let cell = match self.anchors.get(column).and_then(Option::as_ref) {
                Some(anchor) => anchor.shorten(cell, long, data),
                None => owned(cell, long, data),
            };
            if cell.length() < 2 || cell.is_complex() || cell.code == SYMBOL {
                return Some(cell);
            }
            let word = cell.word.to_le_bytes();
            let stored = match cell.is_long() {
                true => data.get(before..)?,
                false => word.get(..cell.short_bytes())?,
            };
            let entry = self.entries.iter().position(|entry| *entry == stored);
            Some(entry.map_or(cell, |entry| Cell { code: SYMBOL, word: entry as u64 }))
        })
    }

    fn rewrite(
        &self,
        record: &[u8],
        each: impl Fn(usize, Cell, &[u8], &mut Vec<u8>) -> Option<Cell>,
    ) -> Option<Vec<u8>> {
        let parsed = CdRecord::parse(record)?;
        let mut grid = Grid::new(parsed.columns);
        let mut damaged = false;
        parsed.for_each(|column, cell, long| {
            let cell = each(column, cell, long, &mut grid.data);
            damaged |= cell.is_none();
            if let Some(column) = grid.columns.get_mut(column) {
                column.push(cell.unwrap_or(Cell::NULL));
            }
        });
        if damaged || grid.data.len() > 4 * PAGE_BYTES {
            return None;
        }
        let mut out = vec![0; room_bytes(grid.columns.len(), grid.data.len())];
        let length = write_row(&grid.views(), 0, &mut out);
        out.truncate(length);
        if super::record::is_index(record) {
            super::record::mark_index(&mut out);
        }
        match super::record::forwarded_from(record) {
            Some(home) => super::record::forwarded(&out, home),
            None => Some(out),
        }
    }
}

/// Writes information records; kept for its memory.
#[derive(Debug, Default)]
pub struct InformationWriter {
    bytes: Vec<u8>,
    anchors: Grid,
    record: Vec<u8>,
}

impl InformationWriter {
    /// Writes a record from anchors by column and entries of the dictionary. False if it is empty, or larger than a page.
    pub fn write<'a>(
        &mut self,
        anchors: impl Iterator<Item = Option<&'a [u8]>>,
        entries: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> bool {
        self.bytes.clear();
        let done = self.put(anchors, entries);
        if done.is_none() {
            self.bytes.clear();
        }
        done.is_some()
    }

    /// Returns the bytes of the record that was written last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn put<'a>(
        &mut self,
        anchors: impl Iterator<Item = Option<&'a [u8]>>,
        entries: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Option<()> {
        let Self { bytes: out, anchors: grid, record } = self;
        grid.clear();
        let (mut columns, mut has_anchors) = (0, false);
        for anchor in anchors {
            has_anchors |= anchor.is_some();
            if grid.columns.len() == columns {
                grid.columns.push(GridColumn::default());
            }
            let cell = anchor.map_or(Cell::NULL, |anchor| {
                let start = grid.data.len();
                grid.data.extend_from_slice(anchor);
                from_end(&mut grid.data, start)
            });
            grid.columns.get_mut(columns)?.push(cell);
            columns += 1;
        }
        grid.columns.truncate(columns);
        let count = entries.clone().count();
        let mut flags = if has_anchors { HAS_ANCHORS } else { 0 };
        flags |= if count > 0 { HAS_DICTIONARY } else { 0 };
        if flags == 0 {
            return None;
        }
        out.extend_from_slice(&[flags, 0, 0, 0, 0]);
        if count > 0 {
            out.extend_from_slice(&[0, 0]);
        }
        if has_anchors {
            record.resize(ROW_BUFFER_BYTES + grid.data.len(), 0);
            let length = write_row(&grid.views(), 0, record);
            out.extend_from_slice(record.get(..length)?);
        }
        let end = u16::try_from(out.len()).ok()?;
        out.get_mut(3..5)?.copy_from_slice(&end.to_le_bytes());
        if count > 0 {
            let mut at = 2 + 2 * count;
            out.extend_from_slice(&u16::try_from(count).ok()?.to_le_bytes());
            for entry in entries.clone() {
                at += entry.len();
                out.extend_from_slice(&u16::try_from(at).ok()?.to_le_bytes());
            }
            entries.for_each(|entry| out.extend_from_slice(entry));
            let size = u16::try_from(out.len()).ok()?;
            out.get_mut(5..7)?.copy_from_slice(&size.to_le_bytes());
        }
        Some(())
    }
}

impl Page {
    /// Reads the complete row in a slot, with the values that it shares with other rows of a compressed page.
    /// Keys and values are read from it. None if there is no row, or it cannot be read.
    pub fn record(&self, slot: u16) -> Option<Cow<'_, [u8]>> {
        let row = self.row(slot)?;
        if !self.is_compressed() || !is_compressed(row) {
            return Some(Cow::Borrowed(row));
        }
        PageInformation::read(self.bytes())?.expand_record(row).map(Cow::Owned)
    }

    /// Returns the bytes of a record in this page; in a compressed page they leave out what the record
    /// shares. None if it cannot be read.
    pub fn stored<'a>(&self, record: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if !self.is_compressed() || !is_compressed(record) {
            return Some(Cow::Borrowed(record));
        }
        PageInformation::read(self.bytes())?.shorten_record(record).map(Cow::Owned)
    }

    /// Makes an empty page a compressed one with the same information as another, so that rows can move there as they are.
    pub fn share_information(&mut self, with: &Self) -> bool {
        let Some(size) = information_bytes(with.bytes()).filter(|_| self.slot_count() == 0) else {
            return false;
        };
        let Some(bytes) = with.bytes().get(HEADER_BYTES..HEADER_BYTES + size) else { return false };
        self.set_information(bytes)
    }

    /// Makes an empty page a compressed one.
    pub(super) fn set_information(&mut self, information: &[u8]) -> bool {
        let bytes = self.bytes_mut();
        let Some(place) = bytes.get_mut(HEADER_BYTES..HEADER_BYTES + information.len()) else { return false };
        place.copy_from_slice(information);
        let free = crate::page::CAPACITY_BYTES - information.len();
        crate::page::set_compressed(bytes);
        crate::page::set_fill(bytes, 0, HEADER_BYTES + information.len(), free);
        true
    }
}
