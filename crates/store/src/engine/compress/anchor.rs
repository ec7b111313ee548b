//! The value of a column whose beginning others share.

use std::borrow::Cow;

use super::cell::{self, Cell, EMPTY, LONG, NULL, SHORT_LIMIT_BYTES, SYMBOL, TRUE};
use super::grid::{CellView, INLINE, WHOLE};
use super::record::{mask, owned, word_at};
use super::row::head_bytes;

/// Values of a column that are looked at to choose its anchor.
const SAMPLES: usize = 16;
/// Those of them that may become it.
const CANDIDATES: usize = 4;

/// What the values of a column on a page begin with.
#[derive(Debug, Clone)]
pub struct Anchor<'p> {
    bytes: Cow<'p, [u8]>,
    /// The first eight of them.
    word: u64,
}

/// A value in a column with an anchor: its cell, whose long bytes are what follows the head, the head, and what both cost.
#[derive(Debug, Clone, Copy)]
pub struct Coded {
    /// The cell.
    pub cell: Cell,
    /// Of a long cell; see [`CellView::heads`].
    pub head: u16,
    /// Bytes, and those of an end offset.
    pub cost: u16,
}

impl<'p> Anchor<'p> {
    /// From its bytes.
    pub fn new(bytes: Cow<'p, [u8]>) -> Self {
        let word = cell::pack(&bytes);
        Self { bytes, word }
    }

