//! Allocation of extents: GAM, SGAM, IAM and PFS pages, and the free extents in memory.
//!
//! # Maps
//!
//! | Page of a file | What |
//! |---|---|
//! | 0 | header: a record with the size in extents |
//! | 1, and every 8,088th | PFS: one byte per page from byte 100: 0–4 fullness, 10 IAM page, 20 mixed extent, 40 allocated |
//! | 2 and 3, every 511,232 pages | GAM (1 = free), SGAM (1 = mixed with a free page) |
//! | 6 and 7, every 511,232 pages | maps of changed and of minimally logged extents |
//!
//! Bitmaps have 63,904 bits from byte 194, one per extent; in an IAM, 1 = belongs to the unit. Extents with such pages belong to no
//! unit.

pub(crate) mod room;

mod data_file;
mod marks;
mod removal;
mod state;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::cache::pager::{NO_TRANSACTION, Pager};
use crate::disk::quota::shortage;
use crate::error::{EngineError, wants_space};
use crate::figures::WaitType;
use crate::log::Change;
use crate::page::lsn::Lsn;
use crate::page::maps;
use crate::page::unit::{ExtentUse, Owner, Run, Unit, runs};
use crate::page::{EXTENT_BYTES, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId, PageType, UnitId};
pub use data_file::DataFileSpace;
use marks::Marks;
use state::{FIRST_EXTENTS, FileSpace, LEAST_EXTENTS, State};

/// Outcome of making a file longer.
enum Growth {
    Done,
    /// The file cannot grow, for this reason.
    Refused(&'static str),
}

/// Gives extents to tables.
#[derive(Debug)]
pub struct Allocator {
    pager: Arc<Pager>,
    state: Mutex<State>,
    /// Extents written past the log while a backup is taken. The lock is held for moments only.
    marks: Mutex<Marks>,
    /// Limit of the size of all files together in bytes; None: no limit.
    limit_bytes: Option<u64>,
}

impl Allocator {
    /// Reads the maps of all files.
    pub fn open(pager: &Arc<Pager>, limit_bytes: Option<u64>) -> Result<Self, EngineError> {
        let mut state = State::default();
        for file in pager.files.all() {
            let first = PageId::new(file.number, 0);
            if is_blank(pager, first)? {
                // The file was being added when the process ended.
                state.files.push(FileSpace::empty(file.number, file.group));
                continue;
            }
            let header = pager.cache.read(first)?;
            let size = file_size(&header);
            if size > u32::MAX / EXTENT_PAGES {
                let reason = format!("a file of {size} extents");
                return Err(EngineError::DamagedPage { page: header.id(), reason });
            }
            if file.extents() < size {
                match file.grow(size) {
                    // Missing bytes read as zeros, and hold nothing that the log lacks.
                    Err(EngineError::Io { source, .. }) if wants_space(&source) => {}
                    grown => grown?,
                }
            }
            let mut space = FileSpace::empty(file.number, file.group);
            for extent in 0..size {
                let id = ExtentId { file: file.number, extent };
                let (gam, bit) = maps::gam_of(id);
                let free = maps::bit(&*pager.cache.read(gam)?, bit);
                space.free.push(free);
                space.free_count += u32::from(free);
                let (pfs, entry) = maps::pfs_of(id.page(0));
                if maps::free_space(&*pager.cache.read(pfs)?, entry) & maps::MIXED != 0 {
                    let used = used_pages(pager, id)?;
                    let (sgam, _) = maps::sgam_of(id);
                    let marked = maps::bit(&*pager.cache.read(sgam)?, bit);
                    if used != 0xFF && !marked {
                        // A transaction that recovery has undone had taken the last page of the extent.
                        let change = Change::SetBits { page: sgam, first: bit, count: 1, value: true };
                        pager.change(NO_TRANSACTION, change)?;
                    }
                    if used != 0xFF {
                        state.mixed.insert(id, used);
                    }
                }
            }
            state.files.push(space);
        }
        let marks = Mutex::default();
        let this = Self { pager: Arc::clone(pager), state: Mutex::new(state), marks, limit_bytes };
        let mut state = this.state.lock();
        for index in 0..state.files.len() {
            if state.files.get(index).is_some_and(|file| file.free.is_empty()) {
                // A file that finds no room on disk stays empty until it is needed.
                this.grow(&mut state, index, FIRST_EXTENTS)?;
            }
        }
        drop(state);
        Ok(this)
    }

