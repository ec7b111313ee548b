//! Pages that a bulk writer fills alone: no latch, no search, one pass per column.

use crate::error::EngineError;
use crate::page::{
    self, CAPACITY_BYTES, HEADER_BYTES, PAGE_BYTES, PageId, PageType, SLOT_BYTES, STUB_BYTES, UnitId,
};
use crate::record::compress::fill::{PageCompressor, Rows};
use crate::record::compress::grid::{CellView, Grid};
use crate::record::compress::record::CdRecord;
use crate::record::compress::row::push_costs;
use crate::record::compress::{Compression, CompressionCounts};
use crate::record::layout::Layout;
use crate::record::{BoundBatch, RECORD_ROOM_BYTES, Records, WireRowCopier, WireRows};

/// A run of pages in memory that takes rows until it is full.
#[derive(Debug)]
pub struct PageBlock {
    bytes: Vec<u8>,
    unit: UnitId,
    page_type: PageType,
    fixed_length: u16,
    capacity_pages: usize,
    /// Bytes of rows and slots that a page may take: less than [`CAPACITY_BYTES`] with a fill factor.
    page_limit_bytes: usize,
    /// Number of pages begun.
    pages: usize,
    /// Slots and bytes (header and rows) of the page being filled.
    slots: usize,
    used: usize,
    offsets: Vec<u32>,
    /// Room for the record of a row whose place is not known.
    spare: Vec<u8>,
    /// Least bytes that a row takes: compressed rows of a heap may be shorter than the stub that they may
    /// become.
    least_bytes: usize,
    /// Bytes of the page being filled that are kept free, so that short rows can become stubs.
    reserve: usize,
    columns: usize,
    /// Rows that are not in a page yet, of a table with PAGE compression.
    compressor: Option<PageCompressor>,
}

impl PageBlock {
    /// Creates a block for rows of a heap. `fill_percent`, 1 to 100, is how full a page is made.
    pub fn new(unit: UnitId, layout: &Layout, capacity_pages: usize, fill_percent: u8) -> Self {
        let least_bytes = if layout.compression == Compression::None { 0 } else { STUB_BYTES };
        Self::with_least(unit, layout, capacity_pages, fill_percent, least_bytes)
    }

    /// Creates a block for the leaves of a tree, pages of this type, whose rows never become forwarding
    /// stubs.
    pub fn of_tree(
        unit: UnitId,
        layout: &Layout,
        capacity_pages: usize,
        fill_percent: u8,
        page_type: PageType,
    ) -> Self {
        Self { page_type, ..Self::with_least(unit, layout, capacity_pages, fill_percent, 0) }
    }

    fn with_least(
        unit: UnitId,
        layout: &Layout,
        capacity_pages: usize,
        fill_percent: u8,
        least_bytes: usize,
    ) -> Self {
        let page_limit_bytes = fill_limit_bytes(fill_percent);
        let compressor = (layout.compression == Compression::Page)
            .then(|| PageCompressor::new(layout.columns.len(), page_limit_bytes, least_bytes));
        Self {
            bytes: vec![0; capacity_pages.max(1) * PAGE_BYTES],
            unit,
            page_type: PageType::Data,
            fixed_length: layout.fixed_bytes as u16,
            capacity_pages: capacity_pages.max(1),
            page_limit_bytes,
            pages: 0,
            slots: 0,
            used: 0,
            offsets: Vec::new(),
            spare: Vec::new(),
            least_bytes,
            reserve: 0,
            columns: layout.columns.len(),
            compressor,
        }
    }

    /// Adds rows of `batch` from `first` on. Returns how many found room; if they are fewer, the block is full.
    pub fn append(&mut self, batch: &BoundBatch<'_>, first: usize) -> usize {
        if self.compressor.is_some() {
            return self.append_compressed(batch, first);
        }
        let count = self.place(batch.lengths().get(first..).unwrap_or_default());
        batch.write(first..first + count, &self.offsets, &mut self.bytes);
        count
    }

    /// Adds finished records, from the one at `start` on. Returns how many found room; if they are fewer, the block is full.
    pub fn append_records(&mut self, records: &Records, first: usize, start: usize) -> usize {
        if self.compressor.is_some() {
            return self.compress_records(records, first, start);
        }
        let lengths = records.lengths.get(first..).unwrap_or_default();
        let count = self.place(lengths);
        let mut from = start;
        for (offset, length) in self.offsets.iter().zip(lengths) {
            let (place, length) = (*offset as usize, usize::from(*length));
            if let (Some(place), Some(record)) =
                (self.bytes.get_mut(place..place + length), records.bytes.get(from..from + length))
            {
                place.copy_from_slice(record);
            }
            from += length;
        }
        count
    }

