//! Row-level changes of a heap: finding room, forwarding, and keeping the PFS up to date.

pub mod block;
pub(crate) mod build;
pub(crate) mod bulk;
pub(crate) mod claiming;
pub(crate) mod claims;
pub(crate) mod fragments;
pub(crate) mod index_load;
pub mod large;
pub(crate) mod merge;
pub(crate) mod new_leaves;
pub(crate) mod rows;
pub(crate) mod split;
pub(crate) mod tree_load;
pub(crate) mod tree_writer;

use std::sync::Arc;

use crate::cache::pager::Pager;
use crate::catalogue::Table;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::maps;
use crate::page::unit::Unit;
use crate::page::unit::{TakenPage, UnitKind};
use crate::page::{EXTENT_PAGES, ExtentId, Page, PageId, PageType, RowId, SLOT_BYTES, STUB_BYTES};
use crate::record;
use crate::record::compress::Compression;
use crate::tree;
use claims::Beside;
use large::{FragmentSink, FragmentSource};

/// Changes one table for one transaction, which has locked it exclusively, or changes it [at the same
/// time](Beside) as others.
#[derive(Debug)]
pub(crate) struct HeapWriter<'a> {
    pub shared: &'a Shared,
    pub transaction: u64,
    pub table: &'a mut Table,
    /// Extents that were allocated for the transaction.
    pub allocated: &'a mut Vec<ExtentId>,
    /// Claims and additions of a writer that changes the table at the same time as others; None if the table
    /// is locked exclusively.
    pub beside: Option<Beside<'a>>,
}

/// Outcome of trying to place a row in a page.
enum Attempt {
    Placed(RowId),
    NoRoom,
    /// Another transaction holds the page.
    Locked,
}

