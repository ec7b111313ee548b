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

/// Puts batches of rows into a tree one after the other. `lengths` are those of all rows in the order of the key, and each batch says
/// which of them come with it, in its own order. `built`: the rows that came first, and the leaves that were built of them.
/// `rewrites`: a leaf that gets many rows is counted as written again with them. The store does so with leaves of rows, too, but
/// what it logs of those is closer to what single rows would take: within 5 % in the tests of `bench`, against 30 %.
pub(super) fn merge(
    lengths: &[u16],
    built: Option<(&[u32], &Filled)>,
    batches: &[Vec<u32>],
    rewrites: bool,
) -> Merged {
    let mut leaves: Vec<Leaf> = Vec::new();
    if let Some((rows, filled)) = built {
        let ends = filled.firsts.iter().skip(1).copied().chain([rows.len()]);
        for (start, end) in filled.firsts.iter().zip(ends) {
            let rows = rows.get(*start..end).unwrap_or_default().to_vec();
            let bytes = rows.iter().map(|row| size(lengths, *row)).sum();
            leaves.push(Leaf { rows, bytes });
        }
    }
    if leaves.is_empty() {
        leaves.push(Leaf::default());
    }
    let mut merged = Merged::default();
    for batch in batches {
        merge_batch(lengths, &mut leaves, batch, rewrites, &mut merged);
    }
    let mut first = 0;
    for leaf in &leaves {
        merged.leaves.pages += 1.0;
        merged.leaves.bytes += leaf.bytes as f64;
        merged.leaves.firsts.push(first);
        first += leaf.rows.len();
    }
    merged
}

fn size(lengths: &[u16], row: u32) -> usize {
    usize::from(lengths.get(row as usize).copied().unwrap_or(0)) + SLOT_BYTES
}

fn merge_batch(lengths: &[u16], leaves: &mut Vec<Leaf>, batch: &[u32], rewrites: bool, merged: &mut Merged) {
    let mut next = 0;
    while let Some(row) = batch.get(next).copied() {
        let at = leaves
            .partition_point(|leaf| leaf.rows.first().is_some_and(|first| *first <= row))
            .saturating_sub(1);
        let end = leaves.get(at + 1).and_then(|leaf| leaf.rows.first().copied()).unwrap_or(u32::MAX);
        let is_last = at + 1 >= leaves.len();
        let may_crowd = rewrites && leaves.len() > 1;
        let Some(leaf) = leaves.get_mut(at) else { return };
        let crowd = if may_crowd { crowd(lengths, leaf, batch, next, end) } else { 0 };
        if crowd > 0 {
            let rows = batch.get(next..next + crowd).unwrap_or_default();
            let rewritten = rewritten(lengths, leaf, rows);
            merged.log_bytes += rewrite_log(leaf, &rewritten);
            merged.splits += rewritten.len().saturating_sub(1);
            leaves.splice(at..=at, rewritten);
            next += crowd;
            continue;
        }
        let before = leaf.bytes;
        let (mut taken, mut logged) = (0, 0);
        while let Some(row) = batch.get(next + taken).copied().filter(|row| *row < end) {
            let bytes = size(lengths, row);
            if leaf.bytes + bytes > CAPACITY_BYTES {
                break;
            }
            let slot = leaf.rows.partition_point(|other| *other < row);
            leaf.rows.insert(slot, row);
            leaf.bytes += bytes;
            logged += ROW_RECORD_BYTES + bytes - SLOT_BYTES;
            taken += 1;
            // Rows out of order are looked for one by one.
            if batch.get(next + taken).is_some_and(|following| *following < row) {
                break;
            }
        }
        if taken > 0 {
            merged.log_bytes += logged.min(before + leaf.bytes + 200) as f64;
            next += taken;
            continue;
        }
        if is_last && at == 0 {
            // The root becomes a level of its own, and its rows move below.
            merged.log_bytes += (2 * leaf.bytes + 700) as f64;
        }
        let slot = leaf.rows.partition_point(|other| *other < row);
        let follower = leaf.rows.get(slot).copied().unwrap_or(end);
        let run = run(lengths, batch, next, follower);
        let behind = slot == leaf.rows.len();
        if run > 0 && behind {
            // Many rows between two neighbours get leaves of their own.
            let rows = batch.get(next..next + run).unwrap_or_default();
            let filled = fill(rows.iter().map(|row| (size(lengths, *row) - SLOT_BYTES) as u16), 100, 0);
            let ends = filled.firsts.iter().skip(1).copied().chain([rows.len()]);
            let new: Vec<Leaf> = filled
                .firsts
                .iter()
                .zip(ends)
                .map(|(start, end)| {
                    let rows = rows.get(*start..end).unwrap_or_default().to_vec();
                    let bytes = rows.iter().map(|row| size(lengths, *row)).sum();
                    Leaf { rows, bytes }
                })
                .collect();
            merged.log_bytes += filled.bytes + filled.pages * (PAGE_RECORD_BYTES + 40) as f64;
            leaves.splice(at + 1..at + 1, new);
            next += run;
        } else if behind && is_last {
            // Behind the last row of all comes a new page.
            merged.log_bytes += (PAGE_RECORD_BYTES + 250) as f64;
            leaves.push(Leaf { rows: vec![row], bytes: size(lengths, row) });
            merged.log_bytes += (ROW_RECORD_BYTES + size(lengths, row)) as f64;
            next += 1;
        } else if leaf.rows.len() < 2 {
            // Two rows that do not fit one page.
            merged.log_bytes += (2 * PAGE_RECORD_BYTES + ROW_RECORD_BYTES + size(lengths, row)) as f64;
            merged.splits += 1;
            leaves.insert(at + slot, Leaf { rows: vec![row], bytes: size(lengths, row) });
            next += 1;
        } else {
            let cut = if run > 0 { slot } else { half(lengths, leaf) };
            let rows = leaf.rows.split_off(cut.clamp(1, leaf.rows.len().saturating_sub(1).max(1)));
            let bytes: usize = rows.iter().map(|row| size(lengths, *row)).sum();
            leaf.bytes -= bytes.min(leaf.bytes);
            // The page as it was, the new one, and each row that leaves.
            let whole = leaf.bytes + bytes;
            let left: usize = rows.len() * (ROW_RECORD_BYTES - SLOT_BYTES) + bytes;
            merged.log_bytes += (whole + PAGE_RECORD_BYTES + bytes + PAGE_RECORD_BYTES + left + 350) as f64;
            merged.splits += 1;
            leaves.insert(at + 1, Leaf { rows, bytes });
        }
    }
}

