//! Rows that come into a tree which has some: what the store does to its leaves, and what it logs of that.

use super::page::{CAPACITY_BYTES, Filled, SLOT_BYTES, fill};

/// Bytes of log records, and how many these are: each has its length in front.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub bytes: usize,
    pub count: usize,
}

impl Records {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.count += 1;
    }

    /// Returns the bytes of the records in the log.
    pub fn log_bytes(self) -> f64 {
        (self.bytes + 4 * self.count) as f64
    }
}

/// A row that is added or taken away, besides its bytes.
const ROW_BYTES: usize = 46;
/// A page as a whole besides its rows and slots: a new one, and one that has been changed.
const FORMAT_BYTES: usize = 104;
const IMAGE_BYTES: usize = 124;
/// A leaf that gets another content, besides the old and the new one.
const REFORMAT_BYTES: usize = 204;
/// An empty page, and its entry in the map of used pages.
const EMPTY_PAGE_BYTES: usize = 89;
const ENTRY_BYTES: usize = 59;
/// Bits of a new extent in a map.
const BITS_BYTES: usize = 46;
/// Links of a page.
const LINKS_BYTES: usize = 69;
/// The bytes of a page besides its rows, as the store counts them.
const HEADER_BYTES: usize = 96;
/// Pages of an extent.
const EXTENT_PAGES: usize = 8;

/// Rows of a batch that the store takes out of its sort at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of rows for which the store writes a leaf again with them, instead of inserting them one by one.
const CROWD_BYTES: usize = CAPACITY_BYTES / 4;
/// Leaves up to which the store spreads the rows of a leaf that is written again evenly.
const EVEN_LEAVES: usize = 16;

/// Rows that come into a tree, in the order of its key.
#[derive(Debug, Clone, Default)]
pub(super) struct Coming {
    /// Bytes of the records as they come.
    pub lengths: Vec<u16>,
    /// Pages may be compressed as a whole, whether that pays or not.
    pub may_compress: bool,
    /// The share of them that is left in pages that are compressed as a whole, if there are such.
    pub compressed_share: Option<f64>,
    /// Bytes that such a page has in front of its rows.
    pub information_bytes: usize,
    /// Bytes of an entry of the level above, on average.
    pub entry_bytes: usize,
}

/// Leaves that were built of the first rows.
#[derive(Debug)]
pub(super) struct Built<'a> {
    /// The rows.
    pub rows: &'a [u32],
    pub filled: &'a Filled,
    /// The log has the leaves.
    pub is_logged: bool,
}

/// A leaf while rows come into it: where its rows are in the order of the key.
#[derive(Debug, Clone, Default)]
struct Leaf {
    rows: Vec<u32>,
    /// Bytes of its rows and slots, and of what a compressed page has in front of them.
    bytes: usize,
    is_compressed: bool,
    /// The log gets it as a whole before its first change: it is not there, or a checkpoint came behind it.
    wants_image: bool,
}

/// A page of the level above the leaves: it leads to so many.
#[derive(Debug, Clone, Copy, Default)]
struct Upper {
    entries: usize,
    wants_image: bool,
}

/// A tree into which rows come.
#[derive(Debug)]
pub(super) struct Merging {
    coming: Coming,
    leaves: Vec<Leaf>,
    /// The level above them; empty: the only leaf is the root.
    uppers: Vec<Upper>,
    /// Pages of the last extent that are in use.
    used_pages: usize,
    records: Records,
    /// Leaves that were divided.
    splits: usize,
}

impl Merging {
    pub fn new(coming: Coming, built: Option<&Built<'_>>) -> Self {
        let mut leaves = Vec::new();
        if let Some(Built { rows, filled, is_logged }) = built {
            leaves = coming.leaves_of(rows, &filled.firsts);
            leaves.iter_mut().for_each(|leaf| leaf.wants_image = !is_logged);
        }
        if leaves.is_empty() {
            leaves.push(Leaf::default());
        }
        if let [only] = leaves.as_mut_slice() {
            // A root is logged in any case.
            only.wants_image = false;
        }
        let is_logged = built.is_none_or(|built| built.is_logged);
        let uppers = coming.uppers_of(leaves.len(), is_logged);
        Self { coming, leaves, uppers, used_pages: 0, records: Records::default(), splits: 0 }
    }

