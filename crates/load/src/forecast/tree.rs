//! Levels above leaves, and rows that come into a tree which has some.

use super::page::{CAPACITY_BYTES, Filled, SLOT_BYTES, fill};

/// What the log takes for a row besides its bytes, the record's length in its block included.
pub(super) const ROW_RECORD_BYTES: usize = 50;
/// What the log takes for a page as a whole besides its rows and slots.
pub(super) const PAGE_RECORD_BYTES: usize = 108;

/// Pages above the leaves, and the bytes of the root's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Upper {
    pub pages: f64,
    /// Bytes of entries and slots in all of them.
    pub bytes: f64,
    /// Those of the highest page.
    pub root_bytes: f64,
}

/// The levels above so many leaves; `entries` are lengths of entries that lead to some of them, in their order.
pub(super) fn upper_levels(leaves: f64, entries: &[u16]) -> Upper {
    let mut upper = Upper::default();
    if leaves <= 1.0 || entries.is_empty() {
        return upper;
    }
    let mean = entries.iter().map(|length| f64::from(*length)).sum::<f64>() / entries.len() as f64;
    let exact = entries.len() as f64 == leaves.round();
    let mut entries = entries.to_vec();
    let mut level = leaves.round();
    while level > 1.0 {
        let pages = match exact {
            true => {
                let filled = fill(entries.iter().copied(), 100, 0);
                upper.root_bytes = filled.bytes;
                entries = filled.firsts.iter().filter_map(|first| entries.get(*first).copied()).collect();
                filled.pages
            }
            false => {
                let per_page = (CAPACITY_BYTES as f64 / (mean + SLOT_BYTES as f64)).floor().max(2.0);
                upper.root_bytes = level * (mean + SLOT_BYTES as f64);
                (level / per_page).ceil()
            }
        };
        upper.pages += pages;
        upper.bytes += upper.root_bytes;
        if pages >= level {
            break;
        }
        level = pages;
    }
    upper
}

/// A leaf while rows come into it: where its rows are in the order of the key.
#[derive(Debug, Clone, Default)]
struct Leaf {
    rows: Vec<u32>,
    bytes: usize,
    /// It is not in the log, which gets it as a whole before its first change.
    is_unlogged: bool,
}

/// What rows do to a tree that has some.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Merged {
    /// All leaves, those from before, too.
    pub leaves: Filled,
    /// Bytes of log for the leaves.
    pub log_bytes: f64,
    /// Leaves that were divided.
    pub splits: usize,
}

/// Rows that come into a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming<'a> {
    /// Bytes of the records as they come, and as they are in their pages: those of pages that are compressed as a whole are less.
    /// Both are in the order of the key.
    pub lengths: &'a [u16],
    pub stored: &'a [u16],
    /// Pages are compressed as a whole.
    pub compresses: bool,
}

/// Leaves of a tree, and what was logged of changing them.
struct Merging<'a> {
    coming: Coming<'a>,
    leaves: Vec<Leaf>,
    merged: Merged,
}

/// Rows of a batch that the store takes out of its sort at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of rows for which the store writes a leaf again with them, instead of inserting them one by one.
const CROWD_BYTES: usize = CAPACITY_BYTES / 4;
/// Leaves up to which the store spreads the rows of a leaf that is written again evenly.
const EVEN_LEAVES: usize = 16;
/// What the log takes for the links of two neighbours.
const LINKS_BYTES: usize = 2 * 73;
/// For a new leaf's bits in the maps, and its entry above besides the key.
const NEW_LEAF_BYTES: usize = 150;
/// For a leaf that gets another content, besides the old and the new one.
const REFORMAT_BYTES: usize = 190;

