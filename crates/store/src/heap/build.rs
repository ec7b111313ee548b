//! Building a tree from rows in order: leaves one after the other, upper levels as pages become full, every page once.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch};

use super::block::{PageBlock, fill_limit_bytes, is_within};
use super::fragments::{FragmentWriter, write_pages};
use super::large::{LargeValueReader, LargeValueWriter};
use super::rows;
use crate::cache::pager::Pager;
use crate::catalogue::{Filled, Table};
use crate::database::shared::Shared;
use crate::error::EngineError;
use crate::log::Change;
use crate::page::unit::{ExtentUse, Run};
use crate::page::{self, CAPACITY_BYTES, EXTENT_PAGES, ExtentId, PAGE_BYTES, Page, PageId, SLOT_BYTES};
use crate::record::{BoundBatch, KeyedRows};
use crate::tree::index::Tree;
use crate::tree::{PageKeys, damaged, duplicate};

/// Leaves that are written at once: 1 MB.
const BLOCK_PAGES: usize = 128;

/// Fills a tree that is one empty page. All its pages but the root are new and go past the cache. The root stays in
/// place and gets what would be the only page of the highest level.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    shared: Arc<Shared>,
    table: Arc<Table>,
    tree: Arc<Tree>,
    transaction: u64,
    minimally_logged: bool,
    fill: Fill,
    block: PageBlock,
    /// Address of the first page of the block; None until something links to it.
    next_leaf: Option<PageId>,
    last_leaf: PageId,
    /// Pages of the levels above the leaves that are being filled, lowest first.
    levels: Vec<Level>,
    ready: VecDeque<PageId>,
    extents: Vec<ExtentUse>,
    /// Large values of its rows.
    pub fragments: FragmentWriter,
    rows: u64,
    /// Key of the last row, and the number that distinguishes it from others of its key.
    last: Option<(Vec<u8>, Option<u32>)>,
}

#[derive(Debug)]
struct Level {
    page: Page,
    /// Address of the level's page; None until something links to it.
    id: Option<PageId>,
}

/// Degree to which a tree's pages are filled when it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Pages are filled to the fill factor, for CREATE INDEX and for loads that lock the table.
    AsDeclared,
    /// Pages are filled completely, as if the rows had been inserted in their order.
    Up,
}

impl Fill {
    /// Returns the fill of a load: one that locks the table keeps to the fill factor.
    pub fn of(locks_table: bool) -> Self {
        if locks_table { Fill::AsDeclared } else { Fill::Up }
    }

    fn percent(self, tree: &Tree, level: u8) -> u8 {
        match self {
            Fill::AsDeclared => tree.fill_percent(level),
            Fill::Up => 100,
        }
    }
}

impl TreeBuilder {
    /// Creates a builder for a tree of `table` whose root is a leaf without rows. `fill` says how full pages
    /// are made.
    pub fn new(
        shared: &Arc<Shared>,
        table: &Arc<Table>,
        tree: &Arc<Tree>,
        transaction: u64,
        minimally_logged: bool,
        fill: Fill,
    ) -> Self {
        let unit = table.unit(tree.unit).id;
        let (percent, page_type) = (fill.percent(tree, 0), tree.page_type(0));
        let block = PageBlock::of_tree(unit, &tree.layout, BLOCK_PAGES, percent, page_type);
        Self {
            shared: Arc::clone(shared),
            table: Arc::clone(table),
            tree: Arc::clone(tree),
            transaction,
            minimally_logged,
            fill,
            block,
            next_leaf: None,
            last_leaf: PageId::NONE,
            levels: Vec::new(),
            ready: VecDeque::new(),
            extents: Vec::new(),
            fragments: FragmentWriter::new(shared, table, transaction, minimally_logged),
            rows: 0,
            last: None,
        }
    }

    /// Adds rows with their keys, which must ascend within and between calls. Rows of an index are complete; rows of a clustered
    /// table have only the columns that callers see. Returns the rows with their hidden column.
    pub fn append(&mut self, batch: &RecordBatch, keys: &BinaryArray) -> Result<RecordBatch, EngineError> {
        let tree = Arc::clone(&self.tree);
        let mut numbers = Vec::new();
        let before = self.last.take();
        let mut last = before.as_ref().map(|(key, number)| (key.as_slice(), *number));
        for row in 0..batch.num_rows() {
            let key = keys.value(row);
            let number = match last {
                Some((last, number)) if last == key => {
                    if tree.layout.hidden == 0 {
                        return Err(rows::duplicate_in(&tree, batch, row));
                    }
                    Some(rows::next_uniquifier(number)?)
                }
                _ => None,
            };
            if tree.layout.hidden > 0 {
                numbers.push(number);
            }
            last = Some((key, number));
        }
        self.last = last.map(|(key, number)| (key.to_vec(), number));
        let batch = match tree.layout.hidden {
            0 => batch.clone(),
            _ => rows::with_hidden(&tree.layout, batch, numbers)?,
        };
        let mut sink = LargeValueWriter { sink: &mut self.fragments };
        let bound = BoundBatch::new(&tree.layout, &batch, &mut sink)?;
        self.append_bound(&bound)?;
        drop(bound);
        Ok(batch)
    }

