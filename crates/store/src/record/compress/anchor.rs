//! Anchors: the value of a column whose beginning other values share.

use std::borrow::Cow;

use super::cell::{self, Cell, EMPTY, LONG, NULL, SHORT_LIMIT_BYTES, SYMBOL, TRUE};
use super::grid::{CellView, INLINE, WHOLE};
use super::record::{mask, owned, word_at};
use super::row::head_bytes;

/// Values of a column that are looked at to choose its anchor.
const SAMPLES: usize = 16;
/// Number of sampled values of a column that may become its anchor.
const CANDIDATES: usize = 4;

/// The value that the values of a column on a page are coded against.
#[derive(Debug, Clone)]
pub struct Anchor<'p> {
    bytes: Cow<'p, [u8]>,
    /// First sixteen bytes of the value, filled up with zeros.
    words: [u64; 2],
}

/// A value in a column with an anchor: its cell, whose long bytes are what follows the head, the head, and what both cost.
#[derive(Debug, Clone, Copy)]
pub struct Coded {
    /// Cell of the value.
    pub cell: Cell,
    /// First bytes of a long cell; see [`CellView::heads`].
    pub head: u16,
    /// Bytes that the value adds to its row, an end offset included.
    pub cost: u16,
}

/// Destination of the cells of a column with an anchor; the heads are [`WHOLE`] so far.
#[derive(Debug)]
pub struct CodedCells<'c> {
    /// Codes, one per row.
    pub codes: &'c mut [u8],
    /// Words, one per row.
    pub words: &'c mut [u64],
    /// Heads, one per row.
    pub heads: &'c mut [u16],
    /// Bytes that each value adds to its row.
    pub costs: &'c mut [u16],
}

impl<'p> Anchor<'p> {
    /// Creates an anchor of its bytes.
    pub fn new(bytes: Cow<'p, [u8]>) -> Self {
        let words = [cell::pack(&bytes), cell::pack(bytes.get(8..).unwrap_or_default())];
        Self { bytes, words }
    }

