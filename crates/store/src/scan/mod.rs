//! Reads tables: extents to batches, as of one commit or as a transaction sees them.
//!
//! A scan finds and checks the records of an extent, then each column takes its values page by page. Columns that are not asked for
//! are not read. The error of a damaged value names its page and the place of its row.

pub mod ordered;
mod page_pool;
pub mod read_table;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema, SchemaRef};

use crate::catalogue::Table;
use crate::database::shared::Shared;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::figures::WaitType;
use crate::heap::large::{FragmentSource, LargeValueReader};
use crate::lock::Resource;
use crate::page::unit::ExtentUse;
use crate::page::unit::UnitKind;
use crate::page::{self, EXTENT_BYTES, EXTENT_PAGES, PAGE_BYTES, Page, PageId, PageType, RowId};
use crate::record::{BatchBuilder, ExpectedSizes, LyingRows, RowGatherer};
use crate::tree;
use crate::tree::index::RowLocator;
use page_pool::PagePool;

/// State of the pages that a scan reads.
#[derive(Debug, Clone)]
pub(crate) enum View {
    /// The state of a snapshot, which stays open as long as the scan exists.
    Snapshot(Snapshot),
    /// The state of a snapshot, except for pages that this transaction has changed and locked: those are read as they are now.
    Own(Snapshot, u64),
    /// The current state, which has only the scanning transaction's own changes, since it holds the table's lock.
    Current,
}

/// Pages as a view has them.
#[derive(Debug, Clone)]
pub(crate) struct PageReader {
    pub shared: Arc<Shared>,
    pub view: View,
    /// Skip pages of rows that other transactions have locked to change them (READPAST).
    pub passes: bool,
}

impl View {
    /// Returns the commit that the view shows, and the transaction whose own changes it shows as well. None:
    /// the current state.
    fn stands_at(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Self::Snapshot(snapshot) => Some((snapshot.sequence(), None)),
            Self::Own(snapshot, transaction) => Some((snapshot.sequence(), Some(*transaction))),
            Self::Current => None,
        }
    }
}

impl PageReader {
    /// Returns true if a page of a table's rows is skipped, because another transaction has locked it
    /// (READPAST).
    pub fn is_passed(&self, object: u32, page: PageId) -> bool {
        let own = match self.view {
            View::Own(_, own) => own,
            View::Snapshot(_) | View::Current => 0,
        };
        self.passes && self.shared.locks.is_taken(own, &Resource::Page { object, page })
    }

    /// Reads the view's version of a page through the cache.
    pub fn read(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        let pager = &self.shared.pager;
        match self.view.stands_at() {
            None => pager.cache.read(id),
            Some((sequence, own)) => pager.read_version(id, sequence, own, || pager.cache.read(id)),
        }
    }

    /// Reads the used pages of an extent. Pages that the cache lacks are read at once: into the cache if it
    /// `keeps` what is read, past it otherwise.
    fn extent(
        &self,
        extent: ExtentUse,
        keeps: bool,
        pool: &mut PagePool,
    ) -> Result<Vec<Arc<Page>>, EngineError> {
        let pager = &self.shared.pager;
        let epoch = pager.versions.epoch();
        let ids: Vec<PageId> = extent.pages().collect();
        let mut pages = match pager.cache.peek_all(&ids) {
            Ok(pages) => pages,
            Err(_) if keeps => pager.cache.read_extent(&ids, WaitType::PageIoLatchShared)?,
            Err(cached) => self.read_past_cache(extent, &ids, cached, pool)?,
        };
        if let Some((sequence, own)) = self.view.stands_at() {
            pager.versions.read_all(&mut pages, sequence, own)?;
            if pager.versions.epoch() != epoch {
                for page in &mut pages {
                    *page = self.read(page.id())?;
                }
            }
        }
        Ok(pages)
    }