/// Puts batches of rows into a tree one after the other. Each batch says which rows come with it, in its own order. `built`: the rows
/// that came first, the leaves that were built of them, and whether these are in the log.
pub(super) fn merge(
    coming: Coming<'_>,
    built: Option<(&[u32], &Filled, bool)>,
    batches: &[Vec<u32>],
) -> Merged {
    let mut merging = Merging { coming, leaves: Vec::new(), merged: Merged::default() };
    if let Some((rows, filled, is_logged)) = built {
        merging.leaves = leaves_of(coming.stored, rows, filled);
        merging.leaves.iter_mut().for_each(|leaf| leaf.is_unlogged = !is_logged);
    }
    if let [only] = merging.leaves.as_mut_slice() {
        // A root is logged in any case.
        only.is_unlogged = false;
    }
    if merging.leaves.is_empty() {
        merging.leaves.push(Leaf::default());
    }
    for batch in batches {
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let chunk = rest.iter().take_while(|row| {
                let fits = bytes < CHUNK_BYTES;
                bytes += usize::from(coming.lengths.get(**row as usize).copied().unwrap_or(0));
                fits
            });
            let (chunk, behind) = rest.split_at(chunk.count());
            merging.take(chunk);
            rest = behind;
        }
    }
    let Merging { leaves, mut merged, .. } = merging;
    let mut first = 0;
    for leaf in &leaves {
        merged.leaves.pages += 1.0;
        merged.leaves.bytes += leaf.bytes as f64;
        merged.leaves.firsts.push(first);
        first += leaf.rows.len();
    }
    merged
}

/// Leaves that were filled with rows.
fn leaves_of(stored: &[u16], rows: &[u32], filled: &Filled) -> Vec<Leaf> {
    let ends = filled.firsts.iter().skip(1).copied().chain([rows.len()]);
    let leaves = filled.firsts.iter().zip(ends).map(|(start, end)| {
        let rows = rows.get(*start..end).unwrap_or_default().to_vec();
        let bytes = rows.iter().map(|row| size(stored, *row)).sum();
        Leaf { rows, bytes, is_unlogged: false }
    });
    leaves.collect()
}

fn size(lengths: &[u16], row: u32) -> usize {
    usize::from(lengths.get(row as usize).copied().unwrap_or(0)) + SLOT_BYTES
}