    /// Returns the records logged since the last call.
    pub fn take_records(&mut self) -> Records {
        std::mem::take(&mut self.records)
    }

    /// Leaves that were divided.
    #[cfg(test)]
    pub fn splits(&self) -> usize {
        self.splits
    }

    /// Returns all leaves.
    pub fn leaves(&self) -> Filled {
        let mut filled = Filled::default();
        let mut first = 0;
        for leaf in &self.leaves {
            filled.pages += 1.0;
            filled.bytes += leaf.bytes as f64;
            filled.compressed_pages += f64::from(u8::from(leaf.is_compressed));
            filled.firsts.push(first);
            first += leaf.rows.len();
        }
        filled
    }

    /// Notes a checkpoint: pages are logged as a whole before they change again.
    pub fn note_checkpoint(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| leaf.wants_image = true);
        self.uppers.iter_mut().for_each(|upper| upper.wants_image = true);
    }

    /// Puts the rows of a batch into the tree, in their order.
    pub fn take(&mut self, batch: &[u32]) {
        let mut rest = batch;
        while !rest.is_empty() {
            let mut bytes = 0;
            let chunk = rest.iter().take_while(|row| {
                let fits = bytes < CHUNK_BYTES;
                bytes += self.coming.size(**row);
                fits
            });
            let (chunk, behind) = rest.split_at(chunk.count());
            self.take_chunk(chunk);
            rest = behind;
        }
    }

    /// Notes that a leaf is about to be changed.
    fn touch(&mut self, at: usize) {
        if let Some(leaf) = self.leaves.get_mut(at).filter(|leaf| leaf.wants_image) {
            leaf.wants_image = false;
            let image = IMAGE_BYTES + leaf.bytes;
            self.records.add(image);
        }
    }

    /// Logs a new page, before it has its content.
    fn new_page(&mut self) {
        if self.used_pages == 0 {
            self.records.add(BITS_BYTES);
            self.records.add(BITS_BYTES);
        }
        self.used_pages = (self.used_pages + 1) % EXTENT_PAGES;
        self.records.add(EMPTY_PAGE_BYTES);
        self.records.add(ENTRY_BYTES);
    }

    /// Inserts new leaves behind one, and logs them with their links and entries.
    fn insert(&mut self, behind: usize, new: Vec<Leaf>) {
        if new.is_empty() {
            return;
        }
        for leaf in &new {
            self.new_page();
            self.records.add(FORMAT_BYTES + leaf.bytes);
        }
        self.touch(behind);
        self.records.add(LINKS_BYTES);
        if behind + 1 < self.leaves.len() {
            self.touch(behind + 1);
            self.records.add(LINKS_BYTES);
        }
        for place in 0..new.len() {
            self.add_entry(behind + place);
        }
        self.leaves.splice(behind + 1..behind + 1, new);
    }

    /// Adds an entry above for a leaf behind this one. The levels above that are left out.
    fn add_entry(&mut self, behind: usize) {
        let entry = self.coming.entry_bytes + SLOT_BYTES;
        let most = (CAPACITY_BYTES / entry).max(2);
        let mut leaves = 0;
        let found = self.uppers.iter().position(|upper| {
            leaves += upper.entries;
            behind < leaves
        });
        let at = found.unwrap_or(self.uppers.len().saturating_sub(1));
        let is_last = behind + 1 >= leaves;
        let is_only = self.uppers.len() == 1;
        let Some(upper) = self.uppers.get_mut(at) else { return };
        if std::mem::take(&mut upper.wants_image) {
            self.records.add(IMAGE_BYTES + upper.entries * entry);
        }
        if upper.entries >= most {
            let whole = upper.entries * entry;
            // Behind the last entry of all, the new page begins with the new one.
            let moved = if is_last { 0 } else { upper.entries / 2 };
            upper.entries -= moved;
            if is_only {
                self.grow(whole, entry);
            }
            self.new_page();
            self.records.add(FORMAT_BYTES + moved * entry);
            (0..moved).for_each(|_| self.records.add(ROW_BYTES + entry - SLOT_BYTES));
            self.records.add(LINKS_BYTES);
            self.records.add(ROW_BYTES + entry - SLOT_BYTES);
            let new = Upper { entries: moved, wants_image: false };
            self.uppers.insert(at + 1, new);
            let place = if is_last { at + 1 } else { at };
            if let Some(upper) = self.uppers.get_mut(place) {
                upper.entries += 1;
            }
        } else {
            upper.entries += 1;
        }
        self.records.add(ROW_BYTES + entry - SLOT_BYTES);
    }

    /// Moves the root's entries to a new page below it.
    fn grow(&mut self, bytes: usize, entry: usize) {
        self.new_page();
        self.records.add(FORMAT_BYTES + bytes);
        self.records.add(REFORMAT_BYTES + bytes + entry);
    }

    fn take_chunk(&mut self, batch: &[u32]) {
        let mut next = 0;
        while let Some(row) = batch.get(next).copied() {
            let leaves = &self.leaves;
            let at = leaves
                .partition_point(|leaf| leaf.rows.first().is_some_and(|first| *first <= row))
                .saturating_sub(1);
            let end = leaves.get(at + 1).and_then(|leaf| leaf.rows.first().copied()).unwrap_or(u32::MAX);
            let is_last = at + 1 >= leaves.len();
            let Some(leaf) = leaves.get(at) else { return };
            let crowd = if self.uppers.is_empty() { 0 } else { self.crowd(leaf, batch, next, end) };
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
            if self.compress(at) {
                continue;
            }
            let Some(leaf) = self.leaves.get(at) else { return };
            if self.uppers.is_empty() {
                let bytes = leaf.bytes;
                self.grow(bytes, self.coming.entry_bytes + SLOT_BYTES);
                self.uppers.push(Upper { entries: 1, wants_image: false });
                continue;
            }
            let slot = leaf.rows.partition_point(|other| *other < row);
            let follower = leaf.rows.get(slot).copied().unwrap_or(end);
            let run = self.run(batch, next, follower);
            let behind = slot == leaf.rows.len();
            if run > 0 && behind {
                // Many rows between two neighbours get leaves of their own.
                let rows = batch.get(next..next + run).unwrap_or_default();
                let new = self.coming.filled(rows, 100);
                self.insert(at, new);
                next += run;
            } else if (behind && is_last) || leaf.rows.len() < 2 {
                // Behind the last row of all comes a new page, and between two rows of which one fills a page.
                let behind = if slot == 0 { at.saturating_sub(1) } else { at };
                let new = self.coming.leaf(vec![row], false);
                self.insert(behind, vec![new]);
                self.records.add(ROW_BYTES);
                self.splits += usize::from(!is_last);
                next += 1;
            } else {
                let cut = if run > 0 { slot } else { self.coming.half(leaf) };
                self.split(at, cut);
            }
        }
    }

    /// Puts rows into a leaf, up to the first that belongs behind it, finds no room or does not rise: how many.
    fn fill(&mut self, at: usize, batch: &[u32], first: usize, end: u32) -> usize {
        let coming = &self.coming;
        let Some(leaf) = self.leaves.get(at) else { return 0 };
        let fits =
            batch.get(first).is_some_and(|row| leaf.bytes + coming.size_in(leaf, *row) <= CAPACITY_BYTES);
        if !fits {
            return 0;
        }
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return 0 };
        let before = leaf.bytes;
        let mut own = Records::default();
        let mut taken = 0;
        while let Some(row) = batch.get(first + taken).copied().filter(|row| *row < end) {
            let bytes = self.coming.size_in(leaf, row);
            if leaf.bytes + bytes > CAPACITY_BYTES {
                break;
            }
            let slot = leaf.rows.partition_point(|other| *other < row);
            leaf.rows.insert(slot, row);
            leaf.bytes += bytes;
            own.add(ROW_BYTES + bytes - SLOT_BYTES);
            taken += 1;
            // Rows out of order are looked for one by one.
            if batch.get(first + taken).is_some_and(|following| *following < row) {
                break;
            }
        }
        let contents = before + leaf.bytes;
        if own.bytes > ROW_BYTES + 2 * HEADER_BYTES + contents {
            self.records.add(REFORMAT_BYTES + contents);
        } else {
            self.records.bytes += own.bytes;
            self.records.count += own.count;
        }
        taken
    }

    /// Compresses a full leaf as a whole, if its rows are not compressed so.
    fn compress(&mut self, at: usize) -> bool {
        let Some(leaf) = self.leaves.get(at) else { return false };
        if self.coming.compressed_share.is_none() || leaf.is_compressed || leaf.rows.len() < 2 {
            return false;
        }
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return false };
        let before = leaf.bytes;
        *leaf = self.coming.leaf(std::mem::take(&mut leaf.rows), true);
        let contents = before + leaf.bytes;
        self.records.add(REFORMAT_BYTES + contents);
        true
    }

    /// Writes a leaf again, with these rows: the leaf as it was and becomes, and new ones.
    fn rewrite(&mut self, at: usize, rows: &[u32]) {
        self.touch(at);
        let coming = &self.coming;
        let Some(leaf) = self.leaves.get_mut(at) else { return };
        let mut all: Vec<u32> = leaf.rows.iter().chain(rows).copied().collect();
        all.sort_unstable();
        let bytes: usize = all.iter().map(|row| coming.size(*row)).sum();
        let pages = bytes.div_ceil(CAPACITY_BYTES).max(1);
        let longest = all.iter().map(|row| coming.size(*row)).max().unwrap_or(0);
        let percent = match pages <= EVEN_LEAVES && !coming.may_compress {
            true => ((bytes / pages + longest) * 100).div_ceil(CAPACITY_BYTES).min(100) as u8,
            false => 100,
        };
        let mut new = coming.filled(&all, percent);
        let before = std::mem::replace(leaf, new.remove(0));
        let whole = REFORMAT_BYTES + before.bytes + leaf.bytes;
        self.records.add(whole);
        self.splits += new.len();
        self.insert(at, new);
    }

    /// Moves the rows of a leaf from `cut` on into a new one. Each that leaves is logged.
    fn split(&mut self, at: usize, cut: usize) {
        self.touch(at);
        let Some(leaf) = self.leaves.get_mut(at) else { return };
        let rows = leaf.rows.split_off(cut.clamp(1, leaf.rows.len().saturating_sub(1).max(1)));
        let is_compressed = leaf.is_compressed;
        *leaf = self.coming.leaf(std::mem::take(&mut leaf.rows), is_compressed);
        let new = self.coming.leaf(rows, is_compressed);
        for row in &new.rows {
            self.records.add(ROW_BYTES + self.coming.size_in(&new, *row) - SLOT_BYTES);
        }
        self.splits += 1;
        self.insert(at, vec![new]);
    }

    /// Counts the rows of a batch that belong into a full leaf, some of them between the leaf's own rows; 0 if the
    /// leaf has room.
    fn crowd(&self, leaf: &Leaf, batch: &[u32], first: usize, end: u32) -> usize {
        let (count, bytes) = self.rising(batch, first, end);
        let is_between = batch.get(first).zip(leaf.rows.last()).is_some_and(|(first, own)| first < own);
        let has_room = leaf.bytes + bytes <= CAPACITY_BYTES;
        if is_between && !has_room && bytes >= CROWD_BYTES { count } else { 0 }
    }

    /// Counts the rows of a batch that come before `end`, if they are enough for a page; otherwise 0.
    fn run(&self, batch: &[u32], first: usize, end: u32) -> usize {
        let (count, bytes) = self.rising(batch, first, end);
        if bytes < CAPACITY_BYTES { 0 } else { count }
    }

    /// Counts the rows of a batch that rise from `first` on and come before `end`, and their bytes.
    fn rising(&self, batch: &[u32], first: usize, end: u32) -> (usize, usize) {
        let rows = batch.get(first..).unwrap_or_default();
        let (mut count, mut bytes, mut last) = (0, 0, 0);
        for row in rows.iter().take_while(|row| **row < end) {
            if count > 0 && *row < last {
                break;
            }
            (count, bytes, last) = (count + 1, bytes + self.coming.size(*row), *row);
        }
        (count, bytes)
    }
}

