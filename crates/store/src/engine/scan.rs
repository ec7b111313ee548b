//! Reading tables: extents to batches, as of one commit or as a transaction sees them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};

use super::allocation::ExtentUse;
use super::catalogue::{Table, UnitKind};
use super::database::{Shared, Snapshot};
use super::error::EngineError;
use super::figures::WaitType;
use super::index::RowLocator;
use super::large::{FragmentSource, LargeValueReader};
use super::page::{self, EXTENT_BYTES, EXTENT_PAGES, PAGE_BYTES, Page, PageId, PageType, RowId};
use super::record::RowGatherer;
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
            if buffer.len() < EXTENT_BYTES {
                *buffer = vec![0; EXTENT_BYTES];
            }
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
    /// Every so many extents are read.
    step: usize,
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
        let projection = projection.unwrap_or_else(|| (0..table.layout.visible().len()).collect());
        let fields = projection.iter().map(|column| {
            let column = table.layout.columns.get(*column);
            let column = column.ok_or_else(|| EngineError::Schema { reason: "no such column".to_owned() })?;
            Ok(Field::new(&column.name, column.kind.data_type(), column.nullable))
        });
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, EngineError>>()?));
        let extents = 0..table.unit(UnitKind::InRow).extents.len();
        Ok(Self {
            reader,
            table,
            extents,
            projection,
            schema,
            batch_rows: BATCH_ROWS,
            step: 1,
            buffer: Vec::new(),
        })
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
                step: self.step,
                buffer: Vec::new(),
            })
            .collect()
    }

    /// Keeps extents of about so many pages, evenly spread over the scan.
    pub(crate) fn sample(mut self, pages: u64) -> Self {
        let extents = u64::from(EXTENT_PAGES).max(1);
        self.step = (self.extents.len() as u64 * extents).div_ceil(pages.max(1)).max(1) as usize;
        self
    }

    /// The next batch with the address of each row.
    pub fn next_with_addresses(&mut self) -> Option<Result<(RecordBatch, Vec<RowId>), EngineError>> {
        self.gather(|_, gatherer| Ok(gatherer.addresses())).transpose()
    }

    /// The next batch with what leads to each row, in a table of either form.
    pub fn next_with_locators(&mut self) -> Option<Result<(RecordBatch, Vec<RowLocator>), EngineError>> {
        self.gather(|table, gatherer| match &table.clustered {
            Some(tree) => {
                let keys = gatherer.keys(&tree.key);
                let keys = keys.ok_or_else(|| tree::damaged(tree.root, "a key cannot be read"))?;
                Ok(keys.into_iter().map(|key| RowLocator::Key(key.into())).collect())
            }
            None => Ok(gatherer.addresses().into_iter().map(RowLocator::Address).collect()),
        })
        .transpose()
    }

    fn gather<T>(
        &mut self,
        note: impl FnOnce(&Table, &RowGatherer<'_>) -> Result<T, EngineError>,
    ) -> Result<Option<(RecordBatch, T)>, EngineError> {
        let table = Arc::clone(&self.table);
        let mut gatherer = RowGatherer::new(&table.layout);
        while gatherer.rows() < self.batch_rows {
            let Some(index) = self.extents.next() else { break };
            self.extents.start = self.extents.start.saturating_add(self.step - 1).min(self.extents.end);
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
        let noted = note(&table, &gatherer)?;
        let batch = gatherer.finish(&self.projection, &LargeValueReader { source: &self.reader })?;
        Ok(Some((batch, noted)))
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.gather(|_, _| Ok(())).transpose()?.map(|(batch, ())| batch))
    }
}
