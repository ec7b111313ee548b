//! Rows in memory: as they came, and in the order of their keys.

use super::frame;
use super::run::CHUNK_BYTES;
use crate::error::EngineError;
use crate::record::KeyedRows;

/// Maximum number of bytes of rows: the place of each is a `u32`.
pub(super) const LIMIT_BYTES: usize = 2 << 30;

/// Bytes that sorting takes for each row besides the row.
const ENTRY_BYTES: usize = size_of::<u128>();

/// Rows with their keys, as they came.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<Vec<u8>>,
    bytes: usize,
    rows: usize,
    /// True if a row came behind one with a greater key.
    is_mixed: bool,
    last_key: Vec<u8>,
    /// Memory of rows that were there before.
    spare: Vec<Vec<u8>>,
}

impl Arena {
    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Counts the bytes that the rows take, and that sorting them takes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes + if self.is_mixed { self.rows * ENTRY_BYTES } else { 0 }
    }

    /// Adds rows, and notes if one comes behind a row with a greater key.
    pub fn push(&mut self, rows: &KeyedRows) -> Result<(), EngineError> {
        let mut last = self.last_key.as_slice();
        for (key, record) in rows.keys.iter().zip(rows.records.iter()) {
            self.is_mixed |= key < last;
            last = key;
            let bytes = frame::bytes_of(key, record);
            let has_room = self.chunks.last().is_some_and(|chunk| chunk.len() + bytes <= CHUNK_BYTES);
            if !has_room {
                let spare = self.spare.pop();
                self.chunks.push(spare.unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES)));
            }
            if let Some(chunk) = self.chunks.last_mut() {
                frame::write(key, record, chunk)?;
            }
            self.bytes += bytes;
        }
        self.rows += rows.len();
        let last = last.to_vec();
        self.last_key = last;
        Ok(())
    }

    /// Returns the bytes from a row on.
    #[inline]
    fn from(&self, place: u32) -> &[u8] {
        let (chunk, at) = (place as usize / CHUNK_BYTES, place as usize % CHUNK_BYTES);
        self.chunks.get(chunk).and_then(|chunk| chunk.get(at..)).unwrap_or_default()
    }

    fn row(&self, place: u32) -> (&[u8], &[u8]) {
        frame::read(self.from(place)).unwrap_or_default()
    }

    /// Lists the rows, each with its place.
    fn places(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.chunks.iter().enumerate().flat_map(|(number, chunk)| {
            let mut at = 0;
            std::iter::from_fn(move || {
                let (key, record) = frame::read(chunk.get(at..)?)?;
                let place = (number * CHUNK_BYTES + at) as u32;
                at += frame::bytes_of(key, record);
                Some((place, key))
            })
        })
    }

    /// Sorts the places of the rows by their keys; rows of equal keys stay in the order in which they came.
    fn sorted(&self) -> Vec<u128> {
        let shared = self.shared_bytes();
        let mut entries: Vec<u128> = Vec::with_capacity(self.rows);
        entries.extend(
            self.places().map(|(place, key)| u128::from(prefix(key, shared)) << 32 | u128::from(place)),
        );
        entries.sort_unstable();
        // Prefixes distinguish nearly all rows. Only where they do not, whole keys are compared.
        for alike in entries.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|alike| alike.len() > 1) {
            alike.sort_by(|a, b| self.row(*a as u32).0.cmp(self.row(*b as u32).0));
        }
        entries
    }

    /// Counts the bytes that all keys begin with.
    fn shared_bytes(&self) -> usize {
        let mut keys = self.places().map(|(_, key)| key);
        let Some(first) = keys.next() else { return 0 };
        let mut shared = first;
        for key in keys {
            if !key.starts_with(shared) {
                let same = shared.iter().zip(key).take_while(|(a, b)| a == b).count();
                shared = shared.get(..same).unwrap_or_default();
            }
        }
        shared.len()
    }
}

/// Returns the eight bytes behind those that all keys share. Behind a key's end come zeros: no longer key is
/// less.
#[inline]
fn prefix(key: &[u8], shared: usize) -> u64 {
    let rest = key.get(shared..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let places = rest.iter().zip((0..8).rev());
            places.fold(0, |prefix, (byte, place)| prefix | u64::from(*byte) << (8 * place))
        }
    }
}

/// Rows in memory in the order of their keys.
#[derive(Debug)]
pub(super) struct MemoryRun {
    arena: Arena,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// The rows came in order. Chunk and byte.
    AsCame(usize, usize),
    /// Prefix and place of each row, and how many were taken.
    Sorted(Vec<u128>, usize),
}

impl MemoryRun {
    /// Sorts the rows, unless they came in order.
    pub fn new(arena: Arena) -> Self {
        let next = match arena.is_mixed {
            true => Next::Sorted(arena.sorted(), 0),
            false => Next::AsCame(0, 0),
        };
        Self { arena, next }
    }

    /// Returns the chunks of rows, if they came in order.
    pub fn chunks(&self) -> Option<&[Vec<u8>]> {
        match self.next {
            Next::AsCame(..) => Some(&self.arena.chunks),
            Next::Sorted(..) => None,
        }
    }

    /// Lists the bytes of the rows that are left in their order, row by row.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let (entries, taken): (&[u128], usize) = match &self.next {
            Next::Sorted(entries, taken) => (entries, *taken),
            Next::AsCame(..) => (&[], 0),
        };
        entries.iter().skip(taken).filter_map(|entry| frame::whole(self.arena.from(*entry as u32)))
    }

    /// Gives up the rows. Their memory is for others.
    pub fn into_empty(self) -> Arena {
        let Arena { mut chunks, mut spare, .. } = self.arena;
        chunks.iter_mut().for_each(Vec::clear);
        spare.append(&mut chunks);
        Arena { spare, ..Arena::default() }
    }

    /// Returns the next row's key and record.
    #[inline]
    pub fn peek(&self) -> Option<(&[u8], &[u8])> {
        match &self.next {
            Next::AsCame(chunk, at) => frame::read(self.arena.chunks.get(*chunk)?.get(*at..)?),
            Next::Sorted(entries, taken) => Some(self.arena.row(*entries.get(*taken)? as u32)),
        }
    }

    /// Takes the next row.
    #[inline]
    pub fn advance(&mut self) {
        let bytes = self.peek().map_or(0, |(key, record)| frame::bytes_of(key, record));
        match &mut self.next {
            Next::AsCame(chunk, at) => {
                *at += bytes;
                if self.arena.chunks.get(*chunk).is_some_and(|chunk| *at >= chunk.len()) {
                    (*chunk, *at) = (*chunk + 1, 0);
                }
            }
            Next::Sorted(_, taken) => *taken += 1,
        }
    }
}