impl Coming {
    /// Bytes of a row and its slot as it comes.
    fn size(&self, row: u32) -> usize {
        usize::from(self.lengths.get(row as usize).copied().unwrap_or(0)) + SLOT_BYTES
    }

    /// Bytes of a row and its slot in a page that is compressed as a whole.
    fn compressed_size(&self, row: u32) -> usize {
        let length = f64::from(self.lengths.get(row as usize).copied().unwrap_or(0));
        (length * self.compressed_share.unwrap_or(1.0)).max(1.0) as usize + SLOT_BYTES
    }

    fn size_in(&self, leaf: &Leaf, row: u32) -> usize {
        if leaf.is_compressed { self.compressed_size(row) } else { self.size(row) }
    }

    fn leaf(&self, rows: Vec<u32>, is_compressed: bool) -> Leaf {
        let mut leaf = Leaf { rows, bytes: 0, is_compressed, wants_image: false };
        let information = if is_compressed { self.information_bytes } else { 0 };
        leaf.bytes = information + leaf.rows.iter().map(|row| self.size_in(&leaf, *row)).sum::<usize>();
        leaf
    }

    /// Leaves that begin with these rows.
    fn leaves_of(&self, rows: &[u32], firsts: &[usize]) -> Vec<Leaf> {
        let ends = firsts.iter().skip(1).copied().chain([rows.len()]);
        let leaves = firsts.iter().zip(ends).map(|(start, end)| {
            let rows = rows.get(*start..end).unwrap_or_default().to_vec();
            let bytes: usize = rows.iter().map(|row| self.size(*row)).sum();
            self.leaf(rows, self.compressed_share.is_some() && bytes > CAPACITY_BYTES)
        });
        leaves.collect()
    }