    /// Reads the pages of an extent of which the cache has some.
    fn read_past_cache(
        &self,
        extent: ExtentUse,
        ids: &[PageId],
        cached: Vec<Option<Arc<Page>>>,
        pool: &mut PagePool,
    ) -> Result<Vec<Arc<Page>>, EngineError> {
        let first = extent.extent.page(0);
        // The read ends with the last page in use, since the file may end there.
        let used = (EXTENT_PAGES - extent.used.leading_zeros()) as usize;
        let PagePool { extent: buffer, pages: pool } = pool;
        buffer.resize(EXTENT_BYTES, 0);
        let bytes = buffer
            .get_mut(..used * PAGE_BYTES)
            .ok_or_else(|| EngineError::internal("an extent with more pages than one has"))?;
        let file = self.shared.pager.files.file(first.file)?;
        file.read(first.page, bytes, WaitType::PageIoLatchShared)?;
        let read = buffer.as_chunks::<PAGE_BYTES>().0;
        let pages = ids.iter().zip(cached).map(|(id, cached)| {
            let bytes = read.get((id.page % EXTENT_PAGES) as usize);
            match (cached, bytes) {
                (Some(page), _) => Ok(page),
                (None, Some(bytes)) if page::verify(bytes, *id).is_ok() => Ok(pool.page(bytes)),
                // The page may have been written meanwhile; the cache has its newest contents.
                (None, _) => self.read(*id),
            }
        });
        pages.collect()
    }
}

impl FragmentSource for PageReader {
    fn page(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        self.read(id)
    }
}

/// Rows of a table, batch by batch, in no particular order.
#[derive(Debug)]
pub struct Scan {
    reader: PageReader,
    table: Arc<Table>,
    extents: Range<usize>,
    projection: Vec<usize>,
    schema: SchemaRef,
    batch_rows: usize,
    /// Distance of the extents that are read: 1 for all, more for a sample.
    step: usize,
    /// True if pages stay in the cache, because the table does not take much of it.
    keeps: bool,
    pool: PagePool,
    /// Sizes of the batch before.
    expected: ExpectedSizes,
}

/// Rows that a scan has found.
#[derive(Debug)]
pub enum ScannedRows {
    /// Borrowed page rows, with all columns.
    Lying(LyingRows),
    /// A batch of the columns asked for.
    Batch(RecordBatch),
}

/// Least number of borrowed page rows handed out at once, but for the last: some extents.
const LYING_ROWS: usize = 2048;
/// Rows of a batch are aimed at this; a batch ends with an extent.
const BATCH_ROWS: usize = 8192;
/// Extents by whose rows a table is judged.
const FEW_EXTENTS: usize = 2;
/// Ratio of the cache to the largest table that a scan leaves in it; larger tables would push out everything
/// else.
const KEPT_SHARE: usize = 2;

