//! TPC-H `lineitem`, generated.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::{LineItemArrow, RecordBatchIterator};

/// Rows of lineitem at scale factor 1 (TPC-H 4.2.5.1: about 6 million; the generator makes 6,001,215).
const ROWS_PER_SCALE_FACTOR: usize = 6_000_000;

/// The first `rows` rows of the smallest scale factor that has as many.
pub struct LineItem {
    generator: LineItemArrow,
    remaining: usize,
}

impl LineItem {
    /// Makes `rows` rows in batches of `batch_rows`.
    pub fn new(rows: usize, batch_rows: usize) -> LineItem {
        let scale_factor = rows.div_ceil(ROWS_PER_SCALE_FACTOR).max(1) as f64;
        let generator =
            LineItemArrow::new(LineItemGenerator::new(scale_factor, 1, 1)).with_batch_size(batch_rows);
        LineItem { generator, remaining: rows }
    }

    /// Returns the Arrow schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        std::sync::Arc::clone(self.generator.schema())
    }
}

impl Iterator for LineItem {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        if self.remaining == 0 {
            return None;
        }
        let batch = self.generator.next()?;
        let kept = batch.num_rows().min(self.remaining);
        self.remaining -= kept;
        Some(batch.slice(0, kept))
    }
}
