//! Finding values that are on a page more than once.

use super::cell::{self, Cell, LONG, SHORT_LIMIT_BYTES};
use super::grid::{CellView, INLINE, WHOLE};
use super::information::DICTIONARY_LIMIT;
use super::row::{head_bytes, is_pointer};

/// Counts equal values of a page; kept from page to page for its memory, and for what it has learnt of the columns.
#[derive(Debug, Default)]
pub struct Dictionary {
    /// Numbers of entries and one, by hash; 0: none.
    slots: Vec<u16>,
    /// The different values.
    entries: Vec<Entry>,
    /// The entry of each value that was counted, column by column; [`NOWHERE`]: none.
    places: Vec<u16>,
    /// Columns that were counted.
    counted: Vec<usize>,
    /// Bytes of the chosen values, in the order of their symbols, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    gains: Vec<(usize, usize)>,
    /// How many pages each column is left out for, because it had no values twice.
    quiet: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    value: Stored,
    /// Column in which it was found first: where its bytes are.
    column: u16,
    count: u16,
    /// Its symbol and one; 0: it has none.
    symbol: u16,
}

/// A value as the page would have it.
#[derive(Debug, Clone, Copy)]
struct Stored {
    /// The bytes of a short value, or the hash of a long one.
    key: u64,
    /// Its length in bytes, and its head in the upper half; see [`CellView::heads`].
    tag: u32,
    /// Of a long value: where the bytes behind the head are.
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

impl Dictionary {
    /// Counts the values of some rows and chooses those that are worth a symbol. True: there are some.
    pub fn build(&mut self, views: &[CellView<'_>], rows: usize) -> bool {
        self.start(views.len(), rows);
        for (column, view) in views.iter().enumerate() {
            match self.quiet.get_mut(column) {
                Some(quiet) if *quiet > 0 => {}
                _ => {
                    self.counted.push(column);
                    self.count(column, view, views);
                    // So that each column has as many places as there are rows.
                    self.places.resize(self.counted.len() * rows, NOWHERE);
                }
            }
        }
        self.choose(views);
        !self.ends.is_empty()
    }

    /// Columns that were counted, and the symbols of their rows.
    pub fn columns(&self, rows: usize) -> impl Iterator<Item = (usize, Symbols<'_>)> {
        let places = self.places.chunks_exact(rows.max(1));
        self.counted
            .iter()
            .zip(places)
            .map(|(column, places)| (*column, Symbols { places, entries: &self.entries }))
    }

    /// Learns from a page of so many rows that is done: columns in which few values `found` a symbol are left out for a while.
    pub fn learn(&mut self, rows: usize, found: impl Fn(usize) -> usize) {
        self.quiet.iter_mut().for_each(|quiet| *quiet = quiet.saturating_sub(1));
        let Self { counted, quiet, .. } = self;
        for column in counted {
            if let (Some(quiet), true) = (quiet.get_mut(*column), 16 * found(*column) < rows) {
                *quiet = QUIET_PAGES;
            }
        }
    }

    /// The symbol and one of a value; 0: it has none.
    pub fn find(&self, view: &CellView<'_>, row: usize, views: &[CellView<'_>]) -> u16 {
        let Some(value) = stored(view.cell(row), view, row) else { return 0 };
        let mask = self.slots.len() - 1;
        let first = slot_of(&value);
        for at in first..first + PROBES {
            let number = usize::from(self.slots.get(at & mask).copied().unwrap_or(0));
            let Some(entry) = number.checked_sub(1).and_then(|number| self.entries.get(number)) else {
                return 0;
            };
            if entry.is(&value, view, views) {
                return entry.symbol;
            }
        }
        0
    }

    /// The chosen values, by symbol.
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

    fn count(&mut self, column: usize, view: &CellView<'_>, views: &[CellView<'_>]) {
        let Self { slots, entries, places, .. } = self;
        let mut last = (Cell::NULL, NOWHERE);
        let before = places.len();
        places.resize(before + view.codes.len(), NOWHERE);
        let own = places.iter_mut().skip(before).zip(view.codes.iter().zip(view.words));
        for (row, (place, (code, word))) in own.enumerate() {
            let cell = Cell { code: *code, word: *word };
            // Runs of equal values are common, and need no search. (Places of long values are different.)
            if cell == last.0
                && let Some(entry) = entries.get_mut(usize::from(last.1))
            {
                entry.count = entry.count.saturating_add(1);
                *place = last.1;
                continue;
            }
            let Some(value) = stored(cell, view, row) else { continue };
            *place = entry_of(value, column, view, views, slots, entries);
            if *code != LONG {
                last = (cell, *place);
            }
        }
    }

