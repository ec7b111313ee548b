//! Finding values that are on a page more than once.

use std::ops::Range;

use super::cell::{self, Cell, LONG, SHORT_LIMIT_BYTES};
use super::grid::{CellView, INLINE, WHOLE};
use super::information::DICTIONARY_LIMIT;
use super::row::{head_bytes, is_pointer};
use crate::page::CAPACITY_BYTES;

/// Counts equal values of a page; kept from page to page for its memory, and for what it has learnt of the columns.
#[derive(Debug, Default)]
pub struct Dictionary {
    /// Numbers of entries and one, by hash; 0: none.
    slots: Vec<u16>,
    /// The different values.
    entries: Vec<Entry>,
    /// The entry of each value that was counted, column by column; [`NOWHERE`]: none.
    places: Vec<u16>,
    /// Columns that were counted, and where their places are.
    counted: Vec<(usize, Range<usize>)>,
    /// Bytes of the chosen values, in the order of their symbols; `ends` has the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    gains: Vec<(usize, usize)>,
    /// Number of pages for which each column is left out, because it had no values twice.
    quiet: Vec<u8>,
    /// Bytes that values of each column saved.
    saved: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    value: Stored,
    /// Column in which it was found first: where its bytes are.
    column: u16,
    count: u16,
    /// Symbol of the value, plus one; 0: it has none.
    symbol: u16,
}

impl Entry {
    /// Counts the bytes that a symbol for the value saves. None: it saves nothing.
    fn gain(&self) -> Option<usize> {
        let length = self.value.length();
        let cost = if length > SHORT_LIMIT_BYTES { length + 2 } else { length };
        (usize::from(self.count) * (cost - 1)).checked_sub(length + 2).filter(|gain| *gain > 0)
    }
}

/// A value as the page would have it.
#[derive(Debug, Clone, Copy)]
struct Stored {
    /// The bytes of a short value, or the hash of a long one.
    key: u64,
    /// Length of the value in bytes, and its head in the upper half; see [`CellView::heads`].
    tag: u32,
    /// Start of the bytes behind the head, for a long value.
    start: u32,
}

/// A value that has no entry.
const NOWHERE: u16 = u16::MAX;
/// Entries at most.
const ENTRY_LIMIT: usize = NOWHERE as usize - 1;
/// Slots that are looked at for a value.
const PROBES: usize = 8;
/// Pages that a column without values that come twice is left out for.
const QUIET_PAGES: u8 = 15;
/// Bytes of a page that a column is to save: a fiftieth.
const LEAST_SAVED_BYTES: usize = CAPACITY_BYTES / 50;

impl Dictionary {
    /// Counts the values of some rows and chooses those that are worth a symbol. Returns whether there are any. `counts` has by
    /// column how many rows each value stands for; without it each stands for one.
    pub fn build(&mut self, views: &[CellView<'_>], counts: &[&[u16]], rows: usize) -> bool {
        self.start(views.len(), rows);
        for (column, (view, counts)) in views.iter().zip(counts).enumerate() {
            if self.quiet.get(column) == Some(&0) {
                let before = self.places.len();
                self.count(column, view, counts, views);
                self.counted.push((column, before..self.places.len()));
            }
        }
        self.choose(views);
        !self.ends.is_empty()
    }

    /// Lists the columns that were counted, and the symbols of their values.
    pub fn columns(&self) -> impl Iterator<Item = (usize, Symbols<'_>)> {
        self.counted.iter().map(|(column, places)| {
            let places = self.places.get(places.clone()).unwrap_or_default();
            (*column, Symbols { places, entries: &self.entries })
        })
    }

    /// Learns from a page of `rows` rows that is done: columns in which few values `found` a symbol, and that
    /// saved little, are left out for a while.
    pub fn learn(&mut self, rows: usize, found: impl Fn(usize) -> usize) {
        self.quiet.iter_mut().for_each(|quiet| *quiet = quiet.saturating_sub(1));
        let Self { counted, entries, quiet, saved, .. } = self;
        saved.clear();
        saved.resize(quiet.len(), 0);
        for entry in entries.iter().filter(|entry| entry.symbol > 0) {
            if let (Some(saved), Some(gain)) = (saved.get_mut(usize::from(entry.column)), entry.gain()) {
                *saved += gain;
            }
        }
        for (column, _) in counted {
            let little = saved.get(*column).is_none_or(|saved| *saved < LEAST_SAVED_BYTES);
            if let (Some(quiet), true) = (quiet.get_mut(*column), little && 8 * found(*column) < rows) {
                *quiet = QUIET_PAGES;
            }
        }
    }

    /// Returns the symbol of a value plus one; 0 if it has none.
    pub fn find(&self, view: &CellView<'_>, row: usize, views: &[CellView<'_>]) -> u16 {
        let cell = view.cell(row);
        let value = if cell.is_long() { Stored::long(cell, view, row) } else { Stored::short(cell) };
        let Some(value) = value else { return 0 };
        let tail = |of: &Entry| views.get(usize::from(of.column)).map(|view| of.value.tail(view));
        let mask = self.slots.len() - 1;
        let first = slot_of(&value);
        for at in first..first + PROBES {
            let number = usize::from(self.slots.get(at & mask).copied().unwrap_or(0));
            let Some(entry) = number.checked_sub(1).and_then(|number| self.entries.get(number)) else {
                return 0;
            };
            if (entry.value.key, entry.value.tag) == (value.key, value.tag)
                && (!value.has_tail() || tail(entry) == Some(value.tail(view)))
            {
                return entry.symbol;
            }
        }
        0
    }

