#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use arrow::array::Array;
use proptest::prelude::*;

use super::*;
use crate::heap::block::PageBlock;
use crate::page::{PageId, UnitId, set_address};
use crate::record::tests::{MemoryValues, column, kinds, layout_of};
use crate::record::{BoundBatch, RowGatherer};

/// Returns the rows of a batch as borrowed page rows, if they can be borrowed.
fn lying(layout: &Layout, batch: &RecordBatch, values: &mut MemoryValues) -> Option<LyingRows> {
    let bound = BoundBatch::new(layout, batch, values).unwrap();
    let mut block = PageBlock::new(UnitId::default(), layout, 40, 100);
    assert_eq!(block.append(&bound, 0), bound.rows());
    let mut gatherer = RowGatherer::new(layout);
    for (index, bytes) in block.finish().unwrap().iter_mut().enumerate() {
        set_address(bytes, PageId::new(1, index as u32), PageId::NONE, PageId::NONE);
        gatherer.push_page(&Arc::new(Page::from_bytes(*bytes))).unwrap();
    }
    gatherer.take_lying()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Values are found where a batch has them, and the rows make the same batch again.
    #[test]
    fn rows_lie_as_they_were_given(
        (kinds, columns) in prop::collection::vec(kinds(), 1..9).prop_flat_map(|kinds| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, 30)).collect();
            (Just(kinds), columns)
        }),
    ) {
        let layout = layout_of(&kinds);
        let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
        let mut values = MemoryValues::default();
        let bound = BoundBatch::new(&layout, &batch, &mut values).unwrap();
        let any_moved = !values.is_empty();
        let found = lying(&layout, &batch, &mut MemoryValues::default());
        let possible = LyingRows::is_possible(&layout) && !any_moved;
        prop_assert_eq!(found.is_some(), possible);
        if let Some(rows) = found {
            prop_assert_eq!(rows.rows(), batch.num_rows());
            let all: Vec<usize> = (0..kinds.len()).collect();
            let again = rows.batch(&all).unwrap();
            let records: Vec<&[u8]> = rows.pages().flatten().collect();
            for (index, array) in batch.columns().iter().enumerate() {
                let place = ValuePlace::of(&layout, index).unwrap();
                for (row, record) in records.iter().enumerate() {
                    let own = bound.record(row);
                    prop_assert_eq!(&record[..own.len()], &own);
                    match place.value(record) {
                        LyingValue::Null => prop_assert!(array.is_null(row)),
                        LyingValue::Bytes(start, end) => {
                            prop_assert!(array.is_valid(row) && start <= end && end <= own.len());
                        }
                        LyingValue::Bit(_) => prop_assert!(array.is_valid(row)),
                    }
                }
            }
            prop_assert_eq!(&again, &crate::record::tests::through_pages(&layout, &batch));
        }
    }
}