    /// Leaves that are filled with rows.
    fn filled(&self, rows: &[u32], fill_percent: u8) -> Vec<Leaf> {
        self.leaves_of(rows, &self.fill(rows, fill_percent).firsts)
    }

    /// Divides rows among leaves, and returns where each leaf begins.
    pub fn fill(&self, rows: &[u32], fill_percent: u8) -> Filled {
        if self.compressed_share.is_none() {
            return fill(rows.iter().map(|row| (self.size(*row) - SLOT_BYTES) as u16), fill_percent, 0);
        }
        let limit = super::page::fill_limit_bytes(fill_percent);
        let (mut filled, mut at) = (Filled::default(), 0);
        while at < rows.len() {
            let rest = rows.get(at..).unwrap_or_default();
            let count = |mut used: usize, size: &dyn Fn(u32) -> usize| {
                let fits = |row: &&u32| {
                    used += size(**row);
                    used <= limit
                };
                rest.iter().take_while(fits).count()
            };
            let plain = count(0, &|row| self.size(row)).max(1);
            let packed = count(self.information_bytes, &|row| self.compressed_size(row));
            let is_compressed = plain < rest.len() && packed > plain;
            let taken = if is_compressed { packed } else { plain };
            let leaf = self.leaf(rest.get(..taken).unwrap_or_default().to_vec(), is_compressed);
            filled.pages += 1.0;
            filled.bytes += leaf.bytes as f64;
            filled.compressed_pages += f64::from(u8::from(is_compressed));
            filled.firsts.push(at);
            at += taken;
        }
        filled
    }

