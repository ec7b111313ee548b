//! Estimates of the space that another compression would save (`sp_estimate_data_compression_savings`).

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::pages::levels;
use crate::database::snapshot::Snapshot;
use crate::error::EngineError;
use crate::heap::block::PageBlock;
use crate::heap::large::LargeValueReader;
use crate::page::{EXTENT_PAGES, PAGE_BYTES, UnitId};
use crate::record::compress::Compression;
use crate::record::layout::Layout;
use crate::record::{BoundBatch, LargeUse, LargeValueSink, POINTER_BYTES, RowGatherer};
use crate::tree::index::Tree;

/// Maximum number of pages that are sampled. They are spread over a larger table; a smaller one is read as a
/// whole.
pub const SAMPLE_PAGES: u64 = 5000;

/// Sizes of a table or an index now and with another compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavingsEstimate {
    /// Bytes of the pages of all levels now.
    pub current_bytes: u64,
    /// Bytes of the pages with the other compression, in proportion to the sample.
    pub requested_bytes: u64,
    /// Bytes of full pages that the sampled rows take with the table's compression.
    pub sample_current_bytes: u64,
    /// Bytes of full pages that the sampled rows take with the other compression.
    pub sample_requested_bytes: u64,
}

impl Snapshot {
    /// Estimates a table's size with another compression: pages spread over the table are rebuilt in memory.
    pub fn estimate_compression(
        &self,
        name: &str,
        compression: Compression,
    ) -> Result<SavingsEstimate, EngineError> {
        let table = self.existing(name)?;
        match &table.clustered {
            Some(tree) => self.estimate_tree(tree, table.data_pages(), compression),
            None => {
                let scan = self.read(Arc::clone(table)).scan(None)?.sample(SAMPLE_PAGES);
                let block = |layout: &Layout| PageBlock::new(UnitId::default(), layout, BLOCK_PAGES, 100);
                estimate(&table.layout, compression, table.data_pages(), block, scan)
            }
        }
    }

    /// Estimates a nonclustered index's size with another compression.
    pub fn estimate_index_compression(
        &self,
        table: &str,
        index: &str,
        compression: Compression,
    ) -> Result<SavingsEstimate, EngineError> {
        let found = self
            .existing(table)?
            .index(index)
            .ok_or_else(|| EngineError::NoSuchIndex { table: table.to_owned(), index: index.to_owned() })?;
        self.estimate_tree(&found.tree, found.pages(), compression)
    }

    /// Estimates from runs of leaves in the order of the key: neighbours share most.
    fn estimate_tree(
        &self,
        tree: &Tree,
        pages: u64,
        compression: Compression,
    ) -> Result<SavingsEstimate, EngineError> {
        let reader = self.reader();
        // A tree without a page has no leaves.
        let leaves = levels(&reader, tree)?.pop().unwrap_or_default();
        let step = leaves.len().div_ceil(SAMPLE_PAGES as usize).max(1);
        let all: Vec<usize> = (0..tree.layout.columns.len()).collect();
        let batches = leaves.chunks(EXTENT_PAGES as usize).step_by(step).map(|run| {
            let mut rows = RowGatherer::new(&tree.layout);
            run.iter().try_for_each(|id| rows.push_page(&reader.read(*id)?))?;
            rows.finish(&all, &LargeValueReader { source: &reader })
        });
        let page_type = tree.page_type(0);
        let block =
            |layout: &Layout| PageBlock::of_tree(UnitId::default(), layout, BLOCK_PAGES, 100, page_type);
        estimate(&tree.layout, compression, pages, block, batches)
    }
}

/// Pages that a sample builds at a time.
const BLOCK_PAGES: usize = 16;

/// Builds full pages in memory from batches of rows, which are part of a table or an index of `pages` pages.
fn estimate(
    layout: &Layout,
    compression: Compression,
    pages: u64,
    block: impl Fn(&Layout) -> PageBlock,
    batches: impl Iterator<Item = Result<RecordBatch, EngineError>>,
) -> Result<SavingsEstimate, EngineError> {
    let current_bytes = pages * PAGE_BYTES as u64;
    let requested = layout.clone().with_compression(compression)?;
    let mut now = Sample { layout, block: block(layout), pages: 0 };
    let mut then = Sample { layout: &requested, block: block(&requested), pages: 0 };
    for batch in batches {
        let batch = batch?;
        now.add(&batch)?;
        then.add(&batch)?;
    }
    let (sample_current_bytes, sample_requested_bytes) = (now.finish()?, then.finish()?);
    let requested_bytes = match sample_current_bytes {
        0 => 0,
        sample => u128::from(current_bytes) * u128::from(sample_requested_bytes) / u128::from(sample),
    };
    Ok(SavingsEstimate {
        current_bytes,
        requested_bytes: requested_bytes as u64,
        sample_current_bytes,
        sample_requested_bytes,
    })
}

struct Sample<'a> {
    layout: &'a Layout,
    block: PageBlock,
    pages: u64,
}

impl Sample<'_> {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let bound = BoundBatch::new(self.layout, batch, &mut Elsewhere)?;
        let mut first = 0;
        while first < bound.rows() {
            first += self.block.append(&bound, first);
            if first < bound.rows() {
                self.pages += self.block.full_pages()?.len() as u64;
                self.block.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<u64, EngineError> {
        Ok((self.pages + self.block.finish()?.len() as u64) * PAGE_BYTES as u64)
    }
}

/// Values outside of their rows stay as they are: their rows keep as many bytes.
struct Elsewhere;

impl LargeValueSink for Elsewhere {
    fn store(&mut self, _purpose: LargeUse, _value: &[u8]) -> Result<Vec<u8>, EngineError> {
        Ok(vec![0; POINTER_BYTES])
    }
}
