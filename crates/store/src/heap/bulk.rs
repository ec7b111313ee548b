//! Bulk writers of heaps: each fills extents of its own, past the cache, and shares nothing with the others but the allocator and the log.
//!
//! Several writers of one transaction may fill one heap from threads of their own. If a writer is dropped unfinished, the
//! transaction's next step undoes its load; if the transaction has done anything else since, it can only roll back. A transaction
//! with open writers cannot commit.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::block::PageBlock;
use super::fragments::{FragmentWriter, write_pages};
use super::large::{LargeValueReader, LargeValueWriter};
use crate::cache::pager::Pager;
use crate::catalogue::{Filled, Table};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::figures::count;
use crate::page::unit::UnitKind;
use crate::page::unit::{ExtentUse, Run};
use crate::page::{self, EXTENT_PAGES, ExtentId, Page, PageId, RowId};
use crate::record::layout::Layout;
use crate::record::{BoundBatch, Records, WireRowCopier, WireRows};

/// Extents of rows that are written at once: 1 MB.
const BLOCK_EXTENTS: u32 = 16;

/// Fills extents of one heap for one transaction. Several of them may do so at once.
#[derive(Debug)]
pub(crate) struct HeapLoad {
    shared: Arc<Shared>,
    table: Arc<Table>,
    transaction: u64,
    minimally_logged: bool,
    block: PageBlock,
    fragments: FragmentWriter,
    filled: Filled,
    rows_in_block: u64,
    /// Rows in the block, if their addresses are wanted, and those that have got theirs.
    waiting: Option<Vec<Waiting>>,
    located: Vec<(LocatedRows, Vec<RowId>)>,
}

/// Rows in the block that have no addresses yet.
#[derive(Debug)]
enum Waiting {
    Batch(RecordBatch),
    /// Number of rows that came as records, which are in the block.
    Records(usize),
}

/// Rows that have addresses.
#[derive(Debug)]
pub(crate) enum LocatedRows {
    Batch(RecordBatch),
    Records(Records),
}

impl HeapLoad {
    /// Creates a writer for a heap. With `locates` it collects the rows' addresses.
    pub fn new(
        shared: &Arc<Shared>,
        table: &Arc<Table>,
        transaction: u64,
        minimally_logged: bool,
        locates: bool,
    ) -> Self {
        let pages = (BLOCK_EXTENTS * EXTENT_PAGES) as usize;
        let unit = table.unit(UnitKind::InRow).id;
        Self {
            shared: Arc::clone(shared),
            table: Arc::clone(table),
            transaction,
            minimally_logged,
            block: PageBlock::new(unit, &table.layout, pages, 100),
            fragments: FragmentWriter::new(shared, table, transaction, minimally_logged),
            filled: Filled::default(),
            rows_in_block: 0,
            waiting: locates.then(Vec::new),
            located: Vec::new(),
        }
    }

