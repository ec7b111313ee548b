#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, RecordBatch, StringArray};

use super::*;
use crate::record::compress::Compression;
use crate::record::kind::Kind;
use crate::record::layout::Column;
use crate::record::{BoundBatch, no_large_values};
use crate::tree::index::index_batch;

#[test]
fn a_number_put_in_later_makes_the_same_record() {
    for texts in 0..3 {
        for compression in [Compression::None, Compression::Row] {
            let mut columns = vec![Column::required("key", Kind::Int)];
            columns
                .extend((0..texts).map(|number| Column::new(format!("t{number}"), Kind::VarChar(Some(20)))));
            let layout = Layout::with_uniquifier(columns).unwrap().with_compression(compression).unwrap();
            let batch = |number: Option<u32>| -> RecordBatch {
                let mut arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![7, 8, 9]))];
                let values = [vec![Some("a"), None, Some("")], vec![None, None, Some("longer than a word")]];
                let values = values.into_iter().take(texts);
                arrays.extend(values.map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef));
                let number = number.map(u32::to_be_bytes);
                let number = number.as_ref().map(<[u8; 4]>::as_slice);
                arrays.push(Arc::new(BinaryArray::from(vec![number; 3])));
                index_batch(&layout, arrays, 3).unwrap()
            };
            let (without, with) = (batch(None), batch(Some(0x0102_0304)));
            let without = BoundBatch::new(&layout, &without, &mut no_large_values()).unwrap();
            let with = BoundBatch::new(&layout, &with, &mut no_large_values()).unwrap();
            for row in 0..3 {
                let made = with_uniquifier(&layout, &without.record(row), 0x0102_0304).unwrap();
                assert_eq!(made, with.record(row), "{texts} texts, {compression:?}, row {row}");
                assert!(made.len() <= without.record(row).len() + growth_bytes(&layout));
            }
        }
    }
}
