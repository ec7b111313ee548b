//! Pages with room for more rows: those that this process has seen, and otherwise those that the PFS knows.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::pager::Pager;
use crate::error::EngineError;
use crate::page::maps;
use crate::page::unit::Unit;
use crate::page::{PageId, UnitId};

/// Pages of a unit that are remembered.
const MOST_PAGES: usize = 1024;

/// Pages among which a transaction looks for one that no other has locked.
const SOME_PAGES: usize = 16;

/// Pages with room, by unit. Only hints: by now a page may be full, or belong to another unit.
#[derive(Debug, Default)]
pub(crate) struct Room {
    units: Mutex<HashMap<UnitId, UnitRoom>>,
}

#[derive(Debug)]
struct UnitRoom {
    /// The one to be tried first is last.
    pages: Vec<PageId>,
    /// True for each degree of fullness of which the PFS alone may know pages.
    unsearched: [bool; maps::FULLNESS_WITH_ROOM.len()],
    /// A page took a row since the last search that had any: another one may be worth it.
    found: bool,
}

impl Default for UnitRoom {
    /// Begins without knowledge, as after an opening.
    fn default() -> Self {
        Self { pages: Vec::new(), unsearched: [true; maps::FULLNESS_WITH_ROOM.len()], found: true }
    }
}

impl Room {
    /// Returns a page of a unit that may have room.
    pub fn page(&self, unit: UnitId) -> Option<PageId> {
        self.units.lock().get(&unit)?.pages.last().copied()
    }

    /// Returns some pages that may have room, for one of several transactions that look for it. The first
    /// should be tried first.
    pub fn some_pages(&self, unit: UnitId) -> Vec<PageId> {
        let units = self.units.lock();
        units
            .get(&unit)
            .map_or(Vec::new(), |room| room.pages.iter().rev().take(SOME_PAGES).copied().collect())
    }

    /// Notes that a row was removed from a page.
    pub fn note(&self, unit: UnitId, page: PageId) {
        let mut units = self.units.lock();
        let room = units.entry(unit).or_default();
        if room.pages.last() == Some(&page) {
            return;
        }
        if room.pages.len() < MOST_PAGES {
            room.pages.push(page);
        } else {
            room.unsearched.fill(true);
        }
    }

    /// Notes that a page has taken a row.
    pub fn note_found(&self, unit: UnitId) {
        self.units.lock().entry(unit).or_default().found = true;
    }

    /// Drops a page that has no room, or is locked by another transaction.
    pub fn forget(&self, unit: UnitId, page: PageId) {
        if let Some(room) = self.units.lock().get_mut(&unit) {
            room.pages.retain(|known| *known != page);
        }
    }

    /// Drops all pages of a unit whose extents have changed.
    pub fn forget_all(&self, unit: UnitId) {
        self.units.lock().remove(&unit);
    }

    /// Forgets the pages of a table that is gone.
    pub fn forget_storage(&self, object: u32) {
        self.units.lock().retain(|unit, _| unit.object != object);
    }

    /// Searches the PFS for pages of a unit that have at least this many bytes free. Returns whether there are any.
    pub fn search(&self, pager: &Pager, unit: &Unit, bytes: usize) -> Result<bool, EngineError> {
        let degrees = maps::FULLNESS_WITH_ROOM.iter().take_while(|free| **free >= bytes).count();
        {
            let mut units = self.units.lock();
            let room = units.entry(unit.id).or_default();
            let due = room.unsearched.iter().take(degrees).any(|unsearched| *unsearched);
            if !due || !room.found {
                return Ok(false);
            }
        }
        let mut by_fullness = vec![Vec::new(); degrees];
        let mut map = None;
        for id in unit.extents.iter().flat_map(|extent| extent.pages()) {
            let (pfs, entry) = maps::pfs_of(id);
            let page = match map.take() {
                Some((known, page)) if known == pfs => page,
                _ => pager.cache.read(pfs)?,
            };
            let fullness = maps::free_space(&page, entry) & maps::FULLNESS;
            if let Some(pages) = by_fullness.get_mut(usize::from(fullness))
                && pages.len() < MOST_PAGES
            {
                pages.push(id);
            }
            map = Some((pfs, page));
        }
        let all: usize = by_fullness.iter().map(Vec::len).sum();
        // The emptiest last; within one degree, the first of the table last.
        let mut pages: Vec<PageId> = by_fullness.into_iter().flatten().take(MOST_PAGES).collect();
        pages.reverse();
        let mut units = self.units.lock();
        let room = units.entry(unit.id).or_default();
        if all < MOST_PAGES {
            room.unsearched.iter_mut().take(degrees).for_each(|unsearched| *unsearched = false);
        }
        let some = !pages.is_empty();
        room.found = !some;
        room.pages = pages;
        Ok(some)
    }
}