    /// Reads the large values of its rows that are written.
    pub fn large_values(&self) -> LargeValueReader<'_, Pager> {
        LargeValueReader { source: &self.shared.pager }
    }

    /// Returns the form of the heap's rows.
    pub fn layout(&self) -> &Layout {
        &self.table.layout
    }

    /// Counts the rows added so far.
    pub fn rows(&self) -> u64 {
        self.filled.rows as u64 + self.rows_in_block
    }

    /// Counts the bytes of pages that are not written yet.
    pub fn buffer_bytes(&self) -> usize {
        self.block.buffer_bytes() + self.fragments.buffer_bytes()
    }

    /// Adds rows. After an error the writer cannot be used any more, and its load must be undone.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let table = Arc::clone(&self.table);
        let mut sink = LargeValueWriter { sink: &mut self.fragments };
        let bound = BoundBatch::new(&table.layout, batch, &mut sink)?;
        let mut first = 0;
        while first < bound.rows() {
            let taken = self.block.append(&bound, first);
            first += taken;
            self.rows_in_block += taken as u64;
            if let Some(waiting) = &mut self.waiting {
                waiting.push(Waiting::Batch(batch.slice(first - taken, taken)));
            }
            if first < bound.rows() {
                self.flush_rows(false)?;
            }
        }
        Ok(())
    }

    /// Copies wire rows that follow each other in `bytes`. It stops before a row that is incomplete or cannot be copied unchanged.
    pub fn append_wire_rows(
        &mut self,
        copier: &WireRowCopier,
        bytes: &[u8],
    ) -> Result<WireRows, EngineError> {
        let mut found = WireRows::default();
        if !copier.is_for(&self.table.layout) {
            return Ok(found);
        }
        loop {
            let rest = bytes
                .get(found.bytes..)
                .ok_or_else(|| EngineError::internal("more bytes of rows than came"))?;
            let (taken, is_full) = self.block.append_wire_rows(copier, rest);
            found.rows += taken.rows;
            found.bytes += taken.bytes;
            self.rows_in_block += taken.rows;
            if let Some(waiting) = self.waiting.as_mut().filter(|_| taken.rows > 0) {
                match waiting.last_mut() {
                    Some(Waiting::Records(rows)) => *rows += taken.rows as usize,
                    _ => waiting.push(Waiting::Records(taken.rows as usize)),
                }
            }
            if !is_full {
                return Ok(found);
            }
            self.flush_rows(false)?;
        }
    }

    /// Takes the rows that have got their addresses since the last call.
    pub fn take_located(&mut self) -> Vec<(LocatedRows, Vec<RowId>)> {
        std::mem::take(&mut self.located)
    }

    /// Writes the rows that are left.
    pub fn flush(&mut self) -> Result<(), EngineError> {
        self.flush_rows(true)
    }

    /// Abandons the writer, so that its rows can be undone. Returns its extents.
    pub fn give_up(self) -> Vec<ExtentId> {
        self.fragments.allocated
    }

    /// Writes the remaining pages. Returns what was filled, and in any case the extents that were allocated.
    pub fn finish(mut self) -> (Result<Filled, EngineError>, Vec<ExtentId>) {
        let done = self.flush_rows(true).and_then(|()| self.fragments.finish());
        self.shared.note_compression(self.table.unit(UnitKind::InRow).id, self.block.compression_counts());
        self.filled.extents.append(&mut self.fragments.extents);
        (done.map(|()| self.filled), self.fragments.allocated)
    }

    /// Writes the pages of the block; `all`: also one that is not full.
    fn flush_rows(&mut self, all: bool) -> Result<(), EngineError> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.shared.governor.pace(&self.shared.pager.log, None);
        let Self { block, shared, table, transaction, fragments, filled, minimally_logged, waiting, .. } =
            self;
        let unit = table.unit(UnitKind::InRow);
        // Rows get their addresses in the order in which they came: then none may wait for a later page.
        let mut pages = if all || waiting.is_some() { block.finish()? } else { block.full_pages()? };
        let mut addresses = Vec::new();
        let waits_for_records = waiting.iter().flatten().any(|rows| matches!(rows, Waiting::Records(_)));
        let mut records = Records::default();
        while !pages.is_empty() {
            let wanted = (pages.len() as u32).div_ceil(EXTENT_PAGES);
            let (id, owner) = (*transaction, table.owner(UnitKind::InRow));
            let run = shared.allocator.allocate(id, unit, wanted, owner, &mut fragments.allocated)?;
            let count = pages.len().min((run.count * EXTENT_PAGES) as usize);
            let (now, rest) = pages.split_at_mut(count);
            for (index, bytes) in (0..).zip(now.iter_mut()) {
                let id = PageId { page: run.first.page(0).page + index, file: run.first.file };
                page::set_address(bytes, id, PageId::NONE, PageId::NONE);
                if waiting.is_some() {
                    let slots = 0..page::slot_count(bytes);
                    addresses.extend(slots.map(|slot| RowId { page: id, slot }));
                }
                if waits_for_records {
                    Page::from_bytes(*bytes).rows().for_each(|(_, record)| records.push(record));
                }
            }
            write_pages(shared, *transaction, run, now, *minimally_logged, true)?;
            let extents = filled.extents.entry(UnitKind::InRow).or_default();
            extents.extend(used_extents(run, count as u32));
            pages = rest;
        }
        let waited: Vec<Waiting> = self.waiting.as_mut().map(std::mem::take).unwrap_or_default();
        if let [Waiting::Records(_)] = waited.as_slice() {
            self.located.push((LocatedRows::Records(records), addresses));
        } else {
            let mut addresses = addresses.into_iter();
            let mut of_block = records.iter();
            for rows in waited {
                let (rows, count) = match rows {
                    Waiting::Batch(batch) => {
                        let count = batch.num_rows();
                        if waits_for_records {
                            of_block.by_ref().take(count).for_each(drop);
                        }
                        (LocatedRows::Batch(batch), count)
                    }
                    Waiting::Records(count) => {
                        let mut own = Records::default();
                        of_block.by_ref().take(count).for_each(|record| own.push(record));
                        (LocatedRows::Records(own), count)
                    }
                };
                self.located.push((rows, addresses.by_ref().take(count).collect()));
            }
        }
        self.block.clear();
        let rows = std::mem::take(&mut self.rows_in_block);
        count(&self.shared.counters.bulk_rows, rows);
        self.filled.rows += rows as i64;
        Ok(())
    }
}

/// Lists the extents of a run that are in use when its first `pages` pages are.
fn used_extents(run: Run, pages: u32) -> impl Iterator<Item = ExtentUse> {
    (0..).zip(run.extents()).filter_map(move |(index, extent)| {
        let used = pages.saturating_sub(index * EXTENT_PAGES).min(EXTENT_PAGES);
        (used > 0).then(|| ExtentUse { extent, used: ((1_u16 << used) - 1) as u8 })
    })
}