    /// Lists the chosen values, by symbol.
    pub fn entries(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }

    fn start(&mut self, columns: usize, rows: usize) {
        self.quiet.resize(columns, 0);
        let counted = self.quiet.iter().filter(|quiet| **quiet == 0).count();
        let wanted = (2 * counted * rows).next_power_of_two().clamp(256, 1 << 15);
        self.slots.clear();
        self.slots.resize(wanted, 0);
        self.entries.clear();
        self.places.clear();
        self.counted.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    fn count(&mut self, column: usize, view: &CellView<'_>, counts: &[u16], views: &[CellView<'_>]) {
        let Self { slots, entries, places, .. } = self;
        let mut last = (Cell::NULL, NOWHERE);
        let before = places.len();
        places.resize(before + view.codes.len(), NOWHERE);
        let own = places.iter_mut().skip(before).zip(view.codes.iter().zip(view.words));
        for (row, (place, (code, word))) in own.enumerate() {
            let cell = Cell { code: *code, word: *word };
            let count = counts.get(row).copied().unwrap_or(1);
            // Runs of equal values are common, and need no search. (Places of long values are different.)
            if cell == last.0
                && let Some(entry) = entries.get_mut(usize::from(last.1))
            {
                entry.count = entry.count.saturating_add(count);
                *place = last.1;
                continue;
            }
            if *code == LONG {
                let Some(value) = Stored::long(cell, view, row) else { continue };
                let tail = |of: &Entry| views.get(usize::from(of.column)).map(|view| of.value.tail(view));
                let alike = |of: &Entry| !value.has_tail() || tail(of) == Some(value.tail(view));
                *place = entry_of(value, (column, count), alike, slots, entries);
            } else {
                let Some(value) = Stored::short(cell) else { continue };
                *place = entry_of(value, (column, count), |_| true, slots, entries);
                last = (cell, *place);
            }
        }
    }

    /// Gives symbols to what saves most.
    fn choose(&mut self, views: &[CellView<'_>]) {
        let Self { entries, bytes, ends, gains, .. } = self;
        gains.clear();
        for (number, entry) in entries.iter().enumerate() {
            if entry.count > 1
                && let Some(gain) = entry.gain()
            {
                gains.push((gain, number));
            }
        }
        if gains.len() > DICTIONARY_LIMIT {
            gains.select_nth_unstable_by(DICTIONARY_LIMIT, |left, right| right.cmp(left));
            gains.truncate(DICTIONARY_LIMIT);
            gains.sort_unstable_by_key(|(_, number)| *number);
        }
        for (symbol, (_, number)) in (1..).zip(gains.iter()) {
            let Some(entry) = entries.get_mut(*number) else { continue };
            entry.symbol = symbol;
            entry.value.put(views.get(usize::from(entry.column)), bytes);
            ends.push(bytes.len());
        }
    }
}

/// Symbols of the values of a column.
#[derive(Debug, Clone, Copy)]
pub struct Symbols<'d> {
    places: &'d [u16],
    entries: &'d [Entry],
}

impl Symbols<'_> {
    /// Lists each symbol plus one; 0 if the value stays.
    pub fn iter(&self) -> impl Iterator<Item = u16> + Clone {
        self.places.iter().map(|place| self.entries.get(usize::from(*place)).map_or(0, |entry| entry.symbol))
    }
}