    /// Copies wire rows into records in their pages. It stops before a row that is incomplete or cannot be copied unchanged, and before
    /// one that finds no room: then it says that the block is full.
    pub fn append_wire_rows(&mut self, copier: &WireRowCopier, bytes: &[u8]) -> (WireRows, bool) {
        let mut taken = WireRows::default();
        let mut spare = std::mem::take(&mut self.spare);
        spare.resize(RECORD_ROOM_BYTES, 0);
        let is_full = loop {
            self.fill_page(copier, bytes, &mut taken);
            // The next row either finds no room in the page, or cannot be copied.
            let rest = bytes.get(taken.bytes..).unwrap_or_default();
            let Some((row_bytes, length)) = copier.row(rest, &mut spare) else { break false };
            self.place(&[length as u16]);
            let Some(start) = self.offsets.first().map(|start| *start as usize) else { break true };
            if let (Some(place), Some(record)) =
                (self.bytes.get_mut(start..start + length), spare.get(..length))
            {
                place.copy_from_slice(record);
            }
            taken.rows += 1;
            taken.bytes += row_bytes;
        };
        self.spare = spare;
        (taken, is_full)
    }

    /// Copies wire rows into the page being filled, as long as they find room.
    fn fill_page(&mut self, copier: &WireRowCopier, bytes: &[u8], taken: &mut WireRows) {
        if self.page_limit_bytes < CAPACITY_BYTES || self.least_bytes > 0 || self.compressor.is_some() {
            return;
        }
        let Some(last) = self.pages.checked_sub(1) else { return };
        let Some(page) = self.bytes.as_chunks_mut::<PAGE_BYTES>().0.get_mut(last) else { return };
        loop {
            let slot = PAGE_BYTES.saturating_sub(SLOT_BYTES * (self.slots + 1));
            let (Some(rest), Some(room)) = (bytes.get(taken.bytes..), page.get_mut(self.used..slot)) else {
                return;
            };
            let Some((row_bytes, length)) = copier.row(rest, room) else { return };
            if let Some(place) = page.get_mut(slot..slot + SLOT_BYTES) {
                place.copy_from_slice(&(self.used as u16).to_le_bytes());
            }
            self.slots += 1;
            self.used += length;
            taken.rows += 1;
            taken.bytes += row_bytes;
        }
    }

    /// Gives rows of these lengths their places, as many as find room: `offsets` has them.
    fn place(&mut self, lengths: &[u16]) -> usize {
        self.offsets.clear();
        for length in lengths {
            let length = usize::from(*length);
            let short = self.least_bytes.saturating_sub(length);
            let taken = self.used - HEADER_BYTES.min(self.used) + self.slots * SLOT_BYTES + self.reserve;
            let with_row = taken + length + short + SLOT_BYTES;
            // A page takes at least one row, whatever the fill factor.
            let fits = self.slots == 0 || is_within(self.slots + 1, with_row, self.page_limit_bytes);
            if self.pages == 0 || !fits {
                if self.pages == self.capacity_pages {
                    break;
                }
                self.close_page();
                self.pages += 1;
                self.slots = 0;
                self.used = HEADER_BYTES;
                self.reserve = 0;
            }
            let start = (self.pages - 1) * PAGE_BYTES;
            self.slots += 1;
            let slot = start + PAGE_BYTES - SLOT_BYTES * self.slots;
            if let Some(place) = self.bytes.get_mut(slot..slot + SLOT_BYTES) {
                place.copy_from_slice(&(self.used as u16).to_le_bytes());
            }
            self.offsets.push((start + self.used) as u32);
            self.used += length;
            self.reserve += short;
        }
        self.offsets.len()
    }

    /// Adds rows of which PAGE compression makes pages, from `first` on. Returns how many found room; if they are fewer, the block is
    /// full.
    pub fn append_cells(&mut self, grid: &Grid, lengths: &[u16], first: usize) -> usize {
        let views = grid.views();
        let costs = costs_of(&views);
        let views: Vec<_> =
            views.iter().zip(&costs).map(|(view, costs)| CellView { costs, ..*view }).collect();
        self.compress_rows(Rows { views: &views, lengths }, first)
    }

    fn append_compressed(&mut self, batch: &BoundBatch<'_>, first: usize) -> usize {
        self.compress_rows(Rows { views: &batch.cells(), lengths: batch.lengths() }, first)
    }

    fn compress_records(&mut self, records: &Records, first: usize, start: usize) -> usize {
        let lengths = records.lengths.get(first..).unwrap_or_default();
        let mut grid = Grid::new(self.columns);
        let mut rest = records.bytes.get(start..).unwrap_or_default();
        for length in lengths {
            let Some((record, after)) = rest.split_at_checked(usize::from(*length)) else { break };
            if let Some(record) = CdRecord::parse(record).filter(|record| record.columns == self.columns) {
                record.push_to(&mut grid);
            }
            rest = after;
        }
        self.append_cells(&grid, lengths, 0)
    }

    /// Lets rows wait until they are enough for a page; those of the block's last page go on waiting.
    fn compress_rows(&mut self, rows: Rows<'_>, first: usize) -> usize {
        let mut taken = 0;
        while first + taken < rows.lengths.len() && self.pages < self.capacity_pages {
            let Some((compressor, page)) = self.next_compressed() else { break };
            let (count, full) = compressor.add(page, rows, first + taken);
            taken += count;
            self.pages += usize::from(full);
        }
        taken
    }

