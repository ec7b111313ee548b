//! Bulk writers: each fills extents of its own, past the cache, and shares nothing with the others but the allocator and the log.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::allocation::{ExtentUse, Run};
use super::block::PageBlock;
use super::catalogue::{Filled, Table, UnitKind};
use super::database::Shared;
use super::error::EngineError;
use super::figures::count;
use super::large::{FragmentSink, LargeValueWriter};
use super::lsn::Lsn;
use super::maps;
use super::page::{self, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId, PageType, RowId};
use super::record::BoundBatch;

/// Extents of rows that are written at once: 1 MB.
const BLOCK_EXTENTS: u32 = 16;

/// Fills extents of one table for one transaction. Several of them may do so at once.
#[derive(Debug)]
pub struct BulkWriter {
    shared: Arc<Shared>,
    table: Arc<Table>,
    transaction: u64,
    minimally_logged: bool,
    block: PageBlock,
    fragments: FragmentPages,
    filled: Filled,
    allocated: Vec<ExtentId>,
    rows_in_block: u64,
}

impl BulkWriter {
    pub(crate) fn new(shared: &Arc<Shared>, table: &Arc<Table>, transaction: u64) -> Self {
        let minimally_logged = shared.is_minimally_logged();
        let pages = (BLOCK_EXTENTS * EXTENT_PAGES) as usize;
        let unit = table.unit(UnitKind::InRow).id;
        Self {
            shared: Arc::clone(shared),
            table: Arc::clone(table),
            transaction,
            minimally_logged,
            block: PageBlock::new(unit, table.layout.fixed_bytes as u16, pages, 100),
            fragments: FragmentPages::default(),
            filled: Filled::default(),
            allocated: Vec::new(),
            rows_in_block: 0,
        }
    }

    /// Whether only extents are logged, and the pages are forced at commit.
    pub fn is_minimally_logged(&self) -> bool {
        self.minimally_logged
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.filled.rows + self.rows_in_block
    }

    /// Adds rows. After an error the writer is of no more use, and its transaction must be undone.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let table = Arc::clone(&self.table);
        let mut sink = PrivateFragments { writer: self };
        let bound = BoundBatch::new(&table.layout, batch, &mut LargeValueWriter { sink: &mut sink })?;
        let mut first = 0;
        while first < bound.rows() {
            let taken = self.block.append(&bound, first);
            first += taken;
            self.rows_in_block += taken as u64;
            if first < bound.rows() {
                self.flush_rows()?;
            }
        }
        Ok(())
    }

    /// Writes what is left. Returns what was filled; the extents given meanwhile are in `allocated`.
    pub(crate) fn finish(mut self) -> (Result<Filled, EngineError>, Vec<ExtentId>) {
        let done = self.flush_rows().and_then(|()| self.flush_fragments(true));
        (done.map(|()| self.filled), self.allocated)
    }

    fn flush_rows(&mut self) -> Result<(), EngineError> {
        if self.block.is_empty() {
            return Ok(());
        }
        let Self { block, shared, table, transaction, allocated, filled, minimally_logged, .. } = self;
        let unit = table.unit(UnitKind::InRow);
        let mut pages = block.finish();
        while !pages.is_empty() {
            let wanted = (pages.len() as u32).div_ceil(EXTENT_PAGES);
            let run = shared.allocator.allocate(*transaction, unit, wanted, allocated)?;
            let count = pages.len().min((run.count * EXTENT_PAGES) as usize);
            let (now, rest) = pages.split_at_mut(count);
            for (index, bytes) in (0..).zip(now.iter_mut()) {
                let id = PageId { page: run.first.page(0).page + index, file: run.first.file };
                page::set_address(bytes, id, PageId::NONE, PageId::NONE);
            }
            write_pages(shared, *transaction, run, now, *minimally_logged)?;
            if let Some(extents) = filled.extents.get_mut(UnitKind::InRow as usize) {
                extents.extend(used_extents(run, count as u32));
            }
            pages = rest;
        }
        self.block.clear();
        let rows = std::mem::take(&mut self.rows_in_block);
        count(&self.shared.counters.bulk_rows, rows);
        self.filled.rows += rows;
        Ok(())
    }

    /// Writes full pages of fragments, or all of them.
    fn flush_fragments(&mut self, all: bool) -> Result<(), EngineError> {
        for unit in [UnitKind::Overflow, UnitKind::Large] {
            for page_type in [PageType::TextMix, PageType::TextTree] {
                if all && let Some(page) = self.fragments.take_open(unit, page_type) {
                    self.fragments.done.push((unit, page));
                }
            }
        }
        for (unit, page) in std::mem::take(&mut self.fragments.done) {
            let id = page.id();
            let run = Run { first: id.extent(), count: 1 };
            let mut bytes = [*page.bytes()];
            write_pages(&self.shared, self.transaction, run, &mut bytes, self.minimally_logged)?;
            let Some(extents) = self.filled.extents.get_mut(unit as usize) else { continue };
            let bit = 1 << (id.page % EXTENT_PAGES);
            match extents.iter_mut().rev().find(|extent| extent.extent == id.extent()) {
                Some(extent) => extent.used |= bit,
                None => extents.push(ExtentUse { extent: id.extent(), used: bit }),
            }
        }
        Ok(())
    }
}

