//! Leaves that get many rows at once: between their own, which are written again with them, or behind these. New leaves follow.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::block::PageBlock;
use super::tree_writer::TreeWriter;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::{self, CAPACITY_BYTES, PAGE_BYTES, Page, PageId, SLOT_BYTES};
use crate::record::compress::grid::Grid;
use crate::record::compress::{Compression, row};
use crate::record::stored::StoredRow;
use crate::record::{Keys, Records};
use crate::tree::index::Tree;
use crate::tree::{PageKeys, damaged, duplicate};

/// Bytes of rows for which a leaf is written again: fewer are inserted one by one.
const LEAST_BYTES: usize = CAPACITY_BYTES / 4;

/// Pages up to which rows are spread evenly. Of more, the last may be nearly empty.
const EVEN_PAGES: usize = 16;

/// Pages that are compressed as a whole and made at once.
const COMPRESSED_PAGES: usize = 8;

impl TreeWriter<'_, '_> {
    /// Returns the rows from `first` on that belong into a leaf before `end`, if they are too many for its
    /// room, and some come between its own. Else none.
    pub(crate) fn crowd(
        &self,
        page: &Page,
        rows: &[&[u8]],
        keys: &Keys,
        first: usize,
        end: Option<&[u8]>,
    ) -> Result<Range<usize>, EngineError> {
        let none = first..first;
        if page.id() == self.tree.root || page.slot_count() == 0 {
            return Ok(none);
        }
        let belongs = |row: usize| end.is_none_or(|end| keys.get(row) < end);
        let (mut last, mut bytes) = (first, 0);
        while let Some(row) = rows.get(last).filter(|_| belongs(last)) {
            bytes += row.len() + SLOT_BYTES;
            last += 1;
        }
        if bytes < LEAST_BYTES || bytes <= page.free_bytes() {
            return Ok(none);
        }
        let own = PageKeys::new(self.tree, page)?.at(page.slot_count() - 1)?;
        Ok(if keys.get(first) < own.as_slice() { first..last } else { none })
    }

    /// Writes a leaf and these rows, which belong there, into the leaf and new ones behind it. Returns the last of them.
    pub(crate) fn rewrite(
        &mut self,
        page: &Arc<Page>,
        rows: &[&[u8]],
        keys: &Keys,
        run: Range<usize>,
        maker: &mut LeafMaker,
    ) -> Result<PageId, EngineError> {
        let mut merged = Merged::new(self.tree);
        self.merge_into(&mut merged, page, rows, keys, run)?;
        let mut leaves = self.leaves_of(&merged, true, maker)?.into_iter();
        let Some(mut bytes) = leaves.next() else {
            return Err(EngineError::internal("a leaf that loses its rows"));
        };
        let new = self.new_leaves(page, leaves)?;
        page::set_address(&mut bytes, page.id(), page.previous(), page.next());
        self.reformat(page, Page::from_bytes(bytes))?;
        self.link_leaves(page, new)
    }

    /// Puts rows that belong behind all others of a full leaf, and before its neighbour, into new leaves. Returns the last one.
    pub(crate) fn append_leaves(
        &mut self,
        page: &Arc<Page>,
        rows: &[&[u8]],
        keys: &Keys,
        run: Range<usize>,
        maker: &mut LeafMaker,
    ) -> Result<PageId, EngineError> {
        let mut merged = Merged::new(self.tree);
        for row in run {
            merged.add(self.tree, keys, row, rows.get(row).copied().unwrap_or_default())?;
        }
        let leaves = self.leaves_of(&merged, false, maker)?;
        let new = self.new_leaves(page, leaves)?;
        self.link_leaves(page, new)
    }

    /// Writes leaves that are to follow a leaf, each logged as a whole.
    fn new_leaves(
        &mut self,
        page: &Page,
        leaves: impl IntoIterator<Item = [u8; PAGE_BYTES]>,
    ) -> Result<NewLeaves, EngineError> {
        let mut new = Vec::new();
        for leaf in leaves {
            new.push((self.new_tree_page(0)?, leaf));
        }
        let ids: Vec<PageId> = new.iter().map(|(id, _)| *id).chain([page.next()]).collect();
        let mut previous = page.id();
        let mut entries = Vec::with_capacity(new.len());
        for ((id, mut leaf), next) in new.into_iter().zip(ids.iter().skip(1)) {
            page::set_address(&mut leaf, id, previous, *next);
            let image = Page::from_bytes(leaf);
            entries.push(PageKeys::new(self.tree, &image)?.entry(0, id)?);
            self.heap.must_change(Change::Format { page: id, image: Box::new(image) })?;
            previous = id;
        }
        let first = ids.first().copied().unwrap_or(page.next());
        Ok(NewLeaves { first, last: previous, entries })
    }

    /// Links new leaves with those between which they belong, and with the level above. Returns the last one.
    fn link_leaves(&mut self, page: &Page, new: NewLeaves) -> Result<PageId, EngineError> {
        let NewLeaves { first, last, entries } = new;
        let after = page.next();
        if !entries.is_empty() {
            self.link(page.id(), |(before, _)| (before, first))?;
            if after.is_some() {
                self.link(after, |(_, next)| (last, next))?;
            }
        }
        entries.iter().try_for_each(|entry| self.insert_entry(1, entry))?;
        Ok(last)
    }