    /// Prepares a new, empty file: its first maps.
    pub fn add_file(&self, number: u16, size_bytes: u64) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        let group = self.pager.files.file(number)?.group;
        state.files.push(FileSpace::empty(number, group));
        let index = state.files.len() - 1;
        let wanted = match size_bytes {
            0 => FIRST_EXTENTS,
            _ => u32::try_from(size_bytes / EXTENT_BYTES as u64).unwrap_or(u32::MAX),
        };
        match self.grow(&mut state, index, wanted)? {
            Growth::Done => Ok(()),
            Growth::Refused(reason) => {
                let table = format!("data file {number}");
                Err(full(&self.pager, group, Owner { table: &table, index: None }, reason))
            }
        }
    }

    /// Gives a unit a run of 1 to `wanted` extents of its group, and adds them to `allocated`, also if logging fails: the
    /// transaction must then be undone. Scans do not read the extents until they are in the unit's list.
    pub fn allocate(
        &self,
        transaction: u64,
        unit: &Unit,
        wanted: u32,
        owner: Owner<'_>,
        allocated: &mut Vec<ExtentId>,
    ) -> Result<Run, EngineError> {
        let mut state = self.lock();
        if let Some(undone) = state.undone {
            self.pager.log.flush(undone)?;
            state.undone = None;
        }
        let index = self.file_with_room(&mut state, unit.group, None, wanted, owner)?;
        let run = state.files.get_mut(index).and_then(|file| file.take_run(wanted.max(1)));
        let run = run.ok_or_else(|| full(&self.pager, unit.group, owner, "no free extent"))?;
        for extent in run.extents() {
            // A page that the cache may still have of an earlier owner must never be written over one of the
            // new owner.
            self.pager.cache.discard(extent);
            (0..EXTENT_PAGES).for_each(|index| self.pager.versions.forget(extent.page(index)));
            allocated.push(extent);
        }
        // No run crosses a system extent, so it lies in one interval of every map.
        self.log_allocation(&mut state, transaction, unit, run, owner)?;
        Ok(run)
    }

    /// Allocates extents only after the log up to this position is durable. Recovery has undone their former owner, and a
    /// repeated undo must not hit a load that fills them past the log.
    pub fn wait_for_undoing(&self, undone: Lsn) {
        self.state.lock().undone = Some(undone);
    }

    /// Finds a file of a group with a free extent: `preferred`, or the next one in turn. If nothing is free,
    /// the files are made longer, one after the other.
    fn file_with_room(
        &self,
        state: &mut State,
        group: u16,
        preferred: Option<u16>,
        wanted: u32,
        owner: Owner<'_>,
    ) -> Result<usize, EngineError> {
        if let Some(index) =
            preferred.and_then(|file| state.free_file(file)).or_else(|| state.next_file(group))
        {
            return Ok(index);
        }
        let together = self.pager.files.layout().groups.iter().any(|of| of.id == group && of.grows_together);
        let (mut refused, mut grown) = (None, None);
        for index in state.growing_files(group, preferred) {
            loop {
                match self.grow(state, index, wanted)? {
                    Growth::Done if state.files.get(index).is_some_and(|file| file.free_count > 0) => {
                        grown.get_or_insert(index);
                        break;
                    }
                    // The growth brought only pages for maps, so the file grows again.
                    Growth::Done => {}
                    Growth::Refused(reason) => {
                        refused = Some(reason);
                        break;
                    }
                }
            }
            if grown.is_some() && !together {
                break;
            }
        }
        if let Some(index) = grown {
            return Ok(index);
        }
        let name = || self.pager.files.group_name(group);
        Err(match refused {
            Some(reason) => full(&self.pager, group, owner, reason),
            None => EngineError::EmptyFileGroup { name: name() },
        })
    }

    /// Lists the pages of an extent that are in use.
    pub fn used_pages(&self, extent: ExtentId) -> Result<Vec<PageId>, EngineError> {
        let used = used_pages(&self.pager, extent)?;
        Ok(ExtentUse { extent, used }.pages().collect())
    }