    /// Adds records with their keys, which must ascend within and between calls. If a row of a clustered
    /// table has the key of the row before, the number that distinguishes them is put into its record.
    pub fn append_rows(&mut self, rows: &mut KeyedRows) -> Result<(), EngineError> {
        let tree = Arc::clone(&self.tree);
        let before = self.last.take();
        let mut last = before.as_ref().map(|(key, number)| (key.as_slice(), *number));
        // Numbers of rows from the first one on that needs one.
        let mut numbers: Vec<Option<u32>> = Vec::new();
        for (row, key) in rows.keys.iter().enumerate() {
            let number = match last {
                Some((last, number)) if last == key => {
                    if tree.layout.hidden == 0 {
                        let record = rows.records.iter().nth(row).unwrap_or_default();
                        return Err(duplicate(&tree, record));
                    }
                    Some(rows::next_uniquifier(number)?)
                }
                _ => None,
            };
            if number.is_some() || !numbers.is_empty() {
                numbers.resize(row, None);
                numbers.push(number);
            }
            last = Some((key, number));
        }
        self.last = last.map(|(key, number)| (key.to_vec(), number));
        rows::number_records(&tree, &mut rows.records, &numbers)?;
        let (mut first, mut start) = (0, 0);
        while first < rows.len() {
            let taken = self.block.append_records(&rows.records, first, start);
            let placed = rows.records.lengths.iter().skip(first).take(taken);
            start += placed.map(|length| usize::from(*length)).sum::<usize>();
            first += taken;
            self.rows += taken as u64;
            if first < rows.len() {
                self.flush(true)?;
            }
        }
        Ok(())
    }

