//! Locks pages before they are changed, so that several transactions can change one table.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::RwLockWriteGuard;

use super::HeapWriter;
use crate::catalogue::{Table, tree_of};
use crate::error::EngineError;
use crate::lock::{LockMode, Request, Resource};
use crate::log::Change;
use crate::page::{Page, PageId};
use crate::record;
use crate::tree::index::{RowLocator, Tree};
use crate::tree::{Place, child, descend, find, stored};

/// Page locks of one table from which on the whole table is locked instead, if no other transaction is in the way.
const ESCALATION_PAGES: usize = 5000;
/// Further pages after which escalation is tried again.
const ESCALATION_STEP: usize = 1250;

impl<'a> HeapWriter<'a> {
    /// Returns true if this transaction holds the page.
    pub(crate) fn has_claimed(&self, page: PageId) -> bool {
        self.beside.as_ref().is_none_or(|beside| beside.claims.has(self.table.object, page))
    }

    /// Locks a page, after waiting for its owner. Returns true if it was not locked before.
    pub(crate) fn claim(&mut self, page: PageId) -> Result<bool, EngineError> {
        if self.has_claimed(page) {
            return Ok(false);
        }
        let Some(beside) = &mut self.beside else { return Ok(false) };
        let object = self.table.object;
        let cost = self.shared.pager.log_position(self.transaction).reserved_bytes;
        let request = Request { cost, ..beside.request };
        self.shared.locks.acquire(request, &Resource::Page { object, page }, LockMode::X)?;
        self.note_claim(page);
        Ok(true)
    }

    /// Locks a page if no other transaction has it.
    pub(crate) fn try_claim(&mut self, page: PageId) -> bool {
        if self.has_claimed(page) {
            return true;
        }
        let resource = Resource::Page { object: self.table.object, page };
        let claimed = self.shared.locks.try_acquire(self.transaction, &resource, LockMode::X);
        if claimed {
            self.note_claim(page);
        }
        claimed
    }

    /// Locks a page, which is to get a row from elsewhere, if no other transaction has it or has changed it since
    /// this transaction's snapshot.
    pub(crate) fn try_claim_to_fill(&mut self, page: PageId) -> bool {
        !self.shared.pager.versions.conflicts(self.transaction, page) && self.try_claim(page)
    }

    fn note_claim(&mut self, page: PageId) {
        let Some(beside) = &mut self.beside else { return };
        let object = self.table.object;
        let table = beside.claims.tables.entry(object).or_default();
        table.pages.insert(page);
        if table.pages.len() < ESCALATION_PAGES + table.refused * ESCALATION_STEP {
            return;
        }
        let locks = &self.shared.locks;
        if locks.try_acquire(self.transaction, &Resource::Object(object), LockMode::X) {
            table.is_whole = true;
            table.pages = HashSet::new();
            let is_page = |resource: &Resource| matches!(resource, Resource::Page { object: own, .. } if *own == object);
            locks.release_some(self.transaction, is_page);
        } else {
            table.refused += 1;
        }
    }

    /// Lets go of a page that was locked just now and not changed.
    pub(crate) fn unclaim(&mut self, page: PageId) {
        let object = self.table.object;
        let table = self.beside.as_mut().and_then(|beside| beside.claims.tables.get_mut(&object));
        if table.is_some_and(|table| table.pages.remove(&page)) {
            self.shared.locks.release(self.transaction, &Resource::Page { object, page });
        }
    }

    /// Makes a change of a page that is this transaction's.
    pub(crate) fn change(&self, change: Change) -> Result<bool, EngineError> {
        let page = change.page();
        if !change.is_backward_link() && !self.has_claimed(page) {
            let reason = "it is to be changed, but not locked".to_owned();
            return Err(EngineError::DamagedPage { page, reason });
        }
        self.shared.pager.change(self.transaction, change).map_err(|error| named(self.table, error))
    }

    /// Locks the leaf in which a key belongs for this transaction. From then on no other transaction changes
    /// it, or what belongs there.
    pub(crate) fn leaf(&mut self, tree: &Tree, key: &[u8]) -> Result<Arc<Page>, EngineError> {
        let shared = self.shared;
        let read = |id| shared.pager.cache.read(id);
        if self.beside.is_none() {
            return descend(tree, key, 0, read);
        }
        let unit = self.table.unit(tree.unit).id;
        let mut waited_for = None;
        loop {
            let latch = shared.latches.share(unit);
            let id = descend(tree, key, 0, read)?.id();
            if let Some(other) = waited_for.take().filter(|waited_for| *waited_for != id) {
                // The key came to belong to another leaf while the transaction waited for this one.
                self.unclaim(other);
            }
            if self.try_claim(id) {
                // The last owner of the lock may have changed the page until now.
                return read(id);
            }
            drop(latch);
            if self.claim(id)? {
                waited_for = Some(id);
            }
        }
    }

