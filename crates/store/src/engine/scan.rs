//! Reading tables: extents to batches, as of one commit or as a transaction sees them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::allocation::ExtentUse;
use super::catalogue::{Clustered, Table, UnitKind};
use super::database::{Shared, Snapshot};
use super::error::EngineError;
use super::figures::WaitType;
use super::key::KeyLayout;
use super::large::{FragmentSource, LargeValueReader};
use super::layout::Layout;
use super::page::{self, EXTENT_BYTES, EXTENT_PAGES, PAGE_BYTES, Page, PageId, PageType, RowId};
use super::record::{BoundBatch, RowGatherer, no_large_values};
use super::tree;

/// Which state of the pages a scan reads.
#[derive(Debug, Clone)]
pub(crate) enum View {
    /// That of a snapshot, which is kept open as long as the scan lives.
    Snapshot(Snapshot),
    /// The present one: the scanning transaction's own changes, and nobody else's, since it holds the table's lock.
    Current,
}

/// Pages as a view has them.
#[derive(Debug, Clone)]
pub(crate) struct PageReader {
    pub shared: Arc<Shared>,
    pub view: View,
}

impl PageReader {
    /// One page, through the cache.
    pub fn read(&self, id: PageId) -> Result<Arc<Page>, EngineError> {
        let pager = &self.shared.pager;
        match &self.view {
            View::Current => pager.cache.read(id),
            View::Snapshot(snapshot) => pager.read_version(id, snapshot.sequence(), || pager.cache.read(id)),
        }
    }

    /// The used pages of an extent. What is not in the cache is read past it, all at once.
    fn extent(&self, extent: ExtentUse, buffer: &mut Vec<u8>) -> Result<Vec<Arc<Page>>, EngineError> {
        let pager = &self.shared.pager;
        let epoch = pager.versions.epoch();
        let cached: Vec<(PageId, Option<Arc<Page>>)> =
            extent.pages().map(|id| (id, pager.cache.peek(id))).collect();
        if cached.iter().any(|(_, page)| page.is_none()) {
            let first = extent.extent.page(0);
            // Up to the last page in use: the file may end there.
            let used = (EXTENT_PAGES - extent.used.leading_zeros()) as usize;
            buffer.resize(EXTENT_BYTES, 0);
            let bytes = buffer.get_mut(..used * PAGE_BYTES).unwrap_or_default();
            pager.files.file(first.file)?.read(first.page, bytes, WaitType::PageIoLatchShared)?;
        }
        let mut pages = Vec::with_capacity(cached.len());
        for (id, page) in cached {
            pages.push(match page {
                Some(page) => page,
                None => {
                    let index = (id.page % EXTENT_PAGES) as usize;
                    let bytes = buffer.as_chunks::<PAGE_BYTES>().0.get(index).unwrap_or(&[0; PAGE_BYTES]);
                    match page::verify(bytes, id) {
                        Ok(()) => Arc::new(Page::from_bytes(*bytes)),
                        // It may have been written meanwhile; the cache knows.
                        Err(_) => self.read(id)?,
                    }
                }
            });
        }
        if let View::Snapshot(snapshot) = &self.view {
            let sequence = snapshot.sequence();
            for page in &mut pages {
                if let Some(version) = pager.versions.read(page.id(), sequence) {
                    *page = version;
                }
            }
            if pager.versions.epoch() != epoch {
                for page in &mut pages {
                    *page = self.read(page.id())?;
                }
            }
        }
        Ok(pages)
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
    buffer: Vec<u8>,
}

/// Rows of a batch are aimed at this; a batch ends with an extent.
const BATCH_ROWS: usize = 8192;

impl Scan {
    pub(crate) fn new(
        reader: PageReader,
        table: Arc<Table>,
        projection: Option<Vec<usize>>,
    ) -> Result<Self, EngineError> {
        let projection = projection.unwrap_or_else(|| (0..table.layout.columns.len()).collect());
        let schema = Arc::new(table.layout.schema.project(&projection)?);
        let extents = 0..table.unit(UnitKind::InRow).extents.len();
        Ok(Self { reader, table, extents, projection, schema, batch_rows: BATCH_ROWS, buffer: Vec::new() })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Cuts the scan into up to `parts` that share its extents evenly and can run side by side.
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
                buffer: Vec::new(),
            })
            .collect()
    }

    /// The next batch with the address of each row.
    pub fn next_with_addresses(&mut self) -> Option<Result<(RecordBatch, Vec<RowId>), EngineError>> {
        self.gather(true).transpose()
    }

    fn gather(&mut self, addresses: bool) -> Result<Option<(RecordBatch, Vec<RowId>)>, EngineError> {
        let table = Arc::clone(&self.table);
        let mut gatherer = RowGatherer::new(&table.layout);
        while gatherer.rows() < self.batch_rows {
            let Some(index) = self.extents.next() else { break };
            let Some(extent) = table.unit(UnitKind::InRow).extents.get(index) else { break };
            for page in self.reader.extent(*extent, &mut self.buffer)? {
                if table.clustered.is_some() && page.page_type() == Some(PageType::Index) {
                    continue;
                }
                gatherer.push_page(&page)?;
            }
        }
        if gatherer.rows() == 0 {
            return Ok(None);
        }
        let addresses = if addresses { gatherer.addresses() } else { Vec::new() };
        let batch = gatherer.finish(&self.projection, &LargeValueReader { source: &self.reader })?;
        Ok(Some((batch, addresses)))
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.gather(false).transpose()?.map(|(batch, _)| batch))
    }
}

