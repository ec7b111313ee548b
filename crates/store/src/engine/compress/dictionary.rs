//! Finding values that are on a page more than once.

use super::cell::{self, Cell, LONG, SYMBOL};
use super::grid::{Grid, has_bytes};
use super::information::DICTIONARY_LIMIT;

/// Counts equal values of a grid; kept from page to page for its memory.
#[derive(Debug, Default)]
pub struct Dictionary {
    slots: Vec<Slot>,
    generation: u32,
    /// The slot of each cell that was counted, column by column.
    places: Vec<u32>,
    /// Columns that were counted.
    counted: Vec<usize>,
    /// Bytes of the entries, in the order of their symbols, and where each ends.
    entries: Vec<u8>,
    ends: Vec<usize>,
    /// How many pages each column is left out for, because it had no values twice.
    quiet: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The bytes of a short value, or the hash of a long one.
    word: u64,
    start: u32,
    generation: u32,
    length: u16,
    count: u16,
    /// Its symbol and one; 0: it has none.
    symbol: u16,
}

/// A cell that is not in the table.
const NOWHERE: u32 = u32::MAX;
/// Pages that a column without values that come twice is left out for.
const QUIET_PAGES: u8 = 15;

impl Dictionary {
    /// Puts symbols in the places of values that are worth it. [`entries`](Self::entries) has them then.
    pub fn apply(&mut self, grid: &mut Grid, rows: usize) {
        self.start(grid.columns.len(), rows);
        for column in 0..grid.columns.len() {
            match self.quiet.get_mut(column) {
                Some(quiet) if *quiet > 0 => *quiet -= 1,
                _ => self.count(grid, column),
            }
        }
        self.choose(&grid.data);
        let Self { slots, places, counted, quiet, .. } = self;
        for (column, places) in counted.iter().zip(places.chunks_exact(rows.max(1))) {
            let Some(cells) = grid.columns.get_mut(*column) else { continue };
            let mut found = 0;
            for ((code, word), place) in cells.codes.iter_mut().zip(&mut cells.words).zip(places) {
                let Some(slot) = slots.get(*place as usize) else { continue };
                if let Some(symbol) = slot.symbol.checked_sub(1) {
                    *code = SYMBOL;
                    *word = u64::from(symbol);
                    found += 1;
                }
            }
            if let (Some(quiet), true) = (quiet.get_mut(*column), 16 * found < rows) {
                *quiet = QUIET_PAGES;
            }
        }
    }

    /// The chosen values, by symbol.
    pub fn entries(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.entries.get(start..*end).unwrap_or_default())
    }

    fn start(&mut self, columns: usize, rows: usize) {
        self.quiet.resize(columns, 0);
        let wanted = (2 * columns * rows).next_power_of_two().clamp(1024, 1 << 14);
        if self.slots.len() < wanted || self.generation == u32::MAX {
            self.slots = vec![Slot::default(); wanted];
            self.generation = 0;
        }
        self.generation += 1;
        self.places.clear();
        self.counted.clear();
        self.entries.clear();
        self.ends.clear();
    }

    fn count(&mut self, grid: &Grid, column: usize) {
        let Self { slots, places, counted, generation, .. } = self;
        let Some(cells) = grid.columns.get(column) else { return };
        counted.push(column);
        let mask = slots.len() - 1;
        for (code, word) in cells.codes.iter().zip(&cells.words) {
            let cell = Cell { code: *code, word: *word };
            let length = cell.length();
            if length < 2 || !has_bytes(cell) {
                places.push(NOWHERE);
                continue;
            }
            let (start, _) = if *code == LONG { cell.place() } else { (0, 0) };
            let bytes =
                if *code == LONG { grid.data.get(start..start + length).unwrap_or_default() } else { &[] };
            let key = if *code == LONG { hash(bytes) } else { *word };
            let mixed = (key ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut at = (mixed >> 40) as usize & mask;
            let mut place = NOWHERE;
            for _ in 0..8 {
                let Some(slot) = slots.get_mut(at) else { break };
                if slot.generation != *generation {
                    *slot = Slot {
                        word: key,
                        start: start as u32,
                        generation: *generation,
                        length: length as u16,
                        count: 1,
                        symbol: 0,
                    };
                    place = at as u32;
                    break;
                }
                if slot.word == key && usize::from(slot.length) == length {
                    let known = slot.start as usize;
                    if *code != LONG || grid.data.get(known..known + length) == Some(bytes) {
                        slot.count = slot.count.saturating_add(1);
                        place = at as u32;
                        break;
                    }
                }
                at = (at + 1) & mask;
            }
            places.push(place);
        }
    }

    /// Gives symbols to what saves most.
    fn choose(&mut self, data: &[u8]) {
        let Self { slots, places, entries, ends, .. } = self;
        let mut gains: Vec<(usize, u32)> = Vec::new();
        for place in places.iter() {
            let Some(slot) = slots.get_mut(*place as usize) else { continue };
            // Each once: a symbol that is not known yet marks those that were seen.
            if slot.count < 2 || slot.symbol != 0 {
                continue;
            }
            slot.symbol = u16::MAX;
            let length = usize::from(slot.length);
            let cost = if length > cell::SHORT_LIMIT_BYTES { length + 2 } else { length };
            let (saved, spent) = (usize::from(slot.count) * (cost - 1), length + 2);
            if saved > spent {
                gains.push((saved - spent, *place));
            } else {
                slot.symbol = 0;
                slot.count = 0;
            }
        }
        if gains.len() > DICTIONARY_LIMIT {
            gains.select_nth_unstable_by(DICTIONARY_LIMIT, |left, right| right.cmp(left));
            for (_, place) in gains.drain(DICTIONARY_LIMIT..) {
                if let Some(slot) = slots.get_mut(place as usize) {
                    slot.symbol = 0;
                }
            }
        }
        gains.sort_unstable_by_key(|(_, place)| *place);
        for (symbol, (_, place)) in (1..).zip(&gains) {
            let Some(slot) = slots.get_mut(*place as usize) else { continue };
            slot.symbol = symbol;
            let (start, length) = (slot.start as usize, usize::from(slot.length));
            match length {
                0..=cell::SHORT_LIMIT_BYTES => entries.extend(slot.word.to_le_bytes().iter().take(length)),
                _ => entries.extend_from_slice(data.get(start..start + length).unwrap_or_default()),
            }
            ends.push(entries.len());
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = cell::pack(rest) ^ 0xA076_1D64_78BD_642F;
    for word in words {
        let product = u128::from(hash ^ u64::from_le_bytes(*word)) * 0xE703_7ED1_A0B4_28DB;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    hash
}