    /// Chooses the value of a column that saves most among some of its values; None if none saves anything. With `few` only half
    /// as many are tried on half as many, since the page before had an anchor in this column.
    pub fn choose(view: &CellView<'_>, few: bool) -> Option<Anchor<'static>> {
        let half = if few { 2 } else { 1 };
        let (count, candidates) = (SAMPLES / half, CANDIDATES / half);
        let rows = view.codes.len();
        let sample = |index: usize| view.cell((2 * index + 1) * rows / (2 * count));
        let before: usize = (0..count).map(|index| sample(index).cost()).sum();
        let mut best: (usize, Option<Cell>) = (0, None);
        for index in 0..candidates {
            let candidate = sample((2 * index + 1) * count / (2 * candidates));
            let short = candidate.word.to_le_bytes();
            let anchor = match candidate.code {
                NULL | EMPTY | TRUE => continue,
                LONG if candidate.is_complex() => continue,
                LONG => Anchor::new(Cow::Borrowed(view.long(candidate))),
                _ => Anchor::new(Cow::Borrowed(short.get(..candidate.short_bytes()).unwrap_or_default())),
            };
            let after: usize =
                (0..count).map(|index| usize::from(anchor.code(sample(index), view).cost)).sum();
            let saved = before.saturating_sub(after);
            if saved > best.0 {
                best = (saved, Some(candidate));
            }
        }
        best.1.and_then(|best| Self::of(view, best))
    }

    /// Makes an anchor of a value of a column. None if it has no bytes that could be shared.
    pub fn of(view: &CellView<'_>, cell: Cell) -> Option<Anchor<'static>> {
        let bytes = match cell.code {
            NULL | EMPTY | TRUE => return None,
            LONG if cell.is_complex() => return None,
            LONG => view.long(cell).to_vec(),
            _ => cell.word.to_le_bytes().into_iter().take(cell.short_bytes()).collect(),
        };
        Some(Anchor::new(Cow::Owned(bytes)))
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Codes a column; `out` has as many rows.
    pub fn code_column(&self, view: &CellView<'_>, out: CodedCells<'_>) {
        let CodedCells { codes, words, heads, costs } = out;
        let own = codes.iter_mut().zip(words).zip(heads).zip(costs);
        let each = own.zip(view.codes.iter().zip(view.words));
        // The codes of the column decide which loop it takes.
        let least = view.codes.iter().fold(u8::MAX, |least, code| (*code).min(least));
        let most = view.codes.iter().fold(0, |most: u8, code| (*code).max(most));
        if most < LONG && least > NULL {
            for ((((code, word), head), cost), (from, bytes)) in each {
                let coded = self.code_short(Cell { code: *from, word: *bytes });
                (*code, *word, *cost) = (coded.cell.code, coded.cell.word, coded.cost);
                if coded.head != WHOLE {
                    *head = coded.head;
                }
            }
        } else if (least, most) == (LONG, LONG) {
            for ((((code, word), head), cost), (_, place)) in each {
                let coded = self.code_long(Cell { code: LONG, word: *place }, view);
                (*code, *word, *head, *cost) = (coded.cell.code, coded.cell.word, coded.head, coded.cost);
            }
        } else {
            for ((((code, word), head), cost), (from, bytes)) in each {
                let coded = self.code(Cell { code: *from, word: *bytes }, view);
                (*code, *word, *head, *cost) = (coded.cell.code, coded.cell.word, coded.head, coded.cost);
            }
        }
    }

    /// Codes a value against this anchor: the number of bytes that it shares with the anchor, then the rest.
    /// Nothing if it is the anchor itself. Long bytes stay where they are.
    #[inline]
    pub fn code(&self, cell: Cell, view: &CellView<'_>) -> Coded {
        match cell.code {
            NULL | TRUE | SYMBOL => Coded { cell, head: WHOLE, cost: cell.short_bytes() as u16 },
            LONG => self.code_long(cell, view),
            _ => self.code_short(cell),
        }
    }

    /// Codes a cell that has its bytes in its word.
    #[inline(always)]
    fn code_short(&self, cell: Cell) -> Coded {
        let length = usize::from(cell.code.wrapping_sub(EMPTY));
        let same = (cell.word ^ self.words[0]).trailing_zeros() as usize / 8;
        let same = same.min(length.min(self.bytes.len()));
        let rest = length - same;
        if rest == SHORT_LIMIT_BYTES {
            return Coded { cell: Cell { code: LONG, ..cell }, head: INLINE, cost: 1 + 8 + 2 };
        }
        // A shift by 64 bits in two.
        let tail = (cell.word >> (4 * same)) >> (4 * same);
        let stored = match rest == 0 && length == self.bytes.len() {
            true => (EMPTY, 0),
            false => (EMPTY + 1 + rest as u8, same as u64 | (tail << 8)),
        };
        let cell = Cell { code: stored.0, word: stored.1 };
        Coded { cell, head: WHOLE, cost: u16::from(stored.0 - EMPTY) }
    }

    #[inline(always)]
    fn code_long(&self, cell: Cell, view: &CellView<'_>) -> Coded {
        let (start, length) = cell.place();
        if cell.is_complex() {
            return Coded { cell, head: WHOLE, cost: (length + 2) as u16 };
        }
        let same = self.shared(view.data, start).min(length.min(self.bytes.len()));
        let rest = length - same;
        if rest >= SHORT_LIMIT_BYTES || same >= 0x80 {
            return self.code_rest(start, same, rest, view);
        }
        if rest == 0 && same == self.bytes.len() {
            return Coded { cell: Cell::EMPTY, head: WHOLE, cost: 0 };
        }
        let tail = match view.data.get(start + same..).and_then(<[u8]>::first_chunk::<8>) {
            Some(tail) => u64::from_le_bytes(*tail) & ((1 << (8 * rest)) - 1),
            None => word_at(view.data, start + same, rest),
        };
        let cell = Cell { code: EMPTY + 1 + rest as u8, word: same as u64 | (tail << 8) };
        Coded { cell, head: WHOLE, cost: 1 + rest as u16 }
    }

    /// Codes a long value that shares `same` bytes with the anchor, the `rest` of which is long, or a long
    /// beginning.
    #[inline(always)]
    fn code_rest(&self, start: usize, same: usize, rest: usize, view: &CellView<'_>) -> Coded {
        if rest == 0 && same == self.bytes.len() {
            return Coded { cell: Cell::EMPTY, head: WHOLE, cost: 0 };
        }
        let (head, head_length) = head_bytes(same);
        let stored = head_length + rest;
        if stored > SHORT_LIMIT_BYTES {
            let cell = Cell::long(start + same, rest);
            return Coded { cell, head: same as u16, cost: (stored + 2).min(u16::MAX.into()) as u16 };
        }
        let head = u64::from(u16::from_le_bytes(head)) & mask(head_length);
        let tail = word_at(view.data, start + same, rest);
        let cell = Cell { code: EMPTY + stored as u8, word: head | (tail << (8 * head_length)) };
        Coded { cell, head: WHOLE, cost: stored as u16 }
    }

    /// Counts the bytes that the anchor and the data from `start` on begin with alike. The count may include
    /// bytes behind the end of either.
    #[inline(always)]
    fn shared(&self, data: &[u8], start: usize) -> usize {
        let Some(head) = data.get(start..).and_then(<[u8]>::first_chunk::<16>) else {
            return shared(data.get(start..).unwrap_or_default(), &self.bytes);
        };
        let both = u128::from_le_bytes(*head);
        let low = both as u64 ^ self.words[0];
        if low != 0 {
            return low.trailing_zeros() as usize / 8;
        }
        match (both >> 64) as u64 ^ self.words[1] {
            0 => shared(data.get(start..).unwrap_or_default(), &self.bytes),
            high => 8 + high.trailing_zeros() as usize / 8,
        }
    }

    /// Codes a cell as [`code`](Self::code) does, and appends the bytes of a long cell to `data`.
    #[inline]
    pub fn shorten(&self, cell: Cell, long: &[u8], data: &mut Vec<u8>) -> Cell {
        if cell.is_complex() {
            return owned(cell, long, data);
        }
        let cell = if cell.is_long() { Cell::long(0, long.len()) } else { cell };
        let view = CellView { codes: &[], words: &[], heads: &[], costs: &[], data: long, pointers: &[] };
        let coded = self.code(cell, &view);
        if !coded.cell.is_long() {
            return coded.cell;
        }
        let start = data.len();
        match coded.head {
            INLINE => {
                data.push(0);
                data.extend_from_slice(&coded.cell.word.to_le_bytes());
            }
            same => {
                let (bytes, count) = head_bytes(same.into());
                data.extend(bytes.into_iter().take(count));
                data.extend_from_slice(view.long(coded.cell));
            }
        }
        Cell::long(start, data.len() - start)
    }

    /// Restores the value of bytes that [`shorten`](Self::shorten) left.
    pub fn lengthen(&self, stored: &[u8], data: &mut Vec<u8>) -> Option<Cell> {
        let (same, tail) = match stored {
            [] => (self.bytes.len(), stored),
            [low, high, tail @ ..] if *low >= 0x80 => {
                (usize::from(low & 0x7F) | (usize::from(*high) << 7), tail)
            }
            [same, tail @ ..] if *same < 0x80 => (usize::from(*same), tail),
            _ => return None,
        };
        let head = self.bytes.get(..same)?;
        let start = data.len();
        data.extend_from_slice(head);
        data.extend_from_slice(tail);
        Some(from_end(data, start))
    }
}

/// Makes the cell of the bytes from `start` on, which are taken away again if they are few.
pub fn from_end(data: &mut Vec<u8>, start: usize) -> Cell {
    let bytes = data.get(start..).unwrap_or_default();
    if bytes.len() > SHORT_LIMIT_BYTES {
        return Cell::long(start, bytes.len());
    }
    let cell = Cell::short(bytes);
    data.truncate(start);
    cell
}

/// Counts the bytes that two values begin with alike.
fn shared(left: &[u8], right: &[u8]) -> usize {
    let words = left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0);
    let mut same = 0;
    for (left, right) in words {
        let differing = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if differing != 0 {
            return same + differing.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    let rest = left.iter().skip(same).zip(right.iter().skip(same));
    same + rest.take_while(|(left, right)| left == right).count()
}