    /// Reads the large values of its rows that are written.
    pub fn large_values(&self) -> LargeValueReader<'_, Pager> {
        LargeValueReader { source: &self.shared.pager }
    }

    fn append_bound(&mut self, batch: &BoundBatch<'_>) -> Result<(), EngineError> {
        let mut first = 0;
        while first < batch.rows() {
            let taken = self.block.append(batch, first);
            first += taken;
            self.rows += taken as u64;
            if first < batch.rows() {
                self.flush(true)?;
            }
        }
        Ok(())
    }

    /// Counts the bytes of leaves and of large values that are not written yet.
    pub fn buffer_bytes(&self) -> usize {
        self.block.buffer_bytes() + self.fragments.buffer_bytes()
    }

    /// Writes the remaining pages and the root. Returns what was filled, and in any case the extents that were allocated.
    pub fn finish(mut self) -> (Result<Filled, EngineError>, Vec<ExtentId>) {
        let done = self.finish_pages().and_then(|()| self.fragments.finish());
        self.shared.note_compression(self.table.unit(self.tree.unit).id, self.block.compression_counts());
        let mut extents = std::mem::take(&mut self.fragments.extents);
        extents.entry(self.tree.unit).or_default().append(&mut self.extents);
        let filled = Filled { extents, rows: self.rows as i64, ..Filled::default() };
        (done.map(|()| filled), self.fragments.allocated)
    }

    fn finish_pages(&mut self) -> Result<(), EngineError> {
        let leaves = self.block.finish()?;
        if !self.last_leaf.is_some() && leaves.len() <= 1 {
            let Some(bytes) = leaves.first().copied() else { return Ok(()) };
            return self.write_root(Page::from_bytes(bytes));
        }
        self.flush(false)?;
        let mut level = 0;
        while let Some(Level { page, id }) = self.levels.get(level) {
            let page = page.clone();
            match *id {
                Some(id) => self.write_upper(level, page, id, PageId::NONE)?,
                None => return self.write_root(page),
            }
            level += 1;
        }
        Ok(())
    }

    /// Writes the leaves in the block; `more`: others follow, of rows that wait for a leaf or are still to come.
    fn flush(&mut self, more: bool) -> Result<(), EngineError> {
        let mut pages = if more { self.block.full_pages()? } else { self.block.finish()? }.to_vec();
        self.block.clear();
        let count = pages.len();
        self.reserve(count + usize::from(more) - usize::from(self.next_leaf.is_some()))?;
        let mut ids: Vec<PageId> = self.next_leaf.take().into_iter().collect();
        let missing = count - ids.len().min(count);
        ids.extend(self.ready.drain(..missing.min(self.ready.len())));
        self.next_leaf = if more { self.ready.pop_front() } else { None };
        let follower = self.next_leaf.unwrap_or(PageId::NONE);
        let mut entries = Vec::with_capacity(count);
        for (index, (bytes, id)) in pages.iter_mut().zip(&ids).enumerate() {
            let next = ids.get(index + 1).copied().unwrap_or(follower);
            page::set_address(bytes, *id, self.last_leaf, next);
            self.last_leaf = *id;
            let leaf = Page::from_bytes(*bytes);
            entries.push(PageKeys::new(&self.tree, &leaf)?.entry(0, *id)?);
        }
        for run in neighbours(&ids) {
            match (ids.get(run.clone()), pages.get_mut(run)) {
                (Some(ids), Some(pages)) => self.write(ids, pages)?,
                _ => return Err(EngineError::internal("leaves without an address")),
            }
        }
        entries.into_iter().try_for_each(|entry| self.push(0, entry))
    }

    /// Adds an entry to a level, counted from the one above the leaves.
    fn push(&mut self, level: usize, entry: Vec<u8>) -> Result<(), EngineError> {
        let empty = self.empty(level);
        if self.levels.len() == level {
            self.levels.push(Level { page: empty.clone(), id: None });
        }
        let Some(Level { page, .. }) = self.levels.get_mut(level) else { return Ok(()) };
        let limit = fill_limit_bytes(self.fill.percent(&self.tree, level as u8 + 1));
        let used = CAPACITY_BYTES - page.free_bytes();
        let slot = page.slot_count();
        // Two entries at least, whatever the fill factor: the levels must become smaller.
        let fits = slot < 2 || is_within(usize::from(slot) + 1, used + entry.len() + SLOT_BYTES, limit);
        if fits && page.insert(slot, &entry, true) {
            return Ok(());
        }
        let known = self.levels.get(level).and_then(|level| level.id);
        let own = match known {
            Some(own) => own,
            None => self.take()?,
        };
        let follower = self.take()?;
        let Some(Level { page, id }) = self.levels.get_mut(level) else { return Ok(()) };
        *id = Some(follower);
        let full = std::mem::replace(page, empty);
        page.set_links(own, PageId::NONE);
        if !page.insert(0, &entry, true) {
            return Err(damaged(own, "a key does not fit a page"));
        }
        self.write_upper(level, full, own, follower)
    }

    /// Writes a page above the leaves and adds its entry to the level above.
    fn write_upper(&mut self, level: usize, page: Page, id: PageId, next: PageId) -> Result<(), EngineError> {
        let mut bytes = [*page.bytes()];
        bytes.iter_mut().for_each(|bytes| page::set_address(bytes, id, page.previous(), next));
        self.write(&[id], &mut bytes)?;
        let entry = page.row(0).and_then(|record| self.tree.key.index_record_of(record, id));
        self.push(level + 1, entry.ok_or_else(|| damaged(id, "a key cannot be read"))?)
    }

    fn write_root(&mut self, page: Page) -> Result<(), EngineError> {
        let id = self.tree.root;
        let mut bytes = *page.bytes();
        page::set_address(&mut bytes, id, PageId::NONE, PageId::NONE);
        let before = Box::new((*self.shared.pager.cache.read(id)?).clone());
        let change = Change::Reformat { page: id, before, after: Box::new(Page::from_bytes(bytes)) };
        match self.shared.pager.change(self.transaction, change)? {
            true => Ok(()),
            false => Err(damaged(id, "a root is not in the expected state")),
        }
    }

    fn empty(&self, level: usize) -> Page {
        self.tree.empty_page(PageId::NONE, level as u8 + 1, self.table.unit(self.tree.unit).id)
    }

    fn take(&mut self) -> Result<PageId, EngineError> {
        self.reserve(1)?;
        self.ready.pop_front().ok_or_else(|| damaged(self.tree.root, "no page to be had for its tree"))
    }

    /// Makes sure that `pages` pages are ready to be taken.
    fn reserve(&mut self, pages: usize) -> Result<(), EngineError> {
        while self.ready.len() < pages {
            let wanted = (pages - self.ready.len()).div_ceil(EXTENT_PAGES as usize) as u32;
            let unit = self.table.unit(self.tree.unit);
            let allocated = &mut self.fragments.allocated;
            let (id, owner) = (self.transaction, self.table.owner(self.tree.unit));
            let run = self.shared.allocator.allocate(id, unit, wanted, owner, allocated)?;
            for extent in run.extents() {
                self.extents.push(ExtentUse { extent, used: 0 });
                self.ready.extend((0..EXTENT_PAGES).map(|index| extent.page(index)));
            }
        }
        Ok(())
    }

    /// Writes neighbouring pages.
    fn write(&mut self, ids: &[PageId], pages: &mut [[u8; PAGE_BYTES]]) -> Result<(), EngineError> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(()) };
        let count = last.extent().extent - first.extent().extent + 1;
        let run = Run { first: first.extent(), count };
        write_pages(&self.shared, self.transaction, run, pages, self.minimally_logged, false)?;
        for id in ids {
            let extent = self.extents.iter_mut().rev().find(|extent| extent.extent == id.extent());
            if let Some(extent) = extent {
                extent.used |= 1 << (id.page % EXTENT_PAGES);
            }
        }
        Ok(())
    }
}

/// Finds the runs of neighbouring pages.
fn neighbours(ids: &[PageId]) -> Vec<Range<usize>> {
    let mut start = 0;
    ids.chunk_by(|a, b| a.file == b.file && a.page + 1 == b.page)
        .map(|run| {
            start += run.len();
            start - run.len()..start
        })
        .collect()
}