impl HeapWriter<'_> {
    /// Adds a row and returns its address.
    pub fn insert(&mut self, record: &[u8]) -> Result<RowId, EngineError> {
        let address = self.place(UnitKind::InRow, PageType::Data, record)?;
        self.table.rows += 1;
        Ok(address)
    }

    /// Removes the row at an address, with its large values.
    pub fn delete(&mut self, address: RowId) -> Result<(), EngineError> {
        let (at, row) = self.locate(address)?;
        self.free_large_values(&row)?;
        self.remove(UnitKind::InRow, at)?;
        if at != address {
            self.remove(UnitKind::InRow, address)?;
        }
        self.table.rows = self.table.rows.saturating_sub(1);
        Ok(())
    }

    /// Replaces the row at an address; the new row keeps the address.
    pub fn update(&mut self, address: RowId, row: &[u8]) -> Result<(), EngineError> {
        let (at, before) = self.locate(address)?;
        self.free_large_values(&before)?;
        let moved = || record::forwarded(row, address).ok_or_else(|| no_row(address));
        let in_place = if at == address { row.to_vec() } else { moved()? };
        if self.replace(at, before, in_place)? {
            return Ok(());
        }
        let target = self.place(UnitKind::InRow, PageType::Data, &moved()?)?;
        let home = self.row(address)?;
        if at != address {
            self.remove(UnitKind::InRow, at)?;
        }
        match self.replace(address, home, record::stub(target))? {
            true => Ok(()),
            false => Err(no_row(address)),
        }
    }

    /// Finds the place where a row really is, which may be behind a stub, and its record.
    pub(crate) fn locate(&mut self, address: RowId) -> Result<(RowId, Vec<u8>), EngineError> {
        self.claim(address.page)?;
        if !self.shared.allocator.owns(self.table.unit(UnitKind::InRow), address.page)? {
            return Err(no_row(address));
        }
        let row = self.row(address)?;
        if record::forwarded_from(&row).is_some() {
            // A forwarded row is reached only by the address of its stub.
            return Err(no_row(address));
        }
        match record::stub_target(&row) {
            Some(target) => {
                self.claim(target.page)?;
                Ok((target, self.row(target)?))
            }
            None => Ok((address, row)),
        }
    }

    fn row(&self, address: RowId) -> Result<Vec<u8>, EngineError> {
        let page = self.shared.pager.cache.read(address.page)?;
        page.row(address.slot).map(<[u8]>::to_vec).ok_or_else(|| no_row(address))
    }

    pub(crate) fn free_large_values(&mut self, row: &[u8]) -> Result<(), EngineError> {
        for pointer in record::pointers(row) {
            let unit = if pointer.first() == Some(&2) { UnitKind::Overflow } else { UnitKind::Large };
            for fragment in large::fragments(self, pointer)? {
                self.remove(unit, fragment)?;
            }
        }
        Ok(())
    }

    fn replace(&mut self, at: RowId, before: Vec<u8>, after: Vec<u8>) -> Result<bool, EngineError> {
        let page = self.shared.pager.cache.read(at.page)?;
        let after = page
            .stored(&after)
            .ok_or_else(|| tree::damaged(at.page, "a row cannot be compressed"))?
            .into_owned();
        // The other rows of the page must still have room for stubs when this row has grown.
        let short = |row: &[u8]| STUB_BYTES.saturating_sub(row.len());
        let reserve = self.stub_reserve(&page) + short(&after);
        let free = page.free_bytes() + before.len() + short(&before);
        if after.len() > before.len() && free < after.len() + reserve {
            return Ok(false);
        }
        let done = before == after || {
            let change = Change::Replace { page: at.page, slot: at.slot, before, after };
            self.change(change)?
        };
        if done {
            self.note_fullness(at.page)?;
        }
        Ok(done)
    }

    fn remove(&mut self, unit: UnitKind, at: RowId) -> Result<(), EngineError> {
        self.claim(at.page)?;
        let row = self.row(at)?;
        let change = Change::Remove { page: at.page, slot: at.slot, shift: false, row };
        if !self.change(change)? {
            return Err(no_row(at));
        }
        self.shared.room.note(self.table.unit(unit).id, at.page);
        self.note_fullness(at.page)
    }

    /// Puts a record where there is room: a page that had rows removed, one that the PFS says has room, the last page, or a new one. Pages
    /// of other transactions are passed over.
    fn place(&mut self, kind: UnitKind, page_type: PageType, record: &[u8]) -> Result<RowId, EngineError> {
        let unit = self.table.unit(kind).clone();
        let shared = self.shared;
        let wanted = record.len().max(STUB_BYTES) + SLOT_BYTES;
        while shared.room.page(unit.id).is_some() || shared.room.search(&shared.pager, &unit, wanted)? {
            let mut forgot = false;
            let mut pages = shared.room.some_pages(unit.id);
            pages.sort_by_key(|page| !self.has_claimed(*page));
            for page in pages {
                match self.attempt(&unit, page, page_type, record)? {
                    Attempt::Placed(address) => {
                        shared.room.note_found(unit.id);
                        return Ok(address);
                    }
                    Attempt::NoRoom => {
                        shared.room.forget(unit.id, page);
                        forgot = true;
                    }
                    Attempt::Locked => {}
                }
            }
            if !forgot {
                break;
            }
        }
        let last = unit.extents.iter().rev().take(2).filter_map(|extent| extent.pages().last());
        for page in last.collect::<Vec<_>>() {
            if let Attempt::Placed(address) = self.attempt(&unit, page, page_type, record)? {
                return Ok(address);
            }
        }
        let page = self.new_page(kind, page_type, &unit)?;
        if self.beside.is_some() {
            // Other transactions add pages as well, so this one need not be the last page of the unit.
            shared.room.note(unit.id, page);
        }
        let placed = self.try_place(page, page_type, record)?;
        placed.ok_or(EngineError::RowTooLarge {
            bytes: record.len(),
            limit_bytes: crate::page::ROW_LIMIT_BYTES,
        })
    }

    fn attempt(
        &mut self,
        unit: &Unit,
        page: PageId,
        page_type: PageType,
        record: &[u8],
    ) -> Result<Attempt, EngineError> {
        let is_own = self.has_claimed(page);
        if !is_own && !self.try_claim_to_fill(page) {
            return Ok(Attempt::Locked);
        }
        // Another transaction could free the page until this one had claimed it.
        if self.shared.allocator.owns(unit, page)?
            && let Some(address) = self.try_place(page, page_type, record)?
        {
            return Ok(Attempt::Placed(address));
        }
        if !is_own {
            self.unclaim(page);
        }
        Ok(Attempt::NoRoom)
    }

    fn try_place(
        &self,
        id: PageId,
        page_type: PageType,
        record: &[u8],
    ) -> Result<Option<RowId>, EngineError> {
        let page = self.shared.pager.cache.read(id)?;
        if page.page_type() != Some(page_type) {
            return Ok(None);
        }
        let record = page.stored(record).ok_or_else(|| tree::damaged(id, "a row cannot be compressed"))?;
        let reserve = match page_type {
            PageType::Data => self.stub_reserve(&page) + STUB_BYTES.saturating_sub(record.len()),
            _ => 0,
        };
        if !page.fits(record.len() + reserve) {
            return Ok(None);
        }
        let slot = page.free_slot();
        let shift = slot == page.slot_count();
        let change = Change::Insert { page: id, slot, shift, row: record.to_vec() };
        if !self.change(change)? {
            return Ok(None);
        }
        self.note_fullness(id)?;
        Ok(Some(RowId { page: id, slot }))
    }

    pub(crate) fn new_page(
        &mut self,
        kind: UnitKind,
        page_type: PageType,
        unit: &Unit,
    ) -> Result<PageId, EngineError> {
        let (id, is_first) = match self.unused_page(unit)? {
            Some(id) => (id, false),
            None => (self.page_of_new_extent(kind, unit)?, true),
        };
        // Pages of trees are formatted once more, with what they hold.
        let fixed = if page_type == PageType::Data { self.table.layout.fixed_bytes as u16 } else { 4 };
        let image = Box::new(Page::formatted(id, page_type, 0, unit.id, fixed));
        self.change(Change::Format { page: id, image })?;
        self.shared.allocator.set_entry(self.transaction, id, maps::ALLOCATED)?;
        let taken = TakenPage { kind, page: id, is_first };
        self.table.unit_mut(kind).take(taken);
        if let Some(beside) = &mut self.beside {
            beside.filled.pages.push(taken);
        }
        Ok(id)
    }

    /// Claims a page of an extent that is new to the unit.
    fn page_of_new_extent(&mut self, kind: UnitKind, unit: &Unit) -> Result<PageId, EngineError> {
        loop {
            let (id, owner) = (self.transaction, self.table.owner(kind));
            let run = self.shared.allocator.allocate(id, unit, 1, owner, self.allocated)?;
            // A transaction that remembers a page from the extent's earlier owner holds it until it sees the new one.
            // It must not be waited for: it may need the latch of a tree that is held here.
            let pages = (0..EXTENT_PAGES).map(|index| run.first.page(index)).collect::<Vec<_>>();
            if let Some(page) = pages.into_iter().find(|page| self.try_claim(*page)) {
                return Ok(page);
            }
        }
    }

    /// Claims a page of an extent that is in use in part.
    fn unused_page(&mut self, unit: &Unit) -> Result<Option<PageId>, EngineError> {
        if self.beside.is_none() {
            let last = unit.extents.last().filter(|last| last.used != 0xFF);
            let page = last.map(|last| last.extent.page(last.used.trailing_ones()));
            let versions = &self.shared.pager.versions;
            return Ok(page.filter(|page| !versions.conflicts(self.transaction, *page)));
        }
        // Each of several transactions that were here at a time has left one behind.
        let partly = unit.extents.iter().rev().take(LAST_EXTENTS).filter(|extent| extent.used != 0xFF);
        for extent in partly {
            for index in (0..EXTENT_PAGES).filter(|index| extent.used & (1 << index) == 0) {
                let page = extent.extent.page(index);
                let is_own = self.has_claimed(page);
                if !self.try_claim_to_fill(page) {
                    continue;
                }
                if !self.shared.allocator.is_used(page)? {
                    return Ok(Some(page));
                }
                if !is_own {
                    self.unclaim(page);
                }
            }
        }
        Ok(None)
    }

    /// Returns the bytes that must stay free in a page. Rows that are not compressed are never shorter than a
    /// stub.
    fn stub_reserve(&self, page: &Page) -> usize {
        let may_be_short =
            self.table.clustered.is_none() && self.table.layout.compression != Compression::None;
        if may_be_short { page.stub_reserve_bytes() } else { 0 }
    }

    fn note_fullness(&self, id: PageId) -> Result<(), EngineError> {
        let page = self.shared.pager.cache.read(id)?;
        let entry = maps::ALLOCATED | maps::fullness(page.free_bytes());
        self.shared.allocator.set_entry(self.transaction, id, entry)
    }
}

/// Extents at the end of a unit that are searched for an unused page.
const LAST_EXTENTS: usize = 8;

impl FragmentSource for HeapWriter<'_> {
    fn page(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        self.shared.pager.page(id)
    }
}

impl FragmentSource for Pager {
    fn page(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        self.cache.read(id)
    }
}

impl FragmentSink for HeapWriter<'_> {
    fn put(&mut self, unit: UnitKind, page_type: PageType, record: &[u8]) -> Result<RowId, EngineError> {
        self.place(unit, page_type, record)
    }
}

fn no_row(address: RowId) -> EngineError {
    EngineError::NoSuchRow { page: address.page, slot: address.slot }
}