    /// Gives symbols to what saves most.
    fn choose(&mut self, views: &[CellView<'_>]) {
        let Self { entries, bytes, ends, gains, .. } = self;
        gains.clear();
        for (number, entry) in entries.iter().enumerate() {
            let length = entry.value.length();
            let cost = if length > SHORT_LIMIT_BYTES { length + 2 } else { length };
            let (saved, spent) = (usize::from(entry.count) * (cost - 1), length + 2);
            if entry.count > 1 && saved > spent {
                gains.push((saved - spent, number));
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

/// Symbols of the rows of a column.
#[derive(Debug, Clone, Copy)]
pub struct Symbols<'d> {
    places: &'d [u16],
    entries: &'d [Entry],
}

impl Symbols<'_> {
    /// By row, each with one added; 0: the value stays.
    pub fn iter(&self) -> impl Iterator<Item = u16> + Clone {
        self.places.iter().map(|place| self.entries.get(usize::from(*place)).map_or(0, |entry| entry.symbol))
    }
}

impl Entry {
    /// Whether it is this value, which is one of `view`.
    #[inline(always)]
    fn is(&self, value: &Stored, view: &CellView<'_>, views: &[CellView<'_>]) -> bool {
        (self.value.key, self.value.tag) == (value.key, value.tag)
            && (!value.has_tail()
                || views.get(usize::from(self.column)).map(|view| self.value.tail(view))
                    == Some(value.tail(view)))
    }
}

/// The number of the entry of a value that occurs once more, a new one if it is the first. [`NOWHERE`]: there is no room for it.
#[inline(always)]
fn entry_of(
    value: Stored,
    column: usize,
    view: &CellView<'_>,
    views: &[CellView<'_>],
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
            entries.push(Entry { value, column: column as u16, count: 1, symbol: 0 });
            *slot = entries.len() as u16;
            return *slot - 1;
        };
        if let Some(entry) = entries.get_mut(usize::from(number))
            && entry.is(&value, view, views)
        {
            entry.count = entry.count.saturating_add(1);
            return number;
        }
    }
    NOWHERE
}

impl Stored {
    fn new(key: u64, length: u16, head: u16, start: u32) -> Self {
        Self { key, tag: u32::from(length) | (u32::from(head) << 16), start }
    }

    /// Of all of its bytes.
    fn length(&self) -> usize {
        usize::from(self.tag as u16)
    }

    fn head(&self) -> u16 {
        (self.tag >> 16) as u16
    }

    /// Whether some of its bytes are not in its key.
    fn has_tail(&self) -> bool {
        self.length() > SHORT_LIMIT_BYTES && self.head() != INLINE
    }

    fn head_bytes(&self) -> ([u8; 2], usize) {
        match self.head() {
            WHOLE => ([0; 2], 0),
            same => head_bytes(same.into()),
        }
    }

    /// Its bytes behind the head.
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

/// A value that may be worth a symbol; None: nothing that takes two bytes, or a pointer.
#[inline(always)]
fn stored(cell: Cell, view: &CellView<'_>, row: usize) -> Option<Stored> {
    if cell.code != LONG {
        let length = cell::few_bytes(cell.code);
        return (length > 1).then_some(Stored::new(cell.word, length.into(), WHOLE, 0));
    }
    let head = view.heads.get(row).copied().unwrap_or(WHOLE);
    if head == INLINE {
        return Some(Stored::new(cell.word, 9, head, 0));
    }
    if is_pointer(cell, head) {
        return None;
    }
    let (start, length) = cell.place();
    let head_length = if head == WHOLE { 0 } else { head_bytes(head.into()).1 };
    let key = hash(view.long(cell), head);
    Some(Stored::new(key, u16::try_from(length + head_length).ok()?, head, start as u32))
}

#[inline]
fn slot_of(value: &Stored) -> usize {
    let mixed = (value.key ^ (u64::from(value.tag) << 56)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 44) as usize
}

fn hash(bytes: &[u8], head: u16) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    // The last eight bytes, some of them once more.
    let last = bytes.last_chunk::<8>().map_or_else(|| cell::pack(rest), |last| u64::from_le_bytes(*last));
    let mut hash = last ^ 0xA076_1D64_78BD_642F ^ u64::from(head);
    for word in words {
        let product = u128::from(hash ^ u64::from_le_bytes(*word)) * 0xE703_7ED1_A0B4_28DB;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    hash
}