impl Scan {
    pub(crate) fn new(
        reader: PageReader,
        table: Arc<Table>,
        projection: Option<Vec<usize>>,
    ) -> Result<Self, EngineError> {
        let projection = projection.unwrap_or_else(|| (0..table.layout.visible().len()).collect());
        let fields = projection.iter().map(|column| {
            let column = table.layout.columns.get(*column);
            let column = column.ok_or_else(|| EngineError::Schema { reason: "no such column".to_owned() })?;
            Ok(Field::new(&column.name, column.kind.data_type(), column.nullable))
        });
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, EngineError>>()?));
        let extents = 0..table.unit(UnitKind::InRow).extents.len();
        // Extents that a snapshot reads get no other owner before it ends.
        let is_snapshot = reader.view.stands_at().is_some();
        let limit_extents = reader.shared.pager.cache.limit_pages() / (EXTENT_PAGES as usize * KEPT_SHARE);
        let keeps = is_snapshot && extents.len() <= limit_extents;
        Ok(Self {
            reader,
            table,
            extents,
            projection,
            schema,
            batch_rows: BATCH_ROWS,
            step: 1,
            keeps,
            pool: PagePool::default(),
            expected: ExpectedSizes::default(),
        })
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Cuts the scan into up to `parts` scans that share its extents evenly and can run in parallel.
    pub fn partitions(self, parts: usize) -> Vec<Self> {
        let total = self.extents.len();
        let parts = parts.clamp(1, total.max(1));
        (0..parts)
            .map(|part| Self {
                reader: self.reader.clone(),
                table: Arc::clone(&self.table),
                extents: self.extents.start + total * part / parts
                    ..self.extents.start + total * (part + 1) / parts,
                projection: self.projection.clone(),
                schema: Arc::clone(&self.schema),
                batch_rows: self.batch_rows,
                step: self.step,
                keeps: self.keeps,
                pool: PagePool::default(),
                expected: ExpectedSizes::default(),
            })
            .collect()
    }

    /// Keeps extents of about `pages` pages, evenly spread over the scan.
    pub(crate) fn sample(mut self, pages: u64) -> Self {
        let extents = u64::from(EXTENT_PAGES).max(1);
        self.step = (self.extents.len() as u64 * extents).div_ceil(pages.max(1)).max(1) as usize;
        self
    }

    /// Reads the rows of some extents, evenly spread over the scan, which ends with them.
    pub fn few(&mut self) -> Option<Result<RecordBatch, EngineError>> {
        self.step = self.extents.len().div_ceil(FEW_EXTENTS).max(1);
        self.next()
    }

    /// Reads the next batch with the address of each row.
    pub fn next_with_addresses(&mut self) -> Option<Result<(RecordBatch, Vec<RowId>), EngineError>> {
        let mut addresses = Vec::new();
        let batch = self.gather(|_, rows| {
            addresses.append(&mut rows.addresses());
            Ok(())
        });
        batch.transpose().map(|batch| Ok((batch?, addresses)))
    }

    /// Reads the next batch with the locator of each row, for heaps and trees.
    pub fn next_with_locators(&mut self) -> Option<Result<(RecordBatch, Vec<RowLocator>), EngineError>> {
        let mut locators = Vec::new();
        let batch = self.gather(|table, rows| {
            match &table.clustered {
                Some(tree) => {
                    let keys = rows.keys(|layout, row| tree.key.of_row(layout, row));
                    let keys = keys.ok_or_else(|| tree::damaged(tree.root, "a key cannot be read"))?;
                    locators.extend(keys.into_iter().map(|key| RowLocator::Key(key.into())));
                }
                None => locators.extend(rows.addresses().into_iter().map(RowLocator::Address)),
            }
            Ok(())
        });
        batch.transpose().map(|batch| Ok((batch?, locators)))
    }

    /// Reads the next rows: borrowed page rows, or a batch if a value is outside of its row or records are
    /// compressed.
    pub fn next_rows(&mut self) -> Option<Result<ScannedRows, EngineError>> {
        let table = Arc::clone(&self.table);
        if !LyingRows::is_possible(&table.layout) {
            return Some(self.next()?.map(ScannedRows::Batch));
        }
        self.next_extents(&table).transpose()
    }

    fn next_extents(&mut self, table: &Table) -> Result<Option<ScannedRows>, EngineError> {
        let mut rows = RowGatherer::new(&table.layout);
        while rows.rows() < LYING_ROWS {
            let Some(pages) = self.next_pages(table)? else { break };
            self.push(&pages, &mut rows)?;
        }
        if rows.rows() == 0 {
            return Ok(None);
        }
        if let Some(rows) = rows.take_lying() {
            return Ok(Some(ScannedRows::Lying(rows)));
        }
        let large = LargeValueReader { source: &self.reader };
        rows.finish(&self.projection, &large).map(|batch| Some(ScannedRows::Batch(batch)))
    }

    /// Returns the next rows for which `holds` is true of their columns at `places` of the projection; None at the end, and from `holds` on. The
    /// other columns are read of these rows only.
    pub fn next_where(
        &mut self,
        places: &[usize],
        holds: &mut dyn FnMut(RecordBatch) -> Option<BooleanArray>,
    ) -> Option<Result<RecordBatch, EngineError>> {
        loop {
            match self.chosen(places, holds) {
                Ok(Some(chosen)) if chosen.num_rows() == 0 => {}
                chosen => return chosen.transpose(),
            }
        }
    }

    /// Returns the rows of the next extents for which `holds` is true, if there are extents left.
    fn chosen(
        &mut self,
        places: &[usize],
        holds: &mut dyn FnMut(RecordBatch) -> Option<BooleanArray>,
    ) -> Result<Option<RecordBatch>, EngineError> {
        let table = Arc::clone(&self.table);
        let looked_at: Vec<usize> =
            places.iter().filter_map(|place| self.projection.get(*place)).copied().collect();
        let expected = ExpectedSizes { rows: self.batch_rows + self.batch_rows / 16, text_bytes: Vec::new() };
        let mut batch = BatchBuilder::new(&table.layout, &looked_at, &expected)?;
        let mut rows = RowGatherer::new(&table.layout);
        while batch.rows() < self.batch_rows {
            let Some(pages) = self.next_pages(&table)? else { break };
            let before = rows.pages();
            self.push(&pages, &mut rows)?;
            // While the extent is in the processor's cache.
            rows.add_pages(before, &mut batch, &LargeValueReader { source: &self.reader })?;
        }
        if batch.rows() == 0 {
            return Ok(None);
        }
        let looked_at = batch.finish(&LargeValueReader { source: &self.reader })?;
        let Some(chosen) = holds(looked_at.clone()) else { return Ok(None) };
        let looked_at = filter_record_batch(&looked_at, &chosen)?;
        rows.keep(&chosen);
        let places_left = (0..self.projection.len()).filter(|place| !places.contains(place));
        let others: Vec<usize> =
            places_left.filter_map(|place| self.projection.get(place)).copied().collect();
        let count = looked_at.num_rows();
        let others = match count {
            0 => RecordBatch::new_empty(Arc::new(self.schema.project(&[])?)),
            _ => rows.finish(&others, &LargeValueReader { source: &self.reader })?,
        };
        if count == 0 {
            return Ok(Some(others));
        }
        let mut others = others.columns().iter();
        let arrays = (0..self.projection.len()).filter_map(|place| {
            match places.iter().position(|looked_at| *looked_at == place) {
                Some(index) => looked_at.columns().get(index).map(Arc::clone),
                None => others.next().map(Arc::clone),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = Arc::clone(&self.schema);
        Ok(Some(RecordBatch::try_new_with_options(schema, arrays.collect(), &options)?))
    }

    fn push(&self, pages: &[Arc<Page>], rows: &mut RowGatherer<'_>) -> Result<(), EngineError> {
        match self.keeps {
            true => pages.iter().try_for_each(|page| rows.push_kept_page(page)),
            false => pages.iter().try_for_each(|page| rows.push_page(page)),
        }
    }

    /// Reads the pages of rows of the next extent; None: there is no more.
    fn next_pages(&mut self, table: &Table) -> Result<Option<Vec<Arc<Page>>>, EngineError> {
        let Some(index) = self.extents.next() else { return Ok(None) };
        self.extents.start = self.extents.start.saturating_add(self.step - 1).min(self.extents.end);
        let Some(extent) = table.unit(UnitKind::InRow).extents.get(index) else { return Ok(None) };
        let mut pages = self.reader.extent(*extent, self.keeps, &mut self.pool)?;
        if table.clustered.is_some() {
            pages.retain(|page| page.page_type() != Some(PageType::Index));
        }
        if self.reader.passes {
            pages.retain(|page| !self.reader.is_passed(table.object, page.id()));
        }
        Ok(Some(pages))
    }

    /// Reads the next batch; `note` sees the rows of each extent before they are read.
    fn gather(
        &mut self,
        mut note: impl FnMut(&Table, &RowGatherer<'_>) -> Result<(), EngineError>,
    ) -> Result<Option<RecordBatch>, EngineError> {
        let table = Arc::clone(&self.table);
        let (projection, expected) = (self.projection.clone(), std::mem::take(&mut self.expected));
        let mut batch = BatchBuilder::new(&table.layout, &projection, &expected)?;
        let mut rows = RowGatherer::new(&table.layout);
        while batch.rows() < self.batch_rows {
            // One extent at a time stays in the processor's cache until it is read.
            let Some(pages) = self.next_pages(&table)? else { break };
            self.push(&pages, &mut rows)?;
            note(&table, &rows)?;
            rows.read_into(&mut batch, &LargeValueReader { source: &self.reader })?;
        }
        if batch.rows() == 0 {
            return Ok(None);
        }
        let expected = batch.sizes();
        let batch = batch.finish(&LargeValueReader { source: &self.reader })?;
        // Batches differ a little.
        let more = |size: usize| size + size / 16;
        self.expected = ExpectedSizes {
            rows: more(expected.rows),
            text_bytes: expected.text_bytes.into_iter().map(more).collect(),
        };
        Ok(Some(batch))
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.gather(|_, _| Ok(())).transpose()
    }
}

impl Snapshot {
    /// Creates a reader of pages as this snapshot has them.
    pub(crate) fn reader(&self) -> PageReader {
        PageReader { shared: Arc::clone(self.shared()), view: View::Snapshot(self.clone()), passes: false }
    }
}