/// Which pages of a run are in use when the first `pages` are.
fn used_extents(run: Run, pages: u32) -> impl Iterator<Item = ExtentUse> {
    (0..).zip(run.extents()).filter_map(move |(index, extent)| {
        let used = pages.saturating_sub(index * EXTENT_PAGES).min(EXTENT_PAGES);
        (used > 0).then(|| ExtentUse { extent, used: ((1_u16 << used) - 1) as u8 })
    })
}

/// Stamps, logs if need be, seals and writes neighbouring pages that have their addresses.
fn write_pages(
    shared: &Shared,
    transaction: u64,
    run: Run,
    pages: &mut [[u8; PAGE_BYTES]],
    minimally_logged: bool,
) -> Result<(), EngineError> {
    let Some(first) = pages.first().map(|bytes| Page::from_bytes(*bytes).id()) else { return Ok(()) };
    let entries: Vec<u8> =
        pages.iter().map(|bytes| maps::ALLOCATED | maps::fullness(page::free_bytes(bytes))).collect();
    shared.allocator.set_used(transaction, first, entries)?;
    count(&shared.counters.bulk_bytes, (pages.len() * PAGE_BYTES) as u64);
    let write = |pages: &mut [[u8; PAGE_BYTES]]| {
        pages.iter_mut().for_each(page::seal);
        shared.pager.files.file(first.file)?.write(first.page, pages.as_flattened())
    };
    if minimally_logged {
        if shared.marks_minimally_logged() {
            shared.allocator.mark_minimally_logged(run)?;
        }
        let lsn: Lsn = shared.pager.log.position();
        for bytes in pages.iter_mut() {
            page::set_lsn(bytes, lsn);
            page::set_unlogged(bytes);
        }
        write(pages)
    } else {
        shared.pager.format_past_cache(transaction, pages, write)
    }
}

/// Pages of large values being filled by a bulk writer.
#[derive(Debug, Default)]
struct FragmentPages {
    open: Vec<(UnitKind, PageType, Page)>,
    done: Vec<(UnitKind, Page)>,
    /// Pages given but not begun.
    ready: Vec<(UnitKind, VecDeque<PageId>)>,
}

impl FragmentPages {
    fn take_open(&mut self, unit: UnitKind, page_type: PageType) -> Option<Page> {
        let index = self.open.iter().position(|(kind, of, _)| (*kind, *of) == (unit, page_type))?;
        Some(self.open.swap_remove(index).2)
    }

    fn ready(&mut self, unit: UnitKind) -> &mut VecDeque<PageId> {
        let index = match self.ready.iter().position(|(kind, _)| *kind == unit) {
            Some(index) => index,
            None => {
                self.ready.push((unit, VecDeque::new()));
                self.ready.len() - 1
            }
        };
        // Just found or pushed.
        &mut self.ready[index].1
    }
}

/// Full pages of fragments that are kept before they are written.
const FRAGMENT_PAGES: usize = 64;

struct PrivateFragments<'a> {
    writer: &'a mut BulkWriter,
}

impl FragmentSink for PrivateFragments<'_> {
    fn put(&mut self, unit: UnitKind, page_type: PageType, record: &[u8]) -> Result<RowId, EngineError> {
        let writer = &mut *self.writer;
        let open = writer.fragments.take_open(unit, page_type);
        let mut page = match open {
            Some(page) if page.fits(record.len()) => page,
            full => {
                writer.fragments.done.extend(full.map(|page| (unit, page)));
                if writer.fragments.done.len() >= FRAGMENT_PAGES {
                    writer.flush_fragments(false)?;
                }
                let table = writer.table.unit(unit).clone();
                if writer.fragments.ready(unit).is_empty() {
                    let run = writer.shared.allocator.allocate(
                        writer.transaction,
                        &table,
                        8,
                        &mut writer.allocated,
                    )?;
                    // Also those that stay empty belong to the table.
                    if let Some(extents) = writer.filled.extents.get_mut(unit as usize) {
                        extents.extend(run.extents().map(|extent| ExtentUse { extent, used: 0 }));
                    }
                    let pages = run
                        .extents()
                        .flat_map(|extent| (0..EXTENT_PAGES).map(move |index| extent.page(index)));
                    writer.fragments.ready(unit).extend(pages);
                }
                let id = writer.fragments.ready(unit).pop_front().unwrap_or(PageId::NONE);
                Page::formatted(id, page_type, 0, table.id, 4)
            }
        };
        let slot = page.slot_count();
        if !page.insert(slot, record, true) {
            return Err(EngineError::RowTooLarge { bytes: record.len(), limit_bytes: page::ROW_LIMIT_BYTES });
        }
        let address = RowId { page: page.id(), slot };
        writer.fragments.open.push((unit, page_type, page));
        Ok(address)
    }
}
