//! Merges sorted rows into a tree that has rows: into its leaves, and into new leaves where many rows belong between two neighbours.

use std::ops::Range;
use std::sync::Arc;

use super::new_leaves::LeafMaker;
use super::split::first_of_split;
use super::tree_writer::TreeWriter;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::{CAPACITY_BYTES, HEADER_BYTES, Page, PageId, SLOT_BYTES};
use crate::record::Keys;
use crate::tree::{PageKeys, Place, child, damaged, duplicate, find, stored};

/// Approximate bytes that the log takes for a row besides the row's own.
const RECORD_BYTES: usize = 46;

impl TreeWriter<'_, '_> {
    /// Adds rows with these keys, which rise: as long as they belong in the same leaf, the tree is not descended again.
    pub(crate) fn insert_rising(&mut self, rows: &[&[u8]], keys: &Keys) -> Result<(), EngineError> {
        let mut maker = LeafMaker::default();
        let inserted = self.insert_making(rows, keys, &mut maker);
        self.note_made(&maker);
        inserted
    }

    fn insert_making(
        &mut self,
        rows: &[&[u8]],
        keys: &Keys,
        maker: &mut LeafMaker,
    ) -> Result<(), EngineError> {
        let tree = self.tree;
        // A leaf, and the least key that does not belong there.
        let mut known: Option<(PageId, Option<Vec<u8>>)> = None;
        let mut row = 0;
        while let Some(record) = rows.get(row) {
            let key = keys.get(row);
            let within = known.take().filter(|(_, end)| end.as_ref().is_none_or(|end| key < end.as_slice()));
            let (id, end) = match within {
                Some(within) => within,
                None => self.leaf_for(key)?,
            };
            let page = self.heap.shared.pager.cache.read(id)?;
            let crowd = self.crowd(&page, rows, keys, row, end.as_deref())?;
            if !crowd.is_empty() {
                let latch = self.heap.claim_path(tree, key, |_| Ok(None))?;
                if latch.is_some() {
                    row = crowd.end;
                    known = Some((self.rewrite(&page, rows, keys, crowd, maker)?, end));
                }
                continue;
            }
            let taken = self.insert_into_leaf(&page, rows, keys, row, end.as_deref())?;
            if taken > 0 {
                known = Some((id, end));
                row += taken;
                continue;
            }
            let (Place::At(slot) | Place::Before(slot)) = find(tree, &page, key)?;
            let next = match slot < page.slot_count() {
                true => Some(PageKeys::new(tree, &page)?.at(slot)?),
                false => end.clone(),
            };
            let run = run(rows, keys, row, next.as_deref());
            if self.relieve(&page, record)? {
                known = Some((id, end));
            } else if run.is_empty() || id == tree.root {
                let first = first_of_split(&page, slot);
                let latch = self.claim_split(&page, key, first, record)?;
                if latch.is_some() {
                    self.divide(&page, slot, record)?;
                }
            } else if slot < page.slot_count() {
                let latch = self.claim_split(&page, key, slot, record)?;
                if latch.is_some() {
                    self.split_at(&page, slot, record)?;
                }
            } else {
                let latch = self.heap.claim_path(tree, key, |_| Ok(None))?;
                if latch.is_some() {
                    row = run.end;
                    known = Some((self.append_leaves(&page, rows, keys, run, maker)?, end));
                }
            }
        }
        Ok(())
    }

    /// Puts rows from `first` on into the leaf in which they belong, up to the first one that does not, or finds no room. Many are logged
    /// as another content of the page, if that is shorter. Returns how many.
    fn insert_into_leaf(
        &self,
        page: &Arc<Page>,
        rows: &[&[u8]],
        keys: &Keys,
        first: usize,
        end: Option<&[u8]>,
    ) -> Result<usize, EngineError> {
        let tree = self.tree;
        let mut image = (**page).clone();
        let mut changes = Vec::new();
        let mut logged_bytes = 0;
        for (row, record) in rows.iter().enumerate().skip(first) {
            let key = keys.get(row);
            if end.is_some_and(|end| key >= end) {
                break;
            }
            let slot = match find(tree, &image, key)? {
                Place::At(_) => return Err(duplicate(tree, record)),
                Place::Before(slot) => slot,
            };
            let row = stored(&image, record)?;
            if !image.insert(slot, &row, true) {
                break;
            }
            logged_bytes += RECORD_BYTES + row.len();
            changes.push(Change::Insert { page: page.id(), slot, shift: true, row });
        }
        let taken = changes.len();
        let in_use = |page: &Page| HEADER_BYTES + CAPACITY_BYTES - page.free_bytes();
        if logged_bytes > RECORD_BYTES + in_use(page) + in_use(&image) {
            self.reformat(page, image)?;
        } else {
            changes.into_iter().try_for_each(|change| self.heap.must_change(change))?;
        }
        Ok(taken)
    }

    pub(crate) fn link(
        &self,
        page: PageId,
        change: impl FnOnce((PageId, PageId)) -> (PageId, PageId),
    ) -> Result<(), EngineError> {
        let present = self.heap.shared.pager.cache.read(page)?;
        let before = (present.previous(), present.next());
        self.heap.must_change(Change::Links { page, before, after: change(before) })
    }

    /// Locks the leaf in which a key belongs for this transaction. Returns it with the least key that does
    /// not belong there.
    fn leaf_for(&mut self, key: &[u8]) -> Result<(PageId, Option<Vec<u8>>), EngineError> {
        if self.heap.beside.is_none() {
            return self.follow(key);
        }
        let leaf = self.heap.leaf(self.tree, key)?.id();
        let unit = self.heap.table.unit(self.tree.unit).id;
        let _latch = self.heap.shared.latches.share(unit);
        // A locked leaf is not split by others, so the path to the key still ends in it.
        match self.follow(key)? {
            (found, end) if found == leaf => Ok((leaf, end)),
            (found, _) => {
                Err(damaged(found, "a key belongs to another leaf than the one that was locked for it"))
            }
        }
    }

    fn follow(&self, key: &[u8]) -> Result<(PageId, Option<Vec<u8>>), EngineError> {
        let tree = self.tree;
        let mut end = None;
        let mut page = self.heap.shared.pager.cache.read(tree.root)?;
        while page.level() > 0 {
            let keys = PageKeys::new(tree, &page)?;
            let slot = match keys.find(key)? {
                Place::At(slot) => slot + 1,
                Place::Before(slot) => slot.max(1),
            };
            if slot < page.slot_count() {
                end = Some(keys.at(slot)?);
            }
            let below = self.heap.shared.pager.cache.read(child(tree, &page, key)?)?;
            if below.level().checked_add(1) != Some(page.level()) {
                return Err(damaged(below.id(), "it is not one level below the page that leads to it"));
            }
            page = below;
        }
        Ok((page.id(), end))
    }
}

/// Returns the rows from `first` on that come before `end`, if they are enough for a page; else none.
fn run(rows: &[&[u8]], keys: &Keys, first: usize, end: Option<&[u8]>) -> Range<usize> {
    let belongs = |row: usize| row < rows.len() && end.is_none_or(|end| keys.get(row) < end);
    let (mut last, mut bytes) = (first, 0);
    while belongs(last) {
        bytes += rows.get(last).map_or(0, |row| row.len()) + SLOT_BYTES;
        last += 1;
    }
    if bytes < CAPACITY_BYTES { first..first } else { first..last }
}
