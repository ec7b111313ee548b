//! Making room in a full page of a tree: compressing its rows together, or splitting it.

use std::sync::Arc;

use parking_lot::RwLockWriteGuard;

use super::tree_writer::TreeWriter;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::{Page, PageId, ROW_LIMIT_BYTES};
use crate::record::compress::fill::compress_page;
use crate::record::compress::{Compression, CompressionCounts};
use crate::record::stored::StoredRow;
use crate::tree::{PageKeys, damaged};

impl<'a> TreeWriter<'_, 'a> {
    /// Makes room in a full page without changing the tree. False: there is no such way.
    pub(crate) fn relieve(&self, page: &Arc<Page>, row: &[u8]) -> Result<bool, EngineError> {
        let tree = self.tree;
        if page.slot_count() == 0 {
            return self.discard_information(page, row).map(|()| true);
        }
        Ok(page.level() == 0 && tree.layout.compression == Compression::Page && self.compress_leaf(page)?)
    }

    /// Makes room by another page: that of the tree's root moves into it, or half of another's rows.
    pub(crate) fn divide(&mut self, page: &Arc<Page>, slot: u16, row: &[u8]) -> Result<(), EngineError> {
        let tree = self.tree;
        match page.id() == tree.root {
            true => self.grow_root(page),
            false => self.split_at(page, first_of_split(page, slot), row),
        }
    }

    /// Locks what a split of a leaf before slot `first` changes. `None` if it had to wait: then nothing must be split yet.
    pub(crate) fn claim_split(
        &mut self,
        page: &Page,
        key: &[u8],
        first: u16,
        row: &[u8],
    ) -> Result<Option<Vec<RwLockWriteGuard<'a, ()>>>, EngineError> {
        let tree = self.tree;
        self.heap
            .claim_path(tree, key, |heap| heap.tree(tree).entry_for(page, first, row, PageId::NONE).map(Some))
    }

    /// Makes the entry for the new page that gets the rows from slot `first` on.
    fn entry_for(&self, page: &Page, first: u16, row: &[u8], new: PageId) -> Result<Vec<u8>, EngineError> {
        let tree = self.tree;
        let entry = match (first == page.slot_count(), page.level()) {
            (false, _) => Some(PageKeys::new(tree, page)?.entry(first, new)?),
            (true, 0) => tree.key.index_record(&tree.layout, StoredRow::whole(row), new),
            (true, _) => tree.key.index_record_of(row, new),
        };
        entry.ok_or_else(|| damaged(page.id(), "a key cannot be read"))
    }

    /// Compresses the rows of a full leaf together. False: it is compressed already and not worn, or it does not pay.
    pub(crate) fn compress_leaf(&self, page: &Arc<Page>) -> Result<bool, EngineError> {
        let Some(after) = self.compressed(page) else { return Ok(false) };
        self.reformat(page, after)?;
        Ok(true)
    }

    /// Compresses the rows of a full leaf together. None if that saves too little.
    pub(crate) fn compressed(&self, page: &Page) -> Option<Page> {
        let tree = self.tree;
        let mut counts = CompressionCounts::default();
        let compressed = compress_page(page, tree.layout.columns.len(), &mut counts);
        self.heap.shared.note_compression(self.heap.table.unit(tree.unit).id, counts);
        compressed
    }

    /// Discards the compression information of a page without rows, to make way for a row.
    fn discard_information(&self, page: &Arc<Page>, row: &[u8]) -> Result<(), EngineError> {
        let mut after = (**page).clone();
        match after.discard_information() {
            true => self.reformat(page, after),
            false => Err(EngineError::RowTooLarge { bytes: row.len(), limit_bytes: ROW_LIMIT_BYTES }),
        }
    }

    pub(crate) fn reformat(&self, page: &Arc<Page>, after: Page) -> Result<(), EngineError> {
        let (mut before, mut after) = (Box::new((**page).clone()), Box::new(after));
        // The log has both.
        before.clear_unlogged();
        after.clear_unlogged();
        self.heap.must_change(Change::Reformat { page: page.id(), before, after })
    }

    /// Moves everything in the root one level down.
    fn grow_root(&mut self, root: &Arc<Page>) -> Result<(), EngineError> {
        let tree = self.tree;
        let below = self.new_tree_page(root.level())?;
        let mut moved = self.empty_page(below, root.level());
        fill(&mut moved, root, 0..root.slot_count())?;
        self.heap.must_change(Change::Format { page: below, image: Box::new(moved) })?;
        let entry = PageKeys::new(tree, root)?.entry(0, below)?;
        let mut after = self.empty_page(tree.root, root.level() + 1);
        after.insert(0, &entry, true);
        self.reformat(root, after)
    }

    /// Moves the rows of a page from slot `first` on to a new one. If there are none, the new page begins with `row`.
    pub(crate) fn split_at(&mut self, page: &Arc<Page>, first: u16, row: &[u8]) -> Result<(), EngineError> {
        let (id, count) = (page.id(), page.slot_count());
        let new = self.new_tree_page(page.level())?;
        let mut image = self.empty_page(new, page.level());
        image.set_links(id, page.next());
        fill(&mut image, page, first..count)?;
        self.heap.must_change(Change::Format { page: new, image: Box::new(image) })?;
        for slot in (first..count).rev() {
            let row = page.row(slot).ok_or_else(|| damaged(id, "a slot without a row"))?.to_vec();
            self.heap.must_change(Change::Remove { page: id, slot, shift: true, row })?;
        }
        let before = (page.previous(), page.next());
        self.heap.must_change(Change::Links { page: id, before, after: (page.previous(), new) })?;
        if page.next().is_some() {
            let next = self.heap.shared.pager.cache.read(page.next())?;
            let before = (next.previous(), next.next());
            self.heap.must_change(Change::Links { page: next.id(), before, after: (new, next.next()) })?;
        }
        let entry = self.entry_for(page, first, row, new)?;
        self.insert_entry(page.level() + 1, &entry)
    }

    /// Adds an entry to an upper level.
    pub(crate) fn insert_entry(&mut self, level: u8, entry: &[u8]) -> Result<(), EngineError> {
        let tree = self.tree;
        let mut key = Vec::new();
        let read = tree.key.write_of_index(&tree.layout, entry, &mut key);
        read.ok_or_else(|| damaged(tree.root, "a key cannot be read"))?;
        self.insert_at(level, &key, entry)
    }

    pub(crate) fn new_tree_page(&mut self, level: u8) -> Result<PageId, EngineError> {
        let tree = self.tree;
        let unit = self.heap.table.unit(tree.unit).clone();
        let page_type = tree.page_type(level);
        self.heap.new_page(tree.unit, page_type, &unit)
    }

    pub(crate) fn empty_page(&self, id: PageId, level: u8) -> Page {
        let tree = self.tree;
        tree.empty_page(id, level, self.heap.table.unit(tree.unit).id)
    }
}

