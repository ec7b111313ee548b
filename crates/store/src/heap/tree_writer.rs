//! Changing trees: roots, rows, splits.

use std::sync::Arc;

use super::HeapWriter;
use super::split::first_of_split;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::unit::Unit;
use crate::page::unit::UnitKind;
use crate::page::{Page, PageId};
use crate::record::stored::StoredRow;
use crate::tree::index::{Index, IndexDefinition, RowLocator, Tree};
use crate::tree::key::TextOrder;
use crate::tree::{PageKeys, Place, damaged, descend, duplicate, find, stored};

/// Changes one of a table's trees.
#[derive(Debug)]
pub(crate) struct TreeWriter<'w, 'a> {
    pub heap: &'w mut HeapWriter<'a>,
    pub tree: &'w Tree,
}

impl<'a> HeapWriter<'a> {
    /// Creates a writer for one of the table's trees.
    pub fn tree<'w>(&'w mut self, tree: &'w Tree) -> TreeWriter<'w, 'a> {
        TreeWriter { heap: self, tree }
    }

    pub fn plant_index(
        &mut self,
        id: u16,
        definition: IndexDefinition,
        unit: Unit,
        order: Option<TextOrder>,
    ) -> Result<(), EngineError> {
        let clustered = self.table.clustered.clone();
        let layout = Arc::clone(&self.table.layout);
        let make = |root, unit: Unit| {
            Index::new(id, definition.clone(), &layout, clustered.as_deref(), root, unit, order)
        };
        let place = self.table.indexes.iter().position(|index| index.id == id);
        let rootless = make(PageId::NONE, unit)?;
        let tree = Arc::clone(&rootless.tree);
        let place = match place {
            Some(place) => {
                self.table.indexes.splice(place..=place, [rootless]);
                place
            }
            None => {
                self.table.indexes.push(rootless);
                self.table.indexes.len() - 1
            }
        };
        let root = self.tree(&tree).new_root()?;
        let unit = self.table.unit(UnitKind::Index(id)).clone();
        self.table.indexes.splice(place..=place, [make(root, unit)?]);
        Ok(())
    }

    pub(crate) fn must_change(&self, change: Change) -> Result<(), EngineError> {
        let page = change.page();
        match self.change(change)? {
            true => Ok(()),
            false => Err(damaged(page, "a page of a tree is not in the expected state")),
        }
    }
}

impl TreeWriter<'_, '_> {
    /// Makes an empty page for the root of a new tree.
    pub fn new_root(&mut self) -> Result<PageId, EngineError> {
        let root = self.new_tree_page(0)?;
        let image = Box::new(self.empty_page(root, 0));
        self.heap.must_change(Change::Format { page: root, image })?;
        Ok(root)
    }

    /// Gives an index of the table, or a new one, an empty tree in a unit without extents.
    /// The locators of the rows with a key, or with its first columns.
    pub fn located(&mut self, key: &[u8]) -> Result<Vec<RowLocator>, EngineError> {
        let tree = self.tree;
        if tree.definition.unique {
            return Ok(vec![RowLocator::Key(key.into())]);
        }
        let mut found = Vec::new();
        let mut page = self.heap.leaf(tree, key)?;
        let (Place::At(mut first) | Place::Before(mut first)) = find(tree, &page, key)?;
        loop {
            let keys = PageKeys::new(tree, &page)?;
            for slot in first..page.slot_count() {
                let present = keys.at(slot)?;
                if !present.starts_with(key) {
                    return Ok(found);
                }
                found.push(RowLocator::Key(present.into()));
            }
            if !page.next().is_some() {
                return Ok(found);
            }
            // No page comes between this page, which is locked, and the next.
            let next = page.next();
            self.heap.claim(next)?;
            page = self.heap.shared.pager.cache.read(next)?;
            first = 0;
        }
    }

    /// Adds a row to a tree.
    pub fn insert_keyed(&mut self, row: &[u8]) -> Result<(), EngineError> {
        let tree = self.tree;
        let key = tree.key.of_row(&tree.layout, StoredRow::whole(row));
        let key = key.ok_or_else(|| damaged(tree.root, "a key cannot be read"))?;
        self.insert_at(0, &key, row)
    }

    /// Removes the row with a key. Returns its bytes in the page.
    pub fn delete_keyed(&mut self, key: &[u8]) -> Result<Vec<u8>, EngineError> {
        let (page, slot, row) = self.find_keyed(key)?;
        self.heap.must_change(Change::Remove { page, slot, shift: true, row: row.clone() })?;
        Ok(row)
    }

    /// Replaces the row with the same key.
    pub fn update_keyed(&mut self, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
        let (page, slot, before) = self.find_keyed(key)?;
        let after = stored(&*self.heap.shared.pager.cache.read(page)?, row)?;
        if before == after {
            return Ok(());
        }
        let change = Change::Replace { page, slot, before: before.clone(), after };
        if self.heap.change(change)? {
            return Ok(());
        }
        self.heap.must_change(Change::Remove { page, slot, shift: true, row: before })?;
        self.insert_at(0, key, row)
    }

    /// Finds the row with a key: its place and its bytes.
    pub fn find_keyed(&mut self, key: &[u8]) -> Result<(PageId, u16, Vec<u8>), EngineError> {
        let tree = self.tree;
        let page = self.heap.leaf(tree, key)?;
        match find(tree, &page, key)? {
            Place::At(slot) => match page.row(slot) {
                Some(row) => Ok((page.id(), slot, row.to_vec())),
                None => Err(damaged(page.id(), "a slot without a row")),
            },
            Place::Before(_) => Err(EngineError::NoSuchKey),
        }
    }

    pub(crate) fn insert_at(&mut self, level: u8, key: &[u8], row: &[u8]) -> Result<(), EngineError> {
        let tree = self.tree;
        loop {
            let page = match level {
                0 => self.heap.leaf(tree, key)?,
                _ => descend(tree, key, level, |id| self.heap.shared.pager.cache.read(id))?,
            };
            let slot = match find(tree, &page, key)? {
                Place::At(_) if level == 0 => return Err(duplicate(tree, row)),
                Place::At(slot) => slot + 1,
                Place::Before(slot) => slot,
            };
            if self.insert_into(&page, slot, row)? {
                return Ok(());
            }
            if self.relieve(&page, row)? {
                continue;
            }
            // The split of a leaf keeps others from the tree until all levels are right.
            let latch = match level {
                0 => self.claim_split(&page, key, first_of_split(&page, slot), row)?,
                _ => Some(Vec::new()),
            };
            if latch.is_some() {
                self.divide(&page, slot, row)?;
            }
        }
    }

    /// Puts a row into a page of a tree. False: it does not fit.
    fn insert_into(&self, page: &Page, slot: u16, row: &[u8]) -> Result<bool, EngineError> {
        let row = stored(page, row)?;
        if !page.fits(row.len()) {
            return Ok(false);
        }
        self.heap.change(Change::Insert { page: page.id(), slot, shift: true, row })
    }
}