    /// Returns true if an extent is allocated or holds maps. False for free extents, and beyond the end of
    /// the file.
    pub fn is_given(&self, extent: ExtentId) -> bool {
        let state = self.state.lock();
        let file = state.files.iter().find(|file| file.number == extent.file);
        file.and_then(|file| file.free.get(extent.extent as usize)).is_some_and(|free| !free)
    }

    /// Returns true if the maps say that a page is in use by a unit.
    pub fn owns(&self, unit: &Unit, page: PageId) -> Result<bool, EngineError> {
        let extent = page.extent();
        let interval = extent.extent / maps::MAP_EXTENTS;
        let pages = self.state.lock().iam_pages.get(&unit.id).cloned().unwrap_or_default();
        let Some((_, _, iam)) = pages.iter().find(|(file, at, _)| (*file, *at) == (extent.file, interval))
        else {
            return Ok(false);
        };
        let (pfs, entry) = maps::pfs_of(page);
        Ok(maps::bit(&*self.pager.cache.read(*iam)?, maps::gam_of(extent).1)
            && maps::free_space(&*self.pager.cache.read(pfs)?, entry) & maps::ALLOCATED != 0)
    }

    /// Returns true if the maps say that a page is in use.
    pub fn is_used(&self, page: PageId) -> Result<bool, EngineError> {
        let (pfs, entry) = maps::pfs_of(page);
        Ok(maps::free_space(&*self.pager.cache.read(pfs)?, entry) & maps::ALLOCATED != 0)
    }

    fn log_allocation(
        &self,
        state: &mut State,
        transaction: u64,
        unit: &Unit,
        run: Run,
        owner: Owner<'_>,
    ) -> Result<(), EngineError> {
        let iam = self.iam_for(state, unit, run.first, owner)?;
        let (gam, first) = maps::gam_of(run.first);
        let gam = Change::SetBits { page: gam, first, count: run.count, value: false };
        let iam = Change::SetBits { page: iam, first, count: run.count, value: true };
        self.must_change(transaction, gam)?;
        self.must_change(transaction, iam)
    }

    /// Writes the first PFS `entries` of pages from `first` on.
    pub fn set_used(&self, transaction: u64, first: PageId, entries: Vec<u8>) -> Result<(), EngineError> {
        let (page, entry) = maps::pfs_of(first);
        let before = vec![0; entries.len()];
        self.must_change(transaction, Change::SetFreeSpace { page, first: entry, before, after: entries })
    }

    /// Changes the PFS entry of one page, if it differs.
    pub fn set_entry(&self, transaction: u64, id: PageId, after: u8) -> Result<(), EngineError> {
        let (page, entry) = maps::pfs_of(id);
        let before = maps::free_space(&*self.pager.cache.read(page)?, entry);
        if before == after {
            return Ok(());
        }
        let change = Change::SetFreeSpace { page, first: entry, before: vec![before], after: vec![after] };
        self.must_change(transaction, change)
    }