    /// Locks what a split of a leaf changes, and keeps others from following the tree. `None` if it had to wait: the
    /// caller must look at everything again. `entry` gives what the level above gets; `None` stands for more than is known.
    pub(crate) fn claim_path(
        &mut self,
        tree: &Tree,
        key: &[u8],
        entry: impl FnOnce(&mut Self) -> Result<Option<Vec<u8>>, EngineError>,
    ) -> Result<Option<Vec<RwLockWriteGuard<'a, ()>>>, EngineError> {
        if self.beside.is_none() {
            return Ok(Some(Vec::new()));
        }
        let shared = self.shared;
        let unit = self.table.unit(tree.unit).id;
        let latch = shared.latches.take(std::iter::once(unit));
        let mut above = Vec::new();
        let mut page = shared.pager.cache.read(tree.root)?;
        while page.level() > 0 {
            let below = shared.pager.cache.read(child(tree, &page, key)?)?;
            above.push(std::mem::replace(&mut page, below));
        }
        if !above.is_empty() {
            let mut entry = Some(entry(self)?.unwrap_or_default());
            while let (Some(record), Some(upper)) = (entry.take(), above.pop()) {
                if !self.try_claim(upper.id()) {
                    drop(latch);
                    self.claim(upper.id())?;
                    return Ok(None);
                }
                // The entry that a split of this page would pass on is not known yet: then all pages above
                // may be needed.
                entry = (record.is_empty() || !upper.fits(stored(&upper, &record)?.len())).then(Vec::new);
            }
        }
        if let Some(beside) = &mut self.beside {
            beside.claims.restructured.insert(unit);
        }
        Ok(Some(latch))
    }

    /// Locks the pages of rows that are to be changed. All are locked even if some prove to be others than were read.
    ///
    /// # Errors
    /// Rows have changed since the commit `since`, up to which they were read.
    pub(crate) fn claim_rows(
        &mut self,
        locators: &[RowLocator],
        since: Option<u64>,
    ) -> Result<(), EngineError> {
        let mut is_changed = false;
        for locator in locators {
            let pages = match locator {
                RowLocator::Address(address) => {
                    self.claim(address.page)?;
                    let home = self.shared.pager.cache.read(address.page)?;
                    let target = home.row(address.slot).and_then(record::stub_target);
                    if let Some(target) = target {
                        self.claim(target.page)?;
                    }
                    [Some(address.page), target.map(|target| target.page)]
                }
                RowLocator::Key(key) => {
                    let tree = tree_of(self.table)?;
                    [Some(self.leaf(&tree, key)?.id()), None]
                }
            };
            if let Some(since) = since {
                let versions = &self.shared.pager.versions;
                is_changed |= pages.into_iter().flatten().any(|page| versions.is_changed_since(page, since));
            }
        }
        match is_changed {
            true => Err(EngineError::RowsChanged { table: self.table.name.to_string() }),
            false => Ok(()),
        }
    }

    /// Finds the leaf with the last row before `end`, and the row's slot. That leaf and those behind it up to
    /// `end` are locked for this transaction.
    pub(crate) fn last_before(
        &mut self,
        tree: &Tree,
        end: &[u8],
    ) -> Result<Option<(Arc<Page>, u16)>, EngineError> {
        let shared = self.shared;
        let unit = self.table.unit(tree.unit).id;
        'again: loop {
            let mut page = self.leaf(tree, end)?;
            let latch = self.beside.is_some().then(|| shared.latches.share(unit));
            let (Place::At(mut slot) | Place::Before(mut slot)) = find(tree, &page, end)?;
            while slot == 0 {
                let previous = page.previous();
                if !previous.is_some() {
                    return Ok(None);
                }
                if !self.try_claim(previous) {
                    drop(latch);
                    self.claim(previous)?;
                    continue 'again;
                }
                page = shared.pager.cache.read(previous)?;
                slot = page.slot_count();
            }
            return Ok(Some((page, slot - 1)));
        }
    }
}

/// Locks the root of the clustered tree, or of the first index: loads that merge many rows into the same trees follow
/// one another. They would meet in leaves and in the pages above them in different orders.
pub(crate) fn claim_root(heap: &mut HeapWriter<'_>) -> Result<(), EngineError> {
    let clustered = heap.table.clustered.as_ref().map(|tree| tree.root);
    let root = clustered.or_else(|| heap.table.indexes.first().map(|index| index.tree.root));
    root.map_or(Ok(()), |root| heap.claim(root).map(drop))
}

/// Adds to a conflict the table that it is about.
fn named(table: &Table, error: EngineError) -> EngineError {
    match error {
        EngineError::UpdateConflict { .. } => EngineError::UpdateConflict { table: table.name.to_string() },
        other => other,
    }
}