/// Bytes of rows for which the store writes a leaf again with them, instead of inserting them one by one.
const CROWD_BYTES: usize = CAPACITY_BYTES / 4;
/// Leaves up to which the store spreads the rows of a leaf that is written again evenly.
const EVEN_LEAVES: usize = 16;
/// What the log takes for a new leaf's links and its entry above.
const NEW_LEAF_BYTES: usize = 180;

/// How many rows of a batch belong into a leaf, if they have no room there and some come between its own; else none.
fn crowd(lengths: &[u16], leaf: &Leaf, batch: &[u32], first: usize, end: u32) -> usize {
    let (count, bytes) = rising(lengths, batch, first, end);
    let is_between = batch.get(first).zip(leaf.rows.last()).is_some_and(|(first, own)| first < own);
    let has_room = leaf.bytes + bytes <= CAPACITY_BYTES;
    if is_between && !has_room && bytes >= CROWD_BYTES { count } else { 0 }
}

/// The leaves that a leaf and these rows become.
fn rewritten(lengths: &[u16], leaf: &Leaf, rows: &[u32]) -> Vec<Leaf> {
    let mut all: Vec<u32> = leaf.rows.iter().chain(rows).copied().collect();
    all.sort_unstable();
    let bytes: usize = all.iter().map(|row| size(lengths, *row)).sum();
    let pages = bytes.div_ceil(CAPACITY_BYTES).max(1);
    let longest = all.iter().map(|row| size(lengths, *row)).max().unwrap_or(0);
    let share = match pages <= EVEN_LEAVES {
        true => (bytes / pages + longest).min(CAPACITY_BYTES),
        false => CAPACITY_BYTES,
    };
    let mut leaves = vec![Leaf::default()];
    for row in all {
        let bytes = size(lengths, row);
        if leaves.last().is_some_and(|leaf| leaf.bytes + bytes > share && !leaf.rows.is_empty()) {
            leaves.push(Leaf::default());
        }
        if let Some(leaf) = leaves.last_mut() {
            leaf.rows.push(row);
            leaf.bytes += bytes;
        }
    }
    leaves
}

/// The log of that: the leaf as it was and becomes, and the new ones.
fn rewrite_log(before: &Leaf, leaves: &[Leaf]) -> f64 {
    let bytes: usize = leaves.iter().map(|leaf| leaf.bytes).sum();
    let new = leaves.len().saturating_sub(1);
    (before.bytes + bytes + 200 + new * (PAGE_RECORD_BYTES + NEW_LEAF_BYTES)) as f64
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
        let rising: Vec<Vec<u32>> =
            (0..4).map(|batch| (batch * 5_000..(batch + 1) * 5_000).collect()).collect();
        let merged = merge(&lengths, None, &rising, true);
        assert!((254.0..262.0).contains(&merged.leaves.pages), "{}", merged.leaves.pages);
        assert_eq!(merged.splits, 0);
        // Every second row, then the others.
        let first: Vec<u32> = (0..10_000).map(|row| 2 * row).collect();
        let others = (0..10_000).map(|row| 2 * row + 1).collect();
        let built = fill([100; 10_000].into_iter(), 100, 0);
        let others = [others];
        let divided = merge(&lengths, Some((&first, &built)), &others, false);
        assert!(divided.splits > 100 && divided.leaves.pages < 450.0, "{divided:?}");
        assert!(divided.log_bytes > 10_000.0 * 146.0);
        // Leaves that are written again have the same rows in fewer bytes of log.
        let written = merge(&lengths, Some((&first, &built)), &others, true);
        assert_eq!(written.leaves.bytes, divided.leaves.bytes);
        assert!(written.log_bytes < divided.log_bytes, "{written:?}");
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