    /// Logs that extents no longer belong to a unit. They are allocated again only after [`release`](Self::release).
    pub fn log_free(&self, transaction: u64, unit: &Unit, extents: &[ExtentId]) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        let mut extents = extents.to_vec();
        extents.sort_unstable();
        for Run { first, count } in runs(extents) {
            // The chain has a page for it, or it would not be the unit's.
            let iam = self.iam_for(&mut state, unit, first, Owner { table: "", index: None })?;
            let (gam, bit) = maps::gam_of(first);
            let (pfs, entry) = maps::pfs_of(first.page(0));
            let page = self.pager.cache.read(pfs)?;
            let before: Vec<u8> =
                (0..count * EXTENT_PAGES).map(|index| maps::free_space(&page, entry + index)).collect();
            if before.iter().any(|entry| *entry != 0) {
                let after = vec![0; before.len()];
                let change = Change::SetFreeSpace { page: pfs, first: entry, before, after };
                self.must_change(transaction, change)?;
            }
            self.must_change(transaction, Change::SetBits { page: iam, first: bit, count, value: false })?;
            self.must_change(transaction, Change::SetBits { page: gam, first: bit, count, value: true })?;
        }
        Ok(())
    }

    /// Frees extents for the next allocation, and drops their cached pages.
    pub fn release(&self, extents: impl IntoIterator<Item = ExtentId>) {
        let mut state = self.state.lock();
        for extent in extents {
            self.pager.cache.discard(extent);
            // A file that was removed has nothing to give back.
            if let Ok(file) = self.pager.files.file(extent.file) {
                file.discard(extent.extent);
            }
            state.give_back(Run { first: extent, count: 1 });
        }
    }

    /// Creates the first IAM page of a new unit, given by its transaction.
    pub fn create_unit(
        &self,
        transaction: u64,
        id: UnitId,
        group: u16,
        owner: Owner<'_>,
    ) -> Result<Unit, EngineError> {
        let mut state = self.state.lock();
        let page = self.allocate_mixed_page(&mut state, transaction, group, None, owner)?;
        let file = page.file;
        let first_extent = ExtentId { file, extent: 0 };
        let image = Box::new(maps::iam_page(page, id, 0, first_extent));
        self.must_change(transaction, Change::Format { page, image })?;
        state.iam_pages.insert(id, vec![(file, 0, page)]);
        state.created.insert(id, transaction);
        Ok(Unit { id, group, first_iam: page, extents: Arc::default() })
    }

    /// Lists the IAM pages of a unit, to be freed with it.
    pub fn iam_pages(&self, unit: &Unit) -> Vec<PageId> {
        let state = self.state.lock();
        state
            .iam_pages
            .get(&unit.id)
            .map(|pages| pages.iter().map(|(_, _, page)| *page).collect())
            .unwrap_or_default()
    }

    /// Logs that an IAM page is free. It is allocated again only after [`release_unit`](Self::release_unit).
    pub fn log_free_page(&self, transaction: u64, page: PageId) -> Result<(), EngineError> {
        self.set_entry(transaction, page, maps::MIXED)
    }

    /// Makes the units that a transaction created final, at its commit.
    pub fn publish_units(&self, transaction: u64) {
        self.state.lock().created.retain(|_, creator| *creator != transaction);
    }

    /// Frees the IAM pages of new units after their transaction was undone, wholly or in part.
    pub fn take_back_undone(&self, transaction: u64) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        let units: Vec<UnitId> = state
            .created
            .iter()
            .filter(|(_, creator)| **creator == transaction)
            .map(|(unit, _)| *unit)
            .collect();
        for unit in units {
            let pages = state.iam_pages.remove(&unit).unwrap_or_default();
            let mut kept = Vec::new();
            for (file, interval, page) in pages {
                let (pfs, entry) = maps::pfs_of(page);
                if maps::free_space(&*self.pager.cache.read(pfs)?, entry) & maps::ALLOCATED != 0 {
                    kept.push((file, interval, page));
                } else {
                    self.release_mixed_page(&mut state, page)?;
                }
            }
            if kept.is_empty() {
                state.created.remove(&unit);
            } else {
                state.iam_pages.insert(unit, kept);
            }
        }
        Ok(())
    }

    /// Frees the IAM pages of a dropped unit for the next allocation.
    pub fn release_unit(&self, unit: UnitId) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        for (_, _, page) in state.iam_pages.remove(&unit).unwrap_or_default() {
            self.release_mixed_page(&mut state, page)?;
        }
        Ok(())
    }

    fn release_mixed_page(&self, state: &mut State, page: PageId) -> Result<(), EngineError> {
        let extent = page.extent();
        let used = used_pages(&self.pager, extent)?;
        let (sgam, bit) = maps::sgam_of(extent);
        state.mixed.insert(extent, used);
        if !maps::bit(&*self.pager.cache.read(sgam)?, bit) {
            self.must_change(
                NO_TRANSACTION,
                Change::SetBits { page: sgam, first: bit, count: 1, value: true },
            )?;
        }
        Ok(())
    }

    /// Reads a unit's extents from its IAM chain.
    pub fn load_unit(&self, id: UnitId, group: u16, first_iam: PageId) -> Result<Unit, EngineError> {
        let mut extents = Vec::new();
        let mut pages = Vec::new();
        let mut next = first_iam;
        while next.is_some() {
            let page = self.pager.cache.read(next)?;
            let damaged = |reason: String| EngineError::DamagedPage { page: next, reason };
            if page.page_type() != Some(PageType::Iam) || page.unit() != id {
                return Err(damaged(format!("no IAM page of unit {id:?}")));
            }
            if pages.iter().any(|(_, _, seen)| *seen == next) {
                return Err(damaged("the IAM chain runs in a circle".to_owned()));
            }
            let start = maps::iam_start(&page);
            pages.push((start.file, start.extent / maps::MAP_EXTENTS, next));
            for bit in maps::bits(&page) {
                let extent = ExtentId { file: start.file, extent: start.extent.saturating_add(bit) };
                extents.push(ExtentUse { extent, used: used_pages(&self.pager, extent)? });
            }
            next = page.next();
        }
        self.state.lock().iam_pages.insert(id, pages);
        Ok(Unit { id, group, first_iam, extents: Arc::new(extents) })
    }

    /// Returns the size of a file in extents.
    pub fn file_extents(&self, number: u16) -> u32 {
        let state = self.state.lock();
        state.files.iter().find(|file| file.number == number).map_or(0, |file| file.free.len() as u32)
    }

    /// Counts the extents of all files, and how many of them are free.
    pub fn totals(&self) -> (u64, u64) {
        let state = self.state.lock();
        let total = state.files.iter().map(|file| file.free.len() as u64).sum();
        (total, state.files.iter().map(|file| u64::from(file.free_count)).sum())
    }

    /// Lists the files with their sizes and free pages.
    pub fn files(&self) -> Vec<DataFileSpace> {
        let layout = self.pager.files.layout();
        let state = self.state.lock();
        let pages = |extents: u32| u64::from(extents) * u64::from(EXTENT_PAGES);
        let files = state.files.iter().filter_map(|file| {
            let definition = layout.files.iter().find(|definition| definition.number == file.number)?;
            let group = layout.groups.iter().find(|group| group.id == file.group)?;
            let size = file.free.len() as u32;
            let mixed = state.mixed.keys().filter(|extent| extent.file == file.number).count() as u32;
            Some(DataFileSpace {
                file: file.number,
                name: crate::disk::files::file_name(file.number),
                logical_name: definition.name.clone(),
                group: file.group,
                group_name: group.name.clone(),
                size_pages: pages(size),
                free_pages: pages(file.free_count),
                mixed_pages: pages(mixed),
                growth_pages: pages(state::growth(size, 1, definition.growth)),
                limit_pages: definition.limit_bytes.map(|limit| limit / PAGE_BYTES as u64),
                growth: definition.growth,
            })
        });
        files.collect()
    }

    /// Returns the IAM page that covers an extent. It is added to the chain, for good, if the unit has none
    /// there.
    fn iam_for(
        &self,
        state: &mut State,
        unit: &Unit,
        extent: ExtentId,
        owner: Owner<'_>,
    ) -> Result<PageId, EngineError> {
        let interval = extent.extent / maps::MAP_EXTENTS;
        let pages = state.iam_pages.get(&unit.id).cloned().unwrap_or_default();
        if let Some((_, _, page)) = pages.iter().find(|(file, at, _)| (*file, *at) == (extent.file, interval))
        {
            return Ok(*page);
        }
        let last = pages.last().map_or(unit.first_iam, |(_, _, page)| *page);
        // The chain of a committed unit grows for good; that of a new unit goes if the unit's creation is
        // undone.
        let sequence = pages.len() as u32;
        let page = match state.created.get(&unit.id).copied() {
            Some(creator) => self.extend_chain(state, creator, unit, (last, sequence), extent, owner)?,
            None => self.pager.system_transaction(|id| {
                self.extend_chain(state, id, unit, (last, sequence), extent, owner)
            })?,
        };
        state.iam_pages.entry(unit.id).or_default().push((extent.file, interval, page));
        Ok(page)
    }

    fn extend_chain(
        &self,
        state: &mut State,
        transaction: u64,
        unit: &Unit,
        (last, sequence): (PageId, u32),
        extent: ExtentId,
        owner: Owner<'_>,
    ) -> Result<PageId, EngineError> {
        let page = self.allocate_mixed_page(state, transaction, unit.group, Some(extent.file), owner)?;
        let interval = extent.extent / maps::MAP_EXTENTS;
        let start = ExtentId { file: extent.file, extent: interval * maps::MAP_EXTENTS };
        let mut image = Box::new(maps::iam_page(page, unit.id, sequence, start));
        image.set_links(last, PageId::NONE);
        self.must_change(transaction, Change::Format { page, image })?;
        let previous = self.pager.cache.read(last)?.previous();
        let (before, after) = ((previous, PageId::NONE), (previous, page));
        self.must_change(transaction, Change::Links { page: last, before, after })?;
        Ok(page)
    }

    /// Allocates a page of a mixed extent, marked in the PFS as an IAM page: of the preferred file, or
    /// another one of the group.
    fn allocate_mixed_page(
        &self,
        state: &mut State,
        transaction: u64,
        group: u16,
        preferred: Option<u16>,
        owner: Owner<'_>,
    ) -> Result<PageId, EngineError> {
        let preferred = preferred.or_else(|| state.first_file(group));
        let (extent, used) = match state.mixed_extent(preferred) {
            Some(found) => found,
            None => {
                let index = self.file_with_room(state, group, preferred, 1, owner)?;
                let run = state.files.get_mut(index).and_then(|space| space.take_run(1));
                let run = run.ok_or_else(|| full(&self.pager, group, owner, "no free extent"))?;
                let extent = run.first;
                let (gam, first) = maps::gam_of(extent);
                let (sgam, _) = maps::sgam_of(extent);
                let marked = self.pager.system_transaction(|id| {
                    self.must_change(id, Change::SetBits { page: gam, first, count: 1, value: false })?;
                    self.must_change(id, Change::SetBits { page: sgam, first, count: 1, value: true })?;
                    // The first page marks the extent as mixed, even if recovery undoes all transactions that
                    // own its pages.
                    self.set_used(id, extent.page(0), vec![maps::MIXED; EXTENT_PAGES as usize])
                });
                if let Err(error) = marked {
                    state.give_back(run);
                    return Err(error);
                }
                (extent, 0)
            }
        };
        let index = used.trailing_ones();
        let page = extent.page(index);
        self.set_entry(transaction, page, maps::ALLOCATED | maps::MIXED | maps::IAM)?;
        let used = used | (1 << index);
        if used == 0xFF {
            state.mixed.remove(&extent);
            let (page, first) = maps::sgam_of(extent);
            self.must_change(NO_TRANSACTION, Change::SetBits { page, first, count: 1, value: false })?;
        } else {
            state.mixed.insert(extent, used);
        }
        Ok(page)
    }

    /// Makes a file longer: its size on page 0 is written last, so that a growth cut short is simply done again.
    fn grow(&self, state: &mut State, index: usize, wanted: u32) -> Result<Growth, EngineError> {
        let total: u64 = state.files.iter().map(|file| file.free.len() as u64).sum();
        let Some(space) = state.files.get_mut(index) else {
            return Ok(Growth::Refused("there is no such file"));
        };
        let old = space.free.len() as u32;
        let Some(definition) = self.pager.files.definition(space.number) else {
            return Ok(Growth::Refused("there is no such file"));
        };
        let step = state::growth(old, wanted, definition.growth);
        if step == 0 {
            return Ok(Growth::Refused("its files do not grow"));
        }
        let extents = |bytes: u64| u32::try_from(bytes / EXTENT_BYTES as u64).unwrap_or(u32::MAX);
        let room_in_all = extents(self.limit_bytes.unwrap_or(u64::MAX))
            .saturating_sub(u32::try_from(total).unwrap_or(u32::MAX));
        let room = extents(definition.limit_bytes.unwrap_or(u64::MAX)).saturating_sub(old);
        let step = step.min(room).min(room_in_all).min(u32::MAX / EXTENT_PAGES - old);
        if step == 0 && room_in_all == 0 {
            return Ok(Growth::Refused("the database has reached its limit"));
        }
        if step == 0 || (old == 0 && step < LEAST_EXTENTS) {
            return Ok(Growth::Refused("its files have reached their limits"));
        }
        let new = old + step;
        match self.pager.files.file(space.number)?.grow(new) {
            Err(EngineError::Io { source, .. }) if wants_space(&source) => {
                return Ok(Growth::Refused(shortage(&source)));
            }
            grown => grown?,
        }
        for (number, page_type) in maps::map_pages(old, new) {
            let page = PageId::new(space.number, number);
            let mut image = Box::new(Page::formatted(page, page_type, 0, UnitId::default(), 4));
            if page_type == PageType::FileHeader {
                image.insert(0, &size_record(0), true);
            }
            self.must_change(NO_TRANSACTION, Change::Format { page, image })?;
        }
        let usable = |extent: &u32| !maps::is_system_extent(*extent);
        let extents: Vec<u32> = (old..new).filter(usable).collect();
        for run in extents.chunk_by(|a, b| a + 1 == *b && a / maps::MAP_EXTENTS == b / maps::MAP_EXTENTS) {
            let Some(first) = run.first() else { continue };
            let (page, bit) = maps::gam_of(ExtentId { file: space.number, extent: *first });
            let map = self.pager.cache.read(page)?;
            for (offset, _) in (0..).zip(run).filter(|(offset, _)| !maps::bit(&map, bit + offset)) {
                // The run takes one log record, unless an interrupted growth has marked part of it already.
                let whole = (0..run.len() as u32).all(|offset| !maps::bit(&map, bit + offset));
                let count = if whole { run.len() as u32 } else { 1 };
                self.must_change(
                    NO_TRANSACTION,
                    Change::SetBits { page, first: bit + offset, count, value: true },
                )?;
                if whole {
                    break;
                }
            }
        }
        let page = PageId::new(space.number, 0);
        let (before, after) = (size_record(old), size_record(new));
        let current = self.pager.cache.read(page)?.row(0).map(<[u8]>::to_vec).unwrap_or(before);
        self.must_change(NO_TRANSACTION, Change::Replace { page, slot: 0, before: current, after })?;
        space.free.extend((old..new).map(|extent| usable(&extent)));
        space.free_count += extents.len() as u32;
        Ok(Growth::Done)
    }

    /// Locks the state; waits for it are contention about allocation maps.
    fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Some(state) => state,
            None => self.pager.waits.during(WaitType::PageLatchUpdate, || self.state.lock()),
        }
    }

    fn must_change(&self, transaction: u64, change: Change) -> Result<(), EngineError> {
        let page = change.page();
        match self.pager.change(transaction, change)? {
            true => Ok(()),
            false => Err(EngineError::DamagedPage {
                page,
                reason: "the allocation map is not in the expected state".to_owned(),
            }),
        }
    }
}