impl Merging<'_> {
    fn log(&mut self, bytes: usize) {
        self.merged.log_bytes += bytes as f64;
    }

    /// A leaf is about to be changed.
    fn touch(&mut self, at: usize) {
        if let Some(leaf) = self.leaves.get_mut(at).filter(|leaf| leaf.is_unlogged) {
            leaf.is_unlogged = false;
            let image = PAGE_RECORD_BYTES + leaf.bytes;
            self.log(image);
        }
    }

    /// New leaves behind one: they, their links and their entries.
    fn insert(&mut self, behind: usize, new: Vec<Leaf>) {
        if new.is_empty() {
            return;
        }
        self.touch(behind);
        self.touch(behind + 1);
        let bytes: usize = new.iter().map(|leaf| leaf.bytes + PAGE_RECORD_BYTES + NEW_LEAF_BYTES).sum();
        self.log(LINKS_BYTES + bytes);
        self.leaves.splice(behind + 1..behind + 1, new);
    }

    fn take(&mut self, batch: &[u32]) {
        let Coming { stored, lengths, .. } = self.coming;
        let mut next = 0;
        while let Some(row) = batch.get(next).copied() {
            let leaves = &self.leaves;
            let at = leaves
                .partition_point(|leaf| leaf.rows.first().is_some_and(|first| *first <= row))
                .saturating_sub(1);
            let end = leaves.get(at + 1).and_then(|leaf| leaf.rows.first().copied()).unwrap_or(u32::MAX);
            let (is_last, is_root) = (at + 1 >= leaves.len(), leaves.len() == 1);
            let Some(leaf) = leaves.get(at) else { return };
            let crowd = if is_root { 0 } else { crowd(lengths, leaf, batch, next, end) };
            if crowd > 0 {
                self.rewrite(at, batch.get(next..next + crowd).unwrap_or_default());
                next += crowd;
                continue;
            }
            let taken = self.fill(at, batch, next, end);
            if taken > 0 {
                next += taken;
                continue;
            }
            let Some(leaf) = self.leaves.get(at) else { return };
            if is_root {
                // The root becomes a level of its own, and its rows move below.
                self.merged.log_bytes += (2 * leaf.bytes + 700) as f64;
            }
            let slot = leaf.rows.partition_point(|other| *other < row);
            let follower = leaf.rows.get(slot).copied().unwrap_or(end);
            let run = run(lengths, batch, next, follower);
            let behind = slot == leaf.rows.len();
            if run > 0 && behind {
                // Many rows between two neighbours get leaves of their own.
                let rows = batch.get(next..next + run).unwrap_or_default();
                let filled = fill(rows.iter().map(|row| (size(stored, *row) - SLOT_BYTES) as u16), 100, 0);
                self.insert(at, leaves_of(stored, rows, &filled));
                next += run;
            } else if behind && is_last {
                // Behind the last row of all comes a new page.
                let bytes = size(stored, row);
                self.insert(at, vec![Leaf { rows: vec![row], bytes, is_unlogged: false }]);
                self.log(ROW_RECORD_BYTES);
                next += 1;
            } else if leaf.rows.len() < 2 {
                // Two rows that do not fit one page.
                let (bytes, behind) = (size(stored, row), at + slot);
                self.insert(
                    behind.saturating_sub(1),
                    vec![Leaf { rows: vec![row], bytes, is_unlogged: false }],
                );
                self.log(ROW_RECORD_BYTES);
                self.merged.splits += 1;
                next += 1;
            } else {
                let cut = if run > 0 { slot } else { half(stored, leaf) };
                self.split(at, cut);
            }
        }
    }

    /// Puts rows into a leaf, up to the first that belongs behind it, finds no room or does not rise: how many.
    fn fill(&mut self, at: usize, batch: &[u32], first: usize, end: u32) -> usize {
        let Coming { stored, .. } = self.coming;
        let Some(leaf) = self.leaves.get(at) else { return 0 };
        let fits = batch.get(first).is_some_and(|row| leaf.bytes + size(stored, *row) <= CAPACITY_BYTES);
        if !fits {
            return 0;
        }
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return 0 };
        let before = leaf.bytes;
        let (mut taken, mut logged) = (0, 0);
        while let Some(row) = batch.get(first + taken).copied().filter(|row| *row < end) {
            let bytes = size(stored, row);
            if leaf.bytes + bytes > CAPACITY_BYTES {
                break;
            }
            let slot = leaf.rows.partition_point(|other| *other < row);
            leaf.rows.insert(slot, row);
            leaf.bytes += bytes;
            logged += ROW_RECORD_BYTES + bytes - SLOT_BYTES;
            taken += 1;
            // Rows out of order are looked for one by one.
            if batch.get(first + taken).is_some_and(|following| *following < row) {
                break;
            }
        }
        let whole = before + leaf.bytes + REFORMAT_BYTES;
        self.log(logged.min(whole));
        taken
    }

    /// Writes a leaf again, with these rows: the leaf as it was and becomes, and new ones.
    fn rewrite(&mut self, at: usize, rows: &[u32]) {
        let Coming { stored, compresses, .. } = self.coming;
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return };
        let mut all: Vec<u32> = leaf.rows.iter().chain(rows).copied().collect();
        all.sort_unstable();
        let bytes: usize = all.iter().map(|row| size(stored, *row)).sum();
        let pages = bytes.div_ceil(CAPACITY_BYTES).max(1);
        let longest = all.iter().map(|row| size(stored, *row)).max().unwrap_or(0);
        let percent = match pages <= EVEN_LEAVES && !compresses {
            true => ((bytes / pages + longest) * 100).div_ceil(CAPACITY_BYTES).min(100) as u8,
            false => 100,
        };
        let filled = fill(all.iter().map(|row| (size(stored, *row) - SLOT_BYTES) as u16), percent, 0);
        let mut new = leaves_of(stored, &all, &filled);
        let before = std::mem::replace(leaf, new.remove(0));
        let whole = before.bytes + leaf.bytes + REFORMAT_BYTES;
        self.log(whole);
        self.merged.splits += new.len();
        self.insert(at, new);
    }

    /// Moves the rows of a leaf from `cut` on into a new one. Each that leaves is logged.
    fn split(&mut self, at: usize, cut: usize) {
        let Coming { stored, .. } = self.coming;
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return };
        let rows = leaf.rows.split_off(cut.clamp(1, leaf.rows.len().saturating_sub(1).max(1)));
        let bytes: usize = rows.iter().map(|row| size(stored, *row)).sum();
        leaf.bytes -= bytes.min(leaf.bytes);
        let left = rows.len() * (ROW_RECORD_BYTES - SLOT_BYTES) + bytes;
        self.log(left);
        self.merged.splits += 1;
        self.insert(at, vec![Leaf { rows, bytes, is_unlogged: false }]);
    }
}

