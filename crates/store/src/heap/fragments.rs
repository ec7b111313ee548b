//! Pages of large values that a bulk writer fills, past the cache, in extents of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::large::FragmentSink;
use crate::catalogue::Table;
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::figures::count;
use crate::page::lsn::Lsn;
use crate::page::maps;
use crate::page::unit::UnitKind;
use crate::page::unit::{ExtentUse, Run};
use crate::page::{self, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId, PageType, RowId};

/// Full pages of fragments that are kept before they are written.
const FRAGMENT_PAGES: usize = 64;

/// Maximum number of extents that are allocated at once.
const EXTENTS_AT_ONCE: usize = 8;

/// Fills pages of fragments of one table for one transaction.
#[derive(Debug)]
pub(crate) struct FragmentWriter {
    shared: Arc<Shared>,
    table: Arc<Table>,
    transaction: u64,
    minimally_logged: bool,
    open: Vec<(UnitKind, PageType, Page)>,
    done: Vec<(UnitKind, Page)>,
    /// Pages given but not begun.
    ready: BTreeMap<UnitKind, VecDeque<PageId>>,
    /// Extents filled so far.
    pub extents: BTreeMap<UnitKind, Vec<ExtentUse>>,
    /// Extents that were allocated, also if a later operation failed.
    pub allocated: Vec<ExtentId>,
}

impl FragmentWriter {
    pub fn new(shared: &Arc<Shared>, table: &Arc<Table>, transaction: u64, minimally_logged: bool) -> Self {
        Self {
            shared: Arc::clone(shared),
            table: Arc::clone(table),
            transaction,
            minimally_logged,
            open: Vec::new(),
            done: Vec::new(),
            ready: BTreeMap::new(),
            extents: BTreeMap::new(),
            allocated: Vec::new(),
        }
    }

    /// Counts the bytes of pages that are not written yet.
    pub fn buffer_bytes(&self) -> usize {
        (self.open.len() + self.done.len()) * PAGE_BYTES
    }