    /// Adds the rows of a leaf and these rows, in the order of their keys.
    fn merge_into(
        &self,
        merged: &mut Merged,
        page: &Page,
        rows: &[&[u8]],
        keys: &Keys,
        run: Range<usize>,
    ) -> Result<(), EngineError> {
        let tree = self.tree;
        let of_page = PageKeys::new(tree, page)?;
        let mut new = run.peekable();
        let mut own = Vec::new();
        for slot in 0..page.slot_count() {
            let row_of_page = of_page.row(slot)?;
            own.clear();
            if new.peek().is_some() {
                of_page.write_of(row_of_page, &mut own)?;
            }
            while let Some(row) = new.next_if(|row| keys.get(*row) <= own.as_slice()) {
                let record = rows.get(row).copied().unwrap_or_default();
                if keys.get(row) == own.as_slice() {
                    return Err(duplicate(tree, record));
                }
                merged.add(tree, keys, row, record)?;
            }
            let pushed = merged.push(row_of_page);
            pushed.ok_or_else(|| damaged(page.id(), "a row cannot be read"))?;
        }
        for row in new {
            merged.add(tree, keys, row, rows.get(row).copied().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Leaves with these records, but for their addresses: evenly filled, if that is wanted and they are few, or full.
    fn leaves_of(
        &self,
        merged: &Merged,
        evenly: bool,
        maker: &mut LeafMaker,
    ) -> Result<Vec<[u8; PAGE_BYTES]>, EngineError> {
        let (tree, unit) = (self.tree, self.heap.table.unit(self.tree.unit).id);
        let lengths = merged.lengths();
        let bytes = lengths.iter().map(|length| usize::from(*length) + SLOT_BYTES).sum::<usize>();
        let pages = bytes.div_ceil(CAPACITY_BYTES).max(1);
        // A row more than the share, so that they are not more pages.
        let longest = lengths.iter().max().copied().unwrap_or(0);
        let share = bytes / pages + usize::from(longest) + SLOT_BYTES;
        let percent = match evenly && pages <= EVEN_PAGES && merged.grid.is_none() {
            true => (share * 100).div_ceil(CAPACITY_BYTES).min(100) as u8,
            false => 100,
        };
        let make = |pages, percent| PageBlock::of_tree(unit, &tree.layout, pages, percent, tree.page_type(0));
        let block = match merged.grid {
            Some(_) => maker.compressed.get_or_insert_with(|| make(COMPRESSED_PAGES, 100)),
            None => &mut make(pages + 1, percent),
        };
        let mut leaves = Vec::with_capacity(pages + 1);
        let (mut first, mut start) = (0, 0);
        while first < lengths.len() {
            let taken = match &merged.grid {
                Some(grid) => block.append_cells(grid, &lengths, first),
                None => block.append_records(&merged.records, first, start),
            };
            start += lengths.iter().skip(first).take(taken).map(|length| usize::from(*length)).sum::<usize>();
            first += taken;
            let is_last = first >= lengths.len();
            let done = if is_last { block.finish()? } else { block.full_pages()? };
            leaves.extend_from_slice(done);
            block.clear();
        }
        Ok(leaves)
    }

    /// Counts the pages that were compressed.
    pub(crate) fn note_made(&self, maker: &LeafMaker) {
        if let Some(block) = &maker.compressed {
            let unit = self.heap.table.unit(self.tree.unit).id;
            self.heap.shared.note_compression(unit, block.compression_counts());
        }
    }
}

/// Makes leaves of rows. What is learnt of the columns of compressed pages goes from leaf to leaf.
#[derive(Debug, Default)]
pub(crate) struct LeafMaker {
    compressed: Option<PageBlock>,
}

/// Leaves that are written and not linked yet.
struct NewLeaves {
    /// First of the leaves, or the leaf that is to follow them all.
    first: PageId,
    last: PageId,
    /// Entries for these leaves in the level above.
    entries: Vec<Vec<u8>>,
}

/// Rows on their way into leaves, in the order of their keys.
struct Merged {
    records: Records,
    /// Values of the rows in place of records, if pages are compressed as a whole; without the parts that
    /// their page leaves out.
    grid: Option<Grid>,
}

impl Merged {
    fn new(tree: &Tree) -> Self {
        let is_compressed = tree.layout.compression == Compression::Page;
        let grid = is_compressed.then(|| Grid::new(tree.layout.columns.len()));
        Self { records: Records::default(), grid }
    }

    /// Adds a row; None: the row cannot be read.
    fn push(&mut self, row: StoredRow<'_>) -> Option<()> {
        match &mut self.grid {
            Some(grid) => row.push_to(grid),
            None => row.record().map(|record| self.records.push(&record)),
        }
    }

    fn add(&mut self, tree: &Tree, keys: &Keys, row: usize, record: &[u8]) -> Result<(), EngineError> {
        if row.checked_sub(1).is_some_and(|before| keys.get(before) == keys.get(row)) {
            return Err(duplicate(tree, record));
        }
        self.push(StoredRow::whole(record)).ok_or_else(|| damaged(tree.root, "a row to add cannot be read"))
    }

    /// Returns the length of each row's record.
    fn lengths(&self) -> Cow<'_, [u16]> {
        match &self.grid {
            Some(grid) => Cow::Owned(row::lengths(&grid.views(), grid.rows())),
            None => Cow::Borrowed(&self.records.lengths),
        }
    }
}
