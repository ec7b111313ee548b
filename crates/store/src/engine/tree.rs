//! Clustered trees: rows in the order of a unique key, in leaves that are linked both ways.
//!
//! Whoever changes a tree has its table alone until its transaction ends, so a split needs no care of its own: it is a few logged
//! changes of pages like any others, undone with the rest. The root stays where it is. The first entry of an upper page stands
//! for everything below its neighbour, whatever its key says. Pages that lose their last row stay in the tree.

use std::sync::Arc;

use super::catalogue::{Clustered, UnitKind};
use super::error::EngineError;
use super::heap::HeapWriter;
use super::layout::Layout;
use super::log::Change;
use super::page::{Page, PageId, PageType};

/// Where a key is, or would be, in a leaf.
pub(crate) enum Place {
    /// In this slot.
    At(u16),
    /// Before this slot.
    Before(u16),
}

/// Looks for a key among the rows of a leaf, or the entries of an upper page.
pub(crate) fn find(layout: &Layout, tree: &Clustered, page: &Page, key: &[u8]) -> Result<Place, EngineError> {
    // The first entry of an upper page has no key of its own.
    let (mut low, mut high) = (u16::from(page.level() > 0).min(page.slot_count()), page.slot_count());
    while low < high {
        let middle = low + (high - low) / 2;
        let found = key_at(layout, tree, page, middle)?;
        match found.as_slice().cmp(key) {
            std::cmp::Ordering::Equal => return Ok(Place::At(middle)),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(Place::Before(low))
}

/// The page below an upper page in which a key belongs.
pub(crate) fn child(
    layout: &Layout,
    tree: &Clustered,
    page: &Page,
    key: &[u8],
) -> Result<PageId, EngineError> {
    let slot = match find(layout, tree, page, key)? {
        Place::At(slot) => slot,
        Place::Before(slot) => slot.saturating_sub(1),
    };
    let child = page.row(slot).and_then(|record| tree.key.child(record));
    child.ok_or_else(|| damaged(page.id(), "an entry leads nowhere"))
}

/// The key in a slot.
pub(crate) fn key_at(
    layout: &Layout,
    tree: &Clustered,
    page: &Page,
    slot: u16,
) -> Result<Vec<u8>, EngineError> {
    let key = page.row(slot).and_then(|record| match page.level() {
        0 => tree.key.of_row(layout, record),
        _ => tree.key.of_index(layout, record),
    });
    key.ok_or_else(|| damaged(page.id(), "a key cannot be read"))
}

/// The page of a level in which a key belongs, as `read` has the pages.
pub(crate) fn descend(
    layout: &Layout,
    tree: &Clustered,
    key: &[u8],
    level: u8,
    read: impl Fn(PageId) -> Result<Arc<Page>, EngineError>,
) -> Result<Arc<Page>, EngineError> {
    let mut page = read(tree.root)?;
    while page.level() > level {
        let below = read(child(layout, tree, &page, key)?)?;
        if below.level().checked_add(1) != Some(page.level()) {
            return Err(damaged(below.id(), "it is not one level below the page that leads to it"));
        }
        page = below;
    }
    Ok(page)
}

/// A page, the least key that may be in it, and the least that may not.
type Bounded = (PageId, Option<Vec<u8>>, Option<Vec<u8>>);

/// Walks the whole tree: levels, order of keys within and between pages, links. Returns the number of its pages.
pub(crate) fn check(
    layout: &Layout,
    tree: &Clustered,
    read: impl Fn(PageId) -> Result<Arc<Page>, EngineError>,
) -> Result<u64, EngineError> {
    let mut level: Vec<Bounded> = vec![(tree.root, None, None)];
    let mut pages = 0;
    while !level.is_empty() {
        pages += level.len() as u64;
        let mut below: Vec<Bounded> = Vec::new();
        let mut previous = PageId::NONE;
        for (index, (id, from, to)) in level.iter().enumerate() {
            let page = read(*id)?;
            let next = level.get(index + 1).map_or(PageId::NONE, |(next, _, _)| *next);
            if (page.previous(), page.next()) != (previous, next) {
                return Err(damaged(*id, "its neighbours are not those of its level"));
            }
            previous = *id;
            let first = u16::from(page.level() > 0);
            let keys = (first..page.slot_count()).map(|slot| key_at(layout, tree, &page, slot));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_, _>>()?;
            let rises = keys.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
            let above = from.as_ref().is_none_or(|from| keys.first().is_none_or(|key| key >= from));
            let under = to.as_ref().is_none_or(|to| keys.last().is_none_or(|key| key < to));
            if !rises || !above || !under {
                return Err(damaged(*id, "its keys are not in order"));
            }
            for slot in 0..if page.level() > 0 { page.slot_count() } else { 0 } {
                let child = page.row(slot).and_then(|record| tree.key.child(record));
                let child = child.ok_or_else(|| damaged(*id, "an entry leads nowhere"))?;
                if read(child)?.level().checked_add(1) != Some(page.level()) {
                    return Err(damaged(child, "it is not one level below the page that leads to it"));
                }
                let lower = if slot == 0 { from.clone() } else { keys.get(usize::from(slot) - 1).cloned() };
                let upper = keys.get(usize::from(slot)).cloned().or_else(|| to.clone());
                below.push((child, lower, upper));
            }
        }
        level = below;
    }
    Ok(pages)
}

impl HeapWriter<'_> {
    /// Adds a row to a tree.
    pub fn insert_keyed(&mut self, tree: &Clustered, row: &[u8]) -> Result<(), EngineError> {
        let layout = Arc::clone(&self.table.layout);
        let key = tree.key.of_row(&layout, row).ok_or_else(|| damaged(tree.root, "a key cannot be read"))?;
        self.insert_at(tree, 0, &key, row)?;
        self.table.rows += 1;
        Ok(())
    }

    /// Removes the row with a key.
    pub fn delete_keyed(&mut self, tree: &Clustered, key: &[u8]) -> Result<(), EngineError> {
        let (page, slot, row) = self.find_keyed(tree, key)?;
        self.free_large_values(&row)?;
        self.must_change(Change::Remove { page, slot, shift: true, row })?;
        self.table.rows = self.table.rows.saturating_sub(1);
        Ok(())
    }

    /// Puts a row in the place of the one with the same key.
    pub fn update_keyed(&mut self, tree: &Clustered, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
        let (page, slot, before) = self.find_keyed(tree, key)?;
        self.free_large_values(&before)?;
        let change = Change::Replace { page, slot, before: before.clone(), after: row.to_vec() };
        if self.shared.pager.change(self.transaction, change)? {
            return Ok(());
        }
        self.must_change(Change::Remove { page, slot, shift: true, row: before })?;
        self.insert_at(tree, 0, key, row)
    }

    fn find_keyed(&self, tree: &Clustered, key: &[u8]) -> Result<(PageId, u16, Vec<u8>), EngineError> {
        let layout = &self.table.layout;
        let page = descend(layout, tree, key, 0, |id| self.shared.pager.cache.read(id))?;
        match find(layout, tree, &page, key)? {
            Place::At(slot) => Ok((page.id(), slot, page.row(slot).unwrap_or_default().to_vec())),
            Place::Before(_) => Err(EngineError::NoSuchKey),
        }
    }

    fn insert_at(&mut self, tree: &Clustered, level: u8, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
        let layout = Arc::clone(&self.table.layout);
        loop {
            let page = descend(&layout, tree, key, level, |id| self.shared.pager.cache.read(id))?;
            let slot = match find(&layout, tree, &page, key)? {
                Place::At(_) if level == 0 => return Err(EngineError::DuplicateKey),
                Place::At(slot) => slot + 1,
                Place::Before(slot) => slot,
            };
            let change = Change::Insert { page: page.id(), slot, shift: true, row: row.to_vec() };
            if self.shared.pager.change(self.transaction, change)? {
                return Ok(());
            }
            if page.slot_count() == 0 {
                let limit_bytes = super::page::ROW_LIMIT_BYTES;
                return Err(EngineError::RowTooLarge { bytes: row.len(), limit_bytes });
            }
            if page.id() == tree.root {
                self.grow_root(tree, &layout, &page)?;
            } else {
                self.split(tree, &layout, &page, slot, row)?;
            }
        }
    }

    /// Moves everything in the root one level down.
    fn grow_root(&mut self, tree: &Clustered, layout: &Layout, root: &Arc<Page>) -> Result<(), EngineError> {
        let below = self.new_tree_page(root.level())?;
        let mut moved = self.empty(tree, below, root.level());
        fill(&mut moved, root, 0..root.slot_count())?;
        self.must_change(Change::Format { page: below, image: Box::new(moved) })?;
        let entry = entry_for(tree, layout, root, 0, below)?;
        let mut after = self.empty(tree, tree.root, root.level() + 1);
        after.insert(0, &entry, true);
        let (before, after) = (Box::new((**root).clone()), Box::new(after));
        self.must_change(Change::Reformat { page: tree.root, before, after })
    }

    /// Moves the upper part of a full page to a new one: half of its bytes, or nothing if the row that did not fit belongs at the very
    /// end of the tree, so that ascending keys leave full pages behind. Where nothing moves, the row's own key divides the two.
    fn split(
        &mut self,
        tree: &Clustered,
        layout: &Layout,
        page: &Arc<Page>,
        slot: u16,
        row: &[u8],
    ) -> Result<(), EngineError> {
        let (id, count) = (page.id(), page.slot_count());
        let first = match count {
            // A single row makes way for one before it, and stays for one behind it.
            1 => slot.min(1),
            _ if slot == count && !page.next().is_some() => count,
            _ => middle(page),
        };
        let new = self.new_tree_page(page.level())?;
        let mut image = self.empty(tree, new, page.level());
        image.set_links(id, page.next());
        fill(&mut image, page, first..count)?;
        self.must_change(Change::Format { page: new, image: Box::new(image) })?;
        for slot in (first..count).rev() {
            let row = page.row(slot).unwrap_or_default().to_vec();
            self.must_change(Change::Remove { page: id, slot, shift: true, row })?;
        }
        let before = (page.previous(), page.next());
        self.must_change(Change::Links { page: id, before, after: (page.previous(), new) })?;
        if page.next().is_some() {
            let next = self.shared.pager.cache.read(page.next())?;
            let before = (next.previous(), next.next());
            self.must_change(Change::Links { page: next.id(), before, after: (new, next.next()) })?;
        }
        let entry = match (first == count, page.level()) {
            (false, _) => entry_for(tree, layout, page, first, new)?,
            (true, 0) => {
                tree.key.index_record(layout, row, new).ok_or_else(|| damaged(id, "a key cannot be read"))?
            }
            (true, _) => {
                tree.key.index_record_of(row, new).ok_or_else(|| damaged(id, "a key cannot be read"))?
            }
        };
        let key = tree.key.of_index(layout, &entry).ok_or_else(|| damaged(id, "a key cannot be read"))?;
        self.insert_at(tree, page.level() + 1, &key, &entry)
    }

    fn new_tree_page(&mut self, level: u8) -> Result<PageId, EngineError> {
        let unit = self.table.unit(UnitKind::InRow).clone();
        let page_type = if level == 0 { PageType::Data } else { PageType::Index };
        self.new_page(UnitKind::InRow, page_type, &unit)
    }

    fn empty(&self, tree: &Clustered, id: PageId, level: u8) -> Page {
        let unit = self.table.unit(UnitKind::InRow).id;
        match level {
            0 => Page::formatted(id, PageType::Data, 0, unit, self.table.layout.fixed_bytes as u16),
            _ => Page::formatted(id, PageType::Index, level, unit, tree.key.fixed_bytes as u16),
        }
    }

    fn must_change(&self, change: Change) -> Result<(), EngineError> {
        let page = change.page();
        match self.shared.pager.change(self.transaction, change)? {
            true => Ok(()),
            false => Err(damaged(page, "a page of a tree is not in the expected state")),
        }
    }
}

/// The first slot of the upper half of a page, by bytes; at least one row stays, and one goes.
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

fn fill(target: &mut Page, source: &Page, slots: std::ops::Range<u16>) -> Result<(), EngineError> {
    for (to, slot) in (0..).zip(slots) {
        let row = source.row(slot).ok_or_else(|| damaged(source.id(), "a row is missing"))?;
        if !target.insert(to, row, true) {
            return Err(damaged(source.id(), "its rows do not fit a page"));
        }
    }
    Ok(())
}

/// The entry that leads to `child` with the key in a slot of the page that it takes rows from.
fn entry_for(
    tree: &Clustered,
    layout: &Layout,
    page: &Page,
    slot: u16,
    child: PageId,
) -> Result<Vec<u8>, EngineError> {
    let entry = page.row(slot).and_then(|record| match page.level() {
        0 => tree.key.index_record(layout, record, child),
        _ => tree.key.index_record_of(record, child),
    });
    entry.ok_or_else(|| damaged(page.id(), "a key cannot be read"))
}

pub(crate) fn damaged(page: PageId, reason: &str) -> EngineError {
    EngineError::DamagedPage { page, reason: reason.to_owned() }
}
