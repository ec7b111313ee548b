//! Checksums of rows, which show that two tables have the same rows.
#![allow(dead_code, reason = "not every benchmark uses all of it")]

use arrow::array::RecordBatch;
use arrow::row::{RowConverter, SortField};

/// Number of rows, and the sum of a hash of each: says nothing about their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    pub rows: u64,
    pub sum: u64,
}

impl Checksum {
    pub fn of(batches: impl Iterator<Item = RecordBatch>) -> Self {
        let mut total = Self::default();
        let mut converter: Option<RowConverter> = None;
        for batch in batches {
            let converter = converter.get_or_insert_with(|| {
                let columns = batch.columns().iter();
                RowConverter::new(columns.map(|column| SortField::new(column.data_type().clone())).collect())
                    .unwrap()
            });
            for row in &converter.convert_columns(batch.columns()).unwrap() {
                let hash = u64::from(crc32fast::hash(row.as_ref())) << 32 | row.as_ref().len() as u64;
                total.sum = total.sum.wrapping_add(hash);
            }
            total.rows += batch.num_rows() as u64;
        }
        total
    }

    pub fn times(self, count: u64) -> Self {
        Self { rows: self.rows * count, sum: self.sum.wrapping_mul(count) }
    }
}