/// Rows of a clustered table in the order of its key, a leaf at a time.
#[derive(Debug)]
pub struct OrderedScan {
    reader: PageReader,
    table: Arc<Table>,
    projection: Vec<usize>,
    /// The next leaf, and the least key wanted of it.
    next: PageId,
    from: Vec<u8>,
    /// Rows with greater keys are not wanted; None: all are.
    to: Option<Vec<u8>>,
    seen: usize,
}

impl OrderedScan {
    /// Rows whose keys are at least the key in the first row of `from` and at most that in the first row of `to`. Both are
    /// batches of the key columns.
    pub(crate) fn new(
        reader: PageReader,
        table: Arc<Table>,
        projection: Option<Vec<usize>>,
        from: Option<&RecordBatch>,
        to: Option<&RecordBatch>,
    ) -> Result<Self, EngineError> {
        let clustered = tree_of(&table)?;
        let bound = |batch: &RecordBatch| {
            let keys = keys_of(&table, batch)?;
            keys.into_iter()
                .next()
                .ok_or_else(|| EngineError::Schema { reason: "a bound without a row".to_owned() })
        };
        let from = from.map(bound).transpose()?.unwrap_or_default();
        let to = to.map(bound).transpose()?;
        let leaf = tree::descend(&table.layout, &clustered, &from, 0, |id| reader.read(id))?;
        let projection = projection.unwrap_or_else(|| (0..table.layout.columns.len()).collect());
        Ok(Self { reader, table, projection, next: leaf.id(), from, to, seen: 0 })
    }

    fn leaf(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let table = Arc::clone(&self.table);
        let clustered = tree_of(&table)?;
        let most = table.unit(UnitKind::InRow).extents.len() * EXTENT_PAGES as usize;
        while self.next.is_some() {
            let page = self.reader.read(self.next)?;
            self.seen += 1;
            if page.level() != 0 || page.page_type() != Some(PageType::Data) || self.seen > most {
                return Err(tree::damaged(page.id(), "the chain of leaves leads astray"));
            }
            self.next = page.next();
            let mut slots = 0..page.slot_count();
            if !self.from.is_empty() {
                let (tree::Place::At(slot) | tree::Place::Before(slot)) =
                    tree::find(&table.layout, &clustered, &page, &self.from)?;
                slots.start = slot;
                self.from.clear();
            }
            if let Some(to) = &self.to {
                let end = match tree::find(&table.layout, &clustered, &page, to)? {
                    tree::Place::At(slot) => slot + 1,
                    tree::Place::Before(slot) => slot,
                };
                if end < slots.end {
                    slots.end = end;
                    self.next = PageId::NONE;
                }
            }
            let mut gatherer = RowGatherer::new(&table.layout);
            gatherer.push_rows(&page, slots)?;
            if gatherer.rows() > 0 {
                return gatherer
                    .finish(&self.projection, &LargeValueReader { source: &self.reader })
                    .map(Some);
            }
        }
        Ok(None)
    }
}

impl Iterator for OrderedScan {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.leaf().transpose()
    }
}

/// The table's tree, or an error that it has none.
pub(crate) fn tree_of(table: &Table) -> Result<Arc<Clustered>, EngineError> {
    table
        .clustered
        .clone()
        .ok_or_else(|| EngineError::Schema { reason: format!("table {:?} has no key", table.name) })
}

/// Keys as byte strings from a batch of the key columns in their order.
pub(crate) fn keys_of(table: &Table, batch: &RecordBatch) -> Result<Vec<Vec<u8>>, EngineError> {
    let clustered = tree_of(table)?;
    let columns = clustered.key.columns.iter().filter_map(|index| table.layout.columns.get(*index).cloned());
    let mut layout = Layout::new(columns.collect())?;
    let all: Vec<usize> = (0..layout.columns.len()).collect();
    layout.pinned = all.clone().into();
    let key = KeyLayout::new(&layout, &all)?;
    let bound = BoundBatch::new(&layout, batch, &mut no_large_values())?;
    let keys = (0..bound.rows()).map(|row| key.of_row(&layout, &bound.record(row)));
    keys.collect::<Option<Vec<_>>>()
        .ok_or_else(|| EngineError::Schema { reason: "a key cannot be read".to_owned() })
}
