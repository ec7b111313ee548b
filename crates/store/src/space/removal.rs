//! Shrinks and removes files.

use std::collections::BTreeMap;

use super::state::{FIRST_EXTENTS, FileSpace};
use super::{Allocator, State, file_size, size_record};
use crate::error::EngineError;
use crate::log::Change;
use crate::page::maps;
use crate::page::unit::{Run, runs};
use crate::page::{EXTENT_PAGES, ExtentId, PageId, UnitId};

/// The allocator's state of a file that was taken out.
#[derive(Debug)]
pub struct TakenOut {
    space: FileSpace,
    mixed: BTreeMap<ExtentId, u8>,
}

impl Allocator {
    /// Stops allocation in a file, or allows it again. False if it is the only open file of its group.
    pub fn close_file(&self, number: u16, closed: bool) -> bool {
        let mut state = self.lock();
        let group = state.files.iter().find(|file| file.number == number).map(|file| file.group);
        let is_other =
            |file: &FileSpace| file.number != number && Some(file.group) == group && !file.is_closed;
        if closed && !state.files.iter().any(is_other) {
            return false;
        }
        state.files.iter_mut().filter(|file| file.number == number).for_each(|file| file.is_closed = closed);
        true
    }

    /// Removes a file's IAM pages without extents from the chains of their units, if no extent of the file is allocated.
    pub fn unlink_iam_pages(&self, number: u16) -> Result<(), EngineError> {
        let mut state = self.lock();
        if given(&state, number) {
            return Ok(());
        }
        let units = state.iam_pages.keys().filter(|unit| !state.created.contains_key(*unit));
        for unit in units.copied().collect::<Vec<UnitId>>() {
            let mut pages = state.iam_pages.get(&unit).cloned().unwrap_or_default();
            // The first page of a chain is named by the table.
            let mut index = 1;
            while let Some((_, _, page)) = pages.get(index).copied() {
                if page.file != number || maps::bits(&*self.pager.cache.read(page)?).next().is_some() {
                    index += 1;
                    continue;
                }
                let previous = pages.get(index - 1).map_or(PageId::NONE, |(_, _, page)| *page);
                let next = pages.get(index + 1).map(|(_, _, page)| *page);
                self.pager.system_transaction(|id| self.unlink(id, previous, page, next))?;
                pages.remove(index);
                state.iam_pages.insert(unit, pages.clone());
                self.release_mixed_page(&mut state, page)?;
            }
        }
        Ok(())
    }

    fn unlink(
        &self,
        transaction: u64,
        previous: PageId,
        page: PageId,
        next: Option<PageId>,
    ) -> Result<(), EngineError> {
        let before = self.pager.cache.read(previous)?.previous();
        let (before, after) = ((before, page), (before, next.unwrap_or(PageId::NONE)));
        self.must_change(transaction, Change::Links { page: previous, before, after })?;
        if let Some(next) = next {
            let behind = self.pager.cache.read(next)?.next();
            let (before, after) = ((page, behind), (previous, behind));
            self.must_change(transaction, Change::Links { page: next, before, after })?;
        }
        self.set_entry(transaction, page, maps::MIXED)
    }

    /// Returns true if nothing in a file is used but its maps.
    pub fn is_empty_file(&self, number: u16) -> bool {
        let state = self.lock();
        let used = state.mixed.iter().any(|(extent, used)| extent.file == number && *used != 0);
        !used && !given(&state, number)
    }

    /// Takes out an empty file. None if something in it is in use.
    pub fn take_out(&self, number: u16) -> Option<TakenOut> {
        let mut state = self.lock();
        let index = state.files.iter().position(|file| file.number == number)?;
        let used = state.mixed.iter().any(|(extent, used)| extent.file == number && *used != 0);
        if given(&state, number) || used {
            return None;
        }
        let space = state.files.remove(index);
        let (taken, mixed) =
            std::mem::take(&mut state.mixed).into_iter().partition(|(extent, _)| extent.file == number);
        state.mixed = mixed;
        Some(TakenOut { space, mixed: taken })
    }

    /// Drops the cached pages of a file that was taken out.
    pub fn discard_file(&self, number: u16, taken: &TakenOut) {
        for extent in 0..taken.space.free.len() as u32 {
            self.pager.cache.discard(ExtentId { file: number, extent });
        }
    }

    /// Puts back a file that could not be removed.
    pub fn put_back(&self, TakenOut { space, mixed }: TakenOut) {
        let mut state = self.lock();
        state.files.push(space);
        state.files.sort_by_key(|file| file.number);
        state.mixed.extend(mixed);
    }

    /// Cuts free extents off the end of a file, as long as it stays no shorter than `least` extents. Returns how long it is then.
    pub fn shrink(&self, number: u16, least: u32) -> Result<u32, EngineError> {
        let mut state = self.lock();
        let Some(space) = state.files.iter_mut().find(|file| file.number == number) else { return Ok(0) };
        let old = space.free.len() as u32;
        let used = space.free.iter().rposition(|free| !free).map_or(0, |last| last as u32 + 1);
        let new = used.max(least).max(FIRST_EXTENTS).min(old);
        if new == old {
            return Ok(old);
        }
        let cut = || (new..old).map(|extent| ExtentId { file: number, extent });
        cut().for_each(|extent| {
            self.pager.cache.discard(extent);
            (0..EXTENT_PAGES).for_each(|index| self.pager.versions.forget(extent.page(index)));
        });
        let header = PageId::new(number, 0);
        self.pager.system_transaction(|id| {
            for Run { first, count } in runs(cut()) {
                let (page, first) = maps::gam_of(first);
                self.must_change(id, Change::SetBits { page, first, count, value: false })?;
            }
            let page = self.pager.cache.read(header)?;
            let before = page.row(0).map_or_else(|| size_record(file_size(&page)), <[u8]>::to_vec);
            self.must_change(id, Change::Replace { page: header, slot: 0, before, after: size_record(new) })
        })?;
        space.cut(new);
        // The file may be longer than it says, not shorter.
        self.pager.log.flush(self.pager.log.position())?;
        self.pager.files.file(number)?.shrink(new)?;
        Ok(new)
    }
}

/// Returns true if an extent of a file belongs to a table, or is on its way to or from one.
fn given(state: &State, number: u16) -> bool {
    let Some(file) = state.files.iter().find(|file| file.number == number) else { return false };
    (0..).zip(&file.free).any(|(extent, free)| {
        let is_mixed = || state.mixed.contains_key(&ExtentId { file: number, extent });
        !free && !maps::is_system_extent(extent) && !is_mixed()
    })
}