/// Returns the slot from which on the rows of a full page move to a new one: half of its bytes. Nothing moves
/// if the row that did not fit belongs at the very end of the tree, so that ascending keys leave full pages
/// behind. Where nothing moves, the row's own key divides the two.
pub(crate) fn first_of_split(page: &Page, slot: u16) -> u16 {
    match page.slot_count() {
        // A single row makes way for one before it, and stays for one behind it.
        1 => slot.min(1),
        count if slot == count && !page.next().is_some() => count,
        _ => middle(page),
    }
}

/// Returns the first slot of the upper half of a page, by bytes; at least one row stays, and one goes.
fn middle(page: &Page) -> u16 {
    let lengths: Vec<usize> = page.rows().map(|(_, row)| row.len()).collect();
    let half = lengths.iter().sum::<usize>() / 2;
    let mut sum = 0;
    let below = lengths.iter().take_while(|length| {
        sum += **length;
        sum <= half
    });
    let below = below.count() as u16;
    below.clamp(1, page.slot_count().saturating_sub(1).max(1))
}

/// Copies rows of a page unchanged into an empty one, with the page information that they omit.
fn fill(target: &mut Page, source: &Page, slots: std::ops::Range<u16>) -> Result<(), EngineError> {
    if source.is_compressed() && !slots.is_empty() && !target.share_information(source) {
        return Err(damaged(source.id(), "its compression information cannot be read"));
    }
    for (to, slot) in (0..).zip(slots) {
        let row = source.row(slot).ok_or_else(|| damaged(source.id(), "a row is missing"))?;
        if !target.insert(to, row, true) {
            return Err(damaged(source.id(), "its rows do not fit a page"));
        }
    }
    Ok(())
}