    /// Returns the level above leaves that were built.
    fn uppers_of(&self, leaves: usize, is_logged: bool) -> Vec<Upper> {
        if leaves <= 1 {
            return Vec::new();
        }
        let most = (CAPACITY_BYTES / (self.entry_bytes + SLOT_BYTES)).max(2);
        let mut uppers: Vec<Upper> = (0..leaves)
            .step_by(most)
            .map(|first| Upper { entries: most.min(leaves - first), wants_image: !is_logged })
            .collect();
        if let [only] = uppers.as_mut_slice() {
            // It is the root.
            only.wants_image = false;
        }
        uppers
    }

    /// Returns the row at which the second half of a leaf's bytes begins.
    fn half(&self, leaf: &Leaf) -> usize {
        let whole: usize = leaf.rows.iter().map(|row| self.size_in(leaf, *row)).sum();
        let mut bytes = 0;
        leaf.rows
            .iter()
            .position(|row| {
                bytes += self.size_in(leaf, *row);
                2 * bytes >= whole
            })
            .map_or(0, |slot| slot + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coming() -> Coming {
        Coming { lengths: vec![100; 20_000], entry_bytes: 11, ..Coming::default() }
    }

    fn merged(built: Option<&Built<'_>>, batches: &[Vec<u32>]) -> Merging {
        let mut merging = Merging::new(coming(), built);
        batches.iter().for_each(|batch| merging.take(batch));
        merging
    }

    #[test]
    fn rising_rows_fill_their_leaves_and_others_divide_them() {
        let rising: Vec<Vec<u32>> =
            (0..4).map(|batch| (batch * 5_000..(batch + 1) * 5_000).collect()).collect();
        let grown = merged(None, &rising);
        assert!((254.0..262.0).contains(&grown.leaves().pages), "{}", grown.leaves().pages);
        assert_eq!(grown.splits(), 0);
        // Every second row, then the others: leaves are written again with them.
        let rows: Vec<u32> = (0..10_000).map(|row| 2 * row).collect();
        let others = [(0..10_000).map(|row| 2 * row + 1).collect()];
        let filled = coming().fill(&rows, 100);
        let mut written = merged(Some(&Built { rows: &rows, filled: &filled, is_logged: true }), &others);
        assert!(written.splits() > 100 && written.leaves().pages < 300.0, "{}", written.leaves().pages);
        let logged = written.take_records().log_bytes();
        assert!((10_000.0 * 300.0..10_000.0 * 400.0).contains(&logged), "{logged}");
        // Leaves that are not in the log get there as a whole before.
        let mut unlogged = merged(Some(&Built { rows: &rows, filled: &filled, is_logged: false }), &others);
        assert_eq!(unlogged.leaves(), written.leaves());
        assert!(unlogged.take_records().log_bytes() > logged + 9_000.0 * 100.0);
        // A row in a hundred divides full leaves, and no leaf is written again for it.
        let few = [(0..100).map(|row| 200 * row + 1).collect()];
        let divided = merged(Some(&Built { rows: &rows, filled: &filled, is_logged: true }), &few);
        assert!((90..=100).contains(&divided.splits()), "{}", divided.splits());
    }

    #[test]
    fn a_checkpoint_has_leaves_logged_once_more() {
        let rows: Vec<u32> = (0..10_000).map(|row| 2 * row).collect();
        let filled = coming().fill(&rows, 50);
        let few: Vec<u32> = (0..100).map(|row| 200 * row + 1).collect();
        let mut merging =
            Merging::new(coming(), Some(&Built { rows: &rows, filled: &filled, is_logged: true }));
        merging.take(&few);
        let without = merging.take_records();
        assert_eq!(without.bytes, 100 * (ROW_BYTES + 100));
        let few: Vec<u32> = few.iter().map(|row| row + 2).collect();
        merging.note_checkpoint();
        merging.take(&few);
        let with = merging.take_records();
        assert_eq!(with.count, 200);
        assert!(with.bytes > without.bytes + 100 * 3_900, "{with:?}");
        // Once, until the next one.
        merging.take(&few.iter().map(|row| row + 2).collect::<Vec<_>>());
        assert_eq!(merging.take_records(), without);
    }

    #[test]
    fn a_leaf_of_few_rows_is_compressed_when_it_is_full() {
        let shared = Coming { compressed_share: Some(0.5), information_bytes: 200, ..coming() };
        let coming = Coming { may_compress: true, ..shared };
        // 151 rows to a page, and 79 that are not compressed.
        let rows: Vec<u32> = (0..960).map(|row| 2 * row).collect();
        let filled = coming.fill(&rows, 100);
        assert_eq!((filled.pages, filled.compressed_pages), (7.0, 6.0));
        let built = Built { rows: &rows, filled: &filled, is_logged: true };
        let mut merging = Merging::new(coming, Some(&built));
        merging.take(&(2_000..2_100).collect::<Vec<_>>());
        let leaves = merging.leaves();
        assert_eq!((leaves.pages, leaves.compressed_pages), (8.0, 7.0));
    }
}