    /// The value of a column that saves most among some of its values. None: none saves anything. `few`: so many are not tried, since the
    /// page before had an anchor in this column.
    pub fn choose(view: &CellView<'_>, few: bool) -> Option<Anchor<'static>> {
        let rows = view.codes.len();
        let samples: [Cell; SAMPLES] =
            std::array::from_fn(|index| view.cell((2 * index + 1) * rows / (2 * SAMPLES)));
        let before: usize = samples.iter().map(|cell| cell.cost()).sum();
        let any_long = samples.iter().any(|cell| cell.is_long());
        let mut best = (0, Cell::NULL);
        let candidates = if few { CANDIDATES / 2 } else { CANDIDATES };
        for index in 0..candidates {
            let candidate = samples.get((2 * index + 1) * SAMPLES / (2 * candidates)).copied();
            let candidate = candidate.unwrap_or(Cell::NULL);
            if !has_bytes(candidate) {
                continue;
            }
            let after: usize = if any_long {
                samples.iter().map(|cell| cost_beside(candidate, *cell, view)).sum()
            } else {
                samples.iter().map(|cell| cost_beside_short(candidate, *cell)).sum()
            };
            let saved = before.saturating_sub(after);
            if saved > best.0 {
                best = (saved, candidate);
            }
        }
        has_bytes(best.1).then(|| Anchor::new(Cow::Owned(bytes_of(view, best.1).into_owned())))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A value as it is in a column with this anchor: the number of bytes that it shares with the anchor, then the rest; nothing if it
    /// is the anchor itself. What is long stays where it is.
    #[inline]
    pub fn code(&self, cell: Cell, view: &CellView<'_>) -> Coded {
        match cell.code {
            NULL | TRUE | SYMBOL => Coded { cell, head: WHOLE, cost: cell.short_bytes() as u16 },
            LONG => self.code_long(cell, view),
            _ => self.code_short(cell),
        }
    }

    /// The same of a cell that has its bytes in its word.
    #[inline(always)]
    pub fn code_short(&self, cell: Cell) -> Coded {
        let length = cell.short_bytes();
        let same = (cell.word ^ self.word).trailing_zeros() as usize / 8;
        let same = same.min(length).min(self.bytes.len());
        if same == length && length == self.bytes.len() {
            return Coded { cell: Cell::EMPTY, head: WHOLE, cost: 0 };
        }
        let rest = length - same;
        if rest == SHORT_LIMIT_BYTES {
            return Coded { cell: Cell { code: LONG, ..cell }, head: INLINE, cost: 1 + 8 + 2 };
        }
        let tail = cell.word.checked_shr(8 * same as u32).unwrap_or(0);
        let cell = Cell { code: EMPTY + 1 + rest as u8, word: same as u64 | (tail << 8) };
        Coded { cell, head: WHOLE, cost: 1 + rest as u16 }
    }

    fn code_long(&self, cell: Cell, view: &CellView<'_>) -> Coded {
        let (start, length) = cell.place();
        if cell.is_complex() {
            return Coded { cell, head: WHOLE, cost: (length + 2) as u16 };
        }
        // Most values differ early.
        let word = word_at(view.data, start, length.min(SHORT_LIMIT_BYTES));
        let same = (word ^ self.word).trailing_zeros() as usize / 8;
        let same = match same {
            SHORT_LIMIT_BYTES => shared(view.long(cell), &self.bytes),
            _ => same.min(length).min(self.bytes.len()),
        };
        let (rest, (head, head_length)) = (length.saturating_sub(same), head_bytes(same));
        if rest == 0 && same == self.bytes.len() {
            return Coded { cell: Cell::EMPTY, head: WHOLE, cost: 0 };
        }
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

    /// The same as [`code`](Self::code) with the bytes of a long cell appended to `data`.
    #[inline]
    pub fn shorten(&self, cell: Cell, long: &[u8], data: &mut Vec<u8>) -> Cell {
        if cell.is_complex() {
            return owned(cell, long, data);
        }
        let cell = if cell.is_long() { Cell::long(0, long.len()) } else { cell };
        let view = CellView { codes: &[], words: &[], heads: &[], data: long, pointers: &[] };
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

    /// The reverse of [`shorten`](Self::shorten) for the bytes that it left.
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

/// The cell of the bytes from `start` on, which are taken away again if they are few.
pub fn from_end(data: &mut Vec<u8>, start: usize) -> Cell {
    let bytes = data.get(start..).unwrap_or_default();
    if bytes.len() > SHORT_LIMIT_BYTES {
        return Cell::long(start, bytes.len());
    }
    let cell = Cell::short(bytes);
    data.truncate(start);
    cell
}

/// Whether a cell has bytes that could be shared.
fn has_bytes(cell: Cell) -> bool {
    !matches!(cell.code, NULL | EMPTY | TRUE) && !cell.is_complex()
}

fn bytes_of<'v>(view: &CellView<'v>, cell: Cell) -> Cow<'v, [u8]> {
    match cell.code {
        LONG => Cow::Borrowed(view.long(cell)),
        _ => Cow::Owned(cell.word.to_le_bytes().iter().copied().take(cell.short_bytes()).collect()),
    }
}

/// What a value costs its record beside an anchor, both short.
#[inline(always)]
fn cost_beside_short(anchor: Cell, cell: Cell) -> usize {
    let (length, other) = (cell.short_bytes(), anchor.short_bytes());
    let same = ((cell.word ^ anchor.word).trailing_zeros() as usize / 8).min(length).min(other);
    let stored = if same == length && length == other { 0 } else { 1 + length - same };
    // Nine bytes are long, and have an end offset.
    let stored = if stored > SHORT_LIMIT_BYTES { stored + 2 } else { stored };
    if matches!(cell.code, NULL | TRUE | SYMBOL) { length } else { stored }
}

/// The same for values of any length.
fn cost_beside(anchor: Cell, cell: Cell, view: &CellView<'_>) -> usize {
    if matches!(cell.code, NULL | TRUE | SYMBOL) || cell.is_complex() {
        return cell.cost();
    }
    let (left, right) = (cell.word.to_le_bytes(), anchor.word.to_le_bytes());
    let left = if cell.is_long() { view.long(cell) } else { left.get(..cell.short_bytes()).unwrap_or(&[]) };
    let right =
        if anchor.is_long() { view.long(anchor) } else { right.get(..anchor.short_bytes()).unwrap_or(&[]) };
    let same = shared(left, right);
    if same == left.len() && left.len() == right.len() {
        return 0;
    }
    let stored = head_bytes(same).1 + left.len() - same;
    if stored > SHORT_LIMIT_BYTES { stored + 2 } else { stored }
}

/// How many bytes two values begin with alike.
#[inline]
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