    /// Formats the next page of the block and returns it with the compressor that fills it.
    fn next_compressed(&mut self) -> Option<(&mut PageCompressor, &mut [u8; PAGE_BYTES])> {
        let (start, end) = (self.pages * PAGE_BYTES, (self.pages + 1) * PAGE_BYTES);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let page = self.bytes.get_mut(start..end)?.first_chunk_mut()?;
        page::format(page, PageId::NONE, self.page_type, 0, self.unit, self.fixed_length);
        Some((self.compressor.as_mut()?, page))
    }

    /// Counts the attempts to compress pages of the block.
    pub fn compression_counts(&self) -> CompressionCounts {
        self.compressor.as_ref().map_or(CompressionCounts::default(), |compressor| compressor.counts)
    }

    /// Counts the pages that hold rows.
    #[cfg(test)]
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Returns the bytes that the block takes.
    pub fn buffer_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns true if the block has no rows.
    pub fn is_empty(&self) -> bool {
        self.pages == 0 && self.compressor.as_ref().is_none_or(|compressor| compressor.waiting() == 0)
    }

    /// Returns the pages of a full block. With PAGE compression, rows that do not fill a page yet keep
    /// waiting. Otherwise no rows wait, and this is [`finish`](Self::finish).
    pub fn full_pages(&mut self) -> Result<&mut [[u8; PAGE_BYTES]], EngineError> {
        if self.compressor.is_none() {
            return self.finish();
        }
        self.used_pages()
    }

    /// Ends the page being filled, and makes pages of all rows that wait. Returns all pages, complete but for address, log position and
    /// checksum; with PAGE compression they may be more than the block's capacity.
    pub fn finish(&mut self) -> Result<&mut [[u8; PAGE_BYTES]], EngineError> {
        while self.compressor.as_ref().is_some_and(|compressor| compressor.waiting() > 0) {
            let Some((compressor, page)) = self.next_compressed() else { break };
            compressor.finish(page);
            self.pages += 1;
        }
        self.close_page();
        self.used_pages()
    }

    fn used_pages(&mut self) -> Result<&mut [[u8; PAGE_BYTES]], EngineError> {
        let pages = self.bytes.as_chunks_mut().0.get_mut(..self.pages);
        pages.ok_or_else(|| EngineError::internal("a block with more pages than it has room for"))
    }

    /// Empties the block, to be filled again.
    pub fn clear(&mut self) {
        self.pages = 0;
        self.slots = 0;
        self.used = 0;
        self.reserve = 0;
    }

    fn close_page(&mut self) {
        if self.compressor.is_some() {
            return;
        }
        let Some(last) = self.pages.checked_sub(1) else { return };
        let Some(bytes) = self.bytes.as_chunks_mut::<PAGE_BYTES>().0.get_mut(last) else { return };
        page::format(bytes, PageId::NONE, self.page_type, 0, self.unit, self.fixed_length);
        // Bytes between rows and slots may be left from the block before.
        bytes.get_mut(self.used..PAGE_BYTES - self.slots * SLOT_BYTES).unwrap_or_default().fill(0);
        let free = CAPACITY_BYTES - (self.used - HEADER_BYTES) - self.slots * SLOT_BYTES;
        page::set_fill(bytes, self.slots as u16, self.used, free);
    }
}

/// Computes the bytes that each value adds to its record, by column.
fn costs_of(views: &[CellView<'_>]) -> Vec<Vec<u16>> {
    let costs = views.iter().map(|view| {
        let mut costs = Vec::with_capacity(view.codes.len());
        push_costs(view, &mut costs);
        costs
    });
    costs.collect()
}

/// Returns the most bytes of rows and slots that a page is to have with this fill factor.
pub(crate) fn fill_limit_bytes(fill_percent: u8) -> usize {
    let free_percent = 100 - usize::from(fill_percent.clamp(1, 100));
    CAPACITY_BYTES - CAPACITY_BYTES * free_percent / 100
}

/// Returns true if a page of which `limit_bytes` are to be filled takes `rows` rows that have `bytes` with
/// their slots. The free share, in whole rows rounded down, is left out, as in the published size estimates
/// ("Free_Rows_Per_Page"). Where 35 rows fit a page, a fill factor of 10 gives 4 of them, not the 3 for which
/// a tenth of the page has room.
pub(crate) fn is_within(rows: usize, bytes: usize, limit_bytes: usize) -> bool {
    let whole_rows = |share: usize| share * rows / bytes.max(1);
    bytes <= limit_bytes
        || (bytes <= CAPACITY_BYTES
            && rows + whole_rows(CAPACITY_BYTES - limit_bytes) <= whole_rows(CAPACITY_BYTES))
}

#[cfg(test)]
mod tests;