    /// Writes all pages.
    pub fn finish(&mut self) -> Result<(), EngineError> {
        for (unit, _, page) in std::mem::take(&mut self.open) {
            self.done.push((unit, page));
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), EngineError> {
        let mut done = std::mem::take(&mut self.done);
        // Pages were begun in the order of their places, but those of several kinds and units take turns.
        done.sort_unstable_by_key(|(_, page)| page.id());
        for run in done.chunk_by(|(unit, page), (other, next)| {
            let (id, next) = (page.id(), next.id());
            unit == other && id.file == next.file && id.page + 1 == next.page
        }) {
            let Some((unit, first)) = run.first().map(|(unit, page)| (*unit, page.id())) else { continue };
            let mut bytes: Vec<[u8; PAGE_BYTES]> = run.iter().map(|(_, page)| *page.bytes()).collect();
            let last = run.last().map_or(first, |(_, page)| page.id());
            let count = last.extent().extent - first.extent().extent + 1;
            let extents = Run { first: first.extent(), count };
            write_pages(&self.shared, self.transaction, extents, &mut bytes, self.minimally_logged, true)?;
            let extents = self.extents.entry(unit).or_default();
            for id in run.iter().map(|(_, page)| page.id()) {
                let bit = 1 << (id.page % EXTENT_PAGES);
                match extents.iter_mut().rev().find(|extent| extent.extent == id.extent()) {
                    Some(extent) => extent.used |= bit,
                    None => extents.push(ExtentUse { extent: id.extent(), used: bit }),
                }
            }
        }
        Ok(())
    }

    fn take_open(&mut self, unit: UnitKind, page_type: PageType) -> Option<Page> {
        let index = self.open.iter().position(|(kind, of, _)| (*kind, *of) == (unit, page_type))?;
        Some(self.open.swap_remove(index).2)
    }

    fn next_page(&mut self, unit: UnitKind) -> Result<PageId, EngineError> {
        if let Some(id) = self.ready.entry(unit).or_default().pop_front() {
            return Ok(id);
        }
        let of_table = self.table.unit(unit).clone();
        let (id, owner) = (self.transaction, self.table.owner(unit));
        let extents = self.extents.entry(unit).or_default();
        // A load with few such values takes few extents.
        let wanted = extents.len().clamp(1, EXTENTS_AT_ONCE) as u32;
        let run = self.shared.allocator.allocate(id, &of_table, wanted, owner, &mut self.allocated)?;
        // The table owns the extents that stay empty, too.
        extents.extend(run.extents().map(|extent| ExtentUse { extent, used: 0 }));
        let ready = self.ready.entry(unit).or_default();
        ready.extend(run.extents().flat_map(|extent| (0..EXTENT_PAGES).map(move |index| extent.page(index))));
        Ok(ready.pop_front().unwrap_or(PageId::NONE))
    }
}

impl FragmentSink for FragmentWriter {
    fn put(&mut self, unit: UnitKind, page_type: PageType, record: &[u8]) -> Result<RowId, EngineError> {
        let mut page = match self.take_open(unit, page_type) {
            Some(page) if page.fits(record.len()) => page,
            full => {
                self.done.extend(full.map(|page| (unit, page)));
                if self.done.len() >= FRAGMENT_PAGES {
                    self.flush()?;
                }
                Page::formatted(self.next_page(unit)?, page_type, 0, self.table.unit(unit).id, 4)
            }
        };
        let slot = page.slot_count();
        if !page.insert(slot, record, true) {
            return Err(EngineError::RowTooLarge { bytes: record.len(), limit_bytes: page::ROW_LIMIT_BYTES });
        }
        let address = RowId { page: page.id(), slot };
        self.open.push((unit, page_type, page));
        Ok(address)
    }
}

/// Stamps, logs if need be, seals and writes neighbouring pages that have their addresses. `notes_fullness`:
/// the PFS gets their fullness, as for pages in which room is looked for; in trees it is not.
pub(crate) fn write_pages(
    shared: &Shared,
    transaction: u64,
    run: Run,
    pages: &mut [[u8; PAGE_BYTES]],
    minimally_logged: bool,
    notes_fullness: bool,
) -> Result<(), EngineError> {
    let Some(first) = pages.first().map(|bytes| Page::from_bytes(*bytes).id()) else { return Ok(()) };
    let fullness = |bytes| if notes_fullness { maps::fullness(page::free_bytes(bytes)) } else { 0 };
    let entries: Vec<u8> = pages.iter().map(|bytes| maps::ALLOCATED | fullness(bytes)).collect();
    shared.allocator.set_used(transaction, first, entries)?;
    count(&shared.counters.bulk_bytes, (pages.len() * PAGE_BYTES) as u64);
    let write = |pages: &mut [[u8; PAGE_BYTES]]| {
        pages.iter_mut().for_each(page::seal);
        shared.pager.files.file(first.file)?.write(first.page, pages.as_flattened())
    };
    if minimally_logged {
        let marks = shared.marks_minimally_logged();
        // A log backup copies such pages when none is being written.
        let _gate = loop {
            if marks {
                shared.allocator.marked().mark(run)?;
            }
            let gate = shared.pager.enter();
            run.extents().for_each(|extent| shared.allocator.marked().collect(extent));
            // A backup that ended just now may have taken the marks of an earlier owner for these.
            if !marks || shared.allocator.marked().are_marked(run)? {
                break gate;
            }
        };
        let lsn: Lsn = shared.pager.log.position();
        for bytes in pages.iter_mut() {
            page::set_lsn(bytes, lsn);
            page::set_unlogged(bytes);
        }
        let written = write(pages);
        // A backup that began meanwhile may have copied the former contents of these extents.
        run.extents().for_each(|extent| shared.allocator.marked().collect(extent));
        written
    } else {
        shared.pager.format_past_cache(transaction, pages, write)
    }
}