/// Returns the number of the entry of a value that occurs `count` times more, a new one if it is the first.
/// [`NOWHERE`]: there is no room for it. `alike` returns true if an entry with the same key and length is the
/// same value.
#[inline(always)]
fn entry_of(
    value: Stored,
    (column, count): (usize, u16),
    alike: impl Fn(&Entry) -> bool,
    slots: &mut [u16],
    entries: &mut Vec<Entry>,
) -> u16 {
    let mask = slots.len() - 1;
    let first = slot_of(&value);
    for at in first..first + PROBES {
        let Some(slot) = slots.get_mut(at & mask) else { break };
        let Some(number) = slot.checked_sub(1) else {
            if entries.len() >= ENTRY_LIMIT {
                break;
            }
            entries.push(Entry { value, column: column as u16, count, symbol: 0 });
            *slot = entries.len() as u16;
            return *slot - 1;
        };
        if let Some(entry) = entries.get_mut(usize::from(number))
            && (entry.value.key, entry.value.tag) == (value.key, value.tag)
            && alike(entry)
        {
            entry.count = entry.count.saturating_add(count);
            return number;
        }
    }
    NOWHERE
}

impl Stored {
    /// Keeps a value in its word; None: it takes less than two bytes.
    #[inline(always)]
    fn short(cell: Cell) -> Option<Self> {
        let length = cell::few_bytes(cell.code);
        (length > 1).then_some(Self::new(cell.word, length.into(), WHOLE, 0))
    }

    /// Keeps a long value; None: it is a pointer.
    #[inline]
    fn long(cell: Cell, view: &CellView<'_>, row: usize) -> Option<Self> {
        let head = view.heads.get(row).copied().unwrap_or(WHOLE);
        if head == INLINE {
            return Some(Self::new(cell.word, 9, head, 0));
        }
        if is_pointer(cell, head) {
            return None;
        }
        let (start, length) = cell.place();
        let head_length = if head == WHOLE { 0 } else { head_bytes(head.into()).1 };
        let key = hash(view.long(cell), head);
        Some(Self::new(key, u16::try_from(length + head_length).ok()?, head, start as u32))
    }

    fn new(key: u64, length: u16, head: u16, start: u32) -> Self {
        Self { key, tag: u32::from(length) | (u32::from(head) << 16), start }
    }

    /// Returns the length of the whole value in bytes.
    fn length(&self) -> usize {
        usize::from(self.tag as u16)
    }

    fn head(&self) -> u16 {
        (self.tag >> 16) as u16
    }

    /// Returns true if some bytes of the value are not in its key.
    fn has_tail(&self) -> bool {
        self.length() > SHORT_LIMIT_BYTES && self.head() != INLINE
    }

    fn head_bytes(&self) -> ([u8; 2], usize) {
        match self.head() {
            WHOLE => ([0; 2], 0),
            same => head_bytes(same.into()),
        }
    }

    /// Returns the value's bytes behind the head.
    fn tail<'v>(&self, view: &CellView<'v>) -> &'v [u8] {
        let (start, length) = (self.start as usize, self.length() - self.head_bytes().1);
        view.data.get(start..start + length).unwrap_or_default()
    }

    /// Appends all of its bytes.
    fn put(&self, view: Option<&CellView<'_>>, out: &mut Vec<u8>) {
        let key = self.key.to_le_bytes();
        if !self.has_tail() {
            if self.head() == INLINE {
                out.push(0);
            }
            out.extend(key.into_iter().take(self.length()));
            return;
        }
        let (head, count) = self.head_bytes();
        out.extend(head.into_iter().take(count));
        out.extend_from_slice(view.map_or(&[], |view| self.tail(view)));
    }
}

#[inline]
fn slot_of(value: &Stored) -> usize {
    let mixed = (value.key ^ (u64::from(value.tag) << 56)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 44) as usize
}

/// Hashes the first, the middle and the last eight bytes. Values that differ only elsewhere share a slot.
pub fn hash(bytes: &[u8], head: u16) -> u64 {
    let word =
        |chunk: Option<&[u8; 8]>| chunk.map_or_else(|| cell::pack(bytes), |chunk| u64::from_le_bytes(*chunk));
    let middle = bytes.get((bytes.len() / 2).saturating_sub(4)..).and_then(<[u8]>::first_chunk);
    let (first, last) = (word(bytes.first_chunk()), word(bytes.last_chunk()));
    let mixed = (first ^ u64::from(head)).wrapping_mul(0xE703_7ED1_A0B4_28DB).rotate_left(29) ^ word(middle);
    let mixed = mixed.wrapping_mul(0xA076_1D64_78BD_642F).rotate_left(31) ^ last;
    mixed ^ (mixed >> 32)
}
