//! The different values of a column that has few of them on a page.

use super::cell::{Cell, LONG, NULL};
use super::dictionary::hash;
use super::grid::CellView;

/// The different values of a column, and which of them each row has; kept from page to page for its memory.
#[derive(Debug)]
pub struct Distinct {
    /// Numbers of values and one, by hash; 0: none.
    slots: [u8; SLOTS],
    codes: [u8; VALUE_LIMIT],
    words: [u64; VALUE_LIMIT],
    counts: [u16; VALUE_LIMIT],
    /// Number of distinct values found.
    count: usize,
    places: Vec<u8>,
}

const SLOTS: usize = 256;
/// Greatest number of distinct values of a column.
const VALUE_LIMIT: usize = 64;
const LEAST_ROWS_EACH: usize = 4;
/// Slots that are looked at for a value.
const PROBES: u8 = 8;

impl Default for Distinct {
    fn default() -> Self {
        Self {
            slots: [0; SLOTS],
            codes: [0; VALUE_LIMIT],
            words: [0; VALUE_LIMIT],
            counts: [0; VALUE_LIMIT],
            count: 0,
            places: Vec::new(),
        }
    }
}

impl Distinct {
    /// Finds the distinct values. False if there are too many.
    pub fn find(&mut self, view: &CellView<'_>) -> bool {
        self.slots = [0; SLOTS];
        self.counts = [0; VALUE_LIMIT];
        self.count = 0;
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        places.resize(view.codes.len(), 0);
        let found = self.find_all(view, &mut places);
        self.places = places;
        found.is_some()
    }

    /// Returns the distinct values, as a view of the column in which they were found.
    pub fn view<'v>(&'v self, of: &CellView<'v>) -> CellView<'v> {
        let codes = self.codes.get(..self.count).unwrap_or_default();
        let words = self.words.get(..self.count).unwrap_or_default();
        CellView { codes, words, heads: &[], costs: &[], ..*of }
    }

    /// Returns the number of rows that have each value.
    pub fn counts(&self) -> &[u16] {
        self.counts.get(..self.count).unwrap_or_default()
    }

    /// Returns the value of each row.
    pub fn places(&self) -> &[u8] {
        &self.places
    }

    /// Returns the value that takes most bytes in all rows together.
    pub fn heaviest(&self) -> Cell {
        let cells = self.codes.iter().zip(&self.words).zip(self.counts());
        let cells = cells.map(|((code, word), count)| (Cell { code: *code, word: *word }, *count));
        let heaviest = cells.max_by_key(|(cell, count)| cell.length() * usize::from(*count));
        heaviest.map_or(Cell::NULL, |(cell, _)| cell)
    }

    fn find_all(&mut self, view: &CellView<'_>, places: &mut [u8]) -> Option<()> {
        let limit = VALUE_LIMIT.min(view.codes.len() / LEAST_ROWS_EACH);
        let mut last = (Cell { code: u8::MAX, word: 0 }, 0);
        for ((code, word), own) in view.codes.iter().zip(view.words).zip(places) {
            let cell = Cell { code: *code, word: *word };
            // Runs of equal values are common, and need no search.
            if cell.word != last.0.word || cell.code != last.0.code {
                let first = slot_of(cell.word ^ u64::from(cell.code));
                let place = self.slots[usize::from(first)].wrapping_sub(1);
                let at = usize::from(place) % VALUE_LIMIT;
                let found = usize::from(place) < VALUE_LIMIT
                    && self.words[at] == cell.word
                    && self.codes[at] == cell.code;
                last = (cell, if found { place } else { self.search(cell, view, limit)? });
            }
            self.counts[usize::from(last.1) % VALUE_LIMIT] += 1;
            *own = last.1;
        }
        Some(())
    }

    /// Finds the place of a value that is not in its first slot, or long; it may be new. None: there are too
    /// many, or it is a pointer.
    fn search(&mut self, cell: Cell, view: &CellView<'_>, limit: usize) -> Option<u8> {
        let first = match cell.code {
            LONG if cell.is_complex() => return None,
            LONG => slot_of(hash(view.long(cell), u16::from(LONG))),
            _ => slot_of(cell.word ^ u64::from(cell.code)),
        };
        for probe in 0..PROBES {
            let slot = usize::from(first.wrapping_add(probe));
            let Some(place) = self.slots[slot].checked_sub(1) else {
                if self.count >= limit {
                    return None;
                }
                *self.codes.get_mut(self.count)? = cell.code;
                *self.words.get_mut(self.count)? = cell.word;
                self.count += 1;
                self.slots[slot] = self.count as u8;
                return Some(self.count as u8 - 1);
            };
            let at = usize::from(place) % VALUE_LIMIT;
            let other = Cell { code: self.codes[at], word: self.words[at] };
            let alike = other.is_long() && cell.is_long() && view.long(other) == view.long(cell);
            if other == cell || alike {
                return Some(place);
            }
        }
        None
    }
}

#[inline(always)]
fn slot_of(key: u64) -> u8 {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

const _: () = assert!(NULL == 0 && VALUE_LIMIT < u8::MAX as usize);
