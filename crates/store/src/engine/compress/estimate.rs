//! What another compression would save (`sp_estimate_data_compression_savings`).

use super::Compression;
use crate::engine::block::PageBlock;
use crate::engine::error::EngineError;
use crate::engine::layout::Layout;
use crate::engine::page::{PAGE_BYTES, UnitId};
use crate::engine::record::{BoundBatch, LargeUse, LargeValueSink, POINTER_BYTES};
use crate::engine::scan::Scan;

/// Pages that are looked at: all of a small table, and as many of a larger one, spread over it.
pub const SAMPLE_PAGES: u64 = 5000;

/// Sizes of a table now and with another compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavingsEstimate {
    /// Bytes of the table's pages of rows.
    pub current_bytes: u64,
    /// The same with the other compression, in proportion to the sample.
    pub requested_bytes: u64,
    /// Bytes of full pages that the sampled rows take with the table's compression.
    pub sample_current_bytes: u64,
    /// Bytes of full pages that they take with the other one.
    pub sample_requested_bytes: u64,
}

/// Builds full pages in memory from the rows of `scan`, part of a table whose pages take `current_bytes`.
pub(in crate::engine) fn estimate(
    layout: &Layout,
    compression: Compression,
    current_bytes: u64,
    scan: Scan,
) -> Result<SavingsEstimate, EngineError> {
    let requested = layout.clone().with_compression(compression)?;
    let (mut now, mut then) = (Sample::new(layout), Sample::new(&requested));
    for batch in scan {
        let batch = batch?;
        now.add(&batch)?;
        then.add(&batch)?;
    }
    let (sample_current_bytes, sample_requested_bytes) = (now.finish(), then.finish());
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

impl<'a> Sample<'a> {
    fn new(layout: &'a Layout) -> Self {
        Self { layout, block: PageBlock::new(UnitId::default(), layout, 16, 100), pages: 0 }
    }

    fn add(&mut self, batch: &arrow::array::RecordBatch) -> Result<(), EngineError> {
        let bound = BoundBatch::new(self.layout, batch, &mut Elsewhere)?;
        let mut first = 0;
        while first < bound.rows() {
            first += self.block.append(&bound, first);
            if first < bound.rows() {
                self.pages += self.block.full_pages().len() as u64;
                self.block.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self) -> u64 {
        (self.pages + self.block.finish().len() as u64) * PAGE_BYTES as u64
    }
}

/// Values outside of their rows stay as they are: their rows keep as many bytes.
struct Elsewhere;

impl LargeValueSink for Elsewhere {
    fn store(&mut self, _purpose: LargeUse, _value: &[u8]) -> Result<Vec<u8>, EngineError> {
        Ok(vec![0; POINTER_BYTES])
    }
}