/// How many rows of a batch belong into a leaf, if they have no room there and some come between its own; else none.
fn crowd(lengths: &[u16], leaf: &Leaf, batch: &[u32], first: usize, end: u32) -> usize {
    let (count, bytes) = rising(lengths, batch, first, end);
    let is_between = batch.get(first).zip(leaf.rows.last()).is_some_and(|(first, own)| first < own);
    let has_room = leaf.bytes + bytes <= CAPACITY_BYTES;
    if is_between && !has_room && bytes >= CROWD_BYTES { count } else { 0 }
}

/// How many rows of a batch come before `end`, if they are enough for a page; else none.
fn run(lengths: &[u16], batch: &[u32], first: usize, end: u32) -> usize {
    let (count, bytes) = rising(lengths, batch, first, end);
    if bytes < CAPACITY_BYTES { 0 } else { count }
}

/// How many rows of a batch rise from `first` on and come before `end`, and their bytes.
fn rising(lengths: &[u16], batch: &[u32], first: usize, end: u32) -> (usize, usize) {
    let rows = batch.get(first..).unwrap_or_default();
    let (mut count, mut bytes, mut last) = (0, 0, 0);
    for row in rows.iter().take_while(|row| **row < end) {
        if count > 0 && *row < last {
            break;
        }
        (count, bytes, last) = (count + 1, bytes + size(lengths, *row), *row);
    }
    (count, bytes)
}

/// Where the second half of a leaf's bytes begins.
fn half(lengths: &[u16], leaf: &Leaf) -> usize {
    let mut bytes = 0;
    leaf.rows
        .iter()
        .position(|row| {
            bytes += size(lengths, *row);
            2 * bytes >= leaf.bytes
        })
        .map_or(0, |slot| slot + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_rows_fill_their_leaves_and_others_divide_them() {
        let lengths = vec![100_u16; 20_000];
        let coming = Coming { lengths: &lengths, stored: &lengths, compresses: false };
        let rising: Vec<Vec<u32>> =
            (0..4).map(|batch| (batch * 5_000..(batch + 1) * 5_000).collect()).collect();
        let merged = merge(coming, None, &rising);
        assert!((254.0..262.0).contains(&merged.leaves.pages), "{}", merged.leaves.pages);
        assert_eq!(merged.splits, 0);
        // Every second row, then the others: leaves are written again with them.
        let first: Vec<u32> = (0..10_000).map(|row| 2 * row).collect();
        let others = (0..10_000).map(|row| 2 * row + 1).collect();
        let built = fill([100; 10_000].into_iter(), 100, 0);
        let others = [others];
        let written = merge(coming, Some((&first, &built, true)), &others);
        assert!(written.splits > 100 && written.leaves.pages < 300.0, "{written:?}");
        assert!(written.log_bytes < 10_000.0 * 400.0, "{}", written.log_bytes);
        // Leaves that are not in the log get there as a whole before.
        let unlogged = merge(coming, Some((&first, &built, false)), &others);
        assert_eq!(unlogged.leaves, written.leaves);
        assert!(unlogged.log_bytes > written.log_bytes + 9_000.0 * 100.0);
        // A row in a hundred divides full leaves, and no leaf is written again for it.
        let few = [(0..100).map(|row| 200 * row + 1).collect()];
        let divided = merge(coming, Some((&first, &built, true)), &few);
        assert!((90..=100).contains(&divided.splits), "{divided:?}");
    }

    #[test]
    fn upper_levels_follow_the_estimates() {
        // 11 bytes and a slot: 622 entries a page.
        let upper = upper_levels(10_000.0, &[11; 4]);
        assert_eq!(upper.pages, 18.0);
        assert_eq!(upper_levels(1.0, &[11]).pages, 0.0);
        assert_eq!(
            upper_levels(346.0, &[11; 346]),
            Upper { pages: 1.0, bytes: 4_498.0, root_bytes: 4_498.0 }
        );
    }
}