fn full(pager: &Pager, group: u16, owner: Owner<'_>, reason: &'static str) -> EngineError {
    EngineError::FileGroupFull {
        group: pager.files.group_name(group),
        table: owner.table.to_owned(),
        index: owner.index.map(str::to_owned),
        reason,
    }
}

/// Returns true if a page was never written, neither on disk nor in memory.
fn is_blank(pager: &Pager, id: PageId) -> Result<bool, EngineError> {
    let blank = |page: &Page| page.bytes().iter().all(|byte| *byte == 0);
    match pager.cache.peek(id) {
        Some(page) => Ok(blank(&page)),
        None => pager.files.read_page_unverified(id, WaitType::PageIoLatchShared).map(|page| blank(&page)),
    }
}

/// Returns the pages of an extent that the PFS says are in use, a bit for each.
fn used_pages(pager: &Pager, extent: ExtentId) -> Result<u8, EngineError> {
    let (pfs, entry) = maps::pfs_of(extent.page(0));
    let page = pager.cache.read(pfs)?;
    let used =
        (0..EXTENT_PAGES).filter(|index| maps::free_space(&page, entry + index) & maps::ALLOCATED != 0);
    Ok(used.fold(0, |mask, index| mask | (1 << index)))
}

/// Makes the record on page 0 of a file: its size in extents as an int column.
fn size_record(extents: u32) -> Vec<u8> {
    let [a, b, c, d] = extents.to_le_bytes();
    vec![0x10, 0, 8, 0, a, b, c, d, 1, 0, 0xFE]
}

fn file_size(page: &Page) -> u32 {
    let size = page.row(0).and_then(|row| row.get(4..)).and_then(<[u8]>::first_chunk);
    size.map_or(0, |size| u32::from_le_bytes(*size))
}
